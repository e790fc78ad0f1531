"""The log of a node that runs for months: a file after the other, each complete when it appears, the oldest removed.

Names are NODE-LIFE-TIME.parquet: the node's number, and the times of the first row of this life of the node and of this
file, by the node's clock in Unix microseconds. From one life to the next that clock may have been set, forward or back,
so whoever compares times must know of which life they are. The oldest files are those of other lives.
A log must never be what stops a node: if the disk is full or gone, rows are counted and dropped, and said once.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from roamcast.errors import InputError
from roamcast.log.writer import LogSink, ParquetSink

log: Final = logging.getLogger("roamcast.net")

ROWS: Final = 1_000_000
"""Of one file, at most."""
BATCH: Final = 8192
"""Rows that a node holds in memory."""


class RotatingSink(LogSink):
    def __init__(self, folder: str | Path, run: str, number: int, *, keep: int, rows: int = ROWS) -> None:
        super().__init__()
        self._folder = Path(folder)
        self._run = run
        self._number = number
        self._keep = keep
        self._rows_max = rows
        self._sink: ParquetSink | None = None
        self._rows = 0
        self._life = ""
        self._summary = ""
        self.dropped = 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write logs to {folder}: {(error.strerror or str(error)).lower()}") from None
        for half in self._folder.glob(f".{number}-*.part"):  # of a life that was killed
            half.unlink(missing_ok=True)

    def row(
        self, t: int, node: int, kind: int, event: int, frame: int, peer: int, size: int, value: int, reason: str
    ) -> None:
        try:
            if self._sink is None:
                self._life = self._life or f"{self._number}-{t:020d}"
                self._sink = ParquetSink(self._folder / f"{self._life}-{t:020d}.parquet", self._run, BATCH)
            self._sink.row(t, node, kind, event, frame, peer, size, value, reason)
        except Exception as error:
            self._failed(error)
            return
        self._rows += 1
        if self._rows >= self._rows_max:
            self.rotate()

    def rotate(self) -> None:
        """Make what was written so far visible, and go on in a new file."""
        if self._sink is None:
            return
        sink, self._sink, self._rows = self._sink, None, 0
        try:
            if self._summary:
                sink.summarise(self._summary)
            sink.close()
            files = sorted(self._folder.glob(f"{self._number}-*.parquet"), key=lambda p: (self._life in p.name, p.name))
            for old in files[: -self._keep]:
                old.unlink(missing_ok=True)
        except Exception as error:
            self._failed(error)

    def summarise(self, text: str) -> None:
        self._summary = text

    def close(self) -> None:
        self.rotate()

    def abandon(self) -> None:
        if self._sink is not None:
            self._sink.abandon()
            self._sink = None

    def _failed(self, error: Exception) -> None:
        if self.dropped == 0:
            log.warning("the log cannot be written to %s: %s; further rows are lost", self._folder, error)
        self.dropped += 1
        self._sink, self._rows = None, 0
