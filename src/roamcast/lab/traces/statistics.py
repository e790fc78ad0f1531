"""Statistics of contacts: how long they last, how long pairs are apart, how many a node has, how far a flood reaches.

All are functions of CONTACTS. Percentiles are exact. Sums are of whole numbers and results are rounded once, because
rows may come in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from roamcast.lab.traces.columns import Array
from roamcast.lab.traces.schemas import CONTACTS, COUNTED, DOUBLE, LONG, schema
from roamcast.lab.traces.table import Columns, Table, counted, counts, group_ends, group_starts, rule
from roamcast.world.contacts.neighbourhood import Neighbourhood
from roamcast.world.journeys import DOWN_LAST, UP_FIRST, Journeys

PERCENTILES: Final = (5, 25, 50, 75, 95, 99)
NODES: Final = schema(node=LONG, peers=LONG, contacts=LONG, degree=DOUBLE)
"""How many other nodes a node ever met, how often, and with how many it is in contact on average over time."""
REACHED: Final = schema(source=LONG, within_us=LONG, reached=LONG)
"""How many other nodes an ideal flood from the source reaches in time."""
ENDS: Final = schema(node=LONG, peer=LONG, from_us=LONG, until_us=LONG)
"""Each contact twice, once for either node."""


# ---- how long


def durations(contacts: Table) -> Table:
    """How long contacts last, in microseconds: COUNTED."""
    return contacts.mapped(lasting)


@rule(COUNTED)
def lasting(rows: Columns) -> Iterator[list[Array]]:
    yield counted(rows["until_us"] - rows["from_us"])


def apart(contacts: Table) -> Table:
    """How long pairs are apart between two contacts, in microseconds: COUNTED."""
    return contacts.grouped(between, ["i", "j"], ["from_us"])


@rule(COUNTED)
def between(rows: Columns) -> Iterator[list[Array]]:
    same_pair = (np.diff(rows["i"]) == 0) & (np.diff(rows["j"]) == 0)
    yield counted((rows["from_us"][1:] - rows["until_us"][:-1])[same_pair])


def spread(times: Table) -> dict[str, Any]:
    """How many there are; mean, extremes and percentiles in seconds, None if there are none."""
    all_times = times.reduced(counts)
    values, count = all_times["value"], all_times["count"]
    total = int(count.sum())
    names = ["mean_s", "min_s", *(f"p{p}_s" for p in PERCENTILES), "max_s"]
    if not total:
        return {"count": 0, **dict.fromkeys(names)}
    mean_s = sum(value * n for value, n in zip(values.tolist(), count.tolist(), strict=True)) / (total * 1_000_000)
    percentiles = (percentile_s(values, np.cumsum(count), p) for p in PERCENTILES)
    numbers = [mean_s, int(values[0]) / 1e6, *percentiles, int(values[-1]) / 1e6]
    return {"count": total, **dict(zip(names, numbers, strict=True))}


def percentile_s(values: Array, up_to: Array, p: int) -> float:
    """Between the two values that are nearest to that rank, by a straight line. `up_to` is how many there are, up to
    each of the values."""
    rank, hundredths = divmod((int(up_to[-1]) - 1) * p, 100)
    low, high = (int(values[np.searchsorted(up_to, k, side="right")]) for k in (rank, rank + (hundredths > 0)))
    return (100 * low + hundredths * (high - low)) / 100_000_000


def tally(times: Table) -> list[tuple[float, int]]:
    """(s, how many) for each value that occurs, by length."""
    all_times = times.reduced(counts)
    pairs = zip(all_times["value"].tolist(), all_times["count"].tolist(), strict=True)
    return [(value / 1e6, count) for value, count in pairs]


def survival(times: Table) -> list[tuple[float, float]]:
    """(s, share): for each value that occurs, the share of values that are larger."""
    counted_times = tally(times)
    total = left = sum(count for _, count in counted_times)
    shares: list[tuple[float, float]] = []
    for value_s, count in counted_times:
        left -= count
        shares.append((value_s, left / total))
    return shares


# ---- how many


@rule(ENDS)
def both_ends(rows: Columns) -> Iterator[list[Array]]:
    i, j, from_us, until_us = (rows[name] for name in CONTACTS.names)
    yield [i, j, from_us, until_us]
    yield [j, i, from_us, until_us]


def by_node(contacts: Table, begin_us: int, end_us: int) -> Table:
    """NODES; a node without contacts is not in it."""
    ends = contacts.mapped(both_ends)
    return ends.grouped(about_nodes, ["node"], ["peer"], whole_us=max(1, end_us - begin_us))


@rule(NODES)
def about_nodes(rows: Columns, whole_us: int) -> Iterator[list[Array]]:
    node, peer = rows["node"], rows["peer"]
    starts = group_starts(node)
    if not len(starts):
        return
    new_peer = np.zeros(len(node), np.int64)
    new_peer[group_starts(node, peer)] = 1
    lasted_us = np.add.reduceat(rows["until_us"] - rows["from_us"], starts)
    contacts = group_ends(starts, len(node)) - starts
    yield [node[starts], np.add.reduceat(new_peer, starts), contacts, lasted_us / whole_us]


def degrees(contacts: Table, nodes: int, begin_us: int, end_us: int) -> list[tuple[int, float]]:
    """(degree, share) of all nodes' time with this number of contacts at once, by degree."""
    levels = contacts.mapped(both_ends).grouped(levels_of_nodes, ["node"]).reduced(counts)
    whole_us = max(1, nodes * (end_us - begin_us))
    lasts_us = dict(zip(levels["value"].tolist(), levels["count"].tolist(), strict=True))
    alone_us = {0: whole_us - sum(lasts_us.values())}
    return [(degree, us / whole_us) for degree, us in {**alone_us, **lasts_us}.items()]


@rule(COUNTED)
def levels_of_nodes(rows: Columns) -> Iterator[list[Array]]:
    """ENDS of whole nodes: how many microseconds there are with each number of contacts, except none."""
    node = np.concatenate([rows["node"], rows["node"]])
    t_us = np.concatenate([rows["from_us"], rows["until_us"]])
    change = np.repeat([1, -1], len(rows["node"]))
    order = np.lexsort((t_us, node))
    node, t_us, level = node[order], t_us[order], np.cumsum(change[order])  # a node's changes add up to 0
    lasts_us = np.where(np.diff(node) == 0, np.diff(t_us), 0)
    some = (level[:-1] > 0) & (lasts_us > 0)
    yield counted(level[:-1][some], lasts_us[some])


def over_time(contacts: Table, nodes: int, begin_us: int, end_us: int, bins: int) -> list[tuple[int, int, float]]:
    """(from us, until us, mean degree of all nodes) in equal bins."""
    width = max(1, -(-(end_us - begin_us) // bins))
    sums = contacts.mapped(in_bins, begin_us=begin_us, width_us=width, bins=bins).reduced(counts)
    together_us = dict(zip(sums["value"].tolist(), sums["count"].tolist(), strict=True))
    ends = [(begin_us + k * width, min(begin_us + (k + 1) * width, end_us)) for k in range(bins)]
    return [
        (from_us, until_us, 2 * together_us.get(k, 0) / (nodes * (until_us - from_us)))
        for k, (from_us, until_us) in enumerate(ends)
        if from_us < until_us
    ]


@rule(COUNTED)
def in_bins(rows: Columns, begin_us: int, width_us: int, bins: int) -> Iterator[list[Array]]:
    """For each bin: how long contacts last within it, in all."""
    from_us, until_us = rows["from_us"] - begin_us, rows["until_us"] - begin_us
    first, last = from_us // width_us, np.minimum(until_us // width_us, bins - 1)
    for k in range(bins):
        within = (first <= k) & (k <= last)
        if within.any():
            lasts_us = np.minimum(until_us[within], (k + 1) * width_us) - np.maximum(from_us[within], k * width_us)
            yield [np.array([k]), np.array([lasts_us.sum()])]


# ---- how far a flood reaches


def reached(contacts: Table, nodes: Sequence[int], t0_us: int, within_us: Sequence[int]) -> Table:
    """REACHED, from every node: contacts are usable on their closed intervals, and transfer takes no time."""
    live = contacts.mapped(usable, from_us=t0_us, until_us=t0_us + max(within_us, default=0))
    return live.for_each(nodes, floods, nodes=list(nodes), t0_us=t0_us, horizons=sorted(within_us))


@rule(CONTACTS)
def usable(rows: Columns, from_us: int, until_us: int) -> Iterator[list[Array]]:
    live = (rows["until_us"] >= from_us) & (rows["from_us"] <= until_us)
    yield [column[live] for column in rows.values()]


@rule(REACHED)
def floods(rows: Columns, items: list[int], nodes: list[int], t0_us: int, horizons: list[int]) -> Iterator[list[Array]]:
    met = list(zip(*(rows[name].tolist() for name in CONTACTS.names), strict=True))
    reach = np.array(list(flood_from(items, nodes, met, t0_us, horizons)), np.int64).reshape(-1, len(REACHED))
    yield list(reach.T)


def flood_from(
    sources: list[int], nodes: list[int], contacts: list[tuple[int, int, int, int]], t0_us: int, horizons: list[int]
) -> Iterator[tuple[int, int, int]]:
    """Rows of REACHED for these sources; `horizons` in ascending order."""
    number = {node: k for k, node in enumerate(nodes)}
    changes: list[tuple[int, int, int, int]] = []
    for i, j, from_us, until_us in contacts:
        if until_us >= t0_us:
            changes.append((max(from_us, t0_us), UP_FIRST, number[i], number[j]))
            changes.append((until_us, DOWN_LAST, number[i], number[j]))
    changes.sort()
    links = Neighbourhood(len(nodes))
    journeys = Journeys(links)
    for event, source in enumerate(sources):
        journeys.publish(t0_us, number[source], event, 1 << 62)
    done = 0
    for t_us, change, i, j in changes:
        while done < len(horizons) and t_us > t0_us + horizons[done]:
            yield from _reached(journeys, sources, len(nodes), horizons[done])
            done += 1
        if done == len(horizons):
            return
        links.set_link(t_us / 1e6, i, j, change == UP_FIRST)
        links.set_link(t_us / 1e6, j, i, change == UP_FIRST)
    for within_us in horizons[done:]:
        yield from _reached(journeys, sources, len(nodes), within_us)


def _reached(journeys: Journeys, sources: list[int], nodes: int, within_us: int) -> Iterator[tuple[int, int, int]]:
    reached = [journeys.reached(node) for node in range(nodes)]
    for event, source in enumerate(sources):
        yield source, within_us, sum(events >> event & 1 for events in reached) - 1
