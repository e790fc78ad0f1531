"""When a node sends its summary: Trickle (Levis et al. 2004; RFC 6206).

Time is divided into intervals. In the second half of each, at a random time, the node sends its summary, unless it has
heard the same one `enough` times in this interval. Intervals double from the shortest to the longest while everybody
agrees. A summary that differs makes them short again. So neighbours that agree send little, and those that
differ find out soon.

Unlike there, no node stays silent in two of the longest intervals in a row. Otherwise a node at the edge of a room
could be silent for long, because all in the room agree, while somebody outside whom only this node reaches waits for a
summary.
"""

from __future__ import annotations

from typing import final

from roamcast.protocols.kit.interface import Host


@final
class Trickle:
    __slots__ = (
        "enough",
        "host",
        "interval_us",
        "key",
        "longest_us",
        "rest_us",
        "same",
        "sending",
        "shortest_us",
        "silent",
    )

    def __init__(self, host: Host, key: int, shortest_us: int, longest_us: int, enough: int) -> None:
        self.host = host
        self.key = key
        self.shortest_us = shortest_us
        self.longest_us = longest_us
        self.enough = enough
        self.interval_us = shortest_us
        self.same = 0  # equal summaries heard in this interval
        self.sending = False  # the next timer is the one at which a summary is sent
        self.rest_us = 0
        self.silent = False  # in the last interval

    def start(self) -> None:
        self.interval_us = self.shortest_us
        self._begin()

    def agree(self) -> None:
        """An equal summary was heard."""
        self.same += 1

    def differ(self) -> None:
        """There is something new here, or at a neighbour."""
        if self.interval_us > self.shortest_us:
            self.start()

    def fired(self) -> bool:
        """The timer has fired; returns whether to send a summary now."""
        if self.sending:
            self.sending = False
            self.host.set_timer(self.key, self.rest_us)
            spoke_lately = not self.silent or self.interval_us < self.longest_us
            self.silent = self.same >= self.enough and spoke_lately
            return not self.silent
        self.interval_us = min(2 * self.interval_us, self.longest_us)
        self._begin()
        return False

    def _begin(self) -> None:
        self.same = 0
        self.sending = True
        wait_us = self.interval_us // 2 + int(self.host.random() * (self.interval_us // 2))
        self.rest_us = self.interval_us - wait_us
        self.host.set_timer(self.key, wait_us)
