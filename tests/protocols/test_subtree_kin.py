"""Comparisons that are kept: the same answers as comparing each time, and never too many of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.subtree_kin import KNOWN, MAX_COMPARED, Kin, key_of, outranks
from roamcast.pubsub.covering import covers
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, Filter, Range, attr, topic

FILTERS: st.SearchStrategy[Filter] = st.one_of(
    st.builds(lambda low, width: Range("v", low, low + width), st.integers(0, 5), st.integers(0, 4)),
    st.sampled_from(
        [EVERYTHING, attr("v") == 2, attr("v").isin(2), topic("a"), topic("a.b"), topic("a") & topic("a.b")]
    ),
)


def test_what_covers_outranks_and_of_equals_the_lower_key_does() -> None:
    one, other = attr("a").isin(1), attr("a") == 1
    assert covers(one, other) and covers(other, one)
    low, high = sorted([one, other], key=key_of)
    assert outranks(key_of(low), low, key_of(high), high)
    assert not outranks(key_of(high), high, key_of(low), low)
    wide, narrow = topic("z"), attr("a").exists() & topic("z")
    assert key_of(narrow) < key_of(wide) and outranks(key_of(wide), wide, key_of(narrow), narrow), "whatever the keys"
    assert not outranks(key_of(narrow), narrow, key_of(wide), wide)


@settings(max_examples=60, deadline=None)
@given(st.lists(FILTERS, unique_by=key_of, max_size=8), st.data())
def test_relations_are_those_of_comparing_each_time(filters: list[Filter], data: st.DataObject) -> None:
    """A dumb twin: every pair compared. In whatever order and company the filters are asked for."""
    kin = Kin(100)
    numbers = [kin.number_of(key_of(filter), filter) for filter in filters]
    assert numbers == list(range(len(filters)))
    for n in data.draw(st.permutations(numbers)):
        others = data.draw(st.lists(st.sampled_from(numbers), unique=True))
        asked = [m for m in others if m != n]
        relations = kin.compared(n, sum(1 << m for m in asked))
        mine = filters[n]
        above = [m for m in asked if outranks(key_of(filters[m]), filters[m], key_of(mine), mine)]
        below = [m for m in asked if outranks(key_of(mine), mine, key_of(filters[m]), filters[m])]
        assert sorted(m for m in relations.above if m in asked) == sorted(above)
        assert sorted(m for m in relations.below if m in asked) == sorted(below)
        assert not relations.compared >> n & 1 and len(set(relations.above + relations.below)) == len(
            relations.above + relations.below
        )


def test_a_pair_is_compared_once() -> None:
    asked: list[str] = []

    class Watched(Filter):
        """`covers` asks a filter that is none of its own whether it is equal."""

        def __init__(self, name: str) -> None:
            self.name = name

        def __eq__(self, other: object) -> bool:
            asked.append(self.name)
            return self is other

        def __hash__(self) -> int:
            return 0

        def matches(self, event: Event) -> bool:
            return False

        def fields(self) -> list[object]:
            return [self.name]

    kin = Kin(10)
    a, b = (kin.number_of(name, Watched(name)) for name in "ab")
    kin.compared(a, 1 << b)
    assert asked
    asked.clear()
    kin.compared(a, 1 << b)
    kin.compared(b, 1 << a)
    assert asked == []


def test_there_are_never_more_than_the_limit() -> None:
    kin = Kin(4)
    for n in range(10):
        kin.make_room(1)
        kin.number_of(f"k{n}", topic(f"t{n}"))
        assert len(kin.relations) == len(kin.numbers) <= 4
    assert kin.era == 3
    kin.make_room(3)
    assert kin.era == 4 and kin.numbers == {}
    assert KNOWN.limit == MAX_COMPARED
