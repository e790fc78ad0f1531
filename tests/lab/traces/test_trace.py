"""Whole traces: every format, in parts, with what is wrong counted or refused; and Spark's data source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roamcast.errors import InputError
from roamcast.lab.spark.frames import struct
from roamcast.lab.traces import contacts, register
from roamcast.lab.traces import trace as traces
from roamcast.lab.traces.schemas import CONTACTS, POSITIONS
from roamcast.lab.traces.source import TraceSource
from roamcast.world.traces.names import number_of
from roamcast.world.traces.plan import Options, plan
from tests.lab.traces.places import rows_of
from tests.world.traces import samples
from tests.world.traces.samples import written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from roamcast.lab.traces.trace import Place

SHOWN = {name: name for name in ("node", "t_us", "x_m", "y_m", "segment")}


@pytest.mark.parametrize("name", ["ns2", "bonnmotion", "one-movement", "sumo-fcd", "csv", "gps-csv", "gpx"])
def test_every_format_of_positions_has_the_same_contacts(place: Place, tmp_path: Path, name: str) -> None:
    read = traces.read(place, [str(samples.positions(tmp_path)[name])])
    assert (read.format, read.kind, list(read.names.values())) == (name, "positions", ["0", "1", "2"])
    ((i, j, start, end),) = rows_of(contacts.of(read, 50.0))
    assert (i, j) == (0, 1)
    assert start - read.begin_us == pytest.approx(6_250_000, abs=5) and end - read.begin_us == 20_000_000


@pytest.mark.parametrize("name", ["contact-list", "one-conn"])
def test_every_format_of_contacts(place: Place, tmp_path: Path, name: str) -> None:
    read = traces.read(place, [str(samples.contacts(tmp_path)[name])])
    assert rows_of(contacts.of(read)) == samples.CONTACTS


def test_the_data_source_reads_what_a_trace_has(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    source = spark.read.format("roamcast-trace")
    moves = source.load(str(samples.positions(tmp_path)["csv"]))
    assert moves.schema == struct(POSITIONS)
    assert [(r["node"], r["t_us"], r["x_m"]) for r in moves.orderBy("node", "t_us").collect()][:2] == [
        (0, 0, 0.0),
        (0, 10_000_000, 40.0),
    ]
    met = source.option("resolution_s", "10").load(str(samples.contacts(tmp_path)["contact-list"]))
    assert met.schema == struct(CONTACTS)
    assert met.orderBy("from_us").first() == (0, 1, 10_000_000, 20_000_000)


def test_parts_of_a_file_are_partitions_and_change_nothing(place: Place, tmp_path: Path) -> None:
    text = "t,node,x,y\n" + "".join(f"{t},car{t % 5},{t * 1.5},{'?' if t in (7, 130) else t}\n" for t in range(200))
    path = str(written(tmp_path, "a.csv", text))
    whole, parts = traces.read(place, [path]), traces.read(place, [path], split_bytes=700)
    assert len(plan([path], Options(), 700)) > 3
    assert rows_of(parts.rows.select(**SHOWN)) == rows_of(whole.rows.select(**SHOWN))
    assert parts.names == whole.names == {number_of(f"car{k}"): f"car{k}" for k in range(5)}
    assert parts.malformed == whole.malformed and whole.malformed.count == 2
    assert whole.malformed.first[1] == f"{path}, line 132: '130,car0,195.0,?' is not t,node,x,y"
    with pytest.raises(InputError, match=r"a.csv, line 9: "):
        traces.read(place, [path], strict=True)


REFUSED = {
    "node, over parts": (
        "".join(f"{t},ann,{3 * t},0\n" for t in [*range(50), 40, *range(51, 90)]),
        r"line \d+: time runs backwards for node ann",
    ),
    "two places, over parts": (
        "".join(f"{t},ann,{3 * k},0\n" for k, t in enumerate([*range(33), 32, *range(33, 60)])),
        r"node ann is at two places at 32 s",
    ),
    "degrees": ("".join(f"{t},ann,{8 + t / 1e5},47\n" for t in range(60)), "look like degrees, not metres"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_contradicts_itself_is_refused_in_parts_too(place: Place, tmp_path: Path, case: str) -> None:
    text, message = REFUSED[case]
    path = str(written(tmp_path, "a.csv", text))
    for split in (1 << 20, text.index("32,ann,", text.index("32,ann,") + 1) if "places" in case else 150):
        with pytest.raises(InputError, match=message) as error:
            traces.read(place, [path], split_bytes=split)
        assert "\n" not in str(error.value)


def test_lines_out_of_order_over_parts_are_refused(place: Place, tmp_path: Path) -> None:
    text = "".join(f"{t} {t} {t + 1}\n" for t in [*range(100, 160), *range(50, 99)])
    with pytest.raises(InputError, match=r"time runs backwards: 5\d s, after 159 s"):
        traces.read(place, [str(written(tmp_path, "a.dat", text))], split_bytes=60 * 12)


def test_a_node_in_two_files_at_once_is_refused_and_one_after_the_other_not(place: Place, tmp_path: Path) -> None:
    written(tmp_path, "a.csv", "0,bob,0,0\n9,bob,50,0\n")
    written(tmp_path, "b.csv", "5,bob,0,0\n20,bob,50,0\n")
    with pytest.raises(InputError, match=r"node bob is in .*a.csv and in .*b.csv at 5 s"):
        traces.read(place, [str(tmp_path)])
    written(tmp_path, "b.csv", "10,bob,50,0\n20,bob,99,0\n")
    assert len(traces.read(place, [str(tmp_path)]).names) == 1


def test_a_file_of_which_nothing_can_be_read_is_refused(place: Place, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "t,node,x,y\n1,2,x,y\n2,2,x,y\n")
    with pytest.raises(InputError, match=r"a.csv: has no positions; 2 malformed, the first: .*line 2: "):
        traces.read(place, [str(path)])


def test_degrees_may_be_insisted_on(place: Place, tmp_path: Path) -> None:
    path = str(written(tmp_path, "a.csv", REFUSED["degrees"][0]))
    far = traces.read(place, [path], Options(units="degrees")).rows.columns()["x_m"].max()
    assert far == pytest.approx(59e-5 * 76_000, rel=0.01)
    still = traces.read(place, [path], Options(units="metres")).rows.columns()["x_m"].max()
    assert still == pytest.approx(8.00059)


# ---- without Spark


def test_the_source_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    path = str(samples.positions(tmp_path)["csv"])
    with pytest.raises(InputError, match="unknown option 'unit'; did you mean 'units'"):
        TraceSource({"path": path, "unit": "m"})
    with pytest.raises(InputError, match=r"table=contacts: .* has positions"):
        TraceSource({"path": path, "table": "contacts"}).reader(struct(CONTACTS))
    with pytest.raises(InputError, match="gap_s=soon: must be a number"):
        TraceSource({"path": path, "gap_s": "soon"}).schema()
    with pytest.raises(InputError, match="a trace needs a path"):
        TraceSource({}).schema()


@pytest.mark.parametrize(
    ("strict", "text"),
    [("false", "0,ann,0,0\n5,ann,9,0\n4,ann,8,0\n"), ("true", "0,ann,0,0\n2,ann,1,0\n5,ann,nine,0\n")],
)
def test_the_source_stops_at_what_it_must_not_read(tmp_path: Path, strict: str, text: str) -> None:
    source = TraceSource({"path": str(written(tmp_path, "a.csv", text)), "strict": strict})
    reader = source.reader(struct(POSITIONS))
    (partition,) = reader.partitions()
    with pytest.raises(InputError, match=r"a.csv, line \d: "):
        list(reader.read(partition))
