"""Nodes that walk straight legs, one after the other, by a model of movement."""

from __future__ import annotations

from math import inf, isfinite, sqrt
from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.errors import InputError
from roamcast.world.contacts.neighbourhood import Neighbourhood
from roamcast.world.contacts.queue import ContactQueue
from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.streams import Stream

TURN: Final = 0  # the low half of a key of the queue: the leg of the node in the high half is over
LOW: Final = 0xFFFFFFFF
JUMP_M: Final = 1e-6  # between two legs: far above rounding, far below any real jump


class WalkingNodes(Neighbourhood):
    """Where nodes are, and the queue with the ends of their legs."""

    def __init__(self, mobility: Mobility, n: int, seed: int, from_s: float) -> None:
        super().__init__(n)
        self.mobility = mobility
        self.streams: list[Stream] = [Stream(seed, i, "mobility") for i in range(n)]
        self.legs: list[Leg] = [leg_at(mobility, i, self.streams[i], from_s) for i in range(n)]
        zeros = [0.0] * n
        self.t0 = vec[float](zeros)
        self.x0 = vec[float](zeros)
        self.y0 = vec[float](zeros)
        self.vx = vec[float](zeros)
        self.vy = vec[float](zeros)
        self.ends = vec[float](zeros)
        self.queue = ContactQueue()

    def advance(self, now: float) -> None:
        queue = self.queue
        while queue.first() <= now:
            queue.pop()
            self.walk_on(queue.key >> 32, queue.t)
        self.next = queue.first()

    # ---- positions

    def x(self, i: int, now: float) -> float:
        return self.x0[i] + self.vx[i] * (now - self.t0[i])

    def y(self, i: int, now: float) -> float:
        return self.y0[i] + self.vy[i] * (now - self.t0[i])

    def square(self, i: i64, j: i64, now: float) -> float:
        t0, x0, y0, vx, vy = self.t0, self.x0, self.y0, self.vx, self.vy
        age, other = now - t0[i], now - t0[j]
        dx = x0[i] + vx[i] * age - (x0[j] + vx[j] * other)
        dy = y0[i] + vy[i] * age - (y0[j] + vy[j] * other)
        return dx * dx + dy * dy

    def squares(self, i: i64, nodes: vec[i64], now: float) -> vec[float]:
        t0 = self.t0
        x0 = self.x0
        y0 = self.y0
        vx = self.vx
        vy = self.vy
        x = x0[i] + vx[i] * (now - t0[i])
        y = y0[i] + vy[i] * (now - t0[i])
        squares = x0[: len(nodes)]  # room for as many numbers
        for k in range(len(nodes)):
            j = nodes[k]
            age = now - t0[j]
            dx = x0[j] + vx[j] * age - x
            dy = y0[j] + vy[j] * age - y
            squares[k] = dx * dx + dy * dy
        return squares

    def speed(self, i: int) -> float:
        return sqrt(self.vx[i] * self.vx[i] + self.vy[i] * self.vy[i])

    def leg_end(self, i: int) -> float:
        return self.ends[i]

    # ---- legs

    def set_out(self, i: i64) -> None:
        """Node i walks its first leg."""
        leg = self.legs[i]
        if not (isfinite(leg.x) and isfinite(leg.y)):
            raise InputError(f"node {i} starts at ({leg.x}, {leg.y}); a position must be finite")
        self.walk(i, leg)

    def walk_on(self, i: i64, t: float) -> None:
        """The leg of i is over; the next one begins."""
        old = self.legs[i]
        leg = self.next_leg(i, old)
        dx = leg.x - self.x(i, t)
        dy = leg.y - self.y(i, t)
        if leg.start_s != t or not (dx * dx + dy * dy <= JUMP_M * JUMP_M):
            raise InputError(
                f"mobility: the leg of node {i} at {leg.start_s} s from ({leg.x}, {leg.y}) does not follow the one "
                f"that ended at {t} s in ({self.x(i, t)}, {self.y(i, t)})"
            )
        self.walk(i, leg)

    def next_leg(self, i: i64, leg: Leg) -> Leg:
        return self.mobility.next(i, leg, self.streams[i])

    def walk(self, i: i64, leg: Leg) -> None:
        if not leg.end_s > leg.start_s or not (isfinite(leg.vx) and isfinite(leg.vy)):
            raise InputError(
                f"mobility: a leg of node {i} from {leg.start_s} to {leg.end_s} s at ({leg.vx}, {leg.vy}) m/s; "
                "a leg must last, and its speed be finite"
            )
        self.legs[i] = leg
        self.t0[i] = leg.start_s
        self.x0[i] = leg.x
        self.y0[i] = leg.y
        self.vx[i] = leg.vx
        self.vy[i] = leg.vy
        self.ends[i] = leg.end_s
        if leg.end_s < inf:
            self.queue.push(leg.end_s, i << 32 | TURN, 0.0)


def leg_at(mobility: Mobility, i: int, stream: Stream, t: float) -> Leg:
    """The leg that node i is on at t."""
    leg = mobility.first(i, stream)
    while leg.end_s <= t and leg.end_s > leg.start_s:
        leg = mobility.next(i, leg, stream)
    return leg
