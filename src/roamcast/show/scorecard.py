"""The claims of the papers, for people: headline, the table of all claims, and what each part of a joint reading is
worth.

What the page shows of a claim is the full campaign's verdict. A quick run stands beside it: it can agree, be too short
to tell, or contradict; it is never taken for the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from roamcast.judging import kept as keeping
from roamcast.judging.kept import CONTRADICTS, NEW, SAME, TOO_FEW, Kept
from roamcast.judging.verdicts import REPRODUCED, Verdict, count, in_words
from roamcast.papers import joint
from roamcast.papers.experiments import cited
from roamcast.show import parts
from roamcast.show.claims import CLASSES, Drawn, Entry, address, chip, figures_of, mark, measured
from roamcast.show.markup import Child, Html, joined, tag
from roamcast.show.numbers import NOTHING, several

# ---- headline


def headline(shown: Sequence[Entry], kept: Kept | None) -> Html:
    verdicts = [entry.verdict for entry in shown]
    counts = count(verdicts)
    return tag(
        "section",
        tag("h2", "In short"),
        tag(
            "div",
            tag("p", f"{counts[REPRODUCED]} of {len(verdicts)}", tag("small", " claims reproduce"), class_="big"),
            bar(verdicts, "bar tall"),
            tag("ul", [tag("li", chip(name), f" {n}") for name, n in counts.items()], class_="key"),
            _by_paper(verdicts),
            _samples(verdicts),
            _this_run(shown, kept),
            class_="tally",
        ),
        id="short",
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
    counted = ", ".join(f"{says.count(name)} {words}" for name, words in counts if says.count(name))
    against = says.count(CONTRADICTS)
    return tag(
        "p",
        f"These are the verdicts of the full campaign of {kept.made.date} ({kept.made.runs:,} runs, version "
        f"{kept.made.version}). This run is a quick look beside it: {counted or 'nothing to compare'}; ",
        tag("strong", f"{against} contradict it" if against else "none contradicts it"),
        ".",
    )


def bar(verdicts: Sequence[Verdict], look: str) -> Html:
    """Widths as flex factors: they need no arithmetic, and add up."""
    pieces = [tag("i", class_=CLASSES[name], style=f"flex:{n}") for name, n in count(verdicts).items() if n]
    return tag("div", pieces, class_=look, role="img", aria_label=in_words(verdicts))


def _by_paper(verdicts: Sequence[Verdict]) -> Html:
    """A row for each paper, with a mark for each of its claims that leads there."""
    rows = []
    for paper in dict.fromkeys(v.paper for v in verdicts):
        mine = [v for v in verdicts if v.paper == paper]
        name = tag("dt", tag("a", cited(paper), href=f"#paper-{paper}"))
        rows.append(joined(name, tag("dd", [_dot(v) for v in mine])))
    return tag("dl", rows, class_="bypaper")


def _dot(v: Verdict) -> Html:
    title = f"{v.id}, {v.verdict}: {v.says}"
    return tag("a", v.id, href=f"#{address(v)}", class_=f"dot {CLASSES.get(v.verdict, 'open')}", title=title)


def outcome(verdicts: Sequence[Verdict]) -> Html | None:
    """Of one paper, in a line."""
    if not verdicts:
        return None
    counts = ", ".join(f"{n} {name}" for name, n in count(verdicts).items() if n)
    return joined(bar(verdicts, "bar"), tag("p", f"{several(len(verdicts), 'claim')}: {counts}"))


# ---- the table of all claims


def scorecard(shown: Sequence[Entry], drawn: Sequence[Drawn]) -> Html:
    """`drawn` are the figures that the page has, for links."""
    verdicts = [entry.verdict for entry in shown]
    beside = any(entry.now for entry in shown)
    head = ["claim", "what the paper says", "published", "measured", "verdict", "seen in"]
    body = joined(
        tag(
            "p",
            "A claim is judged by intervals: it is reproduced if the whole interval of what was measured lies within "
            "what the claim allows, not reproduced if all of it lies outside, and not decidable if the runs are too "
            "few to tell. It is judged in the paper's one world. A claim marked ",
            tag("span", "calibration", class_="mark"),
            " had a part in choosing that world. The number of a claim leads to its reasons, and to the figure it is "
            "about.",
        ),
        _filters(verdicts),
        tag(
            "table",
            tag(
                "caption",
                "Measured is what decided: a mean, a difference, a ratio or a change, with its confidence interval.",
            ),
            tag("thead", tag("tr", [tag("th", name, scope="col", role="columnheader") for name in head], role="row")),
            tag("tbody", [_claim(entry, drawn, beside) for entry in shown], role="rowgroup"),
            class_="scorecard",
            role="table",
        ),
        tag("p", "No claim fits these filters.", class_="nothing", hidden=True),
    )
    brief = f"All {several(len(verdicts), 'claim')} in one table, to search and to filter."
    return parts.part("scorecard", "Scorecard", body, brief=brief)


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


def _claim(entry: Entry, drawn: Sequence[Drawn], beside: bool) -> Html:
    v = entry.verdict
    seen = [tag("a", each.number, href=f"#{each.id}") for each in figures_of(v, drawn)]
    return tag(
        "tr",
        tag("th", tag("a", v.id, href=f"#{address(v)}", class_="id"), mark(v), scope="row", role="rowheader"),
        tag("td", v.says, class_="says", role="cell"),
        tag("td", v.published, class_="shown", data_of="published", role="cell"),
        tag("td", measured(v), class_="shown", data_of="measured", role="cell"),
        tag("td", chip(v.verdict), _beside(entry) if beside else None, role="cell"),
        tag("td", [joined(" " if k else None, link) for k, link in enumerate(seen)] or NOTHING, role="cell"),
        data_paper=v.paper,
        data_verdict=CLASSES.get(v.verdict, "open"),
        role="row",
    )


def _beside(entry: Entry) -> Html | None:
    """What a quick run adds, in two words."""
    words = {SAME: "quick run agrees", TOO_FEW: "quick run: too few", NEW: "quick run decides it"}
    if entry.agreement == CONTRADICTS:
        return tag("strong", "quick run contradicts", class_="seeds")
    return tag("span", words[entry.agreement], class_="soft seeds") if entry.now else None


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
