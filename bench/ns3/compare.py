"""Gossip by roamcast and by ns-3, in the same worlds.

Both count processor time (user and system) of their event loops. What comes before is not counted on either side:
starting the program, reading its input, making nodes. In every round both simulate each world, one after the other, and
the least times of all rounds are compared. They draw other random numbers, so the work is not exactly the same. The
table has frames, receptions, losses and deliveries of both beside each other, and the ratio is that of the costs of a
reception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from . import exchange, program, worlds

if TYPE_CHECKING:
    from bench.checkout import Checkout

Figures = dict[str, Any]
Row = dict[str, Any]
HEADS = ("world", "nodes", "", "frames", "receptions", "lost", "delivered", "run s", "ns-3 / roamcast", "asked")
WIDTH = 110
NAMES = {"roamcast": "roamcast", "ns3": "ns-3"}


def compare(here: Checkout, names: list[str], rounds: int, console: Console) -> list[Row]:
    built = program.build()
    rows = []
    with console.status("") as status:
        for name in names:
            status.update(f"{name}: writing the world for ns-3")
            case = worlds.CASES[name]
            file = program.OUT / f"{name}.world"
            exchange.write(file, case.scenario(), case.params(), worlds.SEED)
            hearers = program.run(built, file, audit=True)["hearers"]
            ours, theirs = [], []
            for turn in range(1, rounds + 1):
                status.update(f"{name}: round {turn} of {rounds}")
                ours.append(here.run(f"ns3-{name}"))
                theirs.append({**program.run(built, file), "hearers": hearers})
            rows.append(row(name, case.scenario().nodes, case.asked, least(ours), least(theirs)))
    return rows


def least(figures: list[Figures]) -> Figures:
    return min(figures, key=lambda f: float(f["run_s"]))


def row(name: str, nodes: int, asked: int, ours: Figures, theirs: Figures) -> Row:
    """One world. `ratio` is how many times as much processor time a reception costs ns-3."""
    cost, their_cost = (f["run_s"] / max(1, f["receptions"]) for f in (ours, theirs))
    return {
        "world": name.removesuffix(worlds.SHORT),
        "nodes": nodes,
        "roamcast": {**counts(ours), "lost": share(ours["losses"], ours["receptions"] + ours["losses"])},
        "ns3": {**counts(theirs), "lost": share(theirs["hearers"] - theirs["receptions"], theirs["hearers"])},
        "interested": ours["interested"],
        "ratio": round(their_cost / cost, 1),
        "whole_ratio": round(theirs["whole_s"] / ours["whole_s"], 1),
        "asked": asked,
    }


def counts(figures: Figures) -> dict[str, Any]:
    return {name: figures[name] for name in ("frames", "receptions", "deliveries", "run_s", "whole_s")}


def share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def show(rows: list[Row]) -> None:
    table = Table(*HEADS, title="the same gossip in roamcast and ns-3")
    for line in lines(rows):
        table.add_row(*line)
    Console(width=max(WIDTH, Console().width)).print(table)


def lines(rows: list[Row]) -> list[list[str]]:
    """The cells of a table: two lines for each world."""
    cells = []
    for r in rows:
        asked = f"at least {r['asked']:,}" if r["asked"] else ""
        cells.append([r["world"], f"{r['nodes']:,}", *cells_of(r, "roamcast"), f"{r['ratio']:.0f}", asked])
        cells.append(["", "", *cells_of(r, "ns3"), "", ""])
    return cells


def cells_of(r: Row, simulator: str) -> list[str]:
    f = r[simulator]
    counted = [f"{f['frames']:,}", f"{f['receptions']:,}", f"{f['lost']:.1%}"]
    return [NAMES[simulator], *counted, f"{share(f['deliveries'], r['interested']):.1%}", f"{f['run_s']:.4f}"]
