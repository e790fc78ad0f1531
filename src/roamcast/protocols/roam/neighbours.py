"""The neighbours that a node has heard lately, what they want, and how much of its time each may take."""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, pop, vec
from mypy_extensions import i64

from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

MOST: Final = 256
"""Neighbours; whoever sends in the names of more makes a node forget, and no slower."""
SHARE: Final = 8
"""One neighbour may take this part of the time for comparing."""
SECOND_US: Final = 1_000_000
NOBODY: Final = -1


@final
class Neighbour:
    """When a neighbour came, what it wants, if it said so, and how many ids were compared for it in this second."""

    __slots__ = ("compared", "met_us", "wanted", "wanted_bytes", "wanted_us")

    def __init__(self, now_us: int) -> None:
        self.met_us = now_us
        self.wanted: Filter | None = None
        self.wanted_bytes = 0
        self.wanted_us = now_us  # when that was last heard
        self.compared = 0


@final
class Neighbours:
    """They are in the order in which they came. Every frame asks for its sender, and there are few of them, so that
    looking at one number after the other takes no longer than a dict."""

    def __init__(self, gone_us: int, compared: int) -> None:
        self.gone_us: i64 = gone_us  # after so long a silence, a neighbour is gone
        self.most_compared = compared
        self.nodes = vec[i64]()
        self.heard_us = vec[i64]()  # when each was heard last
        self.here: list[Neighbour] = []  # and everything else
        self.all_until_us: i64 = 0  # until then nobody is gone
        self.compared = 0  # ids in this second, for all of them
        self.second_us = 0  # when it began

    def meet(self, node: i64, now_us: i64) -> bool:
        """It was heard; returns whether it is new here."""
        self.forget(now_us)
        at = self.find(node)
        if at != NOBODY:
            self.heard_us[at] = now_us
            return False
        if len(self.here) >= MOST:
            self._remove(self._silent_for_longest())
        self.nodes = append(self.nodes, node)
        self.heard_us = append(self.heard_us, now_us)
        self.here.append(Neighbour(now_us))
        return True

    def find(self, node: i64) -> i64:
        """The position of a neighbour, or NOBODY."""
        nodes = self.nodes
        for at in range(i64(len(nodes))):
            if nodes[at] == node:
                return at
        return NOBODY

    def forget(self, now_us: i64) -> None:
        """Those that have gone. Mostly there is nothing to do: whoever spoke since the last look stays for longer."""
        if now_us <= self.all_until_us:
            return
        for at in range(i64(len(self.nodes)) - 1, -1, -1):
            if self.heard_us[at] < now_us - self.gone_us:
                self._remove(at)
        since_us = self.heard_us[self._silent_for_longest()] if self.here else now_us
        self.all_until_us = since_us + self.gone_us

    def clear(self) -> None:
        self.nodes, self.heard_us, self.here = vec[i64](), vec[i64](), []

    def _remove(self, at: i64) -> None:
        self.nodes, _node = pop(self.nodes, at)
        self.heard_us, _heard_us = pop(self.heard_us, at)
        del self.here[at]

    def _silent_for_longest(self) -> i64:
        heard_us = self.heard_us
        longest: i64 = 0
        for at in range(1, i64(len(heard_us))):
            if heard_us[at] < heard_us[longest]:
                longest = at
        return longest

    def count(self, now_us: i64) -> int:
        self.forget(now_us)
        return len(self.here)

    def wants(self, node: i64, predicate: Filter, size: int, now_us: int) -> None:
        neighbour = self.here[self.find(node)]
        neighbour.wanted, neighbour.wanted_bytes, neighbour.wanted_us = predicate, size, now_us

    def want(self, event: Event, now_us: int) -> bool:
        """Whether one of them has said lately that it wants such events (M15)."""
        for neighbour in self.here:
            wanted = neighbour.wanted
            if wanted is not None and neighbour.wanted_us >= now_us - self.gone_us and wanted.matches(event):
                return True
        return False

    def memory_bytes(self) -> int:
        """Eight for each neighbour, and what it wants."""
        return 8 * len(self.here) + sum([neighbour.wanted_bytes for neighbour in self.here])

    @property
    def share(self) -> int:
        """The most ids that are compared for one neighbour in a second (M10)."""
        return self.most_compared // SHARE

    def met_us(self, node: i64) -> int:
        return self.here[self.find(node)].met_us

    def has_time(self, node: i64, ids: int, now_us: int) -> bool:
        """Whether there is time to compare so many ids for this neighbour (M10)."""
        if now_us - self.second_us >= SECOND_US:
            self.second_us, self.compared = now_us, 0
            for neighbour in self.here:
                neighbour.compared = 0
        neighbour = self.here[self.find(node)]
        if self.compared >= self.most_compared or neighbour.compared >= self.share:
            return False
        self.charge(node, ids)
        return True

    def charge(self, node: i64, ids: int) -> None:
        """So many ids are compared for this neighbour."""
        self.compared += min(ids, self.share)  # one neighbour never takes what belongs to others
        self.here[self.find(node)].compared += ids
