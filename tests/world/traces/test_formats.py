"""Every format is recognised, gives the same trace, and names the lines that it cannot read."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.world.traces import load
from roamcast.world.traces.formats import FORMATS
from tests.world.traces import samples
from tests.world.traces.samples import meetings, part_of, points, problems, refusals, written


def test_every_format_has_a_sample(tmp_path: Path) -> None:
    assert {**samples.positions(tmp_path), **samples.contacts(tmp_path)}.keys() == FORMATS.keys()


@pytest.mark.parametrize("name", [f.name for f in FORMATS.values()])
def test_a_format_is_recognised_by_the_contents_of_a_file(tmp_path: Path, name: str) -> None:
    path = {**samples.positions(tmp_path), **samples.contacts(tmp_path)}[name]
    assert part_of(path).format == name
    packed = tmp_path / (path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert part_of(packed).format == name
    assert list(part_of(packed).records())[:-4] == list(part_of(path).records())[:-4]


@pytest.mark.parametrize("name", [f.name for f in FORMATS.values() if f.kind == "positions"])
def test_all_formats_give_the_same_movement(tmp_path: Path, name: str) -> None:
    movement = load.movement(str(samples.positions(tmp_path)[name]))
    assert movement.names == ["0", "1", "2"]
    for track, places in zip(movement.tracks, samples.PLACES.values(), strict=True):
        assert [t for t, _, _ in track] in ([0.0, 10.0], [0.0])
        assert [x for _, x, _ in track] == pytest.approx(list(places.values())[: len(track)], abs=1e-6)
        assert [y for _, _, y in track] == pytest.approx([0.0] * len(track), abs=0.05)
    assert movement.absences == [[], [], []]


@pytest.mark.parametrize("name", [f.name for f in FORMATS.values() if f.kind == "contacts"])
def test_all_formats_give_the_same_contacts(tmp_path: Path, name: str) -> None:
    names, met = load.contacts(str(samples.contacts(tmp_path)[name]))
    assert names == ["0", "1", "2"] and met == samples.CONTACTS


GARBAGE = {
    "ns2": '$ns_ at noon "$node_(0) setdest 1 2 3"',
    "bonnmotion": "0 1 2 3",
    "one-movement": "25 0 north 2000",
    "csv": "20,0,40",
    "gps-csv": "2024-05-01T12:00:30Z,0,470,8",
    "contact-list": "120 0",
    "intervals": "0,1,120,100",
    "one-conn": "120 CONN 0 1 sideways",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_a_malformed_line_is_named_and_left_out(tmp_path: Path, name: str) -> None:
    path = {**samples.positions(tmp_path), **samples.contacts(tmp_path)}[name]
    whole = {**points(path)} if FORMATS[name].kind == "positions" else meetings(path)
    lines = path.read_text().count("\n")
    with path.open("a") as file:
        file.write(GARBAGE[name] + "\nwhat is this\n")
    ((first, what), (second, _)) = problems(path)
    assert (first, second) == (lines + 1, lines + 2) and len(what) < 120
    assert whole == ({**points(path)} if FORMATS[name].kind == "positions" else meetings(path))


def test_a_simulation_refuses_a_trace_with_a_malformed_line(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "0,0,0,0\n1,0,five,0\n")
    with pytest.raises(InputError, match=r"^trace=.*a.csv, line 2: '1,0,five,0' is not t,node,x,y$"):
        load.movement(str(path))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.xml", "<kml></kml>", "is XML, but neither"),
        ("a.txt", "all work and no play\n", "is in no known format"),
        ("a.txt", "# only a remark\n", "has no data"),
        ("a.bin", "\0\0\0", "not text"),
    ],
)
def test_a_file_that_is_not_a_trace_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        part_of(written(tmp_path, name, text))


def test_a_format_can_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, "still.txt", "0 10 40\n0 30 20\n")
    assert part_of(path).format == "contact-list"
    assert points(path, format="bonnmotion") == {"0": [(0.0, 10.0, 40.0)], "1": [(0.0, 30.0, 20.0)]}
    with pytest.raises(InputError, match="unknown trace format 'bonmotion'; did you mean 'bonnmotion'"):
        part_of(path, format="bonmotion")


# ---- BonnMotion


def test_bonnmotion_in_three_dimensions(tmp_path: Path) -> None:
    path = written(tmp_path, "a.movements.gz", "#3D\n0 1 2 3 5 6 7 8\n")
    assert points(path) == {"0": [(0.0, 1.0, 2.0), (5.0, 6.0, 7.0)]}
    written(tmp_path, "b.params", "model=RandomWaypoint3D\nz=50.0\nduration=60.0\n")
    assert points(written(tmp_path, "b.movements", "0 1 2 3\n"))["0"] == [(0.0, 1.0, 2.0), (60.0, 1.0, 2.0)]


def test_a_node_of_bonnmotion_that_cannot_be_read_keeps_its_number(tmp_path: Path) -> None:
    path = written(tmp_path, "a.movements", "0 1 1\n0 2\n# a remark\n4 3 3\n")
    assert points(path) == {"0": [(0.0, 1.0, 1.0), (4.0, 1.0, 1.0)], "2": [(0.0, 3.0, 3.0), (4.0, 3.0, 3.0)]}
    assert [line for line, _ in problems(path)] == [2]


# ---- The ONE


def test_offsets_in_the_header_are_subtracted(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "10 20 100 200 -50 50 0 0\n12 p1 150 -50\n")
    assert points(path) == {"p1": [(2.0, 50.0, 0.0)]}


def test_a_file_without_a_header_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "0 p1 1 2\n1 p1 2 3\n")
    assert refusals(path, format="one-movement")[0][0] == 1


def test_events_of_messages_are_skipped_and_open_contacts_end_with_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "1 CONN p1 p2 up\n2 C M1 p1 p2 500k\n3 CONN p2 p3 UP\n9 CONN p2 p1 down\n")
    assert meetings(path) == [("p1", "p2", 1.0, 9.0), ("p2", "p3", 3.0, 9.0)]
    assert problems(path) == []


def test_a_contact_that_both_hosts_report_lasts_as_long_as_one_of_them_has_it(tmp_path: Path) -> None:
    both = "1 CONN a b up\n2 CONN b a up\n8 CONN a b down\n9 CONN b a down\n12 CONN b a up\n20 CONN a b down\n"
    path = written(tmp_path, "a.txt", both)
    assert meetings(path) == [("a", "b", 1.0, 9.0), ("a", "b", 12.0, 20.0)] and problems(path) == []


def test_a_connection_that_cannot_begin_or_end_is_malformed(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "1 CONN 1 2 up\n2 CONN 1 2 up\n3 CONN 1 3 down\n4 CONN 1 2 down\n")
    assert problems(path) == [(2, "1 and 2 are already connected since line 1"), (3, "1 and 3 are not connected")]
    assert meetings(path) == [("1", "2", 1.0, 4.0)]


# ---- SUMO and GPX


def test_a_truncated_file_gives_its_complete_lines(tmp_path: Path) -> None:
    text = samples.fcd()
    path = written(tmp_path, "a.xml", text[: text.index("3620") - 20])
    assert {name: len(rows) for name, rows in points(path).items()} == {"0": 2, "1": 2, "2": 2}
    ((_, what),) = problems(path)
    assert "not well-formed" in what


def test_a_truncated_gzip_file_gives_its_complete_lines(tmp_path: Path) -> None:
    text = "".join(f"{20 * t} {t % 7} {t % 7 + 1}\n" for t in range(1, 50_000))
    path = tmp_path / "a.dat.gz"
    path.write_bytes(gzip.compress(text.encode())[:-5000])
    assert 40_000 < len(meetings(path)) < 50_000
    assert [what for _, what in problems(path)] == ["the file is cut off here"]


def test_a_vehicle_without_a_place_is_malformed(tmp_path: Path) -> None:
    path = written(tmp_path, "a.xml", samples.fcd().replace(' x="40.0"', "", 1))
    ((line, what),) = problems(path)
    assert line == 9 and what == "vehicle '0' needs an id and numbers x and y"


def test_segments_of_a_track_are_separate_and_points_without_time_malformed(tmp_path: Path) -> None:
    text = (
        samples.gpx()
        .replace("</trkpt>\n", "</trkpt>\n</trkseg><trkseg>", 1)
        .replace("<time>2024-05-01T12:00:20Z</time>", "", 1)
    )
    path = written(tmp_path, "a.gpx", text)
    segments = [record[9] for record in part_of(path).records() if record[0] == 0 and record[2] == "0"]
    assert segments == [0, 1]
    assert [what for _, what in problems(path)] == ["track point needs lat and lon in degrees and a time"]
    assert load.movement(str(samples.positions(tmp_path)["gpx"])).absences[0] == []


def test_tracks_are_called_by_their_names_or_their_file(tmp_path: Path) -> None:
    text = samples.gpx().replace("<name>0</name>", "").replace("<name>2</name>", "")
    assert list(points(written(tmp_path, "walk.gpx", text))) == ["walk", "1", "walk-3"]


# ---- tables


def test_columns_are_found_by_their_titles(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", 'y;"time";x;name;z\n2;0.5;1;"a, b";9\n')
    assert points(path) == {"a, b": [(0.5, 1.0, 2.0)]}
    alone = written(tmp_path, "taxi.csv", "timestamp,latitude,longitude\n1700000000,47.0,8.0\n")
    assert points(alone) == {"taxi": [(1.7e9, 0.0, 0.0)]}


def test_dates_may_have_zones_and_milliseconds_are_not_read_as_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    rows = "1970-01-01T01:00:01+01:00,a,47,8\n1970-01-01 00:00:02.5,a,47,8\n1700000000000,a,47,8\n"
    path = written(tmp_path, "a.csv", "time,node,lat,lon\n" + rows)
    assert [t for t, _, _ in points(path)["a"]] == [1.0, 2.5]
    assert [line for line, _ in problems(path)] == [4]
    monkeypatch.undo()
    time.tzset()


def test_missing_titles_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "time,node,lat\n1,2,3\n")
    assert refusals(path, format="gps-csv") == [(1, "no column lon: columns are t,node,lat; name them (--columns)")]


# ---- contact lists


def test_the_resolution_is_the_smallest_step_or_given_or_in_a_comment(tmp_path: Path) -> None:
    path = written(tmp_path, "a.dat", "t,i,j\n40,a,b\n100,a,b\n160,b,c,1,2\n")
    assert meetings(path)[0] == ("a", "b", -20.0, 40.0)
    assert meetings(path, resolution_s=20.0)[0] == ("a", "b", 20.0, 40.0)
    assert meetings(written(tmp_path, "b.dat", "# resolution_s=0.5\n40 a b\n100 a b\n"))[0] == ("a", "b", 39.5, 40.0)
    assert meetings(written(tmp_path, "c.dat", "40 a b\n40 b c\n"))[1] == ("b", "c", 39.0, 40.0)


# ---- folders and options


def test_files_of_a_folder_are_read_together(tmp_path: Path) -> None:
    from roamcast.world.traces.plan import Options, plan

    one_track = samples.gpx().partition("<trk><name>1")[0] + "</gpx>"
    written(tmp_path, "b.gpx", one_track)
    written(tmp_path, "a.gpx", one_track)
    written(tmp_path, ".hidden", "?")
    parts = plan([str(tmp_path)], Options())
    assert [Path(part.path).name for part in parts] == ["a.gpx", "b.gpx"]
    names = {record[2] for part in parts for record in part.records() if record[0] == 0}
    assert names == {"a", "b"}
    written(tmp_path, "c.dat", samples.CONTACT_LIST)
    with pytest.raises(InputError, match=r"has positions and .*c.dat contacts; read them separately"):
        plan([str(tmp_path)], Options())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"units": "feet"}, "units=feet: must be metres or degrees"),
        ({"origin": "47"}, "origin=47: must be LAT,LON"),
        ({"origin": "99,8"}, "origin=99,8"),
        ({"resolution_s": -1.0}, "resolution_s=-1"),
        ({"gap_s": float("nan")}, "gap_s=nan"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        part_of(written(tmp_path, "a.csv", samples.CSV), **options)


def test_the_reference_names_every_format_and_every_option() -> None:
    from dataclasses import fields

    from roamcast.world.traces.plan import Options
    from roamcast.world.traces.write import TARGETS

    page = (Path(__file__).parents[3] / "docs" / "reference" / "traces.md").read_text()
    for name in FORMATS:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert row.split("|")[4].strip() == ("×" if name in TARGETS else "")
    for field in fields(Options):
        assert f"`{'trace' if field.name == 'format' else field.name}`" in page
