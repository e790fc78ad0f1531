"""What is worth telling to whom, kept up to date as interests come and go, beside a twin that looks at all of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.subtree.interests import IDLE_BEATS, OWN, Interests
from roamcast.protocols.subtree.kin import Interest, Kin, Lineage, key_of, outranks
from roamcast.pubsub.covering import covers
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, Filter, Or, Range, attr, topic
from tests.protocols.subtree.test_kin import FILTERS, Watched

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


def worth_telling(interests: Interests, peer: int) -> list[Interest]:
    """All that a neighbour would be told that knows nothing yet."""
    beyond = interests.beyond(interests.side(peer))
    return interests.in_order(interests.kin.topmost(beyond, beyond))


def test_of_two_filters_that_cover_each_other_one_is_told() -> None:
    interests = Interests()
    one, other = attr("a").isin(1), attr("a") == 1
    interests.want(one, interests.side(OWN))
    interests.want(other, interests.side(OWN))
    assert keys(worth_telling(interests, 5)) == [min(str(one), str(other))]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SOURCES, FILTERS), max_size=10))
def test_what_is_told_covers_exactly_what_others_want(wants: list[tuple[int, Filter]]) -> None:
    """Events decide: the told filters and all filters from elsewhere match the same, and none is told needlessly."""
    interests = Interests()
    for source, filter in wants:
        interests.want(filter, interests.side(source))
    for peer in (*PEERS, 8):
        told = [interest.filter for interest in worth_telling(interests, peer)]
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
    st.tuples(st.just("forget"), st.booleans(), st.none()),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=40), st.sampled_from([1, 4, 9, 4096]))
def test_a_neighbour_is_told_all_that_changes_and_nothing_else(steps: list[tuple], limit: int) -> None:  # type: ignore[type-arg]
    """Whatever the steps between two tellings; where few filters are known together, their numbers change often.

    Those of a second twin never do, and it has all filters in the same order.
    """
    interests, still, plain = Interests(known=Lineage(limit)), Interests(known=Lineage(4096)), Plain()
    told: dict[int, set[str]] = {}
    for what, a, b in steps:
        if what == "want":
            for each in (interests, still):
                each.want(b, each.side(a))
            plain.wants.append((a, b))
        elif what == "unwant" and a < len(plain.wants):
            source, filter = plain.wants.pop(a)
            for each in (interests, still):
                each.unwant(filter, each.side(source))
        elif what == "beat":
            for _ in range(a):
                interests.forget_the_idle()
                still.forget_the_idle()
        elif what == "tell":
            added, removed = interests.news(interests.side(a), removals=b)
            assert keys(added) == keys(still.news(still.side(a), removals=b)[0])
            now, before = {*plain.worth_telling(a)}, told.get(a, set())
            assert sorted(keys(added)) == sorted(now - before)
            assert sorted(keys(removed)) == sorted(before - now if b else ())
            told[a] = now if b else now | before
        elif what == "leave":
            told.pop(a, None)
            plain.wants = [want for want in plain.wants if want[0] != a]
            interests.forget_side(a)
            still.forget_side(a)
        elif what == "forget":
            others_need_the_room(interests, same=a)
        for peer in PEERS:
            assert sorted(keys(worth_telling(interests, peer))) == plain.worth_telling(peer)
        assert places(interests) == places(still)
    check_order(interests, plain)


def others_need_the_room(interests: Interests, same: bool) -> None:
    """The next new filter has no number left. Where there are more, another filter has the first, and perhaps others
    have come to know the same ones in another order."""
    interests.kin.limit = 0
    newer = interests.known.latest = Kin(100)
    newer.know("another", topic("another"), 0)
    if same:
        for interest in reversed(interests.kin.those(interests.rows)):
            newer.know(interest.key, interest.filter, 0)


def check_order(interests: Interests, plain: Plain) -> None:
    assert list(interests.order) == interests.in_order(interests.rows)
    assert {*places(interests)} >= {key_of(filter) for _, filter in plain.wants}
    rows = interests.kin.those(interests.rows)
    for interest in rows:
        above = [other.key for other in rows if other is not interest and is_above(other, interest)]
        assert sorted(keys(interests.kin.those(interest.above & interests.rows))) == sorted(above)


def is_above(one: Interest, other: Interest) -> bool:
    return outranks(one.key, one.filter, other.key, other.filter)


@pytest.mark.parametrize(("sources", "another", "differs"), [
    ((), 5, {6, 7}),
    ((5,), 5, set()),
    ((5,), 6, {5}),
    ((5,), OWN, {5}),
    ((OWN,), 5, set()),
    ((5, 6), 7, set()),
    ((5, OWN), 6, set()),
])  # fmt: skip
def test_another_one_who_wants_it_makes_a_difference_to_few(
    sources: tuple[int, ...], another: int, differs: set[int]
) -> None:
    interests = Interests()
    for source in sources:
        interests.want(topic("a"), interests.side(source))
    for peer in PEERS:
        interests.news(interests.side(peer), removals=True)
    interests.want(topic("a"), interests.side(another))
    assert {peer for peer in PEERS if interests.news(interests.side(peer), removals=True)[0]} == differs
    interests.unwant(topic("a"), interests.side(another))
    assert {peer for peer in PEERS if interests.news(interests.side(peer), removals=True)[1]} == differs


def test_interests_are_told_in_the_order_they_came() -> None:
    interests = Interests()
    for name in ("c", "a", "b"):
        interests.want(topic(name), interests.side(OWN))
    assert keys(interests.news(interests.side(5), removals=True)[0]) == ["topic c", "topic a", "topic b"]


def test_what_is_no_longer_wanted_is_left_for_later_and_is_not_told_if_it_comes_back() -> None:
    interests = Interests()
    interests.want(topic("a"), interests.side(OWN))
    interests.news(interests.side(5), removals=True)
    interests.unwant(topic("a"), interests.side(OWN))
    assert interests.news(interests.side(5), removals=False) == ([], [])
    interests.want(topic("a"), interests.side(OWN))
    assert interests.news(interests.side(5), removals=True) == ([], [])
    interests.unwant(topic("a"), interests.side(OWN))
    assert interests.news(interests.side(5), removals=False) == ([], [])
    assert keys(interests.news(interests.side(5), removals=True)[1]) == ["topic a"]
    assert interests.news(interests.side(5), removals=True) == ([], [])


def test_who_wants_a_filter_several_times_wants_it_until_the_last_is_taken_back() -> None:
    interests = Interests()
    for _ in range(3):
        interests.want(topic("a"), interests.side(6))
    for left in (2, 1, 0):
        assert keys(worth_telling(interests, 5)) == ["topic a"]
        interests.unwant(topic("a"), interests.side(6))
        assert interests.sides[6].again == ({"topic a": left - 1} if left > 1 else {})
    assert worth_telling(interests, 5) == []


def places(interests: Interests) -> list[str]:
    return keys(interests.in_order(interests.rows))


def test_a_filter_that_nobody_wants_keeps_its_place_for_a_while_and_then_loses_it() -> None:
    interests = Interests()
    interests.want(topic("a"), interests.side(OWN))
    interests.want(topic("b"), interests.side(5))
    interests.unwant(topic("a"), interests.side(OWN))
    for _ in range(IDLE_BEATS):
        interests.forget_the_idle()
    assert places(interests) == ["topic a", "topic b"]
    interests.want(topic("a"), interests.side(OWN))
    interests.unwant(topic("a"), interests.side(OWN))
    for _ in range(IDLE_BEATS):
        interests.forget_the_idle()
    assert places(interests) == ["topic a", "topic b"], "its time began anew"
    interests.forget_the_idle()
    assert places(interests) == keys(list(interests.order)) == ["topic b"]
    interests.want(topic("a"), interests.side(OWN))
    assert places(interests) == ["topic b", "topic a"]


def test_time_begins_when_the_last_one_stops_wanting_it_however_that_comes_about() -> None:
    for stop in ("unwant", "unwant_all", "forget_side"):
        interests = Interests()
        interests.want(topic("a"), interests.side(5))
        for _ in range(IDLE_BEATS + 1):
            interests.forget_the_idle()
        if stop == "unwant":
            interests.unwant(topic("a"), interests.side(5))
        elif stop == "unwant_all":
            interests.unwant_all(interests.side(5))
        else:
            interests.forget_side(5)
        for _ in range(IDLE_BEATS):
            interests.forget_the_idle()
        assert places(interests) == ["topic a"]
        interests.forget_the_idle()
        assert places(interests) == []


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("stop", ["before", "after"])
def test_numbers_that_change_change_no_times(stop: str, same: bool) -> None:
    """A filter goes when it would have gone, whether it was given up before or after the last heartbeat."""
    interests = Interests(known=Lineage(100))
    for name in ("a", "b", "c"):
        interests.want(topic(name), interests.side(5))
    interests.forget_the_idle()
    interests.unwant(topic("b"), interests.side(5))
    if stop == "before":
        interests.forget_the_idle()
    others_need_the_room(interests, same)
    numbers = {interest.key: interest.bit for interest in interests.order}
    interests.want(topic("new"), interests.side(5))
    assert all(interest.bit != numbers.get(interest.key) for interest in interests.order)
    for _ in range(IDLE_BEATS - (stop == "before")):
        interests.forget_the_idle()
    assert places(interests) == ["topic a", "topic b", "topic c", "topic new"]
    interests.forget_the_idle()
    assert places(interests) == ["topic a", "topic c", "topic new"]


@pytest.mark.parametrize("same", [False, True])
def test_what_was_told_is_taken_back_though_it_was_forgotten_before_numbers_changed(same: bool) -> None:
    interests = Interests(known=Lineage(100))
    interests.want(topic("a"), interests.side(6))
    interests.news(interests.side(5), removals=True)
    interests.unwant(topic("a"), interests.side(6))
    for _ in range(IDLE_BEATS + 1):
        interests.forget_the_idle()
    assert places(interests) == []
    others_need_the_room(interests, same)
    interests.want(topic("b"), interests.side(6))
    added, removed = interests.news(interests.side(5), removals=True)
    assert (keys(added), keys(removed)) == (["topic b"], ["topic a"])


def test_where_numbers_change_nothing_is_compared_again() -> None:
    counts: list[int] = []
    for limit in (1, 4096):
        asked: list[str] = []
        interests = Interests(known=Lineage(limit))
        for n in range(20):
            interests.want(Watched(f"w{n}", asked), interests.side(5))
        counts.append(len(asked))
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("limit", [1, 4, 4096])
def test_numbers_that_change_change_nothing_else(limit: int, same: bool) -> None:
    """The same with hardly any filter known together as with all of them."""
    interests = Interests(known=Lineage(limit))
    for n, name in enumerate(("x", "a", "a.b", "y")):
        interests.want(topic(name), interests.side((OWN, 6)[n % 2]))
    assert keys(interests.news(interests.side(5), removals=True)[0]) == ["topic x", "topic a", "topic y"]
    interests.unwant(topic("a"), interests.side(6))
    interests.unwant(topic("x"), interests.side(OWN))
    assert keys(interests.news(interests.side(5), removals=False)[0]) == ["topic a.b"]
    others_need_the_room(interests, same)
    for n in range(10):
        interests.want(topic(f"n{n}"), interests.side(7))
    assert keys(interests.news(interests.side(5), removals=True)[1]) != [] and interests.sides[5].stale == 0
    for _ in range(IDLE_BEATS):
        interests.forget_the_idle()
    others_need_the_room(interests, same)
    for n in range(10, 90):
        interests.want(topic(f"n{n}"), interests.side(7))
    assert places(interests)[:4] == ["topic x", "topic a", "topic a.b", "topic y"]
    interests.forget_the_idle()
    assert places(interests)[:2] == ["topic a.b", "topic y"]


def test_everything_outranks_every_other_filter() -> None:
    interests = Interests()
    for filter in (topic("a"), Range("v", 1, 2), EVERYTHING):
        interests.want(filter, interests.side(OWN))
    assert keys(worth_telling(interests, 5)) == [key_of(EVERYTHING)]
