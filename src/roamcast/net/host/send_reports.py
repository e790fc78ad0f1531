"""Logs what happens to own frames, and reports to the protocol that a neighbour was not reached."""

from __future__ import annotations

from roamcast.net.host.handlers import Handlers
from roamcast.net.host.journal import Journal
from roamcast.net.limits import Limits
from roamcast.protocols.kit.interface import Frame


class SendReports:
    """The outbox's `SendObserver`."""

    def __init__(self, handlers: Handlers, journal: Journal, limits: Limits) -> None:
        self._handlers = handlers
        self._journal = journal
        self._limits = limits

    def frame_sent(self, frame: Frame, to: int, serial: int, size: int, repeated: bool) -> None:
        self._journal.sent(frame, to, serial, size, int(self._limits.airtime_us(size)))
        if repeated:
            self._journal.repeated(frame, to, serial)

    def frame_lost(self, frame: Frame, to: int, serial: int, size: int, why: str) -> None:
        self._journal.lost(frame, to, serial, size, why)

    def frame_undelivered(self, frame: Frame, to: int) -> None:
        self._handlers.call(lambda protocol: protocol.on_undelivered(frame, to))
