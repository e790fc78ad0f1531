"""A log that is opened for questions: a file, or a folder with the files that real nodes have written.

The rows of a folder are merged by their time. Each real node has its own clock, so times of different nodes are only as
comparable as their clocks; `roamcast lab field` turns such a folder into one log with one clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from roamcast.errors import InputError
from roamcast.extras import need
from roamcast.log import reader
from roamcast.log.explanation.answers import Answer, Answers
from roamcast.log.explanation.select import Columns
from roamcast.log.reader import LogRow, rows_of


class Log:
    """What happened in a run, row by row. `why` explains it; the other names are data."""

    def __init__(self, path: str | Path, folder: object = None) -> None:
        self.path = Path(path)
        self._folder = folder  # whoever removes the file when nothing refers to it any more
        self._files = _files_of(self.path)
        if len({run for file in self._files for run in reader.runs(file)}) > 1:
            which = f"; give the log of one, as {self._files[0]}" if len(self._files) > 1 else ", and must be of one"
            raise InputError(f"{path} has the rows of several runs{which}")

    def table(self) -> Any:
        """The whole log as a `pyarrow.Table`."""
        return self._table

    def rows(self) -> Iterator[LogRow]:
        """The rows in order."""
        return (row for batch in self._table.to_batches(reader.BATCH) for row in rows_of(batch))

    def pandas(self) -> Any:
        """The whole log as a `pandas.DataFrame`."""
        need("a DataFrame", "pandas")
        return self._table.to_pandas()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The tally of the run, and its fingerprint; of a folder, that of its last file."""
        return reader.summary(self._files[-1])

    @cached_property
    def description(self) -> dict[str, Any]:
        """What was run: preset, protocol, parameters, seed and scenario. Empty for real nodes."""
        return reader.description(self._files[-1])

    @property
    def is_merged(self) -> bool:
        """Whether its rows come from several files, each by the clock of its node."""
        return len(self._files) > 1

    @cached_property
    def events(self) -> list[int]:
        """The ids of the published events, in order."""
        columns = Columns(self._table)
        return list(dict.fromkeys(columns["event"][columns.are(("publish",))].tolist()))

    def why(self, node: int | str | None = None, event: int | str | None = None) -> Answer:
        """What happened to `event` at `node`; without one of the two, or both, a list.

        A node is its number, an event its id or a text such as "3:12": the twelfth event of node 3. The sentences
        behind decisions are those of the built-in protocols, and of others that were imported; without them there are
        only labels.
        """
        return self._answers.answer(node, event)

    def __repr__(self) -> str:
        return f"Log({str(self.path)!r})"

    @cached_property
    def _answers(self) -> Answers:
        return Answers(self._table, str(self.path), merged=self.is_merged)

    @cached_property
    def _table(self) -> Any:
        parts = [reader.read(path) for path in self._files]
        import pyarrow as pa
        import pyarrow.compute as pc

        table = parts[0]
        if len(parts) > 1:
            table = pa.concat_tables(parts).unify_dictionaries()
            table = table.take(pc.sort_indices(table["t"]))  # stable: rows of one file stay in order
        return table


def _files_of(path: Path) -> list[Path]:
    """The files of a log, in the order of their names."""
    if not path.is_dir():
        return [path]
    if (path / "campaign.json").exists():
        return [_only_log_of(path)]
    files = [file for file in sorted(path.rglob("[!.]*.parquet")) if reader.is_log(file)]
    if not files:
        raise InputError(f"{path} has no logs: no file in this folder is a log")
    return files


def _only_log_of(campaign: Path) -> Path:
    """A field test has a folder like a campaign's, with one run. A campaign has the rows of many runs in a file."""
    logs = sorted((campaign / "log").glob("[!.]*.parquet"))
    if (campaign / "field.json").exists() and len(logs) == 1:
        return logs[0]
    if (campaign / "field.json").exists() and logs:
        raise InputError(
            f"{campaign} is a field test's folder with the logs of {len(logs)} runs: give one, as {logs[0]}"
        )
    if not logs:
        raise InputError(f"{campaign} is a campaign's folder that has no log of a run yet")
    raise InputError(
        f"{campaign} is a campaign's folder: roamcast campaign log {campaign} RUN takes out the log of one run"
    )
