"""Folders of results that nobody simulated: tables and scorecards as the laboratory would have written them."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from roamcast.cli.options import typed_value
from roamcast.judging import settings
from roamcast.judging import verdicts as verdicts_of
from roamcast.judging.answers import Answer
from roamcast.judging.verdicts import Verdict
from roamcast.log.catalogue import METRICS
from roamcast.log.metric import WHOLE

Row = dict[str, Any]

COUNTS = pa.map_(pa.string(), pa.int64())
KINDS = {
    "frames_by_kind": COUNTS,
    "losses_by_reason": COUNTS,
    "reasons": COUNTS,
}


def row(
    label: str,
    cell: int,
    seed: int,
    campaign: str = "made-up",
    params: Mapping[str, str] | None = None,
    world: Mapping[str, str] | None = None,
    **known: Any,
) -> Row:
    """A finished run. A metric that is not given is None, 0 or empty. Settings are typed as their texts read."""
    chosen = settings.columns(_typed(params or {}), _typed(world or {}))
    metrics: Row = {m.name: 0 if m.kind in WHOLE else None for m in METRICS} | {name: {} for name in KINDS}
    about = {
        "campaign": campaign,
        "preset": "baldoni",
        "reading": "",
        "cell": cell,
        "protocol": label,
        "label": label,
        "seed": seed,
    }
    run = f"{campaign}.{cell}.{seed}"
    return metrics | about | {"run": run, "nodes": 100, "fingerprint": f"f{run}"} | chosen | known


def _typed(texts: Mapping[str, str]) -> Row:
    return {name: typed_value(text) for name, text in texts.items()}


def campaign(name: str, labels: Sequence[str], xs: Sequence[float] = (), x: str = "p", seeds: int = 3) -> list[Row]:
    """Curves that rise: the later the label, the more is delivered, for more frames."""
    made: list[Row] = []
    cell = 0
    for k, label in enumerate(labels):
        for at in xs or [0.0]:
            for seed in range(1, seeds + 1):
                noise = random.Random(f"{name} {label} {at} {seed}").gauss(0.0, 0.02)
                delivery = min(1.0, max(0.05, 0.25 + 0.45 * at + 0.5 * k / len(labels) + noise))
                about = {
                    "delivery": delivery,
                    "of_possible": min(1.0, delivery * 1.05),
                    "overhead": 2.0 + 3 * k + noise,
                    "latency_p50_s": 0.05 / (k + 1) + 0.01,
                    "energy_j": 5000.0 + 10 * k,
                    "bytes_sent": 100_000 * (k + 1),
                    "memory_bytes": 1000.0 * k,
                    "frames_sent": 400,
                    "frames_by_kind": {"event": 300, "beacon": 100},
                }
                made.append(row(label, cell, seed, name, params={x: f"{at:g}"} if xs else {}, **about))
            cell += 1
    return made


def verdict(id: str, paper: str, name: str, **known: Any) -> Verdict:
    holds = {verdicts_of.REPRODUCED: True, verdicts_of.NOT: False}.get(name)
    about: dict[str, Any] = {
        "where": "§VI, Fig. 11",
        "says": f"the claim {id} of paper {paper}",
        "published": "0.70 ± 0.05",
        "unit": "",
        "measured": 0.7,
        "low": 0.68,
        "high": 0.72,
        "seeds": 10,
        "reading": "few-beacon",
        "calibration": False,
        "why": "" if holds else "delivery of gossip: it is not",
        "caveat": "",
        "cause": "" if holds else "the medium is too good",
        "evidence": [],
        "answers": [Answer("delivery of gossip", 0.7, 0.68, 0.72, holds)],
    }
    return Verdict(id=id, paper=paper, verdict=name, **(about | known))


def folder(
    place: Path,
    rows: Sequence[Row],
    verdicts: Sequence[Verdict] | None = None,
    failed: int = 0,
    scale: str = "full",
) -> Path:
    """Write the tables that `roamcast report` reads."""
    _table(place / "metrics", rows, _schema(rows))
    runs = [_run(each, "finished") for each in rows] + [_run(each, "failed") for each in rows[:failed]]
    for each in runs[len(rows) :]:
        each["run"] += ".failed"
    _table(place / "runs", runs, _schema(runs))
    if verdicts is not None:
        verdicts_of.write(verdicts, scale, place)
    return place


def _run(about: Row, status: str) -> Row:
    kept = {name: about[name] for name in ("run", "campaign", "preset", "cell", "label", "seed", "nodes")}
    error = None if status == "finished" else "ValueError: <b>no</b>"
    rest = {
        "sim_s": 60.0,
        "code": "0.1.0+abcdef",
        "status": status,
        "error": error,
        "command": "roamcast run baldoni",
    }
    params = json.dumps({**settings.params(about), "jitter_ms": 10.0, "own": False})
    return kept | rest | {"cpu_s": 0.5 if status == "finished" else None, "all_params": params}


def _schema(rows: Sequence[Row]) -> pa.Schema:
    kinds = {m.name: pa.int64() if m.kind in WHOLE else pa.float64() for m in METRICS}
    kinds |= {"sim_s": pa.float64(), "cpu_s": pa.float64(), **KINDS}
    kinds |= dict.fromkeys(("seed", "cell", "nodes"), pa.int64())
    columns = dict.fromkeys(name for each in rows for name in each)
    kinds |= {name: _kind([each.get(name) for each in rows]) for name in columns if settings.is_setting(name)}
    return pa.schema([pa.field(name, kinds.get(name, pa.string())) for name in columns])


def _kind(values: Sequence[Any]) -> pa.DataType:
    given = [value for value in values if value is not None]
    return pa.float64() if all(isinstance(value, int | float) for value in given) else pa.string()


def _table(place: Path, rows: Sequence[Row], schema: pa.Schema) -> None:
    place.mkdir(parents=True, exist_ok=True)
    texts = {field.name for field in schema if pa.types.is_string(field.type) and settings.is_setting(field.name)}
    rows = [{k: settings.text(v) if k in texts else v for k, v in each.items()} for each in rows]
    plain = [{k: list(v.items()) if isinstance(v, dict) else v for k, v in each.items()} for each in rows]
    pq.write_table(pa.Table.from_pylist(plain, schema), place / "part-0.parquet")


def changed(verdict: Verdict, **fields: Any) -> Verdict:
    return msgspec.structs.replace(verdict, **fields)
