"""The results of judging: a verdict for each claim, how many there are of each kind, and the scorecard's two files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from roamcast import files
from roamcast.judging.answers import Answer

REPRODUCED = "reproduced"
NOT = "not reproduced"
OPEN = "not decidable"
VERDICTS = (REPRODUCED, NOT, OPEN)


class Other(msgspec.Struct, frozen=True):
    """A claim under another reading; `part` is the part of the joint reading that it undoes, if any."""

    reading: str
    says: str
    verdict: str
    part: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """`reading` names the parts of the joint reading; with `calibration`, that was chosen on this claim."""

    id: str
    paper: str
    where: str
    says: str
    published: str
    unit: str
    verdict: str
    measured: float | None
    low: float | None
    high: float | None
    seeds: int
    reading: str
    calibration: bool
    why: str
    caveat: str
    cause: str
    evidence: list[str]
    others: list[Other] = []
    answers: list[Answer] = []

    @property
    def agreeing(self) -> int:
        """Under how many of the other readings it holds as well."""
        return sum(other.verdict == REPRODUCED for other in self.others)


def count(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """How many claims have each verdict."""
    names = [v.verdict for v in verdicts]
    return {name: names.count(name) for name in VERDICTS}


def in_words(verdicts: Iterable[Verdict]) -> str:
    """`3 reproduced, 1 not reproduced, 0 not decidable`."""
    return ", ".join(f"{n} {name}" for name, n in count(verdicts).items())


# ---- files


class Scorecard(msgspec.Struct, frozen=True):
    """The content of scorecard.json."""

    scale: str
    claims: list[Verdict]


def write(verdicts: Sequence[Verdict], scale: str, folder: Path) -> None:
    """Write scorecard.json and scorecard.parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole = Scorecard(scale, list(verdicts))
    files.write(folder / "scorecard.json", msgspec.json.format(msgspec.json.encode(whole), indent=1))
    rows: list[dict[str, Any]] = [msgspec.to_builtins(verdict) for verdict in verdicts]
    for row in rows:
        for nested in ("others", "answers"):
            row[nested] = msgspec.json.encode(row[nested]).decode()
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, _schema()), sink)
    files.write(folder / "scorecard.parquet", sink.getvalue().to_pybytes())


def _schema() -> Any:
    import pyarrow as pa

    kinds = {float: pa.float64(), bool: pa.bool_(), int: pa.int64(), str: pa.string()}
    numbers = dict.fromkeys(("measured", "low", "high"), float)
    others = {"seeds": int, "calibration": bool, "evidence": list}
    chosen = {name: {**numbers, **others}.get(name, str) for name in Verdict.__struct_fields__}
    return pa.schema([(name, kinds.get(kind, pa.list_(pa.string()))) for name, kind in chosen.items()])
