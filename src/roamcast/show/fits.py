"""Which law times follow: four families, each fitted by maximum likelihood, and the one that AIC prefers.

All four have a density that is the exponential of a sum of terms, each with a factor that the data decides:

    exponential              exp(-x/m)                 memoryless: a mean says it all
    power law                x^-a                      no typical time at all
    power law with cut-off   x^-a · exp(-x/c)          the same up to about c
    log-normal               1/x · exp(-(ln x - m)² / 2s²)

The likelihood of such a family has one maximum, which Newton's method finds. Times have a least value, and none is
longer than the trace: the families live between the two. Where times are multiples of a resolution, so are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log, sqrt
from typing import Any

import msgspec
import numpy as np

from roamcast.show.numbers import number

Array = np.ndarray[Any, Any]

LEAST = 50
"""Fewer times than these, or fewer than FEWEST_VALUES different ones, are no distribution. Ours."""
FEWEST_VALUES = 6
MOST_POINTS = 20_000
"""So many multiples of a resolution are points of their own, longer ones are in blocks; or so many points of an
integral, closer where times are short."""
CLOCK_S = 1.5e-6
"""A resolution below is that of the clock, in microseconds: such times are as good as continuous."""
STEPS = 200
NEVER = 1e-9
"""A factor whose product with the longest time is below is zero: a cut-off that nobody sees."""


class Fit(msgspec.Struct, frozen=True):
    """`aic` is two for each parameter minus twice the logarithm of the likelihood; `distance` is the largest difference
    between the shares of longer times, measured and fitted (Kolmogorov and Smirnov)."""

    law: str
    parameters: dict[str, float]
    aic: float
    distance: float
    at_least: list[tuple[float, float]]
    """Times, and the shares that are as long or longer: a curve for a figure."""

    @property
    def words(self) -> str:
        """`log-normal, median 31.2 s, σ 0.94`."""
        return ", ".join([self.law, *(f"{name} {_shown(name, value)}" for name, value in self.parameters.items())])


class Fitted(msgspec.Struct, frozen=True):
    """The fits of `n` times of at least `least_s`, best first; without any, `why` says what is missing."""

    n: int
    fits: list[Fit]
    least_s: float = 0.0
    why: str = ""

    @property
    def words(self) -> str:
        """The best fit as a statement, with what it was chosen against."""
        if not self.fits:
            return self.why
        best = self.fits[0]
        above = f"n = {self.n:,} from {number(self.least_s)} s on"
        against = f"; AIC {number(self.fits[1].aic - best.aic)} below {self.fits[1].law}" if self.fits[1:] else ""
        return f"{best.words} ({above}, largest difference {best.distance:.3f}{against})"


def fitted(times: Sequence[tuple[float, int]], longest_s: float) -> Fitted:
    """Of (seconds, how many), by seconds. `longest_s` is how long the trace is: nothing longer could be seen."""
    shown = [(value, count) for value, count in times if value > 0]
    n = sum(count for _, count in shown)
    if n < LEAST or len(shown) < FEWEST_VALUES:
        values = "" if n < LEAST else f" with {len(shown)} different values"
        return Fitted(n, [], why=f"{n:,} {'time' if n == 1 else 'times'}{values}: too few to fit a law")
    x, counts = np.array([value for value, _ in shown]), np.array([float(count) for _, count in shown])
    points, weights = _support(x, longest_s)
    fits = [fit for fit in (_fit(law, x, counts, points, weights) for law in LAWS) if fit is not None]
    why = "" if fits else f"{n:,} times: none of the four laws fits, because long ones are not rarer than short ones"
    return Fitted(n, sorted(fits, key=lambda fit: fit.aic), float(x[0]), why)


def _shown(name: str, value: float) -> str:
    return f"{number(value)} s" if name in ("mean", "median", "cut-off") else number(value)


# ---- the families


class Law(msgspec.Struct, frozen=True):
    """Its terms as functions of x / least, and what people call their factors; None if these are none of the family."""

    name: str
    terms: tuple[Callable[[Array], Array], ...]
    read: Callable[[Array, float], dict[str, float] | None]


def _exponential(theta: Array, unit: float) -> dict[str, float] | None:
    return {"mean": -unit / float(theta[0])} if theta[0] < 0 else None


def _power(theta: Array, _: float) -> dict[str, float] | None:
    return {"exponent": -float(theta[0])} if theta[0] < 0 else None


def _cut_power(theta: Array, unit: float) -> dict[str, float] | None:
    if theta[1] >= -NEVER or theta[0] >= 0:
        return None  # a cut-off that nobody sees, or a law that first rises
    return {"exponent": -float(theta[0]), "cut-off": -unit / float(theta[1])}


def _log_normal(theta: Array, unit: float) -> dict[str, float] | None:
    if theta[1] >= 0:
        return None
    variance = -0.5 / float(theta[1])
    mu = (float(theta[0]) + 1.0) * variance + log(unit)
    return {"median": exp(mu), "σ": sqrt(variance)} if abs(mu) < 50 else None


def _itself(x: Array) -> Array:
    return x


def _square_of_log(x: Array) -> Array:
    return np.square(np.log(x))


LAWS = (
    Law("exponential", (_itself,), _exponential),
    Law("power law", (np.log,), _power),
    Law("power law with cut-off", (np.log, _itself), _cut_power),
    Law("log-normal", (np.log, _square_of_log), _log_normal),
)


# ---- fitting


def _support(x: Array, longest: float) -> tuple[Array, Array]:
    """The times that could have been seen, and the weight of each: those of a lattice, or points of an integral."""
    longest = max(longest, float(x[-1]))
    spread = float(x[-1] - x[0])
    step = spread / round(spread / float(np.diff(x).min()))  # over all of them: a difference of two is less exact
    steps = (x - x[0]) / step
    if step > CLOCK_S and np.allclose(steps, np.round(steps), rtol=0, atol=1e-3):
        firsts, sizes = _blocks(int((longest - x[0]) / step + 0.5) + 1)
        return x[0] + step * (firsts + (sizes - 1) / 2), sizes
    edges = np.geomspace(x[0], longest, MOST_POINTS)
    return np.sqrt(edges[1:] * edges[:-1]), np.diff(edges)


def _blocks(n: int) -> tuple[Array, Array]:
    """Where blocks of the numbers below `n` begin, and how many are in each: one at first, far out more and more."""
    near, far = np.arange(min(n, MOST_POINTS)), np.geomspace(1, n, MOST_POINTS).astype(int)
    begins = np.unique(np.concatenate([near, far[far < n]]))
    return begins, np.diff(np.append(begins, n)).astype(float)


def _fit(law: Law, x: Array, counts: Array, points: Array, weights: Array) -> Fit | None:
    unit = float(x[0])
    seen = np.stack([term(x / unit) for term in law.terms], axis=1)
    terms = np.stack([term(points / unit) for term in law.terms], axis=1)
    scale = np.abs(terms).max(axis=0)  # so that Newton's steps are of one size
    mean = (counts @ (seen / scale)) / counts.sum()
    theta = _maximum(mean, terms / scale, np.log(weights)) / scale
    parameters = law.read(theta, unit)
    if parameters is None:
        return None
    level = _level(terms @ theta + np.log(weights))
    aic = 2 * len(theta) - 2 * float(counts @ (seen @ theta - level))
    shares = np.exp(terms @ theta + np.log(weights) - level)
    longer = _longer(shares)
    at_least = np.clip(longer + shares, 0.0, 1.0)
    return Fit(law.name, parameters, aic, _distance(x, counts, points, longer, at_least), _thinned(points, at_least))


def _maximum(mean: Array, terms: Array, log_weights: Array) -> Array:
    """The factors at which the terms' means are those of the data: there the likelihood is largest."""
    theta = np.zeros(terms.shape[1])
    best = float(mean @ theta) - _level(terms @ theta + log_weights)
    for _ in range(STEPS):
        shares = np.exp(terms @ theta + log_weights - _level(terms @ theta + log_weights))
        expected = shares @ terms
        spread = (terms * shares[:, None]).T @ terms - np.outer(expected, expected)
        step = np.linalg.lstsq(spread, mean - expected, rcond=None)[0]
        length = 1.0
        while length > 1e-12:
            tried = theta + length * step
            value = float(mean @ tried) - _level(terms @ tried + log_weights)
            if value >= best:
                break
            length /= 2
        if length <= 1e-12 or value - best < 1e-12:
            break
        theta, best = tried, value
    return theta


def _level(logs: Array) -> float:
    """The logarithm of the sum."""
    top = float(logs.max())
    return top + log(float(np.exp(logs - top).sum()))


def _longer(shares: Array) -> Array:
    """The share of times that are longer than each point."""
    return np.clip(1.0 - np.cumsum(shares), 0.0, 1.0)


def _distance(x: Array, counts: Array, points: Array, longer: Array, at_least: Array) -> float:
    """The measured share falls at each time: it is compared with the fitted one after the fall and before it."""
    after = 1.0 - np.cumsum(counts) / counts.sum()
    before = after + counts / counts.sum()
    differences = [after - np.interp(x, points, longer), before - np.interp(x, points, at_least)]
    return float(np.abs(differences).max())


def _thinned(points: Array, shares: Array, most: int = 200) -> list[tuple[float, float]]:
    """A curve for a figure: points that lie as closely on a logarithmic axis."""
    wanted = np.geomspace(points[0], points[-1], most)
    places = np.unique(np.clip(np.searchsorted(points, wanted), 0, len(points) - 1))
    return [(float(points[k]), float(shares[k])) for k in places if shares[k] > 0]
