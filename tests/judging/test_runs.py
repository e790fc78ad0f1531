"""Which runs a check asks for, and their numbers by seed."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from roamcast.judging.runs import mean, samples

ROW = st.fixed_dictionaries({"seed": st.integers(1, 3), "delivery": st.floats(0.0, 1.0)})
ROWS = st.lists(ROW, min_size=1, max_size=30)
ORDERS = ROWS.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows)))


@given(ORDERS)
def test_numbers_are_the_same_to_the_last_bit_in_whatever_order_rows_come(
    orders: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    rows, others = orders
    assert samples(rows, "delivery") == samples(others, "delivery")
    by_seed, in_another_order = ({k: row["delivery"] for k, row in enumerate(each)} for each in orders)
    assert mean(by_seed) == mean(in_another_order)
