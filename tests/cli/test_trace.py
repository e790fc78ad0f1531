"""`roamcast trace`: what it prints, and what it refuses in one line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roamcast import storage
from roamcast.lab.traces import here
from tests.cli.conftest import Typed
from tests.support.data import data
from tests.support.interpreter import without
from tests.world.traces import samples
from tests.world.traces.samples import written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_stats_of_a_conference_as_json(roamcast: Typed, tmp_path: Path) -> None:
    figure = tmp_path / "ccdf.svg"
    status, out, err = roamcast(
        "trace", "stats", str(data("hypertext2009/tij_HT09.dat")), "--json", "--figure", str(figure)
    )
    (line,) = out.splitlines()
    output = json.loads(line)
    assert (status, err) == (0, "")
    assert (output["nodes"], output["contacts"]["count"], round(output["contacts"]["mean_s"], 1)) == (113, 9865, 42.2)
    assert [row["reached"] for row in output["reachability"]["within"]] == [2926, 8465, 11429]
    assert output["reachability"]["pairs"] == 12_656 and output["malformed"] == 0
    assert sum(share for _, share in output["degrees"]) == pytest.approx(1.0) and len(output["degree_over_time"]) == 24
    assert output["degree_mean"] == pytest.approx(2 * 9865 * output["contacts"]["mean_s"] / 113 / 212_360)
    assert figure.read_text().count("<svg") == 1


def test_stats_of_movements_count_malformed_lines_and_go_on(roamcast: Typed, tmp_path: Path) -> None:
    path = written(tmp_path, "moves.csv", samples.CSV + "what is this\n21,0\n")
    status, out, err = roamcast("trace", "stats", str(path), "--range", "50", "--within", "5,10")
    assert status == 0
    assert err.splitlines() == [
        f"roamcast: {path}, line 8: 'what is this' is not t,node,x,y",
        f"roamcast: {path}, line 9: '21,0' is not t,node,x,y",
        "roamcast: 2 malformed lines left out",
    ]
    words = " ".join(out.split())
    assert "moves.csv: csv, 3 nodes, 20 s, range 50 m" in words
    assert "contacts 1 13.8" in words and "5 s 33.33 % 2 of 6" in words


def test_output_is_the_same_to_the_byte_with_spark(roamcast: Typed, spark: SparkSession, tmp_path: Path) -> None:
    """`spark` is the session that the command finds."""
    path = str(written(tmp_path, "moves.csv", samples.CSV + "what is this\n"))
    outputs = []
    for where in ("--local", "--spark"):
        figure, target = tmp_path / "curves.svg", tmp_path / "out.sumo"
        stats = ("trace", "stats", path, "--range", "50", "--figure", str(figure), where)
        words = [stats, (*stats, "--json"), ("trace", "convert", path, str(target), "--to", "sumo-fcd", where)]
        outputs.append([*(roamcast(*command) for command in words), figure.read_bytes(), target.read_bytes()])
    assert outputs[0] == outputs[1]
    assert outputs[0][0][0] == 0


def test_a_small_trace_needs_no_spark(roamcast: Typed, tmp_path: Path) -> None:
    python = without(tmp_path / "bare", "pyspark", "py4j", "pandas")
    path = written(tmp_path, "moves.csv", samples.CSV)

    def typed(*words: str) -> tuple[int, str, str]:
        environment = {**os.environ, "COLUMNS": "100", "JAVA_HOME": str(tmp_path)}
        command = [python, "-m", "roamcast", "trace", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        return done.returncode, done.stdout, done.stderr

    words = ("stats", str(path), "--range", "50")
    assert typed(*words) == roamcast("trace", *words)
    status, out, err = typed("convert", str(path), str(tmp_path / "out.txt"), "--to", "one-conn", "--range", "50")
    assert (status, err) == (0, "") and "2 lines of 3 nodes" in out
    status, out, err = typed(*words, "--spark")
    assert (status, out) == (2, "") and "PySpark: pip install 'roamcast[lab]'" in err and err.count("\n") == 1


def test_a_trace_that_outgrows_this_machine_goes_to_spark(
    roamcast: Typed, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is so large that it is not even read here, and one whose tables turn out to be."""
    path = str(written(tmp_path, "moves.csv", samples.CSV))
    words = ("trace", "stats", path, "--range", "50", "--json")
    here_output = roamcast(*words)[:2]
    monkeypatch.setattr(here, "free_memory", lambda: 1000)
    assert roamcast(*words) == (*here_output, "")
    monkeypatch.setattr(here, "fits", lambda _: True)
    message = "roamcast: a table of the trace is larger than 0.0 GB: going on with Spark\n"
    assert roamcast(*words) == (*here_output, message)
    too_large = "a table of the trace is larger than 0.0 GB, too large for --local; leave it out to use Spark"
    assert roamcast(*words, "--local") == (2, "", f"roamcast: {path}: {too_large}\n")


def test_convert_and_what_it_says(roamcast: Typed, tmp_path: Path) -> None:
    path = samples.positions(tmp_path)["csv"]
    status, out, err = roamcast("trace", "convert", str(path), str(tmp_path / "out.tcl"), "--to", "ns2")
    assert (status, out, err) == (0, f"{tmp_path / 'out.tcl'}: 8 rows of 3 nodes\n", "")
    status, out, _ = roamcast(
        "trace",
        "convert",
        str(tmp_path / "out.tcl"),
        str(tmp_path / "out.txt"),
        "--to",
        "one-conn",
        "--range",
        "50",
        "--json",
    )
    output = json.loads(out)
    assert (output["format"], output["to"], output["rows"], output["names"]) == ("ns2", "one-conn", 2, None)
    assert (tmp_path / "out.txt").read_text() == "6.25 CONN 0 1 up\n20 CONN 0 1 down\n"


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.csv", "0,1,0,0\n5,1,9,0\n4,1,8,0\n", (), "a.csv, line 3: time runs backwards for node 1"),
        ("a.csv", "0,ann,0,0\n0,ann,9,0\n", (), "a.csv, line 2: node ann is at two places at 0 s"),
        (
            "a.csv",
            "".join(f"{t},ann,{8 + t / 1e5},47\n" for t in range(60)),
            (),
            "coordinates look like degrees, not metres",
        ),
        ("a.csv", "0,ann,0,0\noops\n", ("--strict",), "a.csv, line 2: 'oops' is not t,node,x,y"),
        ("a.txt", "well\n", (), "a.txt: is in no known format"),
        ("a.csv", samples.CSV, ("--units", "feet"), "units=feet: must be metres or degrees"),
        ("a.csv", samples.CSV, ("--from", "ns3"), "unknown trace format 'ns3'; did you mean 'ns2'?"),
    ],
)
def test_wrong_input_is_one_line_and_nothing_is_written(
    roamcast: Typed, tmp_path: Path, name: str, text: str, options: tuple[str, ...], message: str
) -> None:
    path = written(tmp_path, name, text)
    status, out, err = roamcast("trace", "convert", str(path), str(tmp_path / "out.tcl"), "--to", "ns2", *options)
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("roamcast: ") and message in line
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("convert", "none.csv", "out", "--to", "ns2"), "none.csv: cannot be read (no such file or directory)"),
        (("convert", "a.csv", "a.csv", "--to", "ns2"), "a.csv: must not be the file that is read"),
        (("convert", "a.csv", "none/out", "--to", "ns2"), "none/out: there is no folder none"),
        (("convert", "a.csv", "out", "--to", "gpx"), "unknown format to write 'gpx'"),
        (
            ("convert", "a.csv", "out", "--to", "ns2", "--range", "5"),
            "--range 5: ns2 has positions; leave the range out",
        ),
        (("convert", "a.csv", "out", "--to", "one-conn", "--range", "-5"), "--range -5: must be above 0 m"),
        (("stats", "a.csv", "--local", "--master", "yarn"), "--master yarn is about Spark: it must not be given with"),
        (("stats", "a.csv", "--within", "soon"), "--within soon: must be numbers of seconds"),
        (("stats", "a.csv", "--figure", "a.bmp"), "--figure a.bmp: must end with .svg, .png, .pdf"),
    ],
)
def test_wrong_options_are_refused_before_spark_starts(
    roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("roamcast.lab.spark.session.session", None)
    written(tmp_path, "a.csv", samples.CSV)
    status, out, err = roamcast("trace", *words)
    assert (status, out) == (2, "")
    (line,) = err.splitlines()
    assert message in line
    assert [file.name for file in tmp_path.iterdir()] == ["a.csv"]


def test_a_trace_in_an_object_store_is_read_like_a_file(roamcast: Typed, bucket: str, tmp_path: Path) -> None:
    """By `trace`, and as the world of a run."""
    path = written(tmp_path, "meetings.txt", "1 2 0 30\n2 3 10 60\n1 3 50 90\n")
    url = f"{bucket}/traces/meetings.txt"
    storage.at(f"{bucket}/traces").put("meetings.txt", path.read_bytes())
    stats = [
        json.loads(roamcast("trace", "stats", str(place), "--from", "intervals", "--json")[1]) for place in (path, url)
    ]
    assert stats[0] | {"trace": url} == stats[1] and stats[1]["contacts"]["count"] == 3
    listed = written(tmp_path, "meetings.csv", "i,j,start,end\n1,2,0,30\n2,3,10,60\n1,3,50,90\n")
    storage.at(f"{bucket}/traces").put("meetings.csv", listed.read_bytes())
    world = ["mobility=contacts", "nodes=3", "publishers=1", "subscribers=2", "duration_s=90", "publish_from_s=1"]
    fingerprints = []
    for place in (listed, f"{bucket}/traces/meetings.csv"):
        words = [word for field in (*world, f"trace={place}") for word in ("--world", field)]
        status, out, err = roamcast("run", "--protocol", "gossip", *words, "--json")
        assert (status, err) == (0, "")
        fingerprints.append(json.loads(out)["fingerprint"])
    assert fingerprints[0] == fingerprints[1]
