"""The verdicts of the full campaign, beside those of a quick run."""

from __future__ import annotations

import pytest

from roamcast.judging import kept
from roamcast.judging.verdicts import NOT, OPEN, REPRODUCED, VERDICTS, Other
from roamcast.papers import claims, joint
from roamcast.papers.experiments import PAPERS
from roamcast.papers.joint import Change, Closer, Joint, Part
from tests.show.made_up import verdict

MADE = kept.Made("0.1.0", "0.1.0+abc", "2026-01-31", 1234, 600.0)


def test_kept_verdicts_are_read_back_with_the_texts_of_the_claims() -> None:
    others = [Other("all-beacon", "all beacon", NOT, "few-beacon")]
    verdicts = [
        verdict("B1", "baldoni", REPRODUCED, others=others),
        verdict("B2", "baldoni", NOT),
        verdict("X9", "baldoni", NOT),
    ]
    text = kept.keep(verdicts, MADE)
    assert kept.keep(verdicts, MADE) == text
    scorecard = kept.parse(text)
    assert scorecard.made == MADE
    assert [(claim.id, claim.verdict) for claim in scorecard.claims] == [
        ("B1", REPRODUCED),
        ("B2", NOT),
    ]  # X9 is not a claim
    assert scorecard.claims[0].others == others and scorecard.claims[0].measured == verdicts[0].measured
    known = {claim.id: claim for claim in claims.load()}
    assert [claim.says for claim in scorecard.claims] == [known["B1"].says, known["B2"].says]
    assert (scorecard.claims[0].cause, scorecard.claims[1].cause) == ("", known["B2"].cause)


def test_claims_are_counted_by_verdict_sample_and_paper() -> None:
    scorecard = kept.counted(
        [
            verdict("B1", "baldoni", REPRODUCED, calibration=True),
            verdict("B2", "baldoni", NOT),
            verdict("F1", "baehni", REPRODUCED),
        ]
    )
    assert scorecard.all == {REPRODUCED: 2, NOT: 1, OPEN: 0}
    assert scorecard.in_sample == {REPRODUCED: 1, NOT: 0, OPEN: 0}
    assert scorecard.out_of_sample == {REPRODUCED: 1, NOT: 1, OPEN: 0}
    assert scorecard.papers["baehni"] == {REPRODUCED: 1, NOT: 0, OPEN: 0}


def test_a_split_claim_counts_once_and_holds_if_all_its_parts_do() -> None:
    known = {claim.id: claim for claim in claims.load()}
    assert (known["B10b"].part_of, known["B15"].added) == ("B10", True)

    def original(**verdicts: str) -> dict[str, int]:
        return kept.counted([verdict(id, "baldoni", name) for id, name in verdicts.items()]).original

    assert original(B10=REPRODUCED, B10b=REPRODUCED, B10c=REPRODUCED) == {REPRODUCED: 1, NOT: 0, OPEN: 0}
    assert original(B10=REPRODUCED, B10b=NOT, B10c=OPEN) == {REPRODUCED: 0, NOT: 1, OPEN: 0}
    assert original(B10=REPRODUCED, B10b=OPEN, B1=REPRODUCED) == {REPRODUCED: 1, NOT: 0, OPEN: 1}
    assert original(B15=REPRODUCED, B1=NOT) == {REPRODUCED: 0, NOT: 1, OPEN: 0}


def test_a_verdict_about_other_checks_is_not_shown() -> None:
    text = kept.keep([verdict("B1", "baldoni", REPRODUCED), verdict("B2", "baldoni", NOT)], MADE).decode()
    (claim,) = [claim for claim in claims.load() if claim.id == "B1"]
    changed = text.replace(claim.digest(), "0123456789abcdef")
    assert changed != text
    assert [claim.id for claim in kept.parse(changed.encode()).claims] == ["B2"]


@pytest.mark.parametrize(
    ("before", "now", "says"),
    [
        (REPRODUCED, REPRODUCED, kept.SAME),
        (REPRODUCED, NOT, kept.CONTRADICTS),
        (NOT, REPRODUCED, kept.CONTRADICTS),
        (NOT, OPEN, kept.TOO_FEW),
        (OPEN, OPEN, kept.SAME),
        (OPEN, NOT, kept.NEW),
    ],
)
def test_a_quick_run_agrees_contradicts_or_is_undecided(before: str, now: str, says: str) -> None:
    assert kept.agreement(verdict("B1", "baldoni", before), verdict("B1", "baldoni", now)) == says


def test_an_ablation_lists_claims_that_fail_without_a_part_and_claims_that_hold_only_then() -> None:
    def under(id: str, joint: str, back: str) -> object:
        others = [Other("all-beacon", "all beacon", back, "few-beacon"), Other("slow", "slow", NOT)]
        return verdict(id, "baldoni", joint, others=others)

    rows = [("B1", REPRODUCED, NOT), ("B2", NOT, REPRODUCED), ("B3", REPRODUCED, OPEN), ("B4", REPRODUCED, REPRODUCED)]
    rows += [("B5", OPEN, REPRODUCED), ("B6", NOT, OPEN)]
    (scorecard,) = kept.ablations([under(*row) for row in rows])  # type: ignore[misc]
    assert (scorecard.paper, scorecard.part, scorecard.instead) == ("baldoni", "few-beacon", "all beacon")
    assert (scorecard.refuted, scorecard.undecided, scorecard.gained) == (["B1"], ["B3"], ["B2", "B5"])
    assert scorecard.costs == 2


def test_an_ablation_counts_what_more_seeds_decided_and_not_what_the_campaign_decided_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = {
        "B1": Closer(NOT, 300, "0.5"),
        "B2": Closer(REPRODUCED, 1200, "0.7"),
        "B4": Closer(REPRODUCED, 90, "0.7"),
        "B5": Closer(REPRODUCED, 90, "0.7"),
    }
    part = Part("few-beacon", "few beacon", "the sum", Change("all-beacon", "all beacon"), looks)
    monkeypatch.setattr(joint, "load", lambda _: Joint("baldoni", [], "", [part]))
    rows = [("B1", REPRODUCED, OPEN), ("B2", REPRODUCED, OPEN), ("B3", REPRODUCED, OPEN)]
    rows += [("B4", REPRODUCED, NOT), ("B5", OPEN, OPEN)]
    verdicts = [
        verdict(id, "baldoni", before, others=[Other("all-beacon", "all beacon", back, "few-beacon")])
        for id, before, back in rows
    ]
    (ablation,) = kept.ablations(verdicts)
    assert (ablation.refuted, ablation.undecided, ablation.held, ablation.gained) == (["B1", "B4"], ["B3"], ["B2"], [])
    assert ablation.costs == 3
    assert ablation.named(["B1", "B2", "B4"]) == "B1 (300 seeds), B2 (1,200 seeds), B4"


# ---- the file in the package


def test_the_kept_scorecard_has_the_present_claims() -> None:
    scorecard = kept.load()
    assert scorecard is not None
    assert [claim.id for claim in scorecard.claims] == [
        claim.id for claim in claims.load()
    ]  # and each has the same checks
    assert sum(scorecard.counts.original.values()) == 82
    assert scorecard.counts == kept.counted(scorecard.claims)
    assert scorecard.made.runs > 10_000


def test_every_claim_that_does_not_hold_has_a_cause() -> None:
    causes = {claim.id: claim.cause for claim in claims.load()}
    scorecard = kept.load()
    assert scorecard is not None
    for claim in scorecard.claims:
        if claim.verdict != REPRODUCED:
            assert causes[claim.id].strip(), claim.id


def test_every_part_of_a_joint_reading_is_needed_by_at_least_one_claim() -> None:
    """A part whose undoing costs no claim must be removed. If claims are only undecided without it, the campaign may
    have had too few seeds: they must be refuted, or still undecided, with as many as the claim may take (`closer`)."""
    whole = kept.load()
    assert whole is not None
    ablations = kept.ablations(whole.claims)
    assert {(each.paper, each.part) for each in ablations} == {
        (paper, part.name) for paper in PAPERS for part in joint.load(paper).part
    }
    lost = {each.part: {*each.refuted, *(each.seeds.keys() & each.undecided)} for each in ablations}
    assert [part for part, ids in lost.items() if not ids] == []


def test_claims_that_were_looked_at_more_closely_were_undecided_in_the_campaign() -> None:
    """Otherwise the closer look is out of date: the campaign has decided, or asks something else."""
    whole = kept.load()
    assert whole is not None
    shown = {each.part: set(each.seeds) for each in kept.ablations(whole.claims)}
    for part in (part for paper in PAPERS for part in joint.load(paper).part):
        assert set(part.closer) == shown[part.name], part.name
        assert {look.verdict for look in part.closer.values()} <= {*VERDICTS}
