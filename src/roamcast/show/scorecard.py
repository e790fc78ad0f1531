"""The claims of the papers, for people: headline, scorecard, and what each part of a joint reading is worth.

What the page shows of a claim is the full campaign's verdict. A quick run stands beside it in a column of its own: it
can agree, be too short to tell, or contradict; it is never taken for the result.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from roamcast.judging import kept as keeping
from roamcast.judging.kept import CONTRADICTS, NEW, SAME, TOO_FEW, Kept
from roamcast.judging.verdicts import NOT, OPEN, REPRODUCED, VERDICTS, Verdict, count, in_words
from roamcast.papers import joint
from roamcast.papers.experiments import cited
from roamcast.show.markup import Child, Html, joined, tag
from roamcast.show.numbers import NOTHING, interval, several

CLASSES = {REPRODUCED: "yes", NOT: "no", OPEN: "open"}
SHORT = {REPRODUCED: "reproduced", NOT: "not reproduced", OPEN: "undecided"}


class Entry(msgspec.Struct, frozen=True):
    """A claim: the verdict that counts, and this run's own, if the one that counts is the full campaign's."""

    verdict: Verdict
    now: Verdict | None = None

    @property
    def agreement(self) -> str:
        return keeping.agreement(self.verdict, self.now) if self.now else ""


def entries(verdicts: Sequence[Verdict], kept: Kept | None, full: bool) -> list[Entry]:
    """`full`: the verdicts are a full campaign's, and stand for themselves."""
    before = {verdict.id: verdict for verdict in kept.claims} if kept and not full else {}
    return [Entry(before[v.id], v) if v.id in before else Entry(v) for v in verdicts]


# ---- headline


def headline(shown: Sequence[Entry], kept: Kept | None) -> Html:
    verdicts = [entry.verdict for entry in shown]
    counts = count(verdicts)
    return tag(
        "section",
        tag("h2", "In short", id="short"),
        tag(
            "div",
            tag("p", f"{counts[REPRODUCED]} of {len(verdicts)}", tag("small", " claims reproduce"), class_="big"),
            bar(verdicts, "bar tall"),
            tag("ul", [tag("li", chip(name), f" {n}") for name, n in counts.items()], class_="key"),
            _samples(verdicts),
            _this_run(shown, kept),
            _by_paper(verdicts),
            class_="tally",
        ),
        aria_labelledby="short",
        class_="part",
    )


def _samples(verdicts: Sequence[Verdict]) -> Html:
    """A reading that was chosen on a claim says little about that claim."""
    chosen = [v for v in verdicts if v.calibration]
    rest = [v for v in verdicts if not v.calibration]
    first = keeping.counted(verdicts).original
    return tag(
        "p",
        f"Counted as they were first written down, with split claims put together and added ones left out: "
        f"{first[REPRODUCED]} of {sum(first.values())}. ",
        f"Each paper is judged in one world, its joint reading. It was chosen, after numbers had been seen, on "
        f"{several(len(chosen), 'claim')}, of which {count(chosen)[REPRODUCED]} hold; of the "
        f"{several(len(rest), 'other claim')}, which had no part in the choice, {count(rest)[REPRODUCED]} hold.",
    )


def _this_run(shown: Sequence[Entry], kept: Kept | None) -> Html | None:
    """What is shown comes from the full campaign; what this run adds."""
    if kept is None or not any(entry.now for entry in shown):
        return None
    says = [entry.agreement for entry in shown]
    counts = [(SAME, "agree"), (TOO_FEW, "have too few runs to tell"), (NEW, "decide what was open")]
    parts = ", ".join(f"{says.count(name)} {words}" for name, words in counts if says.count(name))
    against = says.count(CONTRADICTS)
    return tag(
        "p",
        f"These are the verdicts of the full campaign of {kept.made.date} ({kept.made.runs:,} runs, version "
        f"{kept.made.version}). This run is a quick look beside it: {parts or 'nothing to compare'}; ",
        tag("strong", f"{against} contradict it" if against else "none contradicts it"),
        ".",
    )


def bar(verdicts: Sequence[Verdict], look: str) -> Html:
    """Widths as flex factors: they need no arithmetic, and add up."""
    parts = [tag("i", class_=CLASSES[name], style=f"flex:{n}") for name, n in count(verdicts).items() if n]
    return tag("div", parts, class_=look, role="img", aria_label=in_words(verdicts))


def _by_paper(verdicts: Sequence[Verdict]) -> Html:
    rows = []
    for paper in dict.fromkeys(v.paper for v in verdicts):
        mine = [v for v in verdicts if v.paper == paper]
        rows.append(
            tag(
                "tr",
                tag("th", tag("a", cited(paper), href=f"#paper-{paper}"), scope="row"),
                tag("td", bar(mine, "bar"), class_="barcell"),
                [tag("td", str(n), class_="num") for n in count(mine).values()],
                tag("td", tag("a", "its claims", href="#scorecard", data_paper=paper)),
            )
        )
    head = tag(
        "tr",
        tag("th", "paper", scope="col"),
        tag("td"),
        [tag("th", SHORT[name], scope="col", class_="num") for name in VERDICTS],
        tag("td"),
    )
    return tag("div", tag("table", tag("thead", head), tag("tbody", rows), class_="bypaper"), class_="scroll")


def chip(verdict: str) -> Html:
    return tag("span", verdict, class_=f"verdict {CLASSES.get(verdict, 'open')}")


def outcome(verdicts: Sequence[Verdict]) -> Html | None:
    """Of one paper, in a line."""
    if not verdicts:
        return None
    counts = ", ".join(f"{n} {name}" for name, n in count(verdicts).items() if n)
    link = tag("a", several(len(verdicts), "claim"), href="#scorecard", data_paper=verdicts[0].paper)
    return joined(bar(verdicts, "bar"), tag("p", link, f": {counts}."))


# ---- the table of all claims


def scorecard(shown: Sequence[Entry], figures: dict[str, tuple[str, str]]) -> Html:
    """`figures` has the address and the number of each experiment's figure, for links."""
    beside = any(entry.now for entry in shown)
    head = ["claim", "what the paper says", "published", "measured", "verdict", "other readings"]
    head += ["this quick run"] if beside else []
    return tag(
        "section",
        tag("h2", "Scorecard", id="scorecard"),
        tag(
            "p",
            "A claim is judged by intervals: it is reproduced if the whole interval of what was measured lies within "
            "what the claim allows, not reproduced if all of it lies outside, and not decidable if the runs are too "
            "few to tell. It is judged in the paper's one world; the column of other readings says under how many "
            "plausible others it holds as well. A claim marked ",
            tag("span", "calibration", class_="mark"),
            " had a part in choosing that world.",
        ),
        _filters([entry.verdict for entry in shown]),
        tag(
            "table",
            tag(
                "caption",
                "Measured is what decided: a mean, a difference, a ratio or a change, with its confidence interval.",
            ),
            tag("thead", tag("tr", [tag("th", name, scope="col", role="columnheader") for name in head], role="row")),
            tag("tbody", [_claim(entry, figures, beside) for entry in shown], role="rowgroup"),
            class_="scorecard",
            role="table",
        ),
        tag("p", "No claim fits these filters.", class_="nothing", hidden=True),
        aria_labelledby="scorecard",
        class_="part",
    )


def _filters(verdicts: Sequence[Verdict]) -> Html:
    papers = list(dict.fromkeys(v.paper for v in verdicts))
    boxes = [
        tag("label", tag("input", type="checkbox", name="verdict", value=CLASSES[name]), name)
        for name, n in count(verdicts).items()
        if n
    ]
    return tag(
        "form",
        tag(
            "div",
            tag("label", "words", for_="text"),
            tag("input", type="search", id="text", name="text", autocomplete="off"),
            class_="field",
        ),
        tag(
            "div",
            tag("label", "paper", for_="paper"),
            tag(
                "select",
                tag("option", "all", value=""),
                [tag("option", cited(paper), value=paper) for paper in papers],
                id="paper",
                name="paper",
            ),
            class_="field",
        ),
        tag("fieldset", tag("legend", "verdict"), boxes),
        tag("button", "show all", type="reset"),
        tag("output", for_="text paper"),
        class_="filters",
        role="search",
        aria_label="claims",
    )


def _claim(entry: Entry, figures: dict[str, tuple[str, str]], beside: bool) -> Html:
    v = entry.verdict
    mark = tag("span", "calibration", class_="mark") if v.calibration else None
    return tag(
        "tr",
        tag(
            "th",
            tag("span", v.id, class_="id"),
            tag("span", v.where, class_="where"),
            mark,
            scope="row",
            role="rowheader",
        ),
        tag("td", v.says, _reasons(v, figures), _details(entry), class_="says", role="cell"),
        tag("td", v.published, class_="shown", data_of="published", role="cell"),
        tag("td", _measured(v), class_="shown", data_of="measured", role="cell"),
        tag("td", chip(v.verdict), role="cell"),
        tag("td", _others(v), class_="shown", data_of="other readings", role="cell"),
        tag("td", _now(entry), class_="shown", data_of="this quick run", role="cell") if beside else None,
        id=f"claim-{v.id}",
        data_paper=v.paper,
        data_verdict=CLASSES.get(v.verdict, "open"),
        role="row",
    )


def _reasons(v: Verdict, figures: dict[str, tuple[str, str]]) -> list[Child]:
    """Why it does not hold, where to see that, and what is ours in the check."""
    lines: list[Child] = []
    if v.verdict != REPRODUCED:
        lines += [tag("p", v.why, class_="why")] if v.why else []
        lines += [tag("p", v.cause, class_="why cause")] if v.cause else []
        drawn = [figures[name] for name in v.evidence if name in figures]
        links = [joined(" ", tag("a", number, href=where)) for where, number in drawn]
        lines += [tag("p", "See", links, class_="why")] if links else []
    lines += [tag("p", v.caveat, class_="why")] if v.caveat else []
    return lines


def _measured(v: Verdict) -> Html:
    whole = interval(v.measured, v.low, v.high)
    value, _, rest = whole.partition(" ")
    return joined(
        tag("span", value, class_="num"),
        f" {v.unit}" if v.unit and v.measured is not None else None,
        " ",
        tag("span", rest, class_="num soft") if rest else None,
        tag("span", several(v.seeds, "seed"), class_="soft seeds") if v.seeds else None,
    )


def _others(v: Verdict) -> Child:
    if not v.others:
        return NOTHING
    undecided = sum(other.verdict == OPEN for other in v.others)
    return joined(
        f"{v.agreeing} of {len(v.others)}",
        tag("span", f" {undecided} undecided", class_="soft seeds") if undecided else None,
    )


def _now(entry: Entry) -> Child:
    if entry.now is None:
        return NOTHING
    words = {SAME: "agrees", TOO_FEW: "too few runs", NEW: f"decides it: {entry.now.verdict}"}
    if entry.agreement == CONTRADICTS:
        return tag("strong", f"contradicts: {entry.now.verdict}, {_figure(entry.now)}")
    return joined(words[entry.agreement], tag("span", _figure(entry.now), class_="soft seeds"))


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


# ---- one world for a paper


def world(paper: str, verdicts: Sequence[Verdict]) -> Html | None:
    """The joint reading of a paper, its parts with their reasons, and what each is worth."""
    whole = joint.load(paper)
    if not whole.part:
        return None
    worth = {each.part: each for each in keeping.ablations(verdicts)}
    head = ("part", "why", "if put back")
    rows = []
    for part in whole.part:
        ablation = worth.get(part.name)
        rows.append((part.says, part.reason, _worth(ablation) if ablation else NOTHING))
    others = [tag("li", f"{change.says} ({change.name})") for change in whole.other]
    calibration = ", ".join(whole.calibration) or "none"
    return joined(
        tag("h3", "The world it was run in"),
        tag("p", whole.chosen, f" Claims it was chosen on: {calibration}."),
        _table(head, rows),
        joined(tag("p", "Other readings, under which the claims are judged again:"), tag("ul", others))
        if others
        else None,
    )


def _worth(ablation: keeping.Ablation) -> str:
    effects = {
        "refuted": ablation.refuted,
        "undecided": ablation.undecided,
        "holds all the same": ablation.held,
        "holds only then": ablation.gained,
    }
    listed = [f"{ablation.named(ids)} {effect}" for effect, ids in effects.items() if ids]
    return "; ".join([f"costs {several(ablation.costs, 'claim')}", *listed])


def _table(head: Sequence[str], rows: Sequence[Sequence[Child]]) -> Html:
    lines = [tag("tr", tag("th", row[0], scope="row"), [tag("td", cell) for cell in row[1:]]) for row in rows]
    heads = [tag("th", name, scope="col") for name in head]
    table = tag("table", tag("thead", tag("tr", heads)), tag("tbody", lines))
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="the joint reading")
