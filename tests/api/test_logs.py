"""Logs in programs and notebooks: opened, asked, played."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest

import roamcast as rc
from roamcast.api.logs import Log, Replay
from roamcast.log import opened
from tests.show.replay.runs import SMALL, run


@pytest.fixture(scope="module")
def simulation() -> rc.Simulation:
    return rc.simulate(rc.Scenario(**{**SMALL, "duration_s": 5.0}), "gossip")


def test_a_run_is_a_page_with_movements(simulation: rc.Simulation) -> None:
    replay = simulation.replay()
    assert isinstance(replay, Replay) and replay.path is None
    assert "<title>gossip on a scenario, seed 1</title>" in replay.html
    assert not any(row.kind == "move" for row in simulation.log().rows())  # its other log stays as it was


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(simulation: rc.Simulation) -> None:
    replay = simulation.replay()
    shown = replay._repr_html_()
    assert shown.startswith("<iframe ") and shown.endswith("></iframe>")
    assert unescape(shown.partition('srcdoc="')[2].rpartition('"')[0]) == replay.html


def test_an_opened_log_writes_its_page(tmp_path: Path) -> None:
    log = rc.open(run(tmp_path / "run.parquet", duration_s=5.0))
    assert isinstance(log, Log) and isinstance(log, opened.Log)
    replay = log.replay(tmp_path / "run.html", nodes=[1, 2], from_s=1, to_s=4)
    assert replay.path == tmp_path / "run.html" and replay.path.read_text() == replay.html
    assert str(replay.path) in repr(replay)


def test_two_runs_stand_side_by_side(simulation: rc.Simulation) -> None:
    other = rc.simulate(simulation.scenario, "counter")
    assert simulation.replay(other=other).html.count('class="run"') == 2


def test_a_run_with_a_log_of_its_own_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = rc.Scenario(**{**SMALL, "duration_s": 5.0})
    full = rc.simulate(scenario, "gossip", log=tmp_path / "full.parquet", level="full")
    monkeypatch.setattr("roamcast.world.simulate.simulate", None)
    assert "gossip" in full.replay().html
