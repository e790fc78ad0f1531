"""What the tests of roam begin with: a node, events, lists of neighbours, and a row of nodes."""

from __future__ import annotations

from typing import Any

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.protocols.roam.frames import IdList, Summary, id_lists
from roamcast.protocols.roam.protocol import Roam
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make
from tests.support.net import TinyNet

NEWS = topic("news")
SECOND = 1_000_000


def node(**params: Any) -> tuple[Roam, ScriptHost]:
    protocol, host = make(Roam, **params)
    assert isinstance(protocol, Roam)
    protocol.on_start()
    return protocol, host


def news(n: int, validity_us: int = FOREVER, scope: int = 0) -> Event:
    return Event(event_id(99, n), "news", validity_us=validity_us, scope=scope)


def listing(*ids: int, age_ms: int = 600, left_ms: int = 300) -> IdList:
    """The list of a neighbour that knows these events, of those that are at least so old and valid for so long."""
    (only,) = id_lists(vec[i64](ids), Summary(len(ids), 7, age_ms, left_ms), 1200)
    return only


DIFFERENT = Summary(1, 1, 600, 300)
"""A summary that agrees with no table."""


def row(n: int, **more: Any) -> TinyNet:
    net = TinyNet(Roam, n, [(i, i + 1) for i in range(n - 1)], **more)
    net.start()
    return net


def publish(net: TinyNet, count: int, pause_s: float = 0.2) -> list[int]:
    ids = []
    for _ in range(count):
        ids.append(net.publish(0, topic="news", validity_us=600 * SECOND).id)
        net.run(pause_s)
    return ids
