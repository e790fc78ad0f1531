"""Street maps: a graph of crossings and one-way streets, its readers, a generator, and shortest ways.

A map is read in two steps. `load` returns the contents of the file: every point, every piece of street, connected or
not. `StreetGraph.drivable` makes a map to drive on. It refuses a map on which some point cannot be reached from another
(`largest_part` gives a map without such points). It joins pieces of street that meet where no other street does, so
that all crossings are real and a street has its bends as a `shape`. And it adds limits and weights that the file lacks.

These depend only on the map: the k-th road, counted from 0 in the order of the file (both directions together), has a
speed limit uniform in 8–13 m/s (the limits of Baehni et al. 2005, §5.3) drawn from the stream (0, k, "street"), in
steps of 0.1 m/s. A road's weight grows with the square of its limit, from 1 at 8 m/s to 10 at 13 m/s and above, so that
main roads attract most trips (ours; the paper only says that some roads are used more).

A street is as long as its shape. Files:
- WKT, one LINESTRING or MULTILINESTRING a line, in metres; lines are connected where they share a point (to 1 mm);
- CSV, two files: points with the columns id,x_m,y_m and pieces of street with u,v; columns speed_mps, weight and oneway
  (0 or 1) may follow, others are skipped. The folder, or either file, names the pair;
- SUMO .net.xml: every edge that is not internal, one way, at the speed limit of its first lane.
"""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ElementTree
from array import array
from heapq import heappop, heappush
from math import dist, inf, isfinite
from pathlib import Path
from typing import Final, final

from roamcast.errors import MapError, error_text
from roamcast.world.streams import Stream

Point = tuple[float, float]

SLOWEST_MPS: Final = 8.0
FASTEST_MPS: Final = 13.0
MILLIMETRES: Final = 1000.0
UNKNOWN: Final = 0.0  # a speed limit or weight that the file does not have
CACHED_ENTRIES: Final = 2_000_000  # of ways to destinations, 12 bytes each
LINE: Final = re.compile(r"\(([^()]*)\)")
WKT_START: Final = re.compile(r"(MULTI)?LINESTRING\b", re.IGNORECASE)


@final
class Street:
    """One way from crossing u to crossing v, along `shape` (both ends included)."""

    def __init__(self, u: int, v: int, shape: list[Point], speed_mps: float, weight: float) -> None:
        self.u = u
        self.v = v
        self.shape = shape
        self.speed_mps = speed_mps
        self.weight = weight
        self.length_m = length(shape)


def length(shape: list[Point]) -> float:
    total = 0.0
    for k in range(1, len(shape)):
        total += dist(shape[k - 1], shape[k])
    return total


@final
class StreetGraph:
    """Crossings at `points`, streets between them; `leaving[u]` and `entering[v]` are indices of streets."""

    def __init__(self, points: list[Point], streets: list[Street], name: str = "map") -> None:
        self.points = points
        self.streets = streets
        self.name = name
        self.leaving: list[list[int]] = [[] for _ in points]
        self.entering: list[list[int]] = [[] for _ in points]
        for k, street in enumerate(streets):
            self.leaving[street.u].append(k)
            self.entering[street.v].append(k)

    def drivable(self) -> StreetGraph:
        """This map, checked, joined and completed (see above)."""
        if not self.streets:
            raise MapError(f"{self.name}: the map has no streets; it needs at least one")
        parts = self.parts()
        if len(parts) > 1:
            raise MapError(
                f"{self.name}: the map has {len(parts)} unconnected parts, the largest with {len(parts[0])} of "
                f"{len(self.points)} points; every point must be reachable from every other "
                "(in Python, load(path).largest_part() gives a map of that part)"
            )
        return self.joined().completed()

    def parts(self) -> list[list[int]]:
        """Sets of points that can all reach each other, largest first (then by smallest point)."""
        finished = self._finishing_order()
        part_of = [-1] * len(self.points)
        parts: list[list[int]] = []
        for root in reversed(finished):
            if part_of[root] >= 0:
                continue
            part_of[root] = len(parts)
            members = [root]
            for v in members:  # the list grows while the loop runs
                for k in self.entering[v]:
                    u = self.streets[k].u
                    if part_of[u] < 0:
                        part_of[u] = len(parts)
                        members.append(u)
            parts.append(sorted(members))
        return sorted(parts, key=lambda part: (-len(part), part[0]))

    def _finishing_order(self) -> list[int]:
        """Points in the order in which a depth-first search leaves them (the first half of Kosaraju's algorithm)."""
        seen = [False] * len(self.points)
        finished: list[int] = []
        for root in range(len(self.points)):
            if seen[root]:
                continue
            seen[root] = True
            path = [(root, 0)]
            while path:
                u, k = path.pop()
                if k == len(self.leaving[u]):
                    finished.append(u)
                    continue
                path.append((u, k + 1))
                v = self.streets[self.leaving[u][k]].v
                if not seen[v]:
                    seen[v] = True
                    path.append((v, 0))
        return finished

    def largest_part(self) -> StreetGraph:
        """The map of the largest set of points that can all reach each other."""
        parts = self.parts()
        return self._of(parts[0] if parts else [], self.streets)

    def main_roads(self) -> StreetGraph:
        """The map of the streets with at least half of the largest weight, without all others."""
        least = 0.5 * max(street.weight for street in self.streets)
        busy = [street for street in self.streets if street.weight >= least]
        points = sorted({street.u for street in busy} | {street.v for street in busy})
        return self._of(points, busy).drivable()

    def _of(self, points: list[int], streets: list[Street]) -> StreetGraph:
        """The map of these points and of the streets between them."""
        place = {u: k for k, u in enumerate(points)}
        inside = [
            Street(place[s.u], place[s.v], s.shape, s.speed_mps, s.weight)
            for s in streets
            if s.u in place and s.v in place
        ]
        return StreetGraph([self.points[u] for u in points], inside, self.name)

    def joined(self) -> StreetGraph:
        """This map without the points at which a street only bends."""
        streets: list[Street | None] = list(self.streets)
        leaving = [list(ks) for ks in self.leaving]
        entering = [list(ks) for ks in self.entering]
        crossings: list[int] = []
        for p in range(len(self.points)):
            pairs = bend(p, streets, leaving[p], entering[p])
            if not pairs:
                crossings.append(p)
            for k_in, k_out in pairs:
                one = streets[k_in]
                two = streets[k_out]
                if one is not None and two is not None:
                    entering[two.v].remove(k_out)
                    entering[two.v].append(k_in)
                    streets[k_in] = Street(one.u, two.v, one.shape + two.shape[1:], one.speed_mps, one.weight)
                    streets[k_out] = None
        return self._of(crossings, [street for street in streets if street is not None])

    def completed(self) -> StreetGraph:
        """This map with a speed limit and a weight for every street."""
        road_of: dict[tuple[int, int, int], int] = {}
        streets = []
        for s in self.streets:
            key = (min(s.u, s.v), max(s.u, s.v), round(s.length_m * MILLIMETRES))
            road = road_of.setdefault(key, len(road_of))
            speed = s.speed_mps
            if speed == UNKNOWN:
                steps = int(Stream(0, road, "street").below(int(10.0 * (FASTEST_MPS - SLOWEST_MPS)) + 1))
                speed = SLOWEST_MPS + 0.1 * steps
            weight = s.weight
            if weight == UNKNOWN:
                fast = min(max((speed - SLOWEST_MPS) / (FASTEST_MPS - SLOWEST_MPS), 0.0), 1.0)
                weight = 1.0 + 9.0 * fast * fast
            streets.append(Street(s.u, s.v, s.shape, speed, weight))
        return StreetGraph(self.points, streets, self.name)


def bend(p: int, streets: list[Street | None], leaving: list[int], entering: list[int]) -> list[tuple[int, int]]:
    """If streets only bend at p, which street goes on as which: one pair on a one-way street, two on a two-way one."""
    ins = [(k, s) for k in entering if (s := streets[k]) is not None]
    outs = [(k, s) for k in leaving if (s := streets[k]) is not None]
    pairs = [(k, j, a, b) for k, a in ins for j, b in outs if a.u != b.v]
    ends = {a.u for _, a in ins} | {b.v for _, b in outs}
    alike = all(a.speed_mps == b.speed_mps and a.weight == b.weight for _, _, a, b in pairs)
    if len(ins) == len(outs) == len(pairs) <= 2 and len(ends) == 2 and p not in ends and alike:
        return [(k, j) for k, j, _, _ in pairs]
    return []


# ---- shortest ways


@final
class Ways:
    """The quickest ways to one crossing: from each crossing, how long it takes and which street to take next."""

    def __init__(self, seconds: array[float], streets: array[int]) -> None:
        self.seconds = seconds
        self.streets = streets


@final
class Router:
    """Quickest ways by Dijkstra's algorithm, one tree for each destination; the latest trees are cached.

    `costs_s` has the time that each street costs. Among equally quick ways the street with the lower index wins.
    """

    def __init__(self, graph: StreetGraph, costs_s: list[float]) -> None:
        self.graph = graph
        self.costs_s = costs_s
        self.cache_limit = max(1, CACHED_ENTRIES // max(1, len(graph.points)))
        self.cache: dict[int, Ways] = {}

    def to(self, destination: int) -> Ways:
        ways = self.cache.pop(destination, None)
        if ways is None:
            ways = self.search(destination, self.graph.entering, True)
            if len(self.cache) >= self.cache_limit:
                del self.cache[next(iter(self.cache))]  # the least recently used
        self.cache[destination] = ways
        return ways

    def longest_s(self) -> float:
        """A bound for all quickest ways: the longest one to crossing 0 plus the longest one from it."""
        there = self.search(0, self.graph.entering, True)
        back = self.search(0, self.graph.leaving, False)
        return max(there.seconds) + max(back.seconds)

    def search(self, root: int, links: list[list[int]], inbound: bool) -> Ways:
        """Times between each crossing and the root: over `entering` for ways to it, over `leaving` for ways from it."""
        streets = self.graph.streets
        costs = self.costs_s
        seconds = [inf] * len(self.graph.points)
        via = [-1] * len(self.graph.points)
        seconds[root] = 0.0
        queue = [(0.0, root)]
        while queue:
            s, v = heappop(queue)
            if s > seconds[v]:
                continue
            for k in links[v]:
                u = streets[k].u if inbound else streets[k].v
                longer = s + costs[k]
                if longer < seconds[u] or (longer == seconds[u] and k < via[u]):
                    if longer < seconds[u]:
                        heappush(queue, (longer, u))
                    seconds[u] = longer
                    via[u] = k
        return Ways(array("d", seconds), array("i", via))


# ---- files


def read(path: str) -> StreetGraph:
    """The map in a file, ready to drive on."""
    return load(path).drivable()


def load(path: str) -> StreetGraph:
    """The map in a file, as it is."""
    file = Path(path)
    try:
        if file.is_dir() or file.suffix.lower() == ".csv":
            return load_csv(file)
        if file.suffix.lower() == ".xml":
            return load_sumo(file)
        if file.suffix.lower() == ".wkt":
            return load_wkt(file)
    except (OSError, UnicodeDecodeError) as error:
        raise MapError(f"{path}: the map cannot be read ({error_text(error)})") from None
    raise MapError(f"{path}: not a known map; it must be a .wkt, a .csv pair (or its folder) or a SUMO .net.xml")


def number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = inf
    if not isfinite(value):
        raise MapError(f"{where}: {text.strip()!r} is not a number")
    return value


def load_wkt(file: Path) -> StreetGraph:
    points: list[Point] = []
    streets: list[Street] = []
    known: dict[tuple[int, int], int] = {}
    for row, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{file}, line {row}"
        if not line.strip():
            continue
        if not WKT_START.match(line.strip()):
            raise MapError(f"{where}: {line.strip()[:40]!r} is not a LINESTRING (x y, x y, …)")
        for part in LINE.findall(line):
            last = -1
            for text in part.split(","):
                cells = text.split()
                if len(cells) < 2:
                    raise MapError(f"{where}: {text.strip()!r} is not a point x y")
                at = (number(cells[0], where), number(cells[1], where))
                here = known.setdefault((round(at[0] * MILLIMETRES), round(at[1] * MILLIMETRES)), len(points))
                if here == len(points):
                    points.append(at)
                if last >= 0 and last != here:
                    add_both_ways(streets, points, last, here, UNKNOWN)
                last = here
    return StreetGraph(points, without_repetitions(streets), str(file))


def add_both_ways(streets: list[Street], points: list[Point], u: int, v: int, speed_mps: float) -> None:
    streets.append(Street(u, v, [points[u], points[v]], speed_mps, UNKNOWN))
    streets.append(Street(v, u, [points[v], points[u]], speed_mps, UNKNOWN))


def without_repetitions(streets: list[Street]) -> list[Street]:
    """Each straight street between two points once, because lines in a file may overlap."""
    return list({(s.u, s.v): s for s in reversed(streets)}.values())[::-1]


def load_csv(file: Path) -> StreetGraph:
    points_file, streets_file = csv_pair(file)
    index: dict[str, int] = {}
    points: list[Point] = []
    for row, cells in csv_rows(points_file):
        where = f"{points_file}, line {row}"
        if cells["id"] in index:
            raise MapError(f"{where}: point {cells['id']!r} occurs twice")
        index[cells["id"]] = len(points)
        points.append((number(cells["x_m"], where), number(cells["y_m"], where)))
    streets: list[Street] = []
    for row, cells in csv_rows(streets_file):
        where = f"{streets_file}, line {row}"
        for end in ("u", "v"):
            if cells[end] not in index:
                raise MapError(f"{where}: {end} is {cells[end]!r}, and {points_file.name} has no such point")
        u, v = index[cells["u"]], index[cells["v"]]
        speed = number(cells.get("speed_mps") or "0", where)
        weight = number(cells.get("weight") or "0", where)
        if speed < 0.0 or weight < 0.0:
            raise MapError(f"{where}: speed_mps and weight must not be negative")
        if u == v:
            continue
        streets.append(Street(u, v, [points[u], points[v]], speed, weight))
        if number(cells.get("oneway") or "0", where) == 0.0:
            streets.append(Street(v, u, [points[v], points[u]], speed, weight))
    return StreetGraph(points, without_repetitions(streets), str(file))


def csv_rows(file: Path) -> list[tuple[int, dict[str, str]]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            (row, {k: v or "" for k, v in cells.items() if k}) for row, cells in enumerate(csv.DictReader(lines), 2)
        ]


def csv_pair(file: Path) -> tuple[Path, Path]:
    """The files of points and of streets, given their folder or either of them."""
    folder = file if file.is_dir() else file.parent
    others = [each for each in sorted(folder.glob("*.csv")) if each != file]
    points: list[Path] = []
    streets: list[Path] = []
    for each in others if file.is_dir() else [file, *others]:
        with each.open(encoding="utf-8") as lines:
            columns = [column.strip() for column in lines.readline().split(",")]
        if all(column in columns for column in ("id", "x_m", "y_m")):
            points.append(each)
        elif "u" in columns and "v" in columns:
            streets.append(each)
        elif each == file:
            raise MapError(f"{file}: a map has the columns id,x_m,y_m (points) or u,v (streets)")
    if not points or not streets:
        missing = "points, with the columns id,x_m,y_m" if not points else "streets, with the columns u,v"
        raise MapError(f"{file}: {folder} has no CSV file of {missing}")
    return points[0], streets[0]


def load_sumo(file: Path) -> StreetGraph:
    try:
        root = ElementTree.parse(file).getroot()
    except ElementTree.ParseError as error:
        raise MapError(f"{file}: not XML ({error})") from None
    if root.tag != "net":
        raise MapError(f"{file}: its root is <{root.tag}>; a SUMO map has <net>")
    index: dict[str, int] = {}
    points: list[Point] = []
    for junction in root.iter("junction"):
        if junction.get("type") != "internal":
            where = f"{file}, junction {junction.get('id', '')!r}"
            index[junction.get("id", "")] = len(points)
            points.append((number(junction.get("x", ""), where), number(junction.get("y", ""), where)))
    streets: list[Street] = []
    for edge in root.iter("edge"):
        if edge.get("function", "normal") == "normal":
            street = sumo_street(edge, index, points, f"{file}, edge {edge.get('id', '')!r}")
            if street.u != street.v:
                streets.append(street)
    used = sorted({s.u for s in streets} | {s.v for s in streets})
    return StreetGraph(points, streets, str(file))._of(used, streets)


def sumo_street(edge: ElementTree.Element, index: dict[str, int], points: list[Point], where: str) -> Street:
    ends = []
    for end in ("from", "to"):
        junction = edge.get(end, "")
        if junction not in index:
            raise MapError(f"{where}: goes {end} {junction!r}, which is not a junction")
        ends.append(index[junction])
    lane = edge.find("lane")
    if lane is None:
        raise MapError(f"{where}: has no lane")
    speed = number(lane.get("speed", "0"), where)
    shape = [points[ends[0]]]
    for pair in (edge.get("shape") or lane.get("shape") or "").split():
        cells = pair.split(",")
        if len(cells) < 2:
            raise MapError(f"{where}: {pair!r} is not a point x,y of a shape")
        shape.append((number(cells[0], where), number(cells[1], where)))
    shape.append(points[ends[1]])
    return Street(ends[0], ends[1], shape, max(speed, UNKNOWN), UNKNOWN)


# ---- a generated map


def campus(seed: int, width: float = 1200.0, height: float = 900.0) -> StreetGraph:
    """A campus-like map: a ring road, crooked blocks with two main axes, diagonal paths, and dead ends.

    Crossings lie on a bent lattice some 110 m wide. Nine of ten inner streets exist, one block in six has a diagonal,
    one crossing in four a dead end of 25 to 55 m. The ring has 13 m/s, the axes 11.5 m/s, all others 8 to 10.
    """
    stream = Stream(seed, 0, "campus")
    columns = max(2, round(width / 110.0))
    rows = max(2, round(height / 110.0))
    points = bent_lattice(columns, rows, width, height, stream)
    streets: list[Street] = []
    across = columns + 1
    for r in range(rows + 1):
        for c in range(across):
            u = r * across + c
            if c < columns:
                add_block(streets, points, u, u + 1, r in (0, rows), r == rows // 2, stream)
            if r < rows:
                add_block(streets, points, u, u + across, c in (0, columns), c == columns // 2, stream)
            if c < columns and r < rows and stream.random() < 1.0 / 6.0:
                add_both_ways(streets, points, u, u + across + 1, SLOWEST_MPS)
    for u in range(len(points)):
        if stream.random() < 0.25:
            x, y = points[u]
            far_m = stream.uniform(25.0, 55.0)  # towards the middle, to stay in the area
            x += 0.8 * far_m if x < 0.5 * width else -0.8 * far_m
            y += 0.6 * far_m if y < 0.5 * height else -0.6 * far_m
            points.append((x, y))
            add_both_ways(streets, points, u, len(points) - 1, SLOWEST_MPS)
    return StreetGraph(points, streets, "campus").largest_part().drivable()


def bent_lattice(columns: int, rows: int, width: float, height: float, stream: Stream) -> list[Point]:
    """Row by row; straight along the ring, 3 % inside the border of the area, and bent within it."""
    points = []
    for r in range(rows + 1):
        for c in range(columns + 1):
            bent = 0.2 if 0 < c < columns and 0 < r < rows else 0.0
            x = (c + bent * stream.uniform(-1.0, 1.0)) * (0.94 * width / columns) + 0.03 * width
            y = (r + bent * stream.uniform(-1.0, 1.0)) * (0.94 * height / rows) + 0.03 * height
            points.append((x, y))
    return points


def add_block(
    streets: list[Street], points: list[Point], u: int, v: int, ring: bool, axis: bool, stream: Stream
) -> None:
    slow = SLOWEST_MPS + 0.1 * float(stream.below(21))
    exists = stream.random() < 0.9
    if ring or axis or exists:
        add_both_ways(streets, points, u, v, FASTEST_MPS if ring else 11.5 if axis else slow)
