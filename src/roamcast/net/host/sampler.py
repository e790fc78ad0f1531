"""How much routing state the protocol has, in the log, from time to time."""

from __future__ import annotations

from roamcast.log import schema
from roamcast.net.air.timers import Timers
from roamcast.net.host.handlers import Handlers
from roamcast.net.host.journal import Journal


class StateSampler:
    """Logs a sample every `period_s` seconds; 0: never."""

    def __init__(self, handlers: Handlers, journal: Journal, timers: Timers, period_s: float) -> None:
        self._handlers = handlers
        self._journal = journal
        self._timers = timers
        self._period_us = int(period_s * 1e6)

    def begin(self) -> None:
        """Take samples from now on, until the timers are cleared."""
        if self._period_us > 0:
            self._timers.after(self._period_us, self._sample)

    def _sample(self) -> None:
        assert self._handlers.protocol is not None
        entries, size = self._handlers.protocol.memory()
        self._journal.row(schema.STATE, size=size, value=entries)
        self.begin()
