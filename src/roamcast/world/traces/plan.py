"""A path becomes parts that can be read independently of each other: files, or byte ranges of large ones.

A part holds all that its reader needs from elsewhere in the trace: the number of its first line, the file's header, the
resolution of a contact list, the origin of degrees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Final, Literal

from roamcast.errors import InputError
from roamcast.world.traces import bonnmotion, contact_list, files, formats, gpx, one, setdest, sumo, table
from roamcast.world.traces.formats import Format
from roamcast.world.traces.projection import TangentPlane
from roamcast.world.traces.record import POINT, Record, micros, problem
from roamcast.world.traces.watch import Watch

SPLIT_BYTES: Final = 32 << 20
RESOLUTION: Final = "# resolution_s="
"""A remark at the head of contact lists that were written here: what the steps between lines cannot tell."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a trace is to be understood, where it does not say so itself."""

    format: str = ""
    units: Literal["", "metres", "degrees"] = ""
    origin: str = ""  # LAT,LON of (0, 0); the first position if it is not said
    resolution_s: float = 0.0  # of contact lists; found in the file if it is 0
    gap_s: float = 0.0  # a node that is silent for longer was absent; 0 means never

    def __post_init__(self) -> None:
        if self.format:
            formats.get(self.format)
        if self.units not in ("", "metres", "degrees"):
            raise InputError(f"units={self.units}: must be metres or degrees")
        for name, value in (("resolution_s", self.resolution_s), ("gap_s", self.gap_s)):
            if not isfinite(value) or not 0 <= value <= 1e9:
                raise InputError(f"{name}={value:g}: must be a number of seconds, at least 0")
        self.place()

    def place(self) -> tuple[float, float] | None:
        if not self.origin:
            return None
        try:
            lat, lon = self.origin.split(",")
            return table.degrees(lat, 90.0), table.degrees(lon, 180.0)
        except ValueError:
            raise InputError(f"origin={self.origin}: must be LAT,LON in degrees") from None


@dataclass(frozen=True)
class Part:
    path: str
    format: str
    start: int = 0
    end: int = -1  # -1 is the end of the file
    first_line: int = 1
    header: str = ""
    alone: bool = True  # whether there is no other file
    resolution_us: int = 0
    origin: tuple[float, float] | None = None  # of degrees; None for metres
    gap_us: int = 0

    @property
    def stem(self) -> str:
        return Path(self.path).name.removesuffix(".gz").rpartition(".")[0] or Path(self.path).name

    def records(self) -> Iterator[Record]:
        """All records, checked and in metres."""
        watch = Watch(formats.get(self.format).order == "file", self.gap_us)
        yield from watch.pass_by(_projected(raw(self), self.origin) if self.origin else raw(self))


def raw(part: Part) -> Iterator[Record]:
    """As the file has them: degrees come as x = longitude, y = latitude."""
    if part.format == "sumo-fcd":
        return sumo.read(part.path)
    if part.format == "gpx":
        return gpx.read(part.path, part.stem, not part.alone)
    lines = files.lines(part.path, part.start, part.end, part.first_line)
    if part.format == "ns2":
        return setdest.read(lines)
    if part.format == "bonnmotion":
        return bonnmotion.read(lines, bonnmotion.parameters(part.path))
    if part.format == "one-movement":
        return one.read_movement(lines, part.header)
    if part.format == "one-conn":
        return one.read_events(lines)
    if part.format == "contact-list":
        return contact_list.read(lines, part.resolution_us)
    return table.read(lines, part.header, part.stem)


def _projected(records: Iterator[Record], origin: tuple[float, float]) -> Iterator[Record]:
    plane = TangentPlane(*origin)
    for record in records:
        if record[0] != POINT:
            yield record
            continue
        try:
            if not (-180.0 <= record[6] <= 180.0 and -90.0 <= record[7] <= 90.0):
                raise ValueError
            x, y = plane.metres(record[7], record[6])
        except ValueError:
            away = f"more than 1000 km from the origin {origin[0]:g},{origin[1]:g}"
            yield problem(record[1], f"lat {record[7]:g} lon {record[6]:g} is no position in degrees, or {away}")
            continue
        yield (*record[:6], x, y, *record[8:])


def plan(paths: list[str], options: Options, split_bytes: int = SPLIT_BYTES) -> list[Part]:
    """Every file must have the same kind of contents; formats may differ."""
    found = [file for path in paths for file in _files(path)]
    heads = {path: files.head(path) for path in found}
    given = formats.get(options.format) if options.format else None
    told = {path: given or formats.detect(path, head) for path, head in heads.items()}
    kinds = {told[path].kind: path for path in found}
    if len(kinds) > 1:
        raise InputError(f"{kinds['positions']} has positions and {kinds['contacts']} contacts; read them separately")
    resolution_us = _resolution(found, told, heads, options)
    origin = _origin(found, told, heads, options)
    parts: list[Part] = []
    for path in found:
        part = Part(
            path,
            told[path].name,
            header=_header(told[path], heads[path]),
            alone=len(found) == 1,
            resolution_us=resolution_us,
            origin=origin if in_degrees(told[path], options) else None,
            gap_us=round(options.gap_s * 1e6),
        )
        parts += _split(part, split_bytes)
    return parts


def in_degrees(told: Format, options: Options) -> bool:
    if options.units == "metres" and told.degrees:
        raise InputError(f"units=metres: {told.name} is always in degrees")
    if options.units == "degrees" and told.name in ("ns2", "bonnmotion"):
        raise InputError(f"units=degrees: {told.name} is always in metres")
    return told.kind == "positions" and (told.degrees or options.units == "degrees")


def _files(path: str) -> list[str]:
    folder = Path(path.removeprefix("file://"))
    if not folder.is_dir():
        return [str(folder)]
    found = sorted(file for file in folder.iterdir() if file.is_file() and file.name[0] not in "._")
    found = [file for file in found if file.suffix != ".params"]
    if not found:
        raise InputError(f"{path}: is a folder without files")
    return [str(file) for file in found]


def _header(told: Format, head: str) -> str:
    if told.name == "one-movement":
        return head.partition("\n")[0]
    return formats.header_of_table(head) if told.name in ("csv", "gps-csv") else ""


def _split(part: Part, split_bytes: int) -> list[Part]:
    told = formats.get(part.format)
    if not told.split or files.is_packed(part.path) or Path(part.path).stat().st_size <= split_bytes:
        return [part]
    ranges = files.ranges(part.path, split_bytes)
    return [replace(part, start=start, end=end, first_line=line) for start, end, line in ranges]


def _resolution(found: list[str], told: dict[str, Format], heads: dict[str, str], options: Options) -> int:
    """Of contact lists, in microseconds."""
    lists = [path for path in found if told[path].name == "contact-list"]
    if options.resolution_s:
        return max(1, round(options.resolution_s * 1e6))
    if not lists:
        return 0
    for path in lists:
        for line in heads[path].splitlines()[:5]:
            if line.startswith(RESOLUTION):
                return micros(line.removeprefix(RESOLUTION))
    steps = [step for path in lists if (step := contact_list.smallest_step(files.lines(path)))]
    return min(steps, default=contact_list.ALONE_US)


def _origin(
    found: list[str], told: dict[str, Format], heads: dict[str, str], options: Options
) -> tuple[float, float] | None:
    """(lat, lon): as given, or the first position of the first file in degrees."""
    given = options.place()
    for path in found:
        if given is None and in_degrees(told[path], options):
            for record in raw(Part(path, told[path].name, header=_header(told[path], heads[path]))):
                if record[0] == POINT:
                    return record[7], record[6]
    return given if given is not None else (0.0, 0.0)
