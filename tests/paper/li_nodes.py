"""What tests of Li et al. 2013 share: nodes in given states."""

from __future__ import annotations

from typing import Any

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import tree_name
from roamcast.protocols.treegroup.bloom_routing import filter_bitmap
from roamcast.protocols.treegroup.frames import Bitmap, GroupEvent, Heartbeat, Join, Welcome
from roamcast.protocols.treegroup.protocol import TreeGroup
from roamcast.pubsub.event import GLOBAL, Event, event_id
from roamcast.pubsub.filters import Filter
from roamcast.testing import ScriptHost, make

SECOND = 1_000_000
ME, LEADER = 3, 7
G0, G1 = tree_name(LEADER, 0.5), tree_name(8, 0.5)


def beat(
    tree: int = G0, count: int = 1, level: int = 0, parent: int = NOBODY, children: tuple[int, ...] = (), **more: Any
) -> Heartbeat:
    weight, neighbours = more.get("weight", 0), more.get("neighbours", [])
    open, members, depth = more.get("open", True), more.get("members", 9), more.get("depth", 1)
    return Heartbeat(tree, count, level, parent, weight, open, members, depth, list(children), neighbours)


def node(**params: Any) -> tuple[TreeGroup, ScriptHost]:
    protocol, host = make(TreeGroup, ScriptHost(ME), **params)
    protocol.on_start()
    return protocol, host


def member(level: int = 1, **params: Any) -> tuple[TreeGroup, ScriptHost]:
    """A node at this level of G0, below node 20 or below the leader."""
    protocol, host = node(**params)
    parent = LEADER if level == 1 else 20
    protocol.membership.requested = parent
    host.hear(protocol, beat(level=level - 1, parent=NOBODY if level == 1 else 99), parent)
    host.hear(protocol, Welcome(G0, 1, level - 1), parent)
    assert protocol.place.parent == parent and protocol.place.level == level
    host.sent.clear()
    host.notes.clear()
    return protocol, host


def leader(**params: Any) -> tuple[TreeGroup, ScriptHost]:
    protocol, host = node(**params)
    protocol.membership.lead()
    host.sent.clear()
    host.notes.clear()
    return protocol, host


def with_child(protocol: TreeGroup, host: ScriptHost, id: int, filter: Filter | None = None) -> None:
    host.hear(protocol, Join(0), id)
    if filter is not None:
        p = protocol.params
        bitmap = filter_bitmap(filter, p.bits, p.hashes)
        host.hear(protocol, Bitmap(1, bitmap.to_bytes((p.bits + 7) // 8, "little")), id)
    host.sent.clear()
    host.notes.clear()


def event(n: int = 1, name: str = "t", scope: int = GLOBAL) -> Event:
    return Event(event_id(50, n), name, scope=scope)


def events_sent(host: ScriptHost) -> list[tuple[int, int, list[int]]]:
    return [(to, frame.way, frame.targets) for to, frame in host.sent if isinstance(frame, GroupEvent)]


def lost_with(*neighbours: tuple[int, Heartbeat]) -> tuple[TreeGroup, ScriptHost]:
    """A node at level 2 whose parent 20 turns out to be lost."""
    protocol, host = member(level=2)
    for id, heartbeat in neighbours:
        host.hear(protocol, heartbeat, id)
    host.hear(protocol, beat(0), 20)
    return protocol, host
