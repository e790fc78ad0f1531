"""One run on a worker: what is recorded as its failure, and what is nobody's."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import Interrupted
from roamcast.lab import plan, simulate
from roamcast.lab.campaign import parse
from roamcast.lab.tables.folder import Folder
from roamcast.world import simulate as simulating
from roamcast.world.shared import Shared

MESH = """\
name = "mesh"
preset = "mesh-city"
seeds = 2
[world]
duration_s = 100.0
publish_from_s = 0.0
publish_until_s = 50.0
positions = "{}"
[[protocol]]
name = "managed"
"""
POSITIONS = "id,x,y\na,0,0\nb,1000,0\nc,0,1000\n"


@pytest.fixture
def tasks(tmp_path: Path) -> list[simulate.Task]:
    (tmp_path / "positions.csv").write_text(POSITIONS)
    campaign = parse(MESH.format(tmp_path / "positions.csv"))
    return [simulate.task(run) for run in plan.runs(campaign)]


def done(folder: Folder, tasks: list[simulate.Task]) -> list[simulate.Done]:
    folder.storage.make()
    return [each for some in simulate.all_done(folder, tasks, noting=False) for each in some]


def test_a_file_that_is_gone_is_no_failure_of_the_runs_that_need_it(tasks: list[simulate.Task], tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out")
    (tmp_path / "positions.csv").rename(tmp_path / "elsewhere.csv")
    with pytest.raises(Interrupted, match=f"^cannot read {tmp_path}/positions.csv: no such file or directory$"):
        done(folder, tasks)
    assert folder.ended() == set()
    (tmp_path / "elsewhere.csv").rename(tmp_path / "positions.csv")
    assert [each.error for each in done(folder, tasks)] == [None, None]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE])
def test_a_machine_that_is_full_is_no_failure_of_a_run(
    number: int, tasks: list[simulate.Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(simulate, "simulate", fails)
    with pytest.raises(Interrupted, match=os.strerror(number).lower()):
        done(Folder(tmp_path / "out"), tasks)
    assert Folder(tmp_path / "out").ended() == set()


def test_runs_of_one_process_count_once_what_was_possible_in_a_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """\
name = "shared"
preset = "baldoni"
seeds = 2
[world]
duration_s = 40.0
publish_from_s = 10.0
[[protocol]]
name = "gossip"
set = { p = [0.5, 1.0] }
[[protocol]]
name = "counter"
"""
    counted: list[int] = []
    count = simulating.what_was_possible

    def counting(*arguments: Any) -> int:
        counted.append(1)
        return count(*arguments)

    monkeypatch.setattr(simulating, "what_was_possible", counting)
    monkeypatch.setattr(simulate, "_shared", Shared())
    planned = plan.runs(parse(text))
    ended = done(Folder(tmp_path / "out"), [simulate.task(run) for run in planned])
    assert len(ended) == 6
    assert len(counted) == 2
    seeds = {run.id: run.seed for run in planned}
    possible = {(seeds[each.run], json.loads(each.tally or "")["possible"]) for each in ended}
    scenario = planned[0].cell.scenario
    assert possible == {(n, simulating.simulate(scenario, "counter", seed=n).metrics["possible"]) for n in (1, 2)}
