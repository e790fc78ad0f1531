"""What a page has of a log: the log's own rows, places and reasons."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.log.explanation import words
from roamcast.log.explanation.holders import absences
from roamcast.log.explanation.places import Places
from roamcast.log.explanation.select import DECISION_KINDS
from roamcast.log.interest import FAULTS
from roamcast.log.opened import Log
from roamcast.log.schema import KINDS
from roamcast.log.writer import ParquetSink
from roamcast.show.replay.cut import Wanted
from roamcast.show.replay.events import STATUSES
from roamcast.show.replay.rules import STATES
from roamcast.show.replay.scene import Scene, scene
from tests.show.replay.runs import run, unpacked

Content = tuple[dict[str, Any], dict[str, dict[str, list[int]]]]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    path = tmp_path_factory.mktemp("scene") / "run.parquet"
    return Log(run(path, crash_mean_s=15.0, repair_mean_s=4.0, partition_from_s=5.0, partition_until_s=9.0))


@pytest.fixture(scope="module")
def content(log: Log) -> Content:
    return unpacked(scene(log).packed())


def test_rows_are_those_of_the_log(log: Log, content: Content) -> None:
    texts, tables = content
    rows = [row for row in log.rows() if row.kind != "move"]
    assert tables["rows"]["t"] == [row.t for row in rows]
    assert [texts["nodes"][k] for k in tables["rows"]["node"]] == [row.node for row in rows]
    assert [KINDS[k] for k in tables["rows"]["kind"]] == [row.kind for row in rows]
    assert tables["rows"]["frame"] == [row.frame for row in rows]
    assert tables["rows"]["bytes"] == [row.size for row in rows]
    peers = [texts["nodes"][k - 1] if k else -1 for k in tables["rows"]["peer"]]
    assert peers == [row.peer for row in rows]
    assert texts["row_count"] == len(list(log.rows()))


def test_decisions_have_the_sentences_of_why(log: Log, content: Content) -> None:
    texts, tables = content
    rows = [row for row in log.rows() if row.kind != "move"]
    shown = [texts["texts"][k] for k in tables["rows"]["text"]]
    decisions = [
        (text, words.decision(row)) for text, row in zip(shown, rows, strict=True) if row.kind in DECISION_KINDS
    ]
    assert len(decisions) > 100
    assert all(text == sentence for text, sentence in decisions)


def test_absences_are_those_of_why(log: Log, content: Content) -> None:
    texts, tables = content
    wanted = absences(row for row in log.rows() if row.kind in FAULTS)
    table = tables["absences"]
    assert {texts["nodes"][k] for k in table["node"]} == set(wanted) and len(table["node"]) > 5
    for k, node in enumerate(table["node"]):
        until = [each.until_us for each in wanted[texts["nodes"][node]] if each.from_us == table["from"][k]]
        assert min(until[0], (1 << 50) - 1) == table["until"][k] and STATES[table["state"][k]] == "down"


def test_legs_give_the_places_of_the_log(log: Log, content: Content) -> None:
    texts, tables = content
    places = Places(row for row in log.rows() if row.kind == "move")
    legs = tables["legs"]
    draw = random.Random(1)
    for _ in range(300):
        node, t = draw.randrange(30), draw.randrange(20_000_000)
        own = [k for k, owner in enumerate(legs["node"]) if texts["nodes"][owner] == node and legs["t"][k] <= t]
        k = max(own, key=lambda place: legs["t"][place])
        took_s = min(t - legs["t"][k], legs["end"][k]) / 1e6
        x, y = legs["x"][k] / 1e3 + legs["vx"][k] / 1e4 * took_s, legs["y"][k] / 1e3 + legs["vy"][k] / 1e4 * took_s
        assert places.position(node, t) == pytest.approx((x, y), abs=1e-6)


def test_every_missed_pair_has_the_answer_of_why(log: Log, content: Content) -> None:
    texts, tables = content
    pairs, answers = tables["pairs"], 0
    for k, status in enumerate(pairs["status"]):
        event, node = texts["events"][pairs["event"][k]]["name"], texts["nodes"][pairs["node"][k]]
        if STATUSES[status] == "missed" and k % 7 == 0:
            answer = log.why(node, event)
            assert texts["texts"][pairs["summary"][k]] == answer.summary  # type: ignore[union-attr]
            assert texts["texts"][pairs["cause"][k]] == answer.cause  # type: ignore[union-attr]
            answers += 1
    assert answers > 3
    got = Counter(STATUSES[status] for status in pairs["status"])["got"]
    assert got == log.summary["deliveries"]


def test_the_world_is_that_of_the_scenario(content: Content) -> None:
    texts, _ = content
    assert texts["title"] == "gossip on small, seed 1"
    assert texts["area"] == [0.0, 0.0, 700.0, 700.0] and texts["is_bounded"]
    assert texts["ranges"] == [150.0] * 30
    assert texts["wall"] == [350.0, 5_000_000, 9_000_000]
    assert texts["remarks"] == []


def test_streets_are_those_of_the_map(tmp_path: Path) -> None:
    city = scene(Log(run(tmp_path / "city.parquet", mobility="city", width_m=1200.0, height_m=900.0, nodes=8)))
    lines = city.texts["streets"]
    assert len(lines) > 20 and all(len(line) >= 4 for line in lines)
    assert len({frozenset(zip(line[::2], line[1::2], strict=True)) for line in lines}) == len(lines)  # none twice
    grid = scene(Log(run(tmp_path / "grid.parquet", mobility="manhattan", block_m=350.0)))
    assert sorted(grid.texts["streets"])[0] == [0.0, 0.0, 0.0, 700.0] and len(grid.texts["streets"]) == 6


def test_a_map_that_is_gone_is_named(tmp_path: Path) -> None:
    streets = tmp_path / "map.wkt"
    streets.write_text("LINESTRING (0 0, 400 0, 400 300, 0 300, 0 0)\n")
    log = Log(run(tmp_path / "run.parquet", mobility="city", street_map=str(streets), nodes=8))
    assert len(scene(log).texts["streets"]) > 0
    streets.unlink()
    texts = scene(log).texts
    assert texts["streets"] == [] and texts["remarks"][0].startswith("Streets are not shown: ")


# ---- logs that have less


def test_without_movements_nodes_stand_in_a_graph(tmp_path: Path) -> None:
    log = Log(run(tmp_path / "run.parquet", level="frames"))
    texts, tables = unpacked(scene(log).packed())
    assert texts["how"] == "graph" and texts["ranges"] == [] and not texts["is_bounded"]
    heard = {frozenset((row.node, row.peer)) for row in log.rows() if row.kind in ("receive", "lose", "overhear")}
    links = zip(tables["links"]["a"], tables["links"]["b"], strict=True)
    assert sorted(map(sorted, heard)) == [[texts["nodes"][a], texts["nodes"][b]] for a, b in links]
    assert "--level full" in texts["remarks"][0]


def test_without_frames_nodes_stand_in_a_ring(tmp_path: Path) -> None:
    texts = scene(Log(run(tmp_path / "run.parquet", level="deliveries"))).texts
    assert texts["how"] == "ring" and len(texts["remarks"]) == 2
    assert len(texts["events"]) > 10


def test_a_log_without_rows_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no rows, because its level is summary: write it with --level"):
        scene(Log(run(tmp_path / "run.parquet", level="summary")))


def test_a_log_that_does_not_say_what_was_run_has_ranges_from_its_frames(tmp_path: Path, log: Log) -> None:
    bare = ParquetSink(tmp_path / "bare.parquet", "bare")
    for row in log.rows():
        bare.row(
            row.t, row.node, KINDS.index(row.kind), row.event, row.frame, row.peer, row.size, row.value, row.reason
        )
    bare.close()
    texts = scene(Log(tmp_path / "bare.parquet")).texts
    assert texts["title"] == "bare.parquet" and texts["metrics"] == []
    assert texts["is_estimated"] and 140.0 < texts["ranges"][0] <= 150.5


# ---- real nodes


def real(path: Path) -> Path:
    """Two nodes by the clock of 2026; only the first has a log of its own."""
    sink = ParquetSink(path, "field")
    begin, event = 1_780_000_000_000_000, (7 << 32) + 1
    content = '{"topic":"news","scope":"global","attrs":{}}'
    sink.row(begin, 7, KINDS.index("publish"), event, 0, -1, 10, 1 << 62, content)
    sink.row(begin + 10, 7, KINDS.index("send"), event, (1 << 62) + 5, -1, 100, 800, "event")
    sink.row(begin + 2_000_000, 7, KINDS.index("receive"), event, (1 << 62) + 9, 9, 100, 800, "event")
    sink.close()
    return path


def test_times_of_real_nodes_count_from_the_first_row(tmp_path: Path) -> None:
    texts, tables = unpacked(scene(Log(real(tmp_path / "1.parquet"))).packed())
    assert texts["is_unix"] and texts["begin_us"] == 1_780_000_000_000_000
    assert tables["rows"]["t"] == [0, 10, 2_000_000]
    assert tables["rows"]["frame"] == [0, 1, 2]  # serials of 63 bits are only told apart
    assert texts["nodes"] == [7, 9] and texts["how"] == "graph"


def test_real_nodes_stand_where_they_were_measured(tmp_path: Path) -> None:
    track = tmp_path / "track.csv"
    track.write_text("t,node,x,y\n0,7,10,20\n2,7,30,20\n0,9,5,5\n")
    texts, tables = unpacked(scene(Log(real(tmp_path / "1.parquet")), positions=track).packed())
    assert texts["how"] == "measured" and texts["remarks"] == []
    first = {name: values[0] for name, values in tables["legs"].items()}
    assert first == {"node": 0, "t": 0, "end": 2_000_000, "x": 10_000, "y": 20_000, "vx": 100_000, "vy": 0}
    track.write_text("t,node,x,y\n0,8,10,20\n")
    with pytest.raises(InputError, match="has no position of the log's nodes, such as 7"):
        scene(Log(tmp_path / "1.parquet"), positions=track)


# ---- parts


def cut(log: Log, *wanted: Any) -> Content:
    return unpacked(scene(log, Wanted(*wanted)).packed())


def test_a_part_of_the_time_knows_what_was_before(log: Log) -> None:
    texts, tables = cut(log, 8.0, 12.0)
    lasting = ("subscribe", "crash", "recover")
    rows = [row for row in log.rows() if row.kind != "move" and row.t <= 12_000_000]
    rows = [row for row in rows if row.t >= 8_000_000 or row.kind in lasting]
    assert tables["rows"]["t"] == [row.t for row in rows]
    assert (texts["from"], texts["to"]) == (8_000_000, 12_000_000)
    assert set(tables["legs"]["node"]) == set(range(30))
    assert "from 8 to 12 of 20 s. --from, --to and --nodes choose others." in texts["cut"]
    assert texts["remarks"][0] == texts["cut"]


def test_chosen_nodes_come_first_and_only_they_are_drawn(log: Log) -> None:
    texts, tables = cut(log, None, None, frozenset({3, 7}))
    assert texts["nodes"][:2] == [3, 7] and texts["visible"] == 2 and len(texts["nodes"]) > 2
    assert set(tables["rows"]["node"]) == {0, 1} == set(tables["legs"]["node"])
    assert "of 2 chosen nodes" in texts["cut"]


def test_a_long_log_ends_early_and_says_so(log: Log) -> None:
    texts, tables = cut(log, None, None, None, 1000)
    assert 900 < texts["row_count"] <= 1000
    assert texts["cut"].startswith("This page has ") and "rows, from 0 to 8 of 20 s." in texts["cut"]
    assert tables["rows"]["t"][-1] <= texts["to"]


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        ((99.0,), "--from 99: .* lasts from 0 to 20 s"),
        ((5.0, 4.0), "--to 4: must be after --from 5"),
        ((None, None, frozenset({3, 77})), "--nodes: .* has no node 77; it has 0 to 29"),
    ],
)
def test_a_part_that_is_not_there_is_one_line(log: Log, wanted: tuple[Any, ...], line: str) -> None:
    with pytest.raises(InputError, match=line):
        scene(log, Wanted(*wanted))


def test_more_reasons_than_a_page_works_out_are_named_as_such(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roamcast.show.replay.events.MOST_REASONS", 2)
    made: Scene = scene(log)
    texts, tables = unpacked(made.packed())
    causes = [
        texts["texts"][k] for k, s in zip(tables["pairs"]["cause"], tables["pairs"]["status"], strict=True) if s == 0
    ]
    assert causes[2] == "not worked out on this page" and "not worked out on this page" not in causes[:2]
