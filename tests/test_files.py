"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from roamcast import files


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_gets_its_name_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "table"
    target.write_text("old")
    with files.completed(target) as path:
        path.write_text("new")
        assert target.read_text() == "old"
        assert path.name.startswith(".table.")
        assert path.parent == tmp_path
    assert target.read_text() == "new"
    assert names(tmp_path) == ["table"]


def test_an_error_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    target = tmp_path / "table"
    target.write_text("old")
    with pytest.raises(RuntimeError), files.completed(target) as path:
        path.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert names(tmp_path) == ["table"]


def test_without_overwrite_an_existing_file_stays(tmp_path: Path) -> None:
    target = tmp_path / "key"
    files.write(target, b"first", overwrite=False)
    with pytest.raises(FileExistsError):
        files.write(target, b"second", overwrite=False)
    assert target.read_bytes() == b"first"
    assert names(tmp_path) == ["key"]


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_private_file_is_never_readable_by_others(tmp_path: Path, overwrite: bool) -> None:
    target = tmp_path / "key"
    with files.completed(target, mode=files.PRIVATE, overwrite=overwrite) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.write_bytes(b"secret")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_two_writers_have_two_drafts(tmp_path: Path) -> None:
    target = tmp_path / "run"
    with files.completed(target) as first, files.completed(target) as second:
        first.write_text("a")
        second.write_text("b")
        assert first != second
    assert target.read_text() == "a"


@pytest.mark.parametrize(("durable", "synced"), [(False, ["file"]), (True, ["file", "folder"])])
def test_bytes_are_on_disk_before_the_name_and_with_durable_the_name_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool, synced: list[str]
) -> None:
    target, seen = tmp_path / "state", []

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            assert target.read_bytes() == b"content"
            seen.append("folder")
        else:
            assert os.fstat(descriptor).st_size == len(b"content")
            assert not target.exists()
            seen.append("file")

    monkeypatch.setattr(os, "fsync", fsync)
    files.write(target, b"content", durable=durable)
    assert seen == synced


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "table"
    for content in ("old", "new"):
        with files.completed_folder(target) as folder:
            (folder / content).write_text(content)
            assert not (target / content).exists()
        assert names(target) == [content]
    assert names(tmp_path) == ["table"]


def test_an_error_leaves_the_old_folder_and_the_next_attempt_starts_anew(tmp_path: Path) -> None:
    target = tmp_path / "table"
    target.mkdir()
    (target / "old").write_text("")
    with pytest.raises(RuntimeError), files.completed_folder(target) as folder:
        (folder / "half").write_text("")
        raise RuntimeError
    assert names(target) == ["old"]
    with files.completed_folder(target) as folder:
        (folder / "new").write_text("")
    assert (names(target), names(tmp_path)) == (["new"], ["table"])
