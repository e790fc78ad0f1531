"""What a full reproduction of the papers takes: `python bench/papers.py [PAPER …] [--every N]`.

A full reproduction is some 120,000 runs, of the experiments and of other readings. This does one run of each cell, as a
worker does it, and counts it as often as the cell has seeds. With `--every N` only one cell in N is run, and the others
are estimated from these by what the plan expects them to cost (lab/plan.py). Left out is what is done beside the runs:
counting again from logs, deciding with further seeds (three runs in a hundred), tables and Spark.

Prints a line for each paper, in minutes of processor time, and the costliest cells.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from roamcast.lab import plan
from roamcast.lab.plan import Run
from roamcast.lab.reproduce import campaigns_of, sensitivity_of
from roamcast.lab.simulate import all_done, task
from roamcast.lab.tables.folder import Folder
from roamcast.papers import experiments

COSTLIEST = 10


class Cell(NamedTuple):
    """One run of a cell, and how many the cell has."""

    run: Run
    seeds: int

    @property
    def expected_s(self) -> float:
        return self.run.cost_s * self.seeds


def cells(paper: str) -> list[Cell]:
    """Of all experiments of a paper, each once; in the order in which a worker would do them."""
    names = experiments.names([paper])
    runs = {run.id: run for campaign in all_campaigns(names) for run in plan.runs(campaign)}
    by_cell: dict[str, list[Run]] = {}
    for run in runs.values():
        by_cell.setdefault(f"{run.campaign.level} {run.cell!r}", []).append(run)
    taken = [Cell(some[0], len(some)) for some in by_cell.values()]
    return sorted(taken, key=lambda cell: (-cell.run.cost_s, cell.run.world, cell.run.id))


def all_campaigns(names: list[str]) -> Iterator[plan.Campaign]:
    yield from campaigns_of(names, "full")
    yield from sensitivity_of(names)


def measured_s(chosen: Iterable[Cell]) -> Iterator[tuple[Cell, float]]:
    """Seconds of processor time of each run, with all that a worker does for it."""
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(Path(path))
        with folder.held():
            for cell in chosen:
                began = time.process_time()
                for done in (done for some in all_done(folder, [task(cell.run)], noting=False) for done in some):
                    if done.error is not None:
                        raise SystemExit(f"{cell.run.command()}: {done.error}")
                yield cell, time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="by default all, and the league")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run one cell in N")
    asked = parser.parse_args()
    total_s = 0.0
    for paper in asked.papers or [*experiments.PAPERS, experiments.LEAGUE]:
        every = cells(paper)
        measured = list(measured_s(every[:: asked.every]))
        taken_s = sum(seconds * cell.seeds for cell, seconds in measured)
        whole_s = taken_s * sum(c.expected_s for c in every) / sum(c.expected_s for c, _ in measured)
        total_s += whole_s
        print(f"{paper}: {whole_s / 60:.1f} min, {sum(c.seeds for c in every):,} runs of {len(every)} cells")
        for cell, seconds in sorted(measured, key=lambda each: -each[1] * each[0].seeds)[:COSTLIEST]:
            share = seconds * cell.seeds / taken_s
            print(f"  {share:4.0%}  {cell.seeds} x {seconds:.2f} s  {cell.run.campaign.name}  {cell.run.command()}")
    print(f"all: {total_s / 60:.1f} min")


if __name__ == "__main__":
    main()
