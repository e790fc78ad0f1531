"""Gossip by roamcast and by ns-3, in the same worlds.

Both count processor time (user and system) of their event loops. What comes before is not counted on either side:
starting the program, reading its input, making nodes. In every round both simulate each world, one after the other, and
the least times of all rounds are compared. ns-3 does so twice: with frames that go straight to the device, and through
UDP sockets. The two simulators draw other random numbers, so the work is not exactly the same. The table has frames,
receptions, losses and deliveries beside each other, and the ratios are those of the costs of a reception.
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
NAMES = {"roamcast": "roamcast", "ns3": "ns-3", "udp": "ns-3, UDP"}


def compare(here: Checkout, names: list[str], rounds: int, console: Console) -> list[Row]:
    built = program.build()
    rows = []
    with console.status("") as status:
        for name in names:
            status.update(f"{name}: writing the world for ns-3")
            case = worlds.CASES[name]
            file = program.OUT / f"{name}.world"
            exchange.write(file, case.scenario(), case.params(), worlds.SEED)
            hearers = program.run(built, file, "audit")["hearers"]
            ours: list[Figures] = []
            theirs: list[Figures] = []
            through_udp: list[Figures] = []
            for turn in range(1, rounds + 1):
                status.update(f"{name}: round {turn} of {rounds}")
                ours.append(here.run(f"ns3-{name}"))
                theirs.append({**program.run(built, file), "hearers": hearers})
                through_udp.append({**program.run(built, file, "udp"), "hearers": hearers})
            figures = (least(each) for each in (ours, theirs, through_udp))
            rows.append(row(name, case.scenario().nodes, case.asked, *figures))
    return rows


def least(figures: list[Figures]) -> Figures:
    return min(figures, key=lambda f: float(f["run_s"]))


def row(name: str, nodes: int, asked: int, ours: Figures, theirs: Figures, through_udp: Figures) -> Row:
    """One world. The ratios are how many times as much processor time a reception costs ns-3."""
    return {
        "world": name.removesuffix(worlds.SHORT),
        "nodes": nodes,
        "roamcast": {**counts(ours), "lost": share(ours["losses"], ours["receptions"] + ours["losses"])},
        "ns3": of_ns3(theirs),
        "udp": of_ns3(through_udp),
        "interested": ours["interested"],
        "ratio": round(cost(theirs) / cost(ours), 1),
        "udp_ratio": round(cost(through_udp) / cost(ours), 1),
        "whole_ratio": round(theirs["whole_s"] / ours["whole_s"], 1),
        "asked": asked,
    }


def of_ns3(figures: Figures) -> Figures:
    return {**counts(figures), "lost": share(figures["hearers"] - figures["receptions"], figures["hearers"])}


def cost(figures: Figures) -> float:
    """Of a reception, in seconds."""
    return float(figures["run_s"]) / max(1, figures["receptions"])


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
    """The cells of a table: three lines for each world."""
    cells = []
    for r in rows:
        asked = f"at least {r['asked']:,}" if r["asked"] else ""
        cells.append([r["world"], f"{r['nodes']:,}", *cells_of(r, "roamcast"), "", asked])
        cells.append(["", "", *cells_of(r, "ns3"), f"{r['ratio']:.0f}", ""])
        cells.append(["", "", *cells_of(r, "udp"), f"{r['udp_ratio']:.0f}", ""])
    return cells


def cells_of(r: Row, simulator: str) -> list[str]:
    f = r[simulator]
    counted = [f"{f['frames']:,}", f"{f['receptions']:,}", f"{f['lost']:.1%}"]
    return [NAMES[simulator], *counted, f"{share(f['deliveries'], r['interested']):.1%}", f"{f['run_s']:.4f}"]
