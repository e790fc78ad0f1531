"""The speed on this machine: `make bench`, or `python bench/run.py [--quick] [--keep] [--against PATH] [CASE ...]`.

Machines are shared and noisy. So every figure is the best of several rounds in which the cases take turns, and only
ratios within one run are compared. The yardstick is a minimal event loop in plain Python that floods a network of
moving nodes. Its path is ROAMCAST_YARDSTICK, or a folder beside the checkout; without it there are only absolute
figures.

Writes out/bench.json and the page out/bench.html, and prints tables. Where ns-3 is installed, roamcast is compared with
it as well (ns3/); `--ns3` does only this. With `--keep` the ratios become a line of bench/history.jsonl, and every run
says which ratios have moved since the last line. With `--against PATH` it only compares the simulator with that of
another checkout, and writes out/against.json.
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
import history
import page
from cases import CASES, HOMES, PROTOCOLS
from checkout import PURE, Checkout
from ns3 import compare as ns3
from ns3 import program, worlds
from ratios import SIZES, against_ns3, compare
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
    measured = history.commit()
    with tempfile.TemporaryDirectory() as folder:
        here = Checkout(ROOT, Path(folder))
        if options.against:
            there = Checkout(options.against.resolve(), Path(folder))
            rows = against.compare(here, there, [case for case in cases if case != "yardstick"], rounds, console)
            against.show(rows, options.against)
            write("against", rows, console)
            return
        results = simulator(here, options, cases, rounds, console)
    if options.keep:
        history.keep(history.line(results["comparisons"], options.quick, measured))
    if not (options.cases or options.ns3):
        results["net"] = real_nodes(options.quick, console)
        show_net(results["net"])
        results["lab"] = laboratory(options.quick, console)
        show_lab(results["lab"])
    write("bench", results, console)
    (OUT / "bench.html").write_text(page.html(results), encoding="utf-8")
    console.print(f"as a page: {OUT / 'bench.html'}")


def simulator(
    here: Checkout, options: argparse.Namespace, cases: list[str], rounds: int, console: Console
) -> dict[str, Any]:
    """Measure the cases, and ns-3 beside roamcast; show the tables."""
    figures = {} if options.ns3 else measure(here, cases, rounds, console)
    compared = with_ns3(here, options, console) if options.ns3 or not options.cases else []
    rows = [*compare(figures), *against_ns3(compared)]
    if figures:
        show(figures, rows)
    if compared:
        ns3.show(compared)
    before = history.last(options.quick)
    changes = history.moved(before, rows) if before else []
    if before:
        show_changes(changes, history.named(before))
    since = history.named(before) if before else ""
    return {"figures": figures, "comparisons": rows, "ns3": compared, "since": since, "changes": changes}


def with_ns3(here: Checkout, options: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    """Without ns-3, a line that says so."""
    absent = program.missing()
    if not absent:
        try:
            return ns3.compare(here, worlds.names(options.quick), options.rounds or 3, console)
        except program.Failed as failed:
            absent = f"not compared with ns-3: {failed}"
    console.print(absent, markup=False)
    return []


def write(name: str, results: Any, console: Console) -> None:
    path = OUT / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")
    console.print(f"written to {path}")


def asked_for() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two rounds, fewer cases, shorter runs of ns-3")
    parser.add_argument("--rounds", type=int, default=0, help="rounds (5, or 2 with --quick)")
    parser.add_argument("--keep", action="store_true", help="add the ratios to bench/history.jsonl")
    parser.add_argument("--ns3", action="store_true", help="only compare with ns-3")
    what = "compare the simulator with that of another checkout, which is compiled too (`make setup`), case by case"
    parser.add_argument("--against", type=Path, metavar="PATH", help=what)
    what = "only these cases (bench/cases.py names them); 'pure NAME' runs one as plain Python"
    parser.add_argument("cases", nargs="*", metavar="CASE", help=what)
    options = parser.parse_args()
    if options.keep and (options.cases or options.ns3 or options.against):
        parser.error("--keep is for a run of everything, so that every line of the history has all ratios")
    for case in options.cases:
        if case.removeprefix(PURE) not in CASES:
            parser.error(f"no case {case!r}; there are {', '.join(CASES)}")
    return options


def plan(quick: bool) -> list[str]:
    cases = ["field-500", f"{PURE}field-500", "field-500-waypoint"]
    if yardstick() is not None:
        cases.insert(0, "yardstick")
    cases += ["field-500-two-ray", "small-runs", "field-100", "field-1000"]
    if not quick:
        cases += [f"field-{nodes}" for nodes in SIZES if nodes > 1000]
        cases += ["field-500-two-ray-sensing"]
        cases += ["mesh-100", "bare-broadcast", "bare-unicast"]
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


def show_changes(changes: list[str], since: str) -> None:
    console = Console()
    console.print(f"moved by more than {history.MOVED:.0%} since {since}:" if changes else f"as it was in {since}")
    for change in changes:
        console.print(f"  {change}", markup=False)


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
