"""Errors that only several lines show: time running backwards, a node at two places, degrees for metres."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.world.traces import load
from roamcast.world.traces.plan import Options, plan
from roamcast.world.traces.watch import are_degrees
from tests.world.traces import samples
from tests.world.traces.samples import part_of, points, refusals, written


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("a.csv", "0,1,0,0\n5,1,9,0\n4,1,8,0\n", 3, "time runs backwards for node 1: 4 s, after 5 s in line 2"),
        ("a.movements", "0 1 1 5 2 2 3 4 4\n", 1, "time runs backwards for node 0: 3 s, after 5 s"),
        ("a.txt", "0 9 0 9 0 9\n5 1 2 3\n4 2 3 4\n", 3, "time runs backwards: 4 s, after 5 s in line 2"),
        ("a.dat", "20 1 2\n60 1 2\n40 3 4\n", 3, "time runs backwards: 40 s, after 60 s in line 2"),
        ("e.txt", "5 CONN 1 2 up\n4 CONN 1 2 down\n", 2, "time runs backwards: 4 s, after 5 s in line 1"),
        ("a.xml", samples.fcd().replace("3620.00", "3605.00"), 14, "time runs backwards: 3605 s, after 3610 s"),
        ("a.gpx", samples.gpx().replace("00:20Z", "00:05Z", 1), 6, "time runs backwards for node 0"),
        ("b.csv", "0,ann,0,0\n0,ann,9,0\n", 2, r"node ann is at two places at 0 s: (0, 0) in line 1 and (9, 0)"),
        ("b.xml", samples.fcd().replace('id="1"', 'id="0"'), 5, "node 0 is at two places at 3600 s"),
        ("b.movements", "0 1 1 0 2 2\n", 1, "node 0 is at two places at 0 s"),
    ],
)
def test_a_trace_that_contradicts_itself_is_refused(
    tmp_path: Path, name: str, text: str, line: int, message: str
) -> None:
    ((at, what),) = refusals(written(tmp_path, name, text))
    assert at == line and message in what and "\n" not in what


def test_nodes_of_a_table_may_come_one_after_the_other(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "0,ann,0,0\n5,ann,9,0\n0,bob,0,0\n5,bob,9,0\n")
    assert refusals(path) == [] and len(points(path)) == 2


def test_a_repeated_line_is_ignored(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "0,ann,3,4\n0,ann,3,4\n2,ann,3,4\n")
    assert points(path)["ann"] == [(0.0, 3.0, 4.0), (2.0, 3.0, 4.0)]


def test_a_gap_is_an_absence_if_the_option_is_given(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "time,id,lat,lon\n0,1,47,8\n10,1,47,8\n100,1,47,8\n110,1,47,8\n200,1,47,8\n")
    segments = [record[9] for record in part_of(path, gap_s=60.0).records() if record[0] == 0]
    assert segments == [0, 0, 1, 1, 2]
    assert {record[9] for record in part_of(path, gap_s=90.0).records() if record[0] == 0} == {0}


def test_degrees_are_not_taken_for_metres(tmp_path: Path) -> None:
    """A walk of 1.4 m/s in Zürich, as longitude and latitude."""
    walk = "".join(f"{t},a,{8.54 + t * 1.3e-5},{47.37 + t * 9e-6}\n" for t in range(60))
    path = written(tmp_path, "a.csv", walk)
    with pytest.raises(InputError, match=r"a.csv: coordinates look like degrees, not metres"):
        load.movement(str(path))
    ((t, x, y), *_, (_, to_x, to_y)) = points(path, units="degrees")["a"]
    assert (t, x, y) == (0.0, 0.0, 0.0)
    assert to_x == pytest.approx(59 * 1.3e-5 * 75_460, rel=0.01) and to_y == pytest.approx(
        59 * 9e-6 * 111_180, rel=0.01
    )


@pytest.mark.parametrize(
    ("moves", "fast", "x", "y", "judged"),
    [
        (100, 49, 180.0, 90.0, True),
        (100, 50, 180.0, 90.0, False),
        (100, 0, 180.1, 90.0, False),
        (100, 0, 180.0, 90.1, False),
        (0, 0, 8.0, 47.0, False),
    ],
)
def test_the_rule_for_degrees(moves: int, fast: int, x: float, y: float, judged: bool) -> None:
    assert are_degrees(moves, fast, x, y) is judged


def test_people_in_a_room_are_in_metres(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "0,a,1,1\n1,a,1.5,1\n2,a,1.5,1.06\n3,a,1.5,1.08\n")
    assert len(load.movement(str(path)).tracks[0]) == 4


@pytest.mark.parametrize("size", [1, 7, 20, 64, 1000])
def test_parts_of_a_file_have_every_line_once_and_know_its_number(tmp_path: Path, size: int) -> None:
    text = "t,node,x,y\n" + "".join(f"{t},{t % 3},{t * 1.5},{'bad' if t == 7 else 2}\n" for t in range(30)) + "30,0,1,1"
    path = written(tmp_path, "a.csv", text)
    whole = [record for record in part_of(path).records() if record[0] < 4]
    parts = plan([str(path)], Options(), split_bytes=size)
    assert len(parts) == -(-len(text) // size)
    assert [record for part in parts for record in part.records() if record[0] < 4] == whole
    assert [record[1] for record in whole if record[0] == 2] == [9]
