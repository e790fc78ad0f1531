"""Tables as files: numbers come back as they were, and no map becomes a text."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv

from roamcast.errors import InputError
from roamcast.lab.tables import export, schemas

COUNTS = [[("event", 3), ("beacon", 1)], [("event", 2)], None]
TABLE = pa.table(
    {
        "seed": [1, 2, 3],
        "label": ['a, "b"', "", None],
        "delivery": [0.1, 1 / 3, None],
        "w_keep": [True, None, False],
        "frames_by_kind": pa.array(COUNTS, schemas.COUNTS),
    }
)


def test_csv_has_a_column_for_each_key_and_tells_null_from_empty(tmp_path: Path) -> None:
    file = export.write(TABLE, tmp_path / "t.csv")
    read = csv.read_csv(
        file, convert_options=csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    )
    assert read.to_pylist() == [
        {
            "seed": 1,
            "label": 'a, "b"',
            "delivery": 0.1,
            "w_keep": True,
            "frames_by_kind.beacon": 1,
            "frames_by_kind.event": 3,
        },
        {
            "seed": 2,
            "label": "",
            "delivery": 1 / 3,
            "w_keep": None,
            "frames_by_kind.beacon": 0,
            "frames_by_kind.event": 2,
        },
        {
            "seed": 3,
            "label": None,
            "delivery": None,
            "w_keep": False,
            "frames_by_kind.beacon": None,
            "frames_by_kind.event": None,
        },
    ]


@pytest.mark.parametrize("ending", ["arrow", "parquet"])
def test_arrow_and_parquet_have_the_table_as_it_is(ending: str, tmp_path: Path) -> None:
    file = export.write(TABLE, tmp_path / f"t.{ending}")
    read = pa.ipc.open_file(str(file)).read_all() if ending == "arrow" else pq.read_table(file)
    assert read.equals(TABLE)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_floats_come_back_from_csv_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, values: list[float]
) -> None:
    file = export.write(pa.table({"x": values}), tmp_path_factory.mktemp("floats") / "x.csv")
    lines = file.read_text().splitlines()[1:]
    assert [float(line) for line in lines] == values


def test_another_ending_and_an_unwritable_place_give_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t.xlsx: must end with .csv, .arrow, .parquet"):
        export.write(TABLE, tmp_path / "t.xlsx")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        export.write(TABLE, tmp_path / "file" / "t.csv")
