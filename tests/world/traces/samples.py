"""One small movement and one small contact trace, in every format that can express them.

Nodes 0 and 1 start 100 m apart, walk towards each other for 10 s and then stand 20 m apart until 20 s; node 2 stands
500 m away. All formats must give the same trace.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from roamcast.world.traces.plan import Options, Part, plan
from roamcast.world.traces.projection import TangentPlane
from roamcast.world.traces.record import CONTACT, POINT, PROBLEM, REFUSAL

NS2 = """\
$node_(0) set X_ 0.0
$node_(0) set Y_ 0.0
$node_(0) set Z_ 0.0
$node_(1) set X_ 100.0
$node_(1) set Y_ 0.0
$node_(2) set X_ 500.0
$node_(2) set Y_ 0.0
$god_ set-dist 0 1 1
$ns_ at 0.0 "$node_(0) setdest 40.0 0.0 4.0"
$ns_ at 0.0 "$node_(1) setdest 60.0 0.0 4.0"
$ns_ at 20.0 "$node_(2) setdest 500.0 0.0 0.0"
"""
BONNMOTION = "0 0 0 10 40 0 20 40 0\n0 100 0 10 60 0\n0 500 0\n"
ONE_MOVEMENT = """\
5 25 1000 1500 2000 2500
5 0 1000 2000
5 1 1100 2000
5 2 1500 2000
15 0 1040 2000
15 1 1060 2000
25 0 1040 2000
"""
CSV = "t,node,x,y\n0,0,0,0\n0,1,100,0\n0,2,500,0\n10,0,40,0\n10,1,60,0\n20,0,40,0\n"
PLACES = {"0": {0: 0.0, 10: 40.0, 20: 40.0}, "1": {0: 100.0, 10: 60.0, 20: 60.0}, "2": {0: 500.0, 10: 500.0, 20: 500.0}}
ORIGIN = (47.0, 8.0)


def fcd(rows: dict[str, dict[int, float]] = PLACES, start: int = 3600) -> str:
    steps = ""
    for t in (0, 10, 20):
        cars = "".join(f'<vehicle id="{name}" x="{rows[name][t]}" y="0.0" speed="4.0"/>\n' for name in rows)
        steps += f'<timestep time="{start + t}.00">\n{cars}</timestep>\n'
    return f'<?xml version="1.0"?>\n<fcd-export>\n{steps}</fcd-export>\n'


def lon(x_m: float) -> float:
    """The longitude that the tangent plane at ORIGIN maps to (x, ~0)."""
    plane, low, high = TangentPlane(*ORIGIN), 7.9, 8.1
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if plane.metres(ORIGIN[0], middle)[0] < x_m else (low, middle)
    return low


def gps_csv() -> str:
    rows = "".join(
        f"2024-05-01T12:00:{t:02d}Z,{name},{ORIGIN[0]},{lon(x)!r}\n"
        for t in (0, 10, 20)
        for name, x in zip(PLACES, (PLACES[n][t] for n in PLACES), strict=True)
    )
    return "time,id,lat,lon\n" + rows


def gpx() -> str:
    tracks = ""
    for name, places in PLACES.items():
        points = "".join(
            f'<trkpt lat="{ORIGIN[0]}" lon="{lon(x)!r}"><ele>400</ele><time>2024-05-01T12:00:{t:02d}Z</time></trkpt>\n'
            for t, x in places.items()
        )
        tracks += f"<trk><name>{name}</name><trkseg>\n{points}</trkseg></trk>\n"
    return f'<?xml version="1.0"?>\n<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">\n{tracks}</gpx>\n'


CONTACT_LIST = "20 0 1\n40 0 1\n60 1 2\n100 0 1\n"
ONE_CONN = "0 CONN 0 1 up\n40 CONN 0 1 down\n40 CONN 1 2 up\n60 CONN 1 2 down\n80 CONN 0 1 up\n100 CONN 0 1 down\n"
INTERVALS = "i,j,start,end\n1,2,140,160\n0,1,100,140\n1,0,120,130\n0,1,180,200\n"
CONTACTS = [(0, 1, 0, 40_000_000), (0, 1, 80_000_000, 100_000_000), (1, 2, 40_000_000, 60_000_000)]


def positions(folder: Path) -> dict[str, Path]:
    """A file of the movement in each format."""
    texts = {
        "ns2": ("moves.tcl", NS2),
        "bonnmotion": ("moves.movements", BONNMOTION),
        "one-movement": ("moves.txt", ONE_MOVEMENT),
        "sumo-fcd": ("moves.xml", fcd()),
        "csv": ("moves.csv", CSV),
        "gps-csv": ("gps.csv", gps_csv()),
        "gpx": ("moves.gpx", gpx()),
    }
    return {name: written(folder, file, text) for name, (file, text) in texts.items()}


def contacts(folder: Path) -> dict[str, Path]:
    texts = {
        "contact-list": ("tij.dat", CONTACT_LIST),
        "intervals": ("met.csv", INTERVALS),
        "one-conn": ("events.txt", ONE_CONN),
    }
    return {name: written(folder, file, text) for name, (file, text) in texts.items()}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def part_of(path: Path, **options: object) -> Part:
    (part,) = plan([str(path)], Options(**options))  # type: ignore[arg-type]
    return part


def points(path: Path, **options: object) -> dict[str, list[tuple[float, float, float]]]:
    tracks: dict[str, list[tuple[float, float, float]]] = {}
    for record in part_of(path, **options).records():
        if record[0] == POINT:
            tracks.setdefault(record[2], []).append((record[4] / 1e6, record[6], record[7]))
    return tracks


def meetings(path: Path, **options: object) -> list[tuple[str, str, float, float]]:
    records = part_of(path, **options).records()
    return [(r[2], r[3], r[4] / 1e6, r[5] / 1e6) for r in records if r[0] == CONTACT]


def problems(path: Path, **options: object) -> list[tuple[int, str]]:
    return [(r[1], r[10]) for r in part_of(path, **options).records() if r[0] == PROBLEM]


def refusals(path: Path, **options: object) -> list[tuple[int, str]]:
    return [(r[1], r[10]) for r in part_of(path, **options).records() if r[0] == REFUSAL]
