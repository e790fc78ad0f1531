"""Rows of the tables `runs` and `metrics`, from planned runs and what they counted. Maps are dictionaries in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from roamcast.lab import plan
from roamcast.lab.plan import Run
from roamcast.log import catalogue

Row = dict[str, Any]
COUNTED = (*(metric.name for metric in catalogue.METRICS), "fingerprint")
"""The columns of the metrics table behind the coordinates."""


def of_run(run: Run, tally: Mapping[str, Any] | None, failure: Mapping[str, Any] | None) -> Row:
    """For the table of runs; `failure` is the record of one that raised."""
    cell = run.cell
    status = "finished" if tally is not None else "failed" if failure is not None else "planned"
    return {
        **_coordinates(run),
        "sim_s": cell.scenario.duration_s,
        "level": run.campaign.level,
        "scenario": msgspec.json.encode(cell.scenario).decode(),
        "all_params": json.dumps(cell.params),
        "code": plan.cell_version(cell),
        "status": status,
        "error": failure["error"] if failure is not None and tally is None else None,
        "command": run.command(),
        "wall_s": tally["wall_s"] if tally is not None else None,
        "cpu_s": tally["cpu_s"] if tally is not None else None,
    }


def of_metrics(run: Run, tally: Mapping[str, Any]) -> Row:
    """For the metrics table. Counts by name are in the order of the names, whoever counted."""
    counted = {name: tally[name] for name in COUNTED}
    in_order = {name: dict(sorted(value.items())) for name, value in counted.items() if isinstance(value, dict)}
    return {**_coordinates(run), **counted, **in_order}


def _coordinates(run: Run) -> Row:
    cell = run.cell
    return {
        "run": run.id,
        "campaign": run.campaign.name,
        "preset": run.campaign.preset,
        "reading": run.campaign.reading,
        "cell": run.place,
        "protocol": cell.protocol,
        "label": cell.label,
        "params": texts(cell.given),
        "world": texts(cell.world),
        "seed": run.seed,
        "nodes": cell.scenario.nodes,
    }


def texts(values: dict[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}
