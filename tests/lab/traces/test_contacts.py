"""Positions to contacts, against all pairs one after the other and against the simulator."""

from __future__ import annotations

from itertools import pairwise, permutations
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from roamcast.errors import InputError
from roamcast.lab.traces import contacts
from roamcast.lab.traces import table as tables
from roamcast.lab.traces.here import Here
from roamcast.lab.traces.schemas import CONTACTS, LEGS, POSITIONS
from roamcast.lab.traces.table import Table
from roamcast.world.contacts.kinetic import KineticContacts
from roamcast.world.mobility.waypoints import Waypoints
from tests.lab.traces import twins
from tests.lab.traces.places import rows_of, table_at
from tests.lab.traces.twins import Leg
from tests.world.test_links import ContactRecorder

if TYPE_CHECKING:
    from roamcast.lab.traces.trace import Place

RANGE_M = 10.0
WORLDS = 60
Row = tuple[int, int, float, float, int]
APART_US = 10**9


def walk(random: Random, node: int, begin: int) -> list[tuple[int, float, float]]:
    """Places and times on a coarse grid, so that nodes also stand, touch, keep the range and meet at turns."""
    t, rows = begin + random.choice((0, 1_000_000)), []
    for _ in range(random.randint(1, 6)):
        coarse = random.random() < 0.8
        x, y = (random.randint(-4, 4) * 5.0 if coarse else random.uniform(-20, 20) for _ in "xy")
        rows.append((t, x, y))
        t += random.choice((1_000_000, 2_000_000, 5_000_000, 333_333, 1))
    return rows


@pytest.fixture(scope="module")
def worlds() -> list[Row]:
    """Many small worlds in one table, one after the other: rows of node, t, x, y, segment."""
    random = Random(7)
    rows = []
    for world in range(WORLDS):
        for k in range(random.randint(2, 5)):
            node = world * 10 + k
            for step, (t, x, y) in enumerate(walk(random, node, world * APART_US)):
                rows.append((node, t, x, y, 1 if k == 0 and step > 2 else 0))
    return rows


def positions(place: Place, rows: list[Row]) -> Table:
    return table_at(place, [(n, t, x, y, None, s) for n, t, x, y, s in rows], POSITIONS)


def legs_of(rows: list[Row]) -> list[Leg]:
    legs: list[Leg] = []
    for (n, t, x, y, s), (to_n, to_t, to_x, to_y, to_s) in pairwise(rows):
        if (n, s) == (to_n, to_s):
            legs.append((n, t, to_t, x, y, (to_x - x) / (to_t - t), (to_y - y) / (to_t - t)))
    return legs


def test_contacts_are_those_of_all_pairs_whatever_slices_and_cells(place: Place, worlds: list[Row]) -> None:
    legs = contacts.legs(positions(place, worlds))
    rows = rows_of(legs)
    assert rows == sorted(legs_of(worlds))
    expected = twins.contacts(rows, RANGE_M)
    assert len(expected) > 100 and any(end - start > 3_000_000 for _, _, start, end in expected)
    solved = contacts.contacts(legs, RANGE_M)
    assert list(solved.columns()) == CONTACTS.names
    assert rows_of(solved) == expected
    assert rows_of(contacts.contacts(legs, RANGE_M, 700_001, 3.0)) == expected


@pytest.mark.parametrize("most_cells", [0, 4, 64])
@pytest.mark.parametrize("at_once", [1 << 18, 7])
@pytest.mark.parametrize(
    ("slice_us", "cell_m"), [(700_001, 3.0), (10_000_000, 1000.0), (1_000_000, 20.0), (250_000, 7.0)]
)
def test_slices_and_cells_cannot_be_seen(
    monkeypatch: pytest.MonkeyPatch, worlds: list[Row], slice_us: int, cell_m: float, at_once: int, most_cells: int
) -> None:
    """Pairs in cells, by hand."""
    monkeypatch.setattr(tables, "AT_ONCE", at_once)
    monkeypatch.setattr(contacts, "MOST_CELLS", most_cells)
    legs = legs_of(worlds)
    pieces = list(
        contacts.bucketed([np.array(column) for column in zip(*legs, strict=True)], RANGE_M, slice_us, cell_m)
    )
    table = [np.concatenate([piece[k] for piece in pieces]) for k in range(len(pieces[0]))]
    cells: dict[tuple[int, ...], list[int]] = {}
    for k, cell in enumerate(zip(*(table[7:10]), strict=True)):
        cells.setdefault(tuple(map(int, cell)), []).append(k)
    pairs = [
        (p, q)
        for (_, cx, cy), nodes in cells.items()
        for p, q in permutations(nodes, 2)
        if table[0][p] < table[0][q]
        and max(table[1][p], table[1][q]) < min(table[2][p], table[2][q])
        and (cx, cy) == (max(table[10][p], table[10][q]), max(table[11][p], table[11][q]))
    ]
    one, other = ([column[[pair[side] for pair in pairs]] for column in table[:7]] for side in (0, 1))
    starts = table[7][[p for p, _ in pairs]] * slice_us
    nodes = zip(*(c.tolist() for c in contacts.solved(one, other, starts, slice_us, RANGE_M)), strict=True)
    by_pair: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i, j, start, end in nodes:
        by_pair.setdefault((i, j), []).append((start, end))
    merged = sorted((*pair, start, end) for pair, known in by_pair.items() for start, end in twins.union(known))
    assert merged == twins.contacts(legs, RANGE_M)


def test_a_leg_that_goes_far_is_given_the_cells_that_it_passes() -> None:
    """A jump of 1,000 km, whose box has 25 million cells of 200 m."""
    for to_x, to_y in ((7e5, 7e5), (-9.9e5, 1e5), (0.0, 1e6), (1e6, 0.0), (1e5, -9.9e5)):
        leg: Leg = (1, 0, 1_000_000, 3.0, 4.0, to_x / 1e6, to_y / 1e6)
        columns = [np.array([value]) for value in leg]
        cells = [
            row for piece in contacts.bucketed(columns, 100.0, 1_000_000, 200.0) for row in zip(*piece, strict=True)
        ]
        assert len({row[8:10] for row in cells}) == len(cells) < 25_000
        covered = {(int(row[8]), int(row[9])) for row in cells}
        random = Random(1)
        for _ in range(300):
            s = random.uniform(0.0, 1e6)
            near = [place + random.uniform(-50.0, 50.0) for place in (3.0 + to_x / 1e6 * s, 4.0 + to_y / 1e6 * s)]
            assert (near[0] // 200.0, near[1] // 200.0) in covered


def test_a_leg_straight_along_the_edge_of_what_a_column_takes_in_is_in_both_columns() -> None:
    edge = -(50.0 + contacts.ROUNDING_M)
    columns = [np.array([value]) for value in (1, 0, 1_000_000, edge, 4.0, 0.0, 1.0)]
    (piece,) = contacts.bucketed(columns, 100.0, 1_000_000, 200.0)
    rows = {(cx, cy) for cx in (-1, 0) for cy in range(-1, 5001)}
    assert set(zip(piece[8].tolist(), piece[9].tolist(), strict=True)) == rows


def test_what_is_no_movement_at_all_is_refused(place: Place) -> None:
    rows = [(0, 0, 0.0, 0.0, 0), (0, 1_000_000, 3e8, 0.0, 0)]
    with pytest.raises(InputError, match=r"a node goes 300,000 km from one position to the next: too far for contacts"):
        contacts.contacts(contacts.legs(positions(place, rows)), 100.0)
    assert rows_of(contacts.contacts(contacts.legs(positions(place, rows)), 1000.0)) == []


def test_contacts_are_those_of_the_simulator(place: Place) -> None:
    random = Random(3)
    tracks = [
        [(t, random.uniform(0, 300), random.uniform(0, 300)) for t in range(0, 101, random.choice((5, 10, 20)))]
        for _ in range(25)
    ]
    diary_of = KineticContacts(Waypoints([[(float(t), x, y) for t, x, y in k] for k in tracks]), 25, 1, [40.0] * 25)
    diary = ContactRecorder(diary_of)
    diary_of.advance(99.9)
    rows = [(node, t * 1_000_000, x, y, 0) for node, track in enumerate(tracks) for t, x, y in track]
    solved = [c for c in rows_of(contacts.contacts(contacts.legs(positions(place, rows)), 40.0)) if c[3] < 99_900_000]
    expected = sorted((i, j, t, end) for i, j, t, end in diary.intervals)
    assert len(expected) > 50 and [c[:2] for c in solved] == [c[:2] for c in expected]
    for (_, _, start, end), (_, _, start_s, end_s) in zip(solved, expected, strict=True):
        assert start == pytest.approx(start_s * 1e6, abs=1) and end == pytest.approx(end_s * 1e6, abs=1)


def test_nodes_that_stay_stand_before_and_after(place: Place) -> None:
    rows = [(0, 2_000_000, 0.0, 0.0, 0), (0, 4_000_000, 4.0, 0.0, 0), (1, 3_000_000, 9.0, 0.0, 0)]
    legs = contacts.legs(positions(place, rows), (0, 10_000_000))
    assert rows_of(legs) == [
        (0, 0, 2_000_000, 0.0, 0.0, 0.0, 0.0),
        (0, 2_000_000, 4_000_000, 0.0, 0.0, 2e-6, 0.0),
        (0, 4_000_000, 10_000_000, 4.0, 0.0, 0.0, 0.0),
        (1, 0, 3_000_000, 9.0, 0.0, 0.0, 0.0),
        (1, 3_000_000, 10_000_000, 9.0, 0.0, 0.0, 0.0),
    ]
    assert list(legs.columns()) == LEGS.names
    assert rows_of(contacts.contacts(legs, 7.0)) == [(0, 1, 3_000_000, 10_000_000)]


def test_pieces_are_merged_where_they_touch(place: Place) -> None:
    random = Random(5)
    pieces = [(i, i + 1, a, a + random.randint(1, 6)) for i in range(3) for a in random.sample(range(60), 14)]
    merged = rows_of(contacts.merged(table_at(place, pieces, CONTACTS)))
    expected = [
        (i, i + 1, start, end)
        for i in range(3)
        for start, end in twins.union((a, b) for n, _, a, b in pieces if n == i)
    ]
    assert merged == expected and len(merged) < len(pieces)


def test_nobody_moves_and_nobody_meets(place: Place) -> None:
    assert rows_of(contacts.contacts(contacts.legs(positions(place, []), (0, 9)), 5.0)) == []


def test_a_range_must_be_above_zero() -> None:
    with pytest.raises(InputError, match=r"range=0: must be above 0 m"):
        contacts.contacts(table_at(Here(), [], LEGS), 0.0)
