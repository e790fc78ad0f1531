"""How nodes move: each model has a file. All are piecewise linear (see `base`), and stationary from the start if
possible.

A new one is a file, a line in `build` and in parts.py; a model from outside needs neither.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from roamcast.errors import InputError
from roamcast.world import node_list, parts
from roamcast.world.density import places
from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.mobility.city import CitySection
from roamcast.world.mobility.direction import RandomDirection
from roamcast.world.mobility.gauss_markov import GaussMarkov
from roamcast.world.mobility.manhattan import Manhattan
from roamcast.world.mobility.static import InCells, Placed, SomeMove, Static
from roamcast.world.mobility.stationary import Pauses, Speeds
from roamcast.world.mobility.waypoint import RandomWaypoint
from roamcast.world.mobility.waypoints import Waypoints, read_trace
from roamcast.world.scenario import Scenario
from roamcast.world.streets import StreetGraph, campus, read
from roamcast.world.traces import load

__all__ = ["Leg", "Mobility", "absences", "build"]

CAMPUS: Final = 1  # the map stays the same when the seed of a run changes


def build(scenario: Scenario, seed: int) -> Mobility:
    """The model that a scenario names. The seed decides what nodes share: which crossings have lights."""
    s = scenario
    if s.positions:
        return _listed(s, seed)
    return _model(s, seed)


def _listed(s: Scenario, seed: int) -> Mobility:
    """Nodes of a list stand at their places, except those that move."""
    nodes = node_list.read(s.positions)
    places = [(node.x, node.y) for node in nodes]
    moving = [node.moves for node in nodes]
    return SomeMove(places, moving, _model(s, seed)) if any(moving) else Placed(places)


def _model(s: Scenario, seed: int) -> Mobility:
    if parts.MOBILITY.outside(s.mobility):
        model: Mobility = parts.MOBILITY.make(s, seed)
        return model
    if s.mobility == "trace":
        return Waypoints(read_trace(s.trace, s.nodes))
    if s.mobility == "city":
        return CitySection(_streets(s), seed, s.stop_share, s.stop_max_s, s.parking_max_s)
    if s.mobility == "contacts":
        raise InputError("mobility=contacts has links and no positions; read it with world.links")
    if s.mobility == "static" or s.speed_max_mps == 0.0:
        if s.placement != "uniform":
            return InCells(places(s.nodes, s.width_m, s.height_m, s.placement, s.placement_jitter))
        return Static(s.width_m, s.height_m)
    if s.mobility == "gauss-markov":
        return GaussMarkov(s.width_m, s.height_m, s.speed_min_mps, s.speed_max_mps, s.memory, s.step_s)
    if s.speed_min_mps <= 0.0:
        raise InputError(f"speed_min_mps must be above 0 for mobility={s.mobility}: a node that draws 0 never arrives")
    speeds = Speeds(s.speed_min_mps, s.speed_max_mps, s.speed_law, s.speed_per == "node")
    pauses = Pauses(s.pause_min_s, s.pause_max_s)
    if s.mobility == "manhattan":
        return Manhattan(s.width_m, s.height_m, s.block_m, s.turn, speeds, pauses)
    if s.mobility == "direction":
        return RandomDirection(s.width_m, s.height_m, speeds, pauses)
    return RandomWaypoint(s.width_m, s.height_m, speeds, pauses, s.start == "moving")


def _streets(s: Scenario) -> StreetGraph:
    if not s.street_map:
        return _campus(s.width_m, s.height_m, s.roads == "main")
    graph = read(s.street_map)
    return graph.main_roads() if s.roads == "main" else graph


@lru_cache(maxsize=16)
def _campus(width_m: float, height_m: float, main_roads: bool) -> StreetGraph:
    """The same for all runs; to make it takes longer than half of a short run. Nobody changes it."""
    graph = campus(CAMPUS, width_m, height_m)
    return graph.main_roads() if main_roads else graph


def absences(scenario: Scenario) -> dict[int, list[tuple[int, int]]]:
    """When nodes of a trace are absent, in us; an end of -1 is never. Nodes that are always present are left out."""
    if scenario.mobility != "trace" or scenario.radio == "table":
        return {}
    absences = load.movement(scenario.trace).absences[: scenario.nodes]
    return {node: intervals for node, intervals in enumerate(absences) if intervals}
