"""The event queue: two implementations, one order."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.world.queue import (
    ACKNOWLEDGE,
    ATTEMPT,
    COMPILED,
    END,
    FAULT,
    KIND_MASK,
    LAST_INSTANT,
    LONG_BITS,
    MOTION,
    NODE_BITS,
    NODE_MASK,
    PUBLISH,
    ROUND_BITS,
    SAMPLE,
    SHORT_BITS,
    TIME_SHIFT,
    TIMEOUT,
    TIMER,
    EventQueue,
    PlainQueue,
    VecQueue,
    event_queue,
    interval_bits,
)

KINDS = (END, ACKNOWLEDGE, TIMEOUT, FAULT, MOTION, SAMPLE, PUBLISH, TIMER, ATTEMPT)
FEW, MANY = 10, 10_000
"""Nodes of a world; with many, intervals are short."""
MAKERS: list[Callable[[], EventQueue]] = [PlainQueue, lambda: VecQueue(FEW), lambda: VecQueue(MANY)]
BOTH = pytest.mark.parametrize("queue", MAKERS, ids=["plain", "few nodes", "many nodes"])

Entry = tuple[int, int, int, int, int]
"""time, kind, node, serial, key"""

ROUND = 1 << ROUND_BITS
TIMES = st.integers(0, 5) | st.integers(0, 3 * ROUND) | st.integers(0, LAST_INSTANT)
EDGES = st.builds(
    lambda edge, off: edge + off,
    st.sampled_from((1 << SHORT_BITS, 1 << LONG_BITS, ROUND, 2 * ROUND)),
    st.integers(-1, 1),
)
ENTRIES = st.tuples(
    TIMES | EDGES,
    st.sampled_from(KINDS),
    st.integers(0, 3) | st.integers(0, NODE_MASK),
    st.integers(0, 5) | st.integers(0, 1 << 62),
    st.integers(-5, 1 << 62),
)


def pop(queue: EventQueue) -> Entry:
    when, serial, key = (int(part) for part in queue.pop())
    return when >> TIME_SHIFT, when >> NODE_BITS & KIND_MASK, when & NODE_MASK, serial, key


def drained(queue: EventQueue, entries: list[Entry]) -> list[Entry]:
    for entry in entries:
        queue.push(*entry)
    return [pop(queue) for _ in entries]


def order(entry: Entry) -> tuple[int, int, int, int]:
    return entry[:4]


@BOTH
def test_events_a_whole_round_apart_are_not_taken_together(queue: Callable[[], EventQueue]) -> None:
    entries = [(10 * ROUND + after, TIMER, 1, 0, 0) for after in (0, ROUND, ROUND - 1, 1000, ROUND + 1)]
    assert drained(queue(), entries) == sorted(entries, key=order)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.none() | ENTRIES, max_size=80), st.sampled_from([FEW, MANY]))
def test_both_queues_agree_for_any_pushes_and_pops(steps: list[Entry | None], nodes: int) -> None:
    """None is a pop. Entries with equal time, kind, node and serial are the same event."""
    plain, unboxed = PlainQueue(), VecQueue(nodes)
    held: dict[tuple[int, int, int, int], bool] = {}
    for step in steps:
        if step is None:
            if held:
                first = pop(plain)
                assert pop(unboxed) == first
                assert order(first) == min(held)
                del held[order(first)]
        elif order(step) not in held:
            held[order(step)] = True
            plain.push(*step)
            unboxed.push(*step)
    for expected in sorted(held):
        assert order(pop(plain)) == order(pop(unboxed)) == expected


@BOTH
def test_the_order_is_time_kind_node_serial_whatever_the_order_of_pushes(queue: Callable[[], EventQueue]) -> None:
    entries = [(t, kind, node, serial, 7) for t in (3, 4) for kind in KINDS for node in (0, 9) for serial in (1, 2)]
    for seed in range(20):
        pushed = entries[:]
        random.Random(seed).shuffle(pushed)
        assert drained(queue(), pushed) == entries


def test_frames_arrive_before_nodes_act_at_the_same_instant() -> None:
    assert sorted(KINDS) == list(KINDS)
    assert KINDS[0] == END and KINDS[-1] == ATTEMPT
    assert FAULT < PUBLISH < TIMER


@BOTH
def test_nothing_is_lost_or_late_when_time_goes_on_for_many_rounds(queue: Callable[[], EventQueue]) -> None:
    """As in a run: a popped event sets the clock, and pushed events are due soon, much later, or at once."""
    draws = random.Random(1)
    made = queue()
    made.push(0, TIMER, 0, 0, 0)
    waiting = [(0, TIMER, 0, 0, 0)]
    for serial in range(1, 3000):
        first = pop(made)
        assert first == min(waiting)
        waiting.remove(first)
        for _ in range(1 if len(waiting) > 40 else 2):
            reach = draws.choice((1, 1 << SHORT_BITS, ROUND, 5 * ROUND))
            entry = (first[0] + draws.randrange(reach), TIMER, draws.randrange(9), 2 * serial + len(waiting) % 2, 7)
            made.push(*entry)
            waiting.append(entry)


def test_popping_an_empty_queue_is_an_error() -> None:
    made = VecQueue(FEW)
    made.push(5, TIMER, 0, 0, 0)
    made.pop()
    with pytest.raises(IndexError):
        made.pop()


@BOTH
def test_the_last_instant_and_the_last_node_fit_in(queue: Callable[[], EventQueue]) -> None:
    farthest = (LAST_INSTANT, KIND_MASK, NODE_MASK, (1 << 62), -1)
    nearer = (LAST_INSTANT - 1, KIND_MASK, NODE_MASK, (1 << 62), -1)
    assert drained(queue(), [farthest, nearer]) == [nearer, farthest]


@pytest.mark.parametrize("queue", MAKERS[1:] if COMPILED else MAKERS)  # the plain one is for plain ints
def test_an_event_after_the_last_instant_never_comes_first(queue: Callable[[], EventQueue]) -> None:
    """Such as a crash after a year, or a timer for an event that never expires."""
    made = queue()
    made.push(1 << 52, TIMER, 0, 0, 0)
    made.push(5, ATTEMPT, 0, 0, 0)
    assert pop(made)[:2] == (5, ATTEMPT)


def test_the_fastest_queue_for_this_build_is_used() -> None:
    assert type(event_queue(FEW)) is (VecQueue if COMPILED else PlainQueue)


def test_many_nodes_have_shorter_intervals() -> None:
    assert [interval_bits(nodes) for nodes in (1, 250, 251, 1_000_000)] == [7, 7, 4, 4]
