"""Every statement of an explanation is compared with the rows of the log, counted in the simplest way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from math import hypot

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.log.explanation.holders import LATELY_US
from roamcast.log.explanation.pair import Explanation
from roamcast.log.explanation.text import WIDTH
from roamcast.log.reader import LogRow
from roamcast.pubsub.event import FOREVER
from tests.log.explanation.logs import NODES, RANGE_M, WORLDS, all_events, answers, pair, simulated_rows

LOST = ("collision", "half-duplex", "loss")
AT_SENDER = ("queue", "no-ack")
AROUND = ("queue", "no-ack", "asleep", "down", "suppressed", "dropped", "waiting", "forwarded", "silent")
EVENT_ROWS = (
    "publish",
    "deliver",
    "send",
    "receive",
    "lose",
    "overhear",
    "forward",
    "suppress",
    "drop",
    "delay",
    "note",
)


@cache
def rows_with(world: str, event: int) -> list[LogRow]:
    """Rows that name the event, and rows of frames that brought it to some node or were sent with it."""
    rows = [row for row in simulated_rows(world) if row.kind in EVENT_ROWS]
    frames = {row.frame for row in rows if row.event == event and row.frame}
    return [row for row in rows if row.event == event or row.frame in frames]


@cache
def links(world: str) -> list[tuple[int, frozenset[int]]]:
    """Times and ends of frames that one node sent and the radio of another noticed."""
    return [
        (row.t, frozenset((row.node, row.peer)))
        for row in simulated_rows(world)
        if row.peer >= 0
        and (row.kind in ("receive", "overhear") or (row.kind == "lose" and row.reason not in AT_SENDER))
    ]


def first_had(world: str, event: int) -> dict[int, int]:
    had: dict[int, int] = {}
    for row in rows_with(world, event):
        if row.event == event and row.kind in ("publish", "receive", "deliver"):
            had.setdefault(row.node, row.t)
    return had


def expiry(world: str, event: int) -> int:
    (row,) = [row for row in rows_with(world, event) if row.kind == "publish"]
    return FOREVER if row.value >= FOREVER else row.t + row.value


@cache
def neighbours(world: str, node: int, event: int) -> set[int]:
    """The nodes that had the event and a link with `node`: while they were busy with it, or shortly before or after."""
    nodes = set()
    for holder, had in first_had(world, event).items():
        busy_until = max(
            row.t
            for row in rows_with(world, event)
            if row.node == holder and not (row.kind == "receive" and row.event != event)
        )
        until = min(busy_until + LATELY_US, expiry(world, event))
        if any(had - LATELY_US <= t <= until and ends == {node, holder} for t, ends in links(world)):
            nodes.add(holder)
    return nodes - {node}


def lost_frames(world: str, node: int, event: int) -> set[int]:
    """Frames for `node`, or for all, that carried the event and that its radio lost."""
    rows = rows_with(world, event)
    to = {row.frame: row.peer for row in rows if row.kind == "send"}
    return {
        row.frame
        for row in rows
        if row.node == node and row.kind == "lose" and row.reason in LOST and to[row.frame] in (-1, node)
    }


def place(world: str, node: int, t_us: int) -> tuple[float, float]:
    leg = [row for row in simulated_rows(world) if row.kind == "move" and row.node == node and row.t <= t_us][-1]
    x, y, vx, vy = map(float, leg.reason.split())
    took_s = (min(t_us, leg.value) - leg.t) / 1e6
    return x + vx * took_s, y + vy * took_s


def distance_m(world: str, one: int, other: int, t_us: int) -> float:
    (x, y), (u, v) = place(world, one, t_us), place(world, other, t_us)
    return hypot(x - u, y - v)


def pairs() -> st.SearchStrategy[tuple[str, int, int]]:
    def of(world: str) -> st.SearchStrategy[tuple[str, int, int]]:
        events = sorted(line.event for line in all_events(answers(world)).events)
        return st.tuples(st.just(world), st.integers(0, NODES - 1), st.sampled_from(events))

    return st.sampled_from(sorted(WORLDS)).flatmap(of)


@cache
def explained(world: str, node: int, event: int) -> Explanation:
    return pair(answers(world), node, event)


@settings(max_examples=300)
@given(pairs())
def test_it_says_received_and_delivered_exactly_if_there_are_such_rows(which: tuple[str, int, int]) -> None:
    world, node, event = which
    answer = explained(world, node, event)
    kinds = {row.kind for row in rows_with(world, event) if row.node == node and row.event == event}
    assert (answer.status == "published") == ("publish" in kinds)
    if answer.status == "published":
        return
    assert (answer.status == "got") == ("deliver" in kinds) == (f"n{node} got event" in answer.summary)
    assert ("never received" in answer.summary) == ("receive" not in kinds)
    if answer.status != "got":
        assert (answer.cause == "") == (answer.status == "received")
        assert (answer.cause == "undelivered") == ("never delivered" in answer.summary)
    assert (answer.latency_us is None) == ("deliver" not in kinds)


@settings(max_examples=300)
@given(pairs())
def test_it_names_exactly_the_frames_that_were_lost(which: tuple[str, int, int]) -> None:
    world, node, event = which
    answer = explained(world, node, event)
    lost = {
        row.frame: row.reason
        for row in rows_with(world, event)
        if row.node == node and row.kind == "lose" and row.reason in LOST
    }
    named = {frame: entry.reason for entry in answer.timeline if entry.kind == "lost" for frame in entry.frames}
    assert named == lost
    if "never received" in answer.summary:
        mine = lost_frames(world, node, event)
        assert (answer.cause in LOST) == bool(mine)
        assert (f"n{node} lost" in answer.summary) == bool(mine)
        if mine:
            reasons = [reason for frame, reason in lost.items() if frame in mine]
            assert reasons.count(answer.cause) == max(reasons.count(reason) for reason in reasons)


@settings(max_examples=200)
@given(pairs())
def test_frames_that_collided_were_on_the_air_at_the_same_time(which: tuple[str, int, int]) -> None:
    world, node, event = which
    sent = {row.frame: (row.t, row.t + row.value, row.node) for row in simulated_rows(world) if row.kind == "send"}
    here = {
        row.frame for row in simulated_rows(world) if row.node == node and row.kind in ("receive", "lose", "overhear")
    }
    for entry in explained(world, node, event).timeline:
        if entry.kind == "lost" and entry.reason == "collision" and len(entry.frames) == 1:
            begin, end, _ = sent[entry.frames[0]]
            others = {
                sender
                for frame, (t, until, sender) in sent.items()
                if frame in here and frame != entry.frames[0] and t < end and until > begin
            }
            _, _, named = entry.text.partition("collision")
            assert {f"n{sender}" for sender in others} == set(re.findall(r"n\d+", named)) or "more" in named


@settings(max_examples=300)
@given(pairs())
def test_neighbours_are_those_that_had_it_while_frames_went_between_them(which: tuple[str, int, int]) -> None:
    world, node, event = which
    answer = explained(world, node, event)
    if not answer.cause or answer.cause == "undelivered":
        assert answer.neighbours == []
        return
    end = answer.path[-2] if answer.path else node
    assert {holder.node for holder in answer.neighbours if holder.is_neighbour} == neighbours(world, end, event)
    assert bool(answer.path) == (answer.cause == "not reached")
    if answer.cause in ("not reached", "met later", "cut off", "alone"):
        assert neighbours(world, node, event) == set()
    for holder in answer.neighbours:
        times = [t for t, ends in links(world) if ends == {end, holder.node}]
        assert holder.contact_before_us == max((t for t in times if t < holder.had_us), default=None)
        assert holder.contact_after_us == min((t for t in times if t >= holder.had_us), default=None)
        for t in (holder.contact_before_us, holder.contact_after_us):
            assert t is None or distance_m(world, end, holder.node, t) <= RANGE_M + 1
        if holder.distance_m is not None:
            assert holder.distance_m == pytest.approx(distance_m(world, node, holder.node, holder.had_us))


@settings(max_examples=300)
@given(pairs())
def test_the_conduct_of_neighbours_agrees_with_their_rows(which: tuple[str, int, int]) -> None:
    world, node, event = which
    answer = explained(world, node, event)
    end = answer.path[-2] if answer.path else node
    for holder in answer.neighbours:
        own = [row for row in rows_with(world, event) if row.node == holder.node]
        sends = [row for row in own if row.kind == "send"]
        decided = [(row.kind, row.reason) for row in own if row.kind in ("suppress", "drop", "delay")]
        kind = {"suppressed": "suppress", "dropped": "drop", "waiting": "delay"}.get(holder.conduct)
        if kind is not None:
            assert (kind, holder.reason) in decided
        for_it = [row for row in sends if row.peer in (-1, end)]
        if holder.conduct in ("silent", "forwarded", "waiting"):
            assert not sends
        if holder.conduct in ("sent", "out of range"):
            assert for_it
        if holder.conduct == "sent to others":
            assert sends
        if holder.conduct in AT_SENDER:
            assert any(row.kind == "lose" and row.reason == holder.conduct and row.peer in (-1, end) for row in own)
        named = {frame for entry in holder.timeline if entry.kind == "sent" for frame in entry.frames}
        assert named == {row.frame for row in sends}


@settings(max_examples=200)
@given(pairs())
def test_the_way_follows_first_receptions_and_the_path_follows_links(which: tuple[str, int, int]) -> None:
    world, node, event = which
    answer = explained(world, node, event)
    first: dict[int, int] = {}
    for row in rows_with(world, event):
        if row.kind == "receive" and row.event == event and row.node != event >> 32:
            first.setdefault(row.node, row.peer)
    if node in first_had(world, event):
        assert answer.way[0] == event >> 32 and answer.way[-1] == node
        assert all(first[after] == before for before, after in zip(answer.way, answer.way[1:], strict=False))
    if answer.cause in ("not reached", "met later", "cut off", "alone"):
        begins, last = answer.begins_us - LATELY_US, max(row.t for row in rows_with(world, event)) + LATELY_US
        last = min(last, expiry(world, event))
        hops = {"not reached": len(answer.path) - 2, "met later": 0}.get(answer.cause, -1)
        assert distance(world, node, event, begins, last) == hops
        edges = {ends for t, ends in links(world) if begins <= t <= last}
        assert all(frozenset(ends) in edges for ends in zip(answer.path, answer.path[1:], strict=False))
        if answer.cause == "alone":
            assert not any(node in ends for ends in edges)


def distance(world: str, node: int, event: int, begins: int, last: int) -> int:
    """How many links it takes, over nodes without the event, to one that met a node with it; -1 if there is no way."""
    had = first_had(world, event)
    during = [(t, ends) for t, ends in links(world) if begins <= t <= last]
    met = {
        other
        for t, ends in during
        for holder in ends & had.keys()
        for other in ends - had.keys()
        if t >= had[holder] - LATELY_US
    }
    edges = {ends for _, ends in during if not ends & had.keys()}
    reached, hops = {node}, 0
    while not reached & met:
        more = reached | {other for ends in edges if ends & reached for other in ends}
        if more == reached:
            return -1
        reached, hops = more, hops + 1
    return hops


@settings(max_examples=200)
@given(pairs())
def test_it_fits_80_columns_and_is_json(which: tuple[str, int, int]) -> None:
    world, node, event = which
    answer = explained(world, node, event)
    assert all(len(line) <= WIDTH == 80 for line in str(answer).splitlines())
    assert json.loads(json.dumps(answer.as_dict()))["summary"] == answer.summary
    assert not re.search(r" ,|\.\.|;;|None|n-1|\b1 (other )?(node|hop|frame|event)s\b", str(answer))


@pytest.mark.parametrize("world", sorted(WORLDS))
def test_lists_agree_with_single_answers(world: str) -> None:
    every = answers(world)
    lines = all_events(every).events
    assert {line.event for line in lines} == {row.event for row in simulated_rows(world) if row.kind == "publish"}
    for line in lines[:: max(1, len(lines) // 5)]:
        listed = every.answer(None, line.event)
        single = {node: explained(world, node, line.event) for node in range(NODES)}
        shown = {outcome.node: outcome for outcome in listed.nodes}  # type: ignore[union-attr]
        assert {n for n, answer in single.items() if answer.status in ("got", "missed")} == set(shown)
        assert len([n for n, answer in single.items() if answer.status == "missed"]) == line.interested - line.got  # type: ignore[operator]
        for node, outcome in shown.items():
            answer = single[node]
            assert (outcome.status, outcome.cause) == (answer.status, answer.cause)
            assert outcome.latency_us == answer.latency_us


@pytest.mark.parametrize("world", sorted(WORLDS))
def test_the_list_of_a_node_agrees_with_single_answers(world: str) -> None:
    events = [line.event for line in all_events(answers(world)).events]
    for node in (0, 7, 19):
        listed = answers(world).answer(node, None).events  # type: ignore[union-attr]
        shown = {outcome.event: (outcome.status, outcome.cause) for outcome in listed}  # type: ignore[union-attr]
        single = {event: explained(world, node, event) for event in events}
        expected = {e: (a.status, a.cause) for e, a in single.items() if a.status in ("got", "missed", "published")}
        assert shown == expected


def causes(worlds: Iterable[str]) -> set[str]:
    return {
        explained(world, node, line.event).cause
        for world in worlds
        for line in all_events(answers(world)).events[1::2]
        for node in range(NODES)
    }


def test_these_worlds_have_every_cause() -> None:
    every = {"", *LOST, *AROUND, "undelivered", "sent to others", "out of range", "not sent", "not heard"}
    assert causes(WORLDS) == every | {"alone", "cut off", "not reached", "met later"}
