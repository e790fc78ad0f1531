"""The pages of findings show the kept scorecard; they cannot drift. UPDATE_DOCS=1 writes their tables anew."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from roamcast.judging import kept
from roamcast.judging.kept import Ablation, Kept
from roamcast.judging.verdicts import VERDICTS, Verdict
from roamcast.papers import experiments
from roamcast.papers.experiments import PAPERS
from roamcast.show.numbers import interval
from tests.docs.pages import ROOT, UPDATE
from tests.docs.test_reference import table

PLACE = ROOT / "docs" / "explanation"
BEGIN, END = "<!-- scorecard -->", "<!-- /scorecard -->"


def whole() -> Kept:
    scorecard = kept.load()
    assert scorecard is not None
    return scorecard


def shown(page: Path, made: str) -> None:
    """The page's own table is the one made here."""
    text = page.read_text(encoding="utf-8")
    assert text.count(BEGIN) == 1, page
    block = re.compile(rf"{BEGIN}.*?{END}|{BEGIN}", re.DOTALL)
    fresh = block.sub(lambda _: f"{BEGIN}\n\n{made}\n{END}", text)
    if UPDATE:
        page.write_text(fresh, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == fresh, f"{page} is out of date: UPDATE_DOCS=1 pytest tests/docs"


def claims_table(verdicts: Sequence[Verdict]) -> str:
    rows = []
    for v in verdicts:
        unit = f" {v.unit}" if v.unit and v.measured is not None else ""
        others = f"{v.agreeing} of {len(v.others)}" if v.others else "–"
        mark = " (calibration)" if v.calibration else ""
        rows.append(
            [f"{v.id}{mark}", v.says, v.published, f"{interval(v.measured, v.low, v.high)}{unit}", v.verdict, others]
        )
    return table(["claim", "the paper says", "published", "measured", "verdict", "other readings"], rows)


def ablation_table(ablations: Sequence[Ablation]) -> str:
    rows = [
        [
            a.part,
            a.instead,
            str(a.costs),
            *(a.named(ids) or "–" for ids in (a.refuted, a.undecided, a.held, a.gained)),
        ]
        for a in ablations
    ]
    head = ["part", "put back to", "costs", "then refuted", "then undecided", "holds all the same", "holds only then"]
    return table(head, rows)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_papers_page_shows_its_kept_verdicts(paper: str) -> None:
    mine = [v for v in whole().claims if v.paper == paper]
    made = claims_table(mine) + "\nEach part of the joint reading, put back to what it was before:\n\n"
    shown(PLACE / "findings" / f"{paper}.md", made + ablation_table(kept.ablations(mine)))


def test_the_overview_counts_the_kept_verdicts_by_paper() -> None:
    scorecard = whole()
    rows = [
        [f"[{experiments.cited(paper)}](findings/{paper}.md)", *(str(counts[name]) for name in VERDICTS)]
        for paper, counts in scorecard.counts.papers.items()
    ]
    counts = scorecard.counts
    sums = {
        "all": counts.all,
        "… on which joint readings were chosen": counts.in_sample,
        "… all others": counts.out_of_sample,
        "as first written down (split claims together, added ones left out)": counts.original,
    }
    rows += [[name, *(str(counts[verdict]) for verdict in VERDICTS)] for name, counts in sums.items()]
    made = scorecard.made
    line = (
        f"Full campaign of {made.date}, version {made.version}: {made.runs:,} runs, "
        f"{made.processor_s / 60:.0f} minutes of processor time.\n\n"
    )
    shown(PLACE / "findings.md", line + table(["paper", *VERDICTS], rows))


def test_the_first_page_counts_as_the_scorecard_does() -> None:
    scorecard = whole()
    holding, failing, open_ = ([v.verdict for v in scorecard.claims].count(name) for name in VERDICTS)
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert (
        f"The papers make {len(scorecard.claims)} claims that can be checked. After {scorecard.made.runs:,} runs"
        in text
    )
    assert f"{holding} hold under one stated world for each paper, {failing} do not, {open_} are open" in text
