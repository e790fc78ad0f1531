"""Logs of many nodes become one: by one clock, in order, each file once, and the metrics are those of any log."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from roamcast import lab
from roamcast.errors import InputError
from roamcast.lab.field.clocks import WINDOW_US, Clock, clocks, least_squares, offset_at
from roamcast.lab.field.intake import Field, Live
from roamcast.log import reader, schema
from roamcast.log.opened import Log
from roamcast.log.writer import ParquetSink
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.support.log_metrics import metrics
from tests.support.sinks import MemorySink, Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NODES = 6
PATIENCE_S = 300.0
MINUTE_US = 60_000_000
SAME = ("interested", "deliveries", "frames_sent", "bytes_sent", "receptions", "losses", "duplicates", "parasites")
OWN = ("own", "reception", "duplicates_wanted", "repeats")
MORE = (*OWN, "frames_by_kind", "losses_by_reason", "reasons", "memory_entries", "memory_bytes", "delivery", "overhead")
DRIFT = 2e-5
UNSURE_US = 2 * DRIFT * WINDOW_US
"""By how much two clocks part in a window."""
EPOCH_US = 1_790_000_000_000_000


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """What happened, by a clock that nobody has."""
    sink = MemorySink()
    world = Scenario(nodes=NODES, width_m=200, height_m=200, duration_s=600, events=20, subscribers=3, publishers=2)
    simulate(world, "proximity", {}, 3, level="frames", sink=sink, possible=False)
    return sink.rows


def clock(node: int) -> tuple[int, float]:
    """Ahead by so much at first, and by so much of the time that passes."""
    dice = random.Random(node)
    return dice.randrange(-2_000_000_000, 2_000_000_000), dice.uniform(-DRIFT, DRIFT)


def local(t: int, node: int) -> int:
    ahead, drift = clock(node)
    return EPOCH_US + t + ahead + int(drift * t)


def write(rows: list[Row], folder: Path, rotate_us: int = 5 * MINUTE_US) -> None:
    """A file for each node and piece of time."""
    sinks: dict[tuple[int, int], ParquetSink] = {}
    for t, node, *rest in rows:
        key = node, t // rotate_us
        if key not in sinks:
            (folder / str(node)).mkdir(parents=True, exist_ok=True)
            sinks[key] = ParquetSink(folder / str(node) / f"{node}-{local(t, node)}.parquet", "field")
        sinks[key].row(local(t, node), node, *rest)  # type: ignore[arg-type]
    for sink in sinks.values():
        sink.close()


def ingested(logs: Path, out: Path, spark: SparkSession) -> tuple[list[Live], list[Live]]:
    reported: list[Live] = []
    return Field(logs, out, spark).ingest(reported.append), reported


def test_many_logs_become_one_with_the_metrics_of_what_happened(
    rows: list[Row], tmp_path: Path, spark: SparkSession
) -> None:
    early, late = [row for row in rows if row[0] < 6 * MINUTE_US], [row for row in rows if row[0] >= 6 * MINUTE_US]
    write(early, tmp_path / "logs")
    (first,), reported = ingested(tmp_path / "logs", tmp_path / "out", spark)
    assert (first.rows, first.nodes) == (len(early), NODES)
    assert reported[-1].metrics == first.metrics
    write(late, tmp_path / "logs")
    (live,), reported = ingested(tmp_path / "logs", tmp_path / "out", spark)  # only what is new is taken in
    assert (live.rows, live.nodes, reported[-1].metrics) == (len(rows), NODES, live.metrics)
    assert len(list((tmp_path / "out" / "raw").glob("batch=*"))) == 2

    truth = MemorySink()
    truth.rows = rows
    expected = metrics(truth.table("field"))
    assert {name: live.metrics[name] for name in (*SAME, *MORE)} == {name: expected[name] for name in (*SAME, *MORE)}
    assert live.metrics["latency_p50_s"] == pytest.approx(expected["latency_p50_s"], abs=UNSURE_US / 1e6)
    assert (live.metrics["possible"], live.metrics["of_possible"], live.metrics["energy_j"]) == (None, None, None)

    # one log in order, which says the same by itself
    path = tmp_path / "out" / "log" / "field.parquet"
    table = reader.read(path)
    times = table["t"].to_pylist()
    assert times == sorted(times)
    own = metrics(table)
    assert {name: own[name] for name in own} == {name: live.metrics[name] for name in own}
    heard = [row for row in reader.rows(path) if row.kind in ("send", "receive")]
    sent = {row.frame: row.t for row in heard if row.kind == "send"}
    took = [row.t - sent[row.frame] for row in heard if row.kind == "receive"]
    assert min(took) > -UNSURE_US
    assert max(took) < 5000 + UNSURE_US

    # and can be asked why
    events = Log(tmp_path / "out").why().as_dict()["events"]
    assert sum(event["got"] for event in events) == live.metrics["deliveries"]
    assert sum(event["interested"] for event in events) == live.metrics["interested"]

    # clocks, up to what nobody can know: by how much all are wrong together
    opened = lab.open(tmp_path / "out", spark)
    clock_rows = spark.read.parquet(str(tmp_path / "out" / "clocks")).collect()
    assert len({row.t for row in clock_rows if row.node == 0}) >= 8
    wrong = [row.offset_us - (row.t - _true(row.t, row.node)) for row in clock_rows]
    assert max(wrong) - min(wrong) < UNSURE_US
    assert opened.sql("select nodes from metrics").collect()[0][0] == NODES
    assert opened.log.count() == len(rows)


def _true(own: int, node: int) -> float:
    """What the common clock showed when this one did: the inverse of `local`."""
    ahead, drift = clock(node)
    return (own - EPOCH_US - ahead) / (1 + drift) + EPOCH_US


def test_a_serial_that_comes_again_does_not_confuse_the_clocks(spark: SparkSession, tmp_path: Path) -> None:
    """Node 1 writes the same rows again a quarter of an hour later. The clock of node 2 is a minute ahead."""
    folder = tmp_path / "logs"
    folder.mkdir()
    ahead = {1: 0, 2: 60_000_000}
    sinks = {node: ParquetSink(folder / f"{node}.parquet", "r") for node in ahead}
    for later in (0, 1000):
        for k in range(40):
            for sender, hearer in ((1, 2), (2, 1)):
                t = EPOCH_US + (later + k) * 1_000_000 + sender * 1000
                serial = sender << 32 | (k if sender == 1 else later + k)
                sinks[sender].row(t + ahead[sender], sender, schema.SEND, 0, serial, -1, 50, 400, "beacon")
                sinks[hearer].row(t + 300 + ahead[hearer], hearer, schema.RECEIVE, 0, serial, sender, 50, 400, "beacon")
    for sink in sinks.values():
        sink.close()
    rows = spark.read.parquet(str(folder)).selectExpr("*", "_metadata.file_name file", "_metadata.row_index place")
    knots = clocks(rows)
    differences = [b - a for a, b in zip(knots["r 1 "][1], knots["r 2 "][1], strict=True)]
    assert differences == pytest.approx([60_000_000] * len(differences), abs=2)


HOUR_US = 60 * MINUTE_US
BEGAN_ANEW_US = 100_000_000
AHEAD = {(1, False): 0, (2, False): 7_000_000, (2, True): -HOUR_US, (3, False): -9_000_000}


def two_boots(folder: Path) -> list[Path]:
    """Three nodes; the second started again, with a clock set back by an hour, and wrote the same rows again.

    Its files are distinguished by their boots, which by that clock are in the wrong order.
    """
    folder.mkdir()
    sinks: dict[tuple[int, bool], ParquetSink] = {}

    def row(t: int, node: int, *rest: Any) -> None:
        clock = node, node == 2 and t >= BEGAN_ANEW_US
        own = EPOCH_US + t + AHEAD[clock]
        if clock not in sinks:
            sinks[clock] = ParquetSink(folder / f"{node}-{own:020d}-{own:020d}.parquet", "field")
        sinks[clock].row(own, node, *rest)

    content = json.dumps({"topic": "news", "scope": "global", "attrs": {}})
    row(0, 3, schema.SUBSCRIBE, 1, 0, -1, 0, 0, "topic news")
    for second in range(200):
        t = second * 1_000_000
        if second in (50, 150):
            row(t, 2, schema.PUBLISH, 2 << 32 | 1, 0, -1, 50, 1 << 52, content)
        for sender in (1, 2, 3):
            serial = sender << 32 | second + 1
            row(t + sender * 1000, sender, schema.SEND, 0, serial, -1, 50, 400, "beacon")
            for hearer in {1, 2, 3} - {sender}:
                row(t + sender * 1000 + 300, hearer, schema.RECEIVE, 0, serial, sender, 50, 400, "beacon")
        if second in (51, 151):
            row(t + 500_000, 3, schema.DELIVER, 2 << 32 | 1, 0, -1, 0, 0, "")
    for sink in sinks.values():
        sink.close()
    return sorted(folder.iterdir())


def test_each_life_of_a_node_has_its_clock_and_files_are_taken_in_when_they_are_whole(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    files = two_boots(logs)
    late = next(path for path in files if path.name.startswith("3-"))
    content = late.read_bytes()
    late.write_bytes(content[:-100])
    empty = logs / "empty.parquet"
    empty.touch()
    field = Field(logs, out, spark)
    (live,) = field.ingest(lambda _: None)
    assert live.nodes == 2
    field.ingest(lambda _: None)
    lines = sorted(record.message for record in caplog.records if record.name == "roamcast.lab")
    assert [(str(late) in line, str(empty) in line) for line in lines] == [(True, False), (False, True)], "once each"

    late.write_bytes(content)
    os.utime(late, (1e9, 1e9))  # with the time that it had where it came from, which was long ago
    (live,) = field.ingest(lambda _: None)
    assert live.nodes == 3
    assert (live.metrics["deliveries"], live.metrics["latency_p50_s"]) == (1, pytest.approx(1.5, abs=1e-3))
    merged = list(reader.rows(out / "log" / "field.parquet"))
    sent = {row.frame: row.t for row in merged if row.kind == "send"}
    took = [row.t - sent[row.frame] for row in merged if row.kind == "receive"]
    assert len(took) == 1200
    assert (min(took), max(took)) == (pytest.approx(300, abs=10), pytest.approx(300, abs=10))
    seconds = [row.frame & 0xFFFFFFFF for row in merged if row.kind == "send" and row.node == 2]
    assert seconds == sorted(seconds), "its lives follow each other as they did"
    table = spark.read.parquet(str(out / "clocks"))
    assert table.where("node = 2").select("life").distinct().count() == 2


def linked(logs: Path, out: Path, follow: bool = False) -> tuple[list[str], Field]:
    """What would be taken in, without any Spark."""
    out.mkdir(parents=True, exist_ok=True)
    field = Field(logs, out, None)  # type: ignore[arg-type]
    field._find_whole(follow)
    return sorted(str(path.relative_to(out / "whole")) for path in (out / "whole").rglob("*.parquet")), field


def a_log(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    sink = ParquetSink(path, "r")
    sink.row(10, 2, schema.SUBSCRIBE, 1, 0, -1, 0, 0, "topic news")
    sink.close()


def test_logs_inside_out_are_taken_in_and_out_inside_logs_is_not(tmp_path: Path) -> None:
    a_log(tmp_path / "field" / "logs" / "1.parquet")
    assert linked(tmp_path / "field" / "logs", tmp_path / "field")[0] == ["1.parquet"]
    a_log(tmp_path / "logs" / "below" / "2.parquet")
    for _ in range(2):
        a_log(tmp_path / "logs" / "out" / "log" / "r.parquet")
        assert linked(tmp_path / "logs", tmp_path / "logs" / "out")[0] == ["below/2.parquet"]
    with pytest.raises(InputError, match="holds the logs themselves; choose another --out"):
        linked(tmp_path / "logs", tmp_path / "logs" / "below" / "..")


@pytest.mark.parametrize("follow", [False, True])
def test_a_file_that_is_left_out_is_named_and_looked_at_again_only_where_that_is_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, follow: bool
) -> None:
    half = tmp_path / "logs" / "half.parquet"
    a_log(half)
    content = half.read_bytes()
    half.write_bytes(content[:-10])
    links, field = linked(tmp_path / "logs", tmp_path / "out", follow)
    assert (links, field.left_out) == ([], [str(half)])
    (line,) = [record.message for record in caplog.records]
    assert ("looked at again" in line, "left out" in line) == (follow, not follow)
    half.write_bytes(content)
    field._find_whole(follow)
    assert field.left_out == []


def test_what_an_earlier_version_made_is_not_gone_on_with(tmp_path: Path) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out"
    logs.mkdir()
    out.mkdir()
    (out / "field.json").write_text(json.dumps({"logs": str(logs)}))
    with pytest.raises(InputError, match="out: was made by an earlier version; choose another --out"):
        Field(logs, out, None)._claim()  # type: ignore[arg-type]


def test_of_an_event_that_was_published_again_the_first_counts(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    content = json.dumps({"topic": "news", "scope": "global", "attrs": {}})
    publisher, subscriber = ParquetSink(folder / "1.parquet", "r"), ParquetSink(folder / "2.parquet", "r")
    subscriber.row(10, 2, schema.SUBSCRIBE, 1, 0, -1, 0, 0, "topic news")
    for t in (20, 5_000_020):
        publisher.row(t, 1, schema.PUBLISH, 1 << 32 | 1, 0, -1, 50, 1 << 52, content)
    for t in (1_000_020, 6_000_000):
        subscriber.row(t, 2, schema.DELIVER, 1 << 32 | 1, 0, -1, 0, 0, "")
    publisher.close()
    subscriber.close()
    (live,), _ = ingested(folder, tmp_path / "out", spark)
    assert (live.metrics["interested"], live.metrics["deliveries"], live.metrics["latency_p50_s"]) == (1, 1, 1.0)


def test_a_clock_goes_on_as_it_went_but_not_for_ever() -> None:
    t = np.array([-10.0, 0.0, 50.0, 100.0, 200.0, 100.0 + 5 * WINDOW_US])
    expected = [-1.0, 0.0, 5.0, 10.0, 20.0, 10.0 + WINDOW_US / 10]
    assert offset_at(t, [0.0, 100.0], [0.0, 10.0]) == pytest.approx(expected)
    assert offset_at(t, [0.0], [7.0]).tolist() == [7.0] * 6


@pytest.mark.parametrize("apart", [False, True])
def test_least_squares_finds_offsets_from_differences(apart: bool) -> None:
    one, two, three, four = (1, ""), (2, "before"), (2, "after"), (4, "")
    offsets = {one: 500.0, two: -300.0, three: 100.0, four: -300.0}
    pairs = [(one, two), (three, four)] if apart else [(one, two), (two, three), (three, four)]
    least: dict[tuple[Clock, Clock], float] = {}
    for i, j in pairs:
        least[i, j] = 40 + offsets[j] - offsets[i]
        least[j, i] = 40 + offsets[i] - offsets[j]
    solved = least_squares(least)
    for i, j in pairs:
        assert solved[j] - solved[i] == pytest.approx(offsets[j] - offsets[i], abs=1e-6)
    if apart:
        assert solved[one] + solved[two] == pytest.approx(0, abs=1e-6)


def test_what_only_one_direction_tells_yields_to_what_both_do() -> None:
    one, two, three = (1, ""), (2, ""), (3, "")
    both = {(one, two): 1040.0, (two, one): -960.0, (two, three): 40.0, (three, two): 40.0}
    solved = least_squares({**both, (one, three): 9000.0})
    assert solved[two] - solved[one] == pytest.approx(1000, abs=10)
    assert solved[three] - solved[two] == pytest.approx(0, abs=10)


def test_the_command_follows_what_arrives_until_it_is_interrupted(rows: list[Row], tmp_path: Path) -> None:
    """Files come while it runs, as from nodes that run; an interrupt ends it in good order."""
    logs, out = tmp_path / "logs", tmp_path / "out"
    pieces = [[row for row in rows if early == (row[0] < 5 * MINUTE_US)] for early in (True, False)]
    write(pieces[0], logs)
    words = ["lab", "field", str(logs), "--out", str(out), "--json", "--follow", "--every", "0.5"]
    follow = subprocess.Popen(
        [sys.executable, "-m", "roamcast", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for(follow, f"{NODES} nodes, {len(pieces[0]):,} rows; delivery ")
        write(pieces[1], tmp_path / "arriving")
        for path in (tmp_path / "arriving").rglob("*.parquet"):  # a file appears whole, or not at all
            path.rename(logs / path.name)
        wait_for(follow, f"{NODES} nodes, {len(rows):,} rows; delivery ")
    finally:
        os.killpg(follow.pid, signal.SIGINT)  # as a terminal does: to all that it has started
        output, errors = follow.communicate(timeout=PATIENCE_S)
    assert follow.returncode == 0, errors
    assert "Traceback" not in errors
    assert json.loads(output)["field"]["rows"] == len(rows)
    assert reader.read(out / "log" / "field.parquet").num_rows == len(rows)


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    """Until it says so."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if text in line:
            return
    raise AssertionError(f"never printed {text!r}: {''.join(lines)}")


def test_wrong_folders_are_one_line(tmp_path: Path, spark: SparkSession) -> None:
    with pytest.raises(InputError, match="no such folder"):
        Field(tmp_path / "none", tmp_path / "out", spark)
    (tmp_path / "logs").mkdir()
    assert ingested(tmp_path / "logs", tmp_path / "out", spark) == ([], [])
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="another field"):
        ingested(tmp_path / "other", tmp_path / "out", spark)
    (tmp_path / "campaign").mkdir()
    (tmp_path / "campaign" / "campaign.json").write_text("[]")
    with pytest.raises(InputError, match="holds a campaign"):
        ingested(tmp_path / "logs", tmp_path / "campaign", spark)


def test_the_command_says_how_it_stands() -> None:
    from roamcast.cli.lab import line

    measured: dict[str, Any] = {"delivery": 0.9312, "deliveries": 134, "interested": 144, "overhead": 4.2}
    live = Live("field", 12, 4211, {**measured, "latency_p50_s": 0.0123})
    assert line(live) == (
        "field: 12 nodes, 4,211 rows; delivery 93.1 % (134 of 144), overhead 4.20 frames per delivery, "
        "median latency 12.3 ms"
    )
    nothing = dict.fromkeys(measured | {"latency_p50_s": 0}, None) | {"deliveries": 0, "interested": 0}
    assert "delivery – (0 of 0)" in line(Live("field", 1, 1, nothing))
