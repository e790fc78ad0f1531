"""The command line: help fast, errors in one line, output where it belongs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from roamcast import __version__
from roamcast.cli import build
from roamcast.papers import joint
from roamcast.protocols import registry
from tests.cli.conftest import Typed


def test_version_says_whether_it_is_compiled(roamcast: Typed) -> None:
    assert roamcast("--version") == (0, f"roamcast {__version__} ({build.mode()})\n", "")


def test_help_names_every_verb(roamcast: Typed) -> None:
    status, out, _ = roamcast("--help")
    assert status == 0
    for verb in ("run", "protocols", "presets", "model"):
        assert f" {verb} " in out


@pytest.mark.parametrize("words", [(), ("model",)])
def test_no_arguments_show_the_help(roamcast: Typed, words: tuple[str, ...]) -> None:
    status, out, err = roamcast(*words)
    assert status == 2
    assert "Usage: roamcast" in out + err
    assert not err.endswith("roamcast: \n")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["fly"], "No such command 'fly'."),
        (["run"], "run what? Name a preset (see `roamcast presets`), a scenario file, or at least a --protocol"),
        (["run", "baldoni", "--fast"], "No such option: --fast"),
        (["run", "baldoni", "--seed", "x"], "--seed: must be a whole number"),
        (["presets", "baldon"], "unknown preset 'baldon'; did you mean 'baldoni'?"),
        (["protocols", "gosip"], "unknown protocol 'gosip'; did you mean 'gossip'?"),
        (["model", "distance", "--steps", "0"], "--steps: must be at least 1"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(roamcast: Typed, words: list[str], line: str) -> None:
    status, out, err = roamcast(*words)
    assert (status, out) == (2, "")
    assert err.startswith(f"roamcast: {line}")
    assert err.count("\n") == 1


def test_help_does_not_load_the_simulator() -> None:
    script = (
        "import sys; sys.argv = ['roamcast', '--help']\n"
        "from roamcast.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numpy', 'pyarrow', 'roamcast.world', 'roamcast.protocols') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_interrupt_is_no_traceback(roamcast: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("roamcast.papers.presets.names", interrupted)
    assert roamcast("presets") == (130, "", "")


@pytest.mark.parametrize("words", [["presets", "li"], ["--version"]])
def test_a_reader_that_has_seen_enough_is_no_traceback(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "roamcast", *words]
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}  # so that the last words leave at the very end
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, env=environment)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


# ---- verbs that show something


def test_protocols_lists_every_name_with_a_line(roamcast: Typed) -> None:
    status, out, _ = roamcast("protocols")
    assert status == 0
    assert "proximity" in out
    assert "Proximity-driven routing" in out


@pytest.mark.parametrize("name", registry.names())
def test_protocols_says_which_need_all_to_subscribe(roamcast: Typed, name: str) -> None:
    needs_all = registry.get(name).only_subscribers_forward
    shown, described = roamcast("protocols", name)[1], json.loads(roamcast("protocols", name, "--json")[1])
    assert ("Only nodes that subscribe" in shown) is described["only_subscribers_forward"] is needs_all


def test_protocols_shows_what_is_different_on_real_nodes(roamcast: Typed) -> None:
    assert "On real nodes: repair=true" in roamcast("protocols", "frugal")[1]
    assert json.loads(roamcast("protocols", "frugal", "--json")[1])["live"]["repair"] is True
    assert "Real nodes run it" in roamcast("protocols", "roam")[1]


def test_protocols_shows_parameters_with_default_unit_range_and_source(roamcast: Typed) -> None:
    status, out, _ = roamcast("protocols", "proximity")
    assert status == 0
    row = next(line for line in out.splitlines() if line.startswith("beacon_interval_s"))
    assert "5.0 s" in row
    assert "[Fig. 10]" in row


def test_presets_lists_titles_and_papers(roamcast: Typed) -> None:
    status, out, _ = roamcast("presets")
    assert status == 0
    assert "Two hundred sensors that do not move" in out
    assert "Costa" in out


def test_a_preset_shows_values_with_their_sources(roamcast: Typed) -> None:
    status, out, _ = roamcast("presets", "li")
    assert status == 0
    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in out.splitlines() if line.strip()}
    assert [cell.strip() for cell in rows["nodes"]] == ["500", "Table 1"]
    assert [cell.strip() for cell in rows["gossip.p"]] == ["1", "§4.1: flooding"]
    for change in joint.of_preset("li").changes:
        assert (change.name in rows) == change.needs_runs


# ---- compiled modules


@pytest.mark.parametrize("checkout", [True, False])
def test_a_source_newer_than_its_compiled_module_is_stale_in_a_checkout_alone(tmp_path: Path, checkout: bool) -> None:
    package = tmp_path / "src" / "roamcast"
    package.mkdir(parents=True)
    if checkout:
        (tmp_path / "setup.py").touch()
    for name, source_date, compiled_date in (("old", 1, 2), ("changed", 3, 2), ("same", 2, 2)):
        (package / f"{name}.py").touch()
        (package / f"{name}.cpython-311-x86_64-linux-gnu.so").touch()
        os.utime(package / f"{name}.py", (source_date, source_date))
        os.utime(package / f"{name}.cpython-311-x86_64-linux-gnu.so", (compiled_date, compiled_date))
    assert [path.name for path in build.stale(package)] == (["changed.py"] if checkout else [])


def test_stale_modules_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "stale", lambda package: [package / f"{n}.py" for n in "abcd"])
    build.warn_if_stale()
    assert capsys.readouterr().err == (
        "roamcast: warning: changed since they were compiled: a.py, b.py, c.py, …; run make setup\n"
    )


PAPERS = ["proximity", "frugal", "semiprob", "semiprob-links", "psamanet", "treegroup", "subtree"]


@pytest.mark.parametrize("name", PAPERS)
def test_a_system_of_a_paper_is_shown_with_its_readings(roamcast: Typed, name: str) -> None:
    status, out, _ = roamcast("protocols", name)
    assert status == 0
    assert re.search(r"Readings, where the paper leaves a choice.*\n +R\d", out)


def test_a_protocol_without_readings_says_nothing_of_them(roamcast: Typed) -> None:
    assert "How the paper" not in roamcast("protocols", "gossip")[1]


VERBS = ["run", "fields", "protocols", "presets", "query", "reproduce", "node", "publish", "subscribe", "status", "key"]
VERBS += ["lab field", "report", "trace stats", "campaign run", "campaign plan", "model distance", ""]


@pytest.mark.parametrize("verb", VERBS)
def test_a_flag_takes_no_value_and_help_shows_none(roamcast: Typed, verb: str) -> None:
    status, out, _ = roamcast(*verb.split(), "--help")
    assert status == 0
    assert "--help" in out
    assert "<bool>" not in out
