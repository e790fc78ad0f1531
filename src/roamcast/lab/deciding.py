"""Further seeds for claims that the runs so far do not decide.

An answer that is too close to its limit says about how many seeds would decide it. Its cells get so many, up to the
limit of the claim, and the claim is judged again. Where even the limit would hardly do, none are spent: the scorecard
says how many it would take.

Looking again is a second chance to be wrong. By simulation of this rule, with the truth exactly on a limit, a claim
that gets further seeds is wrongly decided in one case of ten instead of one of twenty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any

from roamcast.lab import checks, judge, plan
from roamcast.lab.campaign import Campaign
from roamcast.lab.checks import Spec
from roamcast.lab.conduct import row, texts
from roamcast.lab.plan import Run
from roamcast.papers.claims import Claim

TIMES = 4
"""A claim may take so many times the seeds of its experiment, unless it says otherwise."""
SPARE = 1.15
"""An estimate of how many it takes is only an estimate."""
HOPELESS = 2.0
"""Times the limit: an estimate above that is not worth trying."""


class Deciding:
    """Asks for further runs of the campaigns that undecided claims look at."""

    def __init__(self, claims: Iterable[Claim], campaigns: Iterable[Campaign]) -> None:
        self._claims = [*claims]
        self._campaigns = {campaign.name: campaign for campaign in campaigns}

    def __call__(self, wanted: Sequence[Run], counted: Mapping[str, Mapping[str, Any]]) -> list[Run]:
        runs: dict[str, list[dict[str, Any]]] = {}
        have: dict[tuple[str, int], int] = {}
        for run in wanted:
            at = (run.campaign.name, run.place)
            have[at] = have.get(at, 0) + 1
            if run.id in counted:
                runs.setdefault(run.campaign.name, []).append(row(run, counted[run.id]))
        asked: dict[tuple[str, int], int] = {}
        for claim in self._claims:
            for at, seeds in self._wanted(claim, runs):
                asked[at] = max(seeds, asked.get(at, 0))
        return [run for at, seeds in asked.items() for run in self._runs(*at, have[at], seeds)]

    def _runs(self, name: str, place: int, have: int, seeds: int) -> list[Run]:
        campaign = self._campaigns[name]
        return plan.runs(campaign, {place: campaign.more_seeds(seeds)[have:]})

    def _wanted(self, claim: Claim, runs: judge.Runs) -> Iterator[tuple[tuple[str, int], int]]:
        """(campaign, cell) and how many seeds it should have, for what keeps a claim from being decided."""
        if judge.decided(judge.answered(claim, runs)) is not None:
            return
        wanted: list[tuple[tuple[str, int], int]] = []
        for check in claim.check:
            open_ = [answer for answer in judge.asked(claim, check, runs) if answer.holds is None]
            if not open_:
                continue
            campaign = self._campaigns.get(check.get("experiment", ""))
            seeds = _affordable([answer.needs for answer in open_], limit(claim, campaign)) if campaign else 0
            if campaign is None or not seeds:  # one question that stays open keeps the whole claim open
                return
            wanted += [((campaign.name, place), seeds) for place in cells_of(check, campaign)]
        yield from wanted


def limit(claim: Claim, campaign: Campaign) -> int:
    """How many seeds may be spent on a claim."""
    return max(len(campaign.seeds), claim.most_seeds or TIMES * len(campaign.seeds))


def cells_of(check: Spec, campaign: Campaign) -> list[int]:
    """The places of the cells that a check looks at."""
    return [place for place in range(len(campaign.cells)) if checks.looks_at(check, _as_row(campaign, place))]


def _affordable(needs: Sequence[int | None], most: int) -> int:
    """How many seeds to have, 0 if it is not worth trying."""
    known = [n for n in needs if n is not None and n <= HOPELESS * most]
    return min(most, ceil(SPARE * max(known))) if len(known) == len(needs) else 0


def _as_row(campaign: Campaign, place: int) -> dict[str, Any]:
    cell = campaign.cells[place]
    about = {"label": cell.label, "protocol": cell.protocol, "preset": campaign.preset, "campaign": campaign.name}
    return {**about, "params": dict(texts(cell.given)), "world": dict(texts(cell.world)), "nodes": cell.scenario.nodes}
