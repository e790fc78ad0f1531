"""Own events that the protocol dropped for want of room, though they are still valid: it gets them again, bit by bit.

A protocol's tables are smaller than the store. What was published and acknowledged must not be lost because a table
was full at that time. So while there are neighbours, `EACH` of the dropped events are offered to the protocol every
`PERIOD_S`: slowly enough for a small table to send what it got before it gets more. An event that is dropped again
waits for its next turn. All drops are counted in the node's status ("protocol full").
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from roamcast.errors import StoreError
from roamcast.net.host.runner import Runner
from roamcast.net.keep.store import Store

log: Final = logging.getLogger("roamcast.net")

PERIOD_S: Final = 1.0
EACH: Final = 20


class Offering:
    def __init__(self, runner: Runner, store: Store) -> None:
        self._runner = runner
        self._store = store
        self._dropped: dict[int, None] = {}  # ids, in the order in which they are offered
        self._warned = False
        runner.decisions.on_no_room = self.dropped

    def __len__(self) -> int:
        return len(self._dropped)

    def dropped(self, id: int) -> None:
        """The protocol has dropped this event, which may be another node's."""
        if not self._warned:
            self._warned = True
            log.warning("the protocol has no room for all valid events; `roamcast status` counts those that it drops")
        if id >> 32 == self._runner.id:
            self._dropped[id] = None
            if len(self._dropped) > self._store.own.most:
                del self._dropped[min(self._dropped)]  # the store removes the oldest as well

    async def run(self) -> None:
        while True:
            await asyncio.sleep(PERIOD_S)
            if self._dropped and self._runner.in_range():
                self.offer()

    def offer(self) -> None:
        """Offer the next events, as far as the queue of frames has room."""
        for id in list(self._dropped)[:EACH]:
            if len(self._runner.outbox) > self._runner.limits.queue // 2:
                return
            del self._dropped[id]
            self._offer(id)

    def _offer(self, id: int) -> None:
        try:
            own = self._store.own.get(id)
        except StoreError as error:
            log.error("%s", error)
            return
        if own is not None and own.left_us > 0:
            self._runner.publish_again(self._runner.publisher.renew(*own))
