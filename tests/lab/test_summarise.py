"""Means, intervals and paired differences are those of scipy, in whatever order the rows come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from roamcast.lab import summarise
from roamcast.lab.tables import columns, schemas

A = {1: 0.5, 2: 0.75, 3: 0.8, 4: 0.3}
B = {1: 0.4, 2: 0.7, 3: 0.6, 5: 0.9}


def row(cell: int, label: str, seed: int, value: float) -> dict[str, Any]:
    about = {"run": f"{cell}{seed}", "campaign": "c", "cell": cell, "label": label, "p_k": 1, "seed": seed}
    counted = {"delivery": value, "deliveries": round(100 * value), "overhead": None if seed == 1 else 2.0}
    return {**dict.fromkeys(schemas.metrics({"p_k": columns.LONG}).names), **about, **counted}


METRICS = [
    row(cell, label, seed, value)
    for cell, label, values in ((0, "a", A), (1, "b", B))
    for seed, value in values.items()
]


def of(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["label"], row["metric"]): row for row in summarise.summary(rows)}


def difference(metric: str) -> dict[str, Any]:
    return next(row for row in summarise.differences(METRICS, 0, 1) if row["metric"] == metric)


def test_means_have_students_interval() -> None:
    estimate = of(METRICS)["a", "delivery"]
    values = np.array(list(A.values()))
    low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert (estimate["n"], estimate["cell"], estimate["p_k"]) == (4, 0, 1)
    assert estimate["mean"] == pytest.approx(values.mean(), rel=1e-12)
    assert estimate["sd"] == pytest.approx(values.std(ddof=1), rel=1e-12)
    assert (estimate["low"], estimate["high"]) == pytest.approx((low, high), rel=1e-12)


def test_runs_without_the_metric_do_not_count_and_one_run_has_no_interval() -> None:
    estimates = of(METRICS)
    assert (estimates["a", "overhead"]["n"], estimates["b", "overhead"]["n"]) == (3, 3)
    alone = of([row for row in METRICS if (row["cell"], row["seed"]) == (0, 4)])["a", "delivery"]
    assert (alone["n"], alone["mean"], alone.get("sd"), alone.get("low")) == (1, 0.3, None, None)
    assert ("a", "parasites") not in estimates


def test_differences_are_paired_by_the_seeds_that_both_have() -> None:
    estimate = difference("delivery")
    pairs = np.array([A[s] - B[s] for s in (1, 2, 3)])
    test = stats.ttest_rel([A[s] for s in (1, 2, 3)], [B[s] for s in (1, 2, 3)])
    low, high = test.confidence_interval(0.95)
    assert (estimate["n"], estimate["label"], estimate["other_label"]) == (3, "a", "b")
    assert estimate["difference"] == pytest.approx(pairs.mean(), rel=1e-9)
    assert estimate["pvalue"] == pytest.approx(test.pvalue, rel=1e-9)
    assert (estimate["low"], estimate["high"]) == pytest.approx((low, high), rel=1e-9)


def test_cells_without_a_common_seed_have_no_difference() -> None:
    assert summarise.differences([row(0, "a", 1, 0.5), row(1, "b", 2, 0.5)], 0, 1) == []


def test_equal_values_differ_by_nothing_for_certain() -> None:
    estimate = difference("overhead")
    assert (estimate["difference"], estimate["half_width"], estimate["pvalue"]) == (0.0, 0.0, 1.0)


def test_the_order_of_rows_does_not_show() -> None:
    assert summarise.summary(METRICS[::-1]) == summarise.summary(METRICS)
