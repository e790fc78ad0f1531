"""A whole campaign in one call: `rc.campaign("credits.toml")`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamcast.errors import InputError
from roamcast.extras import need
from roamcast.lab import campaign as campaigns
from roamcast.lab.progress import Watcher

if TYPE_CHECKING:
    from roamcast.lab import SparkSession
    from roamcast.lab.campaign import Campaign
    from roamcast.lab.engine import Engine
    from roamcast.lab.tables.laboratory import Laboratory

LOCAL, SPARK = "local", "spark"


def campaign(
    source: str | Path | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    engine: str | SparkSession = LOCAL,
    processes: int | None = None,
    extend: bool = False,
    retry: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Laboratory:
    """Run what is left of a campaign, and open its tables. Stopped at any moment, the same call goes on where it was.

    source     a campaign file, or its content as a dictionary: {"name": …, "preset": …, "protocol": [{"name": …}]}
    out        the folder of its results; by default out/ and the file's name
    engine     "local": processes of this machine; "spark": embedded Spark; or a Spark session
    processes  with "local": how many runs at a time; by default one for each core
    extend     go on in a folder whose campaign was another one; runs that fit are kept
    retry      try runs again that have failed
    progress   a function that gets the share of the runs that have ended

    Runs that failed do not raise: `opened.rows("runs")` has them, with the error and the command that shows it again.
    """
    need("campaign", "pyarrow")
    from roamcast.lab import conduct
    from roamcast.lab.tables.folder import Folder
    from roamcast.lab.tables.laboratory import Laboratory

    planned, folder = _planned(source, out)
    doing = _engine(engine, processes)
    conduct.conduct([planned], Folder(folder), doing, Share(progress), extend=extend, retry=retry)
    return Laboratory(folder, getattr(doing, "spark", None))


def _planned(source: str | Path | Mapping[str, Any], out: str | Path | None) -> tuple[Campaign, Path]:
    """The campaign, and where its results go."""
    if isinstance(source, Mapping):
        if out is None:
            raise InputError("out: a campaign that has no file needs a folder for its results")
        return campaigns.understood(dict(source)), Path(out).expanduser()
    if not isinstance(source, str | Path):
        raise InputError(f"source: {source!r} must be a campaign file, or its content as a dictionary")
    file = Path(source).expanduser()
    return campaigns.load(file), Path("out") / file.stem if out is None else Path(out).expanduser()


def _engine(engine: str | SparkSession, processes: int | None) -> Engine:
    if engine == LOCAL:
        if not isinstance(processes, int | None) or (processes is not None and processes < 1):
            raise InputError(f"processes={processes}: must be a whole number of at least 1")
        from roamcast.lab.local.engine import PoolEngine

        return PoolEngine(processes or 0)
    if processes is not None:
        raise InputError(f"processes={processes}: is for engine={LOCAL!r}")
    if isinstance(engine, str) and engine != SPARK:
        raise InputError(f"engine={engine}: must be {LOCAL!r}, {SPARK!r}, or a Spark session")
    need("a campaign on Spark", "pyspark")
    from roamcast.lab.spark.engine import SparkEngine
    from roamcast.lab.spark.session import session

    return SparkEngine(session() if isinstance(engine, str) else engine)


class Share(Watcher):
    """Calls a function with the share of the runs that have ended."""

    def __init__(self, progress: Callable[[float], None] | None) -> None:
        self._progress = progress
        self._total = 0

    def runs(self, total: int, done: int) -> None:
        self._total = total

    def progress(self, done: int, cost_done_s: float, cost_left_s: float) -> None:
        if self._progress is not None and self._total:
            self._progress(done / self._total)
