"""The catalogue of metrics is complete and consistent: everything that lists metrics is made from it."""

from __future__ import annotations

import re

import pytest

from roamcast.judging.quantities import QUANTITIES
from roamcast.log import catalogue
from roamcast.log.catalogue import METRICS
from roamcast.log.metric import BY_NAME, QUOTIENT, WHOLE, Metric, Term, over
from tests.support.log_metrics import metrics
from tests.support.sinks import MemorySink

NAMES = [metric.name for metric in METRICS]


def test_names_are_unique_and_groups_known() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {metric.group for metric in METRICS} == set(catalogue.GROUPS)
    assert sorted(NAMES) == sorted(metric.name for metric in catalogue.BY_SECTION)
    assert not set(NAMES) & set(QUANTITIES)


@pytest.mark.parametrize("metric", METRICS, ids=NAMES)
def test_an_entry_has_all_texts_that_people_need(metric: Metric) -> None:
    assert metric.unit and metric.means and metric.formula
    assert (metric.kind == QUOTIENT) == (metric.quotient is not None)
    assert not metric.per_node or metric.per_node in QUANTITIES
    if metric.line is not None:
        assert set(re.findall(r"{(\w+)}", metric.line.note)) <= set(NAMES)
        assert not metric.line.needs or metric.line.needs in NAMES
    if metric.cost is not None:
        assert metric.column and metric.averaged


@pytest.mark.parametrize("metric", [m for m in METRICS if m.quotient], ids=lambda m: m.name)
def test_quotients_are_of_counts(metric: Metric) -> None:
    assert metric.quotient is not None and metric.quotient.whole
    for term in (*metric.quotient.part, *metric.quotient.whole):
        kind = catalogue.metric(term.column).kind
        assert kind == BY_NAME if term.entry else kind in WHOLE


def test_all_metrics_except_simulated_ones_follow_from_the_log() -> None:
    known = {m.name for m in METRICS if not m.simulated} - {"of_possible", "reachable", "reach"}  # need nodes, too
    assert set(metrics(MemorySink().table("r"))) == known


def test_a_quotient_whose_divisor_is_zero_has_no_value() -> None:
    half = over(["a", "-b"], ["c", Term("d", "x")])
    assert half.text == "(a − b) / (c + d[x])"
    assert half.value({"a": 5, "b": 2, "c": 4, "d": {"x": 2}}) == 0.5
    assert half.value({"a": 5, "b": 2, "c": 0, "d": {}}) is None
    assert half.value({"a": 5, "b": 2, "c": None, "d": {}}) is None
    assert half.value({"a": None, "b": 2, "c": 1, "d": {}}) is None
    assert over(["a", "-b"]).value({"a": 5, "b": 2}) == 3.0


def test_complete_adds_the_quotients_in_the_order_of_the_tables() -> None:
    counted = {m.name: {} if m.kind == BY_NAME else 2 for m in METRICS if m.quotient is None}
    whole = catalogue.complete({**counted, "interested": 4, "possible": None})
    assert list(whole) == NAMES
    assert (whole["delivery"], whole["of_possible"], whole["deterministic_hops"]) == (0.5, None, None)
    with pytest.raises(KeyError, match="repeats"):
        catalogue.complete({name: value for name, value in counted.items() if name != "repeats"})
