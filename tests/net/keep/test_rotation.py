"""Logs in one file after another: complete, bounded, and no reason for a node to stop."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.log import reader, schema
from roamcast.net.keep.rotation import RotatingSink


def fill(sink: RotatingSink, times: range) -> None:
    for t in times:
        sink.row(t, 7, schema.DELIVER, t, 0, -1, 0, 0, "")


def rows(folder: Path) -> list[int]:
    return [row.t for path in sorted(folder.glob("*.parquet")) for row in reader.rows(path)]


def test_files_follow_each_other_without_a_row_lost(tmp_path: Path) -> None:
    sink = RotatingSink(tmp_path, "field", 7, keep=100, rows=4)
    fill(sink, range(1, 11))
    assert rows(tmp_path) == list(range(1, 9))
    sink.rotate()
    assert rows(tmp_path) == list(range(1, 11))
    sink.rotate()  # nothing new: no empty file
    sink.close()
    assert len(list(tmp_path.iterdir())) == 3


def test_the_oldest_of_this_node_are_removed(tmp_path: Path) -> None:
    RotatingSink(tmp_path, "field", 77, keep=2).row(1, 77, schema.DELIVER, 1, 0, -1, 0, 0, "")
    other = RotatingSink(tmp_path, "field", 8, keep=2)
    other.row(1, 8, schema.DELIVER, 1, 0, -1, 0, 0, "")
    other.close()
    sink = RotatingSink(tmp_path, "field", 7, keep=2, rows=1)
    fill(sink, range(1, 6))
    assert [path.name[0] for path in sorted(tmp_path.glob("*.parquet"))] == ["7", "7", "8"]
    assert rows(tmp_path) == [4, 5, 1]


def test_the_files_of_earlier_boots_are_removed_first_whatever_their_clock_showed(tmp_path: Path) -> None:
    for times in (range(100, 103), range(50, 52)):
        fill(sink := RotatingSink(tmp_path, "field", 7, keep=3, rows=1), times)
        sink.close()
    assert [[int(part) for part in path.stem.split("-")] for path in sorted(tmp_path.glob("*.parquet"))] == [
        [7, 50, 50],
        [7, 50, 51],
        [7, 100, 102],
    ]


def test_unfinished_files_of_a_killed_boot_are_removed(tmp_path: Path) -> None:
    fill(RotatingSink(tmp_path, "field", 7, keep=9), range(3))  # never closed
    assert list(tmp_path.glob(".7-*.part"))
    RotatingSink(tmp_path, "field", 7, keep=9)
    assert not list(tmp_path.iterdir())


def test_the_tally_is_stored_beside_the_rows(tmp_path: Path) -> None:
    sink = RotatingSink(tmp_path, "field", 7, keep=9)
    fill(sink, range(3))
    sink.summarise('{"node": 7}')
    sink.close()
    (path,) = tmp_path.glob("*.parquet")
    assert reader.summary(path) == {"node": 7}


def test_if_the_disk_fails_only_rows_are_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "log"
    sink = RotatingSink(folder, "field", 7, keep=9)
    folder.rmdir()
    folder.write_text("")
    with caplog.at_level(logging.WARNING):
        fill(sink, range(5))
    assert sink.dropped == 5
    assert caplog.text.count("cannot be written") == 1
    folder.unlink()
    fill(sink, range(5, 7))
    sink.close()
    assert rows(folder) == [5, 6]


def test_a_folder_that_cannot_be_made_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write logs to"):
        RotatingSink(tmp_path / "file" / "log", "field", 7, keep=9)


def test_only_the_owner_can_read_the_log(tmp_path: Path) -> None:
    """Rows have attributes and filters in clear."""
    folder = tmp_path / "log"
    old = os.umask(0o022)
    try:
        sink = RotatingSink(folder, "field", 7, keep=9)
        fill(sink, range(5))
        (unfinished,) = folder.iterdir()
        assert stat.S_IMODE(unfinished.stat().st_mode) == 0o600
        sink.close()
    finally:
        os.umask(old)
    (path,) = folder.iterdir()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, path)] == [0o700, 0o600]
