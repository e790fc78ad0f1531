"""`roamcast replay`: a run as a page that plays it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from roamcast.cli.options import SentencesOf, import_from_here
from roamcast.errors import InputError
from roamcast.extras import need

MOST_NODES: Final = 1_000_000
"""In a range of --nodes: no log has more."""


def replay(
    log: Annotated[
        Path,
        typer.Argument(metavar="LOG", help="A log (`run --log FILE --level full`), or a folder of real nodes' logs."),
    ],
    other: Annotated[
        Path | None, typer.Argument(metavar="[LOG]", help="A second one, side by side on the same clock.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the page goes.", show_default="LOG with .html")
    ] = None,
    from_: Annotated[
        float | None, typer.Option("--from", metavar="S", help="Begin here, in seconds.", show_default="the begin")
    ] = None,
    to: Annotated[
        float | None, typer.Option("--to", metavar="S", help="End here, in seconds.", show_default="the end")
    ] = None,
    nodes: Annotated[
        str | None, typer.Option(metavar="LIST", help="Only these nodes: 3,7,10-19.", show_default="all")
    ] = None,
    positions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Measured positions of real nodes: any trace with positions, as GPX or CSV."),
    ] = None,
    protocol: SentencesOf = None,
) -> None:
    """Write a page that plays a run: nodes move, frames spread, and a click says why an event came or did not."""
    need("replay", "pyarrow", "numpy")
    from roamcast.log.opened import Log
    from roamcast.protocols import registry
    from roamcast.show.replay import page
    from roamcast.show.replay.cut import Wanted

    if protocol is not None:
        import_from_here()
        registry.get(protocol)  # its sentences are declared when it is loaded
    wanted = Wanted(from_, to, None if nodes is None else numbers(nodes))
    logs = [Log(path) for path in (log, other) if path is not None]
    place = page.write(logs, out or beside(log), wanted, positions)
    print(f"replay: {place}")


def beside(log: Path) -> Path:
    """`run.html` for `run.parquet`; in a folder of logs, `replay.html`."""
    return log / "replay.html" if log.is_dir() else log.with_suffix(".html")


def numbers(text: str) -> frozenset[int]:
    """`3,7,10-19`"""
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().replace("n", "").partition("-")
        try:
            begin, end = int(first), int(last if dash else first)
        except ValueError:
            raise InputError(f"--nodes {text!r}: must be numbers and ranges, such as 3,7,10-19") from None
        if end < begin:
            raise InputError(f"--nodes {text!r}: the range {part.strip()} ends before it begins")
        if end - begin >= MOST_NODES:
            raise InputError(f"--nodes {text!r}: the range {part.strip()} has more than {MOST_NODES:,} nodes")
        numbers.update(range(begin, end + 1))
    return frozenset(numbers)
