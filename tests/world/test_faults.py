"""Schedules of faults; test_kernel.py tests their effects."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from roamcast.log import schema
from roamcast.world.faults import CRASH, NONE, RECOVER, SLEEP, WAKE, Faults
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from roamcast.world.specs import FaultSpec
from tests.support.sinks import MemorySink


def faults(
    nodes: int = 10,
    *,
    seed: int = 1,
    awake: int = 0,
    asleep: int = 0,
    crash_mean: int = 0,
    repair_mean: int = 1,
    loss: float = 0.0,
) -> Faults:
    spec = FaultSpec(awake_us=awake, asleep_us=asleep, crash_mean_us=crash_mean, repair_mean_us=repair_mean, loss=loss)
    return Faults(spec, nodes, seed)


def test_without_faults_nothing_happens() -> None:
    assert faults().first(3) == (NONE, NONE)
    assert not faults().lossy()


def test_the_first_sleep_falls_anywhere_in_a_cycle() -> None:
    f = faults(2000, awake=3_000_000, asleep=7_000_000)
    first = [f.first(i) for i in range(2000)]
    assert {what for _, what in first} == {SLEEP}
    assert stats.kstest([t for t, _ in first], "uniform", (0, 10_000_000)).pvalue > 1e-3


def test_a_duty_cycle_repeats_exactly() -> None:
    f = faults(awake=3_000_000, asleep=7_000_000)
    assert f.next(0, SLEEP) == (7_000_000, WAKE)
    assert f.next(0, WAKE) == (3_000_000, SLEEP)


def test_times_to_crash_and_to_repair_are_exponential() -> None:
    f = faults(2000, crash_mean=100_000_000, repair_mean=10_000_000)
    first = [f.first(i) for i in range(2000)]
    repairs = [f.next(i, CRASH) for i in range(2000)]
    again = [f.next(i, RECOVER) for i in range(2000)]
    assert {what for _, what in first} == {CRASH} == {what for _, what in again}
    assert {what for _, what in repairs} == {RECOVER}
    for drawn, mean in ((first, 1e8), (repairs, 1e7), (again, 1e8)):
        times = np.array([t for t, _ in drawn])
        assert times.mean() == pytest.approx(mean, rel=4 / sqrt(2000))
        assert stats.kstest(times, "expon", (0, mean)).pvalue > 1e-3


def test_a_repair_takes_time() -> None:
    f = faults(crash_mean=1, repair_mean=0)
    assert all(f.next(0, CRASH)[0] >= 1 for _ in range(20))


def test_faults_of_a_node_do_not_depend_on_the_others() -> None:
    many, few = faults(10, crash_mean=1_000_000), faults(4, crash_mean=1_000_000)
    for i in (9, 2, 7):
        many.first(i)
    assert many.first(3) == few.first(3)
    assert faults(4, crash_mean=1_000_000, seed=2).first(3) != faults(4, crash_mean=1_000_000).first(3)


def test_independent_losses_multiply() -> None:
    f = faults(loss=0.2)
    f.link_loss[1 << 20 | 2] = 0.5
    assert f.lossy()
    assert f.loss_of(1, 2) == pytest.approx(0.6)
    assert f.loss_of(2, 1) == pytest.approx(0.2)


def test_a_measured_link_alone_makes_the_air_lossy() -> None:
    f = faults()
    f.link_loss[0] = 0.1
    assert f.lossy()


def rows_of(scenario: Scenario) -> dict[str, list[tuple[int, int]]]:
    sink = MemorySink()
    simulate(scenario, "gossip", level="deliveries", sink=sink)
    times: dict[str, list[tuple[int, int]]] = {"sleep": [], "wake": [], "crash": [], "recover": []}
    for t, node, kind, *_ in sink.rows:
        if schema.KINDS[kind] in times:
            times[schema.KINDS[kind]].append((t, node))
    return times


def test_crashes_and_repairs_in_a_world_have_their_mean_times() -> None:
    scenario = Scenario(nodes=60, mobility="static", duration_s=1000.0, crash_mean_s=40.0, repair_mean_s=10.0, events=1)
    rows = rows_of(scenario)
    assert len(rows["crash"]) == pytest.approx(60 * 1000 / 50, rel=0.1)
    for node in range(60):
        crashes = [t for t, n in rows["crash"] if n == node]
        repairs = [t for t, n in rows["recover"] if n == node]
        both = [t for pair in zip(crashes, repairs, strict=False) for t in pair]
        assert both == sorted(both) and len(crashes) - len(repairs) in (0, 1)


def test_a_world_sleeps_in_cycles() -> None:
    rows = rows_of(
        Scenario(nodes=5, mobility="static", duration_s=60.0, awake_s=2.0, asleep_s=3.0, subscribers=5, events=1)
    )
    for node in range(5):
        sleeps = [t for t, n in rows["sleep"] if n == node]
        wakes = [t for t, n in rows["wake"] if n == node]
        assert sleeps[0] < 5_000_000
        # a node that is sending when it should sleep finishes the frame, and its cycle shifts
        assert all(0 <= w - s - 3_000_000 < 50_000 for s, w in zip(sleeps, wakes, strict=False))
        assert all(0 <= s - w - 2_000_000 < 50_000 for w, s in zip(wakes, sleeps[1:], strict=False))
        assert len(sleeps) in (11, 12)
