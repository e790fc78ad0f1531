"""Which nodes heard each other, and when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.log.explanation.links import Links, Meeting
from tests.log.explanation.logs import Hand

MS = 1000
FOREVER_US = 10**12


def test_a_frame_that_a_radio_noticed_makes_a_link_and_one_that_was_given_up_does_not() -> None:
    log = Hand().receive(1, 2, 1, 1).lose(2, 3, 1, 1).overhear(3, 4, 1, 1)
    log.lose(4, 1, 0, 5, "queue").lose(5, 1, 2, 6, "no-ack").send(6, 1, 3, 7)
    links = Links(log.columns())
    assert links.all_neighbours(1) == [2, 3, 4]
    assert links.all_neighbours(2) == links.all_neighbours(4) == [1]
    assert links.all_neighbours(5) == links.all_neighbours(7) == []


def test_a_frame_counts_from_the_first_to_the_last_instant() -> None:
    links = Links(Hand().receive(5, 2, 1, 1).columns())
    assert links.neighbours(1, 5 * MS, 5 * MS) == [2]
    assert links.neighbours(1, 5 * MS + 1, FOREVER_US) == links.neighbours(1, 0, 5 * MS - 1) == []


def test_the_frames_next_to_a_time() -> None:
    links = Links(Hand().receive(5, 2, 1, 1).receive(9, 1, 2, 2).receive(7, 3, 3, 1).columns())
    assert links.meeting(1, 2, 7 * MS) == links.meeting(2, 1, 7 * MS) == Meeting(5 * MS, 9 * MS)
    assert links.meeting(1, 2, 9 * MS) == Meeting(5 * MS, 9 * MS)
    assert links.meeting(1, 2, 5 * MS) == Meeting(None, 5 * MS)
    assert links.meeting(1, 2, 9 * MS + 1) == Meeting(9 * MS, None)
    assert links.meeting(1, 8, 0) == links.meeting(8, 1, 0) == Meeting(None, None)


def test_a_path_is_the_shortest_over_links_of_its_time() -> None:
    log = Hand().receive(1, 2, 1, 1).receive(2, 3, 2, 2).receive(3, 4, 3, 3).receive(50, 4, 4, 1)
    links = Links(log.columns())
    assert links.path(1, {4}, (), 0, 10 * MS)[0] == [1, 2, 3, 4]
    assert links.path(1, {4}, (), 0, 60 * MS)[0] == [1, 4]
    assert links.path(1, {1}, (), 0, 0)[0] == [1]


def test_a_path_does_not_go_over_avoided_nodes() -> None:
    log = Hand().receive(1, 2, 1, 1).receive(1, 4, 1, 2).receive(2, 3, 2, 1).receive(2, 5, 2, 3).receive(3, 4, 3, 5)
    links = Links(log.columns())
    assert links.path(1, {4}, (), 0, 9 * MS)[0] == [1, 2, 4]
    assert links.path(1, {4}, {2}, 0, 9 * MS)[0] == [1, 3, 5, 4]
    assert links.path(1, {4}, {2, 3}, 0, 9 * MS) == ([], 1)


def test_without_a_path_the_connected_nodes_are_counted() -> None:
    links = Links(Hand().receive(1, 2, 1, 1).receive(2, 3, 2, 2).receive(50, 4, 4, 1).columns())
    assert links.path(1, {9}, (), 0, 10 * MS) == ([], 3)
    assert links.path(1, {9}, (), 0, 60 * MS) == ([], 4)
    assert links.path(5, {1}, (), 0, 10 * MS) == ([], 1)


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 30)), max_size=30),
    st.sampled_from([0, 70_000]),
    st.tuples(st.integers(0, 30), st.integers(0, 30)),
)
def test_links_agree_with_going_through_all_rows(
    frames: list[tuple[int, int, int]], first: int, span: tuple[int, int]
) -> None:
    log = Hand()
    for number, (node, peer, ms) in enumerate(frames, 1):
        log.receive(ms, first + node, number, first + peer)
    links = Links(log.columns())
    for node in range(9):
        met = {(peer, t) for a, b, t in frames for own, peer in ((a, b), (b, a)) if own == node}
        during = {first + peer for peer, t in met if span[0] <= t <= span[1]}
        assert links.neighbours(first + node, span[0] * MS, span[1] * MS) == sorted(during)
        assert links.all_neighbours(first + node) == sorted({first + peer for peer, _ in met})


@pytest.mark.parametrize("node", [0, 3])
def test_a_log_without_frames_has_no_links(node: int) -> None:
    assert Links(Hand().publish(0).columns()).all_neighbours(node) == []
