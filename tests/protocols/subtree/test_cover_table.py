"""Stored comparisons give the same results as comparing each time, and their number is limited."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.subtree.cover_table import (
    MAX_EVENTS,
    MAX_FILTERS,
    SHARED,
    SPARE,
    CoverTable,
    KnownFilter,
    SharedTables,
    key_of,
    replaces,
)
from roamcast.pubsub.covering import covers
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, Filter, Range, attr, topic

FILTERS: st.SearchStrategy[Filter] = st.one_of(
    st.builds(lambda low, width: Range("v", low, low + width), st.integers(0, 5), st.integers(0, 4)),
    st.sampled_from(
        [EVERYTHING, attr("v") == 2, attr("v").isin(2), topic("a"), topic("a.b"), topic("a") & topic("a.b")]
    ),
)

EVENTS = st.builds(lambda name, v: Event(1 + v, name, {"v": v}), st.sampled_from(["a", "a.b", "c"]), st.integers(0, 9))


def test_a_covering_filter_replaces_and_of_equal_filters_the_lower_key_does() -> None:
    one, other = attr("a").isin(1), attr("a") == 1
    assert covers(one, other) and covers(other, one)
    low, high = sorted([one, other], key=key_of)
    assert replaces(key_of(low), low, key_of(high), high)
    assert not replaces(key_of(high), high, key_of(low), low)
    wide, narrow = topic("z"), attr("a").exists() & topic("z")
    assert key_of(narrow) < key_of(wide) and replaces(key_of(wide), wide, key_of(narrow), narrow), "whatever the keys"
    assert not replaces(key_of(narrow), narrow, key_of(wide), wide)


@settings(max_examples=60, deadline=None)
@given(st.lists(FILTERS, unique_by=key_of, max_size=8), st.data())
def test_relations_are_those_of_comparing_each_time(filters: list[Filter], data: st.DataObject) -> None:
    """Every pair is compared again, in any order and together with any other filters."""
    table = CoverTable(100)
    known = [table.add(key_of(filter), filter, 0) for filter in filters]
    for one in data.draw(st.permutations(known)):
        compared = data.draw(st.lists(st.sampled_from(known), unique=True))
        assert table.add(one.key, one.filter, union(compared)) is one
        for other in compared:
            assert bool(one.replaced_by & other.bit) == bool(other.replaced & one.bit) == is_above(other, one)
            assert bool(one.replaced & other.bit) == bool(other.replaced_by & one.bit) == is_above(one, other)


def union(filters: list[KnownFilter]) -> int:
    return sum(known.bit for known in filters)


def is_above(one: KnownFilter, other: KnownFilter) -> bool:
    return one is not other and replaces(one.key, one.filter, other.key, other.filter)


@settings(max_examples=60, deadline=None)
@given(st.lists(FILTERS, unique_by=key_of, min_size=1, max_size=12), st.data())
def test_sets_of_filters_are_those_of_checking_each_filter(filters: list[Filter], data: st.DataObject) -> None:
    table, all_bits = CoverTable(100), 0
    for filter in filters:
        all_bits |= table.add(key_of(filter), filter, all_bits).bit
    some = st.lists(st.sampled_from(table.by_number), unique=True)
    these, others = data.draw(some), data.draw(some)
    assert set(table.members(union(these))) == set(these)
    assert set(table.members(table.replaced_by_any(union(these)))) == {
        below for below in table.by_number if any(is_above(one, below) for one in these)
    }
    assert set(table.members(table.not_replaced(union(these), union(others)))) == {
        one for one in these if not any(is_above(other, one) for other in others)
    }


@settings(max_examples=100, deadline=None)
@given(st.lists(FILTERS, unique_by=key_of, min_size=1, max_size=10), st.data())
def test_copied_results_are_those_of_comparing_again(filters: list[Filter], data: st.DataObject) -> None:
    """Only filters in use are copied, as far as they were compared; the newer table may know some under other
    numbers."""
    some = st.lists(st.sampled_from(filters), unique_by=key_of)
    older, newer = CoverTable(100), CoverTable(100)
    for table, order in ((older, filters), (newer, data.draw(some))):
        for filter in order:
            some_others = [other for other in table.by_number if data.draw(st.booleans())]
            table.add(key_of(filter), filter, union(some_others))
    used = data.draw(some)
    known_before = {one.key: {other.key for other in newer.members(one.compared)} for one in newer.by_number}
    newer.copy_from(older, union([older.by_key[key_of(filter)] for filter in used]))
    assert {*newer.by_key} == {*known_before} | {key_of(filter) for filter in used}
    check_relations(newer)
    for one in map(key_of, used):
        inherited = {other for other in map(key_of, used) if older.by_key[one].compared & older.by_key[other].bit}
        compared = {other.key for other in newer.members(newer.by_key[one].compared)}
        assert compared == inherited | known_before.get(one, set())


def check_relations(table: CoverTable) -> None:
    """The table has the relations of all compared pairs, and no others."""
    for one in table.by_number:
        compared = [other for other in table.by_number if one.compared & other.bit]
        assert all(other.compared & one.bit for other in compared)
        assert one.replaced_by == union([other for other in compared if is_above(other, one)])
        assert one.replaced == union([other for other in compared if is_above(one, other)])
    assert table.all_replaced == union([one for one in table.by_number if one.replaced_by])
    assert table.all_replacing == union([one for one in table.by_number if one.replaced])


class Watched(Filter):
    """A filter that records comparisons: `covers` compares a filter of an unknown class for equality."""

    def __init__(self, name: str, comparisons: list[str]) -> None:
        self.name = name
        self.comparisons = comparisons

    def __eq__(self, other: object) -> bool:
        self.comparisons.append(self.name)
        return self is other

    def __hash__(self) -> int:
        return 0

    def matches(self, event: Event) -> bool:
        return False

    def fields(self) -> list[object]:
        return [self.name]


def test_a_pair_is_compared_once() -> None:
    comparisons: list[str] = []
    table = CoverTable(10)
    a, b = (table.add(name, Watched(name, comparisons), 0) for name in "ab")
    table.add("a", a.filter, b.bit)
    assert comparisons
    comparisons.clear()
    table.add("a", a.filter, a.bit | b.bit)
    table.add("b", b.filter, a.bit)
    newer = CoverTable(10)
    newer.copy_from(table, a.bit | b.bit)
    newer.add("b", b.filter, newer.by_key["a"].bit)
    assert comparisons == []


@given(st.lists(FILTERS, max_size=6, unique_by=key_of), st.lists(EVENTS, max_size=6), st.data())
def test_a_set_of_filters_matches_an_event_if_one_of_them_does(
    filters: list[Filter], events: list[Event], data: st.DataObject
) -> None:
    table = CoverTable(10)
    known = [table.add(key_of(filter), filter, 0) for filter in filters]
    for event in [*events, *events]:
        some = data.draw(st.lists(st.sampled_from(known), unique=True) if known else st.just([]))
        expected = any(each.filter.matches(event) for each in some)
        assert table.any_matches(sum(each.bit for each in some), event) == expected


def test_a_filter_is_matched_with_an_event_once_and_old_events_are_forgotten() -> None:
    matched: list[int] = []

    class Counted(Filter):
        def matches(self, event: Event) -> bool:
            matched.append(event.id)
            return True

    table = CoverTable(10)
    bit = table.add("a", Counted(), 0).bit
    first = Event(1)
    assert table.any_matches(bit, first) and table.any_matches(bit, first) and not table.any_matches(0, first)
    assert matched == [1]
    assert table.any_matches(bit, Event(1, "another with its id")) and matched == [1, 1]
    for id in range(2, MAX_EVENTS + 2):
        table.any_matches(bit, Event(id))
    assert len(table.events) == MAX_EVENTS and 1 not in table.events


def test_a_table_has_room_for_the_limit_or_for_what_a_broker_needs() -> None:
    shared = SharedTables(8)
    first = shared.latest
    for n in range(7):
        assert shared.with_room(1) is first
        first.add(f"k{n}", topic(f"t{n}"), 0)
    assert shared.with_room(1) is first
    second = shared.with_room(2)
    assert second is shared.latest is not first and second.by_key == {} and second.limit == 8
    assert shared.with_room(9).limit == 9 * SPARE
    assert SHARED.limit == MAX_FILTERS


def test_brokers_of_one_owner_share_a_table_and_the_next_owner_gets_a_new_one() -> None:
    shared, one, other = SharedTables(8), object(), object()
    table = shared.for_owner(one)
    table.add("a", topic("a"), 0)
    assert shared.for_owner(one) is table is shared.latest
    assert shared.for_owner(other).by_key == {} and shared.for_owner(other) is shared.latest
