"""Contacts that are looked for, against those that are foreseen."""

from __future__ import annotations

from math import hypot
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

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
def test_everybody_in_reach_is_found_and_nobody_else(
    routes: list[list[tuple[int, int]]], queries: list[tuple[int, int]]
) -> None:
    n = len(routes)
    reaches = [60.3 + 50.0 * i for i in range(n)]
    motion = SoughtContacts(Routes([on_the_way(route) for route in routes]), n, 1, reaches)
    for hundredths, number in sorted(queries):
        now, i = hundredths / 100, number % n
        if now >= motion.next:
            motion.advance(now)
        x, y = motion.position(i, now)
        far = [hypot(motion.x(j, now) - x, motion.y(j, now) - y) for j in range(n)]
        assert list(motion.around(i, now)) == [j for j in range(n) if j != i and far[j] <= reaches[i]]
        beyond = [j for j in range(n) if j != i and far[j] <= 2.0 * reaches[i]]  # also out of everybody's reach
        count = motion.measure(i, now, 2.0 * reaches[i])
        assert list(motion.in_reach[:count]) == beyond
        assert motion.squares_in_reach[:count] == motion.squares(i, vec[i64](beyond), now)


def test_squares_stay_with_their_nodes_when_these_are_put_in_order() -> None:
    n = 200  # more than are looked at in the order of their numbers
    random = Random(1)
    routes = [[(0.0, random.uniform(0, 900), random.uniform(0, 900))] for _ in range(n)]
    motion = SoughtContacts(Routes(routes), n, 1, [60.0] * n)
    for i in range(n):
        count = motion.measure(i, 0.0, 300.0)
        hearers = motion.in_reach[:count]
        assert list(hearers) == sorted(hearers)
        assert count > 5
        assert motion.squares_in_reach[:count] == motion.squares(i, hearers, 0.0)


MOVEMENTS: dict[str, dict[str, Any]] = {
    "waypoint": {},
    "waypoint without rests": {"pause_min_s": 0.0, "pause_max_s": 0.0},
    "direction": {"mobility": "direction"},
    "direction, slowly": {"mobility": "direction", "speed_min_mps": 0.5, "speed_max_mps": 1.0},
    "Gauss and Markov": {"mobility": "gauss-markov"},
    "a strip": {"width_m": 4000.0, "height_m": 20.0},
    "all in one cell": {"width_m": 200.0, "height_m": 200.0},
}


@pytest.mark.parametrize("movement", MOVEMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_found_is_what_was_foreseen(movement: str, seed: int) -> None:
    """At instants at which a frame can start: whole microseconds."""
    n = 150
    scenario = small({"nodes": n, "speed_min_mps": 5.0, **MOVEMENTS[movement]})
    reaches = [90.0 + i % 3 * (seed * 20.0) for i in range(n)]
    sought = SoughtContacts(assembly.mobility.build(scenario, seed), n, seed, reaches)
    foreseen = KineticContacts(assembly.mobility.build(scenario, seed), n, seed, reaches)
    chance = Random(seed)
    instants = sorted(chance.randrange(40_000_000) for _ in range(300))
    contacts = 0
    for t in [0, *instants]:
        now = float(t) * 1e-6
        for motion in (sought, foreseen):
            if now >= motion.next:
                motion.advance(now)
        for i in chance.sample(range(n), 10):
            around = list(sought.around(i, now))
            assert around == list(foreseen.around(i, now))
            contacts += len(around)
    assert contacts > 0
    assert (sought.columns * sought.rows == 1) == (movement == "all in one cell")


def test_two_that_stand_exactly_a_reach_apart_are_in_contact() -> None:
    motion = SoughtContacts(Routes([[(0.0, 0.0, 0.0)], [(0.0, 100.0, 0.0)], [(0.0, 0.0, 100.01)]]), 3, 1, [100.0] * 3)
    assert list(motion.around(0, 0.0)) == [1]


def test_all_are_seen_again_when_somebody_can_have_gone_too_far() -> None:
    routes = Routes([[(0.0, 0.0, 0.0)], [(0.0, 104.0, 0.0), (10.0, 4.0, 0.0)], [(0.0, 300.0, 0.0)]])
    motion = SoughtContacts(routes, 3, 1, [100.0] * 3)
    lasts = BEYOND * 100.0 / 10.0
    assert list(motion.around(0, lasts - 0.001)) == [1]
    assert motion.seen_at == 0.0
    assert list(motion.around(0, lasts + 0.001)) == [1]
    assert motion.seen_at == lasts + 0.001


def test_a_faster_leg_outdates_what_was_seen() -> None:
    routes = Routes([[(0.0, 0.0, 0.0)], [(0.0, 500.0, 0.0), (10.0, 499.0, 0.0), (11.0, 0.0, 0.0)]])
    motion = SoughtContacts(routes, 2, 1, [100.0] * 2)
    assert list(motion.around(0, 9.9)) == []
    assert motion.seen_at == 0.0  # it would do for 50 s, at 0.1 m/s
    motion.advance(10.0)
    assert list(motion.around(0, 10.9)) == [1]


def test_nodes_that_stand_are_seen_once() -> None:
    motion = SoughtContacts(Routes([[(0.0, 0.0, 0.0)], [(0.0, 50.0, 0.0)]]), 2, 1, [100.0] * 2)
    assert list(motion.around(0, 1e9)) == [1]
    assert motion.seen_at == 0.0


def test_a_position_must_be_finite() -> None:
    with pytest.raises(InputError, match="must be finite"):
        SoughtContacts(Routes([[(0.0, float("nan"), 0.0)]]), 1, 1, [100.0])


DISC: dict[str, Any] = {"radio": "disc", "range_max_m": 0.0, "range_m": 150.0, "carrier_sense_ratio": 1.0}
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
    "a disc": DISC,
    "a disc for each node": {**DISC, "range_per": "node", "range_max_m": 250.0},
    "a disc and an ideal MAC": {**DISC, "mac": "ideal"},
    "a disc in two halves": {**DISC, "partition_from_s": 15.0, "partition_until_s": 25.0},
    "a disc and nodes that sleep": {**DISC, "awake_s": 5.0, "asleep_s": 2.0},
    "a wide field": {**DISC, "width_m": 3000.0, "height_m": 2000.0, "nodes": 150, "range_m": 250.0},
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
        {"mobility": "manhattan"},
    ],
)
def test_everywhere_else_they_are_foreseen(changes: dict[str, Any]) -> None:
    assert contacts_of(small(changes)) is KineticContacts


@pytest.mark.parametrize(("nodes", "sought"), [(1_000, False), (100_000, True)])
def test_contacts_are_sought_in_worlds_that_are_larger_than_a_flood(nodes: int, sought: bool) -> None:
    side_m = 2000.0 * (nodes / 500) ** 0.5
    movement = {"mobility": "direction", "speed_min_mps": 2.0, "speed_max_mps": 2.0}
    traffic = {"publishers": nodes, "rate_hz": 25.0 / nodes}
    scenario = Scenario(nodes=nodes, width_m=side_m, height_m=side_m, range_m=150.0, **movement, **traffic)
    assert assembly.worth_seeking(scenario, assembly.radio_of(scenario, 1), [150.0] * nodes) == sought
