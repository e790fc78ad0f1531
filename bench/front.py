"""Who delivers as much for less air: `python -m bench.front [--world NAME ...] [--protocol NAME ...] [--seeds N]`.

Every protocol in every world, with the parameters that the papers recommend there, with the same seeds: the share of
the possible deliveries, the airtime of all nodes together, and the time to half of the deliveries. One protocol
*dominates* another if it delivers no less (by at most 0.005), takes no more air (by at most 5 %), and is better in one
of the two, each by the interval of the differences seed by seed (of air: of logarithms). Two protocols that dominate
each other by this are *equal*.

`roam` also runs with other values of `effort`. Of every other protocol's point the last column says how much roam
delivers for the same air, on the straight line between two of its own points.

Seeds 1 to 99 and the presets were looked at while roam was made. The tables are made with seeds from 101 on, and the
worlds in `UNSEEN` were written down before roam ran in any of them.

Prints tables in Markdown. Results are kept in out/front.jsonl, and a run that is there is not done again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import Any

import msgspec

from roamcast.judging.student import ALPHA, interval, mean
from roamcast.papers import presets
from roamcast.protocols import registry
from roamcast.world.simulate import simulate

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "front.jsonl"
FIRST_SEED = 101
EFFORTS = (0.05, 0.1, 0.2, 0.4, 0.7, 2.0)
LESS = 0.005
MORE = 1.05
TOO_LONG = {("rezende", "flooding-periodic")}
"""Runs of many minutes; this flooding is far from all others in every world."""

TITLES = (
    "protocol",
    "delivered of the possible",
    "air, s",
    "half of it within, s",
    "frames a delivery",
    "beside roam",
    "roam's curve at this air",
)

SEEN: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("baldoni", "baehni-city", "baehni-waypoint", "costa", "li", "rezende")},
    "common": {},
}
UNSEEN: dict[str, dict[str, Any]] = {
    "dense room": {
        "nodes": 60,
        "width_m": 100.0,
        "height_m": 100.0,
        "range_m": 150.0,
        "mobility": "static",
        "publishers": 20,
        "subscribers": 30,
        "rate_hz": 0.5,
        "duration_s": 60.0,
    },
    "sparse walkers": {
        "nodes": 40,
        "width_m": 2000.0,
        "height_m": 2000.0,
        "range_m": 120.0,
        "speed_min_mps": 0.5,
        "speed_max_mps": 2.0,
        "publishers": 5,
        "subscribers": 10,
        "rate_hz": 0.01,
        "validity_s": 600.0,
        "duration_s": 900.0,
    },
    "fast cars, fading": {
        "nodes": 80,
        "width_m": 1500.0,
        "height_m": 1500.0,
        "range_m": 200.0,
        "radio": "log-distance",
        "shadowing_db": 6.0,
        "speed_min_mps": 15.0,
        "speed_max_mps": 40.0,
        "publishers": 10,
        "subscribers": 40,
        "rate_hz": 0.1,
        "validity_s": 60.0,
        "duration_s": 180.0,
    },
    "sensors that sleep": {
        "nodes": 100,
        "width_m": 500.0,
        "height_m": 500.0,
        "range_m": 90.0,
        "mobility": "static",
        "awake_s": 6.0,
        "asleep_s": 4.0,
        "publishers": 30,
        "subscribers": 10,
        "rate_hz": 0.02,
        "validity_s": 120.0,
        "duration_s": 240.0,
    },
    "nodes that crash": {
        "nodes": 100,
        "width_m": 1000.0,
        "height_m": 1000.0,
        "range_m": 180.0,
        "crash_mean_s": 60.0,
        "repair_mean_s": 20.0,
        "publishers": 20,
        "subscribers": 50,
        "rate_hz": 0.05,
        "validity_s": 60.0,
        "duration_s": 200.0,
    },
}


def run(world: str, protocol: str, effort: float, seed: int) -> dict[str, Any]:
    preset = presets.start_from(world if world in SEEN and world != "common" else "", "", Path())
    values = UNSEEN.get(world, {})
    scenario = msgspec.structs.replace(preset.scenario(), **values)
    params = preset.parameters(protocol, {"effort": effort} if protocol == "roam" else {})
    result = simulate(scenario, protocol, params, seed)
    metrics = result.metrics
    return {
        "code": digest(),
        "world": world,
        "protocol": protocol,
        "effort": effort,
        "seed": seed,
        "delivered": metrics["of_possible"],
        "air_s": metrics["airtime_s_per_hour"] * scenario.nodes * scenario.duration_s / 3600,
        "latency_s": metrics["latency_p50_s"],
        "frames": metrics["overhead"],
        "memory_bytes": metrics["memory_bytes"],
        "cpu_s": result.cpu_s,
    }


def key(row: dict[str, Any]) -> tuple[str, str, float, int]:
    return row["world"], row["protocol"], row["effort"], row["seed"]


@cache
def digest() -> str:
    """Of all sources, so that results of other code are not taken for those of this one."""
    files = sorted([Path(__file__), *(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.toml")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def completed(wanted: list[tuple[str, str, float, int]]) -> list[dict[str, Any]]:
    """All wanted runs, done now or before."""
    OUT.parent.mkdir(exist_ok=True)
    rows = [json.loads(line) for line in OUT.read_text().splitlines()] if OUT.exists() else []
    rows = [row for row in rows if row["code"] == digest()]
    done = {key(row) for row in rows}
    left = [each for each in wanted if each not in done]
    with ProcessPoolExecutor(os.cpu_count()) as pool, OUT.open("a") as lines:
        for k, future in enumerate(as_completed([pool.submit(run, *each) for each in left]), 1):
            rows.append(future.result())
            lines.write(json.dumps(rows[-1]) + "\n")
            lines.flush()
            print(f"\r{k:,} of {len(left):,} runs", end="", flush=True)
    print()
    asked = set(wanted)
    return [row for row in rows if key(row) in asked]


# ---- tables


class Point:
    """A protocol in a world: its values by seed."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = {row["seed"]: row for row in rows if row["delivered"] is not None}

    def mean(self, name: str) -> float:
        return mean([row[name] for row in self.rows.values() if row[name] is not None] or [float("nan")])

    def shown(self) -> str:
        estimate = interval([row["delivered"] for row in self.rows.values()], ALPHA)
        delivered = "—" if estimate is None else f"{estimate[0]:.3f} ± {estimate[2] - estimate[0]:.3f}"
        return f"{delivered} | {self.mean('air_s'):,.2f} | {self.mean('latency_s'):,.2f} | {self.mean('frames'):,.1f}"


def dominates(a: Point, b: Point) -> bool:
    seeds = sorted(a.rows.keys() & b.rows.keys())
    more = interval([a.rows[s]["delivered"] - b.rows[s]["delivered"] for s in seeds], ALPHA)
    air = interval([log(a.rows[s]["air_s"] / b.rows[s]["air_s"]) for s in seeds], ALPHA)
    if more is None or air is None:
        return False
    no_less, no_more = more[1] >= -LESS, exp(air[2]) <= MORE
    return no_less and no_more and (more[1] > 0 or air[2] < 0)


def beside(roam: Point, other: Point) -> str:
    above, below = dominates(roam, other), dominates(other, roam)
    return "equal" if above and below else "is dominated" if above else "dominates" if below else ""


def points(rows: list[dict[str, Any]]) -> dict[tuple[str, float], Point]:
    by_name: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for row in rows:
        by_name.setdefault((row["protocol"], row["effort"]), []).append(row)
    return {name: Point(of_one) for name, of_one in by_name.items()}


def curve_at(curve: list[tuple[float, float]], air_s: float) -> float | None:
    """What roam delivers for this air; None if even its least effort takes more."""
    curve = sorted(curve)
    if air_s < curve[0][0]:
        return None
    for (x, y), (x2, y2) in pairwise(curve):
        if x <= air_s < x2:
            return y + (air_s - x) / (x2 - x) * (y2 - y)
    return curve[-1][1]


def tables(world: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    every = points(rows)
    usual = every[("roam", 1.0)]
    curve = [(point.mean("air_s"), point.mean("delivered")) for (name, _), point in every.items() if name == "roam"]
    yield f"\n### {world}\n"
    yield f"| {' | '.join(TITLES)} |"
    yield f"|{' --- |' * len(TITLES)}"
    for (name, effort), point in sorted(every.items(), key=lambda each: -each[1].mean("delivered")):
        verdict = beside(usual, point)
        at = curve_at(curve, point.mean("air_s")) if name != "roam" else None
        above = f"{at:.3f} ({at - point.mean('delivered'):+.3f})" if at is not None else "less air than roam's least"
        above = "" if name == "roam" else above
        label = name if name != "roam" else f"**roam**, effort {effort:g}"
        yield f"| {label} | {point.shown()} | {'' if name == 'roam' else verdict} | {above} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    worlds = [*SEEN, *UNSEEN]
    parser.add_argument("--world", nargs="+", choices=worlds, default=worlds)
    parser.add_argument("--protocol", nargs="+", choices=list(registry.BUILT_IN), default=list(registry.BUILT_IN))
    parser.add_argument("--seeds", type=int, default=30)
    asked = parser.parse_args()
    left_out = ", ".join(f"{protocol} in {world}" for world, protocol in sorted(TOO_LONG) if world in asked.world)
    print(f"Left out, because it takes many minutes: {left_out or 'nothing'}.")
    protocols = [*dict.fromkeys(["roam", *asked.protocol])]
    wanted = [
        (world, protocol, effort, seed)
        for seed in range(FIRST_SEED, FIRST_SEED + asked.seeds)
        for world in asked.world
        for protocol in protocols
        for effort in ((1.0, *EFFORTS) if protocol == "roam" else (1.0,))
        if (world, protocol) not in TOO_LONG
    ]
    rows = completed(wanted)
    for world in asked.world:
        print("\n".join(tables(world, [row for row in rows if row["world"] == world])))


if __name__ == "__main__":
    main()
