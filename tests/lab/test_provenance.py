"""Where results come from: the facts, the records in a folder, and that tables do not depend on them."""

from __future__ import annotations

import json
import os
import platform
import socket
from importlib.metadata import version
from pathlib import Path

import pytest

import roamcast as rc
from roamcast import storage
from roamcast.errors import InputError
from roamcast.judging import made
from roamcast.lab import code, provenance

CAMPAIGN = {
    "name": "tiny",
    "preset": "baldoni",
    "seeds": 2,
    "world": {"duration_s": 15.0, "nodes": 30},
    "protocol": [{"name": "gossip"}],
}


def test_the_facts_are_those_of_this_program_and_machine() -> None:
    facts = provenance.facts()
    assert (facts["roamcast"], facts["code"]) == (rc.__version__, code.whole())
    assert (facts["host"], facts["cores"], facts["python"]) == (
        socket.gethostname(),
        os.cpu_count(),
        platform.python_version(),
    )
    assert (facts["pyarrow"], facts["pyspark"]) == (version("pyarrow"), version("pyspark"))
    assert (facts["commit"] is None) == (facts["changed"] is None)


def test_every_start_with_runs_to_do_leaves_a_record_and_the_tables_stay_the_same(tmp_path: Path) -> None:
    opened = rc.campaign(CAMPAIGN, out=tmp_path / "c", processes=1)
    (record,) = opened.rows("provenance")
    assert (record["runs"], record["engine"], record["master"]) == (2, "pool", None)
    assert record["began"] <= record["ended"] and record["cores"] == os.cpu_count()
    before = metrics_of(tmp_path / "c")
    rc.campaign(CAMPAIGN, out=tmp_path / "c", processes=1)
    assert len(made.records(tmp_path / "c")) == 1  # there was nothing to do
    again = rc.campaign({**CAMPAIGN, "seeds": 3}, out=tmp_path / "c", processes=1, extend=True)
    assert [row["runs"] for row in again.rows("provenance")] == [2, 1]
    rc.campaign(CAMPAIGN, out=tmp_path / "c", processes=1, extend=True)
    assert metrics_of(tmp_path / "c") == before


def metrics_of(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in (folder / "metrics").iterdir()]


def test_a_start_that_was_stopped_has_no_end(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), provenance.recorded(storage.at(tmp_path), object(), 7):
        raise KeyboardInterrupt
    (record,) = made.records(tmp_path)
    assert record["ended"] is None and made.line(record).startswith(
        f"7 runs from {record['began']}, not to their end: "
    )


def test_a_record_for_people_has_what_is_known() -> None:
    known = {"began": "B", "ended": "E", "runs": 1200, "engine": "pool", "master": None, **provenance.facts()}
    line = made.line({**known, "commit": "0123456789abcdef", "changed": True, "pyspark": None})
    assert line.startswith(
        f"1,200 runs from B to E: roamcast {rc.__version__}, commit 0123456789 with changes; Python "
    )
    assert "pyspark" not in line and line.endswith("; pool")


def test_a_record_that_is_damaged_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "provenance").mkdir()
    (tmp_path / "provenance" / "x.json").write_text("{")
    with pytest.raises(InputError, match=r"cannot read .*x\.json"):
        made.records(tmp_path)


def test_records_are_plain_json(tmp_path: Path) -> None:
    with provenance.recorded(storage.at(tmp_path), object(), 1):
        pass
    (path,) = (tmp_path / "provenance").iterdir()
    assert json.loads(path.read_text())["engine"] == "object"
