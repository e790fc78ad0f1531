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

from roamcast import storage
from roamcast.errors import InputError
from roamcast.world.traces import bonnmotion, contact_list, files, formats, gpx, intervals, one, setdest, sumo, table
from roamcast.world.traces.columns import Columns, parsed, positions, shape_of
from roamcast.world.traces.formats import Format
from roamcast.world.traces.projection import TangentPlane
from roamcast.world.traces.recognise import TABLES, data_lines, recognised
from roamcast.world.traces.record import POINT, SECOND_US, UNITS_US, Record, micros, problem, refusal
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
    columns: str = ""  # what the cells of a line are, such as i,j,start,end; by default from titles
    time_unit: str = "s"  # of numbers of time

    def __post_init__(self) -> None:
        if self.format:
            formats.get(self.format)
        if self.columns:
            self._check_columns()
        if self.time_unit not in UNITS_US:
            raise InputError(f"time_unit={self.time_unit}: must be one of {', '.join(UNITS_US)}")
        if self.units not in ("", "metres", "degrees"):
            raise InputError(f"units={self.units}: must be metres or degrees")
        for name, value in (("resolution_s", self.resolution_s), ("gap_s", self.gap_s)):
            if not isfinite(value) or not 0 <= value <= 1e9:
                raise InputError(f"{name}={value:g}: must be a number of seconds, at least 0")
        self.place()

    def _check_columns(self) -> None:
        named = shape_of(positions(parsed(self.columns)))
        if self.format and self.format != named:
            raise InputError(f"columns={self.columns}: these are columns of {named}, not of {self.format}")

    def chosen(self) -> Format | None:
        """The format, where the options decide it."""
        name = shape_of(positions(parsed(self.columns))) if self.columns else self.format
        return formats.get(name) if name else None

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
    names: str = ""  # of columns, as they were given
    unit_us: float = SECOND_US  # of numbers of time

    @property
    def columns(self) -> Columns:
        return Columns(self.header, parsed(self.names), self.format)

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
    return _table(part, lines)


def _table(part: Part, lines: Iterator[tuple[int, str]]) -> Iterator[Record]:
    """Records of a format whose columns can be named."""
    columns = part.columns
    if columns.titled and columns.doubled:
        return iter([refusal(1, f"titles {columns.doubled} mean the same; name the columns (--columns)")])
    missing = columns.missing(part.format)
    if missing:
        titles = f"columns are {columns.form}" if columns.at else "there are no titles"
        return iter([refusal(1, f"no column {' and '.join(missing)}: {titles}; name them (--columns)")])
    titles = part.header.strip() if columns.titled else ""
    if part.format == "contact-list":
        return contact_list.read(lines, columns, titles, part.unit_us, part.resolution_us)
    if part.format == "intervals":
        return intervals.read(lines, columns, titles, part.unit_us)
    return table.read(lines, columns, titles, part.unit_us, part.stem)


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
    chosen = options.chosen()
    format_of = {path: chosen or recognised(path, head) for path, head in heads.items()}
    kinds = {format_of[path].kind: path for path in sources}
    if len(kinds) > 1:
        raise InputError(f"{kinds['positions']} has positions and {kinds['contacts']} contacts; read them separately")
    _check_units(format_of, options)
    whole = [_part(path, format_of[path], heads[path], options, alone=len(sources) == 1) for path in sources]
    resolution_us = _resolution(whole, heads, options)
    origin = _origin(whole, format_of, options)
    parts: list[Part] = []
    for part in whole:
        in_plane = origin if in_degrees(format_of[part.path], options) else None
        parts += _split(replace(part, resolution_us=resolution_us, origin=in_plane), split_bytes)
    return parts


def _part(path: str, format: Format, head: str, options: Options, alone: bool) -> Part:
    return Part(
        path,
        format.name,
        header=_header(format, head),
        alone=alone,
        gap_us=round(options.gap_s * 1e6),
        names=options.columns,
        unit_us=UNITS_US[options.time_unit],
    )


def _check_units(format_of: dict[str, Format], options: Options) -> None:
    for path, format in format_of.items():
        if options.time_unit != "s" and format.name not in TABLES:
            raise InputError(f"time_unit={options.time_unit}: {path} is {format.name}, which is always in seconds")


def in_degrees(format: Format, options: Options) -> bool:
    if options.units == "metres" and format.degrees:
        raise InputError(f"units=metres: {format.name} is always in degrees")
    if options.units == "degrees" and format.name in ("ns2", "bonnmotion"):
        raise InputError(f"units=degrees: {format.name} is always in metres")
    return format.kind == "positions" and (format.degrees or options.units == "degrees")


def _files(path: str) -> list[str]:
    if storage.is_url(path):
        return storage.objects(path)
    folder = Path(path.removeprefix("file://"))
    if not folder.is_dir():
        return [str(folder)]
    names = sorted(file for file in folder.iterdir() if file.is_file() and file.name[0] not in "._")
    names = [file for file in names if file.suffix != ".params"]
    if not names:
        raise InputError(f"{path}: is a folder without files")
    return [str(file) for file in names]


def _header(format: Format, head: str) -> str:
    """The line by which the others are read: that with the titles, or the first one with data."""
    if format.name == "one-movement":
        return head.partition("\n")[0]
    if format.name not in TABLES:
        return ""
    lines = data_lines(head)
    return next((line for line in lines if Columns(line).format == format.name), lines[0] if lines else "")


def _split(part: Part, split_bytes: int) -> list[Part]:
    format = formats.get(part.format)
    if not format.split or files.is_packed(part.path) or files.located(part.path).stat().st_size <= split_bytes:
        return [part]
    ranges = files.ranges(part.path, split_bytes)
    return [replace(part, start=start, end=end, first_line=line) for start, end, line in ranges]


def _resolution(parts: list[Part], heads: dict[str, str], options: Options) -> int:
    """The resolution of contact lists, in microseconds."""
    lists = [part for part in parts if part.format == "contact-list"]
    if options.resolution_s:
        return max(1, round(options.resolution_s * 1e6))
    if not lists:
        return 0
    for part in lists:
        for line in heads[part.path].splitlines()[:5]:
            if line.startswith(RESOLUTION):
                return micros(line.removeprefix(RESOLUTION))
    return min(filter(None, map(_smallest_step, lists)), default=contact_list.ALONE_US)


def _smallest_step(part: Part) -> int:
    columns = part.columns
    return (
        0 if columns.missing(part.format) else contact_list.smallest_step(files.lines(part.path), columns, part.unit_us)
    )


def _origin(parts: list[Part], format_of: dict[str, Format], options: Options) -> tuple[float, float] | None:
    """(lat, lon): as given, or the first position of the first file in degrees."""
    given = options.place()
    for part in parts:
        if given is None and in_degrees(format_of[part.path], options):
            for record in raw(part):
                if record[0] == POINT:
                    return record[7], record[6]
    return given if given is not None else (0.0, 0.0)
