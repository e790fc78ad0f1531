"""Which nodes hear each other now: the interface that the world sees, whatever contacts come from."""

from __future__ import annotations

from math import inf

from librt.vecs import vec
from mypy_extensions import i64, mypyc_attr

from roamcast.world.contacts.rows import SortedRows


@mypyc_attr(allow_interpreted_subclasses=True)
class LinkObserver:
    """Is called when j begins (`up`) or ceases to hear i, in the order of time."""

    def link(self, t: float, i: int, j: int, up: bool) -> None:
        raise NotImplementedError


class Neighbourhood:
    """`hearers[i]` are the sorted ids of the nodes that hear i now; nothing changes before `next` (s)."""

    def __init__(self, n: int) -> None:
        self.hearers = SortedRows(n)
        self.next: float = inf
        self.observer: LinkObserver | None = None

    def advance(self, now: float) -> None:
        """Bring `hearers` up to date for `now`, which never decreases."""
        raise NotImplementedError

    def around(self, i: i64, now: float) -> vec[i64]:
        """The nodes that a frame of i may reach, in order; `now` is not after `next`."""
        return self.hearers[i]

    def position(self, i: i64, now: float) -> tuple[float, float]:
        """Metres; `now` is not after `next`."""
        return self.x(i, now), self.y(i, now)

    def x(self, i: i64, now: float) -> float:
        return 0.0

    def y(self, i: i64, now: float) -> float:
        return 0.0

    def square(self, i: i64, j: i64, now: float) -> float:
        """The square of the distance of two nodes."""
        return 0.0

    def squares(self, i: i64, nodes: vec[i64], now: float) -> vec[float]:
        """The squares of the distances from i to these nodes."""
        return vec[float]([0.0] * len(nodes))

    def speed(self, i: i64) -> float:
        """The speed of the current leg, m/s."""
        return 0.0

    def leg_end(self, i: i64) -> float:
        return inf

    def set_link(self, t: float, i: i64, j: i64, up: bool) -> None:
        """Record that j hears i from t on, or does not; nothing happens if that is no change."""
        if not self.hearers.put(i, j, up):
            return
        observer = self.observer
        if observer is not None:
            observer.link(t, i, j, up)
