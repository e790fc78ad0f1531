"""What every model promises: continuous legs in the area, its own stream only, exact contacts, a stationary start."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from random import Random

import pytest
from scipy import stats

from roamcast.errors import InputError
from roamcast.world.contacts.kinetic import KineticContacts
from roamcast.world.mobility import build
from roamcast.world.mobility.base import Mobility
from roamcast.world.mobility.city import CitySection
from roamcast.world.mobility.direction import RandomDirection
from roamcast.world.mobility.gauss_markov import GaussMarkov
from roamcast.world.mobility.manhattan import Manhattan
from roamcast.world.mobility.static import Static
from roamcast.world.mobility.stationary import Pauses, Speeds
from roamcast.world.mobility.waypoint import RandomWaypoint
from roamcast.world.mobility.waypoints import Waypoints
from roamcast.world.scenario import Scenario, with_values
from roamcast.world.streets import campus
from tests.world.contacts.test_kinetic import Recorder, check_run
from tests.world.walkers import Walker, crowd, speed

WIDTH, HEIGHT = 600.0, 400.0
UNIFORM = Speeds(2.0, 20.0, "uniform")
NORMAL = Speeds(2.0, 20.0, "normal")
KEPT = Speeds(2.0, 20.0, "uniform", per_node=True)
CAMPUS = campus(3, WIDTH, HEIGHT)


def tracks() -> list[list[tuple[float, float, float]]]:
    random = Random(4)
    return [
        [(random.uniform(0, 300), random.uniform(0, WIDTH), random.uniform(0, HEIGHT)) for _ in range(12)]
        for _ in range(40)
    ]


MODELS: dict[str, Callable[[], Mobility]] = {
    "static": lambda: Static(WIDTH, HEIGHT),
    "waypoint": lambda: RandomWaypoint(WIDTH, HEIGHT, UNIFORM, Pauses(0.0, 0.0)),
    "waypoint with pauses": lambda: RandomWaypoint(WIDTH, HEIGHT, NORMAL, Pauses(5.0, 30.0)),
    "waypoint at one speed": lambda: RandomWaypoint(WIDTH, HEIGHT, KEPT, Pauses(5.0, 30.0)),
    "direction": lambda: RandomDirection(WIDTH, HEIGHT, UNIFORM, Pauses(0.0, 0.0)),
    "direction with pauses": lambda: RandomDirection(WIDTH, HEIGHT, UNIFORM, Pauses(0.0, 20.0)),
    "direction at one speed": lambda: RandomDirection(WIDTH, HEIGHT, KEPT, Pauses(0.0, 20.0)),
    "gauss-markov": lambda: GaussMarkov(WIDTH, HEIGHT, 0.0, 20.0, 0.75, 1.5),
    "gauss-markov without memory": lambda: GaussMarkov(WIDTH, HEIGHT, 3.0, 20.0, 0.0, 4.0),
    "manhattan": lambda: Manhattan(WIDTH, HEIGHT, 90.0, 0.5, UNIFORM, Pauses(0.0, 0.0)),
    "manhattan with pauses": lambda: Manhattan(WIDTH, HEIGHT, 100.0, 0.2, UNIFORM, Pauses(0.0, 10.0)),
    "manhattan at one speed": lambda: Manhattan(WIDTH, HEIGHT, 100.0, 0.2, KEPT, Pauses(0.0, 10.0)),
    "city": lambda: CitySection(CAMPUS, 1, 0.3, 20.0, 60.0),
    "city without halts": lambda: CitySection(CAMPUS, 1, 0.0, 0.0, 0.0),
    "waypoints": lambda: Waypoints(tracks()),
}
STATIONARY = [name for name in MODELS if name not in ("static", "waypoints")]


@pytest.mark.parametrize("spread", [0.0, 40.0])
@pytest.mark.parametrize("name", MODELS)
def test_contacts_agree_with_brute_force(name: str, spread: float) -> None:
    random = Random(2)
    reaches = [60.0 + spread * random.random() for _ in range(24)]
    seen = check_run(MODELS[name](), reaches, 60.0, 40)
    assert seen.changes or name == "static"


@pytest.mark.parametrize("name", MODELS)
def test_legs_are_continuous_and_stay_in_the_area(name: str) -> None:
    model = MODELS[name]()
    for walker in crowd(model, 8):
        while walker.leg.end_s < 400.0:
            walker.turn()
            assert -1e-6 <= walker.leg.x <= WIDTH + 1e-6 and -1e-6 <= walker.leg.y <= HEIGHT + 1e-6


@pytest.mark.parametrize("name", MODELS)
def test_a_node_does_not_depend_on_the_others(name: str) -> None:
    together = crowd(MODELS[name](), 5)
    for t in (10.0, 200.0):
        for walker in together:
            walker.to(t)
    alone = Walker(MODELS[name](), 3)
    assert alone.at(200.0) == together[3].at(200.0)


@pytest.mark.parametrize("name", STATIONARY)
def test_the_start_is_stationary(name: str) -> None:
    """Position, speed and the share of standing nodes have the same distribution at 0 s and long after."""
    walkers = crowd(MODELS[name](), 1500)
    start = [(*w.at(0.0), speed(w.leg), w.leg.end_s) for w in walkers]
    later = [(*w.at(250.0), speed(w.leg), w.leg.end_s - 250.0) for w in walkers]
    for k, what in enumerate(("x", "y", "speed", "rest of the leg")):
        # Speeds that differ only by rounding (speed limits, standing) must count as equal.
        p = stats.ks_2samp([round(s[k], 6) for s in start], [round(s[k], 6) for s in later]).pvalue
        assert p > 1e-3, (what, p)


@pytest.mark.parametrize("name", [name for name in MODELS if "one speed" in name])
def test_a_node_keeps_its_speed_and_speeds_have_the_law_they_were_drawn_from(name: str) -> None:
    """Without the weight 1/v that speeds at a random instant have if nodes draw one for each leg."""
    walkers = crowd(MODELS[name](), 1000)
    kept = [{round(speed(leg), 6) for leg in w.legs(7)} - {0.0} for w in walkers]
    assert all(len(speeds) == 1 for speeds in kept)
    assert stats.kstest([v for speeds in kept for v in speeds], stats.uniform(2.0, 18.0).cdf).pvalue > 1e-3


GOLDEN = {
    "static": "bcf8d8ae26c8",
    "waypoint": "460ea4cc7175",
    "waypoint with pauses": "e7235faf6393",
    "waypoint at one speed": "6bebd25cc1ec",
    "direction": "701f50e9d138",
    "direction with pauses": "3f8fe23e0855",
    "direction at one speed": "b4268d9b61c5",
    "gauss-markov": "7ec9b7a90931",
    "gauss-markov without memory": "8d3b2624c1ef",
    "manhattan": "a9212c4c5060",
    "manhattan with pauses": "c98fc0cc562c",
    "manhattan at one speed": "87ed38d02259",
    "city": "169251851537",
    "city without halts": "a7ac89ff693e",
    "waypoints": "27cf7dfb0102",
}


@pytest.mark.parametrize("name", MODELS)
def test_the_changes_of_a_run_are_the_same_compiled_and_pure_and_on_every_machine(name: str) -> None:
    k = KineticContacts(MODELS[name](), 24, 5, [70.0] * 24)
    k.observer = seen = Recorder()
    k.advance(60.0)
    text = repr(seen.changes) + repr([k.position(i, 60.0) for i in range(24)])
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == GOLDEN[name]


# ---- from a scenario


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("static", Static),
        ("waypoint", RandomWaypoint),
        ("direction", RandomDirection),
        ("gauss-markov", GaussMarkov),
        ("manhattan", Manhattan),
        ("city", CitySection),
    ],
)
def test_a_scenario_names_its_model(name: str, kind: type) -> None:
    model = build(Scenario(mobility=name, speed_min_mps=1.0, speed_max_mps=3.0), 1)  # type: ignore[arg-type]
    assert type(model) is kind


def test_a_model_gets_the_values_of_its_scenario() -> None:
    model = build(
        Scenario(
            mobility="waypoint", width_m=70.0, height_m=50.0, speed_law="normal", pause_min_s=2.0, pause_max_s=9.0
        ),
        1,
    )
    assert isinstance(model, RandomWaypoint)
    assert (model.width_m, model.height_m, model.speeds.normal) == (70.0, 50.0, True)
    assert (model.pauses.low, model.pauses.high) == (2.0, 9.0)


@pytest.mark.parametrize("name", ["waypoint", "direction", "manhattan"])
def test_a_scenario_decides_whether_nodes_keep_their_speeds(name: str) -> None:
    def speeds(per: str) -> set[float]:
        model = build(with_values({"mobility": name, "speed_per": per}, {}), 1)
        return {round(speed(leg), 6) for leg in Walker(model).legs(20)}

    assert len(speeds("leg")) == 20 and len(speeds("node")) == 1


def test_at_speed_zero_no_node_moves() -> None:
    for name in ("waypoint", "direction", "gauss-markov", "manhattan"):
        model = build(Scenario(mobility=name, speed_min_mps=0.0, speed_max_mps=0.0), 1)  # type: ignore[arg-type]
        assert isinstance(model, Static)


def test_a_lowest_speed_of_zero_is_refused() -> None:
    with pytest.raises(InputError, match="speed_min_mps must be above 0"):
        build(Scenario(mobility="manhattan", speed_min_mps=0.0, speed_max_mps=3.0), 1)


def test_the_campus_stays_the_same_and_the_lights_change_with_the_seed() -> None:
    one, two = (build(Scenario(mobility="city"), seed) for seed in (1, 2))
    assert isinstance(one, CitySection) and isinstance(two, CitySection)
    assert one.graph.points == two.graph.points and one.light != two.light


def test_contacts_without_positions_are_no_mobility(tmp_path: object) -> None:
    with pytest.raises(InputError, match="contacts"):
        build(Scenario(mobility="contacts", trace="x"), 1)
