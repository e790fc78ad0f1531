"""The subscription tree on random networks: repair, bad weather."""

from __future__ import annotations

from typing import Any, ClassVar

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import TICK, root_of
from roamcast.protocols.subtree.cover_table import key_of
from roamcast.protocols.subtree.protocol import SYNC, SubTree
from roamcast.pubsub.filters import EVERYTHING, attr
from roamcast.testing import ScriptHost
from tests.protocols.subtree.nodes import MODES
from tests.protocols.subtree.test_filter_table import keys
from tests.protocols.treegroup.nodes import networks
from tests.support.net import TinyNet
from tests.support.storm import Plan, plans, weather


def check_tree(net: TinyNet) -> None:
    """Every connected part has one root, the lowest id; every other node has a parent that lists it; there are no
    rings."""
    for i, node in enumerate(net.nodes):
        if not net.up[i]:
            continue
        part, front = {i}, [i]
        while front:
            at = front.pop()
            more = [b for a, b in net.links if a == at and b not in part and net.up[b]]
            part.update(more)
            front.extend(more)
        assert root_of(node.place.tree) == min(part)
        steps, at = 0, i
        while net.nodes[at].place.parent != NOBODY:
            parent = net.nodes[at].place.parent
            assert net.up[parent] and (parent, at) in net.links
            assert at in net.nodes[parent].links.by_peer and parent in net.nodes[at].links.by_peer
            at, steps = parent, steps + 1
            assert steps <= len(net.nodes), "a ring"
        assert at == min(part) and node.place.level == steps


CONDITIONS = st.sampled_from([{}, {}, {"loss": 0.1}, {"duplication": 0.5}, {"jitter_us": 20_000}])


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(0, 99), CONDITIONS, MODES, st.data())
def test_every_node_finds_a_place_again_after_any_crash_and_events_reach_all_subscribers(
    network: tuple[int, list[tuple[int, int]]], seed: int, conditions: dict[str, Any], mode: str, data: st.DataObject
) -> None:
    n, links = network
    net = TinyNet(SubTree, n, links, seed=seed, mode=mode, **conditions)
    wants = data.draw(st.lists(st.sampled_from(["x", "y", "all", ""]), min_size=n, max_size=n))
    filters = {"x": attr("a") == "x", "y": attr("a").isin("y", "z"), "all": EVERYTHING}

    def subscribe(i: int) -> None:
        if wants[i]:
            net.subscribe(i, filters[wants[i]])

    for i in range(n):
        subscribe(i)
    net.start()
    net.run(10)
    crashed = data.draw(st.lists(st.integers(0, n - 1), max_size=2, unique=True))
    for i in crashed:
        net.crash(i)
    net.run(20)
    net.loss = 0.0
    net.run(25)
    check_tree(net)
    for i in crashed:
        keep = data.draw(st.booleans())
        net.recover(i, keep_tables=keep)
        if not keep:
            subscribe(i)
    net.run(20)
    check_tree(net)
    publisher = data.draw(st.integers(0, n - 1))
    before = len(net.log)
    event = net.publish(publisher, attrs={"a": data.draw(st.sampled_from("xyz"))})
    net.run(1)
    for i in range(n):
        interested = i != publisher and wants[i] and filters[wants[i]].matches(event)
        assert net.delivered(i) == ([event.id] if interested else [])
    if mode == "message":
        assert sum(frame.kind == "event" for *_, frame in net.log[before:]) == n - 1


@settings(max_examples=50, deadline=None)
@given(plans(), MODES)
def test_in_bad_weather_the_invariants_hold_and_no_timer_leaks(plan: Plan, mode: str) -> None:
    net = weather(SubTree, plan, mode=mode, filters=3, seen=64)
    for i, (host, node) in enumerate(zip(net.hosts, net.nodes, strict=True)):
        assert set(host.timers) <= {TICK, SYNC}
        assert (TICK in host.timers) == net.up[i]
        assert node.place.is_attached() or not net.up[i]
        assert len(node.seen) <= 64 and all(len(link.wanted) <= 3 for link in node.links.by_peer.values())
        filter_table = node.links.filters
        assert set(filter_table.sources) <= {NOBODY, *node.links.by_peer}
        for link in node.links.by_peer.values():
            filters = [*link.wanted.values(), *([EVERYTHING] if link.gets_everything else [])]
            sets = link.sets
            assert filter_table.sources[link.peer] is sets
            assert {*keys(filter_table.covers.members(sets.wanted))} == {key_of(filter) for filter in filters}
            assert len(filters) == sets.wanted.bit_count() + sum(sets.repeated.values())
            assert {*keys(filter_table.covers.members(sets.advertised))} == {*link.advertised} or link.from_scratch


class Taped:
    """A node that records every call of its host, with the time."""

    params_class, frames = SubTree.params_class, SubTree.frames
    tapes: ClassVar[dict[int, list[tuple[int, str, tuple[Any, ...]]]]] = {}

    def __init__(self, host: ScriptHost, params: Any) -> None:
        self.node = SubTree(host, params)
        self.host = host
        self.write("new", params)

    def write(self, what: str, *arguments: Any) -> None:
        self.tapes.setdefault(self.host.id, []).append((self.host.now(), what, arguments))

    def __getattr__(self, name: str) -> Any:
        def recorded(*arguments: Any) -> None:
            self.write(name, *arguments)
            getattr(self.node, name)(*arguments)

        return recorded if name.startswith("on_") else getattr(self.node, name)


@settings(max_examples=15, deadline=None)
@given(plans(), MODES)
def test_replaying_the_calls_of_a_host_has_the_same_effects(plan: Plan, mode: str) -> None:
    Taped.tapes = {}
    net = weather(Taped, plan, mode=mode, filters=3)  # type: ignore[arg-type]
    for host in net.hosts:
        alone = ScriptHost(host.id, plan.seed)
        node = None
        for now, what, arguments in Taped.tapes[host.id]:
            alone.clock_us = now
            if what == "new":
                node = SubTree(alone, *arguments)
            else:
                getattr(node, what)(*arguments)
        assert alone.effects == host.effects


@settings(max_examples=12, deadline=None)
@given(plans(), MODES)
def test_the_same_plan_has_the_same_effects(plan: Plan, mode: str) -> None:
    first, second = (weather(SubTree, plan, mode=mode) for _ in range(2))
    assert [host.effects for host in first.hosts] == [host.effects for host in second.hosts]
