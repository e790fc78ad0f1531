"""Calls of the protocol's handlers, one after the other.

If something happens inside a handler, for example an application publishes while an event is delivered to it, the next
handler waits until this one has returned. An error inside a handler is counted and reported; the node goes on.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from roamcast.net.refusal import PROTOCOL_ERROR, Tally
from roamcast.protocols.kit.interface import Protocol

log: Final = logging.getLogger("roamcast.net")


class Handlers:
    """Calls handlers of the present protocol object. Errors go to `on_error` if it is given, and otherwise to the
    log."""

    def __init__(self, tally: Tally, on_error: Callable[[Exception], None] | None) -> None:
        self.protocol: Protocol | None = None
        self.on_error = on_error
        self._tally = tally
        self._running = False
        self._waiting: deque[Callable[[Protocol], None]] = deque()
        self._logged: set[str] = set()  # types of errors

    def call(self, handler: Callable[[Protocol], None]) -> None:
        """Call a handler now, or after the one that runs now; `handler` gets the protocol."""
        self._waiting.append(handler)
        if self._running:
            return
        self._running = True
        try:
            while self._waiting:
                self._run(self._waiting.popleft())
        finally:
            self._running = False

    def clear(self) -> None:
        """Forget the handlers that wait."""
        self._waiting.clear()

    def _run(self, handler: Callable[[Protocol], None]) -> None:
        assert self.protocol is not None
        try:
            handler(self.protocol)
        except Exception as error:  # an error in the protocol must not stop the node
            self._tally.drop(PROTOCOL_ERROR)
            if self.on_error is not None:
                self.on_error(error)
            elif type(error).__name__ not in self._logged:
                self._logged.add(type(error).__name__)
                log.exception("the protocol failed; further errors of this type are only counted")
