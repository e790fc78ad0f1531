"""`roamcast campaign` and `roamcast query`: options, one-line errors and exit statuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from roamcast.errors import RoamcastError
from roamcast.lab import conduct
from roamcast.lab.spark import session
from tests.cli.conftest import Typed
from tests.lab.test_conduct import TINY as GOSSIP
from tests.support.interpreter import without

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TINY = GOSSIP + '[[protocol]]\nname = "broken:Broken"\n'
BROKEN = """
from roamcast.protocols.kit.interface import Protocol

class Broken(Protocol):
    def on_start(self):
        raise ValueError("it [b]is[/b] broken")
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a campaign, two runs of which raise."""
    (tmp_path / "tiny.toml").write_text(TINY)
    (tmp_path / "broken.py").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_campaign_is_planned_run_shown_and_asked(roamcast: Typed, here: Path, spark: SparkSession) -> None:
    check_plan(roamcast)
    assert not (here / "out").exists()
    check_run(roamcast)
    check_status(roamcast)
    check_query(roamcast)
    (here / "tiny.toml").write_text(TINY.replace("seeds = 2", "seeds = 1"))
    status, out, err = roamcast("campaign", "tiny.toml")
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith("roamcast: out/tiny: holds the campaign 'tiny', which is not this one")
    assert "tiny: 0 of 3 runs to do" in roamcast("campaign", "tiny.toml", "--extend")[2]


def check_plan(roamcast: Typed) -> None:
    status, out, err = roamcast("campaign", "plan", "tiny.toml")
    assert (status, err) == (0, "")
    assert out.startswith("tiny: 3 cells\nall cells: baldoni, ") and "6 runs; very roughly" in out
    assert "gossip p=0.4" in out and "broken:Broken" in out
    status, out, err = roamcast("campaign", "plan", "tiny.toml", "--json")
    planned = json.loads(out)
    assert (status, err, planned["campaign"], planned["runs"]) == (0, "", "tiny", 6)
    assert [(cell["label"], cell.get("p_p"), cell["runs"]) for cell in planned["cells"]] == [
        ("gossip", 0.4, 2),
        ("gossip", 0.8, 2),
        ("broken:Broken", None, 2),
    ]
    assert planned["cost_s"] == pytest.approx(sum(cell["cost_s"] for cell in planned["cells"]))


def check_run(roamcast: Typed) -> None:
    status, out, err = roamcast("campaign", "tiny.toml", "--json")
    (line,) = out.splitlines()
    output = json.loads(line)
    assert status == 1  # because runs have failed
    assert err.splitlines()[:2] == ["tiny: starting Spark", "tiny: 6 of 6 runs to do"]
    assert output["out"] == "out/tiny"
    assert {(row["label"], row["p_p"], row["n"]) for row in output["summary"]} == {
        ("gossip", 0.4, 2),
        ("gossip", 0.8, 2),
    }
    assert [row["error"] for row in output["failed"]] == ["ValueError: it [b]is[/b] broken"] * 2

    status, out, err = roamcast("campaign", "tiny.toml", "--out", "out/tiny")
    assert status == 1
    assert "tiny: 0 of 6 runs to do" in err
    assert "2 failed:\n  ValueError: it [b]is[/b] broken\n    roamcast run baldoni --protocol broken:Broken" in out
    assert out.endswith("tables are in out/tiny; ask them: roamcast query out/tiny SQL\n")
    assert "tiny: 2 of 6 runs to do" in roamcast("campaign", "tiny.toml", "--retry")[2]


def check_status(roamcast: Typed) -> None:
    status, out, _ = roamcast("campaign", "status", "out/tiny")
    *_, written, first, second = out.splitlines()
    assert (status, written) == (0, "tables are written")
    assert first.startswith("6 runs from ") and second.startswith("2 runs from ") and "; local[" in second
    assert out.startswith("tiny: 4 of 6 runs finished, 0 to do\n2 failed:\n")
    output = json.loads(roamcast("campaign", "status", "out/tiny", "--json")[1])
    assert (output["planned"], output["finished"], len(output["failed"]), output["measured"]) == (6, 4, 2, True)
    assert [(record["runs"], record["engine"]) for record in output["provenance"]] == [(6, "spark"), (2, "spark")]


def check_query(roamcast: Typed) -> None:
    asked = "select seed, p_p as `[p]`, delivery from metrics order by 2, 1"
    status, out, err = roamcast("query", "out/tiny", asked, "--json")
    output = json.loads(out)
    assert (status, err, output["columns"]) == (0, "", ["seed", "[p]", "delivery"])
    assert [row[:2] for row in output["rows"]] == [[1, 0.4], [2, 0.4], [1, 0.8], [2, 0.8]]
    status, out, err = roamcast("query", "out/tiny", asked, "--limit", "3")
    assert [line.split()[:2] for line in out.splitlines()] == [
        ["seed", "[p]"],
        ["1", "0.4"],
        ["2", "0.4"],
        ["1", "0.8"],
    ]
    assert err == "the first 3 rows; --limit N for more\n"
    status, out, err = roamcast("query", "out/tiny", "select * from metrics order by cell, seed", "--limit", "1")
    assert "protocol" in out and "…" not in out and max(map(len, out.splitlines())) <= 100
    assert err == "the first 1 row; --limit N for more\n"
    status, out, err = roamcast("query", "out/tiny", "select nothing from metrics")
    assert (status, out) == (2, "") and len(err.splitlines()) == 1
    assert err.startswith("roamcast: query: [UNRESOLVED_COLUMN") and "`nothing`" in err and "Project" not in err
    assert "PARSE_SYNTAX_ERROR" in roamcast("query", "out/tiny", "selec 1")[2]


def test_a_campaign_on_this_machine_says_what_one_on_spark_says(
    roamcast: Typed, here: Path, spark: SparkSession
) -> None:
    outputs = [roamcast("campaign", "tiny.toml", "--out", "out", where) for where in ("--local", "--spark")]
    outputs += [roamcast("campaign", "tiny.toml", "--out", "other", where) for where in ("--spark", "--local")]
    for status, out, _ in outputs:
        assert status == 1
        assert out.replace("other", "out") == outputs[0][1]
    assert outputs[0][2].splitlines() == ["tiny: 6 of 6 runs to do", "tiny: summing up"]
    assert "tiny: 0 of 6 runs to do" in outputs[1][2] and "tiny: 0 of 6 runs to do" in outputs[3][2]


def test_a_campaign_on_this_machine_needs_no_spark(here: Path) -> None:
    python = without(here / "bare", "pyspark", "py4j", "pandas")

    def typed(*words: str) -> tuple[int, str, str]:
        command = [python, "-m", "roamcast", "campaign", *words]
        environment = {**os.environ, "JAVA_HOME": str(here)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        return done.returncode, done.stdout, done.stderr

    status, out, err = typed("plan", "tiny.toml")
    assert (status, err) == (0, "") and "6 runs; very roughly" in out
    missing = "campaign without --local needs PySpark: pip install 'roamcast[lab]'"
    assert typed("tiny.toml") == (2, "", f"roamcast: {missing}\n")
    status, out, err = typed("tiny.toml", "--local", "--processes", "2", "--json")
    assert status == 1, err
    output = json.loads(out)
    assert {row["n"] for row in output["summary"]} == {2}
    assert [row["error"] for row in output["failed"]] == ["ValueError: it [b]is[/b] broken"] * 2
    status, out, err = typed("status", "out/tiny")
    assert (status, err) == (0, "") and out.startswith("tiny: 4 of 6 runs finished, 0 to do\n2 failed:\n")


def test_a_file_may_ask_for_this_machine(roamcast: Typed, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_spark(*_: Any, **__: Any) -> None:
        raise RoamcastError("Spark was asked for")

    monkeypatch.setattr(session, "session", no_spark)
    (here / "tiny.toml").write_text("local = true\n" + GOSSIP)
    status, _, err = roamcast("campaign", "tiny.toml")
    assert (status, err.splitlines()[0]) == (0, "tiny: 4 of 4 runs to do")
    for words in (("--spark",), ("--master", "local[2]"), ("--conf", "a=b")):
        status, out, err = roamcast("campaign", "tiny.toml", *words)
        assert (status, out, err.splitlines()[-1]) == (2, "", "roamcast: Spark was asked for")
    (here / "tiny.toml").write_text(GOSSIP)  # the same campaign, so that the folder is the same
    assert "tiny: 0 of 4 runs to do" in roamcast("campaign", "tiny.toml", "--local")[2]
    (here / "tiny.toml").write_text("local = 1\n" + GOSSIP)
    assert roamcast("campaign", "tiny.toml") == (
        2,
        "",
        "roamcast: tiny.toml:1: local: must be true or false, not a whole number\n",
    )


def test_an_interrupted_campaign_says_how_to_go_on(
    here: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, roamcast: Typed
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(conduct, "conduct", interrupted)
    status, out, err = roamcast("campaign", "tiny.toml")
    assert (status, out, err.splitlines()[-1]) == (130, "", "stopped; the same command goes on from here")


@pytest.mark.parametrize("command", [("campaign", "tiny.toml"), ("query", "made", "select 1")])
def test_master_and_settings_reach_spark(
    roamcast: Typed, here: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    (here / "made").mkdir()
    (here / "made" / "campaign.json").write_text("[]")
    asked: dict[str, Any] = {}

    class Asked(Exception):
        pass

    def ask(master: str, **options: Any) -> None:
        asked.update(options, master=master)
        raise Asked

    monkeypatch.setattr(session, "session", ask)
    with pytest.raises(Asked):
        roamcast(*command, "--master", "spark://far:7077", "--conf", "a.b=1", "--conf", "c=x=y")
    assert (asked["master"], asked["conf"]) == ("spark://far:7077", {"a.b": "1", "c": "x=y"})
    assert asked["log"].name == "spark.log"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("campaign", "none.toml"), "cannot read the campaign none.toml: no such file or directory"),
        (("campaign", "plan", "none.toml"), "cannot read the campaign none.toml: no such file or directory"),
        (("campaign", "tiny.toml", "--conf", "cores"), "--conf 'cores': must be KEY=VALUE"),
        (("campaign", "tiny.toml", "--sedes", "3"), "No such option: --sedes"),
        (
            ("campaign", "tiny.toml", "--local", "--master", "yarn"),
            "--master is about Spark: it must not be given with",
        ),
        (("campaign", "tiny.toml", "--local", "--conf", "a=b"), "--conf is about Spark: it must not be given with"),
        (("campaign", "tiny.toml", "--processes", "3"), "--processes 3: must come with --local"),
        (("campaign", "tiny.toml", "--local", "--processes", "0"), "--processes: must be at least 1"),
        (("campaign", "tiny.toml", "--limit", "1e10"), "--limit 1e+10: must be above 0 and at most 100,000,000 s"),
        (("campaign", "status", "nowhere"), "nowhere: no campaign has been run into this folder"),
        (("query", "nowhere", "select 1"), "nowhere: no campaign has been run into this folder"),
        (("query", "nowhere", "select 1", "--conf", "a=1", "--conf", "a=2"), "--conf 'a=2': a is given twice"),
        (("query", "nowhere"), "nowhere: no campaign has been run into this folder"),
        (("query", "nowhere", "select 1", "--limit", "0"), "--limit: must be at least 1"),
    ],
)
def test_wrong_input_is_one_line_before_spark_starts(
    roamcast: Typed, here: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], line: str
) -> None:
    monkeypatch.setattr(session, "_start", None)
    status, out, err = roamcast(*words)
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith(f"roamcast: {line}")
    assert not (here / "nowhere").exists()
