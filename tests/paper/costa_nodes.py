"""What tests of Costa et al. 2005 share: events, and nodes in given states."""

from __future__ import annotations

from roamcast.protocols.semiprob.protocol import PublicationFrame, SemiProb, SubscriptionFrame
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make

SECOND = 1_000_000
HOT = topic("hot")


def event(n: int = 1, subject: str = "hot", publisher: int = 9, **content: object) -> Event:
    return Event(event_id(publisher, n), subject, **content)


def travelled(e: Event, age_us: int = 0) -> PublicationFrame:
    return PublicationFrame(e, False, age_us)


def subscription(hopcount: int = 1, *, source: int = 5, msgid: int = 1, lease_s: int = 60, filter=HOT):
    return SubscriptionFrame(source, msgid, hopcount, lease_s, filter)


def node(**params: object) -> tuple[SemiProb, ScriptHost]:
    """A node that sends at once, so that a test sees only the decision."""
    protocol, host = make(SemiProb, **{"technique": "none", **params})
    protocol.on_start()
    return protocol, host


def delaying(technique: str = "delay", phase: float = 0.25, **params: object) -> tuple[SemiProb, ScriptHost]:
    protocol, host = make(SemiProb, technique=technique, **{"tau": 1.0, **params})
    host.draws = [phase]
    protocol.on_start()
    return protocol, host
