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

LEG: Final = 6  # numbers of a leg, which lie together: in a large world, reading memory takes longer than computing
X: Final = 1  # behind the time at which it starts: where it starts, …
Y: Final = 2
VX: Final = 3  # … its speed, …
VY: Final = 4
END: Final = 5  # … and when it ends


class WalkingNodes(Neighbourhood):
    """Where nodes are, and the queue with the ends of their legs."""

    def __init__(self, mobility: Mobility, n: int, seed: int, from_s: float) -> None:
        super().__init__(n)
        self.mobility = mobility
        self.streams: list[Stream] = [Stream(seed, i, "mobility") for i in range(n)]
        self.legs: list[Leg] = [leg_at(mobility, i, self.streams[i], from_s) for i in range(n)]
        self.walked = vec[float]([0.0] * (LEG * n))  # the leg that each node is on
        self.queue = ContactQueue()

    def advance(self, now: float) -> None:
        queue = self.queue
        while queue.first() <= now:
            queue.pop()
            self.walk_on(queue.key >> 32, queue.t)
        self.next = queue.first()

    # ---- positions; in loops over many nodes they are written out, because calls would take longer

    def x(self, i: i64, now: float) -> float:
        leg = LEG * i
        return self.walked[leg + X] + self.walked[leg + VX] * (now - self.walked[leg])

    def y(self, i: i64, now: float) -> float:
        leg = LEG * i
        return self.walked[leg + Y] + self.walked[leg + VY] * (now - self.walked[leg])

    def square(self, i: i64, j: i64, now: float) -> float:
        dx = self.x(i, now) - self.x(j, now)
        dy = self.y(i, now) - self.y(j, now)
        return dx * dx + dy * dy

    def squares(self, i: i64, nodes: vec[i64], now: float) -> vec[float]:
        walked = self.walked
        x = self.x(i, now)
        y = self.y(i, now)
        squares = walked[: len(nodes)]  # room for as many numbers
        for k in range(len(nodes)):
            leg = LEG * nodes[k]
            age = now - walked[leg]
            dx = walked[leg + X] + walked[leg + VX] * age - x
            dy = walked[leg + Y] + walked[leg + VY] * age - y
            squares[k] = dx * dx + dy * dy
        return squares

    def locate(self, xs: vec[float], ys: vec[float], now: float) -> None:
        """Set `xs` and `ys` to where all nodes are."""
        walked = self.walked
        for i in range(i64(len(xs))):
            leg = LEG * i
            age = now - walked[leg]
            xs[i] = walked[leg + X] + walked[leg + VX] * age
            ys[i] = walked[leg + Y] + walked[leg + VY] * age

    def speed(self, i: i64) -> float:
        vx, vy = self.walked[LEG * i + VX], self.walked[LEG * i + VY]
        return sqrt(vx * vx + vy * vy)

    def leg_end(self, i: i64) -> float:
        return self.walked[LEG * i + END]

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
        at = LEG * i
        walked = self.walked
        walked[at], walked[at + END] = leg.start_s, leg.end_s
        walked[at + X], walked[at + Y] = leg.x, leg.y
        walked[at + VX], walked[at + VY] = leg.vx, leg.vy
        if leg.end_s < inf:
            self.queue.push(leg.end_s, i << 32 | TURN, 0.0)


def leg_at(mobility: Mobility, i: int, stream: Stream, t: float) -> Leg:
    """The leg that node i is on at t."""
    leg = mobility.first(i, stream)
    while leg.end_s <= t and leg.end_s > leg.start_s:
        leg = mobility.next(i, leg, stream)
    return leg
