"""Which format a file is in, by its contents.

Every format has a rule for a line, and half of the first lines must obey it, because single lines may be damaged. A
file that obeys the rules of two formats is refused, and the error names both: `1 2 121 300` is a contact of 1 and 2
from 121 s to 300 s, one of 2 and 121 at 1 s, or a place, and nobody would notice the wrong one. Times decide where they
can: those of a contact list are in order, and all walks of BonnMotion begin at the same time. Only one case is decided
by the name of the file: a line of three numbers is a contact, unless the file is called .movements (BonnMotion, a node
that stands still).
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, time
from itertools import pairwise
from typing import Final

from roamcast.errors import InputError
from roamcast.world.traces import one
from roamcast.world.traces.columns import Columns, separator_of
from roamcast.world.traces.formats import FORMATS, Format
from roamcast.world.traces.names import WHOLE

LINES: Final = 2000
"""Of a file that are looked at."""
ENOUGH: Final = 4
"""Lines that are enough to doubt the order of columns."""
RIVAL: Final = 0.9
"""A format fits as well as another one if it fits so many of the lines that the other one fits."""
TABLES: Final = ("csv", "gps-csv", "contact-list", "intervals")
"""Formats whose columns can be named."""


def recognised(path: str, head: str) -> Format:
    """The format of a file, from its beginning and its name."""
    start = head.lstrip()
    if start.startswith("<"):
        return FORMATS[_of_xml(path, head)]
    if path.lower().removesuffix(".gz").endswith(".movements") or start.startswith("#3D"):
        return FORMATS["bonnmotion"]
    if "$node_(" in head:
        return FORMATS["ns2"]
    lines = data_lines(head)
    if not lines:
        raise InputError(f"{path}: has no data")
    titled = Columns(lines[0])
    if titled.titled and titled.doubled:
        raise InputError(f"{path}: titles {titled.doubled} mean the same; name the columns (--columns)")
    if titled.titled and titled.format:
        return FORMATS[titled.format]
    if _are_unknown_titles(lines):
        raise InputError(f"{path}: titles {lines[0].strip()[:60]!r} do not say enough; name the columns (--columns)")
    if _is_one_movement(lines):
        return FORMATS["one-movement"]
    if 2 * sum(map(_is_one_event, lines)) >= len(lines):
        return FORMATS["one-conn"]
    fitting = _fitting(lines)
    if fitting == ["contact-list"] and _may_end_in_times(lines):
        raise InputError(f"{path}: could be t i j or i j t; say which: --columns t,i,j or --columns i,j,t")
    if len(fitting) == 1:
        return FORMATS[fitting[0]]
    raise InputError(f"{path}: {_ambiguous(fitting) if fitting else _unknown(lines[0])}")


def _fitting(lines: list[str]) -> list[str]:
    """The formats whose rules the lines obey; if there are several, those whose times are plausible."""
    obeying = {name: [line for line in lines if rule(line)] for name, rule in RULES.items()}
    enough = max(len(lines) / 2, RIVAL * max(map(len, obeying.values())))
    fitting = [name for name, kept in obeying.items() if len(kept) >= enough]
    if len(fitting) == 1:
        return fitting
    return [name for name in fitting if _plausible(name, obeying[name])] or fitting


def _are_unknown_titles(lines: list[str]) -> bool:
    """A first line of words above lines with numbers, between commas or the like."""
    if len(lines) < 2 or separator_of(lines[0]) is None:
        return False
    return not any(map(_has_number, lines[:1])) and all(map(_has_number, lines[1:]))


def _has_number(line: str) -> bool:
    return any(map(is_number, _words(line)))


def _may_end_in_times(lines: list[str]) -> bool:
    """Lines of three whole numbers that may also be two nodes and a time: the last ones rise above all first ones."""
    rows = [words for words in map(_words, lines) if len(words) == 3 and all(map(WHOLE.match, words))]
    first, last = [int(row[0]) for row in rows], [int(row[2]) for row in rows]
    return len(rows) >= ENOUGH and max(first) < min(last) and all(before <= after for before, after in pairwise(last))


def _plausible(name: str, lines: list[str]) -> bool:
    if name not in ("contact-list", "bonnmotion"):
        return True
    times = [float(_words(line)[0]) for line in lines]
    if name == "contact-list":
        return all(before <= after for before, after in pairwise(times))
    return len(set(times)) == 1


def data_lines(head: str) -> list[str]:
    """The first lines that are not comments, without the last one if it may be cut off."""
    lines = head.splitlines()
    whole = lines[:-1] if len(lines) > 1 and not head.endswith("\n") else lines
    return [line for line in whole if line.strip() and not line.startswith("#")][:LINES]


def _of_xml(path: str, head: str) -> str:
    for tag, name in (("<fcd-export", "sumo-fcd"), ("<gpx", "gpx")):
        if tag in head:
            return name
    raise InputError(f"{path}: is XML, but neither SUMO's <fcd-export> nor <gpx>")


def _ambiguous(names: list[str]) -> str:
    titles = " and ".join(f"{name} ({FORMATS[name].title})" for name in names)
    return f"could be {titles}; say which: {' or '.join(f'--from {name}' for name in names)}"


def _unknown(line: str) -> str:
    name_it = f"if it is one of {', '.join(FORMATS)}, name it: `roamcast trace convert --from FORMAT`"
    cells = len(Columns(line).cells(line))
    columns = f", or name its columns: --columns {_example(cells)}" if cells > 2 else ""
    return f"is in no known format; {name_it}{columns}"


def _example(cells: int) -> str:
    names = ("t", "node", "lat", "lon")[-cells:] if cells < 4 else ("node", "t", "lat", "lon")
    return ",".join([*names, *["-"] * (cells - len(names))])


# ---- a rule for each format


def _is_one_event(line: str) -> bool:
    words = line.split()
    return len(words) >= 4 and is_number(words[0]) and (words[1] == "CONN" or words[1] in one.MESSAGES)


def _is_one_movement(lines: list[str]) -> bool:
    """A header of offsets tells it."""
    with suppress(ValueError):
        one.offsets(lines[0])
        return 2 * sum(len(line.split()) == 4 for line in lines[1:]) >= len(lines[1:]) > 0
    return False


def _is_place(line: str) -> bool:
    cells = _words(line)
    return len(cells) == 4 and all(is_number(cells[k]) for k in (0, 2, 3)) and _is_name(cells[1])


def _is_walk(line: str) -> bool:
    words = line.split()
    if len(words) < 6 or len(words) % 3 or not all(is_number(word) for word in words):
        return False
    times = [float(word) for word in words[::3]]
    return times[0] >= 0.0 and all(before < after for before, after in pairwise(times))


def _is_listed(line: str) -> bool:
    words = _words(line)
    if len(words) == 3 and words[1] == words[2]:
        return is_number(words[0]) and _is_name(words[1])  # malformed, and still a line of a contact list
    return len(words) in (3, 4, 5) and is_number(words[0]) and _are_two_nodes(words[1], words[2])


def _is_interval(line: str) -> bool:
    words = _words(line)
    if len(words) not in (4, 5, 6) or not _are_two_nodes(words[0], words[1]):
        return False
    return is_number(words[2]) and is_number(words[3]) and 0.0 <= float(words[2]) <= float(words[3])


RULES: Final = {
    "csv": _is_place,
    "bonnmotion": _is_walk,
    "contact-list": _is_listed,
    "intervals": _is_interval,
}


# ---- words


def _words(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(separator_of(line))]


def _are_two_nodes(i: str, j: str) -> bool:
    """Two names of one kind: both whole numbers, or both words."""
    return i != j and _is_name(i) and _is_name(j) and is_number(i) == is_number(j)


def _is_name(word: str) -> bool:
    """A whole number or a word, and neither a measurement nor a date."""
    return bool(WHOLE.match(word)) or not (is_number(word) or not word or _is_date(word))


def _is_date(word: str) -> bool:
    for kind in (datetime, time):
        with suppress(ValueError):
            kind.fromisoformat(word)
            return True
    return False


def is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
