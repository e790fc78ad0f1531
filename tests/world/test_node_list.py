"""Lists of nodes: what they say, and one clear line for each that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roamcast.errors import InputError
from roamcast.papers import presets
from roamcast.world import node_list
from roamcast.world.assembly import build
from roamcast.world.kernel import World
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate, what_was_possible
from tests.support.sinks import MemorySink


def listed(tmp_path: Path, text: str, name: str = "nodes.csv") -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def world(path: str, **more: Any) -> World:
    s = Scenario(**{"radio": "lora", "mac": "lora", "mobility": "static", "positions": path, **more})
    return build(s, 1, "frames", MemorySink())


PLAIN = "id,x,y\na,0,0\nb,1000,0\nc,1000,2000.5\n"


def test_a_list_decides_how_many_nodes_there_are_and_where(tmp_path: Path) -> None:
    made = world(listed(tmp_path, PLAIN), nodes=100, publishers=100, subscribers=50)
    assert [made.motion.position(i, 5.0) for i in range(3)] == [(0.0, 0.0), (1000.0, 0.0), (1000.0, 2000.5)]
    s = Scenario(positions=listed(tmp_path, PLAIN), nodes=100, publishers=100, subscribers=2, mobility="static")
    assert (s.nodes, s.publishers, s.subscribers, s.width_m, s.height_m) == (3, 3, 2, 1000.0, 2000.5)


def test_nodes_of_a_list_stand_whatever_the_mobility_is(tmp_path: Path) -> None:
    made = world(listed(tmp_path, PLAIN), mobility="waypoint")
    assert [made.motion.speed(i) for i in range(3)] == [0.0, 0.0, 0.0]


def test_some_nodes_of_a_list_may_move(tmp_path: Path) -> None:
    path = listed(tmp_path, "x,y,moves\n0,0,no\n5,5,yes\n10,10,\n")
    made = world(path, mobility="waypoint", width_m=500.0, height_m=500.0)
    assert [made.motion.speed(i) > 0.0 for i in range(3)] == [False, True, False]
    with pytest.raises(InputError, match="some of its nodes move; set mobility to how they do"):
        world(path)


def test_degrees_become_metres_from_the_south_west_corner(tmp_path: Path) -> None:
    nodes = node_list.read(listed(tmp_path, "lat,lon\n52.01,13.0\n52.0,13.01\n"))
    assert (nodes[0].x, nodes[1].y) == (0.0, 0.0)
    assert nodes[0].y == pytest.approx(1112.7, abs=1.0) and nodes[1].x == pytest.approx(686.6, abs=1.0)


def test_heights_gains_and_roles_are_those_of_the_list_where_it_has_some(tmp_path: Path) -> None:
    path = listed(tmp_path, "name,x,y,height_m,gain_dbi,Role\nq,0,0,30,5,router\nr,500,0,,,CLIENT_MUTE\n")
    first, second = node_list.read(path)
    assert (first.height_m, first.gain_dbi, first.role) == (30.0, 5.0, "router")
    assert (second.height_m, second.gain_dbi, second.role) == (None, None, "mute")
    made = world(path, antenna_m=2.0)
    assert [station.role() for station in made.stations] == ["router", "mute"]
    assert made.radio.ranges == world(listed(tmp_path, "x,y,height,gain\n0,0,30,5\n1,1,2,0\n", "o.csv")).radio.ranges


def test_geojson_has_points_with_properties(tmp_path: Path) -> None:
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [13.0, 52.0]},
            "properties": {"role": "router"},
        },
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [13.0, 52.1]}, "properties": {"height": 7}},
    ]
    text = json.dumps({"type": "FeatureCollection", "features": features})
    first, second = node_list.read(listed(tmp_path, text, "mesh.geojson"))
    assert (first.role, first.y, second.height_m) == ("router", 0.0, 7.0)
    assert second.y == pytest.approx(11_127.0, abs=5.0)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "needs the columns x and y, or lat and lon; it has none"),
        ("id,x\n1,2\n", "needs the columns x and y, or lat and lon; it has id, x"),
        ("x,y\n", "there is no node in it"),
        ("x,y\n1,2\n1,nan\n", "line 3: y=nan; it must be a number between -10,000,000 and 10,000,000"),
        ("x,y\n1,\n", "line 2: y=nothing; it must be a number"),
        ("x,y\n1\n", "line 2: y=nothing; it must be a number"),
        ("lat,lon\n52\n", "line 2: lon=nothing; it must be a number"),
        ("x,y\none,2\n", "line 2: x=one; it must be a number"),
        ("id,x,y\na,1,2\nb,3,4\na,5,6\n", "line 4: id=a is that of line 2, too"),
        ("x,y,role\n1,2,king\n", "line 2: role=king; it must be one of client, mute, router, repeater"),
        ("x,y,moves\n1,2,maybe\n", "line 2: moves=maybe; it must be yes or no"),
        ("x,y,height\n1,2,-5\n", "line 2: height=-5; it must be a number between 0.1 and 10,000"),
        ("x,y,x\n1,2,3\n", "has two columns x"),
        ("x,y\n1,5,2,5\n", "line 2: has 4 cells, for 2 columns"),
        ("id,x,y\n" + 200_000 * "a" + ",1,2\n", "must be a CSV file (field larger than field limit (131072))"),
        ("lat,lon\n95,0\n", "line 2: lat=95; it must be a number between -90 and 90"),
        (
            "lat,lon\n52,13\n-52,-167\n",
            "line 3: lat=-52, lon=-167 is more than 1,000 km from the first node; is a sign wrong, or lat and lon "
            "exchanged?",
        ),
    ],
)
def test_a_wrong_list_gets_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = listed(tmp_path, text)
    with pytest.raises(InputError) as error:
        Scenario(positions=path, mobility="static")
    assert str(error.value) == f"positions={path}: {message}"


def test_empty_columns_and_lines_of_a_spreadsheet_do_no_harm(tmp_path: Path) -> None:
    assert [node.id for node in node_list.read(listed(tmp_path, "id,x,y,,\na,1,2,,\n,,,,\n\nb,2,3\n"))] == ["a", "b"]


@pytest.mark.parametrize("text", ["x,y,lat\n1,2,52\n", "lon,y,x\n13,2,1\n"])
def test_metres_suffice_beside_half_of_the_degrees(tmp_path: Path, text: str) -> None:
    assert node_list.read(listed(tmp_path, text))[0][1:3] == (1.0, 2.0)


POINT = '"geometry": {"type": "Point", "coordinates": [13, 52]}'


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        100_000 * "[",
        '{"features": [{"geometry": {"type": "Point"}}]}',
        '{"features": 3}',
        '{"features": [{' + POINT + ', "properties": [1]}]}',
        '{"features": [{"geometry": null}]}',
    ],
)
def test_what_is_not_geojson_gets_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="must be a GeoJSON FeatureCollection of Points"):
        node_list.read(listed(tmp_path, text, "mesh.geojson"))


@pytest.mark.parametrize("coordinates", ['["13", 52]', '[13, "52"]', "[13, null]", "[true, 52]"])
def test_coordinates_of_geojson_must_be_numbers(tmp_path: Path, coordinates: str) -> None:
    text = '{"features": [{"geometry": {"type": "Point", "coordinates": ' + coordinates + "}}]}"
    with pytest.raises(InputError, match=r"feature 1: its coordinates must be numbers$"):
        node_list.read(listed(tmp_path, text, "mesh.geojson"))


def test_a_list_that_is_not_there_gets_one_line() -> None:
    with pytest.raises(InputError, match=r"positions=nowhere\.csv: cannot be read"):
        Scenario(positions="nowhere.csv")


def test_a_list_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    path = listed(tmp_path, PLAIN)
    assert len(node_list.read(path)) == 3
    Path(path).write_text("x,y\n1,2\n")
    assert len(node_list.read(path)) == 1


@pytest.mark.parametrize("mobility", ["trace", "contacts"])
def test_places_come_from_one_file(tmp_path: Path, mobility: str) -> None:
    with pytest.raises(InputError, match=f"mobility={mobility} has places of its own"):
        Scenario(positions=listed(tmp_path, PLAIN), mobility=mobility, trace="some.csv")


# ---- measured links


def test_measured_links_override_the_law(tmp_path: Path) -> None:
    """b is in range of a and does not hear it; c is out of range and does; the law stays for all others."""
    path = listed(tmp_path, "x,y\n0,0\n1000,0\n9000,0\n1000,100\n")
    links = listed(tmp_path, "src,dst,pdr,mean_rssi\n0,1,0,\n0,2,0.5,-120\n2,0,1,\n", "links.csv")
    made = world(path, links=links)
    assert list(made.motion.hearers[0]) == [2, 3] and list(made.motion.hearers[2]) == [0]
    assert made.radio.dbm(made.radio.strength(0, 2, 0.0, 9000.0**2)) == pytest.approx(-120.0)
    assert made.radio.strength(2, 0, 0.0, 9000.0**2) == 1.0
    assert made.faults.link_loss == {2: 0.5, 1: 1.0}
    assert made.radio.strength(1, 0, 0.0, 1e6) == world(path).radio.strength(1, 0, 0.0, 1e6)


def test_measured_links_may_have_the_ids_of_the_list(tmp_path: Path) -> None:
    path = listed(tmp_path, "id,x,y\ntower,0,0\nanna,9000,0\n")
    by_id = listed(tmp_path, "src,dst,pdr\ntower,anna,1\n", "ids.csv")
    by_row = listed(tmp_path, "src,dst,pdr\n0,1,1\n", "rows.csv")
    for links in (by_id, by_row):
        assert list(world(path, links=links).motion.hearers[0]) == [1]
    unknown = listed(tmp_path, "src,dst,pdr\ntower,bert,1\n", "unknown.csv")
    with pytest.raises(InputError, match="row 1 has dst=bert, which is no id of the list of nodes"):
        world(path, links=unknown)


def test_ids_that_are_numbers_are_not_taken_for_rows(tmp_path: Path) -> None:
    path = listed(tmp_path, "id,x,y\n1,0,0\n2,9000,0\n")
    assert list(world(path, links=listed(tmp_path, "src,dst,pdr\n1,2,1\n", "links.csv")).motion.hearers[0]) == [1]
    with pytest.raises(InputError, match="row 1 has src=0, which is no id of the list of nodes"):
        world(path, links=listed(tmp_path, "src,dst,pdr\n0,1,1\n", "rows.csv"))


@pytest.mark.parametrize("rows", ["src,dst,pdr\n", "src,dst,pdr,tx_count\n0,1,1,0\n"])
def test_measured_links_without_any_link_get_one_line(tmp_path: Path, rows: str) -> None:
    with pytest.raises(InputError, match="no link in it; it needs rows of src, dst and a pdr above 0"):
        world(listed(tmp_path, PLAIN), links=listed(tmp_path, rows, "links.csv"))


def test_links_of_nodes_that_move_cannot_have_been_measured(tmp_path: Path) -> None:
    path = listed(tmp_path, "x,y,moves\n0,0,\n10,0,yes\n")
    links = listed(tmp_path, "src,dst,pdr\n0,1,1\n", "links.csv")
    with pytest.raises(InputError, match="node 1 moves"):
        world(path, links=links, mobility="waypoint")


def test_links_of_nodes_that_are_not_in_the_list_get_one_line(tmp_path: Path) -> None:
    links = listed(tmp_path, "src,dst,pdr\n0,7,1\n", "links.csv")
    with pytest.raises(InputError, match=r"nodes=3: links=.* has node 7"):
        world(listed(tmp_path, PLAIN), links=links)


# ---- worlds


def test_an_ideal_flood_only_goes_along_links_that_can_be_decoded(tmp_path: Path) -> None:
    """The clients reach the tower, which is higher, and not each other, which are as far away."""
    text = "x,y,height\n0,0,2\n4000,0,50\n8000,0,2\n"
    of_all = [(0, i, 10_000_000, [0, 1, 2]) for i in range(3)]
    values = {"radio": "lora", "mac": "lora", "mobility": "static", "antenna_m": 2.0, "duration_s": 10.0}
    with_tower = Scenario(**values, positions=listed(tmp_path, text))
    assert what_was_possible(with_tower, 1, of_all, []) == 6
    without = Scenario(**values, positions=listed(tmp_path, text.replace("4000,0,50", "4000,60000,50"), "far.csv"))
    assert what_was_possible(without, 1, of_all, []) == 0
    measured = listed(tmp_path, "src,dst,pdr\n0,2,0.5\n", "links.csv")
    assert what_was_possible(msgspec.structs.replace(without, links=measured), 1, of_all, []) == 1


def test_no_run_delivers_more_than_was_possible_where_links_are_shadowed() -> None:
    s = presets.load("mesh-hills").scenario({"rate_hz": "0.0003"})
    for seed in (1, 5):
        counted = simulate(s, "counter", {"delay_ms": 3000.0}, seed=seed).metrics
        assert 0.9 * counted["possible"] < counted["deliveries"] <= counted["possible"] < counted["interested"]


def test_a_listed_mesh_runs_and_every_run_of_it_is_the_same(tmp_path: Path) -> None:
    path = listed(tmp_path, PLAIN)
    s = Scenario(
        radio="lora", mac="lora", mobility="static", positions=path, publishers=3, subscribers=3, rate_hz=0.01,
        workload="topics", duration_s=600.0,
    )  # fmt: skip
    once, again = (simulate(s, "managed", seed=2) for _ in range(2))
    assert once.fingerprint == again.fingerprint and once.metrics["deliveries"] > 0
