"""The speed on this machine: `make bench`, or `python bench/run.py [--quick] [--against PATH] [CASE ...]`.

Machines are shared and noisy. So every figure is the best of several rounds in which the cases take turns, and only
ratios within one run are compared. The yardstick is a minimal event loop in plain Python that floods a network of
moving nodes. Its path is ROAMCAST_YARDSTICK, or a folder beside the checkout; without it there are only absolute
figures.

Writes out/bench.json and prints a table. With `--against PATH` it only compares the simulator with that of another
checkout, and writes out/against.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import against
from cases import CASES, HOMES, PROTOCOLS
from checkout import PURE, Checkout
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out"
Figures = dict[str, dict[str, Any]]


def main() -> None:
    options = asked_for()
    rounds = options.rounds or (2 if options.quick else 5)
    cases = options.cases or plan(options.quick)
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory() as folder:
        here = Checkout(ROOT, Path(folder))
        if options.against:
            there = Checkout(options.against.resolve(), Path(folder))
            rows = against.compare(here, there, [case for case in cases if case != "yardstick"], rounds, console)
            against.show(rows, options.against)
            write("against", rows, console)
            return
        figures = measure(here, cases, rounds, console)
    results: dict[str, Any] = {"figures": figures, "comparisons": compare(figures)}
    show(figures, results["comparisons"])
    if not options.cases:
        results["net"] = real_nodes(options.quick, console)
        show_net(results["net"])
        results["lab"] = laboratory(options.quick, console)
        show_lab(results["lab"])
    write("bench", results, console)


def write(name: str, results: Any, console: Console) -> None:
    path = OUT / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")
    console.print(f"written to {path}")


def asked_for() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two rounds, and only what is compared with the yardstick")
    parser.add_argument("--rounds", type=int, default=0, help="rounds (5, or 2 with --quick)")
    what = "compare the simulator with that of another checkout, which is compiled too (`make setup`), case by case"
    parser.add_argument("--against", type=Path, metavar="PATH", help=what)
    what = "only these cases (bench/cases.py names them); 'pure NAME' runs one as plain Python"
    parser.add_argument("cases", nargs="*", metavar="CASE", help=what)
    options = parser.parse_args()
    for case in options.cases:
        if case.removeprefix(PURE) not in CASES:
            parser.error(f"no case {case!r}; there are {', '.join(CASES)}")
    return options


def plan(quick: bool) -> list[str]:
    cases = ["field-500", f"{PURE}field-500", "field-500-waypoint"]
    if yardstick() is not None:
        cases.insert(0, "yardstick")
    if not quick:
        cases += ["field-100", "field-10000", "field-500-two-ray", "field-500-two-ray-sensing"]
        cases += ["mesh-100", "mesh-100-dcf", "bare-broadcast", "bare-unicast"]
        cases += [f"protocol-{name}" for name in PROTOCOLS]
        cases += [f"{home}-gossip" for home in dict.fromkeys(HOMES.values())]
        cases += [f"{home}-{name}" for name, home in HOMES.items()]
    return cases


def yardstick() -> Path | None:
    path = Path(os.environ.get("ROAMCAST_YARDSTICK") or ROOT / ".." / "shared" / "yardstick" / "flood.py")
    return path if path.exists() else None


def measure(checkout: Checkout, cases: list[str], rounds: int, console: Console) -> Figures:
    best: Figures = {}
    with console.status("") as status:
        for turn in range(1, rounds + 1):
            for case in cases:
                status.update(f"round {turn} of {rounds}: {case}")
                figures = checkout.run(case, *([str(yardstick())] if case == "yardstick" else []))
                if case not in best or figures["per_s"] > best[case]["per_s"]:
                    best[case] = figures
    return best


def printed_by(*words: str) -> list[dict[str, Any]]:
    """The JSON objects that another script of this folder prints."""
    command = [sys.executable, str(ROOT / "bench" / words[0]), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench: {words[0]} failed\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def real_nodes(quick: bool, console: Console) -> dict[str, Any]:
    """The performance of nodes over UDP: bench/net.py, and floods by bench/flood.py."""
    with console.status("real nodes"):
        (node,) = printed_by("net.py")
        floods = (
            printed_by("flood.py", "--seconds", "3", "garbage") if quick else printed_by("flood.py", "--seconds", "10")
        )
    return {**node, "floods": floods}


def laboratory(quick: bool, console: Console) -> dict[str, Any]:
    """A campaign without Spark, the overhead of Spark in one, and how fast logs and traces are processed."""
    with console.status("the laboratory"):
        results = {"local": printed_by("lab.py", "local")[0], "overhead": printed_by("lab.py", "overhead")[0]}
        if not quick:
            results |= {"rows": printed_by("lab.py", "rows")[0], "traces": printed_by("lab_traces.py")[0]}
    return results


def compare(figures: Figures) -> list[dict[str, Any]]:
    """Rows of what is compared, the ratio, and the required ratio."""
    rows: list[dict[str, Any]] = []

    def add(what: str, over: str, under: str, asked: str, *, inverse: bool = False) -> None:
        if over in figures and under in figures:
            ratio = figures[over]["per_s"] / figures[under]["per_s"]
            rows.append({"what": what, "ratio": round(1 / ratio if inverse else ratio, 3), "asked": asked})

    add("receptions per second, compiled / yardstick", "field-500", "yardstick", "at least 2.5")
    add("receptions per second, pure Python / yardstick", "pure field-500", "yardstick", "at least 0.4")
    add("random waypoint (dense middle) / yardstick", "field-500-waypoint", "yardstick", "")
    add("cost per reception, 10,000 nodes / 500", "field-10000", "field-500", "at most 2", inverse=True)
    add("cost per reception, 100 nodes / 500", "field-100", "field-500", "", inverse=True)
    add("cost per reception, two-ray with capture / disc", "field-500-two-ray", "field-500", "at most 3", inverse=True)
    add("the same, sensing 2.2 times as far", "field-500-two-ray-sensing", "field-500", "", inverse=True)
    add("cost per reception in a LoRa mesh, its MAC / DCF", "mesh-100", "mesh-100-dcf", "", inverse=True)
    if "mesh-100" in figures:
        what, asked = "600 s of a LoRa mesh of 100 nodes, s of processor time", "at most 0.07"
        rows.append({"what": what, "ratio": round(figures["mesh-100"]["run_s"], 4), "asked": asked})
    add("rezende, psamanet II: rate / yardstick", "rezende-psamanet", "yardstick", "at least 0.5")
    if "field-10000" in figures:
        memory = figures["field-10000"]["memory_mib"] / 1024
        rows.append({"what": "memory of 10,000 nodes, GiB", "ratio": round(memory, 3), "asked": "at most 1"})
    add("cost per reception, only unicast / only broadcast", "bare-unicast", "bare-broadcast", "", inverse=True)
    for name in PROTOCOLS:
        add(f"cost per reception, {name} / gossip", f"protocol-{name}", "field-500", "at most 4", inverse=True)
    for name, home in HOMES.items():
        add(f"the same on {home}, {name} / gossip", f"{home}-{name}", f"{home}-gossip", "at most 4", inverse=True)
    for name in PROTOCOLS:
        add_decoded(rows, figures, "the yardstick's world", f"protocol-{name}", "field-500", name)
    for name, home in HOMES.items():
        add_decoded(rows, figures, home, f"{home}-{name}", f"{home}-gossip", name)
    return rows


def add_decoded(rows: list[dict[str, Any]], figures: Figures, where: str, case: str, gossip: str, name: str) -> None:
    """A frame for one neighbour is received once, but every radio in range decodes it: the cost per decoded frame."""
    if case in figures and gossip in figures and figures[case]["overheard"]:
        cost, base = (f["run_s"] / (f["receptions"] + f["overheard"]) for f in (figures[case], figures[gossip]))
        what = f"cost per frame that a radio decodes, on {where}, {name} / gossip"
        rows.append({"what": what, "ratio": round(cost / base, 3), "asked": ""})


def show(figures: Figures, comparisons: list[dict[str, Any]]) -> None:
    console = Console()
    table = Table("case", "receptions", "losses", "run s", "whole s", "receptions/s", "MiB", title="best of the rounds")
    for case, f in figures.items():
        counts = (f"{f['receptions']:,}", f"{f.get('losses', 0):,}")
        times = (f"{f['run_s']:.3f}", f"{f['whole_s']:.3f}", f"{f['per_s']:,.0f}")
        table.add_row(case, *counts, *times, f"{f['memory_mib']:.0f}")
    console.print(table)
    ratios = Table("ratio", "measured", "asked", title="comparisons")
    for row in comparisons:
        ratios.add_row(row["what"], f"{row['ratio']:.2f}", row["asked"])
    console.print(ratios)


def show_net(net: dict[str, Any]) -> None:
    table = Table("real nodes", "measured", title="over UDP, encrypted and signed")
    for what, rate in net["datagrams_per_s"].items():
        table.add_row(f"datagrams per second and core: {what}", f"{rate:,}")
    table.add_row("one hop on loopback, p50 and p99, ms", f"{net['hop']['p50_ms']} {net['hop']['p99_ms']}")
    table.add_row("memory at rest, MB", f"{net['memory_at_rest_mb']}")
    for flood in net["floods"]:
        before, _, after = flood["memory_kb"]
        result = f"{flood['sent_per_s']:,}/s; {flood['delivered']} of {flood['published']} events delivered"
        table.add_row(f"flood of {flood['flood']}", f"{result}; memory {after - before:+,} kB")
    Console().print(table)


def show_lab(lab: dict[str, Any]) -> None:
    table = Table("laboratory", "measured", "asked", title="on two cores, after Spark has started")
    alone, overhead = lab["local"], lab["overhead"]
    what = f"{alone['runs']} runs of {alone['runs_cpu_s'] / alone['runs']:.2f} s: roamcast campaign --local, s"
    table.add_row(what, f"{alone['s']:.2f}", "under 3")
    what = f"{overhead['runs']} short runs through Spark / in plain multiprocessing"
    table.add_row(f"{what}, first round", f"{overhead['first_ratio']:.2f}", "at most 1.15")
    table.add_row("the same, best rounds", f"{overhead['ratio']:.2f}", "at most 1.15")
    table.add_row("the same, best rounds, of runs that take a quarter of that", f"{overhead['tiny']['ratio']:.2f}", "")
    table.add_row("the whole campaign with its tables, best rounds", f"{overhead['campaign_ratio']:.2f}", "")
    if "rows" in lab:
        rows, traces = lab["rows"], lab["traces"]
        table.add_row(f"metrics of a log of {rows['rows']:,} rows, rows/s", f"{rows['rows_per_s']:,.0f}", "")
        memory = ", ".join(f"{rows[part]:.0f}" for part in ("driver_mib", "heap_mib_at_work", "java_mib"))
        table.add_row("memory of the driver, MiB: its Python, its Java's heap, all of Java", memory, "flat in rows")
        for name, rate in traces.items():
            table.add_row(f"traces: {name}", f"{rate:,.0f}" if isinstance(rate, float) else f"{rate}", "")
    Console().print(table)


if __name__ == "__main__":
    main()
