"""What does the runs of a campaign: Spark (spark/engine.py), or a pool of processes on this machine (local/engine.py).

`conduct` decides what is to be done and writes the tables; an engine does it. Both call the same function for a run
(`simulate.done`), so a folder that one engine has begun can be finished by the other, and the tables are the same
bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from roamcast.lab.plan import Run
from roamcast.lab.tables.folder import Folder

Tallies = dict[str, dict[str, Any]]
"""What runs counted, by run."""
WITH_FRAMES = ("frames", "full")
"""Levels whose logs have all that metrics need."""


class Engine(Protocol):
    def simulate(self, runs: Sequence[Run], folder: Folder) -> Tallies:
        """Do these runs, and return what the finished ones counted, as far as their files can be read.

        A RoamcastError means that the engine gave up before all had ended, most likely because workers died. What has
        ended by then is in the folder, and so is what was begun.
        """

    def tallies(self, runs: Sequence[str], folder: Folder, *, all_rows: bool = False) -> tuple[Tallies, dict[str, str]]:
        """What finished runs counted, from their files; and of files that cannot be read, why. `all_rows`: also look
        at every row."""

    def measured(self, runs: Sequence[Run], tallies: Tallies, folder: Folder) -> Tallies:
        """The metrics of distinct, finished runs whose logs have frames, under the names of a tally.

        A RoamcastError means that a log could not be read.
        """
