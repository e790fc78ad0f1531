"""Names and numbers of nodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roamcast.world.traces.names import NAMED, counted, number_of


def test_whole_numbers_are_their_own_numbers_and_names_have_stable_ones() -> None:
    assert [number_of(name) for name in ("0", "7", "2147483647")] == [0, 7, 2147483647]
    assert number_of("car1") == 5205529384159290771  # must never change
    assert all(number_of(name) >= NAMED for name in ("2147483648", "07", "-1", "1.0", "", "٣"))


@given(st.lists(st.text(max_size=4), unique=True))
def test_numbers_fit_into_tables_and_differ_for_different_names(names: list[str]) -> None:
    numbers = [number_of(name) for name in names]
    assert len(set(numbers)) == len(names) and all(0 <= number < 1 << 63 for number in numbers)


def test_nodes_are_counted_in_natural_order() -> None:
    names = ["car10", "b", "car2", "10", "9", "car2a"]
    assert counted(names) == {"9": 0, "10": 1, "b": 2, "car2": 3, "car2a": 4, "car10": 5}
    assert counted(reversed(names)) == counted(names)
