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
from tests.lab.traces.twins import Contact, union
from tests.support.data import data
from tests.support.reachability import reachability

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NODES = 6
END = 60


@pytest.fixture(scope="module")
def known() -> list[Contact]:
    random = Random(11)
    found = []
    for i in range(NODES - 1):
        for j in range(i + 1, NODES - 1):  # the last node meets nobody
            pieces = [(a, min(END, a + random.randint(1, 9))) for a in random.sample(range(END), 4)]
            found += [(i, j, start, end) for start, end in union(pieces)]
    return found


@pytest.fixture(scope="module")
def met(spark: SparkSession, known: list[Contact]) -> DataFrame:
    return spark.createDataFrame([(i, j, a * 1_000_000, b * 1_000_000) for i, j, a, b in known], CONTACTS).persist()


def test_how_long_contacts_last_and_pairs_are_apart(met: DataFrame, known: list[Contact]) -> None:
    lasts = [float(b - a) for _, _, a, b in known]
    row = statistics.spread(statistics.durations(met), "lasts_us").collect()[0]
    assert row.asDict().keys() == set(statistics.SPREAD.names)
    assert (row["count"], row["mean_s"], row["p50_s"]) == (len(lasts), pytest.approx(mean(lasts)), median(lasts))
    assert (row["min_s"], row["max_s"]) == (min(lasts), max(lasts))
    pairs = {c[:2]: sorted(d[2:] for d in known if d[:2] == c[:2]) for c in known}
    gaps = [float(b[0] - a[1]) for found in pairs.values() for a, b in itertools.pairwise(found)]
    row = statistics.spread(statistics.apart(met), "apart_us").collect()[0]
    assert (row["count"], row["mean_s"], row["p50_s"]) == (len(gaps), pytest.approx(mean(gaps)), median(gaps))
    shares = {row["t_s"]: row["share"] for row in statistics.survival(statistics.durations(met), "lasts_us").collect()}
    assert shares == {t: pytest.approx(sum(x > t for x in lasts) / len(lasts)) for t in set(lasts)}


def test_how_many_contacts_one_has(met: DataFrame, known: list[Contact]) -> None:
    def degree(node: int, t: int) -> int:
        """In [t, t + 1)."""
        return sum(node in (i, j) and a <= t < b for i, j, a, b in known)

    levels = [degree(node, t) for node in range(NODES) for t in range(END)]
    shares = {r["degree"]: r["share"] for r in statistics.degrees(met, NODES, 0, END * 1_000_000).collect()}
    assert shares == {k: pytest.approx(levels.count(k) / len(levels)) for k in set(levels)}
    bins = statistics.over_time(met, NODES, 0, END * 1_000_000, 7).orderBy("from_us").collect()
    assert len(bins) == 7 and bins[-1]["until_us"] == END * 1_000_000
    for bin_ in bins:
        micro = [t for t in range(END * 10) if bin_["from_us"] <= t * 100_000 < bin_["until_us"]]
        expected = mean(degree(node, t // 10) for node in range(NODES) for t in micro)
        assert bin_["degree"] == pytest.approx(expected, abs=0.03)
    nodes = {r["node"]: r for r in statistics.by_node(met, 0, END * 1_000_000).collect()}
    assert set(nodes) == set(range(NODES - 1))
    for node, row in nodes.items():
        mine = [c for c in known if node in c[:2]]
        assert (row["peers"], row["contacts"]) == (len({c[:2] for c in mine}), len(mine))
        assert row["degree"] == pytest.approx(sum(b - a for *_, a, b in mine) / END)


def test_whom_a_flood_reaches(met: DataFrame, known: list[Contact]) -> None:
    nodes = list(range(NODES))
    for t0 in (0, 25, 59):
        rows = statistics.reached(met, nodes, t0 * 1_000_000, [20_000_000, 0, 3_000_000]).collect()
        assert len(rows) == 3 * NODES and max(row["reached"] for row in rows) <= NODES - 2
        for within in (0, 3, 20):
            share = (
                sum(row["reached"] for row in rows if row["within_us"] == within * 1_000_000)
                / (NODES - 1)
                / (NODES - 2)
            )
            floats = [(i, j, float(a), float(b)) for i, j, a, b in known]
            assert share == pytest.approx(reachability(floats, float(t0), float(within)))


def test_the_contacts_of_a_conference(spark: SparkSession) -> None:
    """Facts of two independent programs. 11,429 of 12,656 is 0.90305 with five digits; it was published as 0.9031."""
    read = traces.read(spark, [str(data("hypertext2009/tij_HT09.dat"))])
    met = of_traces.of(read).persist()
    row = statistics.spread(statistics.durations(met), "lasts_us").collect()[0]
    assert (len(read.names), row["count"], round(row["mean_s"], 1)) == (113, 9865, 42.2)
    assert (read.begin_us, read.end_us, read.resolution_us) == (0, 212_360_000_000, 20_000_000)
    hours = [3_600_000_000 * h for h in (1, 6, 24)]
    first_us = 20_000_000
    t0_us = first_us + (read.end_us - first_us) // 10
    flooded = statistics.reached(met, list(read.names), t0_us, hours).groupBy("within_us").sum("reached").collect()
    counts = {row["within_us"]: row["sum(reached)"] for row in flooded}
    assert [counts[h] for h in hours] == [2926, 8465, 11429]
    assert [round(counts[h] / 12_656, 5) for h in hours] == [0.23119, 0.66885, 0.90305]
    read.close()
