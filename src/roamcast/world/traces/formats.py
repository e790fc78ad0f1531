"""The formats by name, what each of them promises, and how the format of a file is recognised.

The contents of a file decide, and its name only where they are not enough: a line of three numbers is a node that
stands still in BonnMotion and a contact in a contact list, so BonnMotion files must be called .movements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from roamcast.errors import InputError, unknown
from roamcast.world.traces import one, table

Kind = Literal["positions", "contacts"]


@dataclass(frozen=True)
class Format:
    name: str
    title: str
    kind: Kind
    order: Literal["file", "node", "free"]
    """Which lines must be in order of time: all, those of each node, or none."""
    split: bool
    """Whether every line can be read without those before it."""
    begins: Literal["zero", "first"]
    """Which time is 0 s of a simulation: 0 s of the file, or the first time in it."""
    stays: bool
    """Whether a node is present before its first and after its last line."""
    degrees: bool = False


FORMATS: Final = {
    f.name: f
    for f in (
        Format("ns2", "ns-2 movement script (setdest)", "positions", "free", False, "zero", False),
        Format("bonnmotion", "BonnMotion .movements", "positions", "node", False, "zero", False),
        Format("one-movement", "The ONE, external movement", "positions", "file", True, "zero", True),
        Format("sumo-fcd", "SUMO floating car data (XML)", "positions", "file", False, "first", False),
        Format("csv", "positions in metres: t,node,x,y", "positions", "node", True, "zero", True),
        Format("gps-csv", "positions in degrees: t,node,lat,lon", "positions", "node", True, "first", False, True),
        Format("gpx", "GPX tracks", "positions", "node", False, "first", False, True),
        Format("contact-list", "contacts: t i j", "contacts", "file", True, "first", True),
        Format("one-conn", "The ONE, CONN events", "contacts", "free", False, "zero", True),
    )
}


def get(name: str) -> Format:
    if name not in FORMATS:
        raise unknown("trace format", name, FORMATS)
    return FORMATS[name]


def _first_lines(head: str) -> list[str]:
    """The first lines that are not comments."""
    return [line for line in head.splitlines() if line.strip() and not line.startswith("#")][:20]


def header_of_table(head: str) -> str:
    """The line with the titles of the columns; without titles, the first line of four cells."""
    lines = _first_lines(head)
    return next((line for line in lines if not table.Columns(line).missing), lines[0] if lines else "")


def detect(path: str, head: str) -> Format:
    """The format of a file, from its beginning and its name."""
    name = path.lower().removesuffix(".gz")
    start = head.lstrip()
    if start.startswith("<"):
        for tag, format_name in (("<fcd-export", "sumo-fcd"), ("<gpx", "gpx")):
            if tag in head:
                return FORMATS[format_name]
        raise InputError(f"{path}: is XML, but neither SUMO's <fcd-export> nor <gpx>")
    if name.endswith(".movements") or start.startswith("#3D"):
        return FORMATS["bonnmotion"]
    if "$node_(" in head:
        return FORMATS["ns2"]
    lines = _first_lines(head)
    if not lines:
        raise InputError(f"{path}: has no data")
    best = _of_lines(lines)
    if best is None:
        name_it = f"if it is one of {', '.join(FORMATS)}, name it: `roamcast trace convert --from FORMAT`"
        raise InputError(f"{path}: is in no known format; {name_it}")
    return best


def _of_lines(lines: list[str]) -> Format | None:
    columns = table.Columns(lines[0])
    if columns.titled and not columns.missing:
        return FORMATS["gps-csv" if columns.geographic else "csv"]
    votes = {"one-conn": 0, "csv": 0, "bonnmotion": 0, "contact-list": 0}
    for line in lines:
        vote = _vote(line)
        if vote:
            votes[vote] += 1
    best = max(votes, key=lambda name: votes[name])
    if _is_offsets(lines[0]) and any(len(line.split()) == 4 for line in lines[1:]):
        return FORMATS["one-movement"]
    return FORMATS[best] if votes[best] else None


def _vote(line: str) -> str:
    """The format that one line suggests. The majority decides, because single lines may be damaged."""
    words = line.split()
    if len(words) >= 4 and (words[1] == "CONN" or (words[1] in one.MESSAGES and _is_number(words[0]))):
        return "one-conn"
    if line.count(",") == 3:
        return "csv" if all(_is_number(cell) for cell in line.split(",")[::2]) else ""
    words = line.replace(",", " ").split()
    if len(words) in (3, 4, 5) and _is_number(words[0]):
        return "contact-list"
    if len(words) >= 6 and len(words) % 3 == 0 and all(_is_number(word) for word in words):
        return "bonnmotion"
    return ""


def _is_offsets(line: str) -> bool:
    try:
        one.offsets(line)
    except ValueError:
        return False
    return True


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
