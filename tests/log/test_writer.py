"""Sinks: rows are read back unchanged, memory holds one batch, and no reader sees half a log."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import InputError
from roamcast.log.reader import description, summary
from roamcast.log.schema import KINDS, arrow_schema
from roamcast.log.writer import LogSink, ParquetSink
from tests.support.sinks import MemorySink, Row

I64 = st.integers(-(1 << 63), (1 << 63) - 1)
I32 = st.integers(-(1 << 31), (1 << 31) - 1)
ROWS = st.lists(
    st.tuples(I64, I32, st.integers(0, len(KINDS) - 1), I64, I64, I32, I32, I64, st.text(max_size=4)), max_size=30
)
ROW: Row = (1, 2, 3, 4, 5, 6, 7, 8, "event")


def as_read(run: str, rows: list[Row]) -> list[dict[str, object]]:
    names = ("t", "node", "kind", "event", "frame", "peer", "bytes", "value", "reason")
    return [{"run": run, **dict(zip(names, row, strict=True)), "kind": KINDS[row[2]]} for row in rows]


@settings(max_examples=40, deadline=None)
@given(ROWS, st.integers(1, 9))
def test_rows_are_read_back_unchanged_whatever_the_batch(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], batch: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "run.parquet"
    sink = ParquetSink(path, "r1", batch)
    for row in rows:
        sink.row(*row)
    sink.close()
    table = pq.read_table(path)
    assert table.to_pylist() == as_read("r1", rows)
    assert table.schema.equals(arrow_schema(), check_metadata=True)
    assert pq.ParquetFile(path).num_row_groups == -(-len(rows) // batch)


@settings(max_examples=20, deadline=None)
@given(ROWS)
def test_the_memory_sink_keeps_rows_and_gives_the_same_table(rows: list[Row]) -> None:
    sink = MemorySink()
    for row in rows:
        sink.row(*row)
    sink.close()
    assert sink.rows == rows
    assert sink.table("r2").to_pylist() == as_read("r2", rows)
    assert sink.table("r2").schema.equals(arrow_schema(), check_metadata=True)


def test_a_batch_is_on_disk_as_soon_as_it_is_full(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path / "run.parquet", "r", 1000)
    [temporary] = tmp_path.iterdir()
    sizes = []
    for i in range(3000):
        sink.row(i * 7919 % 1000, i * 31, 3, i * 977, i, -1, 0, 0, f"{i * 7919}")
        sizes.append(temporary.stat().st_size)
    sink.abandon()
    steps = [i for i in range(1, 3000) if sizes[i] > sizes[i - 1]]
    assert steps == [999, 1999, 2999]


def test_reasons_of_earlier_batches_are_forgotten(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path / "run.parquet", "r", 2)
    for text in ("a", "b", "c", "b"):
        sink.row(1, 2, 3, 4, 5, 6, 7, 8, text)
    sink.close()
    second = pq.ParquetFile(tmp_path / "run.parquet").read_row_group(1)["reason"].chunk(0)
    assert second.dictionary.to_pylist() == ["c", "b"]


def test_every_text_column_is_dictionary_encoded_and_compressed_with_zstd(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path / "run.parquet", "r")
    sink.row(*ROW)
    sink.close()
    group = pq.ParquetFile(tmp_path / "run.parquet").metadata.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    assert {column.compression for column in columns} == {"ZSTD"}
    dictionary = {column.path_in_schema for column in columns if "RLE_DICTIONARY" in column.encodings}
    assert {"run", "kind", "reason"} <= dictionary


def test_nothing_has_the_target_name_before_close_and_nothing_else_is_left_after_it(tmp_path: Path) -> None:
    target = tmp_path / "run.parquet"
    target.write_text("the log of an earlier run")
    sink = ParquetSink(target, "r", 2)
    for _ in range(5):
        sink.row(*ROW)
    assert target.read_text() == "the log of an earlier run"
    [part] = [path for path in tmp_path.iterdir() if path != target]
    assert part.name.startswith(".")
    sink.close()
    sink.close()
    assert [path.name for path in tmp_path.iterdir()] == ["run.parquet"]
    assert pq.read_table(target).num_rows == 5


def test_abandon_leaves_no_file_and_does_not_touch_an_earlier_log(tmp_path: Path) -> None:
    earlier = ParquetSink(tmp_path / "run.parquet", "r")
    earlier.close()
    sink = ParquetSink(tmp_path / "run.parquet", "r", 2)
    for _ in range(5):
        sink.row(*ROW)
    sink.abandon()
    sink.abandon()
    sink.close()
    assert [path.name for path in tmp_path.iterdir()] == ["run.parquet"]
    assert pq.read_table(tmp_path / "run.parquet").num_rows == 0


def test_abandon_after_close_keeps_the_log(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path / "run.parquet", "r")
    sink.row(*ROW)
    sink.close()
    sink.abandon()
    assert pq.read_table(tmp_path / "run.parquet").num_rows == 1


def test_a_close_that_fails_leaves_nothing(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path / "run.parquet", "r")
    sink.row(1, 2, len(KINDS), 4, 5, 6, 7, 8, "no such kind")
    with pytest.raises(Exception, match="out of bounds"):
        sink.close()
    assert list(tmp_path.iterdir()) == []


def test_a_closed_log_refuses_rows(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path / "run.parquet", "r")
    sink.close()
    with pytest.raises(ValueError, match="closed"):
        sink.row(*ROW)


def test_two_sinks_for_one_target_do_not_disturb_each_other(tmp_path: Path) -> None:
    first, second = (ParquetSink(tmp_path / "run.parquet", run) for run in ("first", "second"))
    first.row(*ROW)
    second.row(*ROW)
    second.close()
    first.close()
    assert pq.read_table(tmp_path / "run.parquet")["run"].to_pylist() == ["first"]


def test_two_logs_of_the_same_rows_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        sink = ParquetSink(tmp_path / name, "r", 3)
        for i in range(10):
            sink.row(i, 2, 3, 4, 5, 6, 7, 8, str(i % 4))
        sink.close()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("nowhere/run.parquet", "there is no folder .*nowhere$"),
        (".", "it is not a file$"),
        ("file/run.parquet", "there is no folder .*file$"),
        ("x" * 250, "file name too long$"),
    ],
)
def test_a_path_that_cannot_be_written_gives_one_clear_line_before_the_run(
    tmp_path: Path, path: str, complaint: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=complaint) as raised:
        ParquetSink(tmp_path / path, "r")
    assert "\n" not in str(raised.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_device_is_not_replaced_by_a_file() -> None:
    with pytest.raises(InputError, match="not a file"):
        ParquetSink(os.devnull, "r")


def test_a_batch_has_at_least_one_row(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="rows_per_batch"):
        ParquetSink(tmp_path / "run.parquet", "r", 0)


def test_the_base_sink_forgets_and_can_be_extended_by_interpreted_classes() -> None:
    class Counting(LogSink):
        def __init__(self) -> None:
            self.count = 0

        def row(
            self, t: int, node: int, kind: int, event: int, frame: int, peer: int, size: int, value: int, reason: str
        ) -> None:
            super().row(t, node, kind, event, frame, peer, size, value, reason)
            self.count += 1

    sink = Counting()
    sink.row(*ROW)
    sink.close()
    sink.abandon()
    assert sink.count == 1


def test_what_was_run_is_beside_the_rows(tmp_path: Path) -> None:
    sink = ParquetSink(tmp_path / "run.parquet", "r")
    sink.describe('{"protocol": "gossip", "seed": 1}')
    sink.summarise('{"delivery": 1.0}')
    sink.close()
    assert description(tmp_path / "run.parquet") == {"protocol": "gossip", "seed": 1}
    assert summary(tmp_path / "run.parquet") == {"delivery": 1.0}
