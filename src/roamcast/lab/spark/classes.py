"""Java's classes, kept from one start of Spark to the next.

About half of the time before Spark does anything goes into loading and checking more than twenty thousand classes. Java
can write those that a process has loaded to a file and map them into memory the next time.
`python -m roamcast.lab.spark.classes` does that once, with a small campaign that loads most of what the lab ever needs;
`make setup` calls it. The file is beside the installed packages, has 200 MB, and sessions use it when it is there: Java
itself refuses one that another Java or other packages have left, and starts as it would without.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamcast import files
from roamcast.errors import RoamcastError
from roamcast.lab.spark import session

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
    """Start Spark, have it do something of everything, and keep what Java has loaded, and only that."""
    target = session.archived_classes()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        half = Path(folder) / target.name
        spark = session.session(
            "local[2]",
            scratch=Path(folder) / "scratch",
            log=Path(folder) / "spark.log",
            conf={"spark.driver.extraJavaOptions": f'{session.LATE_COMPILER} "-XX:ArchiveClassesAtExit={half}"'},
        )
        try:
            _load(spark, Path(folder))
        finally:
            ended = _end(spark)
        if ended != 0:
            raise RoamcastError(f"Java ended with {ended} while it wrote {half}")
        for former in target.parent.glob("*.jsa"):
            former.unlink()
        files.finish(half, target)
    return target


def _load(spark: SparkSession, folder: Path) -> None:
    from roamcast.lab.campaign import parse
    from roamcast.lab.conduct import conduct
    from roamcast.lab.spark.engine import SparkEngine
    from roamcast.lab.tables.folder import Folder
    from roamcast.lab.tables.laboratory import Laboratory

    conduct([parse(SMALL)], Folder(folder / "campaign"), SparkEngine(spark))
    opened = Laboratory(folder / "campaign", spark)
    opened.ask("select label, avg(delivery) from metrics group by 1 order by 1", 10)


def _end(spark: SparkSession) -> int:
    """Wait for Java's end: that is when it writes."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    return int(gateway.proc.wait())


def main() -> None:
    if session.archived_classes().exists():
        print("Spark's classes (nothing changed)")
    else:
        make()
        print("kept Spark's classes, for a quick start")


if __name__ == "__main__":
    main()
