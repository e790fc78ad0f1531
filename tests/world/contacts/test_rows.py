"""Rows of neighbours, compared with sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roamcast.world.contacts.rows import ROOM, SortedRows

NODES = 3
MOST = 3 * ROOM  # a row is widened twice

changes = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, MOST), st.booleans()), min_size=MOST, max_size=6 * MOST
)


@given(changes)
def test_rows_hold_in_order_what_sets_hold(changes: list[tuple[int, int, bool]]) -> None:
    rows, sets = SortedRows(NODES), [set[int]() for _ in range(NODES)]
    for i, j, there in changes:
        assert rows.holds(i, j) == (j in sets[i])
        assert rows.put(i, j, there) == ((j in sets[i]) != there)
        (sets[i].add if there else sets[i].discard)(j)
        assert list(rows[i]) == sorted(sets[i])
    assert [list(row) for row in rows] == [sorted(held) for held in sets]


def test_a_full_row_moves_with_its_contents_and_does_not_change_others() -> None:
    rows = SortedRows(NODES)
    for j in range(MOST, 0, -1):
        for i in range(NODES):
            assert rows.put(i, j, True) and not rows.put(i, j, True)
    assert [list(row) for row in rows] == [list(range(1, MOST + 1))] * NODES


def test_a_row_that_was_returned_does_not_change() -> None:
    rows = SortedRows(NODES)
    rows.put(1, 7, True)
    before = rows[1]
    rows.put(1, 5, True)
    assert (list(before), list(rows[1])) == ([7], [5, 7])
