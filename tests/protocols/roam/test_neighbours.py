"""Neighbours: who is here, who is new, and how much time each may take."""

from __future__ import annotations

from roamcast.protocols.roam.neighbours import MOST, SHARE, Neighbours

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
    assert sorted(neighbours.here) == [0, 3, 4]


def test_of_too_many_the_one_that_was_heard_longest_ago_is_forgotten() -> None:
    neighbours = Neighbours(10 * SECOND, 1000)
    for node in range(MOST):
        neighbours.meet(node, node)
    neighbours.meet(0, MOST)
    neighbours.meet(MOST, MOST)
    assert len(neighbours.here) == MOST and 0 in neighbours.here and 1 not in neighbours.here


def test_one_neighbour_takes_its_share_and_all_together_the_whole() -> None:
    neighbours = Neighbours(10 * SECOND, 80)
    for node in range(20):
        neighbours.meet(node, 0)
    assert [neighbours.has_time(0, 5, 0) for _ in range(4)] == [True, True, False, False]
    assert [neighbours.has_time(node, 10, 0) for node in range(1, 10)] == [True] * (SHARE - 1) + [False] * 2
    assert neighbours.has_time(0, 5, SECOND), "and a second later anew"


def test_a_neighbour_that_asks_for_too_much_takes_only_its_own_share() -> None:
    neighbours = Neighbours(10 * SECOND, 80)
    for node in range(3):
        neighbours.meet(node, 0)
    assert neighbours.has_time(0, 1_000_000, 0)
    assert not neighbours.has_time(0, 1, 0)
    assert neighbours.has_time(1, 1, 0) and neighbours.has_time(2, 1, 0)
