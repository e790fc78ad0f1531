"""The log of a node that runs for months: one file after another. Each is complete when it appears; the oldest are
removed.

Names are NODE-BOOT-TIME.parquet: the node's number, the time of the first row of this boot of the node, and the time of
the first row in this file, by the node's clock in Unix microseconds. Between two boots that clock may be set forward or
back, so times can be compared only within a boot. The files of other boots count as the oldest.

Attributes and filters are in the rows, in clear, so only the owner can read the files and a folder that is made here.

A log must never stop a node. If the disk is full or gone, rows are counted and dropped, with one warning.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from roamcast import files
from roamcast.errors import InputError, error_text
from roamcast.log.writer import LogSink, ParquetSink, need_packages

log: Final = logging.getLogger("roamcast.net")

ROWS: Final = 1_000_000
"""The most rows of one file."""
BATCH: Final = 8192
"""How many rows a node has in memory at most."""


class RotatingSink(LogSink):
    def __init__(self, folder: str | Path, run: str, number: int, *, keep: int, rows: int = ROWS) -> None:
        super().__init__()
        need_packages()
        self._folder = Path(folder)
        self._run = run
        self._number = number
        self._keep = keep
        self._rows_max = rows
        self._sink: ParquetSink | None = None
        self._rows = 0
        self._boot = ""
        self._summary = ""
        self.dropped = 0
        try:
            self._folder.mkdir(mode=files.PRIVATE_FOLDER, parents=True, exist_ok=True)
        except OSError as error:
            if error.errno not in files.FAILING:
                raise InputError(f"cannot write logs to {folder}: {error_text(error)}") from None
            self._failed(error)
        for half in self._folder.glob(f".{number}-*.part"):  # unfinished files of a boot that was killed
            half.unlink(missing_ok=True)

    def row(
        self, t: int, node: int, kind: int, event: int, frame: int, peer: int, size: int, value: int, reason: str
    ) -> None:
        try:
            if self._sink is None:
                self._boot = self._boot or f"{self._number}-{t:020d}"
                path = self._folder / f"{self._boot}-{t:020d}.parquet"
                self._folder.mkdir(mode=files.PRIVATE_FOLDER, parents=True, exist_ok=True)
                self._sink = ParquetSink(path, self._run, BATCH, mode=files.PRIVATE)
            self._sink.row(t, node, kind, event, frame, peer, size, value, reason)
        except Exception as error:
            self._failed(error)
            return
        self._rows += 1
        if self._rows >= self._rows_max:
            self.rotate()

    def rotate(self) -> None:
        """Complete the present file, and go on in a new one."""
        if self._sink is None:
            return
        sink, self._sink, self._rows = self._sink, None, 0
        try:
            if self._summary:
                sink.summarise(self._summary)
            sink.close()
            logs = sorted(self._folder.glob(f"{self._number}-*.parquet"), key=lambda p: (self._boot in p.name, p.name))
            for old in logs[: -self._keep]:
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
