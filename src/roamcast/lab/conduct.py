"""A campaign from its file to its tables: plan, simulate, measure, summarise, and again where intervals are too wide.

The state is in the folder and nowhere else: whatever is finished there is not done again, so a campaign that was
killed goes on when it is started again, and one that ended only writes its tables again.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from roamcast.errors import Interrupted, RoamcastError
from roamcast.judging.sequential import seeds_for
from roamcast.lab import code, plan, provenance, summarise
from roamcast.lab.campaign import Campaign
from roamcast.lab.engine import Engine, Limits, Tallies
from roamcast.lab.plan import WITH_FRAMES, Run
from roamcast.lab.progress import Watcher
from roamcast.lab.tables import kept, merging, rows, schemas
from roamcast.lab.tables.columns import Chosen
from roamcast.lab.tables.ended import Ended
from roamcast.lab.tables.folder import MOST_ATTEMPTS, Folder
from roamcast.lab.tables.write import write_tables
from roamcast.log.catalogue import metric
from roamcast.log.metric import SHARE

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
    limit_s: float | None = None,
) -> None:
    """Do what is left to do of one or more campaigns. `retry`: also runs that have failed.

    A run that takes longer than `limit_s` is recorded as failed; by default that is long for what it should cost.

    `further` may ask for more runs once it sees what the others gave, again and again until it asks for none.
    """
    watcher = watcher or Watcher()
    wanted = [run for campaign in campaigns for run in plan.runs(campaign)]  # what is wrong with it is known by now
    limits = plan.limits(limit_s)
    with folder.held(watcher.warn):
        folder.claim(campaigns, extend)
        folder.tidy()
        if retry:
            folder.retry_failed()
        repeats = further is not None or any(campaign.until for campaign in campaigns)
        if not repeats and _is_done(wanted, folder, engine, watcher):
            return
        while True:
            tallies = complete(wanted, folder, engine, watcher, limits)
            more = [run for campaign in campaigns for run in _more(campaign, wanted, tallies)]
            more += further(wanted, tallies) if further else []
            if not more and _write(wanted, tallies, folder, engine, watcher):
                break
            wanted = [*wanted, *more]
        folder.tidy()  # after workers that died


def _is_done(wanted: Sequence[Run], folder: Folder, engine: Engine, watcher: Watcher) -> bool:
    """Whether the tables are what would be written again."""
    state = _state(wanted, folder, engine)
    if not state or state != folder.tables_state():
        return False
    count = len({run.id for run in wanted})
    watcher.runs(count, count)
    watcher.stage("nothing to do")
    return True


def _state(wanted: Sequence[Run], folder: Folder, engine: Engine) -> str:
    """A digest of all that the tables are made of: runs and how they ended, and the program. Empty if runs are left."""
    seen = folder.ended_runs.look()
    finished, failed = seen.finished(), seen.failed()
    endings = [(run.id, run.id in finished) for run in wanted]
    if seen.damaged or any(not good and id not in failed for id, good in endings):
        return ""
    by = engine.is_measured({}) if any(run.campaign.level in WITH_FRAMES for run in wanted) else True
    about = [code.whole(), code.measuring(), by, sorted(endings)]
    return hashlib.blake2b(json.dumps(about).encode(), digest_size=16).hexdigest()


def complete(
    wanted: list[Run], folder: Folder, engine: Engine, watcher: Watcher, limits: Limits | None = None
) -> Tallies:
    """Have all wanted runs ended; what the finished ones counted, by run."""
    tallies: Tallies = {}
    while True:
        tallies |= _simulate(wanted, folder, engine, watcher, limits or plan.limits(None))
        unread = {run.id for run in wanted} & folder.finished() - tallies.keys()
        if unread:
            watcher.stage("reading what the runs counted")
            tallies |= folder.ended_runs.tallies(unread)
        if not _put_aside(folder.ended_runs.damaged, folder, watcher):
            return tallies


def _put_aside(damaged: Mapping[str, str], folder: Folder, watcher: Watcher) -> bool:
    """Objects that cannot be read, and why; whether there were any."""
    for name, why in list(damaged.items()):
        with suppress(FileNotFoundError):  # somebody else was faster
            watcher.warn(f"{why}; put aside as {folder.put_aside(name)}, its runs are done again")
    return bool(damaged)


def _simulate(wanted: list[Run], folder: Folder, engine: Engine, watcher: Watcher, limits: Limits) -> Tallies:
    """Have all wanted runs ended; what those counted that the engine did not have to give up, by run."""
    tallies: Tallies = {}
    distinct = {run.id: run for run in wanted}  # campaigns may share runs
    ended = folder.ended()
    left = [run for id, run in distinct.items() if id not in ended]
    watcher.runs(len(distinct), len(distinct) - len(left))
    if not left:
        return tallies
    with provenance.recorded(folder.storage, engine, len(left)), _watched(folder, list(distinct.values()), watcher):
        while left:
            try:
                tallies |= engine.simulate(left, folder, limits)
            except Interrupted:
                raise
            except RoamcastError:
                begun = folder.begun()
                for run in (run for run in left if run.id in begun):
                    _alone(run, folder, engine, limits)
                if not folder.ended() & {run.id for run in left}:  # it would fail again
                    raise
            ended = folder.ended()
            before, left = left, [run for run in left if run.id not in ended]
            if len(left) == len(before):
                raise Interrupted(f"{folder}: {len(left)} runs have ended, but cannot be seen here")
    return tallies


def _alone(run: Run, folder: Folder, engine: Engine, limits: Limits) -> None:
    """One of the runs that were under way when the engine gave up: if it kills workers, it takes no others with it
    now."""
    for _ in range(MOST_ATTEMPTS + 1):
        if run.id not in folder.ended():
            try:
                engine.simulate([run], folder, limits)
            except Interrupted:
                raise
            except RoamcastError:
                pass


@contextmanager
def _watched(folder: Folder, wanted: list[Run], watcher: Watcher) -> Iterator[None]:
    """Tell the watcher what has ended, while the engine is busy."""
    costs = {run.id: run.cost_s for run in wanted}
    before = folder.ended() & costs.keys()
    total_s = sum(costs.values()) - sum(costs[run] for run in before)
    over = threading.Event()
    seen = Ended(folder.runs)  # of its own, because the engine looks at the same time

    def look() -> None:
        while merging.merge(folder.runs, seen.look(), folder.check_held):
            pass
        ended = seen.ended() & costs.keys()
        done_s = sum(costs[run] for run in ended - before)
        watcher.progress(len(ended), done_s, total_s - done_s)

    def keep_looking() -> None:
        pause_s = POLL_S
        while not over.wait(pause_s):
            began_s = time.monotonic()
            with suppress(Interrupted):  # whoever does the runs notices it, too
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
    """Runs with further seeds, for cells that do not have enough (judging/sequential.py)."""
    until = campaign.until
    if until is None:
        return []
    seeds: dict[int, list[int]] = {}
    for k in range(len(campaign.cells)):
        mine = [run for run in wanted if run.campaign is campaign and run.place == k]
        values = [tallies[run.id][until.metric] for run in mine if run.id in tallies]
        known = [value for value in values if value is not None]
        count = min(until.max_seeds, seeds_for(known, len(mine), until.half_width, metric(until.metric).unit == SHARE))
        seeds[k] = campaign.more_seeds(count)[len(mine) :]
    return plan.runs(campaign, seeds)


# ---- tables


def _write(wanted: list[Run], tallies: Tallies, folder: Folder, engine: Engine, watcher: Watcher) -> bool:
    """Write the tables; or put logs aside that turned out to be damaged, so that their runs are done again."""
    framed = {run.id: run for run in wanted if run.campaign.level in WITH_FRAMES and run.id in tallies}
    known = kept.read(folder.runs) if framed else {}
    new = [run for id, run in framed.items() if id not in known or not engine.is_measured(known[id])]
    if new:
        watcher.stage(f"measuring {len(new):,} of {len(framed):,} logs")
    try:
        measured = engine.measured(new, tallies, folder)
    except Interrupted:
        raise
    except RoamcastError:
        damaged = engine.damaged(sorted(run.id for run in new), folder)
        if not _put_aside(damaged, folder, watcher):
            raise
        return False
    kept.write(folder.runs, measured, known)
    watcher.stage("summing up")
    all_measured = known | measured
    from_logs = {run: all_measured[run] for run in framed}
    _write_tables(wanted, tallies, from_logs, folder, _state(wanted, folder, engine))
    return True


def _write_tables(wanted: list[Run], tallies: Tallies, from_logs: Tallies, folder: Folder, state: str) -> None:
    """Metrics are from the logs where they have frames, otherwise from what the runs counted."""
    ordered = sorted(wanted, key=lambda run: (run.campaign.name, run.place, run.seed))
    failures = folder.failures()
    chosen = Chosen(run.cell for run in ordered)
    listed = [rows.of_run(run, tallies.get(run.id), failures.get(run.id), chosen) for run in ordered]
    metrics = [
        rows.of_metrics(run, tallies[run.id] | from_logs.get(run.id, {}), chosen)
        for run in ordered
        if run.id in tallies
    ]
    tables = {
        "runs": (listed, schemas.runs(chosen.kinds)),
        "metrics": (metrics, schemas.metrics(chosen.kinds)),
        "summary": (summarise.summary(metrics), schemas.summary(chosen.kinds)),
    }
    write_tables(folder, tables, state)
