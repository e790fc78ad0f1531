"""Reading logs: written rows are read back, and files that are not logs give a clear line."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import roamcast.log.schema as schema
from roamcast.errors import InputError
from roamcast.log.reader import LogRow, is_log, read, rows, runs
from roamcast.log.writer import ParquetSink
from roamcast.protocols.kit.interface import reason

EVENT = 7 << 32 | 1

reason("suppress", "test: closer neighbour", "silent about {event}: {peer} is {value} beacons away")


def write(path: Path, *written: tuple[int, int, int, int, int, int, int, int, str]) -> Path:
    sink = ParquetSink(path, "r", 3)
    for row in written:
        sink.row(*row)
    sink.close()
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(
        tmp_path / "log.parquet",
        (0, 2, schema.SUBSCRIBE, EVENT, 0, -1, 0, 0, "topic news"),  # a subscription number that looks like the event
        (5, 7, schema.PUBLISH, EVENT, 0, -1, 40, 10, '{"topic":"news"}'),
        (6, 7, schema.SEND, EVENT, 1, -1, 80, 300, "event"),
        (306, 2, schema.RECEIVE, EVENT, 1, 7, 80, 300, "event"),
        (306, 2, schema.DELIVER, EVENT, 0, -1, 0, 0, ""),
        (306, 2, schema.SUPPRESS, EVENT, 0, 5, 0, 3, "test: closer neighbour"),
        (306, 3, schema.SUPPRESS, EVENT, 0, 5, 0, 3, "test: closer neighbour"),
        (307, 2, schema.SUPPRESS, EVENT + 1, 0, 5, 0, 3, "test: closer neighbour"),
        (308, 2, schema.DROP, EVENT, 0, -1, 0, 0, "nobody declared this"),
        (1_500_309, 2, schema.SEND, EVENT, 2, 7, 80, 300, "ids"),
        (1_500_390, 2, schema.REPEAT, EVENT, 3, 7, 0, 0, ""),
        (1_500_400, 2, schema.LOSE, EVENT, 3, 7, 80, 300, "collision"),
    )


def test_the_table_has_every_row_and_the_schema(log: Path) -> None:
    table = read(log)
    assert table.num_rows == 12
    assert table.schema.equals(schema.arrow_schema(), check_metadata=True)
    assert table["kind"].to_pylist()[:3] == ["subscribe", "publish", "send"]


def test_all_chunks_of_the_table_share_one_dictionary(log: Path) -> None:
    chunks = read(log)["reason"].chunks
    assert all(chunk.dictionary.equals(chunks[0].dictionary) for chunk in chunks)


def test_rows_come_one_by_one_with_the_names_of_their_kinds(log: Path) -> None:
    read_rows = list(rows(log))
    assert len(read_rows) == 12
    assert read_rows[3] == LogRow("r", 306, 2, "receive", EVENT, 1, 7, 80, 300, "event")
    assert (read_rows[3].node, read_rows[3].peer, read_rows[3].size, read_rows[3].value) == (2, 7, 80, 300)


def test_a_folder_name_with_an_equals_sign_adds_no_column(tmp_path: Path) -> None:
    (tmp_path / "seed=3").mkdir()
    assert read(write(tmp_path / "seed=3" / "log.parquet")).column_names == schema.arrow_schema().names


def test_the_runs_of_a_file_are_known(log: Path, tmp_path: Path) -> None:
    assert runs(log) == {"r"}
    assert runs(write(tmp_path / "empty.parquet")) == set()


def test_a_log_is_distinguished_from_other_files(log: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other")
    assert is_log(log)
    assert not any(is_log(tmp_path / name) for name in ("text", "other", "absent", "."))


def test_a_file_that_is_not_a_log_gives_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other")
    later = schema.arrow_schema().with_metadata({"roamcast.schema": "4"})
    pq.write_table(later.empty_table(), tmp_path / "later")
    fewer = pa.schema(list(schema.arrow_schema())[:-1], metadata={"roamcast.schema": "3"})
    pq.write_table(fewer.empty_table(), tmp_path / "fewer")
    complaints = {
        "absent": "there is no log .*absent$",
        "text": "text is not a log: it is not a Parquet file$",
        ".": "is not a log: it is not a Parquet file$",
        "other": "other is not a log: its metadata has no roamcast.schema$",
        "later": "later is a log of schema version 4; this program reads version 3$",
        "fewer": "fewer is not a log: its columns are not those of schema version 3$",
    }
    for name, complaint in complaints.items():
        for attempt in (read, lambda path: list(rows(path)), runs):
            with pytest.raises(InputError, match=complaint):
                attempt(tmp_path / name)
