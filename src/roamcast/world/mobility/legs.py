"""The two things a node does: it walks towards a point, or it rests."""

from __future__ import annotations

from math import sqrt

from roamcast.world.mobility.base import Leg


def distance(x: float, y: float, to_x: float, to_y: float) -> float:
    dx = to_x - x
    dy = to_y - y
    return sqrt(dx * dx + dy * dy)


def walk(start_s: float, x: float, y: float, to_x: float, to_y: float, speed_mps: float) -> Leg:
    """Straight to a point. If it is so near that the leg would take no time, `end_s` is `start_s`: look for another."""
    end_s = start_s + distance(x, y, to_x, to_y) / speed_mps
    if not end_s > start_s:
        return rest(start_s, x, y, start_s)
    took_s = end_s - start_s  # as rounded, so that the leg ends where it should
    return Leg(start_s, x, y, (to_x - x) / took_s, (to_y - y) / took_s, end_s)


def rest(start_s: float, x: float, y: float, end_s: float) -> Leg:
    """Stay at a point; until `inf` for ever."""
    return Leg(start_s, x, y, 0.0, 0.0, end_s)


def rests(leg: Leg) -> bool:
    return leg.vx == 0.0 and leg.vy == 0.0


def end_x(leg: Leg) -> float:
    """Where a leg ends."""
    return leg.x + leg.vx * (leg.end_s - leg.start_s)


def end_y(leg: Leg) -> float:
    """Where a leg ends."""
    return leg.y + leg.vy * (leg.end_s - leg.start_s)
