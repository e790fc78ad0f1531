"""Many worlds: the laboratory on Spark. plan -> simulate -> measure -> summarise; traces in, tables out.

    campaign.py     the file that says which worlds, protocols and seeds      plan.py         runs, their ids and costs
    folder.py       what a campaign leaves on disk, and how it resumes        simulate.py     runs fan out to workers
    interest.py     who wants what: publications joined with subscriptions    measures.py     every metric, from the log
    statistics.py   intervals, paired differences                             conduct.py      all of it, in order
    laboratory.py   the tables, opened again                                  session.py      Spark, started and quiet
    schemas.py      the tables' columns                                       worker.py       what workers run
    reproduce.py    the papers' experiments, run and judged                   judge.py        their claims, judged
    checks.py       the kinds of questions that claims ask                    quantities.py   what they ask about
    deciding.py     further seeds for undecided claims                        kept.py         verdicts to keep
    field.py        real nodes' logs, by one clock                            code.py         which program this is
    student.py      Student's t                                               classes.py      a quick start for Java
    traces/         mobility and contacts of others

Only this package imports pyspark, and only where it is needed: planning and status do without.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from roamcast.lab.laboratory import Laboratory


def open(path: str | Path, spark: SparkSession | None = None) -> Laboratory:
    """The tables of the campaign in a folder, as Spark DataFrames."""
    from roamcast.lab.laboratory import Laboratory

    return Laboratory(Path(path), spark)
