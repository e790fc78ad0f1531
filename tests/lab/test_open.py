"""`rc.open`: what is at a path, a campaign or a log."""

from __future__ import annotations

from pathlib import Path

import pytest

import roamcast as rc
from roamcast.lab.tables.laboratory import Laboratory
from roamcast.log.opened import Log

SHORT = {"nodes": 10, "duration_s": 5.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("open")
    rc.simulate(rc.Scenario(**SHORT), "gossip", log=path / "run.parquet")
    rc.compare(rc.Scenario(**SHORT), ["gossip"], seeds=2, processes=1, out=path / "campaign")
    return path


def test_a_file_is_a_log(folder: Path) -> None:
    log = rc.open(folder / "run.parquet")
    assert isinstance(log, Log)
    assert str(log.why()) == str(rc.simulate(rc.Scenario(**SHORT), "gossip").log().why())


def test_a_folder_with_logs_is_a_log(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "run.parquet").symlink_to(folder / "run.parquet")
    assert isinstance(rc.open(str(tmp_path)), Log)


def test_a_folder_of_a_campaign_is_its_tables(folder: Path) -> None:
    campaign = rc.open(folder / "campaign")
    assert isinstance(campaign, Laboratory)
    assert len(campaign.rows("metrics")) == 2


def test_a_path_may_begin_at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    assert isinstance(rc.open("~/run.parquet"), Log)


def test_what_is_neither_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(rc.InputError, match=r"nowhere: there is no such campaign or log$"):
        rc.open(tmp_path / "nowhere")
    with pytest.raises(rc.InputError, match="no campaign has been run into this folder"):
        rc.open(tmp_path)
    (tmp_path / "text").write_text("no parquet")
    with pytest.raises(rc.InputError, match=r"text is not a log: it is not a Parquet file$"):
        rc.open(tmp_path / "text")
