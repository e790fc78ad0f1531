"""A campaign from its file to its tables: plan, simulate, measure, summarise, and again where intervals are too wide.

The state is in the folder and nowhere else: whatever is finished there is not done again, so a campaign that was
killed goes on when it is started again, and one that ended only writes its tables again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from roamcast.errors import RoamcastError
from roamcast.judging.student import ALPHA, interval, values_for
from roamcast.lab import plan, summarise
from roamcast.lab.campaign import Campaign
from roamcast.lab.engine import WITH_FRAMES, Engine, Tallies
from roamcast.lab.plan import Run
from roamcast.lab.progress import Watcher
from roamcast.lab.tables import rows, schemas
from roamcast.lab.tables.folder import MOST_ATTEMPTS, Folder
from roamcast.lab.tables.write import write_table

POLL_S = 0.3
Further = Callable[[Sequence[Run], Mapping[str, Mapping[str, Any]]], list[Run]]
"""From the runs so far, and what they counted by run, to runs that are wanted besides."""


def conduct(
    campaigns: Sequence[Campaign],
    folder: Folder,
    engine: Engine,
    watcher: Watcher | None = None,
    *,
    extend: bool = False,
    retry: bool = False,
    further: Further | None = None,
) -> None:
    """Do what is left to do of one or more campaigns. `retry`: also runs that have failed.

    `further` may ask for more runs once it sees what the others gave, again and again until it asks for none.
    """
    watcher = watcher or Watcher()
    wanted = [run for campaign in campaigns for run in plan.runs(campaign)]  # what is wrong with it is known by now
    with folder.held():
        folder.claim(campaigns, extend)
        folder.tidy()
        if retry:
            folder.retry_failed()
        while True:
            tallies = complete(wanted, folder, engine, watcher)
            more = [run for campaign in campaigns for run in _more(campaign, wanted, tallies)]
            more += further(wanted, tallies) if further else []
            if not more and _write(wanted, tallies, folder, engine, watcher):
                break
            wanted = [*wanted, *more]
        folder.tidy()  # after workers that died


def complete(wanted: list[Run], folder: Folder, engine: Engine, watcher: Watcher) -> Tallies:
    """Have all wanted runs ended; what the finished ones counted, by run."""
    tallies: Tallies = {}
    while True:
        tallies |= _simulate(wanted, folder, engine, watcher)
        unread = sorted({run.id for run in wanted} & folder.finished() - tallies.keys())
        if unread:
            watcher.stage("reading what the runs counted")
        read, corrupt = engine.tallies(unread, folder)
        tallies |= read
        _put_aside(corrupt, folder, watcher)
        if not corrupt:
            return tallies


def _put_aside(corrupt: dict[str, str], folder: Folder, watcher: Watcher) -> None:
    for run, why in corrupt.items():
        place = folder.put_aside(run)
        watcher.warn(f"{why}; put aside as {place.name}, the run is done again")


def _simulate(wanted: list[Run], folder: Folder, engine: Engine, watcher: Watcher) -> Tallies:
    """Have all wanted runs ended; what those counted that the engine did not have to give up, by run."""
    tallies: Tallies = {}
    distinct = {run.id: run for run in wanted}  # campaigns may share runs
    ended = folder.ended()
    left = [run for id, run in distinct.items() if id not in ended]
    watcher.runs(len(distinct), len(distinct) - len(left))
    if not left:
        return tallies
    with _watched(folder, list(distinct.values()), watcher):
        while left:
            try:
                tallies |= engine.simulate(left, folder)
            except RoamcastError:
                for run in (run for run in left if run.id in folder.begun()):
                    _alone(run, folder, engine)
                if not folder.ended() & {run.id for run in left}:  # it would fail again
                    raise
            ended = folder.ended()
            left = [run for run in left if run.id not in ended]
    return tallies


def _alone(run: Run, folder: Folder, engine: Engine) -> None:
    """One of the runs that were under way when the engine gave up: if it kills workers, it takes no others with it
    now."""
    for _ in range(MOST_ATTEMPTS + 1):
        if run.id not in folder.ended():
            with suppress(RoamcastError):
                engine.simulate([run], folder)


@contextmanager
def _watched(folder: Folder, wanted: list[Run], watcher: Watcher) -> Iterator[None]:
    """Tell the watcher what has ended, while the engine is busy."""
    costs = {run.id: run.cost_s for run in wanted}
    before = folder.ended() & costs.keys()
    total_s = sum(costs.values()) - sum(costs[run] for run in before)
    over = threading.Event()

    def look() -> None:
        ended = folder.ended() & costs.keys()
        done_s = sum(costs[run] for run in ended - before)
        watcher.progress(len(ended), done_s, total_s - done_s)

    def keep_looking() -> None:
        pause_s = POLL_S
        while not over.wait(pause_s):
            began_s = time.monotonic()
            look()
            pause_s = max(POLL_S, 50 * (time.monotonic() - began_s))  # among many runs a look takes long

    thread = threading.Thread(target=keep_looking, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    look()


# ---- until it is tight enough


def _more(campaign: Campaign, wanted: list[Run], tallies: Tallies) -> list[Run]:
    """Runs with further seeds, for cells whose interval is still too wide."""
    until = campaign.until
    if until is None:
        return []
    seeds: dict[int, list[int]] = {}
    for k in range(len(campaign.cells)):
        mine = [run for run in wanted if run.campaign is campaign and run.place == k]
        values = [tallies[run.id][until.metric] for run in mine if run.id in tallies]
        estimate = interval([value for value in values if value is not None], ALPHA)
        width = None if estimate is None else estimate[2] - estimate[0]
        if len(mine) < until.max_seeds and (width is None or width > until.half_width):
            count = min(until.max_seeds, _needed(len(mine), width, until.half_width))
            seeds[k] = campaign.more_seeds(count)[len(mine) :]
    return plan.runs(campaign, seeds) if seeds else []


def _needed(n: int, width: float | None, asked: float) -> int:
    """About how many it takes; never more than twice as many at a time, because a width is only an estimate."""
    if width is None:
        return max(2, 2 * n)
    return min(2 * n, max(n + 1, round(values_for(n, width, asked))))


# ---- tables


def _write(wanted: list[Run], tallies: Tallies, folder: Folder, engine: Engine, watcher: Watcher) -> bool:
    """Write the tables; or put logs aside that turned out to be damaged, so that their runs are done again."""
    watcher.stage("measuring")
    framed = {run.id: run for run in wanted if run.campaign.level in WITH_FRAMES and run.id in tallies}
    try:
        from_logs = engine.measured([*framed.values()], tallies, folder)
    except RoamcastError:
        _, damaged = engine.tallies(sorted(framed), folder, all_rows=True)
        _put_aside(damaged, folder, watcher)
        if not damaged:
            raise
        return False
    watcher.stage("summing up")
    _write_tables(wanted, tallies, from_logs, folder)
    return True


def _write_tables(wanted: list[Run], tallies: Tallies, from_logs: Tallies, folder: Folder) -> None:
    """Metrics are from the logs where they have frames, otherwise from what the runs counted."""
    ordered = sorted(wanted, key=lambda run: (run.campaign.name, run.place, run.seed))
    failures = folder.failures()
    listed = [rows.of_run(run, tallies.get(run.id), failures.get(run.id)) for run in ordered]
    metrics = [
        rows.of_metrics(run, tallies[run.id] | from_logs.get(run.id, {})) for run in ordered if run.id in tallies
    ]
    with folder.writing_tables():
        write_table(listed, schemas.RUNS, folder.path / "runs")
        write_table(metrics, schemas.METRICS, folder.path / "metrics")
        write_table(summarise.summary(metrics), schemas.SUMMARY, folder.path / "summary")
