"""Who is best at what: fronts against a brute-force twin, and the league's files."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.lab import campaign as campaigns
from roamcast.lab import plan
from roamcast.papers import experiments, presets
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.show.league import entrants, fronts, is_league, pareto
from tests.show.made_up import row

FEW = st.integers(0, 6).map(float)  # few values, so that many points are equal in one or both


def brute(points: list[tuple[float, float]]) -> set[int]:
    """By the definition: nobody is at least as good in both and better in one."""

    def beats(a: tuple[float, float], b: tuple[float, float]) -> bool:
        return a[0] <= b[0] and a[1] >= b[1] and a != b

    return {k for k, point in enumerate(points) if not any(beats(other, point) for other in points)}


@given(st.lists(st.tuples(FEW, FEW), max_size=12))
@settings(max_examples=200, deadline=None)
def test_fronts_are_those_of_the_definition(points: list[tuple[float, float]]) -> None:
    best = pareto(points)
    assert set(best) == brute(points)
    assert len(best) == len(set(best))
    assert [points[k][0] for k in best] == sorted(points[k][0] for k in best)


def test_each_cost_has_its_front() -> None:
    rows = [
        row("cheap", 0, 1, delivery=0.3, overhead=1.0, latency_p50_s=2.0, energy_j=5.0),
        row("good", 1, 1, delivery=0.9, overhead=4.0, latency_p50_s=1.0, energy_j=5.0),
        row("bad", 2, 1, delivery=0.2, overhead=9.0, latency_p50_s=3.0, energy_j=6.0),
    ]
    by_cost = {front.short: front for front in fronts(entrants(rows))}
    names = {short: [front.entrants[k].name for k in front.best] for short, front in by_cost.items()}
    assert names == {"overhead": ["cheap", "good"], "latency": ["good"], "energy": ["good"]}
    assert by_cost["latency"].corners() == [(1000.0, 0.9)]  # in milliseconds


def test_who_delivers_nothing_is_on_no_front() -> None:
    rows = [
        row("silent", 0, 1, delivery=0.0, overhead=None, latency_p50_s=None, energy_j=1.0),
        row("a", 1, 1, delivery=0.5, overhead=2.0, latency_p50_s=1.0, energy_j=5.0),
    ]
    for front in fronts(entrants(rows)):
        assert [front.entrants[k].name for k in front.best] == ["a"]


def test_a_cell_is_an_entrant_and_settings_tell_namesakes_apart() -> None:
    rows = [row("a", k, seed, delivery=0.5, params={"p": str(k)}) for k in (0, 1) for seed in (1, 2)]
    listed = entrants([*rows, row("b", 2, 1, delivery=0.1, params={"q": "3"})])
    assert [(e.name, e.settings, e.runs) for e in listed] == [("a", "p = 0", 2), ("a", "p = 1", 2), ("b", "", 1)]


def test_parameters_are_those_that_were_in_effect() -> None:
    params = {"x.0.1": '{"p": 0.5, "ttl": 0, "own": false, "sizes": "wire"}'}
    listed = entrants([row("a", 0, 1, "x", delivery=0.5, params={"p": "0.5"}), row("b", 1, 1, "x")], params)
    assert [e.params for e in listed] == ["p = 0.5, ttl = 0, own = false, sizes = wire", ""]


# ---- the files


LEAGUE = experiments.names([experiments.LEAGUE])


def test_the_league_is_played_in_every_preset_and_on_common_ground() -> None:
    assert sorted(LEAGUE) == sorted(f"league/{name}" for name in [*presets.of_papers(), "common"])
    assert all(is_league(name) for name in LEAGUE)
    assert set(LEAGUE) < set(experiments.names())


@pytest.mark.parametrize("name", LEAGUE)
def test_everybody_takes_part_unless_it_is_too_dear(name: str) -> None:
    experiment = experiments.load(name)
    for scale, changes in (("quick", experiment.quick), ("full", experiment.full)):
        campaign = campaigns.understood(experiment.content(scale))
        away = changes.get("without", [])
        assert [cell.protocol for cell in campaign.cells] == [p for p in registry.BUILT_IN if p not in away]
        assert set(away) < set(registry.BUILT_IN)
        assert len(campaign.seeds) > 2  # two runs have an interval that says nothing


SIZES = "sizes"  # what frames weigh is no part of a protocol, and the same for all


@pytest.mark.parametrize("home", presets.of_papers())
def test_a_protocol_has_the_parameters_of_its_own_paper_in_every_world(home: str) -> None:
    preset = presets.load(home)
    own = {**preset.params.get(preset.protocol, {}), SIZES: "wire"}
    recommended = {name: value for name, value in own.items() if name in described(preset.protocol)}
    for name in LEAGUE:
        (cell,) = [cell for cell in cells(name, "full") if cell.protocol == preset.protocol]
        assert {parameter: cell.params[parameter] for parameter in recommended} == recommended


def described(protocol: str) -> set[str]:
    return {p.name for p in parameters.describe(registry.get(protocol))}


def cells(name: str, scale: str) -> list[campaigns.Cell]:
    return campaigns.understood(experiments.load(name).content(scale)).cells


def test_the_page_names_what_a_world_changes_in_a_protocol() -> None:
    for name in LEAGUE:
        experiment = experiments.load(name)
        assert bool(experiment.entrants) <= bool(experiment.cut)
        changed = {cell.protocol: cell.params for cell in cells(name, "full")}
        for protocol, values in experiment.entrants.items():
            assert {parameter: changed[protocol][parameter] for parameter in values} == values


def test_the_page_names_protocols_that_do_not_take_part_at_full_scale() -> None:
    for name in LEAGUE:
        experiment = experiments.load(name)
        assert all(protocol in experiment.cut for protocol in experiment.full.get("without", []))


def test_everybody_says_where_its_parameters_are_recommended() -> None:
    assert all(entrant.source for entrant in experiments.entrants())


def test_full_worlds_of_the_papers_are_as_long_as_theirs() -> None:
    for name in presets.of_papers():
        whole = presets.load(name).scenario()
        for cell in cells(f"league/{name}", "full"):
            assert (cell.scenario.duration_s, cell.scenario.events) == (whole.duration_s, whole.events)


@pytest.mark.parametrize(("scale", "most_s"), [("quick", 90), ("full", 720)])
def test_the_league_is_a_matter_of_minutes(scale: str, most_s: float) -> None:
    league = [campaigns.understood(experiments.load(name).content(scale)) for name in LEAGUE]
    assert sum(run.cost_s for one in league for run in plan.runs(one)) < most_s
