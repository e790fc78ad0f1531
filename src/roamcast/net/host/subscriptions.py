"""The filters of the application. A new protocol object gets all of them."""

from __future__ import annotations

from functools import partial

from roamcast.log import schema
from roamcast.net.host.handlers import Handlers
from roamcast.net.host.journal import Journal
from roamcast.protocols.kit.interface import Protocol
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter


class Subscriptions:
    """Each has a number, by which the protocol and the log know it."""

    def __init__(self, handlers: Handlers, journal: Journal) -> None:
        self.filters: dict[int, Filter] = {}
        self._handlers = handlers
        self._journal = journal
        self._last = 0

    def add(self, filter: Filter, running: bool) -> int:
        self._last += 1
        self.filters[self._last] = filter
        self._journal.row(schema.SUBSCRIBE, self._last, reason=str(filter))
        if running:
            self._announce(self._last, filter)
        return self._last

    def remove(self, number: int, running: bool) -> None:
        filter = self.filters.pop(number)
        self._journal.row(schema.UNSUBSCRIBE, number, reason=str(filter))
        if running:
            self._handlers.call(lambda protocol: protocol.on_unsubscribe(number))

    def match(self, event: Event) -> bool:
        """Whether an application on this node wants this event."""
        return any(filter.matches(event) for filter in self.filters.values())

    def announce_all(self) -> None:
        """Pass all subscriptions to a new protocol object."""
        for number, filter in self.filters.items():
            self._announce(number, filter)

    def _announce(self, number: int, filter: Filter) -> None:
        self._handlers.call(partial(_subscribe, number, filter))


def _subscribe(number: int, filter: Filter, protocol: Protocol) -> None:
    protocol.on_subscribe(number, filter)
