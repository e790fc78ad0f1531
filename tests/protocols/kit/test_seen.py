"""Ids that were seen: the table of numbers against a dict."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.kit.seen import FEWEST_SLOTS, FREE, HALF, SPREAD, IdSet, Seen
from roamcast.pubsub.event import event_id

ids = st.integers(1, 40) | st.builds(event_id, st.integers(0, 5), st.integers(1, 8)) | st.integers(1, (1 << 63) - 1)


def home(id: int, slots: int) -> int:
    return (id * SPREAD >> HALF) & (slots - 1)


@settings(max_examples=200)
@given(st.lists(ids | st.none(), max_size=120))
def test_it_remembers_the_same_ids_as_a_dict_in_the_same_order(steps: list[int | None]) -> None:
    """A step adds an id, or removes the oldest one if it is None."""
    seen = Seen()
    plain: dict[int, None] = {}
    for id in steps:
        if id is not None:
            assert (id in seen) == (id in plain)
            assert seen.add(id) == (id not in plain)
            plain[id] = None
        elif plain:
            oldest = next(iter(plain))
            assert seen.take_oldest() == oldest
            del plain[oldest]
            assert oldest not in seen
        assert len(seen) == len(plain)
    assert seen.in_order() == list(plain)
    assert all(id in seen for id in plain)


@given(st.integers(0, FEWEST_SLOTS - 1), st.permutations(range(6)), st.integers(0, 6))
def test_ids_behind_a_gap_are_still_found_also_across_the_end_of_the_table(
    first: int, order: list[int], taken: int
) -> None:
    """Six ids whose first slots are `first` and the next one, in any order; some of them are removed again."""
    near = [id for id in range(1, 4000) if home(id, FEWEST_SLOTS) == first][:3]
    near += [id for id in range(1, 4000) if home(id, FEWEST_SLOTS) == (first + 1) % FEWEST_SLOTS][:3]
    seen = Seen()
    for k in order:
        seen.add(near[k])
    for k in order[:taken]:
        assert seen.take_oldest() == near[k]
    assert seen.in_order() == [near[k] for k in order[taken:]]
    assert [near[k] in seen for k in order] == [False] * taken + [True] * (6 - taken)
    assert sum(slot != 0 for slot in seen.slots) == 6 - taken


def test_removing_an_id_that_is_not_there_changes_nothing() -> None:
    seen = Seen()
    seen.add(5)
    seen.remove(7)
    assert len(seen) == 1 and 5 in seen


def test_memory_depends_on_the_remembered_ids_and_not_on_all_that_were_added() -> None:
    seen = Seen()
    for n in range(1, 5001):
        assert seen.add(event_id(n % 7, n))
        if len(seen) > 100:
            assert seen.take_oldest() == event_id((n - 100) % 7, n - 100)
        assert len(seen.ids) <= 203 and len(seen.slots) <= 256
    assert len(seen) == 100


def test_at_least_half_of_the_slots_are_free() -> None:
    seen = Seen()
    for n in range(1, 300):
        seen.add(n)
        assert 2 * len(seen) <= len(seen.slots)
        assert sum(slot != 0 for slot in seen.slots) == n


def test_ids_of_many_publishers_or_of_one_spread_over_the_slots() -> None:
    """No id is more than a few slots away from its first slot."""
    for many in ([event_id(p, 1) for p in range(1000)], [event_id(3, n) for n in range(1, 1000)]):
        seen = Seen()
        for id in many:
            seen.add(id)
        slots = len(seen.slots)
        assert max((seen.slot_of(id) - home(id, slots)) % slots for id in many) < 24


@given(st.lists(ids, max_size=150))
def test_ids_come_and_go_as_in_a_set(steps: list[int]) -> None:
    """A step adds an id, or removes it if it is there."""
    made, plain = IdSet(), set[int]()
    for id in steps:
        assert (id in made) == (id in plain)
        if id in plain:
            made.remove(id)
            plain.remove(id)
        else:
            assert made.add(id) and not made.add(id)
            plain.add(id)
        assert len(made) == len(plain)
    assert {id for id in steps if id in made} == plain
    assert sorted(slot for slot in made.slots if slot != FREE) == sorted(plain)
