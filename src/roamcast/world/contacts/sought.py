"""Contacts that are looked for when they are needed.

Where a frame reaches a good part of all nodes and nodes move fast, contacts begin and end more often than frames are
sent. Then it costs less to look at all nodes when one of them sends than to foresee every change (kinetic.py).

What is found is kept for a while, as in simulations of molecules (Verlet 1967): the nodes within reach and a little
beyond it stay a superset of the hearers until two nodes can have come nearer to each other by that little. So this is
for radios that measure the strength of a frame at each node, and draw no lots for it: a node too many does no harm.
"""

from __future__ import annotations

from math import inf
from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i32, i64

from roamcast.world.contacts.walking import WalkingNodes
from roamcast.world.mobility.base import Leg, Mobility

BEYOND: Final = 0.05  # of the reach: more would be kept for longer, and visited for nothing
NOBODY: Final = vec[i32]()


@final
class SoughtContacts(WalkingNodes):
    """Node i is heard up to `reaches[i]` metres away. There are no rows of hearers, and nobody observes links."""

    def __init__(self, mobility: Mobility, n: int, seed: int, reaches: list[float]) -> None:
        super().__init__(mobility, n, seed, 0.0)
        self.reaches = vec[float](reaches)
        self.near: list[vec[i32]] = [NOBODY] * n
        self.until = vec[float]([-inf] * n)  # when `near` is to be made anew
        self.fastest = 0.0  # the speed of the fastest leg so far, m/s
        self.numbers = vec[i32]([0] * n)
        for i in range(n):
            self.set_out(i)
        self.advance(0.0)

    def advance(self, now: float) -> None:
        queue = self.queue
        while queue.first() <= now:
            queue.pop()
            self.walk_on(queue.key >> 32, queue.t)
        self.next = queue.first()

    def walk(self, i: i64, leg: Leg) -> None:
        super().walk(i, leg)
        speed = self.speed(i)
        if speed > self.fastest:  # then what was found does not last as long as was thought
            self.fastest = speed
            for k in range(i64(len(self.until))):
                self.until[k] = -inf

    def outdated(self, i: i64, now: float) -> bool:
        return now >= self.until[i]

    def around(self, i: i64, now: float) -> vec[i32]:
        """With some that are a little beyond reach."""
        if now >= self.until[i]:
            beyond = BEYOND * self.reaches[i]
            self.near[i] = self.within(self.reaches[i] + beyond, i, now)
            self.until[i] = now + beyond / (2.0 * self.fastest) if self.fastest > 0.0 else inf
        return self.near[i]

    def within(self, distance: float, i: i64, now: float) -> vec[i32]:
        t0 = self.t0
        x0 = self.x0
        y0 = self.y0
        vx = self.vx
        vy = self.vy
        numbers = self.numbers
        x = x0[i] + vx[i] * (now - t0[i])
        y = y0[i] + vy[i] * (now - t0[i])
        square = distance * distance
        n: i64 = 0
        for j in range(i64(len(t0))):
            age = now - t0[j]
            dx = x0[j] + vx[j] * age - x
            dy = y0[j] + vy[j] * age - y
            if dx * dx + dy * dy <= square and j != i:
                numbers[n] = i32(j)
                n += 1
        return numbers[:n]
