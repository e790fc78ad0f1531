"""Contacts from a list."""

from __future__ import annotations

from math import inf
from typing import final

from mypy_extensions import i64

from roamcast.errors import InputError
from roamcast.world.contacts.neighbourhood import Neighbourhood


@final
class ScheduledContacts(Neighbourhood):
    """Changes (t, i, j, up), sorted by time; links go both ways. There are no positions: all are zero.

    Changes at one instant happen in the order of the list; changes up to 0 s have happened at the start.
    """

    def __init__(self, n: int, changes: list[tuple[float, int, int, bool]]) -> None:
        super().__init__(n)
        self.changes = changes
        self.done: i64 = 0
        before = -inf
        for t, i, j, _ in changes:
            if not before <= t:
                raise InputError(f"contacts: a change at {t:g} s comes after one at {before:g} s; sort them by time")
            if i == j or not (0 <= i < n and 0 <= j < n):
                raise InputError(f"contacts: no link {i}–{j}; it needs two different nodes from 0 to {n - 1}")
            before = t
        self.advance(0.0)

    def advance(self, now: float) -> None:
        changes = self.changes
        k = self.done
        while k < len(changes) and changes[k][0] <= now:
            t, i, j, up = changes[k]
            self.set_link(t, i, j, up)
            self.set_link(t, j, i, up)
            k += 1
        self.done = k
        self.next = changes[k][0] if k < len(changes) else inf
