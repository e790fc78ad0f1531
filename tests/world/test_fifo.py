"""First in, first out: a Fifo does what a list with `pop(0)` does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.world.fifo import Fifo

STEPS = st.lists(st.one_of(st.just("take"), st.integers(0, 9)), max_size=60)
"""A number is appended."""


@given(STEPS)
def test_items_go_in_the_order_they_came(steps: list[int | str]) -> None:
    fifo: Fifo[int] = Fifo()
    twin: list[int] = []
    for step in steps:
        if isinstance(step, int):
            fifo.append(step)
            twin.append(step)
        elif twin:
            assert fifo.first() == twin[0]
            assert fifo.take() == twin.pop(0)
        assert fifo.in_order() == twin
        assert (len(fifo), bool(fifo)) == (len(twin), bool(twin))


@given(STEPS, st.integers(0, 9))
def test_an_item_in_the_middle_can_be_removed(steps: list[int | str], k: int) -> None:
    fifo: Fifo[int] = Fifo()
    twin: list[int] = []
    for step in steps:
        if isinstance(step, int):
            fifo.append(step)
            twin.append(step)
        elif twin:
            fifo.take()
            del twin[0]
        if k < len(twin):
            fifo.remove(k)
            del twin[k]
        assert fifo.in_order() == twin


def test_nothing_can_be_taken_from_an_empty_one() -> None:
    fifo: Fifo[int] = Fifo()
    with pytest.raises(IndexError):
        fifo.take()
    with pytest.raises(IndexError):
        fifo.first()
