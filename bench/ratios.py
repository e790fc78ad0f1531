"""What `make bench` compares: rows of a ratio of two cases, and what is asked of it.

A row that has a `unit` is no ratio; it depends on the machine, and is not kept (history.py).
"""

from __future__ import annotations

from typing import Any

from cases import HOMES, PROTOCOLS

Figures = dict[str, dict[str, Any]]
Row = dict[str, Any]
SIZES = (100, 500, 1_000, 10_000, 100_000)
"""Numbers of nodes of the field."""
MIB_IN_KIB = 1024


def compare(figures: Figures) -> list[Row]:
    rows = [*_speed(figures), *_worlds(figures), *_memory(figures)]
    for name in PROTOCOLS:
        rows += cost(figures, f"cost per reception, {name} / gossip", f"protocol-{name}", "field-500", "at most 4")
    for name, home in HOMES.items():
        rows += cost(figures, f"the same on {home}, {name} / gossip", f"{home}-{name}", f"{home}-gossip", "at most 4")
    for name in PROTOCOLS:
        rows += decoded(figures, "the yardstick's world", f"protocol-{name}", "field-500", name)
    for name, home in HOMES.items():
        rows += decoded(figures, home, f"{home}-{name}", f"{home}-gossip", name)
    return rows


def against_ns3(compared: list[Row]) -> list[Row]:
    """The ratios of ns3/compare.py, as rows of this table."""
    rows = []
    for each in compared:
        what = f"ns-3 / roamcast, cost per reception, {each['world']} ({each['nodes']:,} nodes)"
        asked = f"at least {each['asked']:,}" if each["asked"] else ""
        rows.append({"what": what, "ratio": each["ratio"], "asked": asked, "lower_is_better": False})
        rows.append({"what": f"{what}, UDP", "ratio": each["udp_ratio"], "asked": "", "lower_is_better": False})
    return rows


def rate(figures: Figures, what: str, over: str, under: str, asked: str = "") -> list[Row]:
    """How many receptions a second one case does, over those of another."""
    if over not in figures or under not in figures:
        return []
    ratio = figures[over]["per_s"] / figures[under]["per_s"]
    return [{"what": what, "ratio": round(ratio, 3), "asked": asked, "lower_is_better": False}]


def cost(figures: Figures, what: str, over: str, under: str, asked: str = "") -> list[Row]:
    """What a reception costs in one case, over what it costs in another."""
    return [{**row, "lower_is_better": True} for row in rate(figures, what, under, over, asked)]


def decoded(figures: Figures, where: str, case: str, gossip: str, name: str) -> list[Row]:
    """A frame for one neighbour is received once, but every radio in range decodes it: the cost per decoded frame."""
    if case not in figures or gossip not in figures or not figures[case]["overheard"]:
        return []
    over, under = (f["run_s"] / (f["receptions"] + f["overheard"]) for f in (figures[case], figures[gossip]))
    what = f"cost per frame that a radio decodes, on {where}, {name} / gossip"
    return [{"what": what, "ratio": round(over / under, 3), "asked": "", "lower_is_better": True}]


def _speed(figures: Figures) -> list[Row]:
    return [
        *rate(figures, "receptions per second, compiled / yardstick", "field-500", "yardstick", "at least 2.5"),
        *rate(figures, "receptions per second, pure Python / yardstick", "pure field-500", "yardstick", "at least 0.4"),
        *rate(figures, "random waypoint (dense middle) / yardstick", "field-500-waypoint", "yardstick"),
        *cost(figures, "cost per reception, 100,000 nodes / 1,000", "field-100000", "field-1000", "at most 2"),
        *cost(figures, "cost per reception, 10,000 nodes / 500", "field-10000", "field-500", "at most 2"),
        *cost(figures, "cost per reception, 1,000 nodes / 500", "field-1000", "field-500"),
        *cost(figures, "cost per reception, 100 nodes / 500", "field-100", "field-500"),
    ]


def _worlds(figures: Figures) -> list[Row]:
    rows = [
        *cost(
            figures, "cost per reception, two-ray with capture / disc", "field-500-two-ray", "field-500", "at most 1.5"
        ),
        *cost(figures, "the same, sensing 2.2 times as far", "field-500-two-ray-sensing", "field-500"),
        *rate(figures, "rezende, psamanet II: rate / yardstick", "rezende-psamanet", "yardstick", "at least 0.5"),
        *cost(figures, "cost per reception, only unicast / only broadcast", "bare-unicast", "bare-broadcast"),
    ]
    if "small-runs" in figures:
        inside = figures["small-runs"]["run_s"] / figures["small-runs"]["whole_s"]
        what = "runs of 20 ms: share of the time inside events"
        rows.append({"what": what, "ratio": round(inside, 3), "asked": "at least 0.8", "lower_is_better": False})
    if "mesh-100" in figures:
        what = "600 s of a LoRa mesh of 100 nodes, s of processor time"
        ratio = round(figures["mesh-100"]["run_s"], 4)
        rows.append({"what": what, "ratio": ratio, "asked": "at most 0.07", "lower_is_better": True, "unit": "s"})
    return rows


def _memory(figures: Figures) -> list[Row]:
    rows = []
    if "field-10000" in figures:
        memory = round(figures["field-10000"]["memory_mib"] / 1024, 3)
        what = "memory of 10,000 nodes, GiB"
        rows.append({"what": what, "ratio": memory, "asked": "at most 1", "lower_is_better": True, "unit": "GiB"})
    if "field-100000" in figures:
        each = round(figures["field-100000"]["memory_of_run_mib"] * MIB_IN_KIB / 100_000, 2)
        what = "memory of each of 100,000 nodes, KiB"
        rows.append({"what": what, "ratio": each, "asked": "", "lower_is_better": True, "unit": "KiB"})
    return rows
