"""When to send what neighbours may have as well: the Trickle algorithm (Levis et al. 2004; RFC 6206).

Time is divided into intervals. In the second half of each, at a random time, the node sends, unless it has heard the
same `enough` times in this interval. Intervals double from the shortest to the longest while everybody agrees.
Something that differs makes them short again. So neighbours that agree send little, and those that differ find out
soon. After `expirations` intervals the timer stops, until something differs; so MPL wants it (RFC 7731), and by default
it never does.
"""

from __future__ import annotations

from typing import Final

from roamcast.protocols.kit.interface import Host

ENDLESS: Final = 1 << 60  # a small int when compiled, and so compared at once


class TrickleTimer:
    """Uses the host's timer `key`; whoever owns it calls `fired` when that one expires."""

    __slots__ = (
        "enough",
        "expirations",
        "expired",
        "host",
        "interval_us",
        "key",
        "longest_us",
        "rest_us",
        "running",
        "same",
        "sending",
        "shortest_us",
    )

    def __init__(
        self, host: Host, key: int, shortest_us: int, longest_us: int, enough: int, expirations: int = ENDLESS
    ) -> None:
        self.host = host
        self.key = key
        self.shortest_us = shortest_us
        self.longest_us = longest_us
        self.enough = enough  # k of RFC 6206
        self.expirations = expirations
        self.interval_us = shortest_us  # I
        self.same = 0  # c: how often the same was heard in this interval
        self.sending = False  # the next timer is the one at which the node sends
        self.rest_us = 0
        self.running = False
        self.expired = 0  # intervals since the start, or since something differed

    def start(self) -> None:
        self.interval_us = self.shortest_us
        self.expired = 0
        self.running = self.expirations > 0
        if self.running:
            self._begin()

    def stop(self) -> None:
        self.running = False
        self.host.cancel_timer(self.key)

    def agree(self) -> None:
        """The same was heard."""
        self.same += 1

    def differ(self) -> None:
        """There is something new here, or at a neighbour."""
        self.expired = 0
        if self.interval_us > self.shortest_us or not self.running:
            self.start()

    def fired(self) -> bool:
        """The timer has fired; returns whether to send now."""
        if self.sending:
            self.sending = False
            self.expired += 1
            if self.expired < self.expirations:
                self.host.set_timer(self.key, self.rest_us)
            else:
                self.running = False
            return not self.suppressed()
        self.interval_us = min(2 * self.interval_us, self.longest_us)
        self._begin()
        return False

    def suppressed(self) -> bool:
        return self.same >= self.enough

    def _begin(self) -> None:
        self.same = 0
        self.sending = True
        wait_us = self.interval_us // 2 + int(self.host.random() * (self.interval_us // 2))
        self.rest_us = self.interval_us - wait_us
        self.host.set_timer(self.key, wait_us)
