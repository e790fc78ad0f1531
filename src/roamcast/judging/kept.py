"""The verdicts of the full campaign, kept in the package: quick runs are shown beside them.

`papers/kept.json` is written by `roamcast reproduce --full --keep FILE` after a full campaign and committed. It records
when and by which version it was made. A quick run never replaces it, and reports where it contradicts it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files

import msgspec

from roamcast.errors import InputError
from roamcast.judging.verdicts import NOT, OPEN, REPRODUCED, Other, Verdict, count
from roamcast.papers import claims, joint
from roamcast.papers.claims import Claim

SAME = "same"
CONTRADICTS = "contradicts"
TOO_FEW = "too few runs"
NEW = "decides it"
"""How a run compares with a kept verdict."""


class Made(msgspec.Struct, frozen=True):
    """When the verdicts were made, by which version, and from how many runs."""

    version: str
    code: str
    date: str
    runs: int
    processor_s: float


class Counts(msgspec.Struct, frozen=True):
    """How many claims have each verdict: all, those on which joint readings were chosen, the rest, and by paper.

    `original` counts the claims as they were first written: all parts of a claim that was split must hold.
    """

    all: dict[str, int]
    original: dict[str, int]
    in_sample: dict[str, int]
    out_of_sample: dict[str, int]
    papers: dict[str, dict[str, int]]


class Kept(msgspec.Struct, frozen=True):
    made: Made
    counts: Counts
    claims: list[Verdict]


class Stored(msgspec.Struct, frozen=True):
    """The result of a campaign for one claim. The text of the claim, and the cause if it fails, are in papers/claims.

    `asked` is a digest of its checks: the verdict is about these.
    """

    id: str
    asked: str
    verdict: str
    measured: float | None
    low: float | None
    high: float | None
    seeds: int
    reading: str
    calibration: bool
    why: str
    others: list[Other]


class _File(msgspec.Struct, frozen=True):
    made: Made
    claims: list[Stored]


def keep(verdicts: Sequence[Verdict], made: Made) -> bytes:
    """The content of the file."""
    asked = {claim.id: claim.digest() for claim in claims.load()}
    stored = [_stored(verdict, asked.get(verdict.id, "")) for verdict in verdicts]
    return msgspec.json.format(msgspec.json.encode(_File(made, stored)), indent=1) + b"\n"


def _stored(verdict: Verdict, asked: str) -> Stored:
    fields = {name: getattr(verdict, name) for name in Stored.__struct_fields__ if name != "asked"}
    return Stored(asked=asked, **fields)


@cache
def load() -> Kept | None:
    """None before the first full campaign was kept."""
    path = files("roamcast.papers").joinpath("kept.json")
    return parse(path.read_bytes()) if path.is_file() else None


def parse(content: bytes) -> Kept:
    """The file, with the texts of the claims. A claim whose checks have changed since has no kept verdict."""
    try:
        file = msgspec.json.decode(content, type=_File)
    except msgspec.MsgspecError as error:
        raise InputError(f"kept.json: {error}") from None
    known = {claim.id: claim for claim in claims.load()}
    verdicts = [
        _with_words(stored, known[stored.id])
        for stored in file.claims
        if stored.id in known and known[stored.id].digest() == stored.asked
    ]
    return Kept(file.made, counted(verdicts), verdicts)


def only(kept: Kept, papers: Collection[str]) -> Kept:
    """The verdicts of some papers, counted."""
    verdicts = [verdict for verdict in kept.claims if verdict.paper in papers]
    return Kept(kept.made, counted(verdicts), verdicts)


def _with_words(stored: Stored, claim: Claim) -> Verdict:
    fields = {name: value for name, value in msgspec.structs.asdict(stored).items() if name != "asked"}
    return Verdict(
        **fields,
        paper=claim.paper,
        where=claim.where,
        says=claim.says,
        published=claim.published,
        unit=claim.unit,
        caveat=claim.caveat,
        cause="" if stored.verdict == REPRODUCED else claim.cause,
        evidence=claim.shown_by(),
    )


def counted(verdicts: Sequence[Verdict]) -> Counts:
    return Counts(
        all=count(verdicts),
        original=count(_as_first_written(verdicts)),
        in_sample=count(v for v in verdicts if v.calibration),
        out_of_sample=count(v for v in verdicts if not v.calibration),
        papers={p: count(v for v in verdicts if v.paper == p) for p in dict.fromkeys(v.paper for v in verdicts)},
    )


def _as_first_written(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Split claims as one again: they fail if a part fails, and are undecided if a part is. Added claims are left
    out."""
    known = {claim.id: claim for claim in claims.load()}
    whole: dict[str, list[Verdict]] = {}
    for v in verdicts:
        claim = known.get(v.id)
        if claim is None or not claim.added:
            whole.setdefault((claim.part_of if claim else "") or v.id, []).append(v)
    return [next((v for name in (NOT, OPEN) for v in parts if v.verdict == name), parts[0]) for parts in whole.values()]


def agreement(kept: Verdict, now: Verdict) -> str:
    """How a run's verdict compares with the kept one."""
    if kept.verdict == now.verdict:
        return SAME
    if now.verdict == OPEN:
        return TOO_FEW
    return NEW if kept.verdict == OPEN else CONTRADICTS


# ---- the effect of each part of a joint reading


class Ablation(msgspec.Struct, frozen=True):
    """A part of a joint reading undone: which claims then no longer hold, and which hold only then.

    Claims that the campaign did not decide were looked at with more seeds, if `seeds` has their number; `held` are
    those of them that hold without the part as well.
    """

    paper: str
    part: str
    instead: str
    refuted: list[str]
    undecided: list[str]
    gained: list[str]
    held: list[str] = []
    seeds: dict[str, int] = {}

    @property
    def costs(self) -> int:
        """The number of claims that hold with the part and not without it."""
        return len(self.refuted) + len(self.undecided)

    def named(self, ids: Iterable[str]) -> str:
        """Claims as people read them, with the number of seeds where these were more."""
        return ", ".join(f"{id} ({self.seeds[id]:,} seeds)" if id in self.seeds else id for id in ids)


def ablations(verdicts: Sequence[Verdict]) -> list[Ablation]:
    """One entry for each part that was undone, in the order of the papers."""
    by_part: dict[tuple[str, str, str], list[tuple[Verdict, str]]] = {}
    for verdict in verdicts:
        for other in (other for other in verdict.others if other.part):
            by_part.setdefault((verdict.paper, other.part, other.says), []).append((verdict, other.verdict))
    return [_ablation(key, rows) for key, rows in by_part.items()]


def _ablation(key: tuple[str, str, str], rows: Sequence[tuple[Verdict, str]]) -> Ablation:
    paper, part, _ = key
    closer = next((each.closer for each in joint.load(paper).part if each.name == part), {})
    seen = {v.id: closer[v.id] for v, back in rows if v.verdict == REPRODUCED and back == OPEN and v.id in closer}
    after = [(v, seen[v.id].verdict if v.id in seen else back) for v, back in rows]
    return Ablation(
        *key,
        refuted=_ids(after, REPRODUCED, NOT),
        undecided=_ids(after, REPRODUCED, OPEN),
        gained=_ids(after, NOT, REPRODUCED) + _ids(after, OPEN, REPRODUCED),
        held=[id for id, look in seen.items() if look.verdict == REPRODUCED],
        seeds={id: look.seeds for id, look in seen.items()},
    )


def _ids(rows: Iterable[tuple[Verdict, str]], before: str, back: str) -> list[str]:
    return [verdict.id for verdict, other in rows if (verdict.verdict, other) == (before, back)]
