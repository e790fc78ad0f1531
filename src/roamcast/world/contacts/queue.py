"""The times at which contacts begin and end, and legs are over: next first."""

from __future__ import annotations

from math import inf
from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

FEW: Final = 64  # `look_ahead` should move between 1/FEW …
MANY: Final = 8  # … and 1/MANY of the entries that are left
LEAST_SPAN_S: Final = 1e-9


@final
class ContactQueue:
    """Entries (t, key), smallest first, with the end of the contact that begins. `pop` leaves the entry in the
    attributes `t`, `key` and `until`, which saves a tuple for each.

    A binary heap holds the entries before the `horizon`. Later entries are in a list without order, which is searched
    when the heap is empty: with many nodes most entries are far away, and a heap of all of them would be large.
    """

    def __init__(self) -> None:
        self.size: i64 = 0  # of the heap
        self.ts = vec[float]()
        self.keys = vec[i64]()
        self.untils = vec[float]()
        self.horizon = -inf
        self.span = 1.0  # s, how far `look_ahead` goes beyond the first entry that is left
        self.left: i64 = 0  # how many entries are beyond the horizon …
        self.first_left = inf  # … and when the first of them is
        self.left_ts = vec[float]()
        self.left_keys = vec[i64]()
        self.left_untils = vec[float]()
        self.t = 0.0
        self.key: i64 = 0
        self.until = 0.0

    def first(self) -> float:
        return self.ts[0] if self.size > 0 else self.first_left

    def push(self, t: float, key: i64, until: float) -> None:
        if t < self.horizon:
            self.order(t, key, until)
            return
        k = self.left
        if k == len(self.left_ts):
            self.left_ts = append(self.left_ts, 0.0)
            self.left_keys = append(self.left_keys, 0)
            self.left_untils = append(self.left_untils, 0.0)
        self.left_ts[k] = t
        self.left_keys[k] = key
        self.left_untils[k] = until
        self.left = k + 1
        if t < self.first_left:
            self.first_left = t

    def look_ahead(self) -> None:
        """The heap is empty: move the horizon, and put the entries before it into the heap."""
        ts = self.left_ts
        keys = self.left_keys
        untils = self.left_untils
        n = self.left
        horizon = self.first_left + self.span
        if not horizon > self.first_left:  # so far away that rounding swallows the span
            horizon = inf
        self.horizon = horizon
        soonest = inf
        k: i64 = 0
        while k < self.left:
            t = ts[k]
            if t >= horizon:
                if t < soonest:
                    soonest = t
                k += 1
                continue
            self.order(t, keys[k], untils[k])
            last = self.left - 1  # the last entry takes the place that becomes free
            ts[k] = ts[last]
            keys[k] = keys[last]
            untils[k] = untils[last]
            self.left = last
        self.first_left = soonest
        if self.size * FEW < n:
            self.span *= 2.0
        elif self.size * MANY > n:
            self.span = max(0.5 * self.span, LEAST_SPAN_S)

    def order(self, t: float, key: i64, until: float) -> None:
        """Put an entry into the heap."""
        k = self.size
        if k == len(self.ts):
            self.ts = append(self.ts, 0.0)
            self.keys = append(self.keys, 0)
            self.untils = append(self.untils, 0.0)
        self.size = k + 1
        ts = self.ts
        keys = self.keys
        untils = self.untils
        while k > 0:
            up = (k - 1) >> 1
            parent = ts[up]
            if parent < t or (parent == t and keys[up] <= key):
                break
            ts[k] = parent
            keys[k] = keys[up]
            untils[k] = untils[up]
            k = up
        ts[k] = t
        keys[k] = key
        untils[k] = until

    def pop(self) -> None:
        if self.size == 0:
            self.look_ahead()
        ts = self.ts
        keys = self.keys
        untils = self.untils
        self.t = ts[0]
        self.key = keys[0]
        self.until = untils[0]
        n = self.size - 1
        self.size = n
        t = ts[n]
        key = keys[n]
        k: i64 = 0
        while True:
            child = 2 * k + 1
            if child >= n:
                break
            least = ts[child]
            if child + 1 < n:
                right = ts[child + 1]
                if right < least or (right == least and keys[child + 1] < keys[child]):
                    child += 1
                    least = right
            if t < least or (t == least and key <= keys[child]):
                break
            ts[k] = least
            keys[k] = keys[child]
            untils[k] = untils[child]
            k = child
        ts[k] = t
        keys[k] = key
        untils[k] = untils[n]
