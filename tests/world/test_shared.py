"""What runs in the same world share is what each of them would have computed."""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.world import simulate as simulating
from roamcast.world.scenario import Scenario
from roamcast.world.shared import Publications, Shared, Switches
from roamcast.world.simulate import simulate

PUBLICATIONS: Publications = [(5, 0, 9, [1, 2])]
SWITCHES: Switches = [(7, 2, False)]


def asked(shared: Shared, name: str, publications: Publications = PUBLICATIONS, switches: Switches = SWITCHES) -> int:
    """How often it had to be counted."""
    counted: list[int] = []

    def count() -> int:
        counted.append(1)
        return 42

    assert shared.of(name).possible(publications, switches, count) == 42
    return len(counted)


def test_what_was_possible_is_counted_once_in_a_world() -> None:
    shared = Shared()
    assert [asked(shared, "a"), asked(shared, "a"), asked(shared, "b"), asked(shared, "a")] == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("publications", "switches"),
    [
        ([(6, 0, 9, [1, 2])], SWITCHES),
        ([(5, 1, 9, [1, 2])], SWITCHES),
        ([(5, 0, 8, [1, 2])], SWITCHES),
        ([(5, 0, 9, [1])], SWITCHES),
        ([], SWITCHES),
        (PUBLICATIONS, []),
        (PUBLICATIONS, [(7, 2, True)]),
        (PUBLICATIONS, [(8, 2, False)]),
    ],
)
def test_other_publications_or_faults_are_counted_for_themselves(
    publications: Publications, switches: Switches
) -> None:
    shared = Shared()
    asked(shared, "a")
    assert asked(shared, "a", publications, switches) == 1


def test_a_world_without_a_name_shares_nothing() -> None:
    shared = Shared()
    assert [asked(shared, ""), asked(shared, "")] == [1, 1]
    assert not shared.possible


def test_the_oldest_numbers_are_forgotten() -> None:
    shared = Shared(most=2)
    assert [asked(shared, name) for name in "abca"] == [1, 1, 1, 1]
    assert asked(shared, "c") == 0
    assert len(shared.possible) == 2


FAULTS: dict[str, Any] = {"crash_mean_s": 20.0, "repair_mean_s": 5.0}


@pytest.mark.parametrize("values", [{}, FAULTS])
def test_runs_that_share_a_world_have_the_metrics_that_they_have_alone(
    values: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Scenario(nodes=30, width_m=800.0, height_m=800.0, duration_s=40.0, publishers=5, rate_hz=0.2, **values)
    protocols = ["gossip", "flooding-periodic", "counter", "frugal"]
    alone = [simulate(world, protocol, {}, seed).metrics for seed in (1, 2) for protocol in protocols]
    counted: list[int] = []
    count = simulating.what_was_possible

    def counting(*arguments: Any) -> int:
        counted.append(1)
        return count(*arguments)

    monkeypatch.setattr(simulating, "what_was_possible", counting)
    shared = Shared()
    together = [
        simulate(world, protocol, {}, seed, shared=shared.of(f"world {seed}")).metrics
        for seed in (1, 2)
        for protocol in protocols
    ]
    assert together == alone
    assert len(counted) < len(alone)
    assert len({metrics["possible"] for metrics in alone}) > 1
