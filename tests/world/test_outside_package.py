"""An installed package brings a mobility, a radio, a MAC and a protocol: found by name, run in the
simulator, and the same run wherever it takes place."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import roamcast
from tests.support import harbour

FINGERPRINT = "dbd832bd148e38d8ead9417f2f06bdd7"
"""The fingerprint of seed 3, on every machine, compiled and pure."""
SOURCE = Path(roamcast.__file__).parents[1]
TYPED = [word for field, value in harbour.WORLD.items() for word in ("--world", f"{field}={value}")]
FILE = "".join(f"{json.dumps(field)} = {json.dumps(value)}\n" for field, value in harbour.WORLD.items())
Typed = Callable[..., str]


@pytest.fixture
def typed(tmp_path: Path) -> Typed:
    """Type a command in a folder where the package is installed; returns what it prints."""
    harbour.install(tmp_path / "site")

    def type_(*words: str, source: Path = SOURCE) -> str:
        environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{tmp_path / 'site'}", "COLUMNS": "80"}
        command = [sys.executable, *(words if words[0].endswith(".py") else ("-m", "roamcast", *words))]
        done = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return type_


def fingerprint(printed: str) -> str:
    return str(json.loads(printed)["fingerprint"])


def test_its_parts_and_its_protocol_are_run_by_name(typed: Typed) -> None:
    assert fingerprint(typed("run", "--protocol", "shout", *TYPED, "--seed", "3", "--json")) == FINGERPRINT


def test_plain_python_gives_the_same_run(typed: Typed, tmp_path: Path) -> None:
    pure = tmp_path / "pure"
    shutil.copytree(SOURCE / "roamcast", pure / "roamcast", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    run = typed("run", "--protocol", "shout", *TYPED, "--seed", "3", "--json", source=pure)
    assert fingerprint(run) == FINGERPRINT


def test_a_scenario_file_names_them(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "harbour.toml").write_text(f'protocol = "shout"\nseed = 3\n[world]\n{FILE}')
    assert fingerprint(typed("run", "harbour.toml", "--json")) == FINGERPRINT


CAMPAIGN = f'name = "harbour"\nseeds = [3, 4]\n[world]\n{FILE}\n[[protocol]]\nname = "shout"\n'
SPAWNED = """\
from pathlib import Path
from roamcast.lab import campaign, conduct
from roamcast.lab.local.engine import PoolEngine
from roamcast.lab.progress import Watcher
from roamcast.lab.tables.folder import Folder
if __name__ == "__main__":
    loaded = campaign.load(Path("harbour.toml"))
    conduct.conduct([loaded], Folder(Path("out")), PoolEngine(2, "spawn"), Watcher())
"""


@pytest.mark.parametrize("how", ["forked", "spawned"])
def test_worker_processes_of_a_campaign_find_them(typed: Typed, tmp_path: Path, how: str) -> None:
    (tmp_path / "harbour.toml").write_text(CAMPAIGN)
    (tmp_path / "spawned.py").write_text(SPAWNED)
    if how == "forked":
        typed("campaign", "run", "harbour.toml", "--local", "--processes", "2", "--out", "out")
    else:
        typed("spawned.py")
    by_seed = {row["seed"]: row["fingerprint"] for row in roamcast.open(tmp_path / "out").rows("metrics")}
    assert by_seed[3] == FINGERPRINT != by_seed[4]


def test_their_parameters_are_swept_in_worker_processes(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "harbour.toml").write_text(f"[world]\n{FILE}")
    swept = typed("sweep", "harbour.toml", "shout", "mobility.wait_s=1,5", "--seeds", "3", "--json", "--processes", "2")
    runs = {(row["w_mobility__wait_s"], row["seed"]): row["fingerprint"] for row in json.loads(swept)["runs"]}
    assert len(set(runs.values())) == 6
    assert runs[1, 3] == FINGERPRINT


def test_they_are_listed_with_their_parameters(typed: Typed) -> None:
    listed = json.loads(typed("fields", "--json"))["parts"]
    assert [(part["field"], part["name"]) for part in listed] == [
        ("mobility", "ferry"),
        ("radio", "walls"),
        ("mac", "polite"),
    ]
    assert listed[0]["is"] == "Ferries cross the area from shore to shore and wait there."
    assert [p["name"] for p in listed[0]["parameters"]] == ["speed_mps", "wait_s"]
    assert "radio=walls" in typed("fields")
    one = typed("fields", "mobility=ferry")
    assert "mobility.speed_mps" in one
    assert "8 m/s" in one
    assert "0.1 … 50" in one
    assert "walls" in typed("fields", "radio")
