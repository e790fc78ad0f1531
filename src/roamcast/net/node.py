"""Publish/subscribe for applications.

    async with Node(Config(state="here", key="group.key")) as node:
        await node.publish("weather.roof", {"temperature": 31.5}, validity_s=600)
        async for event in node.subscribe("temperature > 30", name="alarm"):
            print(event.topic, event.attrs, event.payload)

What is promised, whenever the process or the machine is killed:

  - `publish` returns when the event is durable: it is given to the protocol again, with what is left of its validity,
    each time the node starts. What the protocol makes of it is the protocol's business.
  - events of others are written down as they come, and given to the protocol again as well, as something that came when
    it came (host.py). What came in the last moments may be lost: nobody was promised it.
  - an event is written down before any subscription gets it, and no subscription ever gets one twice.
  - a subscription with a name goes on where it was when an application asks for that name again, and what came in
    between waits for it. That it has had an event is written down before it gets it: so an application that is killed
    while it handles an event will not get that one again. An application that keeps `subscription.position` together
    with what it did, and asks with `after=` that position, gets exactly those that it has no trace of.
  - a subscription without a name gets what comes from now on, and is over with the application.

Back-pressure. What the application has not asked for waits in the store, not in memory, and nothing waits for a slow
application: neither the protocol nor other subscriptions. If the store is full (`Bounds`), or an event's validity is
over, the oldest go, and `subscription.lost` counts how many it never came to see. The other way round, `publish` waits
while the queue of frames is more than half full, so that a fast application does not fill it.

Errors. InputError (FilterError for filters): what was asked for is wrong. StoreError: the disk failed;
what is asked for next is tried again. NodeClosed: the node is not running. Nothing that comes from the air raises.

Threads. All but the disk is done on the loop; one thread writes, and what comes while it writes shares its next commit.
"""

from __future__ import annotations

import asyncio
import logging
import os
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final, Self

from roamcast.errors import InputError, NodeClosed, RoamcastError
from roamcast.log.writer import LogSink
from roamcast.net.config import Config
from roamcast.net.host import NetHost, Senses
from roamcast.net.identity import Member, Roster
from roamcast.net.medium import Medium, UdpMedium
from roamcast.net.refusal import APPLICATION
from roamcast.net.rotation import RotatingSink
from roamcast.net.security import KeyRing
from roamcast.net.store import Named, Received, Store
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.pubsub.event import FOREVER, GLOBAL, LOCAL, Event, Value
from roamcast.pubsub.filters import Filter
from roamcast.pubsub.text import parse_subscription

log: Final = logging.getLogger("roamcast.net")

PAGE: Final = 64
"""Events that a subscription reads from the store at once."""
UNWRITTEN_MAX: Final = 10_000
"""Events that may wait for the disk."""
ROOM_S: Final = 0.02


class Node:
    def __init__(self, config: Config, *, medium: Medium | None = None, senses: Senses | None = None) -> None:
        self.config = config
        self._protocol = registry.get(config.protocol)
        self._params = parameters.build(self._protocol, config.params, config.protocol)
        self._medium = medium or UdpMedium(config.network)
        self._senses = senses
        self._host: NetHost | None = None
        self._store: Store | None = None
        self._sink: LogSink = LogSink()
        self._thread: ThreadPoolExecutor | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._work = asyncio.Event()
        self._unwritten: list[Event] = []
        self._unheld: list[tuple[str, str, int, bytes, int]] = []
        self._jobs: list[tuple[Callable[[], None], asyncio.Future[None]]] = []
        self._subscriptions: weakref.WeakSet[Subscription] = weakref.WeakSet()
        self._named: dict[str, int] = {}  # numbers by which the host knows them
        self._turn = asyncio.Lock()
        self._publishing = 0  # events that are being written down, and will need room in the queue then
        self.again = 0  # deliveries of events that the application has had

    # ---- life

    async def start(self) -> None:
        if self._host is not None:
            return
        config = self.config
        store = Store(config.state or None, config.bounds)
        try:
            host = self._made(store)
        except BaseException:
            store.close()
            raise
        self._store, self._host = store, host
        self._thread = ThreadPoolExecutor(1, "roamcast-store")
        for named in store.subscriptions():
            self._named[named.name] = host.subscribe(parse_subscription(named.filter))
        host.start()
        self._tasks = [asyncio.create_task(self._write_behind()), asyncio.create_task(self._publish_again())]
        if isinstance(self._sink, RotatingSink):
            self._tasks.append(asyncio.create_task(self._rotate(self._sink)))

    def _made(self, store: Store) -> NetHost:
        config = self.config
        again = store.load("sequence") is not None or store.load("boot") is not None
        member = _member(config, store)
        store.begin(authenticated=member.ring is not None)
        if config.log:
            self._sink = RotatingSink(config.log, config.run, member.number, keep=config.log_files)
        return NetHost(
            self._protocol,
            self._params,
            member,
            self._medium,
            limits=config.limits,
            sink=self._sink,
            level=config.level,
            on_deliver=self._delivered,
            on_carry=self._carried if config.state else None,
            past=store.held(self._protocol.__name__, member.circle),
            senses=self._senses,
            sample_s=config.sample_s if config.log else 0.0,
            again=again,
        )

    async def stop(self) -> None:
        """What was delivered is still written down; subscriptions end."""
        host, store, thread = self._host, self._store, self._thread
        if host is None or store is None or thread is None:
            return
        host.stop()
        host.summarise()
        self._host = None
        for task in self._tasks[1:]:
            task.cancel()
        self._work.set()
        with suppress(asyncio.CancelledError):
            await self._tasks[0]  # ends when nothing is left to write
        thread.shutdown()
        self._sink.close()
        store.close()
        self._store = self._thread = None
        self._named.clear()
        self._wake()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def host(self) -> NetHost:
        if self._host is None:
            raise NodeClosed("the node is not running")
        return self._host

    @property
    def store(self) -> Store:
        if self._store is None:
            raise NodeClosed("the node is not running")
        return self._store

    def use(self, ring: KeyRing) -> None:
        """The group's keys have changed."""
        self.host.use(ring)

    # ---- publishing

    async def publish(
        self,
        topic: str = "",
        attrs: dict[str, Value] | None = None,
        payload: bytes = b"",
        *,
        validity_s: float | None = None,
        local: bool = False,
    ) -> int:
        """The event's id, once it is durable and the protocol has it. Without a validity it does not expire."""
        host = self.host
        if validity_s is not None and not 1e-6 <= validity_s < FOREVER / 1e6:
            raise InputError(f"validity_s={validity_s:g}: must be above 0")
        validity_us = FOREVER if validity_s is None else int(validity_s * 1e6)
        async with self._turn:  # in the order they were asked for
            await self._room()
            event = host.prepare(topic, attrs, payload, validity_us, LOCAL if local else GLOBAL)
            self._publishing += 1
        await asyncio.shield(self._keep_and_publish(event))  # who gives up waiting does not leave half of it
        return event.id

    async def _keep_and_publish(self, event: Event) -> None:
        try:
            store = self.store
            said = self.host.said(event)
            await self._written(lambda: store.publish([said]))
            self.host.publish(event)
        finally:
            self._publishing -= 1

    async def _room(self) -> None:
        while len(self.host.outbox) + self._publishing > self.config.limits.queue // 2:
            await asyncio.sleep(ROOM_S)

    async def _publish_again(self) -> None:
        """What was published in earlier lives and is valid still, at a pace that leaves room for others."""
        for event, left_us in self.store.valid_publications():
            if event.publisher == self.host.id:  # not of somebody whom the roster has renumbered
                await self._room()
                self.host.publish(self.host.renew(event, left_us))
                await asyncio.sleep(0)

    # ---- subscribing

    def subscribe(self, filter: str | Filter, *, name: str = "", after: int | None = None) -> Subscription:
        """Iterate over it for the events. `after`: begin behind this position, as far back as events are kept; one that
        no event has yet (it is another store's) is that of the last."""
        parsed = parse_subscription(filter) if isinstance(filter, str) else filter
        host, store = self.host, self.store
        end = store.end()
        begin = None if after is None else min(max(after, 0), end)
        if not name:
            return Subscription(self, parsed, "", end if begin is None else begin, host.subscribe(parsed))
        before = {named.name: named for named in store.subscriptions()}.get(name)
        named = store.subscribe(name, str(parsed))
        if before is None or before.filter != named.filter:
            if name in self._named:
                host.unsubscribe(self._named[name])
            self._named[name] = host.subscribe(parsed)
        return Subscription(self, parsed, name, named.cursor if begin is None else begin, -1)

    def forget(self, name: str) -> None:
        """End a subscription with a name for good."""
        if name not in self._named:
            raise InputError(f"there is no subscription {name!r}")
        self.host.unsubscribe(self._named.pop(name))
        self.store.unsubscribe(name)

    def named(self) -> list[Named]:
        return self.store.subscriptions()

    def _drop(self, number: int) -> None:
        if self._host is not None:
            self._host.unsubscribe(number)

    def _wake(self) -> None:
        for subscription in list(self._subscriptions):
            subscription._wake.set()

    # ---- looking

    def status(self) -> dict[str, Any]:
        """Plain data: what `NetHost.status` tells, what is stored, and who is subscribed by name."""
        end = self.store.end()
        return {
            **self.host.status(),
            "protocol": self.config.protocol,
            "pid": os.getpid(),
            "public": "" if self.host.member.identity is None else self.host.member.identity.public.hex(),
            "stored": self.store.counts(),
            "delivered_before": self.again,
            "named": [
                {"name": named.name, "filter": named.filter, "behind": end - named.cursor} for named in self.named()
            ],
        }

    # ---- the disk

    def _delivered(self, event: Event, _: Event) -> None:
        if len(self._unwritten) >= UNWRITTEN_MAX:
            self.host.tally.drop(APPLICATION)
            return
        self._unwritten.append(event)
        self._work.set()

    def _carried(self, sender: int, frame: bytes, events: list[Event]) -> None:
        if len(self._unheld) < UNWRITTEN_MAX:
            whose = self._protocol.__name__, self.host.member.circle
            self._unheld.append((*whose, sender, frame, max(event.validity_us for event in events)))
            self._work.set()

    async def _written(self, job: Callable[[], None]) -> None:
        if self._host is None:
            raise NodeClosed("the node is not running")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._jobs.append((job, done))
        self._work.set()
        await done

    async def _write_behind(self) -> None:
        loop = asyncio.get_running_loop()
        while self._host is not None or self._unwritten or self._unheld or self._jobs:
            await self._work.wait()
            self._work.clear()
            events, self._unwritten = self._unwritten, []
            unheld, self._unheld = self._unheld, []
            jobs, self._jobs = self._jobs, []
            if not events and not unheld and not jobs:
                continue
            todo: list[Callable[[], None]] = [job for job, _ in jobs]
            todo += [partial(self.store.hold, *one) for one in unheld]
            try:
                await loop.run_in_executor(self._thread, self._commit, self.store, events, todo)
            except RoamcastError as error:
                self._failed(error, events, jobs)
            else:
                for _, done in jobs:
                    if not done.done():
                        done.set_result(None)
            self._wake()

    def _commit(self, store: Store, events: list[Event], jobs: list[Callable[[], None]]) -> None:
        lost = store.lost
        with store.together():
            new = store.receive(events) if events else []
            for job in jobs:
                job()
        self.again += len(events) - len(new)
        if self._host is not None:
            for _ in range(store.lost - lost):
                self._host.tally.drop(APPLICATION)

    def _failed(
        self, error: RoamcastError, events: list[Event], jobs: list[tuple[Callable[[], None], asyncio.Future[None]]]
    ) -> None:
        """Those who wait are told; what was received is gone, and each subscription says so once before it goes on."""
        log.error("%s", error)
        if events:
            for subscription in list(self._subscriptions):
                subscription._failure = error
        for _, done in jobs:
            if not done.done():
                done.set_exception(error)

    async def _read(self, position: int) -> tuple[int, list[Received]]:
        """The last position of all, and the next page behind this one."""
        store = self.store

        def read() -> tuple[int, list[Received]]:
            return store.end(), store.after(position, PAGE)

        return await asyncio.get_running_loop().run_in_executor(self._thread, read)

    async def _rotate(self, sink: RotatingSink) -> None:
        while True:
            await asyncio.sleep(self.config.log_rotate_s)
            self.host.summarise()
            sink.rotate()


class Subscription:
    """An asynchronous iterator over events. `position` is that of the event it gave last."""

    def __init__(self, node: Node, filter: Filter, name: str, position: int, number: int) -> None:
        self.filter = filter
        self.name = name
        self.position = position
        self.lost = 0
        self._node = node
        self._seen = position
        self._moved = position
        self._page: deque[Received] = deque()
        self._wake = asyncio.Event()
        self._open = True
        self._failure: RoamcastError | None = None
        node._subscriptions.add(self)
        self._leave = weakref.finalize(self, node._drop, number) if number >= 0 else None
        if self._leave is not None:
            self._leave.atexit = False

    def close(self) -> None:
        """No more of this. A subscription with a name goes on without us."""
        self._open = False
        if self._leave is not None:
            self._leave()
        self._wake.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        try:
            return await self._next()
        except NodeClosed:
            raise StopAsyncIteration from None

    async def _next(self) -> Event:
        while self._open:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            self._wake.clear()  # before looking: what comes meanwhile wakes us
            found = bool(self._page) or await self._turn()
            while self._page and not self.filter.matches(self._page[0].event):
                self._passed()
            if self._page:
                return await self._handed_over()
            if not found:
                await self._move(self._seen)
                await self._wake.wait()
        raise NodeClosed("the subscription is closed")

    async def _turn(self) -> bool:
        """Read the next page, if there is one. Positions have no gaps but those of events that are gone."""
        end, page = await self._node._read(self._seen)
        last = page[-1].position if page else end
        self.lost += last - self._seen - len(page)
        self._page.extend(page)
        if not page:
            self._seen = end
        return bool(page)

    async def _handed_over(self) -> Event:
        """Nothing is taken from the page before it is on its way: who stops waiting gets it next time."""
        received = self._page[0]
        await self._move(received.position)
        self._passed()
        self.position = received.position
        return received.event

    async def _move(self, position: int) -> None:
        """Everything up to here has been handed over, or was not asked for."""
        if self.name and position > self._moved:
            store, name = self._node.store, self.name
            await self._node._written(lambda: store.move(name, position))
            self._moved = position

    def _passed(self) -> None:
        self._seen = self._page.popleft().position


def _member(config: Config, store: Store) -> Member:
    if config.insecure:
        return Member.insecure(config.number if config.number >= 0 else _drawn(store), store)
    roster = Roster.load(config.roster) if config.roster else None
    return Member.secure(store, KeyRing.load(config.key), roster, config.clocks_within_s or None)


def _drawn(store: Store) -> int:
    """An insecure node's number: drawn once, and kept."""
    kept = store.load("number")
    if kept is None:
        kept = Member.insecure().number.to_bytes(4, "big")
        store.store("number", kept)
    return int.from_bytes(kept, "big")
