"""The neighbours that a node has heard lately, what they want, and how much of its time each may take."""

from __future__ import annotations

from typing import Final, final

from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

MOST: Final = 256
"""Neighbours; whoever sends in the names of more makes a node forget, and no slower."""
SHARE: Final = 8
"""One neighbour may take this part of the time for comparing."""
SECOND_US: Final = 1_000_000
NEVER: Final = 1 << 62


@final
class Neighbour:
    """When a neighbour came and was heard last, what it wants, if it said so, and how many ids were compared for it in
    this second."""

    __slots__ = ("compared", "heard_us", "met_us", "wanted", "wanted_bytes", "wanted_us")

    def __init__(self, now_us: int) -> None:
        self.met_us = now_us
        self.heard_us = now_us
        self.wanted: Filter | None = None
        self.wanted_bytes = 0
        self.wanted_us = now_us  # when that was last heard
        self.compared = 0


@final
class Neighbours:
    def __init__(self, gone_us: int, compared: int) -> None:
        self.gone_us = gone_us  # after so long a silence, a neighbour is gone
        self.most_compared = compared
        self.here: dict[int, Neighbour] = {}
        self.all_until_us = 0  # until then nobody is gone
        self.compared = 0  # ids in this second, for all of them
        self.second_us = 0  # when it began

    def meet(self, node: int, now_us: int) -> bool:
        """It was heard; returns whether it is new here."""
        self.forget(now_us)
        neighbour = self.here.get(node)
        if neighbour is not None:
            neighbour.heard_us = now_us
            return False
        if len(self.here) >= MOST:
            del self.here[self._silent_for_longest()]
        self.here[node] = Neighbour(now_us)
        self.all_until_us = min(self.all_until_us, now_us + self.gone_us)
        return True

    def forget(self, now_us: int) -> None:
        """Those that have gone. Mostly there is nothing to do: whoever spoke since the last look stays for longer."""
        if now_us <= self.all_until_us:
            return
        for node in [node for node, each in self.here.items() if each.heard_us < now_us - self.gone_us]:
            del self.here[node]
        self.all_until_us = self.gone_us + min([each.heard_us for each in self.here.values()], default=now_us)

    def _silent_for_longest(self) -> int:
        longest, since_us = next(iter(self.here)), NEVER
        for node, neighbour in self.here.items():
            if neighbour.heard_us < since_us:
                longest, since_us = node, neighbour.heard_us
        return longest

    def count(self, now_us: int) -> int:
        self.forget(now_us)
        return len(self.here)

    def wants(self, node: int, predicate: Filter, size: int, now_us: int) -> None:
        neighbour = self.here[node]
        neighbour.wanted, neighbour.wanted_bytes, neighbour.wanted_us = predicate, size, now_us

    def want(self, event: Event, now_us: int) -> bool:
        """Whether one of them has said lately that it wants such events (M15)."""
        for neighbour in self.here.values():
            wanted = neighbour.wanted
            if wanted is not None and neighbour.wanted_us >= now_us - self.gone_us and wanted.matches(event):
                return True
        return False

    def memory_bytes(self) -> int:
        """Eight for each neighbour, and what it wants."""
        return 8 * len(self.here) + sum([neighbour.wanted_bytes for neighbour in self.here.values()])

    @property
    def share(self) -> int:
        """The most ids that are compared for one neighbour in a second (M10)."""
        return self.most_compared // SHARE

    def met_us(self, node: int) -> int:
        return self.here[node].met_us

    def has_time(self, node: int, ids: int, now_us: int) -> bool:
        """Whether there is time to compare so many ids for this neighbour (M10)."""
        if now_us - self.second_us >= SECOND_US:
            self.second_us, self.compared = now_us, 0
            for neighbour in self.here.values():
                neighbour.compared = 0
        neighbour = self.here[node]
        if self.compared >= self.most_compared or neighbour.compared >= self.share:
            return False
        self.compared += min(ids, self.share)  # one neighbour never takes what belongs to others
        neighbour.compared += ids
        return True
