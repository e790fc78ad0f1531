"""The subscriptions of the application on a node."""

from __future__ import annotations

from typing import final

from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter


@final
class Subscriptions:
    """Filters by subscription."""

    def __init__(self) -> None:
        self.filters: dict[int, Filter] = {}
        self.all: list[Filter] = []
        self.only: Filter | None = None  # the filter, if there is just one, as on most nodes: it needs no loop

    def add(self, subscription: int, filter: Filter) -> None:
        self.filters[subscription] = filter
        self._update_lists()

    def remove(self, subscription: int) -> None:
        if subscription in self.filters:
            del self.filters[subscription]
            self._update_lists()

    def _update_lists(self) -> None:
        self.all = list(self.filters.values())
        self.only = self.all[0] if len(self.all) == 1 else None

    def match(self, event: Event) -> bool:
        only = self.only
        if only is not None:
            return only.wants(event)
        for filter in self.all:  # noqa: SIM110 (interpreted, a generator costs more than most matches)
            if filter.wants(event):
                return True
        return False
