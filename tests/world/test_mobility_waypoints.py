"""Imported movements."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.world.mobility import build
from roamcast.world.mobility.waypoints import Waypoints, read_trace
from roamcast.world.scenario import Scenario
from tests.support.data import data
from tests.world.walkers import Walker, speed


def track_of(tmp_path: Path, script: str, name: str = "moves.tcl") -> list[tuple[float, float, float]]:
    (tmp_path / name).write_text(script)
    return read_trace(str(tmp_path / name), 1)[0]


def test_a_node_stands_before_its_first_point_walks_through_all_and_stays_at_the_last() -> None:
    walker = Walker(Waypoints([[(10.0, 1.0, 2.0), (20.0, 11.0, 2.0), (25.0, 11.0, 2.0), (30.0, 11.0, 52.0)]]))
    places = [walker.at(t) for t in (0.0, 9.0, 15.0, 22.0, 28.0, 30.0, 1e6)]
    assert places == [(1.0, 2.0), (1.0, 2.0), (6.0, 2.0), (11.0, 2.0), (11.0, 32.0), (11.0, 52.0), (11.0, 52.0)]
    assert walker.leg.end_s == inf


def test_a_track_may_begin_before_zero_or_at_zero_or_be_a_single_point() -> None:
    before = [(-30.0, 0.0, 0.0), (-4.0, 0.0, 0.0), (4.0, 20.0, 0.0)]
    on_time = [(-1.0, 0.0, 0.0), (0.0, 5.0, 0.0), (1.0, 5.0, 9.0)]
    model = Waypoints([before, [(0.0, 7.0, 7.0)], [(-5.0, 1.0, 1.0)], on_time])
    assert Walker(model, 0).at(0.0) == (10.0, 0.0)
    assert Walker(model, 1).at(50.0) == (7.0, 7.0)
    assert Walker(model, 2).at(50.0) == (1.0, 1.0)
    assert Walker(model, 3).at(0.0) == (5.0, 0.0) and Walker(model, 3).at(0.5) == (5.0, 4.5)


def test_points_are_sorted_and_repetitions_dropped() -> None:
    walker = Walker(Waypoints([[(10.0, 10.0, 0.0), (0.0, 0.0, 0.0), (10.0, 10.0, 0.0)]]))
    assert walker.at(5.0) == (5.0, 0.0)


@pytest.mark.parametrize(
    ("track", "words"),
    [
        ([], "node 0 has no position"),
        ([(1.0, 0.0, 0.0), (1.0, 0.0, 5.0)], "two places at 1 s"),
        ([(1.0, float("nan"), 0.0)], "finite"),
    ],
)
def test_an_impossible_track_is_refused(track: list[tuple[float, float, float]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Waypoints([track])


# ---- CSV


def test_csv_lines(tmp_path: Path) -> None:
    file = tmp_path / "moves.csv"
    file.write_text("t,node,x,y\n0,7,0,0\n# a remark\n\n5,7,1,1\n0, 3, -4.5, 1e2\n")
    assert read_trace(str(file), 2) == [[(0.0, -4.5, 100.0)], [(0.0, 0.0, 0.0), (5.0, 1.0, 1.0)]]
    assert read_trace(str(file), 1) == [[(0.0, -4.5, 100.0)]]


@pytest.mark.parametrize("line", ["1,2,3", "1,2,3,4,5", "a,1,2,3", "1,,2,3"])
def test_a_wrong_csv_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "moves.csv"
    file.write_text(f"0,ann,0,0\n1,ann,0,0\n{line}\n")
    with pytest.raises(InputError, match=r"moves.csv, line 3: .* is not t,node,x,y") as error:
        read_trace(str(file), 1)
    assert "\n" not in str(error.value)


# ---- ns-2

START = "$node_(0) set X_ 10.0\n$node_(0) set Y_ 20.0\n$node_(0) set Z_ 0.0\n"


def test_setdest(tmp_path: Path) -> None:
    script = START + '$ns_ at 5.0 "$node_(0) setdest 40.0 60.0 5.0"\n$god_ set-dist 0 1 2\n'
    assert track_of(tmp_path, script) == [(0.0, 10.0, 20.0), (5.0, 10.0, 20.0), (15.0, 40.0, 60.0)]


def test_a_new_order_starts_from_where_the_node_is(tmp_path: Path) -> None:
    script = START + '$ns_ at 0.0 "$node_(0) setdest 110.0 20.0 10.0"\n$ns_ at 4.0 "$node_(0) setdest 50.0 30.0 2.0"\n'
    assert track_of(tmp_path, script) == [(0.0, 10.0, 20.0), (4.0, 50.0, 20.0), (9.0, 50.0, 30.0)]


def test_speed_zero_stops(tmp_path: Path) -> None:
    script = START + '$ns_ at 0.0 "$node_(0) setdest 110.0 20.0 10.0"\n$ns_ at 4.0 "$node_(0) setdest 50.0 30.0 0.0"\n'
    assert track_of(tmp_path, script) == [(0.0, 10.0, 20.0), (4.0, 50.0, 20.0)]


def test_orders_out_of_order_and_several_nodes(tmp_path: Path) -> None:
    script = (
        '$ns_ at 9.0 "$node_(1) setdest 9.0 0.0 1.0"\n$ns_ at 1.0 "$node_(1) setdest 5.0 0.0 1.0"\n'
        "$node_(1) set X_ 0.0\n$node_(1) set Y_ 0.0\n" + START
    )
    (tmp_path / "moves").write_text(script)
    one, two = read_trace(str(tmp_path / "moves"), 2)
    assert one == [(0.0, 10.0, 20.0)]
    assert two == [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (6.0, 5.0, 0.0), (9.0, 5.0, 0.0), (13.0, 9.0, 0.0)]


def test_absurd_speeds_place_a_node_where_it_appears_and_do_not_remove_it(tmp_path: Path) -> None:
    appears = '$ns_ at 8.0 "$node_(0) setdest 500.0 600.0 1000000000.0" ;# init\n'
    moves = '$ns_ at 9.0 "$node_(0) setdest 500.0 650.0 10.0"\n'
    vanishes = '$ns_ at 20.0 "$node_(0) setdest 0.01 0.01 1000000001.0" ;# remove\n'
    assert track_of(tmp_path, START + appears) == [(8.0, 500.0, 600.0)]
    expected = [(8.0, 500.0, 600.0), (9.0, 500.0, 600.0), (14.0, 500.0, 650.0)]
    assert track_of(tmp_path, START + appears + moves) == expected
    assert track_of(tmp_path, START + appears + moves + vanishes) == expected


@pytest.mark.parametrize(
    "order",
    [
        '$ns_ at 1.0 "$node_(0) setdest 1.0 2.0"',
        '$ns_ at x "$node_(0) setdest 1 2 3"',
        '$ns_ at 3 "$node_(0) set X_ 3"',
    ],
)
def test_an_order_that_is_not_understood_is_named(tmp_path: Path, order: str) -> None:
    with pytest.raises(InputError, match=r"line 4: .*setdest") as error:
        track_of(tmp_path, START + order + "\n")
    assert "\n" not in str(error.value)


# ---- whole files


def test_too_few_nodes(tmp_path: Path) -> None:
    file = tmp_path / "moves.csv"
    file.write_text("0,0,0,0\n0,1,0,0\n")
    with pytest.raises(InputError, match=r"moves.csv has 2 nodes, but nodes=3; use fewer"):
        read_trace(str(file), 3)
    file.write_text("t,node,x,y\n")
    with pytest.raises(InputError, match=r"moves.csv has no node, but nodes=1"):
        read_trace(str(file), 1)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read .no such file"):
        read_trace(str(tmp_path / "none"), 1)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not text"):
        read_trace(str(tmp_path / "bytes"), 1)


def test_a_scenario_reads_its_trace(tmp_path: Path) -> None:
    file = tmp_path / "moves.csv"
    file.write_text("0,0,0,0\n10,0,10,0\n0,1,5,5\n")
    scenario = Scenario(mobility="trace", trace=str(file), nodes=2, subscribers=1)
    assert Walker(build(scenario, 1)).at(5.0) == (5.0, 0.0)


def test_the_cars_of_unterstrass() -> None:
    tracks = read_trace(str(data("unterstrass_ns2/low99-ct-unterstrass-1day.filt.7.adj.mob")), 99)
    assert tracks[0][0] == (0.01, 1335.996339, 1004.578227)  # switched on after 10 ms
    speeds = []
    for node in range(99):
        walker = Walker(Waypoints(tracks), node)
        while walker.leg.end_s < inf:
            walker.turn()
            assert 10 <= walker.leg.x <= 4660 and 10 <= walker.leg.y <= 3010
            speeds.append(speed(walker.leg))
    assert min(s for s in speeds if s > 0.0) > 9.9 and max(speeds) < 32.1  # V_min and V_max in the header of the file
