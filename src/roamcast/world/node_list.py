"""Lists of nodes with their places: a mesh that somebody runs.

A CSV file has a row for each node, with the columns

    x, y        metres, or instead: lat, lon (degrees, WGS 84)
    id          the node's name (optional: rows are counted)
    height      of its antenna above the ground, m (optional)
    gain        of its antenna, dBi (optional)
    role        client, mute, router or repeater (optional)
    moves       yes: the node moves as `mobility` says; no: it stands (optional; no)

A GeoJSON file has a Point for each node, with the others as properties. Empty cells are left out. Nodes are numbered in
the order of the list. Degrees become metres from the south-west corner of the list.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from typing import Any, Final, NamedTuple

from roamcast.errors import InputError, error_text
from roamcast.world.traces.projection import REACH_M, TangentPlane

ROLES: Final = ("client", "mute", "router", "repeater")
ALIASES: Final = {"client-mute": "mute", "client_mute": "mute", "latitude": "lat", "longitude": "lon", "lng": "lon"}
KNOWN: Final = ("id", "x", "y", "lat", "lon", "height", "gain", "role", "moves")
YES: Final = ("yes", "true", "1")
NO: Final = ("no", "false", "0", "")
HIGHEST_M: Final = 10_000.0
FARTHEST_M: Final = 1e7


class ListedNode(NamedTuple):
    """`height_m` and `gain_dbi` are None, and `role` is empty, where the list says nothing."""

    id: str
    x: float
    y: float
    height_m: float | None
    gain_dbi: float | None
    role: str
    moves: bool


def read(path: str) -> list[ListedNode]:
    """The nodes of a list, checked. A file that has not changed is read once."""
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError as error:
        raise InputError(f"positions={path}: cannot be read ({error_text(error)})") from None
    return list(_read(path, changed))


@lru_cache(maxsize=8)
def _read(path: str, _changed: int) -> tuple[ListedNode, ...]:
    rows = list(_geojson(path) if path.lower().endswith((".geojson", ".json")) else _csv(path))
    if not rows:
        raise InputError(f"positions={path}: there is no node in it")
    in_degrees = {"lat", "lon"} <= set(rows[0][1])
    nodes = [_node(path, where, row, in_degrees) for where, row in rows]
    _check_ids(path, nodes, [where for where, _ in rows])
    return tuple(_in_metres(path, nodes, [where for where, _ in rows]) if in_degrees else nodes)


# ---- rows of files


def _csv(path: str) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        lines = list(csv.reader(_text(path).splitlines()))
    except csv.Error as error:
        raise InputError(f"positions={path}: must be a CSV file ({error})") from None
    header = [_column(name) for name in lines[0]] if lines else []
    _check_columns(path, header)
    for number, row in enumerate(lines[1:], start=2):
        cells = [cell.strip() for cell in row]
        if any(cells[len(header) :]):
            raise InputError(f"positions={path}: line {number}: has {len(cells)} cells, for {len(header)} columns")
        if any(cells):
            yield f"line {number}", dict(zip_longest(header, cells[: len(header)], fillvalue=""))


def _geojson(path: str) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        content = json.loads(_text(path))
        features = content["features"]
        for number, feature in enumerate(features, start=1):
            geometry = feature["geometry"]
            if geometry["type"] != "Point":
                raise InputError(f"positions={path}: feature {number} is a {geometry['type']}; it must be a Point")
            lon, lat = geometry["coordinates"][:2]
            if not {type(lon), type(lat)} <= {int, float}:
                raise InputError(f"positions={path}: feature {number}: its coordinates must be numbers")
            properties = {_column(name): _cell(value) for name, value in (feature.get("properties") or {}).items()}
            named = {"id": _cell(feature["id"])} if "id" in feature else {}
            kept = {name: value for name, value in {**properties, **named}.items() if name in KNOWN}
            yield f"feature {number}", {**kept, "lat": _cell(lat), "lon": _cell(lon)}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"positions={path}: must be a GeoJSON FeatureCollection of Points") from None


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"positions={path}: cannot be read ({error_text(error)})") from None
    except UnicodeDecodeError:
        raise InputError(f"positions={path}: is not readable text") from None


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _column(name: str) -> str:
    """The name of a column without its unit and without capitals."""
    plain = name.strip().lower().removesuffix("_m").removesuffix("_dbi")
    return ALIASES.get(plain, plain)


def _check_columns(path: str, header: list[str]) -> None:
    if not ({"x", "y"} <= set(header) or {"lat", "lon"} <= set(header)):
        have = ", ".join(name for name in header if name) or "none"
        raise InputError(f"positions={path}: needs the columns x and y, or lat and lon; it has {have}")
    for name in header:
        if name and header.count(name) > 1:
            raise InputError(f"positions={path}: has two columns {name}")


# ---- one node


def _node(path: str, where: str, row: dict[str, str], in_degrees: bool) -> ListedNode:
    """In degrees `x` is the longitude and `y` the latitude."""
    place = f"positions={path}: {where}"
    role = row.get("role", "").lower()
    role = ALIASES.get(role, role)
    moves = row.get("moves", "").lower()
    if role and role not in ROLES:
        raise InputError(f"{place}: role={row['role']}; it must be one of {', '.join(ROLES)}")
    if moves not in (*YES, *NO):
        raise InputError(f"{place}: moves={row['moves']}; it must be yes or no")
    most = (180.0, 90.0) if in_degrees else (FARTHEST_M, FARTHEST_M)
    names = ("lon", "lat") if in_degrees else ("x", "y")
    x, y = (_number(place, name, row.get(name, ""), -bound, bound) for name, bound in zip(names, most, strict=True))
    height = _number(place, "height", row["height"], 0.1, HIGHEST_M) if row.get("height") else None
    gain = _number(place, "gain", row["gain"], -50.0, 50.0) if row.get("gain") else None
    return ListedNode(row.get("id", ""), x, y, height, gain, role, moves in YES)


def _number(place: str, name: str, text: str, low: float, high: float) -> float:
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"{place}: {name}={text or 'nothing'}; it must be a number") from None
    if not isfinite(number) or not low <= number <= high:
        raise InputError(f"{place}: {name}={text}; it must be a number between {low:,.10g} and {high:,.10g}")
    return number


def _check_ids(path: str, nodes: list[ListedNode], where: list[str]) -> None:
    first: dict[str, str] = {}
    for node, place in zip(nodes, where, strict=True):
        if node.id and node.id in first:
            raise InputError(f"positions={path}: {place}: id={node.id} is that of {first[node.id]}, too")
        first[node.id] = place


def _in_metres(path: str, nodes: list[ListedNode], where: list[str]) -> list[ListedNode]:
    """From the first node's place, and then from the south-west corner of all."""
    plane = TangentPlane(nodes[0].y, nodes[0].x)
    points: list[tuple[float, float]] = []
    for node, place in zip(nodes, where, strict=True):
        try:
            points.append(plane.metres(node.y, node.x))
        except ValueError:
            far = (
                f"is more than {REACH_M / 1000:,.0f} km from the first node; is a sign wrong, or lat and lon exchanged?"
            )
            raise InputError(f"positions={path}: {place}: lat={node.y:g}, lon={node.x:g} {far}") from None
    west, south = min(x for x, _ in points), min(y for _, y in points)
    return [node._replace(x=x - west, y=y - south) for node, (x, y) in zip(nodes, points, strict=True)]
