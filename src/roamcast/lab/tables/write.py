"""Writing a table of the laboratory."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write_table(table: DataFrame, target: Path, *order: str) -> None:
    """As one Parquet file in its folder, which is replaced whole. A sort in one partition takes no sample first."""
    fresh = target.with_name(f".{target.name}.new")
    one = table.coalesce(1)
    one = one.sortWithinPartitions(*order) if order else one
    one.write.mode("overwrite").parquet(str(fresh.absolute()))
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.replace(old)
    fresh.replace(target)
    shutil.rmtree(old, ignore_errors=True)
