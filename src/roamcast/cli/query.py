"""`roamcast query`: Spark SQL over a campaign's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from roamcast.cli.options import Conf, Master, pairs, start_spark
from roamcast.cli.tables import Column, print_fitting
from roamcast.errors import InputError
from roamcast.extras import need

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
    need("query", "pyspark", "pyarrow")
    from roamcast import lab

    pairs("--conf", conf)  # an error in it is reported before Spark starts
    if not (folder / "campaign.json").exists():
        raise InputError(f"{folder}: no campaign has been run into this folder")
    laboratory = lab.open_campaign(folder, start_spark(folder, master, conf))
    columns, rows = laboratory.ask(sql, limit)
    if json:
        import json as format

        print(format.dumps({"columns": columns, "rows": rows}, default=str))
        return
    from rich.console import Console

    from roamcast.show import numbers

    shown = [_column(name, [row[k] for row in rows]) for k, name in enumerate(columns)]
    print_fitting(Console(highlight=False), shown)
    if len(rows) == limit:
        Console(stderr=True).print(f"the first {numbers.several(limit, 'row')}; --limit N for more")


def _column(name: str, values: list[Any]) -> Column:
    numeric = all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values)
    return Column(name, [_text(value) for value in values], text=not numeric)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, dict):  # settings, or counts by name
        return ", ".join(f"{name}={_text(each)}" for name, each in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)
