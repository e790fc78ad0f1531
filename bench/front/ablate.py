"""Roam without each of its ingredients, and how much that costs or saves."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp

from bench.front.pareto import Point, differences
from bench.front.unseen import BEFORE_FIXED_EDGES, UNSEEN, UNTOUCHED
from bench.front.world import Values, World
from bench.front.worlds import MESHES, SEEN, roam

from roamcast.judging.student import ALPHA, interval

SEEDS = 10
FOR_ONE_RULE = [world for world in [*UNTOUCHED, *BEFORE_FIXED_EDGES] if world.name in ("an alarm", "a convoy")]
# without rezende, where a run takes seconds
WORLDS = [world for world in [*SEEN, *UNSEEN, *FOR_ONE_RULE, *MESHES] if world.name != "rezende"]
WITHOUT: dict[str, Values] = {
    "counting copies (rule 1)": {"copies": 100},
    "repair (rules 3 to 6)": {"interval_s": 1e6, "fresh_s": 0.0},
    "Trickle: a fixed interval, nobody stays silent (rule 3)": {"doublings": 0, "enough": 100},
    "flooding late events on (M4)": {"fresh_s": 0.0},
    "pauses that double (M5)": {"pauses": False},
    "single events without lists (M11)": {"singles": False},
    "times that follow the medium (M1)": {"delay": 0.0, "interval": 1.0, "answer": 0.0},
    "counting neighbours (M13)": {"crowd": 0},
    "signals (M14)": {"signal": 0.0},
    "sending again what nobody relays (M16)": {"retries": 0},
    "leaving a busy medium to the flood (M12)": {"busy": 1.0},
    "taking turns (M17)": {"turns": False},
    "haste where events are worth seconds (M18)": {"urgent": False},
}


def entrants() -> list[Values]:
    return [roam("roam"), *(roam(f"without {what}", **values) for what, values in WITHOUT.items())]


def lines(measured: Mapping[str, Mapping[str, Point]]) -> list[str]:
    """What is delivered more or less without an ingredient, and the air that this takes, as a multiple."""
    worlds = list(measured)
    rows = [f"| without | {' | '.join(worlds)} |", f"| --- |{' --- |' * len(worlds)}"]
    for what in WITHOUT:
        cells = [_cell(measured[world]["roam"], measured[world][f"without {what}"]) for world in worlds]
        rows.append(f"| {what} | {' | '.join(cells)} |")
    return rows


def _cell(whole: Point, less: Point) -> str:
    """Differences that may be chance are left out."""
    delivered, air = (interval(values, ALPHA) for values in differences(less, whole))
    if delivered is None or air is None:
        return "—"
    more = f"{delivered[0]:+.3f}" if delivered[1] > 0 or delivered[2] < 0 else "="
    times = f"× {exp(air[0]):.2f}" if air[1] > 0 or air[2] < 0 else "="
    return "=" if more == times == "=" else f"{more}, {times}"


def worlds() -> list[World]:
    return WORLDS
