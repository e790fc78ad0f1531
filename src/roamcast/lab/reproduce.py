"""The papers' own experiments, run and judged: campaigns for every figure, then the scorecard.

All experiments are one job: their runs are pooled (figures share many), done once, and told apart again by the
`campaign` column of the tables, which is the experiment's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from roamcast.errors import InputError
from roamcast.lab import campaign as campaigns
from roamcast.lab import judge
from roamcast.lab.conduct import Watcher, conduct
from roamcast.lab.folder import Folder
from roamcast.lab.judge import Verdict
from roamcast.lab.laboratory import Laboratory
from roamcast.papers import claims, experiments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from roamcast.lab.campaign import Campaign


class Reproduction(msgspec.Struct, frozen=True):
    """What came of it: the tables, and a verdict for each claim."""

    laboratory: Laboratory
    verdicts: list[Verdict]
    failed: int


def campaigns_of(names: Sequence[str], scale: str) -> list[Campaign]:
    """The campaigns behind experiments, in their order."""
    found = []
    for name in names:
        try:
            found.append(campaigns.understood(experiments.load(name).content(scale)))
        except InputError as error:
            raise InputError(f"experiment {name}: {error}") from None
    return found


def reproduce(
    papers: list[str] | None, scale: str, path: Path, spark: SparkSession, watcher: Watcher | None = None
) -> Reproduction:
    """Run what is left to run of the papers' experiments at this scale, and judge their claims."""
    names = experiments.names(papers)
    folder = Folder(path, path.parent / "log")
    laboratory = conduct(campaigns_of(names, scale), folder, spark, watcher, extend=True)
    asked = {experiments.load(name).paper for name in names}
    verdicts = judge.scorecard([c for c in claims.load() if c.paper in asked], rows(laboratory))
    judge.write(verdicts, path)
    return Reproduction(laboratory, verdicts, laboratory.runs.where("status = 'failed'").count())


def rows(laboratory: Laboratory) -> dict[str, list[dict[str, Any]]]:
    """The metrics table by experiment. It has a row a run: small, whatever the runs' logs are."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in laboratory.metrics.collect():
        found.setdefault(row.campaign, []).append(row.asDict())
    return found
