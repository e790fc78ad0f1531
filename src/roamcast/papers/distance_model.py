"""How far away is a node last heard k ticks ago? The stochastic model of Baldoni et al. 2005, §V.

Seen from one of two nodes, the other walks on a torus of 2A x 2A grid points. Along each axis, independently, it moves
by -1, 0 or 1 a tick, and the movement is a Markov chain: a rest goes on with probability alpha, a movement with beta,
and a movement becomes the opposite one only after a rest. A link exists while the distance (the larger of the two
axes' distances on the torus) is below L. `curve` gives E[D(k)], the mean distance k ticks after the link broke, by
the exact recurrence over the 9 (2A)² states; `sampled` simulates the same chain with random numbers, and `measured`
computes the same quantity from positions of real or simulated nodes.

Readings, one test each:
  M1 the printed sum weighs distances with P_s0(…, k), which loses the walks that re-entered the range. So it falls
  towards 0, while Fig. 9 levels off. `normalised` divides by the probability of the remaining walks: that is the
  conditional mean in the text, and has the shape of Fig. 9. `normalised=False` is the formula as printed. M2 a walk is
  followed while it was out of range at all times before k; at k itself it may be in range (as printed).
      So the tick of re-entry counts in `curve`, `sampled` and `measured`.
  M3  of the movements compatible with an exit at x = L, y < L - 1, the text prints m_x in {-1, 0, 1}. Only m_x = 1
      comes from inside the range, and `exit="outward"` takes that; `exit="printed"` takes all nine.
  M4  s = (1 - alpha) / (2 - alpha - beta) is the share of ticks with a movement, so π_1 + π_-1: each is half of it.
  M5  which alpha and beta belong to a speed in Fig. 9 is not stated. Ours: alpha = 1 - c s, beta = 1 - c (1 - s),
      for which the formula of s holds at any c in (0, 1]. `change` is c: the smaller it is, the longer a node keeps its
      movement or rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from roamcast.errors import InputError
from roamcast.world.mobility.base import Mobility
from roamcast.world.streams import Stream

Exit = Literal["outward", "printed"]
Floats = NDArray[np.float64]
State = tuple[int, int, int, int]

MOVES = (-1, 0, 1)
CHANGE = 0.5


# ------------------------------------------------------------------------------------------------------- the chain


@dataclass(frozen=True)
class Chain:
    """Two nodes on a torus of 2A x 2A points, in range below L; alpha and beta as in §V."""

    A: int
    L: int
    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if not 1 <= self.L <= self.A:
            raise InputError(f"L ({self.L}) must be between 1 and A ({self.A}): no node can be farther away than A")
        for name, p in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 <= p < 1:
                raise InputError(f"{name} ({p:g}) must be a probability below 1")

    def step(self, after: int, before: int) -> float:
        """Pr{m | m'} of §V, along one axis."""
        if before == 0:
            return self.alpha if after == 0 else (1 - self.alpha) / 2
        if after == before:
            return self.beta
        return 1 - self.beta if after == 0 else 0.0

    def stationary(self, move: int) -> float:
        """Pr{m}; see M4."""
        moving = speed(self.alpha, self.beta)
        return 1 - moving if move == 0 else moving / 2

    def distance(self, x: int, y: int) -> int:
        side = 2 * self.A
        return max(min(x, side - x), min(y, side - y))


def speed(alpha: float, beta: float) -> float:
    """s, the mean relative speed along an axis in points a tick."""
    return (1 - alpha) / (2 - (alpha + beta))


def alpha_beta_for_speed(s: float, change: float = CHANGE) -> tuple[float, float]:
    """M5."""
    if not 0 < s < 1:
        raise InputError(f"speed ({s:g}) must be between 0 and 1 points a tick")
    if not 0 < change <= 1:
        raise InputError(f"change ({change:g}) must be above 0 and at most 1")
    return 1 - change * s, 1 - change * (1 - s)


def compatible(chain: Chain, y: int, exit: Exit) -> list[tuple[int, int]]:
    """C(L, y): the movements that may have led out of range to (L, y), for y in 0 … L."""
    if y == chain.L:
        return [(1, 1)]
    if y == chain.L - 1:
        return [(1, 0), (1, 1)]
    return [(mx, my) for mx in (MOVES if exit == "printed" else (1,)) for my in MOVES]  # M3


def initial_law(chain: Chain, exit: Exit = "outward") -> dict[State, float]:
    """Pr{s0} over the states just after the link broke, for the first of eight equivalent segments."""
    law: dict[State, float] = {}
    for y in range(chain.L + 1):
        moves = compatible(chain, y, exit)
        weights = [chain.stationary(mx) * chain.stationary(my) for mx, my in moves]
        for (mx, my), weight in zip(moves, weights, strict=True):
            law[chain.L, y, mx, my] = weight / sum(weights) / (chain.L + 1)
    return law


# -------------------------------------------------------------------------------------------------- exact solution


def _along_first_axis(mass: Floats, chain: Chain) -> Floats:
    """One tick along x of P[x, m_x, …]: draw the movement, then make it."""
    after = np.empty_like(mass)
    for move in MOVES:
        drawn = sum(chain.step(move, before) * mass[:, before + 1] for before in MOVES)
        after[:, move + 1] = np.roll(drawn, move, axis=0)
    return after


def curve(
    A: int, L: int, alpha: float, beta: float, steps: int, normalised: bool = True, exit: Exit = "outward"
) -> list[float]:
    """E[D(k)] for k = 0 … steps.

    The recurrence of Fig. 8 over P[x, m_x, y, m_y]: walks in range are removed, then a tick moves the rest along one
    axis and along the other, independently.
    """
    chain = Chain(A, L, alpha, beta)
    grid = [[chain.distance(x, y) for y in range(2 * A)] for x in range(2 * A)]
    distance = np.array(grid, dtype=np.float64)[:, None, :, None]
    out_of_range = distance >= L
    mass = np.zeros((2 * A, 3, 2 * A, 3))
    for (x, y, mx, my), p in initial_law(chain, exit).items():
        mass[x, mx + 1, y, my + 1] += p
    expected = []
    for _ in range(steps + 1):
        left = mass.sum() if normalised else 1.0  # M1
        expected.append(float((mass * distance).sum() / left) if left > 0 else float("nan"))
        along_x = _along_first_axis(mass * out_of_range, chain)  # M2
        mass = _along_first_axis(along_x.transpose(2, 3, 0, 1), chain).transpose(2, 3, 0, 1)
    return expected


# ---------------------------------------------------------------------------------------------------- by simulation


def _draw(law: Sequence[tuple[Any, float]], stream: Stream) -> Any:
    rest = stream.random()
    for outcome, p in law:
        rest -= p
        if rest < 0:
            return outcome
    return law[-1][0]


def sampled(
    A: int,
    L: int,
    alpha: float,
    beta: float,
    steps: int,
    walks: int,
    seed: int = 1,
    normalised: bool = True,
    exit: Exit = "outward",
) -> list[float]:
    """The same as `curve`, estimated from `walks` walks: slow and simple, for comparison."""
    chain = Chain(A, L, alpha, beta)
    stream = Stream(seed, 0, "distance-model")
    start = list(initial_law(chain, exit).items())
    turn = {before: [(after, chain.step(after, before)) for after in MOVES] for before in MOVES}
    total = [0] * (steps + 1)
    alive = [0] * (steps + 1)
    for _ in range(walks):
        x, y, mx, my = _draw(start, stream)
        for k in range(steps + 1):
            d = chain.distance(x, y)
            total[k] += d
            alive[k] += 1
            if d < L:
                break
            mx, my = _draw(turn[mx], stream), _draw(turn[my], stream)
            x, y = (x + mx) % (2 * A), (y + my) % (2 * A)
    return [t / (n if normalised else walks) if n else float("nan") for t, n in zip(total, alive, strict=True)]


# -------------------------------------------------------------------------------------------------- by observation


@dataclass(frozen=True)
class Observed:
    """Mean distance of the pairs that lost contact `elapsed_s` ago and had not met since, before this sample."""

    elapsed_s: float
    distance_m: float
    pairs: int


def measured(positions: Floats, range_m: float, step_s: float, most_s: float) -> list[Observed]:
    """The empirical counterpart: `positions[t, node]` is (x, y) in metres, sampled every `step_s`.

    A pair counts from the first sample out of range after one in range (elapsed 0, as in the model) to the one in which
    it is in range again (M2).
    """
    most = int(most_s / step_s)
    total = np.zeros(most + 1)
    count = np.zeros(most + 1, dtype=np.int64)
    nodes = positions.shape[1]
    first, second = np.triu_indices(nodes, 1)
    elapsed = np.full(len(first), -1, dtype=np.int64)  # -1 for pairs in contact, and for those that never were
    near = np.zeros(len(first), dtype=np.bool_)
    for now in positions:
        distance = np.hypot(*(now[first] - now[second]).T)
        were_near, near = near, distance < range_m
        elapsed = np.where((elapsed >= 0) | (were_near & ~near), elapsed + 1, -1)
        counts = (elapsed >= 0) & (elapsed <= most)
        np.add.at(total, elapsed[counts], distance[counts])
        np.add.at(count, elapsed[counts], 1)
        elapsed[near] = -1
    return [Observed(k * step_s, float(total[k] / count[k]), int(count[k])) for k in range(most + 1) if count[k]]


def positions_of(mobility: Mobility, nodes: int, duration_s: float, step_s: float, seed: int = 1) -> Floats:
    """Where the nodes of a mobility model are every `step_s`, for `measured`."""
    samples = int(duration_s / step_s) + 1
    where = np.empty((samples, nodes, 2))
    for node in range(nodes):
        stream = Stream(seed, node, "mobility")
        leg = mobility.first(node, stream)
        for k in range(samples):
            t = k * step_s
            while t > leg.end_s:
                leg = mobility.next(node, leg, stream)
            where[k, node] = (leg.x + leg.vx * (t - leg.start_s), leg.y + leg.vy * (t - leg.start_s))
    return where
