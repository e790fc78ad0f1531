"""Which runs are counted again, and what happens if a log differs from the tally."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import InputError, LogsDiffer
from roamcast.judging import recounted
from roamcast.judging.recounted import Recounted, compare, log_rows, sample
from roamcast.log import catalogue
from roamcast.log.metric import BY_NAME

EMPTY = {m.name: {} if m.kind == BY_NAME else 0 for m in catalogue.METRICS}


def row(run: str, campaign: str, protocol: str, rows: int, **metrics: Any) -> dict[str, Any]:
    about = {"run": run, "campaign": campaign, "cell": 0, "seed": 1, "protocol": protocol}
    return {**EMPTY, **about, "receptions": rows, **metrics}


def test_a_sample_has_the_shortest_logs_one_for_each_experiment_and_protocol() -> None:
    rows = [
        row("a", "fig1", "gossip", 500),
        row("b", "fig1", "frugal", 100),
        row("c", "fig2", "frugal", 200),
        row("d", "fig3", "gossip", 300),
        row("e", "fig4", "counter", 400),
    ]
    assert sample(rows) == sample(rows[::-1]) == ["b", "d", "e"]


def test_a_sample_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recounted, "MOST_ROWS", 350)
    assert sample([row(str(k), f"fig{k}", f"p{k}", 100 + k) for k in range(9)]) == ["0", "1", "2"]
    assert sample([row("0", "fig0", "gossip", 351)]) == []


def test_a_run_that_two_experiments_share_is_counted_once() -> None:
    assert sample([row("a", "fig1", "gossip", 5), row("a", "fig2", "frugal", 5)]) == ["a"]


def test_the_length_of_a_log_follows_from_the_tally() -> None:
    tally = {**EMPTY, "frames_sent": 1, "receptions": 2, "overheard": 3, "losses": 4, "deliveries": 5}
    assert log_rows({**tally, "reasons": {"forward: a": 6, "drop: b": 7}}) == 28


def test_equal_metrics_pass() -> None:
    tally = {**EMPTY, "energy_j": 3.0, "delivery": None, "reasons": {"a": 1}}
    compare("r", "roamcast run", tally, {**tally, "energy_j": 3.0 + 1e-12})


@pytest.mark.parametrize(
    ("metric", "counted", "logged"),
    [
        ("deliveries", 5, 6),
        ("delivery", 0.5, 0.5 + 1e-15),
        ("delivery", 0.5, None),
        ("energy_j", 3.0, 3.1),
        ("energy_j", 3.0, None),
        ("reasons", {"drop: old": 1}, {"drop: old": 2}),
    ],
)
def test_a_difference_names_run_metric_and_both_values(metric: str, counted: Any, logged: Any) -> None:
    with pytest.raises(LogsDiffer) as error:
        compare("1f2e", "roamcast run baldoni", {**EMPTY, metric: counted}, {**EMPTY, metric: logged})
    for text in ("1f2e", metric, str(counted), str(logged), "roamcast run baldoni"):
        assert text in str(error.value)


def test_the_record_is_read_back(tmp_path: Path) -> None:
    assert recounted.read(tmp_path) is None
    made = Recounted(["a", "b"], "0.1+ab")
    recounted.write(made, tmp_path)
    assert recounted.read(tmp_path) == made
    assert made.text == "2 runs counted again from their logs: equal"
    (tmp_path / recounted.NAME).write_text("{")
    with pytest.raises(InputError, match=r"recounted\.json"):
        recounted.read(tmp_path)
