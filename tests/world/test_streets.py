"""Street maps: what is read, what is refused, and the shortest ways compared with a simple search."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import MapError
from roamcast.world.streets import Router, Street, StreetGraph, campus, load, read
from tests.support.data import data

POINTS = "id,x_m,y_m,remark\na,0,0,x\nb,100,0,x\nc,200,0,x\nd,100,50,x\n"
STREETS = "u,v,length_m\na,b,100\nb,c,100\nb,d,50\n"


def pair(folder: Path, points: str = POINTS, streets: str = STREETS) -> Path:
    (folder / "nodes.csv").write_text(points)
    (folder / "edges.csv").write_text(streets)
    return folder


def wkt(folder: Path, text: str) -> str:
    (folder / "map.wkt").write_text(text)
    return str(folder / "map.wkt")


def straight(points: list[tuple[float, float]], links: list[tuple[int, int]], speed: float = 0.0) -> StreetGraph:
    return StreetGraph(points, [Street(u, v, [points[u], points[v]], speed, 0.0) for u, v in links])


def both(*links: tuple[int, int]) -> list[tuple[int, int]]:
    return [way for u, v in links for way in ((u, v), (v, u))]


def ends(graph: StreetGraph) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    return sorted((graph.points[s.u], graph.points[s.v]) for s in graph.streets)


# ---- CSV


@pytest.mark.parametrize("name", ["", "nodes.csv", "edges.csv"])
def test_a_csv_pair_is_found_by_its_folder_or_either_file(tmp_path: Path, name: str) -> None:
    graph = load(str(pair(tmp_path) / name))
    assert graph.points == [(0.0, 0.0), (100.0, 0.0), (200.0, 0.0), (100.0, 50.0)]
    assert [(s.u, s.v, s.length_m) for s in graph.streets] == [
        (0, 1, 100.0),
        (1, 0, 100.0),
        (1, 2, 100.0),
        (2, 1, 100.0),
        (1, 3, 50.0),
        (3, 1, 50.0),
    ]


def test_optional_csv_columns(tmp_path: Path) -> None:
    streets = "u,v,speed_mps,weight,oneway\na,b,9,2,1\nb,a,7,3,1\nb,c,,,\nb,b,1,1,0\nb,d,5,,0\n"
    graph = read(str(pair(tmp_path, streets=streets)))
    by_ends = {(s.u, s.v): (s.speed_mps, s.weight) for s in graph.streets}
    assert by_ends[0, 1] == (9.0, 2.0) and by_ends[1, 0] == (7.0, 3.0)
    assert by_ends[1, 3] == by_ends[3, 1] == (5.0, 1.0)
    assert 8.0 <= by_ends[1, 2][0] <= 13.0 and len(graph.streets) == 6


@pytest.mark.parametrize(
    ("points", "streets", "words"),
    [
        (POINTS, "u,v\na,z\n", r"edges.csv, line 2: v is 'z', and nodes.csv has no such point"),
        (POINTS + "a,1,1,\n", STREETS, r"nodes.csv, line 6: point 'a' occurs twice"),
        (POINTS.replace("100,50", "east,50"), STREETS, r"nodes.csv, line 5: 'east' is not a number"),
        (POINTS.replace("100,50", "nan,50"), STREETS, r"'nan' is not a number"),
        (POINTS, "u,v,speed_mps\na,b,-3\n", r"must not be negative"),
        (POINTS, "from,to\na,b\n", r"no CSV file of streets, with the columns u,v"),
        ("name,x\n", STREETS, r"no CSV file of points, with the columns id,x_m,y_m"),
        (POINTS, "u,v\n", r"no streets"),
    ],
)
def test_a_wrong_csv_pair_is_refused_in_one_line(tmp_path: Path, points: str, streets: str, words: str) -> None:
    with pytest.raises(MapError, match=words) as error:
        read(str(pair(tmp_path, points, streets)))
    assert "\n" not in str(error.value)


def test_a_csv_file_without_the_columns_of_a_map_is_refused(tmp_path: Path) -> None:
    pair(tmp_path)
    (tmp_path / "other.csv").write_text("p,q\n1,2\n")
    with pytest.raises(MapError, match=r"other.csv: a map has the columns"):
        load(str(tmp_path / "other.csv"))


# ---- WKT


def test_wkt_lines_are_connected_where_they_share_a_point(tmp_path: Path) -> None:
    text = "LINESTRING (0 0, 100 0, 200 0)\n\nlinestring(100.0001 0, 100 50)\n"
    graph = load(wkt(tmp_path, text + "MULTILINESTRING ((200 0, 300 0), (0 0, 0 9))\n"))
    assert graph.points == [(0.0, 0.0), (100.0, 0.0), (200.0, 0.0), (100.0, 50.0), (300.0, 0.0), (0.0, 9.0)]
    assert len(graph.streets) == 10 and len(graph.parts()) == 1


def test_wkt_lines_that_only_cross_are_not_connected(tmp_path: Path) -> None:
    with pytest.raises(MapError, match="2 unconnected parts, the largest with 2 of 4 points"):
        read(wkt(tmp_path, "LINESTRING (0 0, 10 10)\nLINESTRING (0 10, 10 0)\n"))


def test_wkt_lines_that_run_over_each_other_make_one_street(tmp_path: Path) -> None:
    assert len(load(wkt(tmp_path, "LINESTRING (0 0, 9 0, 9 0)\nLINESTRING (9 0, 0 0)\n")).streets) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("LINESTRING (0 0, 1 1)\nPOINT (0 0)\n", r"line 2: 'POINT \(0 0\)' is not a LINESTRING"),
        ("LINESTRING (0 0, x 1)\n", r"line 1: 'x' is not a number"),
        ("LINESTRING (0 0, 1)\n", r"line 1: '1' is not a point x y"),
        ("", r"no streets"),
        ("LINESTRING (0 0)\n", r"no streets"),
    ],
)
def test_wrong_wkt_is_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(MapError, match=words) as error:
        read(wkt(tmp_path, text))
    assert "\n" not in str(error.value)


# ---- SUMO

NET = """<net version="1.9">
  <edge id=":b_0" function="internal"><lane id=":b_0_0" index="0" speed="6.5" length="9" shape="1,1 2,2"/></edge>
  <edge id="ab" from="a" to="b"><lane id="ab_0" index="0" speed="13.89" length="90" shape="5,0 50,20 95,0"/></edge>
  <edge id="ba" from="b" to="a" shape="100,0 50,-20 0,0"><lane id="ba_0" speed="8.33" shape="1,1 2,2"/></edge>
  <junction id="a" type="priority" x="0" y="0"/>
  <junction id="b" type="priority" x="100" y="0"/>
  <junction id=":b_0" type="internal" x="1" y="1"/>
  <junction id="alone" type="dead_end" x="7" y="7"/>
</net>"""


def sumo(folder: Path, text: str = NET) -> str:
    (folder / "map.net.xml").write_text(text)
    return str(folder / "map.net.xml")


def test_sumo_edges_are_one_way_streets_with_shape_and_limit(tmp_path: Path) -> None:
    graph = read(sumo(tmp_path))
    assert graph.points == [(0.0, 0.0), (100.0, 0.0)]
    there, back = graph.streets
    assert (there.u, there.v, there.speed_mps) == (0, 1, 13.89)
    assert there.shape == [(0.0, 0.0), (5.0, 0.0), (50.0, 20.0), (95.0, 0.0), (100.0, 0.0)]
    assert (back.u, back.v, back.speed_mps) == (1, 0, 8.33)
    assert (50.0, -20.0) in back.shape and there.weight == 10.0 > back.weight >= 1.0


def test_sumo_streets_that_lead_to_where_none_leads_back_are_refused(tmp_path: Path) -> None:
    one_way = NET.replace('<edge id="ba" from="b" to="a"', '<edge id="ba" from="a" to="b"')
    with pytest.raises(MapError, match="2 unconnected parts, the largest with 1 of 2 points"):
        read(sumo(tmp_path, one_way))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<net><edge", "not XML"),
        ("<routes/>", "its root is <routes>"),
        (NET.replace('to="b"', 'to="q"'), "edge 'ab': goes to 'q', which is not a junction"),
        (NET.replace("5,0 50,20", "5 50,20"), "edge 'ab': '5' is not a point"),
        (NET.replace('x="100"', 'x="?"'), "junction 'b': '\\?' is not a number"),
        ("<net/>", "no streets"),
    ],
)
def test_a_wrong_net_is_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(MapError, match=words) as error:
        read(sumo(tmp_path, text))
    assert "\n" not in str(error.value)


# ---- whole files


def test_a_file_that_is_not_a_map_or_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "map.png").write_bytes(b"")
    with pytest.raises(MapError, match=r"must be a .wkt, a .csv pair"):
        load(str(tmp_path / "map.png"))
    for name in ("none.wkt", "none.csv", "none.xml"):
        with pytest.raises(MapError, match=f"{name}: the map cannot be read .no such file"):
            load(str(tmp_path / name))
    (tmp_path / "bytes.wkt").write_bytes(b"\xff\xfe")
    with pytest.raises(MapError, match="not text in UTF-8"):
        load(str(tmp_path / "bytes.wkt"))


def test_the_epfl_map_has_18_parts_and_is_refused_but_its_largest_part_is_not() -> None:
    folder = data("epfl_map")
    raw = load(str(folder))
    assert len(raw.points) == 2640 and len(raw.streets) == 2 * 2888
    assert sum(s.length_m for s in raw.streets) / 2 == pytest.approx(39072.98972313689, rel=1e-6)
    with pytest.raises(MapError, match="18 unconnected parts, the largest with 2432 of 2640 points"):
        read(str(folder))
    part = raw.largest_part()
    assert len(part.points) == 2432
    drivable = part.drivable()
    assert sum(s.length_m for s in drivable.streets) == pytest.approx(sum(s.length_m for s in part.streets))
    from_wkt = read(str(folder / "epfl_paths.wkt"))
    assert len(from_wkt.points) == len(drivable.points) and len(from_wkt.streets) == len(drivable.streets)


# ---- parts


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=16))
def test_parts_are_sets_of_points_that_reach_each_other(n: int, links: list[tuple[int, int]]) -> None:
    links = [(u, v) for u, v in links if u != v and u < n and v < n]
    reach = [[u == v or (u, v) in links for v in range(n)] for u in range(n)]
    for m in range(n):
        for u in range(n):
            for v in range(n):
                reach[u][v] = reach[u][v] or (reach[u][m] and reach[m][v])
    expected = {tuple(v for v in range(n) if reach[u][v] and reach[v][u]) for u in range(n)}
    graph = straight([(float(k), 0.0) for k in range(n)], links)
    parts = graph.parts()
    assert {tuple(part) for part in parts} == expected and len(parts) == len(expected)
    assert [len(part) for part in parts] == sorted((len(part) for part in parts), reverse=True)
    assert graph.largest_part().points == [(float(k), 0.0) for k in parts[0]]


# ---- joining and completing


def test_points_where_a_street_only_bends_become_its_shape() -> None:
    points = [(0.0, 0.0), (10.0, 5.0), (20.0, 0.0), (30.0, 0.0), (20.0, 10.0)]
    graph = straight(points, both((0, 1), (1, 2), (2, 3), (2, 4))).joined()
    assert graph.points == [(0.0, 0.0), (20.0, 0.0), (30.0, 0.0), (20.0, 10.0)]
    assert len(graph.streets) == 6
    assert [s.shape for s in graph.streets if s.u == 0] == [points[:3]]
    assert [s.shape for s in graph.streets if s.v == 0] == [points[2::-1]]


def test_one_way_streets_join_in_their_direction() -> None:
    points = [(0.0, 0.0), (10.0, 5.0), (20.0, 0.0), (10.0, -5.0)]
    graph = straight(points, [(0, 1), (1, 2), *both((2, 3), (3, 0))]).joined()
    assert sorted(s.shape[0] for s in graph.streets) == [(0.0, 0.0), (0.0, 0.0), (20.0, 0.0)]
    assert ends(graph) == [((0.0, 0.0), (20.0, 0.0)), ((0.0, 0.0), (20.0, 0.0)), ((20.0, 0.0), (0.0, 0.0))]


def test_streets_of_different_limits_are_not_joined() -> None:
    points = [(0.0, 0.0), (10.0, 0.0), (20.0, 0.0)]
    streets = [Street(u, v, [points[u], points[v]], float(min(u, v) + 8), 1.0) for u, v in both((0, 1), (1, 2))]
    assert len(StreetGraph(points, streets).joined().points) == 3


def test_a_ring_keeps_two_crossings() -> None:
    points = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0)]
    graph = straight(points, both((0, 1), (1, 2), (2, 3), (3, 0))).drivable()
    assert len(graph.points) == 2 and len(graph.streets) == 4
    assert sum(s.length_m for s in graph.streets) == pytest.approx(80.0)


@settings(max_examples=40, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11)), min_size=1, max_size=18))
def test_joining_changes_no_lengths_and_no_quickest_ways(links: set[tuple[int, int]]) -> None:
    roads = sorted({(min(u, v), max(u, v)) for u, v in links if u != v}) or [(0, 1)]
    points = [(float(7 * k % 12), float(5 * k % 11)) for k in range(12)]
    raw = straight(points, both(*roads), 10.0).largest_part()
    graph = raw.joined()
    assert sum(s.length_m for s in graph.streets) == pytest.approx(sum(s.length_m for s in raw.streets))
    assert len(graph.parts()) == 1
    for s in graph.streets:
        assert s.shape[0] == graph.points[s.u] and s.shape[-1] == graph.points[s.v]
    before = Router(raw, [s.length_m for s in raw.streets])
    after = Router(graph, [s.length_m for s in graph.streets])
    where = [raw.points.index(p) for p in graph.points]
    for goal in range(len(graph.points)):
        old = before.to(where[goal]).seconds
        assert list(after.to(goal).seconds) == pytest.approx([old[k] for k in where])


def test_limits_and_weights_that_are_missing_are_always_the_same() -> None:
    points = [(0.0, 0.0), *((10.0 * k, 10.0) for k in range(60))]
    graph = straight(points, both(*((0, k) for k in range(1, 61)))).drivable()
    limits = [s.speed_mps for s in graph.streets]
    assert limits[0::2] == limits[1::2]  # both directions of a road have the same limit
    assert all(8.0 <= v <= 13.0 for v in limits) and len(set(limits)) > 20
    assert limits[:6:2] == pytest.approx([9.1, 10.5, 10.9])
    for s in graph.streets:
        assert s.weight == pytest.approx(1.0 + 9.0 * ((s.speed_mps - 8.0) / 5.0) ** 2)


# ---- the campus


@pytest.mark.parametrize("seed", range(5))
def test_a_campus_is_connected_lies_in_the_area_and_has_dead_ends_and_diagonals(seed: int) -> None:
    graph = campus(seed)
    assert len(graph.parts()) == 1
    bends = [p for s in graph.streets for p in s.shape]
    assert all(0.0 <= x <= 1200.0 and 0.0 <= y <= 900.0 for x, y in bends)
    assert max(x for x, _ in bends) - min(x for x, _ in bends) > 1000.0
    assert all(8.0 <= s.speed_mps <= 13.0 and s.weight >= 1.0 for s in graph.streets)
    assert {s.speed_mps for s in graph.streets} >= {8.0, 11.5, 13.0}
    assert sum(len(ks) == 1 for ks in graph.leaving) >= 10  # dead ends
    assert sum(len(ks) >= 5 for ks in graph.leaving) >= 3  # where diagonals meet blocks
    assert 100 <= len(graph.points) <= 160


def test_main_roads_have_at_least_half_of_the_largest_weight() -> None:
    whole = campus(1)
    main = whole.main_roads()
    assert {street.speed_mps for street in main.streets} == {11.5, 13.0}  # the axes and the ring
    expected = sum(street.length_m for street in whole.streets if street.speed_mps >= 11.5)
    assert sum(street.length_m for street in main.streets) == pytest.approx(expected)
    assert len(main.points) < 15 < len(whole.points)  # points where only small streets joined are no crossings now
    assert len(main.parts()) == 1


def test_main_roads_that_do_not_meet_are_refused() -> None:
    points = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]
    streets: list[Street] = []
    for u, weight in ((0, 10.0), (1, 1.0), (2, 10.0)):
        for a, b in ((u, u + 1), (u + 1, u)):
            streets.append(Street(a, b, [points[a], points[b]], 10.0, weight))
    with pytest.raises(MapError, match="2 unconnected parts"):
        StreetGraph(points, streets).main_roads()


def test_a_campus_depends_on_its_seed_and_size_only() -> None:
    assert ends(campus(1)) == ends(campus(1)) != ends(campus(2))
    assert max(x for x, _ in campus(1, 500.0, 300.0).points) <= 500.0


# ---- shortest ways


def test_quickest_ways_agree_with_a_simple_search() -> None:
    graph = campus(4)
    costs = [s.length_m / s.speed_mps for s in graph.streets]
    router = Router(graph, costs)
    n = len(graph.points)
    seconds = [[0.0 if u == v else float("inf") for v in range(n)] for u in range(n)]
    for cost, s in zip(costs, graph.streets, strict=True):
        seconds[s.u][s.v] = min(seconds[s.u][s.v], cost)
    for m in range(n):
        for u in range(n):
            if seconds[u][m] < float("inf"):
                seconds[u] = [min(a, seconds[u][m] + b) for a, b in zip(seconds[u], seconds[m], strict=True)]
    for goal in range(0, n, 7):
        ways = router.to(goal)
        assert list(ways.seconds) == pytest.approx([seconds[u][goal] for u in range(n)])
        for u in range(n):
            if u != goal:
                s = graph.streets[ways.streets[u]]
                assert s.u == u
                assert ways.seconds[u] == pytest.approx(costs[ways.streets[u]] + ways.seconds[s.v])
    assert ways.streets[goal] == -1
    assert router.longest_s() >= max(max(row) for row in seconds)


def test_ways_are_cached_up_to_a_limit() -> None:
    graph = campus(1)
    router = Router(graph, [s.length_m for s in graph.streets])
    router.cache_limit = 3
    first = router.to(0)
    assert router.to(0) is first
    for goal in (1, 2, 0, 3):
        router.to(goal)
    assert sorted(router.cache) == [0, 2, 3]  # 1 was the least recently used
    assert router.to(0) is first


def test_among_equally_quick_ways_the_street_of_lower_index_wins() -> None:
    points = [(0.0, 0.0), (10.0, 10.0), (10.0, -10.0), (20.0, 0.0)]
    for order in ([(0, 1), (0, 2), (1, 3), (2, 3)], [(0, 2), (0, 1), (1, 3), (2, 3)], [(2, 3), (1, 3), (0, 2), (0, 1)]):
        graph = straight(points, order)
        ways = Router(graph, [1.0] * 4).to(3)
        assert ways.streets[0] == min(k for k, (u, _) in enumerate(order) if u == 0)
