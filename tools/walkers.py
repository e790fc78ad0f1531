"""A trace of forty walkers who stagger about for two hours, as CSV: `python tools/walkers.py walkers.csv`."""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random

WALKERS, SIDE_M, STEP_M = 40, 600.0, 25.0
UNTIL_S, EVERY_S = 7200, 20


def main() -> None:
    parser = argparse.ArgumentParser(description="A trace of forty walkers.")
    parser.add_argument("trace", type=Path)
    parser.add_argument("--check", action="store_true", help="only whether these arguments make sense")
    asked = parser.parse_args()
    if not asked.check:
        asked.trace.write_text("\n".join(positions()) + "\n")


def positions() -> list[str]:
    """Lines `t,node,x,y` in order of time."""
    random, lines = Random(1), []
    for node in range(WALKERS):
        x, y = random.uniform(0, SIDE_M), random.uniform(0, SIDE_M)
        for t in range(0, UNTIL_S, EVERY_S):
            lines.append((t, f"{t},w{node},{x:.1f},{y:.1f}"))
            x, y = (min(SIDE_M, max(0, at + random.gauss(0, STEP_M))) for at in (x, y))
    return [line for _, line in sorted(lines)]


if __name__ == "__main__":
    main()
