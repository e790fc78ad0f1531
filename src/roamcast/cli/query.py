"""`roamcast query`: Spark SQL over a campaign's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from roamcast.cli.options import Conf, Master, pairs, start_spark
from roamcast.errors import InputError

MOST_ROWS = 1000


def query(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign's folder.")],
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="Spark SQL; the tables are runs, log, metrics and summary.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object: columns and rows.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Rows to show.")] = MOST_ROWS,
    master: Master = "local[*]",
    conf: Conf = None,
) -> None:
    """Ask a campaign's tables."""
    from roamcast import lab

    pairs("--conf", conf)  # an error in it is reported before Spark starts
    if not (folder / "campaign.json").exists():
        raise InputError(f"{folder}: no campaign has been run into this folder")
    laboratory = lab.open(folder, start_spark(folder, master, conf))
    columns, rows = laboratory.ask(sql, limit)
    if json:
        import json as format

        print(format.dumps({"columns": columns, "rows": rows}, default=str))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*map(escape, columns))
    for row in rows:
        table.add_row(*(f"{value:.6g}" if isinstance(value, float) else escape(str(value)) for value in row))
    Console(highlight=False).print(table)
    if len(rows) == limit:
        Console(stderr=True).print(f"the first {limit} rows; --limit N for more")
