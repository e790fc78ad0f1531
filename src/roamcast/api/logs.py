"""A log as `rc.open` and `r.log()` give it, and a run as a page that plays it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamcast import lab
from roamcast.log import opened
from roamcast.show.replay import page
from roamcast.show.replay.cut import Wanted

if TYPE_CHECKING:
    from roamcast.lab import SparkSession
    from roamcast.lab.tables.laboratory import Laboratory

HEIGHT_PX = 720


def open(path: str | Path, spark: SparkSession | None = None) -> Laboratory | Log | Any:
    """Open what is at a path: the tables of a campaign, or a log.

    A campaign is a folder; its tables are Spark DataFrames, or without Java pandas and Arrow. A log is a file
    (`simulate(…, log="run.parquet")`, `run --log`), or a folder with the logs of real nodes.
    """
    tables = lab.open(path, spark)
    return Log(tables.path) if isinstance(tables, opened.Log) else tables


class Log(opened.Log):
    """What happened in a run, row by row. `why` explains it, `replay` shows it; the other names are data."""

    def replay(
        self,
        out: str | Path | None = None,
        *,
        other: opened.Log | str | Path | None = None,
        from_s: float | None = None,
        to_s: float | None = None,
        nodes: Iterable[int] | None = None,
        positions: str | Path | None = None,
    ) -> Replay:
        """A page that plays the run. A notebook shows it; with `out` it is also a file that needs nothing else.

        other      a second log, side by side on the same clock
        from_s     begin here, in seconds since the log begins
        to_s       end here
        nodes      only these
        positions  a trace of measured positions, for logs of real nodes
        """
        second = other if isinstance(other, opened.Log | None) else opened.Log(other)
        wanted = Wanted(from_s, to_s, None if nodes is None else frozenset(nodes))
        places = None if positions is None else Path(positions)
        made = page.html([self] if second is None else [self, second], wanted, places)
        return Replay(made, None if out is None else page.save(made, Path(out)))


class Replay:
    """A page that plays a run. `html` is its text, `path` the file, if it was written."""

    def __init__(self, html: str, path: Path | None) -> None:
        self.html = html
        self.path = path

    def __repr__(self) -> str:
        return f"<replay of {len(self.html):,} bytes{f' in {self.path}' if self.path else ''}>"

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{HEIGHT_PX}px;border:0"
        return f'<iframe title="replay" style="{style}" srcdoc="{escape(self.html)}"></iframe>'
