"""This checkout against another one: `python bench/run.py --against PATH [CASE ...]`.

In every round each case runs in both checkouts, which take turns in being first, so that both get the same share of a
noisy machine. What is compared is the least processor time of all rounds, and equal fingerprints show that both
checkouts simulated the same.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from checkout import PURE, Checkout, Figures
from rich.console import Console
from rich.table import Table


def compare(here: Checkout, there: Checkout, cases: list[str], rounds: int, console: Console) -> list[dict[str, Any]]:
    if not (there.root / "bench" / "cases.py").exists():
        sys.exit(f"bench: {there.root} is not a checkout with benchmarks (it has no bench/cases.py)")
    mine: dict[str, Figures] = {}
    others: dict[str, Figures] = {}
    with console.status("") as status:
        for turn in range(1, rounds + 1):
            for case in cases:
                status.update(f"round {turn} of {rounds}: {case}")
                turns = [(here, mine), (there, others)]
                for checkout, best in turns if turn % 2 else reversed(turns):
                    keep_least(best, case, figures_of(checkout, case))
    return [row(case, mine[case], others[case]) for case in cases]


def figures_of(checkout: Checkout, case: str) -> Figures:
    figures = checkout.run(case)
    if not figures["compiled"] and not case.startswith(PURE):
        sys.exit(f"bench: {checkout.root} is not compiled; type `make setup` there")
    return figures


def keep_least(best: dict[str, Figures], case: str, figures: Figures) -> None:
    if case not in best or figures["run_s"] < best[case]["run_s"]:
        best[case] = figures


def row(case: str, here: Figures, there: Figures) -> dict[str, Any]:
    """The ratio is that of the costs of a reception: above 1, this checkout is slower."""
    return {
        "case": case,
        "there_s": there["run_s"],
        "here_s": here["run_s"],
        "ratio": round(there["per_s"] / here["per_s"], 3),
        "same": here["fingerprint"] == there["fingerprint"],
    }


def show(rows: list[dict[str, Any]], other: Path) -> None:
    table = Table("case", "there, s", "here, s", "here / there", "fingerprints", title=f"against {other}")
    for r in rows:
        same = "equal" if r["same"] else "differ"
        table.add_row(r["case"], f"{r['there_s']:.3f}", f"{r['here_s']:.3f}", f"{r['ratio']:.3f}", same)
    Console().print(table)
