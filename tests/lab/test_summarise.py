"""Intervals and paired differences, against scipy and by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from roamcast.lab import summarise
from roamcast.lab.tables import schemas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

A = {1: 0.5, 2: 0.75, 3: 0.8, 4: 0.3}
B = {1: 0.4, 2: 0.7, 3: 0.6, 5: 0.9}


@pytest.fixture(scope="module")
def metrics(spark: SparkSession) -> DataFrame:
    rows = []
    for cell, label, values in ((0, "a", A), (1, "b", B)):
        for seed, value in values.items():
            given = {
                "run": f"{cell}{seed}",
                "campaign": "c",
                "preset": "p",
                "cell": cell,
                "protocol": label,
                "label": label,
                "params": {"k": "1"},
                "world": {},
                "seed": seed,
                "nodes": 10,
                "delivery": value,
                "deliveries": round(100 * value),
                "overhead": None if seed == 1 else 2.0,
            }
            rows.append([given.get(name) for name in schemas.METRICS.fieldNames()])
    return spark.createDataFrame(rows, schemas.METRICS)


def test_means_have_students_interval(metrics: DataFrame) -> None:
    found = {(row.label, row.metric): row for row in summarise.summary(metrics).collect()}
    row = found["a", "delivery"]
    values = np.array(list(A.values()))
    low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert (row.n, row.cell, row.params) == (4, 0, {"k": "1"})
    assert row.mean == pytest.approx(values.mean(), rel=1e-12)
    assert row.sd == pytest.approx(values.std(ddof=1), rel=1e-12)
    assert (row.low, row.high) == pytest.approx((low, high), rel=1e-12)


def test_runs_without_the_metric_do_not_count_and_one_run_has_no_interval(metrics: DataFrame) -> None:
    assert {(row.label, row.n) for row in summarise.summary(metrics).where("metric = 'overhead'").collect()} == {
        ("a", 3),
        ("b", 3),
    }
    alone = summarise.summary(metrics.where("seed = 4 and cell = 0")).where("metric = 'delivery'").collect()[0]
    assert (alone.n, alone.mean, alone.sd, alone.half_width, alone.low) == (1, 0.3, None, None, None)


def test_differences_are_paired_by_the_seeds_that_both_have(metrics: DataFrame) -> None:
    row = summarise.differences(metrics, 0, 1).where("metric = 'delivery'").collect()[0]
    pairs = np.array([A[s] - B[s] for s in (1, 2, 3)])
    test = stats.ttest_rel([A[s] for s in (1, 2, 3)], [B[s] for s in (1, 2, 3)])
    low, high = test.confidence_interval(0.95)
    assert (row.n, row.label, row.other_label) == (3, "a", "b")
    assert row.difference == pytest.approx(pairs.mean(), rel=1e-9)
    assert row.p_value == pytest.approx(test.pvalue, rel=1e-9)
    assert (row.low, row.high) == pytest.approx((low, high), rel=1e-9)


def test_equal_values_differ_by_nothing_for_certain(metrics: DataFrame) -> None:
    row = summarise.differences(metrics, 0, 1).where("metric = 'overhead'").collect()[0]
    assert (row.difference, row.half_width, row.p_value) == (0.0, 0.0, 1.0)


def test_the_order_of_rows_does_not_show_in_the_digits(spark: SparkSession, metrics: DataFrame) -> None:
    rows = metrics.collect()
    backwards = spark.createDataFrame(rows[::-1], schemas.METRICS).repartition(5)
    there, here = (summarise.summary(rows).orderBy("cell", "metric").collect() for rows in (backwards, metrics))
    assert there == here
