"""A log that is opened for questions: a file, or a folder with the files that real nodes have written.

The rows of a folder are merged by their time. Each real node has a clock of its own, so times of different nodes are
only as comparable as their clocks were; `roamcast lab field` makes one log with one clock of such a folder.
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
from roamcast.log.explanation.select import of_kinds
from roamcast.log.reader import LogRow, rows_of


def why(path: str | Path, node: int | str | None = None, event: int | str | None = None) -> Answer:
    """What became of an event at a node; without one of the two, or both, a list. `str` of the answer is its text."""
    return Log(path).why(node, event)


class Log:
    """`events`, `summary` and `rows` are data; `why` explains them."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._files = _files_of(self.path)

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
    def events(self) -> list[int]:
        """The ids of the published events, in order."""
        return list(dict.fromkeys(of_kinds(self._table, ("publish",))["event"].to_pylist()))

    def why(self, node: int | str | None = None, event: int | str | None = None) -> Answer:
        """What became of `event` at `node`; without one of the two, or both, a list.

        A node is its number, an event its id or a text such as "3:12": the twelfth event of node 3. The sentences
        behind decisions are those of the built-in protocols, and of others that were imported; without them there are
        only labels.
        """
        return self._answers.answer(node, event)

    def __repr__(self) -> str:
        return f"Log({str(self.path)!r})"

    @cached_property
    def _answers(self) -> Answers:
        return Answers(self._table, str(self.path), merged=len(self._files) > 1)

    @cached_property
    def _table(self) -> Any:
        parts = [reader.read(path) for path in self._files]
        import pyarrow as pa
        import pyarrow.compute as pc

        table = parts[0]
        if len(parts) > 1:
            table = pa.concat_tables(parts).unify_dictionaries()
            table = table.take(pc.sort_indices(table["t"]))  # stable: rows of one file stay in order
        runs = pc.unique(table["run"]).to_pylist()
        if len(runs) > 1:
            raise InputError(f"{self.path} has the rows of {len(runs)} runs; give the log of one, as {self._files[0]}")
        return table


def _files_of(path: Path) -> list[Path]:
    """The files of a log, in the order of their names."""
    if not path.is_dir():
        return [path]
    if (path / "campaign.json").exists():
        example = next(iter(sorted((path / "log").glob("[!.]*.parquet"))), path / "log" / "RUN.parquet")
        raise InputError(f"{path} is a campaign's folder, which has a log for each run: give one of them, as {example}")
    files = sorted(path.rglob("[!.]*.parquet"))
    if not files:
        raise InputError(f"{path} has no logs: there is no Parquet file in this folder")
    return files
