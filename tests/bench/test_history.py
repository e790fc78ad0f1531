"""The ratios of earlier benchmarks, and which of them have moved."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench import history

COST = "cost per reception, a / b"
RATE = "receptions per second, a / b"


def rows(cost: float, rate: float) -> list[dict[str, Any]]:
    return [
        {"what": COST, "ratio": cost, "asked": "", "lower_is_better": True},
        {"what": RATE, "ratio": rate, "asked": "", "lower_is_better": False},
        {"what": "a run, s", "ratio": 3.0 * cost, "asked": "", "lower_is_better": True, "unit": "s"},
    ]


def test_a_line_has_ratios_and_no_seconds(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    history.keep(history.line(rows(2.0, 5.0), False, "0123abc"), path)
    (text,) = path.read_text().splitlines()
    kept = json.loads(text)
    assert kept["ratios"] == {COST: 2.0, RATE: 5.0}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", kept["date"])
    assert kept["commit"] == "0123abc"


def test_the_commit_of_this_checkout() -> None:
    assert re.fullmatch(r"([0-9a-f]{7,}\+?)?", history.commit())


def test_the_last_line_of_the_same_kind_counts(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    assert history.last(False, path) is None
    for cost, quick in ((1.0, False), (2.0, False), (3.0, True)):
        history.keep(history.line(rows(cost, 1.0), quick, ""), path)
    full, quick_one = history.last(False, path), history.last(True, path)
    assert full is not None and full["ratios"][COST] == 2.0
    assert quick_one is not None and quick_one["ratios"][COST] == 3.0


@pytest.mark.parametrize(
    ("cost", "rate", "moved"),
    [
        (2.0, 5.0, []),
        (2.19, 5.49, []),
        (1.81, 4.51, []),
        (2.3, 5.0, [f"{COST}: 2 -> 2.3 (+15%, worse)"]),
        (1.7, 5.0, [f"{COST}: 2 -> 1.7 (-15%, better)"]),
        (2.0, 4.0, [f"{RATE}: 5 -> 4 (-20%, worse)"]),
        (2.0, 6.0, [f"{RATE}: 5 -> 6 (+20%, better)"]),
    ],
)
def test_what_moved_by_more_than_a_tenth(cost: float, rate: float, moved: list[str]) -> None:
    assert history.moved(history.line(rows(2.0, 5.0), False, ""), rows(cost, rate)) == moved


def test_a_ratio_that_is_new_has_not_moved() -> None:
    before = history.line(rows(2.0, 5.0)[:1], False, "")
    assert history.moved(before, rows(2.0, 99.0)) == []


def test_every_kept_line_can_be_read() -> None:
    if not history.KEPT.exists():
        pytest.skip("nothing is kept yet")
    for text in history.KEPT.read_text(encoding="utf-8").splitlines():
        kept = json.loads(text)
        assert {"date", "version", "commit", "quick", "ratios"} == set(kept)
        assert all(ratio > 0 and not what.endswith(", s") for what, ratio in kept["ratios"].items())
