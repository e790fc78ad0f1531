"""A campaign's folder: one writer, one campaign, and nothing half-done is taken for finished."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.lab.campaign import parse
from roamcast.lab.tables.folder import MOST_ATTEMPTS, TABLES_VERSION, Folder

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


def test_a_folder_of_somebody_elses_logs_is_refused(folder: Folder) -> None:
    with folder.held():
        (folder.log / "x.parquet").touch()
        with pytest.raises(InputError, match="has logs but no campaign"):
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
        half = folder.log / ".abc.parquet.123.part"
        half.touch()
        folder.log_of("done").touch()
        folder.begin("abc")
        assert folder.finished() == {"done"}
        folder.tidy()
        assert not half.exists()
        assert folder.begin("abc") == 1


def test_attempts_are_counted_until_a_run_ends(folder: Folder) -> None:
    with folder.held():
        assert [folder.begin("abc") for _ in range(MOST_ATTEMPTS)] == list(range(1, MOST_ATTEMPTS + 1))
        folder.end("abc")
        assert folder.begin("abc") == 1


def test_a_failure_is_recorded_in_one_line_and_in_full_and_can_be_tried_again(folder: Folder) -> None:
    with folder.held():
        try:
            raise ValueError("one\n  two")
        except ValueError as error:
            assert folder.fail("abc", error, "roamcast run …") == "ValueError: one two"
        failure = folder.failures()["abc"]
        assert failure["error"] == "ValueError: one two"
        assert failure["command"] == "roamcast run …"
        assert "Traceback" in failure["traceback"]
        assert folder.ended() == {"abc"}
        folder.retry_failed()
        assert folder.ended() == set()


def test_a_campaign_that_cannot_be_understood_gives_one_line(folder: Folder) -> None:
    with folder.held():
        (folder.path / "campaign.json").write_text("[{}]")
        with pytest.raises(InputError, match="is no campaign of this version"):
            folder.campaigns()


def test_tables_of_the_campaign_before_are_not_left_for_another_one(folder: Folder) -> None:
    with folder.held():
        folder.claim([parse(TEXT.format("first"))])
        (folder.path / "summary").mkdir()
        folder.claim([parse(TEXT.format("first"))])
        assert (folder.path / "summary").exists()
        folder.claim([parse(TEXT.format("second"))], extend=True)
        assert not (folder.path / "summary").exists()


def test_tables_count_when_all_are_written_and_of_this_version(folder: Folder) -> None:
    with folder.held():
        assert not folder.has_tables()
        with folder.writing_tables():
            assert not folder.has_tables()
        assert folder.has_tables()
        with pytest.raises(RuntimeError), folder.writing_tables():
            raise RuntimeError("killed in between")
        assert not folder.has_tables()
        (folder.path / "tables.json").write_text('{"version": "0"}')
        with pytest.raises(InputError, match=f"has tables of version 0; this program reads {TABLES_VERSION}"):
            folder.has_tables()
