"""Further runs for claims that the runs so far do not decide. How many seeds are worth it: judging/seeds.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from roamcast.judging import checks, judge, seeds
from roamcast.judging.runs import Spec
from roamcast.lab import plan
from roamcast.lab.campaign import Campaign
from roamcast.lab.plan import Run
from roamcast.lab.tables.rows import of_cell, of_metrics
from roamcast.papers.claims import Claim


class Deciding:
    """Asks for further runs of the campaigns that undecided claims look at."""

    def __init__(self, claims: Iterable[Claim], campaigns: Iterable[Campaign]) -> None:
        self._claims = [*claims]
        self._campaigns = {campaign.name: campaign for campaign in campaigns}
        self._seeds = {campaign.name: len(campaign.seeds) for campaign in self._campaigns.values()}

    def __call__(self, wanted: Sequence[Run], tallies: Mapping[str, Mapping[str, Any]]) -> list[Run]:
        runs: dict[str, list[dict[str, Any]]] = {}
        have: dict[tuple[str, int], int] = {}
        for run in wanted:
            cell = (run.campaign.name, run.place)
            have[cell] = have.get(cell, 0) + 1
            if run.id in tallies:
                runs.setdefault(run.campaign.name, []).append(of_metrics(run, tallies[run.id]))
        count: dict[tuple[str, int], int] = {}
        for claim in self._claims:
            for cell, needed in self._needed(claim, runs):
                count[cell] = max(needed, count.get(cell, 0))
        return [run for cell, needed in count.items() for run in self._runs(*cell, have[cell], needed)]

    def _runs(self, name: str, place: int, have: int, needed: int) -> list[Run]:
        campaign = self._campaigns[name]
        return plan.runs(campaign, {place: campaign.more_seeds(needed)[have:]})

    def _needed(self, claim: Claim, runs: judge.Runs) -> Iterator[tuple[tuple[str, int], int]]:
        """(campaign, cell) and how many seeds it should have, for the checks that keep a claim undecided."""
        for check, count in seeds.wanted(claim, runs, self._seeds):
            campaign = self._campaigns[check["experiment"]]
            for place in cells_of(check, campaign):
                yield (campaign.name, place), count


def cells_of(check: Spec, campaign: Campaign) -> list[int]:
    """The places of the cells that a check looks at."""
    return [place for place in range(len(campaign.cells)) if checks.looks_at(check, of_cell(campaign, place))]
