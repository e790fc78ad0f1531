"""Java's classes, kept from one start of Spark to the next.

Half of the time before Spark does anything goes into loading and checking some twenty thousand classes. Java can write
those that a process has loaded to a file and map them into memory the next time. `python -m roamcast.lab.classes` does
that once, with a small campaign in which most of what the lab ever needs is loaded; `make setup` calls it. The file is
beside the installed packages, 200 MB of it, and embedded sessions use it when it is there: Java itself refuses one that
another Java or other packages have left, and starts as it would without.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamcast.lab import conduct, session
from roamcast.lab.campaign import parse
from roamcast.lab.folder import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = """
name = "small"
preset = "baldoni"
seeds = 2
level = "summary"
[world]
duration_s = 12.0
[[protocol]]
name = "gossip"
"""


def make() -> Path:
    """Start Spark, have it do something of everything, and keep what Java has loaded."""
    target = session.archived_classes()
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{target.name}.{os.getpid()}.part")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        spark = session.session(
            "local[2]",
            scratch=place / "scratch",
            log=place / "spark.log",
            conf={"spark.driver.extraJavaOptions": f"{session.LATE_COMPILER} -XX:ArchiveClassesAtExit={half}"},
        )
        opened = conduct.conduct([parse(SMALL)], Folder(place / "campaign"), spark)
        opened.ask("select label, avg(delivery) from metrics group by 1 order by 1", 10)
        _end(spark)
    half.replace(target)
    return target


def _end(spark: SparkSession) -> None:
    """Wait for Java's end: that is when it writes."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


def main() -> None:
    if session.archived_classes().exists():
        print("Spark's classes (nothing changed)")
    else:
        make()
        print("kept Spark's classes, for a quick start")


if __name__ == "__main__":
    main()
