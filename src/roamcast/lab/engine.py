"""What does the runs of a campaign: Spark (spark/engine.py), or a pool of processes on this machine (local/engine.py).

`conduct` decides what is to be done and writes the tables; an engine does it. Both call the same function for a run
(`simulate.one`), so a folder that one engine has begun can be finished by the other, and the tables are the same
bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from roamcast.lab.plan import Run
from roamcast.lab.tables.folder import Folder

Tallies = dict[str, dict[str, Any]]
"""What runs counted, by run."""
Limits = Callable[[Run], float]
"""How many seconds a run may take; 0: for ever."""


class Engine(Protocol):
    def simulate(self, runs: Sequence[Run], folder: Folder, limits: Limits) -> Tallies:
        """Do these runs, and return what the finished ones counted, as far as it came back with them.

        A RoamcastError means that the engine gave up before all had ended, most likely because workers died. What has
        ended by then is in the folder, and so is what was begun. Interrupted means that it was not the runs' fault.
        """

    def damaged(self, runs: Sequence[str], folder: Folder) -> dict[str, str]:
        """The objects with logs of these runs in which a row cannot be read, and why."""

    def measured(self, runs: Sequence[Run], tallies: Tallies, folder: Folder) -> Tallies:
        """The metrics of distinct, finished runs whose logs have frames, under the names of a tally. Empty for a run
        whose log has only been looked at: then what it counted itself holds.

        A RoamcastError means that a log could not be read.
        """

    def is_measured(self, metrics: Mapping[str, Any]) -> bool:
        """Whether what an engine once measured of a run is what this one would measure."""
