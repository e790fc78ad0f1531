"""Many worlds: the laboratory. A campaign goes through four steps, and each is a file or folder of that name.

    campaign.py    the file that says which worlds, protocols and seeds
    plan.py        step 1: its runs, their ids and their costs
    simulate.py    step 2: one run, as a worker does it
    measure/       step 3: every metric from the logs (metrics.py); which nodes were interested in what (interest.py)
    summarise.py   step 4: means with intervals, differences paired by seed
    conduct.py     the four steps in order, resumable, repeated where intervals are too wide

    reproduce.py   the papers' experiments as campaigns, and their claims judged (roamcast.judging)
    deciding.py    further seeds for undecided claims
    recount.py     a sample of the runs counted again from their logs

    tables/        what a campaign leaves on disk: its folder, its tables and their columns
    engine.py      what does the runs                        local/    on processes of this machine
    spark/         on Spark: started, quiet, with this program on its workers
    contrast.py    two campaigns, before and after a change
    provenance.py  by which program and where results were made
    progress.py    how far a campaign is                     code.py   which program this is
    field/         logs of real nodes, by one clock          traces/   recorded movement and contacts

Only this package imports pyspark, and only where it is needed: planning, status and whatever is done on this machine do
without.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamcast.errors import InputError
from roamcast.extras import need
from roamcast.storage import is_url

if TYPE_CHECKING:
    from pyspark.sql import SparkSession as SparkSession  # the layers above name it, too

    from roamcast.lab.tables.laboratory import Laboratory
    from roamcast.log.opened import Log


def open(path: str | Path, spark: SparkSession | None = None) -> Laboratory | Log | Any:
    """Open what is at a path: the tables of a campaign, or a log.

    A campaign is a folder, or a place in an object store by its URL; its tables are Spark DataFrames, or without Java
    pandas and Arrow. A log is a file (`simulate(…, log="run.parquet")`, `run --log`), or a folder
    with the logs of real nodes.
    """
    from roamcast.log.opened import Log

    if is_url(path):
        return open_campaign(path, spark)
    place = Path(path).expanduser()
    if not place.exists():
        raise InputError(f"{path}: there is no such campaign or log")
    is_campaign = place.is_dir() and ((place / "campaign.json").exists() or not any(place.rglob("[!.]*.parquet")))
    return open_campaign(place, spark) if is_campaign else Log(place)


def open_campaign(path: str | Path, spark: SparkSession | None = None) -> Laboratory:
    """The tables of the campaign in a folder, or at a URL."""
    need("reading a campaign's tables", "pyarrow")
    from roamcast.lab.tables.laboratory import Laboratory

    return Laboratory(path, spark)
