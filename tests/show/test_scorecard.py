"""The claims for people: the full campaign's verdicts, and a quick run beside them."""

from __future__ import annotations

import pytest

from roamcast.judging import kept
from roamcast.judging.kept import Kept
from roamcast.judging.verdicts import NOT, OPEN, REPRODUCED, Other
from roamcast.papers import joint
from roamcast.papers.joint import Change, Joint, Part
from roamcast.show import claims, scorecard
from roamcast.show.claims import Drawn
from tests.show.made_up import verdict

MADE = kept.Made("0.1.0", "0.1.0+abc", "2026-01-31", 12345, 600.0)
BEFORE = [
    verdict("B1", "baldoni", REPRODUCED, calibration=True, unit="frames per delivery"),
    verdict("B2", "baldoni", NOT, evidence=["baldoni/fig11"]),
    verdict("F1", "baehni", REPRODUCED, others=[Other("a", "all beacon", REPRODUCED), Other("b", "slow", NOT)]),
    verdict("F2", "baehni", OPEN),
]
KEPT = Kept(MADE, kept.counted(BEFORE), BEFORE)
NOW = [
    verdict("B1", "baldoni", REPRODUCED),
    verdict("B2", "baldoni", REPRODUCED, measured=0.9),
    verdict("F1", "baehni", OPEN),
    verdict("F2", "baehni", NOT),
]
FIGURES = [
    Drawn("baldoni/fig9", "fig-9", "Fig. 9", "baldoni"),
    Drawn("baldoni/fig11", "fig-11", "Fig. 11", "baldoni"),
    Drawn("baehni/fig11", "fig-b11", "Fig. 11", "baehni"),
]


def test_the_headline_is_the_full_campaigns_and_says_what_the_quick_run_adds() -> None:
    text = scorecard.headline(claims.entries(NOW, KEPT, full=False), KEPT)
    assert "2 of 4<small> claims reproduce" in text
    assert "full campaign of 2026-01-31 (12,345 runs, version 0.1.0)" in text
    assert "1 agree, 1 have too few runs to tell, 1 decide what was open; <strong>1 contradict it</strong>" in text


def test_claims_that_the_world_was_chosen_on_are_counted_apart() -> None:
    text = scorecard.headline(claims.entries(BEFORE, None, full=True), None)
    assert "on 1 claim, of which 1 hold; of the 3 other claims, which had no part in the choice, 1 hold" in text


def test_a_full_campaign_stands_for_itself() -> None:
    listed = claims.entries(NOW, KEPT, full=True)
    assert [entry.verdict for entry in listed] == NOW and all(entry.now is None for entry in listed)
    assert "full campaign of" not in scorecard.headline(listed, KEPT)
    assert "this quick run" not in scorecard.scorecard(listed, FIGURES)


def test_a_claim_that_was_never_kept_shows_this_run() -> None:
    fresh = verdict("X9", "baldoni", NOT)
    (listed,) = claims.entries([fresh], KEPT, full=False)
    assert (listed.verdict, listed.now) == (fresh, None)


def test_a_row_shows_unit_verdict_and_what_the_quick_run_says() -> None:
    text = scorecard.scorecard(claims.entries(NOW, KEPT, full=False), FIGURES)
    assert "0.700</span> frames per delivery" in text
    assert "quick run contradicts" in text and "quick run: too few" in text and "quick run decides it" in text
    assert text.count('class="mark">calibration') == 2  # in the explanation, and on the claim


def test_a_claim_in_full_shows_other_readings_and_the_quick_runs_own_number() -> None:
    shown = [claims.claim(entry, []) for entry in claims.entries(NOW, KEPT, full=False)]
    assert "holds under 1 of 2" in shown[2] and "all beacon: reproduced" in shown[2]
    assert "contradicts: reproduced, 0.900" in shown[1]
    assert "too few runs" in shown[2] and "decides it: not reproduced" in shown[3]


def test_a_claim_leads_to_the_figure_it_is_about() -> None:
    text = scorecard.scorecard(claims.entries(BEFORE, None, full=True), FIGURES)
    row = text[text.index('href="#claim-B2"') :]
    assert '<a href="#fig-11">Fig. 11</a>' in row[: row.index("</tr>")]


def test_a_claim_without_an_experiment_is_about_the_figure_that_the_paper_names() -> None:
    model = verdict("B14", "baldoni", REPRODUCED, where="§V, Fig. 9")
    assert [each.id for each in claims.figures_of(model, FIGURES)] == ["fig-9"]
    assert claims.figures_of(verdict("C3", "costa", REPRODUCED, where="§IV"), FIGURES) == []


def test_a_claim_that_fails_shows_its_cause_and_the_other_figures() -> None:
    text = claims.claim(claims.Entry(BEFORE[1]), FIGURES[:1])
    assert "the medium is too good" in text and '<a href="#fig-9">Fig. 9</a>' in text
    assert "the medium is too good" not in claims.claim(claims.Entry(BEFORE[0]), [])


def test_a_world_shows_its_parts_and_what_each_is_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    back = Change("all-beacon", "all beacon", params={"proximity": {"beaconers": "all"}})
    other = Change("slow", "slow nodes", "they may be", world={"speed_max_mps": 1.0})
    part = Part("few-beacon", "few beacon", "the sum", back)
    whole = Joint("baldoni", ["B4"], "On one claim.", [part, Part("x", "idle", "y", Change("z", "z"))], [other])
    monkeypatch.setattr(joint, "load", lambda _: whole)
    lost = [verdict("B1", "baldoni", REPRODUCED, others=[Other("all-beacon", "all beacon", NOT, "few-beacon")])]
    text = scorecard.world("baldoni", lost) or ""
    assert "few beacon" in text and "the sum" in text and "costs 1 claim; B1 refuted" in text
    assert "On one claim. Claims it was chosen on: B4." in text
    assert "slow nodes (slow)" in text
    idle = [verdict("B1", "baldoni", REPRODUCED, others=[Other("z", "z", REPRODUCED, "x")])]
    assert "costs 0 claims" in (scorecard.world("baldoni", idle) or "")
