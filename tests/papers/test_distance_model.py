"""Baldoni et al., §V: the distance of two nodes against the time since they lost contact."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import InputError
from roamcast.papers.distance_model import (
    MOVES,
    Chain,
    Exit,
    alpha_beta_for_speed,
    curve,
    initial_law,
    measured,
    positions_of,
    sampled,
    speed,
)
from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.streams import Stream


def enumerated(A: int, L: int, alpha: float, beta: float, steps: int, normalised: bool, exit: Exit) -> list[float]:
    """The same as `curve`, state by state in a dictionary and with exact fractions."""
    chain = Chain(A, L, alpha, beta)
    mass = {s: Fraction(p).limit_denominator(10**9) for s, p in initial_law(chain, exit).items()}
    expected = []
    for _ in range(steps + 1):
        total = sum(mass.values()) if normalised else Fraction(1)
        expected.append(float(sum(p * chain.distance(x, y) for (x, y, _, _), p in mass.items()) / total))
        after: dict[tuple[int, int, int, int], Fraction] = {}
        for (x, y, mx, my), p in mass.items():
            if chain.distance(x, y) < L:
                continue
            for nx in MOVES:
                for ny in MOVES:
                    q = p * Fraction(chain.step(nx, mx)) * Fraction(chain.step(ny, my))
                    state = ((x + nx) % (2 * A), (y + ny) % (2 * A), nx, ny)
                    after[state] = after.get(state, Fraction(0)) + q
        mass = after
    return expected


# ------------------------------------------------------------------------------------------------- the definitions


def test_distance_is_the_larger_of_the_two_axes_the_shorter_way_round_the_torus() -> None:
    chain = Chain(7, 4, 0.5, 0.5)
    assert [chain.distance(*p) for p in ((0, 0), (3, 1), (13, 0), (7, 2), (2, 12), (10, 9))] == [0, 3, 1, 7, 2, 5]


def test_a_movement_never_turns_into_its_opposite_at_once() -> None:
    chain = Chain(7, 4, 0.6, 0.8)
    assert chain.step(-1, 1) == chain.step(1, -1) == 0
    assert chain.step(0, 0) == 0.6
    assert chain.step(1, 0) == chain.step(-1, 0) == pytest.approx(0.2)
    assert chain.step(1, 1) == chain.step(-1, -1) == 0.8
    assert chain.step(0, 1) == chain.step(0, -1) == pytest.approx(0.2)


@given(st.floats(0, 0.99), st.floats(0, 0.99))
def test_m4_the_speed_is_the_share_of_ticks_with_a_movement(alpha: float, beta: float) -> None:
    """§V prints s as π_1 (= π_-1); the formula is their sum. The law of the chain's movement does not change."""
    chain = Chain(7, 4, alpha, beta)
    law = [chain.stationary(m) for m in MOVES]
    after = [sum(chain.step(m, before) * p for before, p in zip(MOVES, law, strict=True)) for m in MOVES]
    assert after == pytest.approx(law)
    assert speed(alpha, beta) == pytest.approx(law[0] + law[2])


@given(st.floats(0.01, 0.99), st.floats(0.01, 1))
def test_m5_the_family_of_alpha_and_beta_has_the_given_speed(s: float, change: float) -> None:
    assert speed(*alpha_beta_for_speed(s, change)) == pytest.approx(s)


def test_the_state_after_a_breakage_is_uniform_over_the_segment_and_its_movement_led_out() -> None:
    chain = Chain(7, 4, 0.5, 0.5)  # at rest half of the time
    law = initial_law(chain)
    for y in range(5):
        assert sum(p for (_, at, _, _), p in law.items() if at == y) == pytest.approx(1 / 5)
    assert [s for s in law if s[1] == 4] == [(4, 4, 1, 1)]
    assert [s for s in law if s[1] == 3] == [(4, 3, 1, 0), (4, 3, 1, 1)]
    assert law[4, 3, 1, 0] == pytest.approx(2 / 3 / 5)
    assert law[4, 0, 1, -1] == pytest.approx(1 / 4 / 5)
    for x, y, mx, my in law:
        assert chain.distance(x, y) >= 4 > chain.distance((x - mx) % 14, (y - my) % 14)


def test_m3_as_printed_any_movement_is_compatible_away_from_the_corner() -> None:
    law = initial_law(Chain(7, 4, 0.5, 0.5), "printed")
    assert sum(law.values()) == pytest.approx(1)
    assert len([s for s in law if s[1] == 0]) == 9
    assert law[4, 0, -1, 0] == pytest.approx(1 / 8 / 5)
    assert law[4, 4, 1, 1] == pytest.approx(1 / 5)


# ---------------------------------------------------------------------------------------------- the exact solution


def test_a_walk_small_enough_to_be_computed_by_hand() -> None:
    """A=2, L=1, alpha=beta=0: a movement is followed by a rest and a rest by a movement.

    Starts: (1,1) moving both ways with 1/2; (1,0) moving along x with 1/3, along both with 1/6. After one tick all are
    at distance 1; after two at 2, 2, 2 or 0 | 2 or 1 | 2 or 1; in the third, 7/8 of the walks are left.
    """
    assert curve(2, 1, 0, 0, 3) == pytest.approx([1, 1, 1.5, 12 / 7])


def test_m1_as_printed_walks_that_met_again_weigh_nothing() -> None:
    assert curve(2, 1, 0, 0, 3, normalised=False) == pytest.approx([1, 1, 1.5, 1.5])


def test_m2_a_walk_that_meets_at_tick_k_still_counts_at_k() -> None:
    """Without it, the third value of the small walk would already be 12/7."""
    assert curve(2, 1, 0, 0, 2)[2] == pytest.approx(1.5)


@settings(max_examples=20, deadline=None)
@given(
    st.integers(1, 3).flatmap(lambda A: st.tuples(st.just(A), st.integers(1, A))),
    st.sampled_from([0.0, 0.25, 0.5, 0.75]),
    st.sampled_from([0.0, 0.25, 0.5, 0.75]),
    st.booleans(),
    st.sampled_from(["outward", "printed"]),
)
def test_the_recurrence_agrees_with_enumeration(
    torus: tuple[int, int], alpha: float, beta: float, normalised: bool, exit: Exit
) -> None:
    exact = enumerated(*torus, alpha, beta, 4, normalised, exit)
    assert curve(*torus, alpha, beta, 4, normalised, exit) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("normalised", [True, False])
def test_the_recurrence_agrees_with_simulated_walks(normalised: bool) -> None:
    exact = curve(8, 4, 0.7, 0.8, 20, normalised)
    simulated = sampled(8, 4, 0.7, 0.8, 20, walks=4000, normalised=normalised)
    assert simulated == pytest.approx(exact, abs=0.15)  # the deviation of a mean of about 1000 distances is 0.05
    assert simulated != exact


# ------------------------------------------------------------------------------------------------------- Figure 9


@pytest.mark.parametrize("s", [0.1, 0.2, 0.3, 0.5])
def test_fig9_the_distance_rises_with_time_up_to_a_threshold_and_then_levels_off(s: float) -> None:
    """A=20, L=10."""
    expected = curve(20, 10, *alpha_beta_for_speed(s), 400)
    assert expected[0] == 10
    threshold = next(k for k, d in enumerate(expected) if d > 0.95 * expected[-1])
    assert all(later > earlier for earlier, later in pairwise(expected[:threshold]))
    assert all(d == pytest.approx(expected[-1], rel=0.06) for d in expected[threshold:])


def test_fig9_a_faster_node_is_farther_away_after_the_same_time() -> None:
    curves = [curve(20, 10, *alpha_beta_for_speed(s), 20) for s in (0.1, 0.2, 0.3, 0.5, 0.7)]
    for k in range(1, 11):
        at_k = [c[k] for c in curves]
        assert at_k == sorted(at_k)


def test_m1_the_sum_as_printed_does_not_have_the_shape_of_fig9() -> None:
    printed = curve(20, 10, *alpha_beta_for_speed(0.3), 400, normalised=False)
    assert printed[-1] < 1 < 10 < max(printed)


# ------------------------------------------------------------------------------------------------------- measured


def test_measured_counts_from_the_first_sample_out_of_range_until_the_pair_meets_again() -> None:
    xs = [5, 1, 3, 4, 6, 1, 2, 9]  # in range below 2; samples before the first contact do not count
    positions = np.array([[[0.0, 0.0], [float(x), 0.0]] for x in xs])
    seen = measured(positions, range_m=2.0, step_s=0.5, most_s=1.0)
    assert [(o.elapsed_s, o.distance_m, o.pairs) for o in seen] == [(0.0, 2.5, 2), (0.5, 6.5, 2), (1.0, 6.0, 1)]


def test_m2_measured_counts_the_sample_of_re_entry_once_and_then_waits_for_the_next_loss() -> None:
    xs = [1, 3, 1, 1, 4, 5, 0]  # lost twice; back in range after one sample, then after two
    positions = np.array([[[0.0, 0.0], [float(x), 0.0]] for x in xs])
    seen = measured(positions, range_m=2.0, step_s=1.0, most_s=9.0)
    assert [(o.elapsed_s, o.distance_m, o.pairs) for o in seen] == [(0.0, 3.5, 2), (1.0, 3.0, 2), (2.0, 0.0, 1)]


def followed(xs: list[int], most: int) -> list[tuple[float, float, int]]:
    """The same as `measured`, for two nodes on a line in range below 2, one sample after another."""
    seen: list[list[int]] = [[] for _ in range(most + 1)]
    for k in range(1, len(xs)):
        if xs[k - 1] < 2 <= xs[k]:
            for elapsed, x in enumerate(xs[k : k + most + 1]):
                seen[elapsed].append(x)
                if x < 2:
                    break
    return [
        (float(k), sum(distances) / len(distances), len(distances)) for k, distances in enumerate(seen) if distances
    ]


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(0, 6))
def test_m2_measured_agrees_with_counting_each_loss_of_contact(xs: list[int], most: int) -> None:
    positions = np.array([[[0.0, 0.0], [float(x), 0.0]] for x in xs]).reshape(len(xs), 2, 2)
    seen = measured(positions, range_m=2.0, step_s=1.0, most_s=float(most))
    assert [(o.elapsed_s, o.distance_m, o.pairs) for o in seen] == followed(xs, most)


def test_measured_uses_every_pair_and_both_axes() -> None:
    start = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    end = [[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]
    (only,) = measured(np.array([start, end]), range_m=2.0, step_s=1.0, most_s=9.0)
    assert (only.distance_m, only.pairs) == (pytest.approx(20 / 3), 3)


class BackAndForth(Mobility):
    """One metre a second along x, turning every three seconds."""

    def __init__(self) -> None:
        pass

    def first(self, node: int, stream: Stream) -> Leg:
        return Leg(0.0, float(node), 0.0, 1.0, 0.0, 3.0)

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        x = leg.x + leg.vx * (leg.end_s - leg.start_s)
        return Leg(leg.end_s, x, leg.y, -leg.vx, 0.0, leg.end_s + 3.0)


def test_positions_follow_the_legs() -> None:
    where = positions_of(BackAndForth(), nodes=2, duration_s=8.0, step_s=2.0)
    assert where[:, 0, 0].tolist() == [0, 2, 2, 0, 2]
    assert where[:, 1, 0].tolist() == [1, 3, 3, 1, 3]
    assert positions_of(BackAndForth(), nodes=1, duration_s=14.0, step_s=7.0)[:, 0, 0].tolist() == [0, 1, 2]


# ---------------------------------------------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    ("values", "name"),
    [((2, 3, 0.5, 0.5), "L"), ((2, 0, 0.5, 0.5), "L"), ((4, 2, 1.0, 0.5), "alpha"), ((4, 2, 0.5, -0.1), "beta")],
)
def test_an_impossible_chain_is_refused_and_the_value_named(values: tuple[int, int, float, float], name: str) -> None:
    with pytest.raises(InputError, match=name):
        curve(*values, 3)


@pytest.mark.parametrize(("s", "change"), [(0.0, 0.5), (1.0, 0.5), (0.5, 0.0), (0.5, 1.5)])
def test_a_speed_outside_its_range_is_refused(s: float, change: float) -> None:
    with pytest.raises(InputError):
        alpha_beta_for_speed(s, change)
