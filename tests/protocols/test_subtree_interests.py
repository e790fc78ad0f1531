"""What is worth telling to whom, kept up to date as interests come and go, beside a twin that looks at all of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.interface import NOBODY
from roamcast.protocols.subtree_interests import IDLE_BEATS, OWN, Interest, Interests, in_order
from roamcast.protocols.subtree_kin import Kin, key_of
from roamcast.pubsub.covering import covers
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, Filter, Or, Range, attr, topic
from tests.protocols.test_subtree_kin import FILTERS

PEERS = (5, 6, 7)
SOURCES = st.sampled_from([NOBODY, *PEERS])


class Plain:
    """The twin: a list of who wants what, and every pair of filters compared whenever something is asked."""

    def __init__(self) -> None:
        self.wants: list[tuple[int, Filter]] = []

    def worth_telling(self, peer: int) -> list[str]:
        wanted = {key_of(filter): filter for source, filter in self.wants if source != peer}
        return sorted(
            key
            for key, filter in wanted.items()
            if not any(
                other_key != key and covers(other, filter) and (not covers(filter, other) or other_key < key)
                for other_key, other in wanted.items()
            )
        )


def keys(interests: list[Interest]) -> list[str]:
    return [interest.key for interest in interests]


def test_of_two_filters_that_cover_each_other_one_is_told() -> None:
    interests = Interests()
    one, other = attr("a").isin(1), attr("a") == 1
    interests.want(one, OWN)
    interests.want(other, OWN)
    assert keys(interests.worth_telling(5)) == [min(str(one), str(other))]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SOURCES, FILTERS), max_size=10))
def test_what_is_told_covers_exactly_what_others_want(wants: list[tuple[int, Filter]]) -> None:
    """Events decide: the told filters and all filters from elsewhere match the same, and none is told needlessly."""
    interests = Interests()
    for source, filter in wants:
        interests.want(filter, source)
    for peer in (*PEERS, 8):
        told = [interest.filter for interest in interests.worth_telling(peer)]
        wanted = [filter for source, filter in wants if source != peer]
        for value in range(12):
            for name in ("a", "a.b", "c"):
                event = Event(1, name, {"v": value})
                assert Or(told).matches(event) == Or(wanted).matches(event)
        for n, filter in enumerate(told):
            assert not any(covers(other, filter) for m, other in enumerate(told) if m != n), "one is enough"


STEPS = st.one_of(
    st.tuples(st.just("want"), SOURCES, FILTERS),
    st.tuples(st.just("want"), SOURCES, FILTERS),
    st.tuples(st.just("unwant"), st.integers(0, 9), st.none()),
    st.tuples(st.just("beat"), st.integers(1, IDLE_BEATS + 1), st.none()),
    st.tuples(st.just("tell"), st.sampled_from(PEERS), st.booleans()),
    st.tuples(st.just("leave"), st.sampled_from(PEERS), st.none()),
    st.tuples(st.just("forget"), st.none(), st.none()),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=40), st.sampled_from([1, 4, 9, 4096]))
def test_nothing_changes_for_a_neighbour_without_a_doubt(steps: list[tuple], limit: int) -> None:  # type: ignore[type-arg]
    """Whatever differs from what a neighbour was told last is in doubt; and the relations are those of the twin.

    With few comparisons kept, numbers change and large tables are compared plainly.
    """
    known = Kin(limit)
    interests, plain = Interests(known), Plain()
    told: dict[int, list[str]] = {}
    for what, a, b in steps:
        if what == "want":
            interests.want(b, a)
            plain.wants.append((a, b))
        elif what == "unwant" and a < len(plain.wants):
            source, filter = plain.wants.pop(a)
            interests.unwant(interests.rows[key_of(filter)], source)
        elif what == "beat":
            for _ in range(a):
                interests.forget_the_idle()
        elif what == "tell":
            told[a] = plain.worth_telling(a)
            interests.settle(a, {})
        elif what == "leave":
            told.pop(a, None)
            interests.forget_peer(a)
        elif what == "forget":  # somebody else needed room
            known.make_room(limit + 1)
        for peer in PEERS:
            now = plain.worth_telling(peer)
            assert sorted(keys(interests.worth_telling(peer))) == now
            if peer in told:
                assert {*now} ^ {*told[peer]} <= {*interests.in_doubt(peer)}
    assert set(interests.doubts) == set(told)
    check_relations(interests)


def check_relations(interests: Interests) -> None:
    rows = interests.rows
    assert {key for key, interest in rows.items() if not interest.sources} == set(interests.idle)
    for key, interest in rows.items():
        assert sorted(keys(interest.below)) == sorted(k for k, other in rows.items() if interest in other.above)
        above = [k for k, o in rows.items() if k != key and covers(o.filter, interest.filter)]
        above = [k for k in above if k < key or not covers(interest.filter, rows[k].filter)]
        assert sorted(keys(interest.above)) == sorted(above)
    if interests.era:
        assert sorted(interests.numbered) == [
            n for n in range(interests.numbers.bit_length()) if interests.numbers >> n & 1
        ]


@pytest.mark.parametrize(("sources", "another", "in_doubt"), [
    ((), 5, {6, 7}),
    ((5,), 5, set()),
    ((5,), 6, {5}),
    ((5,), OWN, {5}),
    ((OWN,), 5, set()),
    ((5, 6), 7, set()),
    ((5, OWN), 6, set()),
])  # fmt: skip
def test_another_one_who_wants_it_makes_a_difference_to_few(
    sources: tuple[int, ...], another: int, in_doubt: set[int]
) -> None:
    interests = Interests()
    for source in sources:
        interests.want(topic("a"), source)
    for peer in PEERS:
        interests.settle(peer, {})
    interest = interests.want(topic("a"), another)
    assert {peer for peer in PEERS if interests.in_doubt(peer)} == in_doubt
    for peer in PEERS:
        interests.settle(peer, {})
    interests.unwant(interest, another)
    assert {peer for peer in PEERS if interests.in_doubt(peer)} == in_doubt


def test_interests_are_told_in_the_order_they_came() -> None:
    interests = Interests()
    rows = [interests.want(topic(name), OWN) for name in ("c", "a", "b")]
    assert keys(interests.worth_telling(5)) == ["topic c", "topic a", "topic b"]
    assert in_order(rows[::-1]) == rows


def test_a_filter_that_nobody_wants_is_kept_for_a_while_and_then_forgotten() -> None:
    interests = Interests()
    wide, narrow = interests.want(topic("a"), OWN), interests.want(topic("a.b"), 5)
    interests.unwant(wide, OWN)
    for _ in range(IDLE_BEATS):
        interests.forget_the_idle()
    assert "topic a" in interests.rows and keys(interests.worth_telling(6)) == ["topic a.b"]
    assert interests.want(topic("a"), OWN) is wide, "it came back"
    assert keys(interests.worth_telling(6)) == ["topic a"]
    interests.unwant(wide, OWN)
    for _ in range(IDLE_BEATS):
        interests.forget_the_idle()
    assert interests.rows["topic a"] is wide, "its time began anew"
    interests.forget_the_idle()
    assert list(interests.rows) == ["topic a.b"] and narrow.above == [] and interests.idle == {}
    assert len(interests.numbered) == 1 and interests.numbers.bit_count() == 1


def test_a_table_that_was_too_large_to_be_known_is_known_when_it_has_shrunk() -> None:
    interests = Interests(Kin(4))
    rows = [interests.want(topic(name), OWN) for name in ("x", "y", "a")]
    for row in rows[:2]:
        interests.unwant(row, OWN)
    for _ in range(IDLE_BEATS + 1):
        interests.forget_the_idle()
    assert list(interests.rows) == ["topic a"]
    assert interests.want(topic("a.b"), OWN).above == [rows[2]]


def test_everything_outranks_every_other_filter() -> None:
    interests = Interests()
    for filter in (topic("a"), Range("v", 1, 2), EVERYTHING):
        interests.want(filter, OWN)
    assert keys(interests.worth_telling(5)) == [key_of(EVERYTHING)]
