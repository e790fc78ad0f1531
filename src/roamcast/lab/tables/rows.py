"""Rows of the tables `runs` and `metrics`, from planned runs and what they counted. Maps are dictionaries in them.

`chosen` has the settings of all cells that get into the table, so that their columns have one type; without it, a row
has the values of its own cell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from roamcast.lab import plan
from roamcast.lab.campaign import Campaign
from roamcast.lab.plan import Run
from roamcast.lab.tables.columns import Chosen
from roamcast.log import catalogue

Row = dict[str, Any]
COUNTED = (*(metric.name for metric in catalogue.METRICS), "fingerprint")
"""The columns of the metrics table behind the coordinates."""


def of_run(
    run: Run, tally: Mapping[str, Any] | None, failure: Mapping[str, Any] | None, chosen: Chosen | None = None
) -> Row:
    """For the table of runs; `failure` is the record of one that raised."""
    cell = run.cell
    status = "finished" if tally is not None else "failed" if failure is not None else "planned"
    return {
        **_coordinates(run, chosen),
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


def of_metrics(run: Run, tally: Mapping[str, Any], chosen: Chosen | None = None) -> Row:
    """For the metrics table. Counts by name are in the order of the names, whoever counted."""
    counted = {name: tally[name] for name in COUNTED}
    in_order = {name: dict(sorted(value.items())) for name, value in counted.items() if isinstance(value, dict)}
    return {**_coordinates(run, chosen), **counted, **in_order}


def _coordinates(run: Run, chosen: Chosen | None) -> Row:
    return {"run": run.id, **of_cell(run.campaign, run.place, chosen), "seed": run.seed}


def of_cell(campaign: Campaign, place: int, chosen: Chosen | None = None) -> Row:
    """The coordinates that all runs of a cell have."""
    cell = campaign.cells[place]
    return {
        "campaign": campaign.name,
        "preset": campaign.preset,
        "reading": campaign.reading,
        "cell": place,
        "protocol": cell.protocol,
        "label": cell.label,
        **(chosen or Chosen([cell])).of(cell),
        "nodes": cell.scenario.nodes,
    }
