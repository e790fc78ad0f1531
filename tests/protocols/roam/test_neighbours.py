"""Neighbours: who is here, who is new, and how much time each may take."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roamcast.protocols.roam.neighbours import MOST, NOBODY, SHARE, Neighbours

SECOND = 1_000_000


def test_a_neighbour_is_new_when_it_comes_and_after_a_long_silence() -> None:
    neighbours = Neighbours(10 * SECOND, 1000)
    assert neighbours.meet(7, 0)
    assert not neighbours.meet(7, 10 * SECOND)
    assert neighbours.met_us(7) == 0
    assert neighbours.meet(7, 20 * SECOND + 1)
    assert neighbours.met_us(7) == 20 * SECOND + 1


def test_those_that_are_silent_for_long_are_forgotten() -> None:
    neighbours = Neighbours(10 * SECOND, 1000)
    for node in range(5):
        neighbours.meet(node, node * SECOND)
    neighbours.meet(0, 6 * SECOND)
    neighbours.forget(13 * SECOND)
    assert sorted(neighbours.nodes) == [0, 3, 4]


def test_of_too_many_the_one_that_was_heard_longest_ago_is_forgotten() -> None:
    neighbours = Neighbours(10 * SECOND, 1000)
    for node in range(MOST):
        neighbours.meet(node, node)
    neighbours.meet(0, MOST)
    neighbours.meet(MOST, MOST)
    assert len(neighbours.here) == MOST and 0 in neighbours.nodes and 1 not in neighbours.nodes


def test_one_neighbour_takes_its_share_and_all_together_the_whole() -> None:
    neighbours = Neighbours(10 * SECOND, 80)
    for node in range(20):
        neighbours.meet(node, 0)
    assert [neighbours.has_time(0, 5, 0) for _ in range(4)] == [True, True, False, False]
    assert [neighbours.has_time(node, 10, 0) for node in range(1, 10)] == [True] * (SHARE - 1) + [False] * 2
    assert [neighbours.has_time(node, 5, SECOND) for node in (1, 0)] == [True, True], "and a second later anew"


def test_a_neighbour_that_asks_for_too_much_takes_only_its_own_share() -> None:
    neighbours = Neighbours(10 * SECOND, 80)
    for node in range(3):
        neighbours.meet(node, 0)
    assert neighbours.has_time(0, 1_000_000, 0)
    assert not neighbours.has_time(0, 1, 0)
    assert neighbours.has_time(1, 1, 0) and neighbours.has_time(2, 1, 0)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 8)), max_size=60))
def test_who_is_here_is_what_a_dict_says(steps: list[tuple[int, int]]) -> None:
    """Each step waits for some seconds and then hears a node; the twin has when each was heard last."""
    neighbours, twin, now_us = Neighbours(10 * SECOND, 1000), dict[int, int](), 0
    for node, wait_s in steps:
        now_us += wait_s * SECOND
        twin = {each: heard_us for each, heard_us in twin.items() if heard_us >= now_us - 10 * SECOND}
        assert neighbours.meet(node, now_us) == (node not in twin)
        twin[node] = now_us
        assert [int(each) for each in neighbours.nodes] == list(twin)
        assert [int(heard_us) for heard_us in neighbours.heard_us] == list(twin.values())
        assert neighbours.count(now_us) == len(neighbours.here) == len(twin)
        assert [neighbours.find(each) != NOBODY for each in range(10)] == [each in twin for each in range(10)]
