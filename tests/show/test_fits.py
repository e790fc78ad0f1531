"""Laws of times: what was drawn from a law is recognised as that law, with its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from roamcast.show.fits import LEAST, fitted

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(20260131)


def tally(times: Array) -> list[tuple[float, int]]:
    values, counts = np.unique(times, return_counts=True)
    return list(zip(values.tolist(), counts.tolist(), strict=True))


def cut_power(n: int, exponent: float, cut_off: float) -> Array:
    """By rejection, from a power law that begins at 1."""
    drawn = (1 - RANDOM.random(6 * n)) ** (-1 / (exponent - 1))
    return drawn[RANDOM.random(len(drawn)) < np.exp(-drawn / cut_off)][:n]


@pytest.mark.parametrize(
    ("law", "times", "parameters"),
    [
        ("exponential", 3 + RANDOM.exponential(80.0, 8000), {"mean": 80.0}),
        ("power law", (1 - RANDOM.random(8000)) ** (-1 / 1.2), {"exponent": 2.2}),
        ("power law with cut-off", cut_power(8000, 1.5, 300.0), {"exponent": 1.5, "cut-off": 300.0}),
        ("log-normal", RANDOM.lognormal(np.log(50.0), 1.1, 8000), {"median": 50.0, "σ": 1.1}),
    ],
)
def test_a_law_is_recognised_with_its_parameters(law: str, times: Array, parameters: dict[str, float]) -> None:
    best_fits = fitted(tally(times), 1e6)
    best = best_fits.fits[0]
    assert (best.law, best_fits.n) == (law, 8000)
    assert best.parameters == pytest.approx(parameters, rel=0.1)
    assert best.distance < 0.02


def test_times_on_a_lattice_are_fitted_on_the_lattice() -> None:
    """Whole multiples of 20 s: a geometric law, whose mean a continuous fit from 20 s on would miss."""
    steps = RANDOM.geometric(0.4, 20_000)
    best_fits = fitted(tally(20.0 * steps), 20.0 * 400)
    assert best_fits.fits[0].law == "exponential"
    assert best_fits.fits[0].parameters["mean"] == pytest.approx(-20 / np.log(0.6), rel=0.03)
    assert best_fits.fits[0].distance < 0.01


@pytest.mark.parametrize("step_s", [1.0, 0.1, 60.0])
def test_a_long_trace_keeps_its_lattice(step_s: float) -> None:
    """50,000 steps: a continuous law from the least time on would have another exponent and another mean."""
    random = np.random.default_rng(4)
    share = np.arange(1, 50_001.0) ** -2
    steps = random.choice(np.arange(1, 50_001), 20_000, p=share / share.sum())
    best = fitted(tally(step_s * steps), 50_000 * step_s).fits[0]
    assert best.law == "power law" and best.parameters["exponent"] == pytest.approx(2.0, abs=0.03)
    assert best.distance < 0.01
    best = fitted(tally(step_s * random.geometric(0.4, 20_000)), 50_000 * step_s).fits[0]
    assert best.law == "exponential" and best.parameters["mean"] == pytest.approx(-step_s / np.log(0.6), rel=0.03)


def test_far_points_of_a_lattice_count_as_often_as_there_are_times() -> None:
    """Times up to the end of a million steps, so that most are in blocks: a mean that blocks leave as it is."""
    times = 20.0 * np.random.default_rng(5).geometric(1e-5, 8000)
    (ours,) = [fit for fit in fitted(tally(times), 20e6).fits if fit.law == "exponential"]
    assert ours.parameters["mean"] == pytest.approx(times.mean(), rel=0.01) and ours.distance < 0.02


def test_times_that_are_rounded_to_the_clock_are_continuous() -> None:
    times = np.round(3 + np.random.default_rng(6).exponential(0.5, 8000), 6)
    assert np.diff(np.unique(times)).min() < 1.5e-6
    best = fitted(tally(times), 1e3).fits[0]
    assert best.law == "exponential" and best.parameters["mean"] == pytest.approx(0.5, rel=0.05)


def test_nothing_is_likelier_than_what_was_found() -> None:
    """The twin: scipy's search for the largest likelihood, with an integral for the constant."""
    times, longest = np.sort(cut_power(400, 1.4, 100.0)), 2000.0
    least = times[0]

    def unlikely(at: Array) -> float:
        exponent, rate = at
        whole, _ = integrate.quad(lambda x: x**-exponent * np.exp(-rate * x), least, longest, limit=200)
        return float(exponent * np.log(times).sum() + rate * times.sum() + len(times) * np.log(whole))

    best = optimize.minimize(unlikely, [1.0, 0.01], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-7})
    (ours,) = [fit for fit in fitted(tally(times), longest).fits if fit.law == "power law with cut-off"]
    assert ours.parameters["exponent"] == pytest.approx(best.x[0], rel=2e-3)
    assert ours.parameters["cut-off"] == pytest.approx(1 / best.x[1], rel=2e-3)
    assert ours.aic == pytest.approx(4 + 2 * best.fun, abs=0.05)


def test_the_distance_is_kolmogorovs() -> None:
    """Few times, so that before and after each of them the difference is another; some seeds have it before."""
    is_before = set()
    for seed in range(6):
        times = np.random.default_rng(seed).exponential(10.0, LEAST + 5)
        (ours,) = [fit for fit in fitted(tally(times), 1e4).fits if fit.law == "exponential"]
        theirs = stats.kstest(times, stats.expon(times.min(), ours.parameters["mean"]).cdf)
        assert ours.distance == pytest.approx(theirs.statistic, abs=1e-3)
        is_before.add(theirs.statistic_sign)
    assert is_before == {-1, 1}


def test_times_that_no_law_fits_are_said_so() -> None:
    """The longer, the more of them."""
    best_fits = fitted([(float(k), k * k) for k in range(1, 21)], 20.0)
    assert best_fits.fits == []
    assert best_fits.words == "2,870 times: none of the four laws fits, because long ones are not rarer than short ones"


def test_the_curve_is_the_share_of_times_that_are_at_least_as_long() -> None:
    """Also where only some points of the lattice are drawn."""
    best = fitted(tally(20.0 * np.random.default_rng(7).geometric(0.01, 20_000)), 20.0 * 5000).fits[0]
    assert best.law == "exponential"
    for x, share in best.at_least:
        if share > 1e-6:
            assert share == pytest.approx(np.exp(-(x - 20.0) / best.parameters["mean"]), rel=1e-4)


def test_a_fit_is_a_statement_with_its_number_and_its_rival() -> None:
    words = fitted(tally(RANDOM.lognormal(3.0, 1.0, 1000)), 1e5).words
    assert words.startswith("log-normal, median ") and " s, σ " in words
    assert "n = 1,000 from " in words and "; AIC " in words and " below " in words


@pytest.mark.parametrize(
    ("times", "why"),
    [
        ([], "0 times: too few to fit a law"),
        ([(3.0, 1)], "1 time: too few to fit a law"),
        ([(float(k), 1) for k in range(1, LEAST)], f"{LEAST - 1} times: too few to fit a law"),
        ([(20.0, 900), (40.0, 100)], "1,000 times with 2 different values: too few to fit a law"),
        ([(0.0, 100), (1.0, 2)], "2 times: too few to fit a law"),
    ],
)
def test_few_times_are_no_distribution(times: list[tuple[float, int]], why: str) -> None:
    best_fits = fitted(times, 100.0)
    assert best_fits.fits == [] and best_fits.words == why
