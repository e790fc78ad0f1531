"""The ratios of earlier runs: bench/history.jsonl has a line for each `python bench/run.py --keep`.

Only ratios within one run are kept, because nothing else can be compared between machines. Every later run says which
of them moved by more than a tenth since the last line, so that a slow-down is seen in review.
"""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from roamcast import __version__

HERE = Path(__file__).resolve().parent
KEPT = HERE / "history.jsonl"
MOVED = 0.10
Line = dict[str, Any]
Row = dict[str, Any]


def line(rows: list[Row], quick: bool, commit: str) -> Line:
    """`commit` is what was measured."""
    ratios = {row["what"]: row["ratio"] for row in rows if "unit" not in row}
    day = datetime.now(UTC).date().isoformat()
    return {"date": day, "version": __version__, "commit": commit, "quick": quick, "ratios": ratios}


def commit() -> str:
    """The short id of this checkout's commit; with a plus sign if files have changed since."""
    words = ["git", "-C", str(HERE), "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def keep(new: Line, path: Path = KEPT) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(new) + "\n")


def last(quick: bool, path: Path = KEPT) -> Line | None:
    """The last line of a run of this kind: quick runs measure less, and shorter worlds."""
    if not path.exists():
        return None
    lines: list[Line] = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines() if text]
    return next((each for each in reversed(lines) if each["quick"] == quick), None)


def moved(before: Line, rows: list[Row]) -> list[str]:
    """A sentence for each ratio that differs from the kept one by more than a tenth of it."""
    sentences = []
    for row in rows:
        was = before["ratios"].get(row["what"])
        if "unit" in row or not was or abs(row["ratio"] / was - 1) <= MOVED:
            continue
        change = row["ratio"] / was - 1
        better = (change < 0) == row["lower_is_better"]
        verdict = "better" if better else "worse"
        sentences.append(f"{row['what']}: {was:g} -> {row['ratio']:g} ({change:+.0%}, {verdict})")
    return sentences


def named(before: Line) -> str:
    return " ".join(word for word in (before["version"], before["commit"], before["date"]) if word)
