"""The scorecard: each claim of the papers against what was measured.

A claim is judged under each of its readings; a reading holds if all its checks do, fails if one does, and cannot be
decided otherwise. The claim is reproduced if its first reading holds: that is the project's own. Where only another
one holds, the scorecard says so, because that is what the numbers say about the paper's words. The more others there
are, the more likely one holds by chance, so they share the error that the first one has to itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from roamcast.lab import checks
from roamcast.lab.checks import Answer
from roamcast.lab.quantities import Row
from roamcast.lab.student import ALPHA
from roamcast.papers.claims import Claim, Reading

REPRODUCED = "reproduced"
OTHERWISE = "reproduced under another reading"
NOT = "not reproduced"
OPEN = "not decidable"
VERDICTS = (REPRODUCED, OTHERWISE, NOT, OPEN)


class Judged(msgspec.Struct, frozen=True):
    """A reading, and what the checks found."""

    reading: str
    holds: bool | None
    answers: list[Answer]


class Verdict(msgspec.Struct, frozen=True):
    id: str
    paper: str
    where: str
    says: str
    published: str
    verdict: str
    measured: float | None
    low: float | None
    high: float | None
    why: str
    readings: list[Judged]


def scorecard(claims: Sequence[Claim], rows: Mapping[str, Sequence[Row]]) -> list[Verdict]:
    """One verdict a claim. `rows` are the runs of each experiment that was run, rows of the metrics table."""
    return [judge(claim, rows) for claim in claims]


def judge(claim: Claim, rows: Mapping[str, Sequence[Row]]) -> Verdict:
    own, *others = claim.reading
    first = _judged(own, rows, ALPHA)
    readings = [first, *(_judged(reading, rows, ALPHA / len(others)) for reading in others)]
    shown = _telling(first)
    return Verdict(
        id=claim.id,
        paper=claim.paper,
        where=claim.where,
        says=claim.says,
        published=claim.published,
        verdict=_verdict(readings),
        measured=shown.measured,
        low=shown.low,
        high=shown.high,
        why=_why(claim, readings, shown),
        readings=readings,
    )


def _judged(reading: Reading, rows: Mapping[str, Sequence[Row]], alpha: float) -> Judged:
    found: list[Answer] = []
    for check in reading.check:
        experiment = check.get("experiment", "")
        if experiment and experiment not in rows:
            found.append(Answer(f"{experiment}", None, None, None, None, f"{experiment} was not run"))
        else:
            found += checks.answers(check, rows.get(experiment, []), alpha / len(reading.check))
    held = [answer.holds for answer in found]
    return Judged(reading.name, False if False in held else None if None in held else True, found)


def _verdict(readings: list[Judged]) -> str:
    if readings[0].holds:
        return REPRODUCED
    if any(judged.holds for judged in readings[1:]):
        return OTHERWISE
    return OPEN if readings[0].holds is None else NOT


def _telling(judged: Judged) -> Answer:
    """The answer that decided: the first that says no, or that cannot tell, or simply the first."""
    for wanted in (False, None):
        for answer in judged.answers:
            if answer.holds is wanted:
                return answer
    return judged.answers[0]


def _why(claim: Claim, readings: list[Judged], shown: Answer) -> str:
    said = []
    if readings[0].holds is not True:
        said.append(f"{shown.asks}: {shown.why}" if shown.why else shown.asks)
    others = [judged.reading for judged in readings[1:] if judged.holds]
    if others:
        said.append(f"holds if {'; or if '.join(others)}")
    if claim.caveat:
        said.append(claim.caveat)
    return ". ".join(said)


def write(verdicts: Sequence[Verdict], folder: Path) -> None:
    """scorecard.json and scorecard.parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from roamcast.lab.folder import replace

    replace(folder / "scorecard.json", msgspec.json.format(msgspec.json.encode(list(verdicts)), indent=1))
    rows: list[dict[str, Any]] = [msgspec.to_builtins(verdict) for verdict in verdicts]
    for row in rows:
        row["readings"] = msgspec.json.encode(row["readings"]).decode()
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), sink)
    replace(folder / "scorecard.parquet", sink.getvalue().to_pybytes())


def _schema() -> Any:
    import pyarrow as pa

    texts = ("id", "paper", "where", "says", "published", "verdict")
    numbers = ("measured", "low", "high")
    return pa.schema(
        [
            *(pa.field(name, pa.string()) for name in texts),
            *(pa.field(name, pa.float64()) for name in numbers),
            pa.field("why", pa.string()),
            pa.field("readings", pa.string()),
        ]
    )


SCHEMA = _schema()
