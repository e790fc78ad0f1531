"""Named streams of random numbers: known values, dependence on the name alone, and randomness.

Statistical tests have fixed seeds, so they always pass or always fail; bounds are those of a test at the 0.1 % level.
"""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest
from scipy import stats

from roamcast.world.streams import Stream, Streams

N = 20_000


def floats(seed: int, node: int, purpose: str, n: int = N) -> np.ndarray:
    stream = Stream(seed, node, purpose)
    return np.array([stream.random() for _ in range(n)])


def test_known_answers() -> None:
    """The fingerprint of a run depends on these: if one changes, all results change."""
    stream = Stream(1, 0, "mac")
    assert [stream.random() for _ in range(3)] == [0.7574244769859776, 0.13480452217990724, 0.8625802743667772]
    stream = Stream(7, 12, "protocol")
    assert [int(stream.below(1000)) for _ in range(5)] == [656, 537, 670, 96, 536]
    stream = Stream(2, 3, "faults")
    assert [stream.exponential(1.0), stream.normal(0.0, 1.0), stream.uniform(-1.0, 1.0)] == [
        2.311345504,
        -1.534013536,
        0.3942605645539503,
    ]


def test_the_same_name_gives_the_same_numbers_whatever_else_is_drawn() -> None:
    alone = floats(5, 3, "mobility", 50)
    one, other = Stream(5, 3, "mobility"), Stream(5, 4, "mobility")
    mixed = []
    for _ in range(50):
        other.random()
        mixed.append(one.random())
    assert mixed == alone.tolist()


NAMES = [
    (1, 0, "mac"),
    (2, 0, "mac"),
    (1, 1, "mac"),
    (1, 0, "mobility"),
    (11, 0, "mac"),
    (1, 10, "mac"),
    (0, 0, "mac"),
    (-1, 0, "mac"),
    (1 << 40, 0, "mac"),
]


def test_streams_of_different_names_are_uncorrelated() -> None:
    drawn = np.array([floats(*name, n=5000) for name in NAMES])
    correlation = np.corrcoef(drawn) - np.eye(len(NAMES))
    assert abs(correlation).max() < 4.0 / sqrt(5000)


def test_the_first_numbers_of_a_thousand_nodes_are_uniform() -> None:
    """A badly keyed generator would show it in the first numbers of similar names."""
    first = np.array([Stream(1, node, "mobility").random() for node in range(2000)])
    assert stats.kstest(first, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 4.0 / sqrt(2000)


def test_random_is_uniform() -> None:
    drawn = floats(1, 2, "uniform")
    assert drawn.min() >= 0.0 and drawn.max() < 1.0
    assert stats.kstest(drawn, "uniform").pvalue > 1e-3
    assert stats.chisquare(np.histogram(drawn, 100, (0.0, 1.0))[0]).pvalue > 1e-3


def test_successive_numbers_are_independent() -> None:
    """Serial test: pairs and triples fill the square and the cube evenly."""
    drawn = floats(3, 4, "serial", 30_000)
    pairs = np.histogramdd(drawn.reshape(-1, 2), 16, [(0, 1)] * 2)[0].ravel()
    triples = np.histogramdd(drawn.reshape(-1, 3), 6, [(0, 1)] * 3)[0].ravel()
    assert stats.chisquare(pairs).pvalue > 1e-3
    assert stats.chisquare(triples).pvalue > 1e-3


@pytest.mark.parametrize("n", [2, 3, 10, 32, 1000])
def test_below_is_uniform(n: int) -> None:
    stream = Stream(1, n, "below")
    counts = np.bincount([int(stream.below(n)) for _ in range(N)], minlength=n)
    assert len(counts) == n
    assert stats.chisquare(counts).pvalue > 1e-3


def test_below_is_uniform_also_for_a_range_that_is_not_a_power_of_two() -> None:
    """With a remainder, of 3 * 2^61 numbers below 2^63 those in the first third would come twice as often."""
    n = 3 << 61
    stream = Stream(1, 0, "large")
    thirds = np.bincount([int(stream.below(n)) // (1 << 61) for _ in range(6000)], minlength=3)
    assert len(thirds) == 3
    assert stats.chisquare(thirds).pvalue > 1e-3


def test_below_one_is_zero() -> None:
    stream = Stream(1, 0, "one")
    assert [int(stream.below(1)) for _ in range(5)] == [0] * 5


def test_uniform_is_between_its_bounds() -> None:
    stream = Stream(1, 0, "between")
    drawn = np.array([stream.uniform(-3.0, 5.0) for _ in range(N)])
    assert stats.kstest(drawn, "uniform", (-3.0, 8.0)).pvalue > 1e-3


def test_exponential_has_the_moments_and_the_law_of_one() -> None:
    stream = Stream(1, 0, "gaps")
    drawn = np.array([stream.exponential(2.5) for _ in range(N)])
    assert drawn.min() >= 0.0
    assert drawn.mean() == pytest.approx(2.5, rel=4 / sqrt(N))
    assert drawn.std() == pytest.approx(2.5, rel=0.05)
    assert (drawn > 5.0).mean() == pytest.approx(exp(-2.0), abs=0.01)
    assert stats.kstest(drawn, "expon", (0.0, 2.5)).pvalue > 1e-3


def test_normal_has_the_moments_and_the_law_of_one() -> None:
    stream = Stream(1, 0, "shadow")
    drawn = np.array([stream.normal(10.0, 4.0) for _ in range(N)])
    assert drawn.mean() == pytest.approx(10.0, abs=4 * 4.0 / sqrt(N))
    assert drawn.std() == pytest.approx(4.0, rel=0.02)
    assert stats.skew(drawn) == pytest.approx(0.0, abs=0.07)
    assert stats.kurtosis(drawn) == pytest.approx(0.0, abs=0.14)
    assert stats.kstest(drawn, "norm", (10.0, 4.0)).pvalue > 1e-3
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 4.0 / sqrt(N)


def test_a_law_without_spread_is_a_constant() -> None:
    stream = Stream(1, 0, "constant")
    assert stream.normal(3.0, 0.0) == 3.0
    assert stream.exponential(0.0) == 0.0
    assert stream.uniform(2.0, 2.0) == 2.0


def test_streams_of_all_nodes_are_those_of_each_of_them_and_go_on_where_they_were() -> None:
    streams = Streams(7, 3, "loss")
    drawn = [streams.of(2).random(), streams.of(0).random(), streams.of(2).random()]
    two, zero = Stream(7, 2, "loss"), Stream(7, 0, "loss")
    assert drawn == [two.random(), zero.random(), two.random()]
