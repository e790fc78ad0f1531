"""Nodes have names in files and numbers in tables.

A name that is a whole number below 2^31 is its own number. Any other name gets the number 2^62 + the first 62 bits of
its BLAKE2b hash. That is the same in every file, on every machine and in every part of a file, so no process needs all
names. Where numbers must be 0, 1, 2 … (in a simulation, in formats without names) nodes are numbered in natural order:
whole numbers first, then names, in which digits count as numbers (car2 before car10).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

NAMED: Final = 1 << 62
WHOLE: Final = re.compile(r"(0|[1-9][0-9]{0,9})\Z")
DIGITS: Final = re.compile(r"(\d+)")
Order = tuple[bool, int, list[tuple[int, str]], str]


def number_of(name: str) -> int:
    if WHOLE.match(name):
        number = int(name)
        if number < 1 << 31:
            return number
    return NAMED + (int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big") >> 2)


def natural(name: str) -> Order:
    number = number_of(name)
    if number < NAMED:
        return False, number, [], name
    parts = [(int(part), "") if part.isdecimal() else (-1, part) for part in DIGITS.split(name) if part]
    return True, 0, parts, name


def counted(names: Iterable[str]) -> dict[str, int]:
    """0, 1, 2 … in natural order."""
    return {name: k for k, name in enumerate(sorted(names, key=natural))}
