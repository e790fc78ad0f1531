"""A path becomes parts that can be read independently of each other: files, or byte ranges of large ones.

A part has everything that its reader needs from elsewhere in the trace: the number of its first line, the header of the
file, the resolution of a contact list, the origin of degrees.
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
"""A comment at the head of the contact lists that roamcast writes, because steps between lines may be longer."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to read a trace, where the file itself does not define it."""

    format: str = ""
    units: Literal["", "metres", "degrees"] = ""
    origin: str = ""  # LAT,LON of (0, 0); by default the first position
    resolution_s: float = 0.0  # of contact lists; 0: from the file
    gap_s: float = 0.0  # a node without lines for longer was absent; 0 means never

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
    alone: bool = True  # the only file of the trace
    resolution_us: int = 0
    origin: tuple[float, float] | None = None  # of degrees; None for metres
    gap_us: int = 0

    @property
    def stem(self) -> str:
        return Path(self.path).name.removesuffix(".gz").rpartition(".")[0] or Path(self.path).name

    def records(self) -> Iterator[Record]:
        """All records, checked and in metres."""
        watch = Watch(formats.get(self.format).order == "file", self.gap_us)
        yield from watch.checked(_projected(raw(self), self.origin) if self.origin else raw(self))


def raw(part: Part) -> Iterator[Record]:
    """Records as they are in the file; degrees are x = longitude, y = latitude."""
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
            yield problem(record[1], f"lat {record[7]:g} lon {record[6]:g} is not a position in degrees, or is {away}")
            continue
        yield (*record[:6], x, y, *record[8:])


def plan(paths: list[str], options: Options, split_bytes: int = SPLIT_BYTES) -> list[Part]:
    """The parts of a trace. All files must have the same kind of contents; formats may differ."""
    sources = [file for path in paths for file in _files(path)]
    heads = {path: files.head(path) for path in sources}
    chosen = formats.get(options.format) if options.format else None
    format_of = {path: chosen or formats.detect(path, head) for path, head in heads.items()}
    kinds = {format_of[path].kind: path for path in sources}
    if len(kinds) > 1:
        raise InputError(f"{kinds['positions']} has positions and {kinds['contacts']} contacts; read them separately")
    resolution_us = _resolution(sources, format_of, heads, options)
    origin = _origin(sources, format_of, heads, options)
    parts: list[Part] = []
    for path in sources:
        part = Part(
            path,
            format_of[path].name,
            header=_header(format_of[path], heads[path]),
            alone=len(sources) == 1,
            resolution_us=resolution_us,
            origin=origin if in_degrees(format_of[path], options) else None,
            gap_us=round(options.gap_s * 1e6),
        )
        parts += _split(part, split_bytes)
    return parts


def in_degrees(format: Format, options: Options) -> bool:
    if options.units == "metres" and format.degrees:
        raise InputError(f"units=metres: {format.name} is always in degrees")
    if options.units == "degrees" and format.name in ("ns2", "bonnmotion"):
        raise InputError(f"units=degrees: {format.name} is always in metres")
    return format.kind == "positions" and (format.degrees or options.units == "degrees")


def _files(path: str) -> list[str]:
    folder = Path(path.removeprefix("file://"))
    if not folder.is_dir():
        return [str(folder)]
    names = sorted(file for file in folder.iterdir() if file.is_file() and file.name[0] not in "._")
    names = [file for file in names if file.suffix != ".params"]
    if not names:
        raise InputError(f"{path}: is a folder without files")
    return [str(file) for file in names]


def _header(format: Format, head: str) -> str:
    if format.name == "one-movement":
        return head.partition("\n")[0]
    return formats.header_of_table(head) if format.name in ("csv", "gps-csv") else ""


def _split(part: Part, split_bytes: int) -> list[Part]:
    format = formats.get(part.format)
    if not format.split or files.is_packed(part.path) or Path(part.path).stat().st_size <= split_bytes:
        return [part]
    ranges = files.ranges(part.path, split_bytes)
    return [replace(part, start=start, end=end, first_line=line) for start, end, line in ranges]


def _resolution(sources: list[str], format_of: dict[str, Format], heads: dict[str, str], options: Options) -> int:
    """The resolution of contact lists, in microseconds."""
    lists = [path for path in sources if format_of[path].name == "contact-list"]
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
    sources: list[str], format_of: dict[str, Format], heads: dict[str, str], options: Options
) -> tuple[float, float] | None:
    """(lat, lon): as given, or the first position of the first file in degrees."""
    given = options.place()
    for path in sources:
        if given is None and in_degrees(format_of[path], options):
            for record in raw(Part(path, format_of[path].name, header=_header(format_of[path], heads[path]))):
                if record[0] == POINT:
                    return record[7], record[6]
    return given if given is not None else (0.0, 0.0)
