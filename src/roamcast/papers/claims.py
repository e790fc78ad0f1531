"""What the papers claim, as data: `claims/PAPER.toml`, one entry for each claim, and how each is checked.

[[claim]]
id = "B4"
paper = "baldoni"
where = "§VI-B, Fig. 12"            # its place in the paper
says = "without credits, proximity needs 2.5 packets for a delivered message"
published = "2.5 ± 15 %"
unit = "frames per delivery"        # of the measured number; none for a share
caveat = "what the check adds to the paper: a limit, a map, a choice that the text leaves open"
cause = "why it does not hold, and the experiment that shows it"
evidence = ["baldoni/fig12"]        # experiments whose figures show the cause; by default those of its checks
most_seeds = 120                    # how many seeds deciding it may take; by default four times as many

part_of = "B10"                     # the claim that this one was split from; or: added = true

[[claim.check]]                     # all of them must hold, under the paper's joint reading (joint.py)
kind = "value"                      # see judging/checks
experiment = "baldoni/fig12"
metric = "overhead_published"
where = { label = "proximity", credits = "0" }
value = 2.5
rel = 0.15
"""

from __future__ import annotations

import json
import tomllib
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any

import msgspec

from roamcast.errors import InputError
from roamcast.papers.experiments import PAPERS


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    paper: str
    where: str
    says: str
    published: str
    check: list[dict[str, Any]]
    unit: str = ""
    caveat: str = ""
    cause: str = ""
    evidence: list[str] = []
    most_seeds: int = 0
    part_of: str = ""
    added: bool = False

    def experiments(self) -> list[str]:
        """The experiments that its checks use."""
        return list(dict.fromkeys(check["experiment"] for check in self.check if "experiment" in check))

    def digest(self) -> str:
        """A digest of its checks: a verdict is about these and nothing else."""
        return blake2b(json.dumps(self.check, sort_keys=True).encode(), digest_size=8).hexdigest()

    def shown_by(self) -> list[str]:
        """The experiments whose figures show the result."""
        return self.evidence or self.experiments()


class _Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    claim: list[Claim]


@cache
def load() -> tuple[Claim, ...]:
    """All claims, in the order of the papers."""
    claims: list[Claim] = []
    for paper in PAPERS:
        path = files("roamcast.papers").joinpath("claims", f"{paper}.toml")
        claims += parse(path.name, path.read_text(encoding="utf-8"))
    ids = [claim.id for claim in claims]
    twice = sorted({id for id in ids if ids.count(id) > 1})
    if twice:
        raise InputError(f"claims: {', '.join(twice)} occurs twice")
    return tuple(claims)


def parse(name: str, text: str) -> list[Claim]:
    try:
        return msgspec.convert(tomllib.loads(text), _Written).claim
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"claims {name}: {error}") from None
