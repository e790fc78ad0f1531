"""A claim of a paper in full: what it says, what was measured, the verdict, and why. It stands with its figure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roamcast.judging import kept as keeping
from roamcast.judging.kept import CONTRADICTS, NEW, SAME, TOO_FEW, Kept
from roamcast.judging.verdicts import NOT, OPEN, REPRODUCED, Verdict
from roamcast.show.markup import Child, Html, joined, tag
from roamcast.show.numbers import NOTHING, interval, several

CLASSES = {REPRODUCED: "yes", NOT: "no", OPEN: "open"}


class Entry(msgspec.Struct, frozen=True):
    """A claim: the verdict that counts, and this run's own, if the one that counts is the full campaign's."""

    verdict: Verdict
    now: Verdict | None = None

    @property
    def agreement(self) -> str:
        return keeping.agreement(self.verdict, self.now) if self.now else ""


class Drawn(msgspec.Struct, frozen=True):
    """A figure that claims can be about: its address, its number, its paper; `name` is the experiment's."""

    name: str
    id: str
    number: str
    paper: str


def entries(verdicts: Sequence[Verdict], kept: Kept | None, full: bool) -> list[Entry]:
    """`full`: the verdicts are a full campaign's, and stand for themselves."""
    before = {verdict.id: verdict for verdict in kept.claims} if kept and not full else {}
    return [Entry(before[v.id], v) if v.id in before else Entry(v) for v in verdicts]


def figures_of(v: Verdict, drawn: Sequence[Drawn]) -> list[Drawn]:
    """Those that show the result; for a claim without an experiment, the one that the paper names."""
    by_name = {each.name: each for each in drawn}
    proven = [by_name[name] for name in v.evidence if name in by_name]
    named = [each for each in drawn if each.paper == v.paper and each.number in v.where.split(", ")]
    return proven or named[:1]


def address(v: Verdict) -> str:
    return f"claim-{v.id}"


def chip(verdict: str) -> Html:
    return tag("span", verdict, class_=f"verdict {CLASSES.get(verdict, 'open')}")


def mark(v: Verdict) -> Html | None:
    return tag("span", "calibration", class_="mark") if v.calibration else None


def claim(entry: Entry, also: Sequence[Drawn]) -> Html:
    """`also` are the other figures that show it."""
    v = entry.verdict
    number = tag("a", v.id, href=f"#{address(v)}", class_="id")
    links = [joined(" ", tag("a", each.number, href=f"#{each.id}")) for each in also]
    return tag(
        "article",
        tag("p", number, " ", tag("span", v.where, class_="soft"), " ", chip(v.verdict), " ", mark(v), class_="about"),
        tag("p", v.says, class_="says"),
        tag("dl", _facts(entry), class_="values"),
        tag("p", "See also", links, ".", class_="why") if links else None,
        _reasons(v),
        _details(entry),
        id=address(v),
        class_="claim",
    )


def _facts(entry: Entry) -> list[Html]:
    v = entry.verdict
    facts: list[tuple[str, Child]] = [("published", v.published), ("measured", measured(v))]
    facts += [("other readings", _others(v))] if v.others else []
    facts += [("this quick run", this_run(entry))] if entry.now else []
    return [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts]


def _reasons(v: Verdict) -> list[Child]:
    """Why it does not hold, and what is ours in the check."""
    lines: list[Child] = []
    if v.verdict != REPRODUCED:
        lines += [tag("p", v.why, class_="why")] if v.why else []
        lines += [tag("p", v.cause, class_="why cause")] if v.cause else []
    lines += [tag("p", v.caveat, class_="why")] if v.caveat else []
    return lines


def measured(v: Verdict) -> Html:
    whole = interval(v.measured, v.low, v.high)
    value, _, rest = whole.partition(" ")
    return joined(
        tag("span", value, class_="num"),
        f" {v.unit}" if v.unit and v.measured is not None else None,
        " ",
        tag("span", rest, class_="num soft") if rest else None,
        " ",
        tag("span", several(v.seeds, "seed"), class_="soft seeds") if v.seeds else None,
    )


def _others(v: Verdict) -> Html:
    undecided = sum(other.verdict == OPEN for other in v.others)
    return joined(
        f"holds under {v.agreeing} of {len(v.others)}" + (", " if undecided else ""),
        tag("span", f"{undecided} undecided", class_="soft seeds") if undecided else None,
    )


def this_run(entry: Entry) -> Child:
    """What a quick run says beside the full campaign."""
    if entry.now is None:
        return NOTHING
    words = {SAME: "agrees", TOO_FEW: "too few runs", NEW: f"decides it: {entry.now.verdict}"}
    if entry.agreement == CONTRADICTS:
        return tag("strong", f"contradicts: {entry.now.verdict}, {_figure(entry.now)}")
    return joined(words[entry.agreement], " ", tag("span", _figure(entry.now), class_="soft seeds"))


def _figure(v: Verdict) -> str:
    return interval(v.measured, v.low, v.high)


def _details(entry: Entry) -> Html:
    v = entry.verdict
    answers = v.answers or (entry.now.answers if entry.now else [])
    lines = [
        tag("li", f"{a.asks}: {interval(a.measured, a.low, a.high)}, {_holds(a.holds)}", f" ({a.why})" if a.why else "")
        for a in answers
    ]
    title = "asked, and answered by this quick run" if answers and not v.answers else "asked and answered"
    parts: list[Child] = [tag("p", f"Joint reading: {v.reading}")]
    parts += [joined(tag("p", title), tag("ul", lines))] if lines else []
    others = [tag("li", f"{other.says}: {other.verdict}") for other in v.others]
    parts += [joined(tag("p", "Under other readings"), tag("ul", others))] if others else []
    return tag("details", tag("summary", "how it was judged"), tag("div", parts, class_="answers"))


def _holds(holds: bool | None) -> str:
    return {True: "holds", False: "does not hold", None: "too few runs to tell"}[holds]
