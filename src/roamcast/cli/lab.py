"""`roamcast lab`: what the laboratory does with data from outside."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Annotated, Any

import typer

from roamcast.cli import options
from roamcast.cli.help import Verbs
from roamcast.errors import InputError
from roamcast.extras import need

app = typer.Typer(cls=Verbs, no_args_is_help=True, add_completion=False, help="The laboratory, for data from outside.")


@app.callback()
def lab() -> None:
    """The laboratory, for data from outside."""


@app.command()
def field(
    logs: Annotated[Path, typer.Argument(metavar="DIR", help="Where nodes' logs are, or arrive.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the tables go.")] = Path("out/field"),
    follow: Annotated[bool, typer.Option("--follow", help="Go on with what arrives, until interrupted.")] = False,
    every: Annotated[float, typer.Option(metavar="S", help="With --follow: how often to look.")] = 10.0,
    master: Annotated[str, typer.Option(metavar="URL", help="The Spark to use.", show_default="embedded")] = "local[*]",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Many nodes' logs into one, by one clock, and its metrics; live while they arrive.

    The exit status is 1 if a file was left out because it is no whole log, unless more is waited for (--follow).
    """
    import sys

    need("lab field", "pyspark", "pyarrow")
    from roamcast.lab.field.intake import Field

    if every <= 0:
        raise InputError(f"--every {every:g}: must be above 0")
    if not logs.is_dir():
        raise InputError(f"{logs}: there is no such folder of logs")
    conf = ["spark.sql.shuffle.partitions=4"] if master.startswith("local") else None  # a field's log is small
    taken = Field(logs, out, options.start_spark(out, master, conf))
    until = _interrupted() if follow else None
    runs = taken.ingest(lambda live: print(line(live), file=sys.stderr, flush=True), until, every)
    if not runs:
        raise InputError(f"{logs}: there are no logs of nodes in it")
    if json:
        import json as format

        by_run: dict[str, Any] = {live.run: {"nodes": live.nodes, "rows": live.rows, **live.metrics} for live in runs}
        print(format.dumps({**by_run, "left_out": taken.left_out}))
    else:
        for live in runs:
            print(line(live))
        print(f'roamcast query {out} "select * from metrics"')
    raise typer.Exit(1 if taken.left_out and not follow else 0)


def _interrupted() -> Event:
    """Is set by Ctrl-C, once; the second one is meant as usual."""
    import signal

    event = Event()

    def once(number: int, _: object) -> None:
        signal.signal(number, before)
        event.set()

    before = signal.signal(signal.SIGINT, once)
    return event


def line(live: Any) -> str:
    m = live.metrics
    share = "–" if m["delivery"] is None else f"{100 * m['delivery']:.1f} %"
    overhead = "–" if m["overhead"] is None else f"{m['overhead']:.2f}"
    latency = "–" if m["latency_p50_s"] is None else f"{1000 * m['latency_p50_s']:,.1f} ms"
    return (
        f"{live.run}: {live.nodes} nodes, {live.rows:,} rows; delivery {share} ({m['deliveries']:,} of "
        f"{m['interested']:,}), overhead {overhead} frames per delivery, median latency {latency}"
    )
