"""`roamcast query`: Spark SQL over a campaign's tables, one question or many (shell.py)."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated, Any

import typer

from roamcast.cli.options import Conf, Master, pairs, start_spark
from roamcast.cli.tables import Column, print_fitting
from roamcast.extras import need

MOST_ROWS = 1000


def query(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A campaign's folder, or its URL.")],
    sql: Annotated[
        str,
        typer.Argument(
            metavar="[SQL]",
            help="Spark SQL; the tables are runs, log, metrics, summary and provenance. Without it: a shell, or the "
            "statements on standard input.",
            show_default=False,
        ),
    ] = "",
    json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each answer: columns and rows.")
    ] = False,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Rows to show.")] = MOST_ROWS,
    master: Master = "local[*]",
    conf: Conf = None,
) -> None:
    """Ask a campaign's tables: one question, or many in a shell that starts Spark once."""
    need("query", "pyspark", "pyarrow")
    from roamcast import lab
    from roamcast.cli.shell import Shell, remembered
    from roamcast.lab.tables.folder import Folder

    pairs("--conf", conf)  # an error in it is reported before Spark starts
    Folder(folder).check_claimed()
    laboratory = lab.open_campaign(folder, start_spark(folder, master, conf))
    shell = Shell(laboratory, limit, _print if json else partial(_show, limit=limit))
    if sql:
        shell.do(sql)
    elif sys.stdin.isatty():
        print(f"tables: {', '.join(laboratory.tables())}; help tells more, Ctrl-D leaves")
        with remembered():
            shell.interactive()
    else:
        shell.script(sys.stdin)


def _print(columns: list[str], rows: list[list[Any]]) -> None:
    import json

    print(json.dumps({"columns": columns, "rows": rows}, default=str))


def _show(columns: list[str], rows: list[list[Any]], limit: int) -> None:
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
