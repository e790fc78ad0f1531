"""What readers of traces yield: plain tuples, all of one shape, because there are millions of them.

    kind      line     name    peer   t_us    until_us   x_m        y_m        z_m   segment   text
    POINT     its      node           when               where      where      or nan   (1)    (4)
    CONTACT   its      node    node   from    until
    PROBLEM   its                                                                              what is wrong
    REFUSAL   its                                                                              why not
    SPAN      first    node    (2)    first   last                                   last      (2)
    EXTENT    points                  moves   fast ones  largest    largest                    (3)

Fields that a kind does not use are 0, nan or empty. A PROBLEM is a line that is left out; nothing follows a REFUSAL.
SPAN and EXTENT come last and summarise what was read.

(1) Points of a node with one segment number are joined by straight legs; between segments the node is absent.
(2) Its first and its last place, as "x y".
(3) Where lines must be in order of time, the first and the last instant, as "us us".
(4) GONE if the node is absent from then on, even if the trace ends at that time.
"""

from __future__ import annotations

from math import nan
from typing import Final

Record = tuple[int, int, str, str, int, int, float, float, float, int, str]

POINT: Final = 0
CONTACT: Final = 1
PROBLEM: Final = 2
REFUSAL: Final = 3
SPAN: Final = 4
EXTENT: Final = 5

GONE: Final = "gone"

SECOND_US: Final = 1e6
UNITS_US: Final = {"us": 1.0, "ms": 1e3, "s": SECOND_US, "min": 60 * SECOND_US, "h": 3600 * SECOND_US}
"""Units of time, in microseconds."""
LATEST_S: Final = 1e11
"""The year 5138. Larger numbers are probably milliseconds."""
FARTHEST_M: Final = 5e7
"""More than once round the earth."""
SHOWN: Final = 60
"""How many characters of a malformed line an error repeats."""


def point(
    line: int, name: str, t_us: int, x: float, y: float, z: float = nan, segment: int = 0, text: str = ""
) -> Record:
    return POINT, line, name, "", t_us, 0, x, y, z, segment, text


def contact(line: int, i: str, j: str, from_us: int, until_us: int) -> Record:
    return CONTACT, line, i, j, from_us, until_us, 0.0, 0.0, nan, 0, ""


def problem(line: int, text: str) -> Record:
    return PROBLEM, line, "", "", 0, 0, 0.0, 0.0, nan, 0, text


def refusal(line: int, text: str) -> Record:
    return REFUSAL, line, "", "", 0, 0, 0.0, 0.0, nan, 0, text


def unlike(line: int, text: str, form: str) -> Record:
    """The line does not have the form it must have."""
    return problem(line, f"{shown(text)} is not {form}")


def shown(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def micros(text: str) -> int:
    """Seconds as they are written, in microseconds; ValueError if it is not a time."""
    t = float(text)
    if not -LATEST_S <= t <= LATEST_S:
        raise ValueError(text)
    return round(t * 1e6)


def metres(text: str) -> float:
    x = float(text)
    if not -FARTHEST_M <= x <= FARTHEST_M:
        raise ValueError(text)
    return x


def seconds(t_us: int) -> str:
    """A time as people write it: 5 s, 0.25 s."""
    return f"{t_us / 1e6:.15g} s"
