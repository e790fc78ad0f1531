"""The subscriptions of the application on a node."""

from __future__ import annotations

from typing import Final, final

from librt.vecs import append, pop, vec
from mypy_extensions import i64

from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

NONE: Final[list[Filter]] = []
NOWHERE: Final = -1


@final
class Subscriptions:
    """Filters by subscription. Most nodes have one or a few, and a large world has many nodes: no dict for each."""

    __slots__ = ("all", "numbers", "only")

    def __init__(self) -> None:
        self.numbers = vec[i64]()
        self.all = NONE  # the filters, in the same order; a list that was handed out never changes
        self.only: Filter | None = None  # the filter, if there is just one: it needs no loop

    def get(self, subscription: int) -> Filter | None:
        at = self._place(subscription)
        return None if at == NOWHERE else self.all[at]

    def add(self, subscription: int, filter: Filter) -> None:
        """A number that is used again stands for the new filter."""
        at = self._place(subscription)
        if at == NOWHERE:
            self.numbers = append(self.numbers, subscription)
            self._replace([*self.all, filter])
        else:
            self._replace([*self.all[:at], filter, *self.all[at + 1 :]])

    def remove(self, subscription: int) -> None:
        at = self._place(subscription)
        if at != NOWHERE:
            self.numbers, _number = pop(self.numbers, at)
            self._replace(self.all[:at] + self.all[at + 1 :])

    def _place(self, subscription: i64) -> i64:
        numbers = self.numbers
        for at in range(i64(len(numbers))):
            if numbers[at] == subscription:
                return at
        return NOWHERE

    def _replace(self, filters: list[Filter]) -> None:
        self.all = filters
        self.only = filters[0] if len(filters) == 1 else None

    def match(self, event: Event) -> bool:
        only = self.only
        if only is not None:
            return only.wants(event)
        for filter in self.all:  # noqa: SIM110 (interpreted, a generator costs more than most matches)
            if filter.wants(event):
                return True
        return False
