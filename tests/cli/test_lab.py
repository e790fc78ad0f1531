"""`roamcast lab field`: wrong input is one line, before any Spark is started; what is left out is named."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from roamcast.lab.field.intake import Field, Live
from tests.cli.conftest import Typed


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["none"], "none: there is no such folder of logs"),
        ([".", "--every", "0"], "--every 0: must be above 0"),
        ([], "Missing argument 'DIR'."),
    ],
)
def test_wrong_input_is_one_line(
    roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, err = roamcast("lab", "field", *words)
    assert (status, out, err) == (2, "", f"roamcast: {line}\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("follow", "status"), [([], 1), (["--follow"], 0)])
def test_what_was_left_out_is_named_and_is_a_failure_if_nobody_waits_for_it(
    roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, follow: list[str], status: int
) -> None:
    counts = dict.fromkeys(("delivery", "overhead", "latency_p50_s"))
    live = Live("field", 2, 9, {**counts, "deliveries": 0, "interested": 0})

    def ingest(self: Field, *_: Any) -> list[Live]:
        self.whole.mkdir(parents=True, exist_ok=True)
        self._find_whole(bool(follow))
        return [live]

    monkeypatch.setattr("roamcast.cli.options.start_spark", lambda *_: None)
    monkeypatch.setattr("roamcast.cli.lab._interrupted", Event)
    monkeypatch.setattr(Field, "ingest", ingest)
    (tmp_path / "logs").mkdir()
    half = tmp_path / "logs" / "half.parquet"
    words = ["lab", "field", str(tmp_path / "logs"), "--out", str(tmp_path / "out"), *follow]
    assert roamcast(*words)[0] == 0
    half.write_text("no log")
    assert roamcast(*words)[0] == status
    left, out, _ = roamcast(*words, "--json")
    assert (left, json.loads(out)["left_out"], json.loads(out)["field"]["rows"]) == (status, [str(half)], 9)
