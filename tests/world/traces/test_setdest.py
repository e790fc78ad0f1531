"""The readings of ns-2 scripts; movements are tested with the mobility model (test_mobility_waypoints.py)."""

from __future__ import annotations

from pathlib import Path

from roamcast.world.traces.load import movement
from tests.support.data import data
from tests.world.traces.samples import points, problems, refusals, written

START = "$node_(0) set X_ 0.0\n$node_(0) set Y_ 0.0\n"
OTHER = '$node_(1) set X_ 9.0\n$ns_ at 30.0 "$node_(1) setdest 9.0 0.0 0.0"\n'


def at(t: float, order: str) -> str:
    return f'$ns_ at {t} "$node_(0) {order}"\n'


def absences(tmp_path: Path, script: str) -> list[tuple[int, int]]:
    return movement(str(written(tmp_path, "a.tcl", script))).absences[0]


def test_r4_a_node_that_is_switched_off_is_absent(tmp_path: Path) -> None:
    script = START + OTHER + at(0, "setdest 20.0 0.0 1.0") + at(5, "switch OFF") + at(8, "switch ON")
    expected = [(0.0, 0.0, 0.0), (5.0, 5.0, 0.0), (8.0, 8.0, 0.0), (20.0, 20.0, 0.0), (30.0, 20.0, 0.0)]
    assert points(written(tmp_path, "b.tcl", script))["0"] == expected
    assert absences(tmp_path, script) == [(5_000_000, 8_000_000)]


def test_r4_a_node_may_be_off_at_the_beginning_and_at_the_end(tmp_path: Path) -> None:
    script = (
        START + OTHER + at(0, "switch OFF") + at(0, "setdest 20.0 0.0 1.0") + at(2, "switch ON") + at(9, "switch OFF")
    )
    assert absences(tmp_path, script) == [(0, 2_000_000), (9_000_000, -1)]


def test_r4_at_one_instant_the_later_order_wins(tmp_path: Path) -> None:
    assert absences(tmp_path, START + OTHER + at(5, "switch OFF") + at(5, "switch ON")) == []
    assert absences(tmp_path, START + OTHER + at(5, "switch ON") + at(5, "switch OFF")) == [(5_000_000, -1)]


def test_r3_a_node_that_is_placed_appears_then_and_one_that_is_removed_vanishes(tmp_path: Path) -> None:
    script = (
        START + OTHER + at(8, "setdest 50.0 60.0 1e9") + at(9, "setdest 50.0 65.0 1.0") + at(20, "setdest 0.0 0.0 1e9")
    )
    assert absences(tmp_path, script) == [(0, 8_000_000), (20_000_000, -1)]
    assert points(written(tmp_path, "b.tcl", script))["0"][0] == (8.0, 50.0, 60.0)


def test_r5_a_node_without_orders_is_always_present(tmp_path: Path) -> None:
    assert points(written(tmp_path, "a.tcl", START + OTHER))["0"] == [(0.0, 0.0, 0.0), (30.0, 0.0, 0.0)]


def test_r6_other_orders_are_skipped_and_other_words_malformed(tmp_path: Path) -> None:
    path = written(tmp_path, "a.tcl", START + "$node_(0) color red\n$god_ set-dist 0 1 2\nset nn 2\nwalk on by\n")
    assert [line for line, _ in problems(path)] == [6]


def test_a_node_that_is_placed_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "a.tcl", START + "$node_(0) set X_ 7.0\n")
    assert refusals(path) == [(3, "node 0 is placed twice: X_ 0 in line 1, 7 in line 3")]
    assert refusals(written(tmp_path, "b.tcl", START + START)) == []


def test_a_speed_below_zero_is_malformed(tmp_path: Path) -> None:
    assert [line for line, _ in problems(written(tmp_path, "a.tcl", START + at(1, "setdest 1.0 1.0 -3.0")))] == [3]


def test_the_cars_of_unterstrass_come_and_go() -> None:
    cars = movement(str(data("unterstrass_ns2/low99-ct-unterstrass-1day.filt.7.adj.mob")))
    assert len(cars.names) == 99
    first_on = [intervals[0] for intervals in cars.absences]
    assert all(start == 0 and until > 0 for start, until in first_on)
    assert cars.absences[0][0] == (0, 10_000)
    assert cars.absences[50] == [(0, 10_000), (258_569_347, -1)]
    late = [until for _, until in first_on if until > 10_000]
    assert late and min(late) > 10_000 and max(late) <= 300_010_000
