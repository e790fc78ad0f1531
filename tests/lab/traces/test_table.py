"""Groups stay whole however rows are divided; unions and counts, against the simplest way to compute them."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.lab.traces import contacts, table
from roamcast.lab.traces.table import counted, group_ends, group_starts, spelled_out, whole_groups
from tests.lab.traces import twins

few = st.integers(0, 3)


@given(st.lists(st.tuples(few, few)), st.integers(1, 9), st.randoms(use_true_random=False))
def test_groups_are_whole_and_nothing_is_lost(keys: list[tuple[int, int]], at_least: int, random: Random) -> None:
    rows = [(a, b, k) for k, (a, b) in enumerate(sorted(keys))]
    batches = []
    left = rows
    while left:
        size = random.randint(1, 4)
        columns = zip(*left[:size], strict=True)
        batches.append(pa.RecordBatch.from_arrays([pa.array(c, pa.int64()) for c in columns], ["a", "b", "k"]))
        left = left[size:]
    tables = [
        list(zip(*(c.to_pylist() for c in t.columns), strict=True)) for t in whole_groups(batches, "ab", at_least)
    ]
    assert [row for table in tables for row in table] == rows
    groups = [{row[:2] for row in table} for table in tables]
    assert sum(map(len, groups)) == len(set(keys))
    assert all(len(table) >= at_least for table in tables[:-1])


@given(st.lists(few))
def test_where_groups_begin_and_end(keys: list[int]) -> None:
    column = np.array(sorted(keys), np.int64)
    starts = group_starts(column)
    groups = [column[start:end].tolist() for start, end in zip(starts, group_ends(starts, len(column)), strict=True)]
    assert groups == [list(same) for _, same in groupby(sorted(keys))]


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-5, 5))))
def test_counts_are_added_up(pairs: list[tuple[int, int]]) -> None:
    values, counts = (np.array([pair[k] for pair in pairs], np.int64) for k in (0, 1))
    assert [column.tolist() for column in counted(values)] == unzipped(Counter(values.tolist()))
    sums: Counter[int] = Counter()
    for value, count in pairs:
        sums[value] += count
    assert [column.tolist() for column in counted(values, counts)] == unzipped(sums)


def unzipped(counter: Counter[int]) -> list[list[int]]:
    return [sorted(counter), [counter[value] for value in sorted(counter)]]


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 5))), st.integers(1, 8))
def test_ranges_are_spelled_out(ranges: list[tuple[int, int]], at_once: int) -> None:
    first = np.array([start for start, _ in ranges], np.int64)
    last = first + np.array([count - 1 for _, count in ranges], np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "AT_ONCE", at_once)
        pieces = [list(zip(k.tolist(), v.tolist(), strict=True)) for k, v in spelled_out(first, last)]
    expected = [(k, start + step) for k, (start, count) in enumerate(ranges) for step in range(count)]
    assert [pair for piece in pieces for pair in piece] == expected


@given(st.lists(st.tuples(few, few, st.integers(-20, 20), st.integers(1, 8))))
def test_unions_are_those_of_points(pieces: list[tuple[int, int, int, int]]) -> None:
    rows = sorted((i, j, start, start + lasts) for i, j, start, lasts in pieces)
    columns = [np.array([row[k] for row in rows], np.int64) for k in range(4)]
    united = list(zip(*(column.tolist() for column in contacts.union(*columns)), strict=True))
    expected = [
        (i, j, start, end)
        for (i, j), own in groupby(rows, key=lambda row: row[:2])
        for start, end in twins.union((a, b) for _, _, a, b in own)
    ]
    assert united == expected
