"""What tests of Rezende et al. 2008 share: nodes with given contents."""

from __future__ import annotations

from roamcast.protocols.psamanet import Psamanet, PublicationFrame
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Range
from roamcast.testing import ScriptHost, make

SECOND = 1_000_000


def between(low: int, high: int) -> Range:
    """§3: a subscription is an interval of values, [v_min, v_max]."""
    return Range("v", low, high)


def carrying(event: Event, age_us: int = 0) -> PublicationFrame:
    return PublicationFrame(event, age_us)


def node(**params: object) -> tuple[Psamanet, ScriptHost]:
    """A node that accepts every subscription and answers within a millisecond."""
    protocol, host = make(Psamanet, **{"s_prob": 1.0, "jitter_ms": 1.0, **params})
    protocol.on_start()
    return protocol, host


def pass_ms(protocol: Psamanet, host: ScriptHost, ms: int) -> None:
    host.advance(protocol, host.clock_us + ms * 1000)


def values(host: ScriptHost) -> list[int]:
    """The values that were broadcast since the last call."""
    sent = [frame.event.attrs["v"] for frame in host.frames("event")]
    host.sent.clear()
    return sent


def buffered(protocol: Psamanet) -> list[int]:
    """The values in the PB, oldest first."""
    return [p.event.attrs["v"] for p in protocol.pb.events()]
