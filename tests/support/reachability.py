"""Reachability of a list of contacts, in plain Python: what the laboratory computes with Spark is compared with it."""

from __future__ import annotations

from roamcast.world.contacts.neighbourhood import Neighbourhood
from roamcast.world.journeys import DOWN_LAST, UP_FIRST, US_PER_S, Journeys

Contact = tuple[int, int, float, float]
"""Two nodes, and the first and the last second at which they hear each other."""


def reachability(contacts: list[Contact], t0: float, horizon: float) -> float:
    """Share of ordered pairs of nodes that an ideal flood connects: started by the first of them at `t0`, it arrives at
    the other within `horizon` seconds. Nodes are those that have a contact at any time; contacts go both ways."""
    number: dict[int, int] = {}
    for i, j, _, _ in contacts:
        number.setdefault(i, len(number))
        number.setdefault(j, len(number))
    nodes = len(number)
    if nodes < 2:
        return 0.0
    t0_us, until_us = round(t0 * US_PER_S), round((t0 + horizon) * US_PER_S)
    t0_s, until_s = t0_us / US_PER_S, until_us / US_PER_S
    changes: list[tuple[float, int, int, int]] = []
    for i, j, start, end in _merged(contacts):
        if end >= t0_s and start <= until_s:
            changes.append((max(start, t0_s), UP_FIRST, number[i], number[j]))
            changes.append((end, DOWN_LAST, number[i], number[j]))
    changes.sort()
    links = Neighbourhood(nodes)
    flood = Journeys(links)
    for node in range(nodes):
        flood.publish(t0_us, node, node, until_us)
    for t, change, i, j in changes:
        links.set_link(t, i, j, change == UP_FIRST)
        links.set_link(t, j, i, change == UP_FIRST)
    pairs = sum(flood.reached(node).bit_count() - 1 for node in range(nodes))
    return pairs / (nodes * (nodes - 1))


def _merged(contacts: list[Contact]) -> list[Contact]:
    """The same contacts, each pair's without overlaps."""
    merged: list[Contact] = []
    for i, j, start, end in sorted((min(i, j), max(i, j), start, end) for i, j, start, end in contacts):
        if merged and merged[-1][:2] == (i, j) and start <= merged[-1][3]:
            merged[-1] = (i, j, merged[-1][2], max(end, merged[-1][3]))
        else:
            merged.append((i, j, start, end))
    return merged
