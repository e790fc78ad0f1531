"""A progress bar for runs that take longer than a second, on standard error if that is a terminal."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

QUIET_S = 1.0


class Progress:
    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Bar | None = None
        self._started = monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, share: float) -> None:
        """`share` of the run is done, in [0, 1]."""
        if self._bar is None:
            if monotonic() - self._started < QUIET_S or not sys.stderr.isatty():
                return
            columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task(self._title, total=1.0)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=share)
