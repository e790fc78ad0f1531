"""Statistics of contacts, against sums over small steps and against the oracle."""

from __future__ import annotations

import itertools
from random import Random
from statistics import mean, median
from typing import TYPE_CHECKING

import pytest

from roamcast.lab.traces import contacts as of_traces
from roamcast.lab.traces import statistics
from roamcast.lab.traces import trace as traces
from roamcast.lab.traces.schemas import CONTACTS
from roamcast.lab.traces.table import Table
from tests.lab.traces.places import rows_of, table_at
from tests.lab.traces.twins import Contact, union
from tests.support.data import data
from tests.support.reachability import reachability

if TYPE_CHECKING:
    from roamcast.lab.traces.trace import Place

NODES = 6
END = 60


@pytest.fixture(scope="module")
def known() -> list[Contact]:
    random = Random(11)
    united = []
    for i in range(NODES - 1):
        for j in range(i + 1, NODES - 1):  # the last node meets nobody
            pieces = [(a, min(END, a + random.randint(1, 9))) for a in random.sample(range(END), 4)]
            united += [(i, j, start, end) for start, end in union(pieces)]
    return united


@pytest.fixture
def met(place: Place, known: list[Contact]) -> Table:
    return table_at(place, [(i, j, a * 1_000_000, b * 1_000_000) for i, j, a, b in known], CONTACTS)


def test_how_long_contacts_last_and_pairs_are_apart(met: Table, known: list[Contact]) -> None:
    lasts = [float(b - a) for _, _, a, b in known]
    row = statistics.spread(statistics.durations(met))
    assert (row["count"], row["mean_s"], row["p50_s"]) == (len(lasts), pytest.approx(mean(lasts)), median(lasts))
    assert (row["min_s"], row["max_s"]) == (min(lasts), max(lasts))
    pairs = {c[:2]: sorted(d[2:] for d in known if d[:2] == c[:2]) for c in known}
    gaps = [float(b[0] - a[1]) for intervals in pairs.values() for a, b in itertools.pairwise(intervals)]
    row = statistics.spread(statistics.apart(met))
    assert (row["count"], row["mean_s"], row["p50_s"]) == (len(gaps), pytest.approx(mean(gaps)), median(gaps))
    shares = dict(statistics.survival(statistics.durations(met)))
    assert shares == {t: pytest.approx(sum(x > t for x in lasts) / len(lasts)) for t in set(lasts)}


def test_how_many_contacts_one_has(met: Table, known: list[Contact]) -> None:
    def degree(node: int, t: int) -> int:
        """In [t, t + 1)."""
        return sum(node in (i, j) and a <= t < b for i, j, a, b in known)

    levels = [degree(node, t) for node in range(NODES) for t in range(END)]
    shares = dict(statistics.degrees(met, NODES, 0, END * 1_000_000))
    assert shares == {k: pytest.approx(levels.count(k) / len(levels)) for k in set(levels)}
    bins = statistics.over_time(met, NODES, 0, END * 1_000_000, 7)
    assert len(bins) == 7 and bins[-1][1] == END * 1_000_000
    for from_us, until_us, mean_degree in bins:
        micro = [t for t in range(END * 10) if from_us <= t * 100_000 < until_us]
        expected = mean(degree(node, t // 10) for node in range(NODES) for t in micro)
        assert mean_degree == pytest.approx(expected, abs=0.03)
    nodes = rows_of(statistics.by_node(met, 0, END * 1_000_000))
    assert [node for node, *_ in nodes] == list(range(NODES - 1))
    for node, peers, contacts, mean_degree in nodes:
        mine = [c for c in known if node in c[:2]]
        assert (peers, contacts) == (len({c[:2] for c in mine}), len(mine))
        assert mean_degree == pytest.approx(sum(b - a for *_, a, b in mine) / END)


def test_whom_a_flood_reaches(met: Table, known: list[Contact]) -> None:
    nodes = list(range(NODES))
    for t0 in (0, 25, 59):
        rows = rows_of(statistics.reached(met, nodes, t0 * 1_000_000, [20_000_000, 0, 3_000_000]))
        assert len(rows) == 3 * NODES and max(reached for *_, reached in rows) <= NODES - 2
        for within in (0, 3, 20):
            reached = sum(reached for _, within_us, reached in rows if within_us == within * 1_000_000)
            share = reached / (NODES - 1) / (NODES - 2)
            floats = [(i, j, float(a), float(b)) for i, j, a, b in known]
            assert share == pytest.approx(reachability(floats, float(t0), float(within)))


def test_the_contacts_of_a_conference(place: Place) -> None:
    """Facts of two independent programs. 11,429 of 12,656 is 0.90305 with five digits; it was published as 0.9031."""
    read = traces.read(place, [str(data("hypertext2009/tij_HT09.dat"))])
    met = of_traces.of(read)
    row = statistics.spread(statistics.durations(met))
    assert (len(read.names), row["count"], round(row["mean_s"], 1)) == (113, 9865, 42.2)
    assert (read.begin_us, read.end_us, read.resolution_us) == (0, 212_360_000_000, 20_000_000)
    hours = [3_600_000_000 * h for h in (1, 6, 24)]
    first_us = 20_000_000
    t0_us = first_us + (read.end_us - first_us) // 10
    flooded = rows_of(statistics.reached(met, list(read.names), t0_us, hours))
    counts = [sum(reached for _, within_us, reached in flooded if within_us == h) for h in hours]
    assert counts == [2926, 8465, 11429]
    assert [round(count / 12_656, 5) for count in counts] == [0.23119, 0.66885, 0.90305]
