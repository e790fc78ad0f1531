"""Rows of the tables `runs` and `metrics`, from planned runs and what they counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from roamcast.lab import plan
from roamcast.lab.plan import Run
from roamcast.lab.tables import schemas


def of_run(run: Run, tally: Mapping[str, Any] | None, failure: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """For the table of runs; `failure` is the record of one that raised."""
    cell = run.cell
    status = "finished" if tally is not None else "failed" if failure is not None else "planned"
    return (
        *_coordinates(run),
        cell.scenario.duration_s,
        run.campaign.level,
        msgspec.json.encode(cell.scenario).decode(),
        json.dumps(cell.params),
        plan.cell_version(cell),
        status,
        failure["error"] if failure is not None and tally is None else None,
        run.command(),
        tally["wall_s"] if tally is not None else None,
        tally["cpu_s"] if tally is not None else None,
    )


def as_dict(run: Run, tally: Mapping[str, Any]) -> dict[str, Any]:
    """A finished run as the metrics table will have it."""
    columns = zip(schemas.METRICS.fieldNames(), of_metrics(run, tally), strict=True)
    return {name: dict(value) if isinstance(value, list) else value for name, value in columns}


def _coordinates(run: Run) -> tuple[Any, ...]:
    cell = run.cell
    return (
        run.id,
        run.campaign.name,
        run.campaign.preset,
        run.campaign.reading,
        run.place,
        cell.protocol,
        cell.label,
        texts(cell.given),
        texts(cell.world),
        run.seed,
        cell.scenario.nodes,
    )


def texts(values: dict[str, Any]) -> list[tuple[str, str]]:
    """As Arrow takes a map."""
    return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in values.items()]


def of_metrics(run: Run, tally: Mapping[str, Any]) -> tuple[Any, ...]:
    """For the metrics table."""
    counted = (tally[name] for name in schemas.METRICS.fieldNames()[len(schemas.COORDINATES) :])
    return (*_coordinates(run), *(list(value.items()) if isinstance(value, dict) else value for value in counted))
