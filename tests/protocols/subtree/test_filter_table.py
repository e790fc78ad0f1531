"""Which filters to advertise to which neighbour, against a twin that compares all filters every time."""

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
    """The twin: a list of (source, filter). It compares every pair of filters each time."""

    def __init__(self) -> None:
        self.wants: list[tuple[int, Filter]] = []

    def to_advertise(self, peer: int) -> list[str]:
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
    return [known.key for known in table]


def to_advertise(table: FilterTable, peer: int) -> list[KnownFilter]:
    """The filters that a new neighbour would get."""
    beyond = table.wanted_by_others(table.sets_of(peer))
    return table.in_order(table.covers.not_replaced(beyond, beyond))


def test_of_two_filters_that_cover_each_other_one_is_advertised() -> None:
    table = FilterTable()
    one, other = attr("a").isin(1), attr("a") == 1
    table.add(one, table.sets_of(OWN))
    table.add(other, table.sets_of(OWN))
    assert keys(to_advertise(table, 5)) == [min(str(one), str(other))]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SOURCES, FILTERS), max_size=10))
def test_the_advertised_filters_match_exactly_the_events_that_others_want(wants: list[tuple[int, Filter]]) -> None:
    """The advertised filters and all filters of others match the same events, and no advertised filter is
    superfluous."""
    table = FilterTable()
    for source, filter in wants:
        table.add(filter, table.sets_of(source))
    for peer in (*PEERS, 8):
        advertised = [known.filter for known in to_advertise(table, peer)]
        wanted = [filter for source, filter in wants if source != peer]
        for value in range(12):
            for name in ("a", "a.b", "c"):
                event = Event(1, name, {"v": value})
                assert Or(advertised).matches(event) == Or(wanted).matches(event)
        for n, filter in enumerate(advertised):
            assert not any(covers(other, filter) for m, other in enumerate(advertised) if m != n), "superfluous"


STEPS = st.one_of(
    st.tuples(st.just("want"), SOURCES, FILTERS),
    st.tuples(st.just("want"), SOURCES, FILTERS),
    st.tuples(st.just("unwant"), st.integers(0, 9), st.none()),
    st.tuples(st.just("beat"), st.integers(1, IDLE_HEARTBEATS + 1), st.none()),
    st.tuples(st.just("advertise"), st.sampled_from(PEERS), st.booleans()),
    st.tuples(st.just("leave"), st.sampled_from(PEERS), st.none()),
    st.tuples(st.just("forget"), st.booleans(), st.none()),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=40), st.sampled_from([1, 4, 9, 4096]))
def test_a_neighbour_gets_all_changes_and_nothing_else(steps: list[tuple], limit: int) -> None:  # type: ignore[type-arg]
    """After any steps between two advertisements. With a small limit the numbers of filters change often.

    In a second table they never change, and both have the filters in the same order.
    """
    table, still, plain = FilterTable(shared=SharedTables(limit)), FilterTable(shared=SharedTables(4096)), Plain()
    advertised: dict[int, set[str]] = {}
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
        elif what == "advertise":
            added, removed = table.changes(table.sets_of(a), removals=b)
            assert keys(added) == keys(still.changes(still.sets_of(a), removals=b)[0])
            now, before = {*plain.to_advertise(a)}, advertised.get(a, set())
            assert sorted(keys(added)) == sorted(now - before)
            assert sorted(keys(removed)) == sorted(before - now if b else ())
            advertised[a] = now if b else now | before
        elif what == "leave":
            advertised.pop(a, None)
            plain.wants = [want for want in plain.wants if want[0] != a]
            table.forget(a)
            still.forget(a)
        elif what == "forget":
            others_need_the_room(table, same=a)
        for peer in PEERS:
            assert sorted(keys(to_advertise(table, peer))) == plain.to_advertise(peer)
        assert places(table) == places(still)
    check_order(table, plain)


def others_need_the_room(table: FilterTable, same: bool) -> None:
    """Leave no number for the next new filter. In the new table another filter has the first number, and with `same`
    the known filters are there in another order."""
    table.covers.limit = 0
    newer = table.shared.latest = CoverTable(100)
    newer.add("another", topic("another"), 0)
    if same:
        for known in reversed(table.covers.members(table.known)):
            newer.add(known.key, known.filter, 0)


def check_order(table: FilterTable, plain: Plain) -> None:
    assert list(table.order) == table.in_order(table.known)
    assert {*places(table)} >= {key_of(filter) for _, filter in plain.wants}
    rows = table.covers.members(table.known)
    for known in rows:
        above = [other.key for other in rows if other is not known and is_above(other, known)]
        assert sorted(keys(table.covers.members(known.replaced_by & table.known))) == sorted(above)


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
def test_another_source_of_a_filter_changes_the_advertisement_for_few_neighbours(
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


def test_filters_are_advertised_in_the_order_they_came() -> None:
    table = FilterTable()
    for name in ("c", "a", "b"):
        table.add(topic(name), table.sets_of(OWN))
    assert keys(table.changes(table.sets_of(5), removals=True)[0]) == ["topic c", "topic a", "topic b"]


def test_a_removal_can_wait_and_is_not_advertised_if_the_filter_comes_back() -> None:
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


def test_a_filter_added_several_times_is_wanted_until_it_is_removed_as_often() -> None:
    table = FilterTable()
    for _ in range(3):
        table.add(topic("a"), table.sets_of(6))
    for left in (2, 1, 0):
        assert keys(to_advertise(table, 5)) == ["topic a"]
        table.remove(topic("a"), table.sets_of(6))
        assert table.sources[6].repeated == ({"topic a": left - 1} if left > 1 else {})
    assert to_advertise(table, 5) == []


def places(table: FilterTable) -> list[str]:
    return keys(table.in_order(table.known))


def test_an_unwanted_filter_keeps_its_place_for_a_while_and_then_loses_it() -> None:
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
    assert places(table) == ["topic a", "topic b"], "its time has started again"
    table.forget_idle()
    assert places(table) == keys(list(table.order)) == ["topic b"]
    table.add(topic("a"), table.sets_of(OWN))
    assert places(table) == ["topic b", "topic a"]


def test_the_time_of_an_unwanted_filter_starts_when_its_last_source_is_gone() -> None:
    for stop in ("unwant", "unwant_all", "forget"):
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
def test_new_numbers_do_not_change_when_a_filter_is_forgotten(stop: str, same: bool) -> None:
    """A filter is forgotten at the same time whether it became unwanted before or after the last heartbeat."""
    table = FilterTable(shared=SharedTables(100))
    for name in ("a", "b", "c"):
        table.add(topic(name), table.sets_of(5))
    table.forget_idle()
    table.remove(topic("b"), table.sets_of(5))
    if stop == "before":
        table.forget_idle()
    others_need_the_room(table, same)
    numbers = {known.key: known.bit for known in table.order}
    table.add(topic("new"), table.sets_of(5))
    assert all(known.bit != numbers.get(known.key) for known in table.order)
    for _ in range(IDLE_HEARTBEATS - (stop == "before")):
        table.forget_idle()
    assert places(table) == ["topic a", "topic b", "topic c", "topic new"]
    table.forget_idle()
    assert places(table) == ["topic a", "topic c", "topic new"]


@pytest.mark.parametrize("same", [False, True])
def test_an_advertised_filter_is_removed_although_it_was_forgotten_before_numbers_changed(same: bool) -> None:
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


def test_filters_with_new_numbers_are_not_compared_again() -> None:
    counts: list[int] = []
    for limit in (1, 4096):
        comparisons: list[str] = []
        table = FilterTable(shared=SharedTables(limit))
        for n in range(20):
            table.add(Watched(f"w{n}", comparisons), table.sets_of(5))
        counts.append(len(comparisons))
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("limit", [1, 4, 4096])
def test_new_numbers_do_not_change_advertisements(limit: int, same: bool) -> None:
    """With a limit of one filter as with room for all."""
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


def test_everything_replaces_every_other_filter() -> None:
    table = FilterTable()
    for filter in (topic("a"), Range("v", 1, 2), EVERYTHING):
        table.add(filter, table.sets_of(OWN))
    assert keys(to_advertise(table, 5)) == [key_of(EVERYTHING)]
