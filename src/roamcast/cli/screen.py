"""The progress of a campaign on the screen. It loads the laboratory, so verbs import it when they run."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from roamcast.lab.progress import Watcher

SAY_EVERY_S: Final = 60.0


class Screen(Watcher):
    """A progress line on standard error; if that is not a terminal, a line every minute."""

    def __init__(self, title: str) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rest]}", markup=False),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._title = title
        self._task = self._bar.add_task(title, total=None, rest="")
        self._began = self._shown_at = monotonic()
        self._before = self._total = 0

    def __enter__(self) -> Screen:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)

    def stage(self, what: str) -> None:
        self._bar.update(self._task, rest=what)
        if not self._console.is_terminal:
            self.say(f"{self._title}: {what}")

    def runs(self, total: int, done: int) -> None:
        self._began = self._shown_at = monotonic()
        self._before, self._total = done, total
        self._bar.update(self._task, total=total, completed=done, rest="simulating")
        if not self._console.is_terminal:
            self.say(f"{self._title}: {total - done:,} of {total:,} runs to do")

    def progress(self, done: int, cost_done_s: float, cost_left_s: float) -> None:
        took_s = monotonic() - self._began
        rest = "simulating"
        if done > self._before and took_s:
            left_s = took_s * cost_left_s / cost_done_s if cost_done_s else 0.0
            left = f"about {duration(left_s)} left" if left_s >= 1 else "nearly done"
            rest = f"{(done - self._before) / took_s:.1f} runs/s, {left}"
        self._bar.update(self._task, completed=done, rest=rest)
        if not self._console.is_terminal and monotonic() - self._shown_at >= SAY_EVERY_S:
            self._shown_at = monotonic()
            self.say(f"{self._title}: {done:,} of {self._total:,} runs, {rest}")

    def warn(self, line: str) -> None:
        self.say(f"warning: {line}")


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 1 else "under a second"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
