"""out/bench.html: what `make bench` measured, as one page that needs no network."""

from __future__ import annotations

from typing import Any

from cases import HOMES, PROTOCOLS
from ns3 import compare as ns3
from ratios import SIZES

from roamcast.show import figures
from roamcast.show.markup import Child, Html, joined, tag, trusted
from roamcast.show.page import described
from roamcast.show.panels import Panel, Point, Series

RADIOS = {
    "disc": "field-500",
    "disc, waypoint": "field-500-waypoint",
    "two-ray": "field-500-two-ray",
    "two-ray, senses 2.2 times as far": "field-500-two-ray-sensing",
}
UNIT = "cost of a reception"
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --line: #d3d8de }
@media (prefers-color-scheme: dark) { :root { --paper: #14171a; --ink: #e8eaed; --line: #3a4046 } }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif;
  background: var(--paper); color: var(--ink) }
figure { display: inline-block; width: 32rem; max-width: 100%; margin: 0 1rem 1rem 0; vertical-align: top }
svg { width: 100%; height: auto }
.scroll { overflow-x: auto }
table { border-collapse: collapse; margin: 0 0 1.5rem }
th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
"""


def html(results: dict[str, Any]) -> str:
    """`results` is the content of out/bench.json."""
    drawings = [drawn(panel, f"panel-{k}") for k, panel in enumerate(panels(results)) if panel.series]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", "roamcast: benchmarks"),
        tag("style", trusted(STYLE)),
    )
    body = tag(
        "body",
        tag("h1", "Benchmarks"),
        tag(
            "p",
            "Processor time of the event loop, the best of several rounds. Only ratios within one run mean anything "
            "on a machine that others use.",
        ),
        changes(results),
        drawings,
        against_ns3(results["ns3"]),
        comparisons(results["comparisons"]),
        absolute(results["figures"]),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


# ---- pictures


def panels(results: dict[str, Any]) -> list[Panel]:
    measured, compared = results["figures"], results["ns3"]
    return [
        Panel("Nodes", "nodes", f"{UNIT}, 500 nodes = 1", _sizes(measured), log_x=True),
        _of_names("Radios", "radio, 500 nodes", f"{UNIT}, disc = 1", {"": _radios(measured)}),
        _of_names("Protocols", "protocol", f"{UNIT}, gossip = 1", _protocols(measured), log_y=True),
        _of_names(
            "ns-3",
            "world",
            f"{UNIT}, roamcast = 1",
            {
                ns3.NAMES[name]: {str(each["world"]): float(each[ratio]) for each in compared}
                for name, ratio in (("ns3", "ratio"), ("udp", "udp_ratio"))
            },
            log_y=True,
        ),
    ]


def _sizes(measured: dict[str, Any]) -> list[Series]:
    there = {nodes: measured[f"field-{nodes}"] for nodes in SIZES if f"field-{nodes}" in measured}
    if 500 not in there:
        return []
    points = [Point(float(nodes), there[500]["per_s"] / f["per_s"], None, 1) for nodes, f in there.items()]
    return [Series("flooding at the same density", points)]


def _radios(measured: dict[str, Any]) -> dict[str, float]:
    return {
        name: _cost(measured, case, "field-500")
        for name, case in RADIOS.items()
        if {case, "field-500"} <= set(measured)
    }


def _protocols(measured: dict[str, Any]) -> dict[str, dict[str, float]]:
    common, home = "all nodes interested, 500 nodes", "the world of its own paper"
    costs: dict[str, dict[str, float]] = {common: {}, home: {}}
    for name in PROTOCOLS:
        if {f"protocol-{name}", "field-500"} <= set(measured):
            costs[common][name] = _cost(measured, f"protocol-{name}", "field-500")
    for name, world in HOMES.items():
        if {f"{world}-{name}", f"{world}-gossip"} <= set(measured):
            costs[home][name] = _cost(measured, f"{world}-{name}", f"{world}-gossip")
    return costs


def _cost(measured: dict[str, Any], over: str, under: str) -> float:
    return float(measured[under]["per_s"] / measured[over]["per_s"])


def _of_names(title: str, x: str, y: str, costs: dict[str, dict[str, float]], log_y: bool = False) -> Panel:
    """A panel whose x axis has names."""
    series = [
        Series(name or title, [Point(at, value, None, 1) for at, value in values.items()])
        for name, values in costs.items()
        if values
    ]
    names = list(dict.fromkeys(at for values in costs.values() for at in values))
    return Panel(title, x, y, series, categories=names, log_y=log_y)


def drawn(panel: Panel, id: str) -> Html:
    svg = figures.inline(figures.draw(panel).svg, id, joined(described(panel)))
    return tag("figure", trusted(svg))


# ---- tables


def changes(results: dict[str, Any]) -> Html | None:
    if not results["since"]:
        return None
    if not results["changes"]:
        return tag("p", f"No ratio moved by more than a tenth since {results['since']}.")
    lines = [tag("li", change) for change in results["changes"]]
    return joined(tag("p", f"Moved by more than a tenth since {results['since']}:"), tag("ul", lines))


def against_ns3(compared: list[dict[str, Any]]) -> Html | None:
    if not compared:
        return None
    return joined(
        tag("h2", "The same gossip in ns-3"),
        tag("p", "Setting up is left out on both sides. The two draw other random numbers in the same worlds."),
        table(ns3.HEADS, ns3.lines(compared)),
    )


def comparisons(rows: list[dict[str, Any]]) -> Html:
    lines = [(row["what"], f"{row['ratio']:g}", row["asked"]) for row in rows]
    return joined(tag("h2", "Ratios"), table(("ratio", "measured", "asked"), lines))


def absolute(measured: dict[str, Any]) -> Html:
    heads = ("case", "receptions", "run s", "whole s", "receptions a second", "MiB")
    lines = [
        (
            case,
            f"{f['receptions']:,}",
            f"{f['run_s']:.3f}",
            f"{f['whole_s']:.3f}",
            f"{f['per_s']:,.0f}",
            f"{f['memory_mib']:.0f}",
        )
        for case, f in measured.items()
    ]
    return joined(tag("h2", "On this machine"), table(heads, lines))


def table(heads: tuple[str, ...], lines: list[Any]) -> Html:
    def row(kind: str, cells: Child) -> Html:
        return tag("tr", [tag(kind, cell) for cell in cells or ()])

    content = tag("table", tag("thead", row("th", heads)), tag("tbody", [row("td", line) for line in lines]))
    return tag("div", content, class_="scroll")
