"""`roamcast export`: a campaign's table as a file for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from roamcast.extras import need


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign's folder.")],
    table: Annotated[str, typer.Argument(metavar="TABLE", help="metrics, summary, runs or provenance.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to: .csv, .arrow or .parquet.")],
) -> None:
    """Write a campaign's table as CSV, Arrow or Parquet, without Spark. Numbers come back as they were; in CSV every
    key of a map has a column of its own."""
    need("export", "pyarrow")
    from roamcast import lab
    from roamcast.show import numbers

    opened = lab.open_campaign(folder)
    place = opened.export(table, file)
    rows = numbers.several(opened.arrow(table).num_rows, "row")
    Console(highlight=False).print(f"{place}: {rows} of {table}", markup=False, soft_wrap=True)
