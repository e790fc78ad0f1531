"""Claims that follow from a model: the criteria on curves of known shape, and the claims themselves."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, pi, sin
from typing import Any

import pytest

from roamcast.papers import models
from roamcast.papers.models import CHECKS, distance_rises_to_a_threshold, nobody_rebroadcasts

FIG_9 = {"A": 20, "L": 10}


def shaped(monkeypatch: pytest.MonkeyPatch, of: Callable[[float, int], float], **spec: Any) -> tuple[bool, str]:
    """Whether a given curve, used instead of the model's, rises to a threshold."""
    monkeypatch.setattr(models, "_distance", lambda _, s: [of(s, k) for k in range(201)])
    _, holds, why = distance_rises_to_a_threshold({**FIG_9, **spec})
    return holds, why


def saturating(s: float, k: int) -> float:
    return 10 + 6 * (1 - exp(-s * k / 5))


def test_a_curve_that_rises_to_its_limit_fulfils_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shaped(monkeypatch, saturating) == (True, "")


def test_a_curve_that_goes_on_rising_evenly_has_no_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shaped(monkeypatch, lambda s, k: 10 + s * k) == (False, "at s=0.2 it rises to the end")


def test_a_curve_may_overshoot_and_fall_back_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def hump(s: float, k: int) -> float:
        return (
            10 + 0.1 * s + (6 * k / 10 if k <= 10 else 6.0 + (3.0 if k == 11 else 0.0)) + (0.1 * s if k == 5 else 0.0)
        )

    assert shaped(monkeypatch, hump) == (True, "")


def test_a_curve_that_falls_below_its_threshold_again_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def swinging(s: float, k: int) -> float:
        return 10 + 6 * (1 - exp(-s * k)) + 2 * exp(-k / 50) * sin(2 * pi * k / 40)

    holds, why = shaped(monkeypatch, swinging)
    assert not holds
    assert "falls below its threshold again" in why


def test_a_curve_with_a_dent_before_the_threshold_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    holds, why = shaped(monkeypatch, lambda s, k: saturating(s, k) - (1.0 if k == 3 else 0.0))
    assert not holds
    assert why.startswith("at s=0.2 it does not rise from k=2")
    assert not shaped(monkeypatch, lambda *_: 10.0)[0]


def test_distance_must_grow_with_the_speed_soon_after_the_link_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shaped(monkeypatch, lambda s, k: saturating(1 - s, k)) == (False, "at k=5 it does not grow with the speed")


@pytest.mark.parametrize("change", [0.5, 1.0])
def test_distance_rises_to_a_threshold_however_often_nodes_turn(change: float) -> None:
    """M5: the text does not say which alpha and beta belong to a speed."""
    assert distance_rises_to_a_threshold({**FIG_9, "change": change})[1:] == (True, "")


@pytest.mark.parametrize(("change", "over"), [(0.5, 0.437), (1.0, 0.205)])
def test_fast_nodes_pass_the_far_side_of_the_torus(change: float, over: float) -> None:
    curve = models._distance({**FIG_9, "change": change}, 0.8)
    assert (max(curve) - curve[-1]) / (curve[-1] - curve[0]) == pytest.approx(over, abs=0.001)


def test_nobody_rebroadcasts_with_the_probability_that_all_draws_fail() -> None:
    assert nobody_rebroadcasts({"tau": 0.5, "eta": 2, "value": 0.25, "abs": 0.0}) == (0.25, True, "")
    probability, holds, why = nobody_rebroadcasts({"tau": 0.5, "eta": 2, "value": 0.5, "abs": 0.1})
    assert (probability, holds, why) == (0.25, False, "it is 0.250 off")


def test_all_models_are_known_by_name() -> None:
    assert {function.__name__ for function in CHECKS.values()} == set(CHECKS)
