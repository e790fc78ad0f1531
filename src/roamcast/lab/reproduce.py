"""The papers' own experiments, run and judged: campaigns for every figure, then the scorecard.

All experiments are one job: their runs are pooled (figures share many), done once, and separated again by the
`campaign` column of the tables, which is the experiment's name. At full scale every experiment that a claim looks at
is also run under the other readings of its paper, as `experiment@reading`, and claims that are not decided get further
seeds (deciding.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from roamcast.errors import InputError
from roamcast.judging import judge, seeds, verdicts
from roamcast.judging.recounted import Recounted
from roamcast.judging.verdicts import Verdict
from roamcast.lab import campaign as campaigns
from roamcast.lab import deciding, plan
from roamcast.lab.conduct import conduct
from roamcast.lab.deciding import Deciding
from roamcast.lab.progress import Watcher
from roamcast.lab.recount import recount
from roamcast.lab.spark.engine import SparkEngine
from roamcast.lab.tables.folder import Folder
from roamcast.lab.tables.laboratory import Laboratory
from roamcast.papers import claims, experiments, joint
from roamcast.papers.claims import Claim
from roamcast.papers.experiments import LEAGUE, PAPERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from roamcast.lab.campaign import Campaign


class Reproduction(msgspec.Struct, frozen=True):
    """The result: the tables, a verdict for each claim, and which runs were counted again from their logs."""

    laboratory: Laboratory
    verdicts: list[Verdict]
    recounted: Recounted
    failed: int


def campaigns_of(names: Sequence[str], scale: str) -> list[Campaign]:
    """The campaigns behind experiments, in their order."""
    return [_understood(name, experiments.load(name).content(scale)) for name in names]


def sensitivity_of(names: Sequence[str]) -> list[Campaign]:
    """The same experiments under the other readings of their papers, as far as those change anything in them."""
    changes = []
    asked = {name for claim in claims.load() for name in claim.experiments()}
    for name in (name for name in names if name in asked):
        experiment = experiments.load(name)
        for change in joint.load(experiment.paper).changes:
            if not change.needs_runs or (change.experiments and name not in change.experiments):
                continue
            changed = _understood(name, experiment.content_under(change.name))
            as_it_is = _understood(name, {**experiment.content_under(change.name), "reading": ""})
            if _decisive(changed) != _decisive(as_it_is):
                changes.append(changed)
    return changes


def _decisive(campaign: Campaign) -> list[tuple[Any, ...]]:
    return [(cell.protocol, cell.params, cell.scenario) for cell in campaign.cells]


def _understood(name: str, content: dict[str, Any]) -> Campaign:
    try:
        return campaigns.understood(content)
    except InputError as error:
        raise InputError(f"experiment {name}: {error}") from None


def reproduce(
    papers: list[str] | None, scale: str, path: Path, spark: SparkSession, watcher: Watcher | None = None
) -> Reproduction:
    """Run what is left to run of the papers' experiments at this scale, and judge their claims."""
    names = experiments.names(papers)
    own = campaigns_of(names, scale)
    asked = claims_of(names)
    full = scale == "full"
    engine = SparkEngine(spark)
    folder = Folder(path, path.parent / "shared")
    conduct(
        [*own, *(sensitivity_of(names) if full else [])],
        folder,
        engine,
        watcher,
        extend=True,
        further=Deciding(asked, own) if full else None,
    )
    laboratory = Laboratory(path, spark)
    metrics = rows(laboratory)
    recounted = recount(own, metrics, folder, engine, watcher or Watcher())
    scorecard = judge.scorecard(asked, metrics)
    verdicts.write(scorecard, scale, path)
    failed = sum(row["status"] == "failed" for row in laboratory.rows("runs"))
    return Reproduction(laboratory, scorecard, recounted, failed)


def claims_of(names: Iterable[str]) -> list[Claim]:
    """Of the papers that the experiments come from."""
    papers = {experiments.load(name).paper for name in names}
    return [claim for claim in claims.load() if claim.paper in papers]


def rows(laboratory: Laboratory) -> dict[str, list[dict[str, Any]]]:
    """The metrics table by experiment. It has a row a run: small, whatever the runs' logs are."""
    by_campaign: dict[str, list[dict[str, Any]]] = {}
    for row in laboratory.rows("metrics"):
        by_campaign.setdefault(row["campaign"], []).append(row)
    return by_campaign


# ---- what it will take


class Outlook(msgspec.Struct, frozen=True):
    """Runs, and processor seconds as estimated: of the experiments, under other readings, and for deciding at most."""

    paper: str
    runs: int
    cost_s: float
    other_runs: int
    other_cost_s: float
    deciding_runs: int
    deciding_cost_s: float


def outlook(papers: list[str] | None, scale: str) -> list[Outlook]:
    """What a reproduction will take, paper by paper, if nothing of it is done yet."""
    names = experiments.names(papers)
    outlooks = []
    for paper in [*PAPERS, LEAGUE]:
        mine = [name for name in names if name.startswith(f"{paper}/")]
        if mine:
            outlooks.append(_outlook(paper, mine, scale))
    return outlooks


def _outlook(paper: str, names: list[str], scale: str) -> Outlook:
    own = campaigns_of(names, scale)
    planned = {run.id: run.cost_s for campaign in own for run in plan.runs(campaign)}
    others: dict[str, float] = {}
    most: dict[str, float] = {}
    if scale == "full":
        others = {run.id: run.cost_s for campaign in sensitivity_of(names) for run in plan.runs(campaign)}
        most = {run.id: run.cost_s for claim in claims_of(names) for run in _at_most(claim, own)}
    others = {id: cost for id, cost in others.items() if id not in planned}
    most = {id: cost for id, cost in most.items() if id not in planned}
    return Outlook(
        paper, len(planned), sum(planned.values()), len(others), sum(others.values()), len(most), sum(most.values())
    )


def _at_most(claim: Claim, own: Sequence[Campaign]) -> list[plan.Run]:
    """The runs of a claim that takes all the seeds it may."""
    by_name = {campaign.name: campaign for campaign in own}
    runs: list[plan.Run] = []
    for check in claim.check:
        campaign = by_name.get(check.get("experiment", ""))
        if campaign is not None:
            most = campaign.more_seeds(seeds.limit(claim, len(campaign.seeds)))
            runs += plan.runs(campaign, dict.fromkeys(deciding.cells_of(check, campaign), most))
    return runs
