"""The state of the subscription tree is bounded."""

from __future__ import annotations

from types import GetSetDescriptorType, MemberDescriptorType

import pytest

from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import NOBODY, Frame, Params
from roamcast.protocols.kit.tree import MAX_NEIGHBOURS, TICK, tree_name
from roamcast.protocols.subtree.cover_table import SHARED, CoverTable, SharedTables
from roamcast.protocols.subtree.frames import MAX_LINKS, Heartbeat, Join, Subscribe
from roamcast.protocols.subtree.protocol import SYNC, SubTree, SubTreeParams
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make
from tests.protocols.subtree.nodes import child, hung
from tests.support.net import TinyNet


def test_the_tables_have_limits() -> None:
    protocol, host = make(SubTree, ScriptHost(1), filters=5, seen=8)
    protocol.on_start()
    for i in range(10, 10 + MAX_NEIGHBOURS + 5):
        host.hear(protocol, Heartbeat(tree_name(i, 0.0), 1, 0, NOBODY, []), i)
    assert len(protocol.neighbours) == MAX_NEIGHBOURS
    for i in range(1000, 1000 + MAX_LINKS + 5):
        host.hear(protocol, Join(), i)
    assert len(protocol.links.by_peer) == MAX_LINKS
    host.hear(protocol, Subscribe(0, 1, [(n, topic(f"t{n}")) for n in range(5)], []), 1000)
    assert len(protocol.links.by_peer[1000].wanted) == 5
    host.hear(protocol, Subscribe(1, 2, [(7, topic("t7"))], []), 1000)
    assert len(protocol.links.by_peer[1000].wanted) == 5
    for n in range(20):
        host.hear(protocol, EventFrame(Event(event_id(9, n + 1)), 0, 0), 1000)
    assert len(protocol.seen) == 8


def tables(node: object) -> dict[str, int]:
    """The size of every table within a protocol object, by its path; `*` stands for all entries of a table."""
    sizes: dict[str, int] = {}

    def look(thing: object, name: str) -> None:
        if isinstance(thing, dict | list):
            sizes[name] = sizes.get(name, 0) + len(thing)
            for entry in thing.values() if isinstance(thing, dict) else thing:
                look(entry, name + ".*")
        elif type(thing).__module__.startswith("roamcast.protocols.") and not isinstance(
            thing, Frame | CoverTable | SharedTables | Params
        ):
            for attribute in sorted(attributes(thing)):
                look(getattr(thing, attribute), f"{name}.{attribute}" if name else attribute)

    look(node, "")
    return sizes


def attributes(thing: object) -> set[str]:
    """Attributes of compiled and interpreted objects; the sets of a link belong to the filter table."""
    kept = (GetSetDescriptorType, MemberDescriptorType)
    declared = {name for c in type(thing).__mro__ for name, value in vars(c).items() if isinstance(value, kept)}
    names = declared | set(getattr(thing, "__dict__", {}))
    return {name for name in names if name not in ("host", "sets") and name[:2] != "__"}


TABLES = {"links.by_peer", "links.by_peer.*.early", "links.by_peer.*.wanted", "links.by_peer.*.advertised",
          "links.filters.recent", "links.filters.order", "links.filters.sources",
          "links.filters.sources.*.repeated", "neighbours", "place.labels", "seen", "subscriptions.all"}  # fmt: skip
LINKS = {name for name in TABLES if name.startswith("links.") and name != "links.by_peer"}


CHAIN = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


@pytest.mark.parametrize("mode", ["subscription", "message"])
def test_under_a_steady_load_no_table_grows_and_no_timer_leaks(mode: str) -> None:
    """Ten minutes. Every second a node changes a subscription, publishes, moves, or crashes."""
    net = TinyNet(SubTree, 6, CHAIN, mode=mode, seen=32, loss=0.05, jitter_us=90_000)
    net.start()
    peaks: list[dict[str, int]] = [{}, {}, {}]
    for second in range(600):
        i = second % 6
        if second % 40 == 19:
            net.crash(i)
            net.run(4)
            net.recover(i, keep_tables=second % 80 == 19)
        net.nodes[i].on_unsubscribe(second // 6 % 3)
        for subscription in (second // 6 % 3, 3):  # each filter is subscribed to twice
            net.subscribe(i, topic(f"s{second}"), subscription)
        net.publish((i + 3) % 6, topic=f"s{second}")
        k = second // 30 % 5
        if second % 30 == 10:
            net.cut(k, k + 1)
        if second % 30 == 20:
            net.join(k, k + 1)
        net.run(1)
        for host in net.hosts:
            assert set(host.timers) <= {TICK, SYNC}
        for node in net.nodes:
            for name, held in tables(node).items():
                peaks[second // 200][name] = max(held, peaks[second // 200].get(name, 0))
    assert set().union(*peaks) <= TABLES
    assert {name for name, held in peaks[2].items() if held} >= TABLES - (set() if mode == "subscription" else LINKS)
    limits = {name: 1.25 * held for name, held in peaks[0].items()}
    assert all(held <= limits[name] for name, held in peaks[2].items()), (peaks[0], peaks[2])
    assert len(SHARED.latest.by_number) <= SHARED.latest.limit == SHARED.limit


def test_a_stable_tree_sends_only_heartbeats() -> None:
    net = TinyNet(SubTree, 8, [(i, i + 1) for i in range(7)])
    for i in range(8):
        net.subscribe(i, topic(f"t{i}"))
    net.start()
    net.run(15)
    before = len(net.log)
    net.run(20)
    assert {frame.kind for *_, frame in net.log[before:]} == {"heartbeat"}


def test_memory_counts_the_filters_of_neighbours() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, topic("own"))
    assert protocol.memory() == (0, 0)
    child(protocol, host, 20, topic("a"), topic("bc"))
    assert protocol.memory() == (2, len("topic a") + len("topic bc"))


def test_parameters_are_documented_and_the_name_is_known() -> None:
    assert registry.get("subtree") is SubTree
    assert parameters.build(SubTree, {}) == SubTreeParams()
    assert all(p.doc and p.source for p in parameters.describe(SubTree))
