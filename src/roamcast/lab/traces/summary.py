"""The summary of a trace: plain numbers, for people and for JSON."""

from __future__ import annotations

from math import fsum
from typing import Any

from roamcast.lab.traces import statistics
from roamcast.lab.traces.table import Table
from roamcast.lab.traces.trace import Trace

BINS = 24
"""Of the degree over time."""


def of(read: Trace, met: Table, within_s: list[float]) -> dict[str, Any]:
    """The statistics of a trace and its contacts. An ideal flood begins after a tenth of the trace."""
    begin, end, nodes = read.begin_us, read.end_us, list(read.names)
    by_node = statistics.by_node(met, begin, end).columns()
    over_time = statistics.over_time(met, len(nodes), begin, end, BINS)
    return {
        **{name: statistics.spread(each) for name, each in _times(met).items()},
        "peers_mean": int(by_node["peers"].sum()) / len(nodes),
        "degree_mean": fsum(by_node["degree"]) / len(nodes),
        "degrees": [[degree, share] for degree, share in statistics.degrees(met, len(nodes), begin, end)],
        "degree_over_time": [[from_us / 1e6, degree] for from_us, _, degree in over_time],
        "reachability": _reachability(met, nodes, begin + (end - begin) // 10, [round(t * 1e6) for t in within_s]),
    }


def _reachability(met: Table, nodes: list[int], t0_us: int, within_us: list[int]) -> dict[str, Any]:
    flooded = statistics.reached(met, nodes, t0_us, within_us).columns()
    pairs = max(1, len(nodes) * (len(nodes) - 1))
    reached = [int(flooded["reached"][flooded["within_us"] == t].sum()) for t in within_us]
    within = [
        {"within_s": t / 1e6, "reached": count, "share": count / pairs}
        for t, count in zip(within_us, reached, strict=True)
    ]
    return {"from_s": t0_us / 1e6, "pairs": pairs, "within": within}


def times(met: Table) -> dict[str, list[tuple[float, int]]]:
    """Of contacts, and between two contacts of a pair: (s, how many), by length."""
    return {name: statistics.tally(each) for name, each in _times(met).items()}


def _times(met: Table) -> dict[str, Table]:
    return {"contacts": statistics.durations(met), "apart": statistics.apart(met)}
