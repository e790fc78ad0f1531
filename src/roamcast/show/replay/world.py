"""What a log says about its world, for the page: the area, how far nodes are heard, streets, and a wall.

The log of a simulation has its scenario, and the scenario makes the same ranges and streets again. A log without one
has only what its rows show: an area as large as the movements, and ranges as long as the longest way of a frame.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

import msgspec

from roamcast.errors import RoamcastError
from roamcast.world.assembly import radio_of, spec_of
from roamcast.world.mobility import build as build_mobility
from roamcast.world.mobility.city import CitySection
from roamcast.world.scenario import Scenario

Line = list[float]
"""x, y, x, y, … in metres."""


class Wall(NamedTuple):
    """No frame crosses it in this time."""

    x_m: float
    from_us: int
    until_us: int


class World(NamedTuple):
    scenario: Scenario | None
    area: tuple[float, float] | None
    ranges: list[float]
    """By the number of a node, without shadowing; empty if they are not known."""
    streets: list[Line]
    wall: Wall | None
    roles: list[str]
    """Of LoRa meshes, by the number of a node; empty if all are alike."""
    remarks: list[str]


NOTHING = World(None, None, [], [], None, [], [])


def world_of(description: dict[str, Any]) -> World:
    """From what the log says was run; empty for real nodes."""
    if not description:
        return NOTHING
    try:
        scenario = msgspec.convert(description["scenario"], Scenario)
    except (msgspec.ValidationError, RoamcastError, KeyError) as error:
        return NOTHING._replace(remarks=[f"The log's scenario cannot be read by this version: {error}."])
    remarks: list[str] = []
    seed = int(description["seed"])
    wall = None
    if scenario.partition_until_s:
        times = round(scenario.partition_from_s * 1e6), round(scenario.partition_until_s * 1e6)
        wall = Wall(scenario.width_m / 2, *times)
    ranges, streets = _ranges(scenario, seed, remarks), _streets(scenario, seed, remarks)
    roles = _roles(scenario, seed, description.get("params", {}))
    return World(scenario, (scenario.width_m, scenario.height_m), ranges, streets, wall, roles, remarks)


def _ranges(scenario: Scenario, seed: int, remarks: list[str]) -> list[float]:
    if scenario.radio == "table" or scenario.mobility == "contacts":
        return []  # links come from a file
    try:
        radio = radio_of(scenario, seed)
        longest = [radio.longest(node) for node in range(scenario.nodes)]
        ranges = longest if scenario.shadowing_db else [radio.farthest(range_m) for range_m in longest]
    except (RoamcastError, ImportError) as error:  # a radio from outside that is not here
        remarks.append(f"Ranges are not known here: {error}.")
        return []
    return ranges if all(map(isfinite, ranges)) else []


def _roles(scenario: Scenario, seed: int, params: dict[str, Any]) -> list[str]:
    if scenario.radio != "lora" or params.get("role", "node") != "node":  # one role for all nodes
        return []
    try:
        return list(spec_of(scenario, seed).radio.lora.roles)
    except RoamcastError:  # its list of nodes is on another machine, which the ranges have said
        return []


def _streets(scenario: Scenario, seed: int, remarks: list[str]) -> list[Line]:
    if scenario.mobility == "manhattan":
        return _lattice(scenario)
    if scenario.mobility != "city":
        return []
    try:
        model = build_mobility(scenario, seed)
    except RoamcastError as error:  # its map is on another machine
        remarks.append(f"Streets are not shown: {error}.")
        return []
    assert isinstance(model, CitySection)
    lines: dict[frozenset[int], Line] = {}
    for street in model.graph.streets:
        ends = [model.graph.points[street.u], *street.shape[1:-1], model.graph.points[street.v]]
        line = [round(value, 1) for point in ends for value in point]
        lines.setdefault(frozenset((street.u, street.v)) | {len(line)}, line)  # once, if it goes both ways
    return list(lines.values())


def _lattice(scenario: Scenario) -> list[Line]:
    columns, rows = int(scenario.width_m / scenario.block_m), int(scenario.height_m / scenario.block_m)
    across, along = columns * scenario.block_m, rows * scenario.block_m
    upright = [[k * scenario.block_m, 0.0, k * scenario.block_m, along] for k in range(columns + 1)]
    return upright + [[0.0, k * scenario.block_m, across, k * scenario.block_m] for k in range(rows + 1)]
