"""A small store that most protocols need: a node's own subscriptions."""

from __future__ import annotations

from typing import final

from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter


@final
class Subscriptions:
    """What the application on this node asked for."""

    def __init__(self) -> None:
        self.filters: dict[int, Filter] = {}
        self.all: list[Filter] = []
        self.only: Filter | None = None  # of one subscription, as most nodes have: no list to go through

    def add(self, subscription: int, filter: Filter) -> None:
        self.filters[subscription] = filter
        self.settle()

    def remove(self, subscription: int) -> None:
        if subscription in self.filters:
            del self.filters[subscription]
            self.settle()

    def settle(self) -> None:
        self.all = list(self.filters.values())
        self.only = self.all[0] if len(self.all) == 1 else None

    def match(self, event: Event) -> bool:
        only = self.only
        if only is not None:
            return only.matches(event)
        for filter in self.all:  # noqa: SIM110 (interpreted, a generator costs more than most matches)
            if filter.matches(event):
                return True
        return False
