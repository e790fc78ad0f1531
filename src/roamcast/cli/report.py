"""`roamcast report`: the page about a campaign or a reproduction, made again from its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from roamcast.extras import need


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `campaign` or `reproduce` has written.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the page goes.", show_default="DIR/report.html")
    ] = None,
    replays: Annotated[
        bool, typer.Option(help="Simulate a short run of each paper's system and put it into the page, to look at.")
    ] = True,
) -> None:
    """Write a folder's results as one page to look at, and its figures as SVG and PNG. It needs neither Spark nor a
    network."""
    need("report", "pyarrow", "matplotlib")
    from roamcast.show import report as page

    place = page.write(folder, out, replays)
    Console(highlight=False).print(f"report: {place}", markup=False, soft_wrap=True)
    Console(highlight=False).print(f"figures: {folder / 'figures'}", markup=False, soft_wrap=True)
