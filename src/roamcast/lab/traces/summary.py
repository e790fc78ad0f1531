"""The summary of a trace: plain numbers, for people and for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roamcast.lab.traces import statistics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from roamcast.lab.traces.trace import Trace

BINS = 24
"""Of the degree over time."""


def of(read: Trace, met: DataFrame, within_s: list[float]) -> dict[str, Any]:
    """The statistics of a trace and its contacts. An ideal flood begins after a tenth of the trace."""
    begin, end, nodes = read.begin_us, read.end_us, list(read.names)
    t0_us = begin + (end - begin) // 10
    within_us = [round(t * 1e6) for t in within_s]
    flooded = statistics.reached(met, nodes, t0_us, within_us).groupBy("within_us").sum("reached").collect()
    pairs = max(1, len(nodes) * (len(nodes) - 1))
    reached = {row["within_us"]: int(row["sum(reached)"]) for row in flooded}
    by_node = statistics.by_node(met, begin, end)
    peers = by_node.selectExpr("sum(peers) as peers", "sum(degree) as degree").collect()[0]
    distribution = statistics.degrees(met, len(nodes), begin, end).orderBy("degree").collect()
    over_time = statistics.over_time(met, len(nodes), begin, end, BINS).orderBy("from_us").collect()
    return {
        "contacts": _spread(statistics.spread(statistics.durations(met), "lasts_us")),
        "apart": _spread(statistics.spread(statistics.apart(met), "apart_us")),
        "peers_mean": (peers["peers"] or 0) / len(nodes),
        "degree_mean": (peers["degree"] or 0.0) / len(nodes),
        "degrees": [[row["degree"], row["share"]] for row in distribution],
        "degree_over_time": [[row["from_us"] / 1e6, row["degree"]] for row in over_time],
        "reachability": {
            "from_s": t0_us / 1e6,
            "pairs": pairs,
            "within": [
                {"within_s": t / 1e6, "reached": reached.get(t, 0), "share": reached.get(t, 0) / pairs}
                for t in within_us
            ],
        },
    }


def _spread(one_row: DataFrame) -> dict[str, Any]:
    return one_row.collect()[0].asDict()


def curves(met: DataFrame) -> dict[str, list[tuple[float, float]]]:
    """For contacts and for the times between them: (s, share that is longer)."""
    survivals = {
        "contact lasts longer than [s]": statistics.survival(statistics.durations(met), "lasts_us"),
        "pair is apart for longer than [s]": statistics.survival(statistics.apart(met), "apart_us"),
    }
    return {label: [(row["t_s"], row["share"]) for row in curve.collect()] for label, curve in survivals.items()}
