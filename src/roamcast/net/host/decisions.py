"""The protocol's decisions: counted for the node's status, and logged."""

from __future__ import annotations

from collections.abc import Callable

from roamcast.log import schema
from roamcast.net.host.journal import Journal
from roamcast.net.refusal import PROTOCOL_FULL, Tally
from roamcast.protocols.kit.interface import lacked_room, reason_kind, reason_label


class Decisions:
    """Decisions during a catch-up are not counted: the earlier boot counted them."""

    def __init__(self, journal: Journal, tally: Tally) -> None:
        self.on_no_room: Callable[[int], None] = _ignore  # gets the ids of valid events that the protocol has dropped
        self._journal = journal
        self._tally = tally
        self._counts: dict[int, int] = {}

    def note(self, reason: int, event: int, peer: int, value: int) -> None:
        if self._journal.present_us < 0:
            self._counts[reason] = self._counts.get(reason, 0) + 1
            if lacked_room(reason):
                self._tally.drop(PROTOCOL_FULL)
                self.on_no_room(event)
        kind = schema.kind_code(reason_kind(reason))
        self._journal.row(kind, event, peer=peer, value=value, reason=reason_label(reason))

    def counts(self) -> dict[str, int]:
        return {f"{reason_kind(r)}: {reason_label(r)}": n for r, n in sorted(self._counts.items())}


def _ignore(_: int) -> None:
    pass
