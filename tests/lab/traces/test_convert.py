"""From one format to another, and nothing half-written."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roamcast.errors import InputError
from roamcast.lab.traces import convert as conversion
from roamcast.lab.traces import trace as traces
from roamcast.lab.traces.convert import Converted, convert
from roamcast.world.traces.load import contacts, movement
from roamcast.world.traces.write import TARGETS, Facts
from tests.world.traces import samples
from tests.world.traces.samples import part_of, written

if TYPE_CHECKING:
    from roamcast.lab.traces.trace import Place

FCD = samples.fcd(samples.PLACES, start=100).replace('id="2"', 'id="bus 2"')
"""Which begins at 100 s; the bus is not there in the last step."""
AWAY = FCD[: FCD.rindex('<vehicle id="bus 2"')] + "</timestep>\n</fcd-export>\n"


def converted(place: Place, source: Path, target: Path, to: str, **more: float) -> Converted:
    read = traces.read(place, [str(source)])
    try:
        return convert(read, target, to, **more)
    finally:
        read.close()


@pytest.mark.parametrize("to", [name for name, target in TARGETS.items() if target.kind == "positions"])
def test_positions_in_every_format(place: Place, tmp_path: Path, to: str) -> None:
    """Times begin with the trace; names become numbers where a format has none, and are kept beside the file."""
    target = tmp_path / ("out.movements.gz" if to == "bonnmotion" else "out.gz")
    result = converted(place, written(tmp_path, "in.xml", AWAY), target, to)
    back = movement(str(target))
    assert part_of(target).format == to
    assert [track[:2] for track in back.tracks[:2]] == [
        [(0.0, 0.0, 0.0), (10.0, 40.0, 0.0)],
        [(0.0, 100.0, 0.0), (10.0, 60.0, 0.0)],
    ]
    assert back.tracks[2][0] == (0.0, 500.0, 0.0)
    away = [(10_000_000, -1)] if to in ("ns2", "sumo-fcd") else []
    assert back.absences == [[], [], away]
    assert len(result.warnings) == (not away)
    if to == "sumo-fcd":
        assert result.names is None and back.names[2] == "bus 2"
    else:
        assert result.names is not None and result.names.read_text() == "number,name\n0,0\n1,1\n2,bus 2\n"


def test_contacts_of_positions(place: Place, tmp_path: Path) -> None:
    source = samples.positions(tmp_path)["csv"]
    converted(place, source, tmp_path / "out.txt", "one-conn", range_m=50.0)
    assert (tmp_path / "out.txt").read_text() == "6.25 CONN 0 1 up\n20 CONN 0 1 down\n"
    converted(place, source, tmp_path / "out.dat", "contact-list", range_m=50.0, resolution_s=5.0)
    assert (tmp_path / "out.dat").read_text() == "# resolution_s=5\n10 0 1\n15 0 1\n20 0 1\n"


@pytest.mark.parametrize("to", ["one-conn", "contact-list"])
@pytest.mark.parametrize("source", ["one-conn", "contact-list"])
def test_contacts_of_contacts(place: Place, tmp_path: Path, source: str, to: str) -> None:
    converted(
        place,
        samples.contacts(tmp_path)[source],
        tmp_path / "out",
        to,
        resolution_s=20.0 if source == "one-conn" else 0.0,
    )
    names, met = contacts(str(tmp_path / "out"))
    assert (names, met) == (["0", "1", "2"], samples.CONTACTS)


def test_what_cannot_be_converted_is_refused(place: Place, tmp_path: Path) -> None:
    target = tmp_path / "out"
    for source, to, range_m, message in (
        (
            samples.contacts(tmp_path)["one-conn"],
            "csv",
            0.0,
            "has contacts and no positions; use one-conn, intervals or contact-list",
        ),
        (
            samples.contacts(tmp_path)["one-conn"],
            "contact-list",
            5.0,
            "has contacts and no positions; leave the range out",
        ),
        (samples.positions(tmp_path)["csv"], "one-conn", 0.0, "say at which range"),
        (samples.positions(tmp_path)["csv"], "ns2", 9.0, "leave the range out"),
        (samples.positions(tmp_path)["csv"], "gpx", 0.0, "unknown format to write"),
    ):
        with pytest.raises(InputError, match=message):
            converted(place, source, target, to, range_m=range_m)
    assert not list(tmp_path.glob("*out*"))


def rows() -> object:
    yield 0, 0, 1.0, 2.0, 0
    raise RuntimeError("the machine stops")


def test_a_file_that_is_not_finished_does_not_appear(tmp_path: Path) -> None:
    old = written(tmp_path, "out.csv", "as before")
    with pytest.raises(RuntimeError, match="stops"):
        conversion._write(old, TARGETS["csv"], Facts(names=["a b"], end_us=0), rows())  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"] and old.read_text() == "as before"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none/out.csv: cannot be written .no such file"):
        conversion._write(tmp_path / "none" / "out.csv", TARGETS["csv"], Facts(names=[], end_us=0), iter(()))


def test_packed_files_are_the_same_every_time(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "b.csv.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        conversion._write(tmp_path / name, TARGETS["csv"], Facts(names=["0"], end_us=0), iter([(0, 0, 1.0, 2.0, 0)]))
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b"t,node,x,y\n0,0,1.0,2.0\n"
