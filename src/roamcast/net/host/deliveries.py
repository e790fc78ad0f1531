"""Events on their way from the protocol to the application of this node."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from roamcast.log import schema
from roamcast.net.host.journal import Journal
from roamcast.net.host.publisher import Publisher
from roamcast.net.refusal import APPLICATION, Tally
from roamcast.pubsub.event import Event

log: Final = logging.getLogger("roamcast.net")

Deliver = Callable[[Event, Event], None]
"""Gets an event as it was published, and the same event sealed, as it travelled."""


class Deliveries:
    """`on_deliver` is called inside a handler of the protocol: if it publishes, the event waits for the end of the
    handler."""

    def __init__(self, publisher: Publisher, journal: Journal, tally: Tally, on_deliver: Deliver | None) -> None:
        self.on_deliver = on_deliver
        self._publisher = publisher
        self._journal = journal
        self._tally = tally

    def deliver(self, event: Event) -> None:
        self._tally.delivered += 1
        self._journal.row(schema.DELIVER, event.id)
        if self.on_deliver is None:
            return
        try:
            self.on_deliver(self._publisher.unsealed(event), event)
        except Exception:
            self._tally.drop(APPLICATION)
            log.exception("the application failed to take an event")
