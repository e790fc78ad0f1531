"""The subscription tree: both strategies of Baldoni §II, its frames, repair, bad weather, limits."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols import parameters, registry
from roamcast.protocols.frames import EventFrame
from roamcast.protocols.interface import NOBODY, Frame
from roamcast.protocols.subtree import SYNC, SYNC_US, SubTree, SubTreeParams
from roamcast.protocols.subtree_frames import MAX_LINKS, PER_FRAME, Heartbeat, Join, Subscribe
from roamcast.protocols.subtree_interests import IDLE_BEATS
from roamcast.protocols.tree import MAX_NEIGHBOURS, REMEMBERED, TICK, root_of, tree_name
from roamcast.protocols.wire import decode, encode
from roamcast.pubsub.covering import covers
from roamcast.pubsub.event import LOCAL, Event, event_id
from roamcast.pubsub.filters import EVERYTHING, Filter, Or, Range, attr, topic
from tests.protocols.test_treegroup import networks
from tests.support.host import ScriptHost, make
from tests.support.net import TinyNet
from tests.support.storm import VALUES, Plan, check_encoding, plans, weather

SECOND = 1_000_000
ME, ROOT = 9, 2
TREE = tree_name(ROOT, 0.5)
MODES = st.sampled_from(["subscription", "message"])

# A tree of 16 brokers, as in Baldoni's Fig. 1: (child, parent).
SIXTEEN = [(1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 2), (7, 2), (8, 3), (9, 3), (10, 4), (11, 4), (12, 6), (13, 6),
           (14, 8), (15, 8)]  # fmt: skip


def path(a: int, b: int) -> list[tuple[int, int]]:
    """The links on the way from a to b in that tree, in the direction of travel."""
    parents = dict(SIXTEEN)
    up = [a]
    while up[-1] in parents:
        up.append(parents[up[-1]])
    down = [b]
    while down[-1] not in up:
        down.append(parents[down[-1]])
    nodes = up[: up.index(down[-1]) + 1] + down[-2::-1]
    return list(pairwise(nodes))


# ------------------------------------------------------------------------------------------ Baldoni et al., §II, Fig. 1


def figure_1(mode: str) -> tuple[TinyNet, Event]:
    """S1 = 10 and S2 = 12 subscribed to black, S3 = 15 to gray; P = 5 publishes black."""
    net = TinyNet(SubTree, 16, SIXTEEN, mode=mode)
    for broker, colour in ((10, "black"), (12, "black"), (15, "gray")):
        net.subscribe(broker, topic(colour))
    net.start()
    net.run(6)
    return net, net.publish(5, topic="black")


def test_message_forwarding_sends_to_all_other_brokers_and_propagates_no_subscription() -> None:
    """§II: brokers forward messages "to all other brokers by following the tree topology"."""
    net, event = figure_1("message")
    net.run(1)
    assert net.sends("subscribe") == []
    assert len(net.sends("event")) == 15 and {to for _, _, to, _ in net.sends("event")} == set(range(16)) - {5}
    assert [net.delivered(i) for i in (10, 12, 15)] == [[event.id], [event.id], []]
    assert all(node.memory() == (0, 0) for node in net.nodes)
    assert {label for host in net.hosts for label in host.labels("forward")} == {"along the tree"}


def test_subscription_forwarding_follows_the_reverse_path_of_matching_subscriptions() -> None:
    """§II, Fig. 1(b): only the links between the publisher and the subscribers to black."""
    net, event = figure_1("subscription")
    net.run(1)
    links = sorted((sender, to) for _, sender, to, _ in net.sends("event"))
    assert links == sorted(set(path(5, 10) + path(5, 12)))
    assert [net.delivered(i) for i in (10, 12, 15)] == [[event.id], [event.id], []]


def test_every_broker_has_an_arrow_towards_each_subscription_beyond_it() -> None:
    """§II, Fig. 1(b): "each broker has a colored arrow oriented towards another broker if it received the
    corresponding subscription from that broker"."""
    net, _ = figure_1("subscription")
    for i, node in enumerate(net.nodes):
        arrows = {(link.peer, interest.key) for link in node.links.values() for interest in link.got.values()}
        black = {(path(i, s)[0][1], "topic black") for s in (10, 12) if s != i}
        gray = {(path(i, 15)[0][1], "topic gray")} if i != 15 else set()
        assert arrows == black | gray


def test_a_subscription_that_another_one_covers_is_not_told() -> None:
    """§II, note 1: "exploiting the notion of coverage among predicates"."""
    net = TinyNet(SubTree, 3, [(0, 1), (1, 2)])
    net.subscribe(2, topic("a"), 1)
    net.subscribe(2, topic("a.b"), 2)
    net.subscribe(1, topic("a.c"), 1)
    net.start()
    net.run(5)
    assert [i.key for i in net.nodes[0].links[1].got.values()] == ["topic a"]
    assert [i.key for i in net.nodes[1].links[2].got.values()] == ["topic a"]
    assert [i.key for i in net.nodes[2].links[1].got.values()] == ["topic a.c"]
    net.nodes[2].on_unsubscribe(1)
    net.run(5)
    assert sorted(i.key for i in net.nodes[0].links[1].got.values()) == ["topic a.b", "topic a.c"]


def test_of_two_filters_that_cover_each_other_one_is_told() -> None:
    protocol, _ = make(SubTree, ScriptHost(ME))
    protocol.on_start()
    one, other = attr("a").isin(1), attr("a") == 1
    assert covers(one, other) and covers(other, one)
    protocol.on_subscribe(1, one)
    protocol.on_subscribe(2, other)
    assert list(protocol.interests.wanted_from(5)) == [min(str(one), str(other))]


FILTERS: st.SearchStrategy[Filter] = st.builds(
    lambda low, width: Range("v", low, low + width), st.integers(0, 8), st.integers(0, 6)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([NOBODY, 5, 6]), FILTERS), max_size=10))
def test_what_is_told_covers_exactly_what_others_want(wants: list[tuple[int, Filter]]) -> None:
    """A dumb twin: the union of the told filters and the union of all filters from elsewhere ask for the same."""
    protocol, _ = make(SubTree, ScriptHost(ME))
    for source, filter in wants:
        protocol.interests.want(filter, source)
    for peer in (5, 6, 7):
        told = [interest.filter for interest in protocol.interests.wanted_from(peer).values()]
        wanted = [filter for source, filter in wants if source != peer]
        for value in range(16):
            event = Event(1, attrs={"v": value})
            assert Or(told).matches(event) == Or(wanted).matches(event)
        for n, filter in enumerate(told):
            assert not any(covers(other, filter) for m, other in enumerate(told) if m != n), "one is enough"


# ------------------------------------------------------------------------------------------------------------ readings


def test_r1_the_lowest_id_in_reach_is_the_root() -> None:
    net = TinyNet(SubTree, 6, [(5, 4), (4, 3), (3, 2), (2, 1), (1, 0)])
    net.start()
    net.run(8)
    assert [node.place.parent for node in net.nodes] == [NOBODY, 0, 1, 2, 3, 4]
    net.cut(1, 2)
    net.run(25)
    assert [root_of(node.place.tree) for node in net.nodes] == [0, 0, 2, 2, 2, 2]


def test_r2_a_heartbeat_every_second_and_gone_after_three() -> None:
    params = SubTreeParams()
    assert (params.heartbeat_s, params.missed) == (1.0, 3)
    protocol, host = hung()
    host.advance(protocol, 2_900_000)
    assert protocol.place.parent == ROOT
    host.advance(protocol, 4_200_000)
    assert protocol.place.is_root()


def test_r3_what_a_lost_neighbour_wanted_is_taken_back_with_the_next_heartbeat() -> None:
    protocol, host = hung()
    child(protocol, host, 20, topic("a"))
    host.advance(protocol, host.clock_us + SYNC_US)
    host.hear(protocol, Heartbeat(TREE, 2, 3, 30, []), 20)
    host.sent.clear()
    assert list(protocol.interests.wanted_from(ROOT)) == []
    protocol.soon()
    host.advance(protocol, host.clock_us + SYNC_US)
    assert host.frames("subscribe") == []
    host.advance(protocol, host.clock_us + 1_100_000)
    assert [frame.removed for frame in host.frames("subscribe")] == [[0]]


def test_r4_until_a_neighbour_has_said_what_it_wants_it_gets_everything() -> None:
    protocol, host = hung()
    protocol.on_publish(Event(event_id(ME, 1), "a"))
    assert host.labels("forward") == ["not told yet"]
    host.hear(protocol, Subscribe(0, 1, [], []), ROOT)
    protocol.on_publish(Event(event_id(ME, 2), "a"))
    assert host.labels("suppress") == ["unwanted"]


def test_r5_an_event_that_did_not_reach_the_parent_goes_to_the_next_one() -> None:
    protocol, host = hung()
    host.hear(protocol, Heartbeat(TREE, 2, 1, ROOT, []), 5)
    event = Event(event_id(ME, 1), "a")
    protocol.on_publish(event)
    frame = host.frames("event")[0]
    protocol.on_undelivered(frame, ROOT)
    assert host.sent[-1] == (ROOT, frame), "it was heard just now: once more"
    protocol.on_undelivered(frame, ROOT)
    assert protocol.place.parent == 5 and host.sent[-1] == (5, frame)


def test_r6_local_events_go_everywhere_on_the_tree() -> None:
    net = TinyNet(SubTree, 5, [(i, i + 1) for i in range(4)])
    net.subscribe(4, topic("a"))
    net.start()
    net.run(6)
    event = net.publish(0, topic="a", scope=LOCAL)
    net.run(1)
    assert net.delivered(4) == [event.id]


def test_r7_a_broker_moves_up_by_two_levels_but_not_by_one() -> None:
    protocol, host = make(SubTree, ScriptHost(ME))
    protocol.on_start()
    host.hear(protocol, Heartbeat(TREE, 1, 3, 30, []), 5)
    assert protocol.place.level == 4
    host.hear(protocol, Heartbeat(TREE, 1, 2, 30, []), 6)
    assert protocol.place.parent == 5
    host.hear(protocol, Heartbeat(TREE, 1, 1, 30, []), 7)
    assert protocol.place.parent == 7 and protocol.place.level == 2


def test_r7_a_leaving_parent_is_changed_for_another_of_the_tree() -> None:
    protocol, host = make(SubTree, ScriptHost(ME))
    protocol.on_start()
    host.signal_dbm = -80.0
    host.hear(protocol, Heartbeat(TREE, 1, 0, NOBODY, []), ROOT)
    host.signal_dbm = -70.0
    host.hear(protocol, Heartbeat(TREE, 4, 1, ROOT, []), 5)
    host.signal_dbm = -79.5
    host.hear(protocol, Heartbeat(TREE, 2, 0, NOBODY, [ME, 0]), ROOT)
    assert protocol.place.parent == ROOT, "it comes nearer"
    host.signal_dbm = -79.9
    host.hear(protocol, Heartbeat(TREE, 3, 0, NOBODY, [ME, 0]), ROOT)
    assert protocol.place.parent == 5


# --------------------------------------------------------------------------------------------------- one node by hand


def hung() -> tuple[SubTree, ScriptHost]:
    protocol, host = make(SubTree, ScriptHost(ME))
    protocol.on_start()
    host.hear(protocol, Heartbeat(TREE, 1, 0, NOBODY, []), ROOT)
    assert protocol.place.parent == ROOT and host.sent[-1][0] == ROOT
    host.sent.clear()
    host.notes.clear()
    return protocol, host


def child(protocol: SubTree, host: ScriptHost, id: int, *filters: Filter) -> None:
    host.hear(protocol, Join(), id)
    host.hear(protocol, Subscribe(0, 1, list(enumerate(filters)), []), id)


def test_what_is_new_within_a_moment_goes_into_one_frame() -> None:
    protocol, host = hung()
    for n in range(PER_FRAME + 3):
        protocol.on_subscribe(n, topic(f"t{n}"))
    host.advance(protocol, SYNC_US)
    told = host.frames("subscribe")
    assert [(f.base, f.version, len(f.added)) for f in told] == [(0, 1, PER_FRAME), (1, 2, 3)]


def test_a_neighbour_that_missed_something_is_told_everything_again() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, topic("a"))
    host.advance(protocol, SYNC_US)
    host.sent.clear()
    host.advance(protocol, 500_000)
    host.hear(protocol, Heartbeat(TREE, 2, 0, NOBODY, [ME, 0]), ROOT)
    host.advance(protocol, 1_600_000)
    assert [(f.base, f.version, len(f.added)) for f in host.frames("subscribe")] == [(0, 2, 1)]
    host.hear(protocol, Heartbeat(TREE, 3, 0, NOBODY, [ME, 2]), ROOT)
    host.advance(protocol, 2_700_000)
    assert len(host.frames("subscribe")) == 1


def test_changes_are_applied_in_order_however_they_arrive() -> None:
    frames = [
        Subscribe(0, 1, [(0, topic("a")), (1, topic("b"))], []),
        Subscribe(1, 2, [(2, topic("c"))], [0]),
        Subscribe(2, 3, [], [1]),
    ]
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)):
        protocol, host = hung()
        host.hear(protocol, Join(), 20)
        for n in order:
            host.hear(protocol, frames[n], 20)
        link = protocol.links[20]
        assert ([i.key for i in link.got.values()], link.got_version) == (["topic c"], 3)


def test_a_change_to_a_version_that_never_came_is_not_applied() -> None:
    protocol, host = hung()
    child(protocol, host, 20, topic("a"))
    host.hear(protocol, Subscribe(7, 8, [], [0]), 20)
    assert [i.key for i in protocol.links[20].got.values()] == ["topic a"] and protocol.links[20].got_version == 1
    host.advance(protocol, 1_000_000)
    assert protocol.links[20].early == {}


def test_a_parent_that_does_not_list_its_child_is_joined_again() -> None:
    protocol, host = hung()
    host.hear(protocol, Heartbeat(TREE, 2, 0, NOBODY, []), ROOT)
    assert host.frames("join") == [], "the heartbeat may have left before"
    host.advance(protocol, 1_200_000)
    host.hear(protocol, Heartbeat(TREE, 3, 0, NOBODY, []), ROOT)
    assert [to for to, frame in host.sent if frame.kind == "join"] == [ROOT]


def test_a_parent_that_joins_its_child_is_no_parent_any_more() -> None:
    protocol, host = hung()
    host.hear(protocol, Join(), ROOT)
    assert protocol.place.parent == NOBODY and ROOT in protocol.links


def test_a_parent_that_came_to_hang_deeper_without_a_newer_count_is_left() -> None:
    """It may hang below this very node by now."""
    for count, stays in ((1, False), (2, True)):
        protocol, host = make(SubTree, ScriptHost(ME))
        protocol.on_start()
        host.hear(protocol, Heartbeat(TREE, 1, 1, ROOT, []), 5)
        host.hear(protocol, Heartbeat(TREE, count, 2, 30, [ME, 0]), 5)
        assert (protocol.place.parent == 5) == stays


def test_a_root_that_has_died_stops_counting_and_is_not_believed_any_more() -> None:
    protocol, host = hung()
    for _ in range(5):
        host.advance(protocol, host.clock_us + SECOND)
        host.hear(protocol, Heartbeat(TREE, 1, 0, NOBODY, [ME, 0]), ROOT)
    assert protocol.place.parent == ROOT
    host.hear(protocol, Heartbeat(TREE, 1, 0, 30, []), 6)
    host.advance(protocol, host.clock_us + 1_200_000)
    assert protocol.place.is_root(), "what 6 tells of that tree is as old"
    assert ROOT not in protocol.links
    host.hear(protocol, Heartbeat(TREE, 2, 0, 30, []), 6)
    assert protocol.place.parent == 6


def test_a_filter_that_nobody_wants_is_kept_for_a_while_and_then_forgotten() -> None:
    protocol, host = make(SubTree, ScriptHost(ME))
    protocol.on_start()
    protocol.on_subscribe(1, topic("a"))
    protocol.on_subscribe(2, topic("a.b"))
    protocol.on_unsubscribe(1)
    assert list(protocol.interests.wanted_from(5)) == ["topic a.b"]
    host.advance(protocol, (IDLE_BEATS - 2) * SECOND)
    assert "topic a" in protocol.interests.rows
    host.advance(protocol, (IDLE_BEATS + 4) * SECOND)
    assert list(protocol.interests.rows) == ["topic a.b"] and protocol.interests.rows["topic a.b"].coverers == []


def test_subscribing_twice_under_one_name_replaces() -> None:
    protocol, _ = hung()
    protocol.on_subscribe(1, topic("a"))
    protocol.on_subscribe(1, topic("b"))
    assert list(protocol.interests.wanted_from(5)) == ["topic b"]
    protocol.on_unsubscribe(1)
    protocol.on_unsubscribe(1)
    assert list(protocol.interests.wanted_from(5)) == []


def test_an_event_that_arrives_expired_is_neither_delivered_nor_forwarded() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, topic("a"))
    event = Event(event_id(1, 1), "a", validity_us=SECOND)
    host.hear(protocol, EventFrame(event, 0, SECOND), 20)
    assert host.delivered == [] and host.frames("event") == [] and host.labels("drop") == ["expired"]
    host.hear(protocol, EventFrame(event, 0, SECOND - 1), 20)
    assert host.delivered == [event] and len(host.frames("event")) == 1


# ------------------------------------------------------------------------------------------------------------ frames

ids = st.integers(0, (1 << 31) - 1)
trees = st.integers(0, (1 << 47) - 1)
filters = st.sampled_from([topic("hot"), Range("v", 1, 2.5), attr("x") == "y", EVERYTHING, topic("a") & topic("b")])
frames = st.one_of(
    st.builds(
        Heartbeat,
        trees,
        st.integers(0, (1 << 48) - 1),
        st.integers(0, 255),
        ids | st.just(NOBODY),
        st.lists(st.tuples(ids, ids), max_size=20).map(lambda rows: [x for row in rows for x in row]),
    ),
    st.just(Join()),
    st.builds(
        Subscribe,
        st.integers(0, 65_535),
        st.integers(1, 65_535),
        st.lists(st.tuples(st.integers(0, 99), filters), max_size=PER_FRAME),
        st.lists(st.integers(0, 99), max_size=40),
    ),
    st.builds(EventFrame, st.builds(Event, st.integers(1, 9)), st.just(0), st.integers(0, 9)),
)


@given(frames)
def test_frames_are_as_long_as_they_say_and_come_back(frame: Frame) -> None:
    check_encoding(SubTree, frame)


@given(st.binary(max_size=80))
def test_hostile_bytes_are_malformed_and_nothing_else(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode(SubTree, b"\xc1" + data)
    try:
        frame = decode(SubTree, data)
    except Malformed:
        return
    check_encoding(SubTree, frame)


@given(st.integers(-1, 4), st.lists(VALUES, max_size=6))
def test_hostile_fields_are_malformed_and_nothing_else(tag: int, fields: list[object]) -> None:
    try:
        decode(SubTree, msgspec.msgpack.encode([tag, *fields]))
    except Malformed:
        return


@pytest.mark.parametrize(
    "fields",
    [
        [0, 0, 0, 0, -2, []],
        [0, 0, 0, 0, -1, [1]],
        [0, 0, 0, 256, -1, []],
        [1, 0],
        [2, 0, 0, [], []],
        [2, 0, 1, [[0]], []],
        [2, 0, 1, [[0, [99]]], []],
        [2, 0, 1, [[0, [0]]] * (PER_FRAME + 1), []],
        [2, 0, 1, [], [-1]],
        [4],
    ],
)
def test_fields_out_of_range_are_malformed(fields: list[object]) -> None:
    with pytest.raises(Malformed):
        decode(SubTree, msgspec.msgpack.encode(fields))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(frames, st.integers(0, 5), st.sampled_from([0, 50, 700, 3000])), max_size=12), MODES)
def test_no_sequence_of_frames_raises_or_grows_without_bound(script: list[tuple[Frame, int, int]], mode: str) -> None:
    protocol, host = make(SubTree, ScriptHost(3), mode=mode)
    protocol.on_start()
    protocol.on_subscribe(1, topic("a"))
    for frame, sender, ms in script:
        host.hear(protocol, decode(SubTree, encode(SubTree, frame)), sender + 4)
        host.advance(protocol, host.clock_us + ms * 1000)
        for to, sent in host.sent[-3:]:
            if to >= 0:
                protocol.on_undelivered(sent, to)
        assert set(host.timers) <= {TICK, SYNC} and TICK in host.timers
        assert len(protocol.place.labels) <= REMEMBERED


def test_an_event_with_id_0_is_ignored() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, EVERYTHING)
    host.hear(protocol, EventFrame(Event(0), 0, 0), 20)
    assert host.delivered == [] and host.muted == {}, "it would mute every heartbeat"


# --------------------------------------------------------------------------------------------- trees on random networks


def check_tree(net: TinyNet) -> None:
    """In every connected part one root, the lowest id; everybody hangs below somebody who knows it; no rings."""
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
            assert at in net.nodes[parent].links and parent in net.nodes[at].links
            at, steps = parent, steps + 1
            assert steps <= len(net.nodes), "a ring"
        assert at == min(part) and node.place.level == steps


CONDITIONS = st.sampled_from([{}, {}, {"loss": 0.1}, {"duplication": 0.5}, {"jitter_us": 20_000}])


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(0, 99), CONDITIONS, MODES, st.data())
def test_everybody_finds_a_place_again_after_any_crash_and_events_reach_all_subscribers(
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
        assert node.place.is_settled() or not net.up[i]
        assert len(node.seen) <= 64 and all(len(link.got) <= 3 for link in node.links.values())
        for interest in node.interests.rows.values():
            wanted = [link.peer for link in node.links.values() if interest in link.got.values()]
            assert sorted(set(interest.sources) - {NOBODY}) == sorted(wanted)


@settings(max_examples=12, deadline=None)
@given(plans(), MODES)
def test_the_same_plan_has_the_same_effects(plan: Plan, mode: str) -> None:
    first, second = (weather(SubTree, plan, mode=mode) for _ in range(2))
    assert [host.effects for host in first.hosts] == [host.effects for host in second.hosts]


# ------------------------------------------------------------------------------------------------------------ limits


def test_the_tables_have_limits() -> None:
    protocol, host = make(SubTree, ScriptHost(1), filters=5, seen=8)
    protocol.on_start()
    for i in range(10, 10 + MAX_NEIGHBOURS + 5):
        host.hear(protocol, Heartbeat(tree_name(i, 0.0), 1, 0, NOBODY, []), i)
    assert len(protocol.neighbours) == MAX_NEIGHBOURS
    for i in range(1000, 1000 + MAX_LINKS + 5):
        host.hear(protocol, Join(), i)
    assert len(protocol.links) == MAX_LINKS
    host.hear(protocol, Subscribe(0, 1, [(n, topic(f"t{n}")) for n in range(5)], []), 1000)
    assert len(protocol.links[1000].got) == 5
    host.hear(protocol, Subscribe(1, 2, [(7, topic("t7"))], []), 1000)
    assert [i.filter for i in protocol.links[1000].got.values()] == [EVERYTHING], "nothing is missed"
    for n in range(20):
        host.hear(protocol, EventFrame(Event(event_id(9, n + 1)), 0, 0), 1000)
    assert len(protocol.seen) == 8


def test_a_settled_tree_sends_nothing_but_heartbeats() -> None:
    net = TinyNet(SubTree, 8, [(i, i + 1) for i in range(7)])
    for i in range(8):
        net.subscribe(i, topic(f"t{i}"))
    net.start()
    net.run(15)
    before = len(net.log)
    net.run(20)
    assert {frame.kind for *_, frame in net.log[before:]} == {"heartbeat"}


def test_memory_counts_what_neighbours_want() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, topic("own"))
    assert protocol.memory() == (0, 0)
    child(protocol, host, 20, topic("a"), topic("bc"))
    assert protocol.memory() == (2, len("topic a") + len("topic bc"))


def test_parameters_are_documented_and_the_name_is_known() -> None:
    assert registry.get("subtree") is SubTree
    assert parameters.build(SubTree, {}) == SubTreeParams()
    assert all(p.doc and p.source for p in parameters.describe(SubTree))
