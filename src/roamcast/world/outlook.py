"""The ideal flood of journeys.py in worlds where an event reaches nearly everybody at once.

There it costs less to look who is in reach when an event is published than to foresee all contacts, most of which
nobody needs. Only for the few nodes that are left it is worked out when the first of those that have the event gets to
them. Each event is followed by itself, up to the last node that wants it, and however far into the future that is; if
this takes too much work (`most`) or memory (MOST_LEGS), it is given up.

The readings are those of journeys.py, for nodes that walk and never go off. The tests compare both. (They round
differently, as contacts that are sought and those that are foreseen do: contacts/sought.py.)
"""

from __future__ import annotations

from math import inf
from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.world.contacts.solver import together
from roamcast.world.contacts.walking import WalkingNodes
from roamcast.world.mobility.base import Leg, Mobility

US_PER_S: Final = 1e6
GIVEN_UP: Final = -1  # instead of a number of nodes
PAIR: Final = 6  # foreseeing where two nodes get on two legs takes as long as looking at so many nodes
MOST_LEGS: Final = 100_000  # that are kept because somebody has looked at them; they take 20 MB


@final
class Outlook(WalkingNodes):
    """Node i is heard up to `reaches[i]` metres away. Publications come in order of time."""

    def __init__(self, mobility: Mobility, n: int, seed: int, reaches: list[float], from_s: float = 0.0) -> None:
        super().__init__(mobility, n, seed, from_s)
        self.r2 = vec[float]([r * r for r in reaches])
        self.later: list[list[Leg]] = [[] for _ in range(n)]  # the legs of each node that somebody has looked at, …
        self.over = vec[i64]([0] * n)  # … how many of them are over, …
        self.kept: i64 = 0  # … and how many there are of all nodes
        self.xs = vec[float]([0.0] * n)  # where nodes are now
        self.ys = vec[float]([0.0] * n)
        self.left = vec[i64]([0] * n)  # the nodes that do not have the event, …
        self.lacking: i64 = 0  # … how many these are …
        self.waiting = vec[i64]([0] * n)  # … and the others, once they have it
        self.wants = vec[i64]([0] * n)  # the last event that each node wants
        self.has = vec[i64]([0] * n)  # the last event that each node got
        self.event: i64 = 0
        self.missing: i64 = 0  # how many of those that want the event do not have it
        self.looked: i64 = 0  # at how many nodes so far: the work is proportional to it
        self.most: i64 = 1 << 60  # at how many nodes it is worth looking
        for i in range(n):
            self.set_out(i)
        self.next = self.queue.first()

    def delivered(self, t_us: int, publisher: int, until_us: int, interested: list[int]) -> int:
        """To how many interested nodes an event can be delivered that is published now and spreads up to `until_us`;
        GIVEN_UP if that takes too much work."""
        if until_us < t_us:
            return 0
        t = t_us / US_PER_S
        if t >= self.next:
            self.advance(t)
        self.event += 1
        self.missing = 0
        for node in interested:
            if self.wants[node] != self.event and node != publisher:
                self.wants[node] = self.event
                self.missing += 1
        self.flood(publisher, t)
        if self.missing > 0:
            self.carry(t, until_us / US_PER_S)
        if self.is_too_much():
            return GIVEN_UP
        count: i64 = 0
        for node in interested:
            if self.has[node] == self.event and node != publisher:
                count += 1
        return int(count)

    def is_too_much(self) -> bool:
        return self.looked > self.most or self.kept > MOST_LEGS

    def forget(self) -> None:
        """There will be no more questions."""
        self.later = []
        self.legs = []

    def get(self, i: i64) -> None:
        """Node i gets the event."""
        self.has[i] = self.event
        if self.wants[i] == self.event:
            self.missing -= 1

    # ---- at once

    def flood(self, publisher: i64, t: float) -> None:
        """Give the event to all that it reaches now: from the node that got it last, since those that got it one after
        the other are near to each other, and have the same nodes in reach."""
        self.see(publisher, t)
        waiting = self.waiting
        waiting[0] = publisher
        count: i64 = 1
        while count > 0 and self.missing > 0:
            count = self.pass_on(waiting[count - 1], count - 1)

    def see(self, publisher: i64, t: float) -> None:
        """Work out where all nodes are; all except the publisher lack the event."""
        xs, ys, left = self.xs, self.ys, self.left
        self.locate(xs, ys, t)
        lacking: i64 = 0
        for i in range(i64(len(xs))):
            if i != publisher:
                left[lacking] = i
                lacking += 1
        self.lacking = lacking
        self.has[publisher] = self.event

    def pass_on(self, i: i64, count: i64) -> i64:
        """Give the event to those in reach of node i that lack it: they wait behind `count` others. Returns how many
        wait then."""
        xs, ys, left, waiting = self.xs, self.ys, self.left, self.waiting
        x = xs[i]
        y = ys[i]
        square = self.r2[i]
        lacking = self.lacking
        self.looked += lacking
        kept: i64 = 0
        for k in range(lacking):
            j = left[k]
            dx = xs[j] - x
            dy = ys[j] - y
            if dx * dx + dy * dy <= square:
                self.get(j)
                waiting[count] = j
                count += 1
            else:
                left[kept] = j
                kept += 1
        self.lacking = kept
        return count

    # ---- later

    def carry(self, t: float, until: float) -> None:
        """Give the event to the nodes that are left, in the order in which it gets to them (Dijkstra)."""
        lacking = self.lacking
        soonest = [self.first_meeting(self.left[k], t, until) for k in range(lacking)]
        left = [int(self.left[k]) for k in range(lacking)]
        while left and self.missing > 0 and not self.is_too_much():
            now = min(soonest)
            if now > until:
                return
            first = soonest.index(now)
            i = left.pop(first)
            soonest.pop(first)
            self.get(i)
            for k in range(len(left)):
                soonest[k] = min(soonest[k], self.meeting(i, left[k], now, min(until, soonest[k])))

    def first_meeting(self, j: i64, t: float, until: float) -> float:
        """When the first of those that have the event now gets to node j."""
        soonest = inf
        for i in range(i64(len(self.has))):
            if self.has[i] == self.event:
                soonest = min(soonest, self.meeting(i, j, t, min(until, soonest)))
        return soonest

    def meeting(self, i: i64, j: i64, t: float, until: float) -> float:
        """When, from t on, node j first hears node i; never if that is after `until`."""
        one = self.legs[i]
        other = self.legs[j]
        ones: i64 = 0  # how many legs after its present one that is
        others: i64 = 0
        while t <= until and not self.is_too_much():
            while one.end_s <= t:
                one = self.leg_after(i, one, ones)
                ones += 1
            while other.end_s <= t:
                other = self.leg_after(j, other, others)
                others += 1
            self.looked += PAIR
            last = one.end_s if one.end_s < other.end_s else other.end_s
            px = other.x + other.vx * (t - other.start_s) - (one.x + one.vx * (t - one.start_s))
            py = other.y + other.vy * (t - other.start_s) - (one.y + one.vy * (t - one.start_s))
            begin, _ = together(px, py, other.vx - one.vx, other.vy - one.vy, self.r2[i])
            begin += t
            if begin <= last:
                return begin if begin <= until else inf
            t = last
        return inf

    # ---- legs

    def leg_after(self, i: i64, leg: Leg, k: i64) -> Leg:
        """The leg of node i that follows `leg`, the k-th after its present one."""
        self.looked += 1
        later = self.later[i]
        k += self.over[i]
        if k == len(later):
            later.append(super().next_leg(i, leg))
            self.kept += 1
        return later[k]

    def next_leg(self, i: i64, leg: Leg) -> Leg:
        later = self.later[i]
        over = self.over[i]
        if over == len(later):
            return super().next_leg(i, leg)
        leg = later[over]
        over += 1
        if 2 * over > len(later):
            self.later[i] = later[over:]
            self.kept -= over
            over = 0
        self.over[i] = over
        return leg
