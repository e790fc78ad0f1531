"""A log that is opened for questions: one file, or the files of a folder."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from roamcast.errors import InputError
from roamcast.log.explanation.pair import Explanation
from roamcast.log.opened import Log
from roamcast.log.reader import read
from roamcast.log.schema import KINDS
from roamcast.log.writer import ParquetSink
from roamcast.pubsub.event import event_id

EVENT = event_id(1, 1)
CONTENT = '{"topic":"news","scope":"global","attrs":{}}'


def write(path: Path, *rows: tuple[int, int, str], run: str = "r", summary: str = "") -> Path:
    """`rows` are (time, node, kind), all about one event."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sink = ParquetSink(path, run)
    for t, node, kind in rows:
        frame, peer = (1, 1) if kind == "receive" else (1, -1) if kind == "send" else (0, -1)
        reason = CONTENT if kind == "publish" else ""
        sink.row(t, node, KINDS.index(kind), EVENT, frame, peer, 0, 0, reason)
    if summary:
        sink.summarise(summary)
    sink.close()
    return path


ONE = [(1, 1, "publish"), (2, 1, "send"), (9, 1, "crash")]
TWO = [(3, 2, "receive"), (3, 2, "deliver")]


def test_a_file(tmp_path: Path) -> None:
    log = Log(write(tmp_path / "run.parquet", *ONE, *TWO, summary='{"fingerprint": "abc"}'))
    assert log.events == [EVENT]
    assert log.summary == {"fingerprint": "abc"}
    assert [(row.t, row.kind) for row in log.rows()][:2] == [(1, "publish"), (2, "send")]
    assert log.table().equals(read(tmp_path / "run.parquet"))
    assert list(log.pandas()["node"]) == [1, 1, 1, 2, 2]
    assert repr(log) == f"Log('{tmp_path}/run.parquet')"


def test_a_question_to_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "run.parquet", *ONE[:2], *TWO)
    answer = Log(str(path)).why(node=2, event="1:1")
    assert isinstance(answer, Explanation)
    assert answer.status == "got"
    assert str(answer) == repr(answer) == str(Log(path).why(2, EVENT))


def test_the_files_of_a_folder_are_merged_by_time(tmp_path: Path) -> None:
    write(tmp_path / "b" / "1-1.parquet", *ONE)
    write(tmp_path / "a" / "2-1.parquet", *TWO, (20, 2, "crash"))
    write(tmp_path / "a" / "2-9.parquet", (9, 2, "recover"))
    write(tmp_path / ".half.parquet", (0, 5, "crash"))
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    (tmp_path / "broken.parquet").write_text("no parquet")
    rows = [(row.t, row.node, row.kind) for row in Log(tmp_path).rows()]
    assert rows == [*ONE[:2], *TWO, (9, 2, "recover"), (9, 1, "crash"), (20, 2, "crash")]


def test_rows_of_one_instant_stay_in_the_order_of_their_file(tmp_path: Path) -> None:
    kinds = ["sleep", "wake"] * 20
    write(tmp_path / "1.parquet", *((5, 1, kind) for kind in kinds))
    write(tmp_path / "2.parquet", *((5, 2, kind) for kind in kinds))
    for node in (1, 2):
        assert [row.kind for row in Log(tmp_path).rows() if row.node == node] == kinds


def test_a_field_test_with_one_run_is_its_log(tmp_path: Path) -> None:
    write(tmp_path / "log" / "r1.parquet", *ONE)
    (tmp_path / "campaign.json").write_text("[]")
    (tmp_path / "field.json").write_text("{}")
    assert Log(tmp_path).events == [EVENT]
    write(tmp_path / "log" / "r2.parquet", *ONE, run="r2")
    with pytest.raises(InputError) as error:
        Log(tmp_path)
    assert str(error.value) == (
        f"{tmp_path} is a field test's folder with the logs of 2 runs: give one, as {tmp_path}/log/r1.parquet"
    )


def test_the_log_of_a_campaign_is_taken_out_first(tmp_path: Path) -> None:
    write(tmp_path / "log" / "1-0.parquet", *ONE)
    (tmp_path / "campaign.json").write_text("[]")
    with pytest.raises(InputError) as error:
        Log(tmp_path)
    assert str(error.value) == (
        f"{tmp_path} is a campaign's folder: roamcast campaign log {tmp_path} RUN takes out the log of one run"
    )


def test_a_campaign_that_has_not_run(tmp_path: Path) -> None:
    (tmp_path / "campaign.json").write_text("[]")
    with pytest.raises(InputError, match="is a campaign's folder that has no log of a run yet"):
        Log(tmp_path)


def test_several_runs_are_not_one_log(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", *ONE, run="a")
    write(tmp_path / "2.parquet", *TWO, run="b")
    with pytest.raises(InputError) as error:
        Log(tmp_path).why()
    assert str(error.value) == (
        f"{tmp_path} has the rows of several runs; give the log of one, as {tmp_path}/1.parquet"
    )


def test_a_file_with_several_runs_is_refused(tmp_path: Path) -> None:
    parts = [read(write(tmp_path / f"{run}.parquet", *ONE, run=run)) for run in "ab"]
    both = pa.concat_tables(parts).unify_dictionaries()
    pq.write_table(both, tmp_path / "both.parquet")
    with pytest.raises(InputError, match=r"both\.parquet has the rows of several runs, and must be of one$"):
        Log(tmp_path / "both.parquet").why()


def test_a_file_that_is_not_a_log_gives_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no log .*nowhere$"):
        Log(tmp_path / "nowhere").why()
    with pytest.raises(InputError, match="has no logs: no file in this folder is a log"):
        Log(tmp_path)
    (tmp_path / "text").write_text("no parquet")
    with pytest.raises(InputError, match=r"text is not a log: it is not a Parquet file$"):
        Log(tmp_path / "text").why()
