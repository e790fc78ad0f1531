"""What short runs cost beside their events: the case `small-runs` of cases.py.

A worker of `roamcast campaign` does many short runs one after the other, in one process. Each builds its world, lets
the events happen, walks through the contacts once more for what was possible, adds up its metrics, and hands over its
tally. Only the events are what somebody wants to know about.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

from roamcast.lab import plan
from roamcast.lab.campaign import parse
from roamcast.lab.simulate import all_done, task
from roamcast.lab.tables.folder import Folder
from roamcast.world import simulate

CAMPAIGN = """
name = "small"
preset = "baldoni"
seeds = 50
[world]
duration_s = 90.0
publish_from_s = 10.0
[[protocol]]
name = "gossip"
set = { p = [0.4, 0.6, 0.8, 1.0] }
"""
"""Runs of about 20 ms."""
WARM = 20
PHASES = {
    "build": "building the world",
    "Workload": "drawing publications",
    "_go": "events",
    "what_was_possible": "what was possible",
}
"""Functions of `roamcast.world.simulate`, and what they do; whatever a run does besides is `the rest`."""


def small_runs() -> dict[str, Any]:
    """Processor time of 200 runs, as one worker does them, by phase."""
    spent_s = dict.fromkeys(PHASES.values(), 0.0)
    for name, phase in PHASES.items():
        setattr(simulate, name, timed(getattr(simulate, name), phase, spent_s))
    tasks = [task(run) for run in plan.runs(parse(CAMPAIGN))]
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(Path(path))
        with folder.held():
            tallies(folder, tasks[:WARM])
            spent_s.update(dict.fromkeys(spent_s, 0.0))
            began = time.process_time()
            counted = tallies(folder, tasks[WARM:])
            whole_s = time.process_time() - began
    spent_s["the rest"] = whole_s - sum(spent_s.values())
    receptions = sum(tally["receptions"] for tally in counted)
    fingerprints = "".join(sorted(tally["fingerprint"] for tally in counted))
    return {
        "runs": len(counted),
        "receptions": receptions,
        "overheard": 0,
        "losses": sum(tally["losses"] for tally in counted),
        "run_s": spent_s["events"],
        "whole_s": whole_s,
        "per_s": receptions / whole_s,
        "share": spent_s["events"] / whole_s,
        "ms_by_phase": {phase: round(1e3 * s / len(counted), 3) for phase, s in spent_s.items()},
        "fingerprint": blake2b(fingerprints.encode(), digest_size=16).hexdigest(),
    }


def timed(function: Callable[..., Any], phase: str, spent_s: dict[str, float]) -> Callable[..., Any]:
    def measured(*arguments: Any) -> Any:
        began = time.process_time()
        try:
            return function(*arguments)
        finally:
            spent_s[phase] += time.process_time() - began

    return measured


def tallies(folder: Folder, tasks: list[Any]) -> list[dict[str, Any]]:
    """What the runs counted."""
    ended = [done for some in all_done(folder, tasks, noting=False) for done in some]
    return [json.loads(done.tally) for done in ended if done.tally is not None]
