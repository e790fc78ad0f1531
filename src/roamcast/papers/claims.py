"""What the papers claim, as data: `claims/PAPER.toml`, one entry for each claim, and how each is checked.

    [[claim]]
    id = "B3"
    paper = "000"
    where = "§VI-B, Fig. 12"
    says = "proximity without credits delivers 70 %"
    published = "0.70 ± 0.05"

    [[claim.reading]]                   # one, or one for each way to read the paper; the first is the project's own
    name = "every broker beacons (R6)"
    [[claim.reading.check]]             # all of them must hold
    kind = "value"                      # see lab/checks.py
    experiment = "baldoni/fig12"
    metric = "delivery"
    where = { label = "proximity", credits = "0" }
    value = 0.70
    abs = 0.05

The kinds of checks and what each of them takes stand in lab/checks.py, which also judges. `caveat` says what is ours
in a check (a limit, a map, a choice the text leaves open), so that everybody can weigh the verdict.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from roamcast.errors import InputError
from roamcast.papers.experiments import PAPERS


class Reading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    check: list[dict[str, Any]]
    name: str = ""


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    paper: str
    where: str
    says: str
    published: str
    reading: list[Reading]
    caveat: str = ""

    def experiments(self) -> list[str]:
        """Those that its checks look at."""
        used = [check["experiment"] for reading in self.reading for check in reading.check if "experiment" in check]
        return list(dict.fromkeys(used))


class _Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    claim: list[Claim]


@cache
def load() -> tuple[Claim, ...]:
    """All claims, in the order of the papers."""
    found: list[Claim] = []
    for folder in PAPERS.values():
        path = files("roamcast.papers").joinpath("claims", f"{folder}.toml")
        found += parse(path.name, path.read_text(encoding="utf-8"))
    ids = [claim.id for claim in found]
    twice = sorted({id for id in ids if ids.count(id) > 1})
    if twice:
        raise InputError(f"claims: {', '.join(twice)} stands twice")
    return tuple(found)


def parse(name: str, text: str) -> list[Claim]:
    try:
        return msgspec.convert(tomllib.loads(text), _Written).claim
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"claims {name}: {error}") from None
