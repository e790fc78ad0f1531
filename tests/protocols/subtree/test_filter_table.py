"""What is worth telling to whom, kept up to date as table come and go, beside a twin that looks at all of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.subtree.cover_table import CoverTable, KnownFilter, SharedTables, key_of, replaces
from roamcast.protocols.subtree.filter_table import IDLE_HEARTBEATS, OWN, FilterTable
from roamcast.pubsub.covering import covers
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, Filter, Or, Range, attr, topic
from tests.protocols.subtree.test_cover_table import FILTERS, Watched

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


def keys(table: list[KnownFilter]) -> list[str]:
    return [interest.key for interest in table]


def worth_telling(table: FilterTable, peer: int) -> list[KnownFilter]:
    """All that a neighbour would be told that knows nothing yet."""
    beyond = table.wanted_by_others(table.sets_of(peer))
    return table.in_order(table.covers.not_replaced(beyond, beyond))


def test_of_two_filters_that_cover_each_other_one_is_told() -> None:
    table = FilterTable()
    one, other = attr("a").isin(1), attr("a") == 1
    table.add(one, table.sets_of(OWN))
    table.add(other, table.sets_of(OWN))
    assert keys(worth_telling(table, 5)) == [min(str(one), str(other))]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SOURCES, FILTERS), max_size=10))
def test_what_is_told_covers_exactly_what_others_want(wants: list[tuple[int, Filter]]) -> None:
    """Events decide: the told filters and all filters from elsewhere match the same, and none is told needlessly."""
    table = FilterTable()
    for source, filter in wants:
        table.add(filter, table.sets_of(source))
    for peer in (*PEERS, 8):
        told = [interest.filter for interest in worth_telling(table, peer)]
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
    st.tuples(st.just("beat"), st.integers(1, IDLE_HEARTBEATS + 1), st.none()),
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
    table, still, plain = FilterTable(shared=SharedTables(limit)), FilterTable(shared=SharedTables(4096)), Plain()
    told: dict[int, set[str]] = {}
    for what, a, b in steps:
        if what == "want":
            for each in (table, still):
                each.add(b, each.sets_of(a))
            plain.wants.append((a, b))
        elif what == "unwant" and a < len(plain.wants):
            source, filter = plain.wants.pop(a)
            for each in (table, still):
                each.remove(filter, each.sets_of(source))
        elif what == "beat":
            for _ in range(a):
                table.forget_idle()
                still.forget_idle()
        elif what == "tell":
            added, removed = table.changes(table.sets_of(a), removals=b)
            assert keys(added) == keys(still.changes(still.sets_of(a), removals=b)[0])
            now, before = {*plain.worth_telling(a)}, told.get(a, set())
            assert sorted(keys(added)) == sorted(now - before)
            assert sorted(keys(removed)) == sorted(before - now if b else ())
            told[a] = now if b else now | before
        elif what == "leave":
            told.pop(a, None)
            plain.wants = [want for want in plain.wants if want[0] != a]
            table.forget(a)
            still.forget(a)
        elif what == "forget":
            others_need_the_room(table, same=a)
        for peer in PEERS:
            assert sorted(keys(worth_telling(table, peer))) == plain.worth_telling(peer)
        assert places(table) == places(still)
    check_order(table, plain)


def others_need_the_room(table: FilterTable, same: bool) -> None:
    """The next new filter has no number left. Where there are more, another filter has the first, and perhaps others
    have come to know the same ones in another order."""
    table.covers.limit = 0
    newer = table.shared.latest = CoverTable(100)
    newer.add("another", topic("another"), 0)
    if same:
        for interest in reversed(table.covers.members(table.known)):
            newer.add(interest.key, interest.filter, 0)


def check_order(table: FilterTable, plain: Plain) -> None:
    assert list(table.order) == table.in_order(table.known)
    assert {*places(table)} >= {key_of(filter) for _, filter in plain.wants}
    rows = table.covers.members(table.known)
    for interest in rows:
        above = [other.key for other in rows if other is not interest and is_above(other, interest)]
        assert sorted(keys(table.covers.members(interest.replaced_by & table.known))) == sorted(above)


def is_above(one: KnownFilter, other: KnownFilter) -> bool:
    return replaces(one.key, one.filter, other.key, other.filter)


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
    table = FilterTable()
    for source in sources:
        table.add(topic("a"), table.sets_of(source))
    for peer in PEERS:
        table.changes(table.sets_of(peer), removals=True)
    table.add(topic("a"), table.sets_of(another))
    assert {peer for peer in PEERS if table.changes(table.sets_of(peer), removals=True)[0]} == differs
    table.remove(topic("a"), table.sets_of(another))
    assert {peer for peer in PEERS if table.changes(table.sets_of(peer), removals=True)[1]} == differs


def test_filter_table_are_told_in_the_order_they_came() -> None:
    table = FilterTable()
    for name in ("c", "a", "b"):
        table.add(topic(name), table.sets_of(OWN))
    assert keys(table.changes(table.sets_of(5), removals=True)[0]) == ["topic c", "topic a", "topic b"]


def test_what_is_no_longer_wanted_is_left_for_later_and_is_not_told_if_it_comes_back() -> None:
    table = FilterTable()
    table.add(topic("a"), table.sets_of(OWN))
    table.changes(table.sets_of(5), removals=True)
    table.remove(topic("a"), table.sets_of(OWN))
    assert table.changes(table.sets_of(5), removals=False) == ([], [])
    table.add(topic("a"), table.sets_of(OWN))
    assert table.changes(table.sets_of(5), removals=True) == ([], [])
    table.remove(topic("a"), table.sets_of(OWN))
    assert table.changes(table.sets_of(5), removals=False) == ([], [])
    assert keys(table.changes(table.sets_of(5), removals=True)[1]) == ["topic a"]
    assert table.changes(table.sets_of(5), removals=True) == ([], [])


def test_who_wants_a_filter_several_times_wants_it_until_the_last_is_taken_back() -> None:
    table = FilterTable()
    for _ in range(3):
        table.add(topic("a"), table.sets_of(6))
    for left in (2, 1, 0):
        assert keys(worth_telling(table, 5)) == ["topic a"]
        table.remove(topic("a"), table.sets_of(6))
        assert table.sources[6].repeated == ({"topic a": left - 1} if left > 1 else {})
    assert worth_telling(table, 5) == []


def places(table: FilterTable) -> list[str]:
    return keys(table.in_order(table.known))


def test_a_filter_that_nobody_wants_keeps_its_place_for_a_while_and_then_loses_it() -> None:
    table = FilterTable()
    table.add(topic("a"), table.sets_of(OWN))
    table.add(topic("b"), table.sets_of(5))
    table.remove(topic("a"), table.sets_of(OWN))
    for _ in range(IDLE_HEARTBEATS):
        table.forget_idle()
    assert places(table) == ["topic a", "topic b"]
    table.add(topic("a"), table.sets_of(OWN))
    table.remove(topic("a"), table.sets_of(OWN))
    for _ in range(IDLE_HEARTBEATS):
        table.forget_idle()
    assert places(table) == ["topic a", "topic b"], "its time began anew"
    table.forget_idle()
    assert places(table) == keys(list(table.order)) == ["topic b"]
    table.add(topic("a"), table.sets_of(OWN))
    assert places(table) == ["topic b", "topic a"]


def test_time_begins_when_the_last_one_stops_wanting_it_however_that_comes_about() -> None:
    for stop in ("unwant", "unwant_all", "forget_side"):
        table = FilterTable()
        table.add(topic("a"), table.sets_of(5))
        for _ in range(IDLE_HEARTBEATS + 1):
            table.forget_idle()
        if stop == "unwant":
            table.remove(topic("a"), table.sets_of(5))
        elif stop == "unwant_all":
            table.remove_all(table.sets_of(5))
        else:
            table.forget(5)
        for _ in range(IDLE_HEARTBEATS):
            table.forget_idle()
        assert places(table) == ["topic a"]
        table.forget_idle()
        assert places(table) == []


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("stop", ["before", "after"])
def test_numbers_that_change_change_no_times(stop: str, same: bool) -> None:
    """A filter goes when it would have gone, whether it was given up before or after the last heartbeat."""
    table = FilterTable(shared=SharedTables(100))
    for name in ("a", "b", "c"):
        table.add(topic(name), table.sets_of(5))
    table.forget_idle()
    table.remove(topic("b"), table.sets_of(5))
    if stop == "before":
        table.forget_idle()
    others_need_the_room(table, same)
    numbers = {interest.key: interest.bit for interest in table.order}
    table.add(topic("new"), table.sets_of(5))
    assert all(interest.bit != numbers.get(interest.key) for interest in table.order)
    for _ in range(IDLE_HEARTBEATS - (stop == "before")):
        table.forget_idle()
    assert places(table) == ["topic a", "topic b", "topic c", "topic new"]
    table.forget_idle()
    assert places(table) == ["topic a", "topic c", "topic new"]


@pytest.mark.parametrize("same", [False, True])
def test_what_was_told_is_taken_back_though_it_was_forgotten_before_numbers_changed(same: bool) -> None:
    table = FilterTable(shared=SharedTables(100))
    table.add(topic("a"), table.sets_of(6))
    table.changes(table.sets_of(5), removals=True)
    table.remove(topic("a"), table.sets_of(6))
    for _ in range(IDLE_HEARTBEATS + 1):
        table.forget_idle()
    assert places(table) == []
    others_need_the_room(table, same)
    table.add(topic("b"), table.sets_of(6))
    added, removed = table.changes(table.sets_of(5), removals=True)
    assert (keys(added), keys(removed)) == (["topic b"], ["topic a"])


def test_where_numbers_change_nothing_is_compared_again() -> None:
    counts: list[int] = []
    for limit in (1, 4096):
        asked: list[str] = []
        table = FilterTable(shared=SharedTables(limit))
        for n in range(20):
            table.add(Watched(f"w{n}", asked), table.sets_of(5))
        counts.append(len(asked))
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("limit", [1, 4, 4096])
def test_numbers_that_change_change_nothing_else(limit: int, same: bool) -> None:
    """The same with hardly any filter known together as with all of them."""
    table = FilterTable(shared=SharedTables(limit))
    for n, name in enumerate(("x", "a", "a.b", "y")):
        table.add(topic(name), table.sets_of((OWN, 6)[n % 2]))
    assert keys(table.changes(table.sets_of(5), removals=True)[0]) == ["topic x", "topic a", "topic y"]
    table.remove(topic("a"), table.sets_of(6))
    table.remove(topic("x"), table.sets_of(OWN))
    assert keys(table.changes(table.sets_of(5), removals=False)[0]) == ["topic a.b"]
    others_need_the_room(table, same)
    for n in range(10):
        table.add(topic(f"n{n}"), table.sets_of(7))
    assert keys(table.changes(table.sets_of(5), removals=True)[1]) != [] and table.sources[5].stale == 0
    for _ in range(IDLE_HEARTBEATS):
        table.forget_idle()
    others_need_the_room(table, same)
    for n in range(10, 90):
        table.add(topic(f"n{n}"), table.sets_of(7))
    assert places(table)[:4] == ["topic x", "topic a", "topic a.b", "topic y"]
    table.forget_idle()
    assert places(table)[:2] == ["topic a.b", "topic y"]


def test_everything_outranks_every_other_filter() -> None:
    table = FilterTable()
    for filter in (topic("a"), Range("v", 1, 2), EVERYTHING):
        table.add(filter, table.sets_of(OWN))
    assert keys(worth_telling(table, 5)) == [key_of(EVERYTHING)]
