"""The foremost-journey oracle: which nodes an ideal flood could have reached over the same contacts.

A journey is a path through time: a sequence of links, each used while it exists and not before the previous one. A
node can have an event as early as the foremost journey from its publisher arrives; if none does before the event
expires, no protocol could have delivered it. *Of possible* = deliveries / pairs that have such a journey: it separates
what the protocol lost from what the world made impossible.

`Journeys` observes contacts, and gets nodes and publications in order of time. For each node it keeps the set of events
that the node can have had by now, as the bits of one int. At every moment all events have spread as far as the present
links allow. So work is needed only for changes: when a link or a node comes up, two sets are united, and the result is
passed on breadth first to nodes that lack some of it. An event that all nodes have needs no more work: where nodes are
dense, most events reach all of them at once, and links then come and go without being looked at.

Readings, one test each:
  R1  transfer takes no time, and any number of hops fit into one instant
  R2  contacts are closed intervals: a link or a node that goes down at t can still be used at t, in whatever order the
      changes of that instant come (going down is delayed until the time advances)
  R3  an event spreads up to and including the instant it expires
  R4  a node that is down neither gets nor gives and keeps what it has; when it comes up it and its neighbours catch up
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

from roamcast.world.contacts.neighbourhood import LinkObserver, Neighbourhood
from roamcast.world.contacts.rows import SortedRows

NEVER: Final = float("inf")
US_PER_S: Final = 1e6
SAME_S: Final = 0.5e-6  # times closer than half a microsecond are one instant, rounded in two ways
UP_FIRST: Final = 0  # of the changes at one instant, because a contact may last for one instant only
DOWN_LAST: Final = 1
LOW: Final = 0xFFFFFFFF


@final
class Journeys(LinkObserver):
    """Links are directed; nodes are 0 … nodes - 1 and up at first; events are numbered 0, 1, … in any order.

    Times of links and nodes are in seconds, as contacts are computed; those of events in microseconds, as events have
    them. No call may be earlier than the one before it.
    """

    def __init__(self, contacts: Neighbourhood) -> None:
        self.contacts = contacts
        nodes = len(contacts.hearers)
        self._sources: SortedRows | None = None  # whom each node hears; made when it is first needed
        self._held = [0] * nodes
        self._is_up = [True] * nodes
        self._seen = vec[i64]([0] * nodes)  # the last flood that visited the node
        self._waiting = vec[i64]([0] * nodes)
        self._floods: i64 = 0
        self._now_s = -NEVER
        self._live = 0  # events that have not expired, and that not all nodes have
        self._has_spread = False  # whether some may have reached all nodes since this was last looked at
        self._expiries: list[tuple[float, int]] = []
        self._next_expiry_s = NEVER
        self._ended = vec[i64]()  # links that went down at this instant, i << 32 | j, …
        self._endings: i64 = 0  # … and how many
        self._ending_nodes: dict[int, bool] = {}
        contacts.observer = self

    def link(self, t: float, i: int, j: int, up: bool) -> None:
        """From now on j hears i, or no longer does."""
        if t != self._now_s:
            self._move_on(t)
        sources = self._sources
        if sources is not None:
            sources.put(j, i, up)
        if not up:
            self._end_link(i, j)
        elif self._live and self._is_up[i] and self._is_up[j]:
            news = self._held[i] & self._live & ~self._held[j]
            if news:
                self._held[j] |= news
                self._spread(j, news)

    def up(self, t: float, i: int) -> None:
        if t != self._now_s:
            self._move_on(t)
        self._ending_nodes.pop(i, None)
        if self._is_up[i]:
            return
        self._is_up[i] = True
        heard = self._held[i]
        for j in self._heard_by(i):
            if self._is_up[j]:
                heard |= self._held[j] & self._live
        self._held[i] = heard
        self._spread(i, heard & self._live)

    def down(self, t: float, i: int) -> None:
        if t != self._now_s:
            self._move_on(t)
        self._ending_nodes[i] = True

    def publish(self, t_us: int, node: int, event: int, expires_us: int) -> None:
        """`event` is the event's number: its bit in the result of `reached`."""
        t = t_us / US_PER_S
        if t != self._now_s:
            self._move_on(t)
        if self._has_spread:
            self._forget_common()
        bit = 1 << event
        self._held[node] |= bit
        if expires_us < t_us or (self._is_up[node] and self._flood(node, bit)):
            return
        self._live |= bit
        heappush(self._expiries, (expires_us / US_PER_S, event))
        self._next_expiry_s = self._expiries[0][0]

    def is_over(self) -> bool:
        """Whether no event can reach another node, unless one is published."""
        return not self._live

    def reached(self, node: int) -> int:
        """The events that the node can have had by now: bit k is event k. A publisher has its own."""
        return self._held[node]

    def _flood(self, origin: int, bit: int) -> bool:
        """Give an event that only `origin` has to all nodes that it reaches, without comparing sets. Returns whether it
        reached all there are."""
        flood = self._floods + 1
        self._floods = flood
        seen = self._seen
        seen[origin] = flood
        waiting = self._waiting
        waiting[0] = origin
        last: i64 = 0
        k: i64 = 0
        while k <= last:
            for j in self._heard_from(waiting[k]):
                if seen[j] != flood:
                    seen[j] = flood
                    if self._is_up[j]:
                        self._held[j] |= bit
                        last += 1
                        waiting[last] = j
            k += 1
        return last + 1 == len(self._held)

    def _spread(self, origin: int, news: int) -> None:
        """Pass on the events that `origin` has just got."""
        self._has_spread = True
        waiting = [(origin, news)]
        for i, events in waiting:  # the list grows during the loop
            for j in self._heard_from(i):
                if self._is_up[j]:
                    lacking = events & ~self._held[j]
                    if lacking:
                        self._held[j] |= lacking
                        waiting.append((j, lacking))

    def _forget_common(self) -> None:
        """Events that all nodes have by now need no more work."""
        self._has_spread = False
        common = self._live
        for held in self._held:
            if not common:
                return
            common &= held
        self._live ^= common

    # ---- links at this instant, with those that end now (R2)

    def _heard_from(self, i: i64) -> vec[i64]:
        """The nodes that hear i."""
        hearers = self.contacts.hearers[i]
        for k in range(self._endings):
            if self._ended[k] >> 32 == i:
                hearers = append(hearers, self._ended[k] & LOW)
        return hearers

    def _heard_by(self, j: i64) -> vec[i64]:
        """The nodes that j hears."""
        if self._sources is None:
            self._sources = turned_round(self.contacts.hearers)
        sources = self._sources[j]
        for k in range(self._endings):
            if self._ended[k] & LOW == j:
                sources = append(sources, self._ended[k] >> 32)
        return sources

    def _end_link(self, i: i64, j: i64) -> None:
        k = self._endings
        if k == len(self._ended):
            self._ended = append(self._ended, 0)
        self._ended[k] = i << 32 | j
        self._endings = k + 1

    def _move_on(self, t: float) -> None:
        """The time advances: links and nodes that ended at the last instant go down, and events expire."""
        if t < self._now_s:
            if self._now_s - t < SAME_S:
                return
            raise ValueError(f"time goes back from {self._now_s} s to {t} s")
        self._now_s = t
        self._endings = 0
        if self._ending_nodes:
            for i in self._ending_nodes:
                self._is_up[i] = False
            self._ending_nodes.clear()
        while self._next_expiry_s < t:
            _, event = heappop(self._expiries)
            self._live &= ~(1 << event)
            self._next_expiry_s = self._expiries[0][0] if self._expiries else NEVER


def turned_round(rows: SortedRows) -> SortedRows:
    """For each node the nodes in whose rows it is."""
    turned = SortedRows(len(rows))
    for i in range(len(rows)):
        for j in rows[i]:
            turned.put(j, i, True)
    return turned
