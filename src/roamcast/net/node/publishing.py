"""Own events on their way to the protocol: each is stored first, and none overfills the queue of frames.

An event that a subscription on this node wants is stored among the received events as well, in the same commit. So
applications on one machine talk through their node, also without any neighbour, and an event that was acknowledged
reaches them once, whatever happens to the process in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from roamcast.net.host.runner import Runner
from roamcast.net.keep.store import Store
from roamcast.net.node.writer import Writer
from roamcast.net.refusal import PUBLICATIONS_FULL
from roamcast.net.trust.rekeying import TOPIC
from roamcast.pubsub.event import Event, Value

ROOM_S: Final = 0.02
"""How often to check whether the queue has room."""


class Publishing:
    def __init__(self, runner: Runner, store: Store, writer: Writer) -> None:
        self._runner = runner
        self._store = store
        self._writer = writer
        self._turn = asyncio.Lock()
        self._again = 0  # up to this id, events of earlier boots were published again
        self._first: int | None = None  # the id of the first event of this boot
        self._waiting = 0  # events that are being stored, and will need room in the queue afterwards

    async def publish(
        self,
        topic: str,
        attrs: dict[str, Value] | None,
        payload: bytes,
        validity_us: int,
        scope: int,
        also: Callable[[int], None] | None = None,
    ) -> int:
        """The event's id, once it is on disk and the protocol has it. `also` is called with it, in the same commit."""
        async with self._turn:  # in the order of the calls
            await self._room()
            event = self._runner.publisher.prepare(topic, attrs, payload, validity_us, scope)
            if self._first is None:
                self._first = event.id
            self._waiting += 1
        await asyncio.shield(
            self._store_and_publish(event, also)
        )  # if the caller gives up, storing and publishing are still completed
        return event.id

    async def publish_again(self) -> None:
        """Publish valid events of earlier boots again, at a pace that leaves room for others. After an error it may be
        called again, and goes on where it was."""
        for event, group, left_us in self._store.own.valid():
            if self._of_earlier_boot(event):
                await self._room()
                self._again = event.id
                self._runner.publish(self._runner.publisher.renew(event, group, left_us), again=True)
                await asyncio.sleep(0)

    def _of_earlier_boot(self, event: Event) -> bool:
        """Whether it is to be published again. The roster may have given this node another number since."""
        is_new = self._first is not None and event.id >= self._first
        return event.publisher == self._runner.id and event.id > self._again and not is_new

    async def _store_and_publish(self, event: Event, also: Callable[[int], None] | None) -> None:
        try:
            wanted = self._wanted_here(event)
            await self._writer.write(partial(self._keep, event, wanted, also))
            self._runner.tally.own += len(wanted)
            self._runner.publish(event)
        finally:
            self._waiting -= 1

    def _wanted_here(self, event: Event) -> list[Event]:
        """The event as the application published it, if a subscription on this node matches it."""
        if event.topic == TOPIC:  # a step of a rotation: not for applications
            return []
        plain = self._runner.publisher.unsealed(event)
        return [plain] if self._runner.subscriptions.match(plain) else []

    def _keep(self, event: Event, wanted: list[Event], also: Callable[[int], None] | None) -> None:
        own = self._store.own
        lost = own.lost
        own.add([event], self._runner.publisher.group)
        for _ in range(own.lost - lost):
            self._runner.tally.drop(PUBLICATIONS_FULL)
        if wanted:
            self._store.received.add(wanted)
        if also is not None:
            also(event.id)

    async def _room(self) -> None:
        while len(self._runner.outbox) + self._waiting > self._runner.limits.queue // 2:
            await asyncio.sleep(ROOM_S)
