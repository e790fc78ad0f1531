"""Contacts that are looked for, against those that are foreseen."""

from __future__ import annotations

from math import hypot
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import InputError
from roamcast.papers import presets
from roamcast.world import assembly
from roamcast.world.contacts.kinetic import KineticContacts
from roamcast.world.contacts.sought import BEYOND, SoughtContacts
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.world.contacts.test_kinetic import Routes

ROUTE = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), min_size=1, max_size=4)
QUERY = st.tuples(st.integers(0, 4000), st.integers(0, 5))


def on_the_way(corners: list[tuple[int, int]]) -> list[tuple[float, float, float]]:
    """A corner every ten seconds: legs of different speeds."""
    return [(10.0 * k, float(x), float(y)) for k, (x, y) in enumerate(corners)]


@given(st.lists(ROUTE, min_size=2, max_size=6), st.lists(QUERY, min_size=1, max_size=30))
def test_everybody_in_reach_is_found_and_nobody_far_beyond_it(
    routes: list[list[tuple[int, int]]], queries: list[tuple[int, int]]
) -> None:
    n = len(routes)
    reaches = [60.0 + 50.0 * i for i in range(n)]
    motion = SoughtContacts(Routes([on_the_way(route) for route in routes]), n, 1, reaches)
    for hundredths, number in sorted(queries):
        now, i = hundredths / 100, number % n
        if now >= motion.next:
            motion.advance(now)
        around = list(motion.around(i, now))
        x, y = motion.position(i, now)
        far = [hypot(motion.x(j, now) - x, motion.y(j, now) - y) for j in range(n)]
        assert around == sorted(around) and i not in around
        assert all(j in around for j in range(n) if j != i and far[j] <= reaches[i] - 1e-9)
        assert all(far[j] <= (1.0 + 2.0 * BEYOND) * reaches[i] + 1e-9 for j in around)


def test_what_was_found_is_kept_until_nodes_can_have_come_nearer() -> None:
    routes = Routes([[(0.0, 0.0, 0.0)], [(0.0, 104.0, 0.0), (10.0, 4.0, 0.0)], [(0.0, 300.0, 0.0)]])
    motion = SoughtContacts(routes, 3, 1, [100.0] * 3)
    assert motion.outdated(0, 0.0)
    assert list(motion.around(0, 0.0)) == [1]  # 104 m away, and beyond is up to 105 m
    lasts = 5.0 / (2 * 10.0)
    assert not motion.outdated(0, lasts - 0.001)
    assert motion.outdated(0, lasts)


def test_a_faster_leg_outdates_what_was_found() -> None:
    routes = Routes([[(0.0, 0.0, 0.0)], [(0.0, 500.0, 0.0), (10.0, 499.0, 0.0), (11.0, 0.0, 0.0)]])
    motion = SoughtContacts(routes, 2, 1, [100.0] * 2)
    assert list(motion.around(0, 9.9)) == []
    assert not motion.outdated(0, 10.0)  # for 25 s, at 0.1 m/s
    motion.advance(10.0)
    assert motion.outdated(0, 10.0)
    assert list(motion.around(0, 10.9)) == [1]


def test_nodes_that_stand_are_looked_for_once() -> None:
    motion = SoughtContacts(Routes([[(0.0, 0.0, 0.0)], [(0.0, 50.0, 0.0)]]), 2, 1, [100.0] * 2)
    assert list(motion.around(0, 0.0)) == [1]
    assert not motion.outdated(0, 1e9)


def test_a_position_must_be_finite() -> None:
    with pytest.raises(InputError, match="must be finite"):
        SoughtContacts(Routes([[(0.0, float("nan"), 0.0)]]), 1, 1, [100.0])


WORLDS: dict[str, dict[str, Any]] = {
    "a range for each frame": {},
    "a range for each node": {"range_per": "node", "range_m": 180.0},
    "free space": {"radio": "free-space", "range_max_m": 0.0, "range_m": 200.0, "carrier_sense_ratio": 2.0},
    "shadowing": {"radio": "log-distance", "range_max_m": 0.0, "range_m": 300.0, "shadowing_db": 6.0},
    "two halves": {"partition_from_s": 15.0, "partition_until_s": 25.0},
    "nodes that sleep": {"awake_s": 5.0, "asleep_s": 2.0},
    "random direction": {"mobility": "direction"},
    "Gauss and Markov": {"mobility": "gauss-markov"},
    "an ideal MAC": {"mac": "ideal", "range_m": 350.0, "range_max_m": 0.0},
    "losses by chance": {"loss": 0.2},
}


def small(changes: dict[str, Any]) -> Scenario:
    fast = {"nodes": 40, "duration_s": 40.0, "speed_min_mps": 20.0, "speed_max_mps": 40.0}
    return presets.load("baldoni").scenario({**fast, **changes})


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("protocol", ["gossip", "proximity", "treegroup"])
def test_a_run_is_the_same_as_with_foreseen_contacts(
    world: str, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = small(WORLDS[world])
    sought = simulate(scenario, protocol, {}, seed=5)
    monkeypatch.setattr(assembly, "worth_seeking", lambda *_: False)
    foreseen = simulate(scenario, protocol, {}, seed=5)
    assert foreseen.metrics["receptions"] > 0
    assert sought.fingerprint == foreseen.fingerprint
    assert sought.metrics == foreseen.metrics


def contacts_of(s: Scenario) -> type:
    radio = assembly.radio_of(s, 1)
    access = assembly.mac.build(assembly.spec_of(s).mac)
    return type(assembly.contacts_of(s, 1, radio, assembly.heard_ranges(radio, access, s.nodes)))


@pytest.mark.parametrize("world", WORLDS)
def test_contacts_are_sought_where_they_change_more_often_than_frames_are_sent(world: str) -> None:
    assert contacts_of(small(WORLDS[world])) is SoughtContacts


@pytest.mark.parametrize(
    "changes",
    [
        {"rate_hz": 20.0},
        {"speed_min_mps": 0.1, "speed_max_mps": 0.2},
        {"speed_min_mps": 0.0, "speed_max_mps": 0.0},
        {"width_m": 5000.0},
        {"mobility": "manhattan"},
        {"radio": "disc", "range_max_m": 0.0, "range_m": 400.0, "carrier_sense_ratio": 1.0},
    ],
)
def test_everywhere_else_they_are_foreseen(changes: dict[str, Any]) -> None:
    assert contacts_of(small(changes)) is KineticContacts
