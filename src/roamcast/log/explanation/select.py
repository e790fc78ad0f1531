"""The columns of a log as arrays, so that only the rows that a question is about become Python objects."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final

from roamcast.log.reader import LogRow, rows_of
from roamcast.log.schema import DECISIONS, KINDS

DECISION_KINDS: Final = tuple(KINDS[code] for code in DECISIONS)
FRAME_KINDS: Final = ("send", "repeat", "receive", "lose", "overhear")
EVENT_KINDS: Final = ("publish", "deliver", *FRAME_KINDS, *DECISION_KINDS)
"""The kinds of rows whose column `event` is the id of an event."""


class Columns:
    """A mask is an array with one truth value for each row."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, name: str) -> Any:
        """A column of numbers; Arrow does not copy it."""
        return self._table[name].to_numpy()

    def are(self, kinds: Iterable[str]) -> Any:
        """A mask of the rows of these kinds."""
        import numpy as np

        wanted = np.zeros(len(KINDS), bool)
        wanted[[KINDS.index(kind) for kind in kinds]] = True
        return wanted[self._kinds]

    def have_reason(self, reasons: Iterable[str]) -> Any:
        """A mask of the rows with one of these reasons."""
        return _looked_up(self._table["reason"], set(reasons).__contains__, bool)

    def reasons(self) -> tuple[Any, list[str]]:
        """For each row the place of its reason in a list, and that list."""
        places: dict[str, int] = {}
        codes = _looked_up(self._table["reason"], lambda text: places.setdefault(text, len(places)), "int64")
        return codes, list(places)

    def rows(self, mask: Any) -> list[LogRow]:
        import numpy as np

        return rows_of(self._table.take(np.flatnonzero(mask)))

    def rows_of_kinds(self, kinds: Iterable[str]) -> list[LogRow]:
        return self.rows(self.are(kinds))

    def rows_about(self, event: int) -> list[LogRow]:
        """The rows about an event and about frames that carried it.

        The send row of a frame with several events names the first of them, so such a frame is known by the receive
        rows of its hearers; one that no node received stays unknown.
        """
        named = (self["event"] == event) & self.are(EVENT_KINDS)
        return self.rows(named | self._of_frames_in(named))

    def rows_by_event(self, node: int, events: set[int]) -> dict[int, list[LogRow]]:
        """For each of `events` the rows of `rows_about`, and for all other events the rows of `node` about them."""
        import numpy as np

        about = self.are(EVENT_KINDS)
        named = about & np.isin(self["event"], np.array(sorted(events), np.int64))
        rows = self.rows(named | self._of_frames_in(named) | (about & (self["node"] == node)))
        carried: dict[int, set[int]] = {}
        for row in rows:
            if row.frame:
                carried.setdefault(row.frame, set()).add(row.event)
        by_event: dict[int, list[LogRow]] = {}
        for row in rows:
            for event in carried[row.frame] | {row.event} if row.frame else (row.event,):
                by_event.setdefault(event, []).append(row)
        return by_event

    def senders_during(self, frame: int, node: int) -> list[int]:
        """The senders of other frames that were on the air together with `frame`, and that `node` noticed as well."""
        import numpy as np

        sent = np.flatnonzero(self.are(("send",)))
        begins, frames = self["t"][sent], self["frame"][sent]
        ends = begins + self["value"][sent]
        of_this = frames == frame
        if not of_this.any():
            return []
        together = (begins < ends[of_this][0]) & (ends > begins[of_this][0]) & ~of_this
        noticed = (self["node"] == node) & self.are(("receive", "lose", "overhear"))
        senders: list[int] = np.unique(self["peer"][noticed & np.isin(self["frame"], frames[together])]).tolist()
        return [sender for sender in senders if sender != node]

    def _of_frames_in(self, mask: Any) -> Any:
        """A mask of all rows about the frames of the rows in `mask`."""
        import numpy as np

        frames = np.unique(self["frame"][mask])
        return np.isin(self["frame"], frames[frames != 0]) & self.are(FRAME_KINDS)

    @cached_property
    def _kinds(self) -> Any:
        """For each row the code of its kind."""
        return _looked_up(self._table["kind"], KINDS.index, "int8")


def _looked_up(column: Any, value_of: Any, type_: Any) -> Any:
    """For each row the value of its text; each text of the dictionaries is looked at once."""
    import numpy as np

    parts = [
        np.array([value_of(text) for text in chunk.dictionary.to_pylist()], type_)[chunk.indices.to_numpy()]
        for chunk in column.chunks
        if len(chunk)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, type_)
