"""How far a campaign is: reported to a watcher while it runs, and read from its folder at any other time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from roamcast.lab import plan

if TYPE_CHECKING:
    from roamcast.lab.tables.folder import Folder  # loads Arrow, which those who only watch do without


class Watcher:
    """Is called while a campaign runs. This one does nothing; others show it to people."""

    def stage(self, what: str) -> None:
        """Something that takes a while begins."""

    def runs(self, total: int, done: int) -> None:
        """Simulations begin: `total` runs, of which `done` were done before."""

    def progress(self, done: int, cost_done_s: float, cost_left_s: float) -> None:
        """So many runs have ended; costs are as planned, in processor seconds."""

    def warn(self, line: str) -> None:
        """Something went wrong that is being seen to."""


class Status(msgspec.Struct, frozen=True):
    campaigns: list[str]
    planned: int
    finished: int
    failed: dict[str, dict[str, Any]]
    measured: bool


def status(folder: Folder) -> Status:
    """How far the campaigns in a folder are, without Spark. Runs that `until` may add are not known before they are."""
    campaigns = folder.campaigns()
    wanted = {run.id for campaign in campaigns for run in plan.runs(campaign)}
    finished, failed = folder.finished(), folder.failures()
    return Status(
        campaigns=[campaign.name for campaign in campaigns],
        planned=len(wanted),
        finished=len(wanted & finished),
        failed={run: record for run, record in failed.items() if run in wanted},
        measured=folder.has_tables(),
    )
