"""Claims that follow from a model: the criteria, on curves whose shape is known, and the claims themselves."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, pi, sin
from typing import Any

import pytest

from roamcast.papers import models
from roamcast.papers.models import CHECKS, distance_rises_then_flattens, nobody_rebroadcasts

FIG_9 = {"A": 20, "L": 10}


def shaped(monkeypatch: pytest.MonkeyPatch, of: Callable[[float, int], float], **spec: Any) -> tuple[bool, str]:
    """Whether a curve, made up instead of the model's, rises and then is flat."""
    monkeypatch.setattr(models, "_distance", lambda _, s: [of(s, k) for k in range(201)])
    _, holds, why = distance_rises_then_flattens({**FIG_9, **spec})
    return holds, why


def saturating(s: float, k: int) -> float:
    return 10 + 6 * (1 - exp(-s * k / 5))


def test_a_curve_that_rises_to_its_limit_is_what_the_claim_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shaped(monkeypatch, saturating) == (True, "")


def test_a_curve_that_goes_on_rising_evenly_has_no_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shaped(monkeypatch, lambda s, k: 10 + s * k) == (False, "at s=0.2 it rises to the end")


@pytest.mark.parametrize(("height", "flat"), [(0.5, True), (0.7, False), (3.0, False)])
def test_what_overshoots_by_over_a_tenth_of_the_rise_is_not_flat(
    monkeypatch: pytest.MonkeyPatch, height: float, flat: bool
) -> None:
    def hump(s: float, k: int) -> float:
        return 10 + 0.1 * s + (6 * k / 10 if k <= 10 else 6.0 + (height if k == 11 else 0.0))

    def faster_is_farther(s: float, k: int) -> float:
        return hump(s, k) + (s if k == models.EARLY else 0.0) * 0.1

    holds, why = shaped(monkeypatch, faster_is_farther)
    assert holds is flat
    assert ("overshoots" in why) is not flat
    assert shaped(monkeypatch, faster_is_farther, fall_back=True) == (True, "")


def test_what_comes_back_below_the_threshold_is_no_use_even_if_it_may_fall_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def swinging(s: float, k: int) -> float:
        return 10 + 6 * (1 - exp(-s * k)) + 2 * exp(-k / 50) * sin(2 * pi * k / 40)

    holds, why = shaped(monkeypatch, swinging, fall_back=True)
    assert not holds
    assert "falls below its threshold again" in why


def test_a_dent_before_the_threshold_is_no_rise(monkeypatch: pytest.MonkeyPatch) -> None:
    holds, why = shaped(monkeypatch, lambda s, k: saturating(s, k) - (1.0 if k == 3 else 0.0))
    assert not holds
    assert why.startswith("at s=0.2 it does not rise from k=2")
    assert not shaped(monkeypatch, lambda *_: 10.0)[0]


def test_distance_must_grow_with_the_speed_soon_after_the_link_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shaped(monkeypatch, lambda s, k: saturating(1 - s, k)) == (False, "at k=5 it does not grow with the speed")


def test_slow_nodes_level_off_and_fast_ones_run_past_the_far_side_of_the_torus() -> None:
    assert distance_rises_then_flattens({**FIG_9, "speeds": [0.2, 0.5]})[1]
    measured, holds, why = distance_rises_then_flattens({**FIG_9, "speeds": [0.2, 0.5, 0.8]})
    assert measured == pytest.approx(0.437, abs=0.001)
    assert not holds
    assert why == "at s=0.8 it overshoots by 44% of the rise at k=10, and falls back"
    assert distance_rises_then_flattens({**FIG_9, "fall_back": True})[1]


def test_the_less_a_node_keeps_its_course_the_less_it_overshoots() -> None:
    """M5: which alpha and beta belong to a speed is not said."""
    measured, holds, _ = distance_rises_then_flattens({**FIG_9, "change": 1.0})
    assert not holds
    assert measured == pytest.approx(0.205, abs=0.001)


def test_nobody_rebroadcasts_with_the_probability_that_all_draws_fail() -> None:
    assert nobody_rebroadcasts({"tau": 0.5, "eta": 2, "value": 0.25, "abs": 0.0}) == (0.25, True, "")
    found, holds, why = nobody_rebroadcasts({"tau": 0.5, "eta": 2, "value": 0.5, "abs": 0.1})
    assert (found, holds, why) == (0.25, False, "it is 0.250 off")


def test_all_models_can_be_asked_by_name() -> None:
    assert {function.__name__ for function in CHECKS.values()} == set(CHECKS)
