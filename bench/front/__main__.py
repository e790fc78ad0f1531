"""Runs the campaigns and makes the tables; the package's own text says how to call it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import bench.front
from bench.front import ablate, causes, curves, data, robust
from bench.front.pareto import Point, Row, beats, beside, curve_at, points
from bench.front.world import FEW, FIRST_SEED, Values, World
from bench.front.worlds import GROUPS, ROOT, entrants, named, there

import roamcast as rc
from roamcast.judging.student import ALPHA, interval

OUT = ROOT / "out" / "front"
PAGE = ROOT / "docs" / "explanation" / "roam.md"
TABLES = ROOT / "docs" / "explanation" / "roam-tables.md"
DATA = ROOT / "docs" / "explanation" / "roam-tables.csv"
PICTURE = ROOT / "docs" / "pictures" / "roam-robust.png"
CURVES = ROOT / "docs" / "pictures" / "roam-curves.png"
PARTS = ("pareto", "robust", "ablate", "causes")
QUICK_SEEDS = 2
TITLES = (
    "protocol",
    "delivered of the possible",
    "air, s",
    "frames a delivery",
    "bytes a delivery",
    "half within, s",
    "energy, J a node",
    "memory, bytes a node",
    "beside roam",
    "roam's curve at this air",
)


def rows_of(name: str, world: World, protocols: list[Values], seeds: int, **more: Any) -> list[Row]:
    """All runs of a campaign, done now or before."""
    content = {
        "name": name,
        "seeds": list(range(FIRST_SEED, FIRST_SEED + seeds)),
        "world": dict(world.world),
        "protocol": protocols,
        **({"preset": world.preset} if world.preset else {}),
        **more,
    }
    print(f"\n{name} ", end="", flush=True)
    folder = OUT / re.sub(r"\W+", "-", name)
    opened = rc.campaign(content, out=folder, extend=True, progress=lambda share: _dot(name, share))
    return list(opened.rows("metrics"))


def _dot(name: str, share: float) -> None:
    print(f"\r{name} {share:.0%}", end="", flush=True)


# ---- every protocol in every world


def pareto(quick: bool, write: bool) -> tuple[list[str], list[str]]:
    """An overview, and the tables of all worlds. Also draws the curves, and writes the same as data."""
    measured: dict[str, tuple[World, dict[str, Point]]] = {}
    details: list[str] = []
    for group, worlds in GROUPS.items():
        details += ["", f"## {group}"]
        for world in worlds:
            if not there(world):
                details += ["", f"### {world.name}", "", "Left out: its data are not on this machine."]
                continue
            seeds = QUICK_SEEDS if quick else world.seeds
            rows = rows_of(world.name, world, entrants(world), seeds)
            if world.slow:
                rows += rows_of(f"{world.name}, slow", world, named(world.slow), min(seeds, FEW))
            every = points(rows)
            measured[world.name] = (world, every)
            details += ["", *of_world(world, every, seeds)]
    if write:
        curves.draw(measured, CURVES)
        data.write(DATA, {name: every for name, (_, every) in measured.items()})
    picture = "![What is delivered over air, world by world](../pictures/roam-curves.png)"
    return [picture, "", *overview(measured)], details


def overview(measured: Mapping[str, tuple[World, Mapping[str, Point]]]) -> Iterator[str]:
    """A line for each world."""
    yield "| world | roam delivers | dominated by | dominates | the paper's own system |"
    yield "| --- | --- | --- | --- | --- |"
    for name, (world, every) in measured.items():
        roam = every["roam"]
        others = {label: point for label, point in every.items() if not label.startswith("roam")}
        above = [label for label, point in others.items() if beats(point, roam)]
        below = [label for label, point in others.items() if beats(roam, point)]
        own = _of_own(world.own, every) if world.own else ""
        listed = ", ".join(f"`{label}`" for label in above) or f"nobody of {len(others)}"
        yield f"| {name} | {_with_interval(roam)} | {listed} | {len(below)} of {len(others)} | {own} |"


def _of_own(own: str, every: Mapping[str, Point]) -> str:
    """Which points of roam's curve dominate the system."""
    efforts = [label for label, point in every.items() if label.startswith("roam") and beats(point, every[own])]
    by = ", ".join(label.removeprefix("roam, ") if label != "roam" else "default" for label in efforts)
    return f"`{own}` is dominated ({by})" if efforts else f"`{own}` is not dominated"


def of_world(world: World, every: Mapping[str, Point], seeds: int) -> Iterator[str]:
    roam = every["roam"]
    efforts = [point for label, point in every.items() if label.startswith("roam")]
    yield f"### {world.name}"
    yield ""
    slow = f"; {min(seeds, FEW)} for {', '.join(world.slow)}, whose runs take minutes" if world.slow else ""
    left_out = f" Left out, because a run takes longer than that: {', '.join(world.without)}." if world.without else ""
    yield f"{world.about[0].upper()}{world.about[1:]}; {seeds} seeds{slow}.{left_out}"
    yield ""
    yield f"| {' | '.join(TITLES)} |"
    yield f"|{' --- |' * len(TITLES)}"
    for label, point in sorted(every.items(), key=lambda each: -each[1].delivered):
        yield f"| {' | '.join(_cells(label, point, roam, efforts))} |"


def _cells(label: str, point: Point, roam: Point, efforts: list[Point]) -> list[str]:
    own = label.startswith("roam")
    same = [effort.only(point.rows) for effort in efforts]  # the seeds of a slow protocol are fewer
    at = None if own else curve_at([(each.air_s, each.delivered) for each in same], point.air_s)
    missing = "" if own else "less air than roam's least"
    return [
        f"**{label}**" if own else label,
        _with_interval(point),
        f"{point.air_s:,.3g}",
        f"{point.per_delivery('frames_sent'):,.1f}",
        f"{point.per_delivery('bytes_sent'):,.0f}",
        f"{point.mean('latency_p50_s'):,.2f}",
        f"{point.mean('energy_j') / point.mean('nodes'):,.0f}",
        f"{point.mean('memory_bytes'):,.0f}",
        "" if own else beside(roam, point),
        f"{at:.3f} ({at - point.delivered:+.3f})" if at is not None else missing,
    ]


def _with_interval(point: Point) -> str:
    estimate = interval(point.values("of_possible"), ALPHA)
    return "—" if estimate is None else f"{estimate[0]:.3f} ± {estimate[2] - estimate[0]:.3f}"


# ---- worse and worse


def robustness(quick: bool, write: bool) -> Iterator[str]:
    measured = {}
    seeds = QUICK_SEEDS if quick else robust.SEEDS
    base = World("common", "", "baldoni", robust.world())
    for axis in robust.AXES:
        protocols = [*named(axis.rivals), {"name": "roam"}]
        varied = {field for _, fields in axis.points for field in fields}
        base = base._replace(world={field: value for field, value in robust.world().items() if field not in varied})
        rows = rows_of(f"robust {axis.name}", base, protocols, seeds, point=[dict(p) for _, p in axis.points])
        measured[axis.name] = (axis, _by_point(axis, rows))
    if write:
        robust.draw(measured, PICTURE)
    yield "![Delivered and air, for roam in black and all others](../pictures/roam-robust.png)"
    for name, (axis, at) in measured.items():
        yield ""
        yield f"**{name[0].upper()}{name[1:]}**"
        yield ""
        yield from robust.lines(axis, at)
    yield ""
    yield from liars(base._replace(world=robust.world()), seeds)


def _by_point(axis: robust.Axis, rows: list[Row]) -> dict[float, dict[str, Point]]:
    """Cells are in the order of protocols and then of points."""
    labels = list(dict.fromkeys(row["label"] for row in rows))
    cells = sorted({row["cell"] for row in rows})
    places = {cell: k % len(axis.points) for k, cell in enumerate(cells)}
    assert len(cells) == len(labels) * len(axis.points)
    return {x: points([row for row in rows if places[row["cell"]] == k]) for k, (x, _) in enumerate(axis.points)}


def liars(base: World, seeds: int) -> Iterator[str]:
    shares = [0.0, 0.05, 0.1, 0.25, 0.5]
    protocols: list[Values] = [{"name": robust.LIAR, "label": "roam", "set": {"liars": shares}}]
    rows = rows_of("robust liars", base, protocols, seeds)
    yield "**Liars**, nodes that send wrong summaries and empty lists twice a second:"
    yield ""
    yield "| share of the nodes that lie | roam |"
    yield "| --- | --- |"
    for share in shares:
        point = Point([row for row in rows if row["p_liars"] == share])
        yield f"| {share:.0%} | {point.delivered:.3f} ({point.air_s:,.1f} s) |"


# ---- one ingredient less


def ablations(quick: bool) -> Iterator[str]:
    seeds = QUICK_SEEDS if quick else ablate.SEEDS
    measured = {
        world.name: points(rows_of(f"ablate {world.name}", world, ablate.entrants(), seeds))
        for world in ablate.worlds()
    }
    yield from ablate.lines(measured)


# ---- what would deliver more


def of_causes(quick: bool) -> Iterator[str]:
    yield "| world | changed | delivered | air, s |"
    yield "| --- | --- | --- | --- |"
    for variant in causes.variants():
        seeds = QUICK_SEEDS if quick else variant.changed.seeds
        name = f"causes {variant.of} {variant.what}"
        point = Point(rows_of(name, variant.changed, [variant.protocol], seeds))
        yield f"| {variant.of} | {variant.what} | {_with_interval(point)} | {point.air_s:,.3g} |"


# ---- the page


def written(page: Path, part: str, lines: list[str]) -> None:
    """Put lines between the marks of a part."""
    text = page.read_text()
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    before, rest = text.split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n\n" + "\n".join(lines).strip() + f"\n\n{end}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=bench.front.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], help="All of them, by default.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    for part in asked.parts or PARTS:
        for page, lines in made(part, asked.quick, asked.write):
            print("\n" + "\n".join(lines))
            if asked.write:
                written(page, part, lines)


def made(part: str, quick: bool, write: bool) -> Iterator[tuple[Path, list[str]]]:
    if part == "pareto":
        yield from zip((PAGE, TABLES), pareto(quick, write), strict=True)
    elif part == "robust":
        yield PAGE, list(robustness(quick, write))
    else:
        yield PAGE, list(ablations(quick) if part == "ablate" else of_causes(quick))


if __name__ == "__main__":
    main()
