"""The scorecard: each claim of the papers against the measurements.

A claim is judged in the world of its paper's joint reading (papers/joint.py): it is reproduced if all its checks hold,
not reproduced if one fails, and not decidable if the runs are too few. Then the same checks are made under every other
reading that changes something they use; the verdict does not depend on these, and states how many agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from roamcast.judging import checks
from roamcast.judging.answers import Answer, unanswered
from roamcast.judging.runs import Spec
from roamcast.judging.student import ALPHA
from roamcast.judging.verdicts import NOT, OPEN, REPRODUCED, Other, Verdict
from roamcast.log.metric import Row
from roamcast.papers import experiments, joint
from roamcast.papers.claims import Claim
from roamcast.papers.experiments import UNDER
from roamcast.papers.joint import Change, Joint

Runs = Mapping[str, Sequence[Row]]
"""The finished runs, rows of the metrics table, by experiment, and by experiment@reading under other readings."""


def scorecard(claims: Sequence[Claim], runs: Runs) -> list[Verdict]:
    """One verdict for each claim."""
    return [judge(claim, runs, joint.load(claim.paper)) for claim in claims]


def judge(claim: Claim, runs: Runs, whole: Joint) -> Verdict:
    """`whole` is the joint reading of the claim's paper."""
    answers = answered(claim, runs)
    shown = _telling(answers)
    holds = decided(answers)
    return Verdict(
        id=claim.id,
        paper=claim.paper,
        where=claim.where,
        says=claim.says,
        published=claim.published,
        unit=claim.unit,
        verdict=_verdict(holds),
        measured=shown.measured,
        low=shown.low,
        high=shown.high,
        seeds=shown.seeds,
        reading=whole.name,
        calibration=claim.id in whole.calibration,
        why="" if holds else f"{shown.asks}: {shown.why}" if shown.why else shown.asks,
        caveat=claim.caveat,
        cause="" if holds else claim.cause,
        evidence=claim.shown_by(),
        others=_others(claim, runs, whole),
        answers=answers,
    )


def answered(claim: Claim, runs: Runs, change: Change | None = None) -> list[Answer]:
    """The answers of the runs to all questions of a claim, under the joint reading or under a change of it."""
    return [answer for check in claim.check for answer in asked(claim, check, runs, change)]


def asked(claim: Claim, check: Spec, runs: Runs, change: Change | None = None) -> list[Answer]:
    """The answers to one check of a claim."""
    experiment = check.get("experiment", "")
    if change is not None and _reaches(change, experiment):
        check = checks.counted_as(check, change.metrics)
        changed = f"{experiment}{UNDER}{change.name}"
        experiment = changed if changed in runs else experiment  # a change that alters no run was not run
    if experiment and experiment not in runs:
        return [unanswered(experiment, f"{experiment} was not run")]
    return checks.answers(check, runs.get(experiment, []), ALPHA / len(claim.check))


def decided(answers: Sequence[Answer]) -> bool | None:
    held = [answer.holds for answer in answers]
    return False if False in held else None if None in held else True


def _verdict(holds: bool | None) -> str:
    return OPEN if holds is None else REPRODUCED if holds else NOT


def _others(claim: Claim, runs: Runs, whole: Joint) -> list[Other]:
    parts = {part.back.name: part.name for part in whole.part}
    return [
        Other(change.name, change.says, _verdict(decided(answered(claim, runs, change))), parts.get(change.name, ""))
        for change in whole.changes
        if _concerns(change, claim, runs)
    ]


def _concerns(change: Change, claim: Claim, runs: Runs) -> bool:
    """Whether the claim can be judged under the change, and the change alters anything that its checks use.

    A change that was run in some experiments only cannot be judged for a claim that also uses others.
    """
    looked_at = claim.experiments()
    if change.experiments and not set(looked_at) <= set(change.experiments):
        return False
    if change.needs_runs:
        return any(f"{experiment}{UNDER}{change.name}" in runs for experiment in looked_at)
    known = [check for check in claim.check if check.get("experiment", "") in runs]
    return any(
        _reaches(change, check["experiment"]) and checks.counted_as(check, change.metrics) != check for check in known
    )


def _reaches(change: Change, experiment: str) -> bool:
    """Whether the change is meant for the preset of an experiment."""
    return experiment in experiments.names() and change.applies_to(experiments.load(experiment).campaign["preset"])


def _telling(answers: Sequence[Answer]) -> Answer:
    """The answer that decided: the first that fails, otherwise the first undecided one, otherwise the first."""
    for wanted in (False, None):
        for answer in answers:
            if answer.holds is wanted:
                return answer
    return answers[0]
