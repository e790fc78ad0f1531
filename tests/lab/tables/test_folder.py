"""A campaign's folder: one writer, one campaign, and nothing half-done is taken for finished."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from roamcast.errors import InputError, Interrupted
from roamcast.lab.campaign import parse
from roamcast.lab.tables import read
from roamcast.lab.tables.endings import Ending, fresh_name, put_endings
from roamcast.lab.tables.folder import MOST_ATTEMPTS, TABLES_VERSION, Folder, failure_of, found_by
from roamcast.lab.tables.write import write_tables

TEXT = 'name = "{}"\npreset = "baldoni"\n[[protocol]]\nname = "gossip"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "out")


def test_two_at_a_time_are_refused_also_across_processes(folder: Folder) -> None:
    other = (
        "from pathlib import Path; from roamcast.lab.tables.folder import Folder\n"
        f"with Folder(Path({str(folder.path)!r})).held(): pass"
    )
    with folder.held():
        done = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True, check=False)
    assert "another campaign is writing to this folder right now" in done.stderr
    assert subprocess.run([sys.executable, "-c", other], check=False).returncode == 0  # the lock went with the process


def test_another_campaign_is_refused_and_named_unless_it_extends(folder: Folder) -> None:
    with folder.held():
        folder.claim([parse(TEXT.format("first"))])
        folder.claim([parse(TEXT.format("first"))])
        with pytest.raises(InputError, match="holds the campaign 'first', which is not this one \\('second'\\)"):
            folder.claim([parse(TEXT.format("second"))])
        folder.claim([parse(TEXT.format("second"))], extend=True)
        folder.claim([parse(TEXT.format("second"))])


def test_a_folder_of_an_earlier_version_is_refused(folder: Folder) -> None:
    with folder.held():
        (folder.path / "log").mkdir()
        (folder.path / "log" / "1234567890abcdef.parquet").touch()
        with pytest.raises(InputError, match=r"has logs that this version did not write \(log/1234567890abcdef"):
            folder.claim([parse(TEXT.format("first"))])


def test_a_place_that_cannot_be_written_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match=r"cannot write to .*file/out: not a directory"),
        Folder(tmp_path / "file/out").held(),
    ):
        pass


def test_half_written_files_are_not_finished_and_are_tidied_away(folder: Folder) -> None:
    with folder.held():
        put_endings(folder.storage, [Ending("done", "{}")])
        half, orphan = folder.path / "done" / ".abc.parquet.123.part", folder.path / "log" / fresh_name()
        orphan.parent.mkdir()
        half.touch()
        orphan.touch()
        folder.begin("abc")
        assert folder.finished() == {"done"}
        folder.tidy()
        assert not half.exists() and not orphan.exists()
        assert folder.begin("abc") == 1


def test_a_log_that_nobody_names_may_belong_to_a_worker_of_another_campaign(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out", tmp_path / "shared")
    with folder.held():
        orphan = tmp_path / "shared" / "log" / fresh_name()
        orphan.parent.mkdir()
        orphan.touch()
        folder.tidy()
        assert orphan.exists()
        os.utime(orphan, (0, 0))
        orphan.with_name(fresh_name()).touch()
        folder.tidy()
        assert not orphan.exists()


def test_attempts_are_counted_until_a_run_ends(folder: Folder) -> None:
    with folder.held():
        assert [folder.begin("abc") for _ in range(MOST_ATTEMPTS)] == list(range(1, MOST_ATTEMPTS + 1))
        assert folder.begin("other") == 1
        assert folder.begun() == {"abc", "other"}
        folder.end("abc")
        assert folder.begun() == {"other"}
        assert folder.begin("abc") == 1


def test_a_failure_is_recorded_in_one_line_and_in_full_and_can_be_tried_again(folder: Folder) -> None:
    with folder.held():
        try:
            raise ValueError("one\n  two")
        except ValueError as error:
            record = failure_of("abc", error, "roamcast run …")
        put_endings(folder.storage, [Ending("abc", failure=json.dumps(record)), Ending("good", "{}")])
        failure = folder.failures()["abc"]
        assert failure["error"] == "ValueError: one two"
        assert failure["command"] == "roamcast run …"
        assert "Traceback" in failure["traceback"]
        assert folder.ended() == {"abc", "good"}
        folder.retry_failed()
        assert folder.ended() == {"good"}


def test_a_worker_that_sees_another_folder_says_so(folder: Folder, tmp_path: Path) -> None:
    with folder.held():
        folder.check_seen()
        elsewhere = found_by({**folder.facts(), "place": str(tmp_path / "elsewhere")})
        with pytest.raises(Interrupted, match="does not see the folder that this process writes to"):
            elsewhere.check_seen()


def test_a_campaign_that_cannot_be_understood_gives_one_line(folder: Folder) -> None:
    with folder.held():
        (folder.path / "campaign.json").write_text("[{}]")
        with pytest.raises(InputError, match="is no campaign of this version"):
            folder.campaigns()


def test_tables_of_the_campaign_before_are_not_left_for_another_one(folder: Folder) -> None:
    with folder.held():
        folder.claim([parse(TEXT.format("first"))])
        write_tables(folder, {"summary": ([], pa.schema({"a": pa.int64()}))})
        folder.claim([parse(TEXT.format("first"))])
        assert folder.has_tables()
        folder.claim([parse(TEXT.format("second"))], extend=True)
        assert not folder.has_tables() and not [*(folder.path / "summary").iterdir()]


def test_tables_count_when_all_are_written_and_of_this_version(folder: Folder) -> None:
    schema = pa.schema({"a": pa.int64()})
    with folder.held():
        assert not folder.has_tables()
        write_tables(folder, {"runs": ([{"a": 1}], schema), "metrics": ([{"a": 2}], schema)})
        assert read.table(folder, "metrics").to_pylist() == [{"a": 2}]
        with pytest.raises(TypeError):
            write_tables(folder, {"runs": ([{"a": 3}], schema), "metrics": ([{"a": "text"}], schema)})
        assert read.table(folder, "runs").to_pylist() == [{"a": 1}]  # the former ones, until all are there
        write_tables(folder, {"runs": ([{"a": 3}], schema), "metrics": ([{"a": 2}], schema)})
        assert read.table(folder, "runs").to_pylist() == [{"a": 3}]
        assert [len([*(folder.path / name).iterdir()]) for name in ("runs", "metrics")] == [1, 1]
        (folder.path / "tables.json").write_text('{"version": "0"}')
        with pytest.raises(InputError, match=f"has tables of version 0, this program reads {TABLES_VERSION}"):
            folder.has_tables()


@pytest.mark.parametrize("kind", ["done", "log", "runs", "metrics", "summary", "measured", "begun", "corrupt"])
def test_no_half_of_an_object_stays_behind(kind: str, folder: Folder) -> None:
    """Whatever it was that a killed process was about to put."""
    with folder.held():
        half = folder.storage.draft(f"{kind}/0-{0:032x}.parquet")
        folder.tidy()
    assert not half.exists()
