"""A node for applications.

    async with Node(Config(state="here", key="group.key")) as node:
        await node.publish("weather.roof", {"temperature": 31.5}, validity_s=600)
        async for event in node.subscribe("temperature > 30", name="alarm"):
            print(event.topic, event.attrs, event.payload)

What a node promises, even if the process or the machine is killed at any time:

  - `publish` returns when the event is on disk. Each time the node starts, it gives the event to the protocol again,
    with what is left of its validity. Whether the protocol sends it again is up to the protocol.
  - Subscriptions of this node get its own events as well, at once and without the protocol.
  - Events of other nodes are stored as they come, and given to the protocol again as well (host/catch_up.py). Events of
    the last moments may be lost: for these there is no promise.
  - An event is stored before any subscription gets it, and no subscription gets one twice.
  - A subscription with a name goes on where it was when an application asks for that name again, and events that came
    in between wait for it. The store records that it has had an event before it gets the event. So an application that
    is killed while it handles an event does not get that one again. An application that keeps `subscription.position`
    together with its own results, and subscribes with `after=` that position (0 while it has no results), gets exactly
    the events that it has no results of.
  - A subscription without a name gets events from now on, and ends with the application.

Back-pressure. Events that the application has not asked for wait in the store, not in memory. A slow application slows
down neither the protocol nor other subscriptions. If the store is full (`Bounds`), or an event expires, the oldest
events are removed, and `subscription.lost` counts those that it never got. In the other direction, `publish` waits
while the queue of frames is more than half full, so that a fast application does not overfill it.

Errors. InputError (FilterError for filters): the caller's input is wrong. StoreError: the disk failed; the next call
tries again. NodeClosed: the node is not running. Nothing that is received from other nodes raises.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from functools import partial
from math import isnan, nan
from typing import Any, Final, NamedTuple, Self

import msgspec

from roamcast.errors import InputError, NodeClosed
from roamcast.log.writer import LogSink
from roamcast.net.air.medium import Medium
from roamcast.net.config import Config
from roamcast.net.host.runner import Runner
from roamcast.net.host.senses import Motion, Senses
from roamcast.net.host.watched import WatchedSink, Watcher
from roamcast.net.keep.durability import cursor_each, waits
from roamcast.net.keep.rotation import RotatingSink
from roamcast.net.keep.store import Store
from roamcast.net.live import live_params
from roamcast.net.node.gps import Gpsd, place
from roamcast.net.node.offering import Offering
from roamcast.net.node.publication_keys import PublicationKeys
from roamcast.net.node.publishing import Publishing
from roamcast.net.node.rekeying import Rekeying, ring_of
from roamcast.net.node.status import NamedStatus, NodeStatus
from roamcast.net.node.subscribers import Subscribers
from roamcast.net.node.subscription import Subscription
from roamcast.net.node.supervision import supervised
from roamcast.net.node.writer import Writer
from roamcast.net.trust.identity import Roster
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.pubsub.event import FOREVER, GLOBAL, LOCAL, Event, Value
from roamcast.pubsub.filters import Filter
from roamcast.pubsub.text import parse_subscription

log: Final = logging.getLogger("roamcast.net")

SPEED_MAX_MPS: Final = 1e6


class _Parts(NamedTuple):
    """The parts of a node while it runs."""

    store: Store
    runner: Runner
    writer: Writer
    publishing: Publishing
    keys: PublicationKeys
    rekeying: Rekeying
    sink: LogSink
    tasks: list[asyncio.Task[None]]


class Node:
    def __init__(self, config: Config, *, medium: Medium | None = None, senses: Senses | None = None) -> None:
        """`medium` takes the place of those in the settings, and `senses` are instruments of the node."""
        self.config = config
        self._protocol = registry.get(config.protocol)
        self._params = parameters.build(self._protocol, live_params(config.protocol) | config.params, config.protocol)
        named = {} if medium is not None else {one.name: one.build() for one in config.all_media()}
        self._media: Medium | dict[str, Medium] = medium or named
        self._has_senses = senses is not None
        self._motion = Motion(senses)
        self._gps = place(config.gps) if config.gps else None
        self._parts: _Parts | None = None
        self._subscribers = Subscribers()
        self._named: dict[str, int] = {}  # the runner's numbers of named subscriptions

    # ---- start and stop

    async def start(self) -> None:
        if self._parts is not None:
            return
        store = Store(self.config.state or None, self.config.bounds, wait=waits(self.config.durability))
        try:
            sink, runner = self._runner_on(store)
        except BaseException:
            store.close()
            raise
        writer = Writer(store, runner.tally, self._subscribers)
        publishing = Publishing(runner, store, writer)
        rekeying = Rekeying(runner, store.values, publishing, self.config.key, self.config.roster)
        self._parts = _Parts(store, runner, writer, publishing, PublicationKeys(store.values), rekeying, sink, [])
        for named in store.subscriptions.all():
            self._named[named.name] = runner.subscribe(parse_subscription(named.filter))
        if self._protocol.only_subscribers_forward:
            log.warning(
                "%s: only nodes that subscribe to an event forward it; it does not cross other nodes",
                self.config.protocol,
            )
        if self._protocol.wants_motion and self._gps is None and not self._has_senses:
            log.warning(
                "%s must know when its node moves: use --gps gpsd://HOST:PORT, `roamcast motion`, or Node.motion",
                self.config.protocol,
            )
        rekeying.subscribe()
        runner.start()
        self._parts.tasks.append(asyncio.create_task(supervised(rekeying.run)))
        if self._gps is not None:
            self._parts.tasks.append(asyncio.create_task(supervised(Gpsd(self._gps, self._moved).run)))
        self._parts.tasks.append(asyncio.create_task(supervised(publishing.publish_again)))
        self._parts.tasks.append(asyncio.create_task(supervised(Offering(runner, store).run)))
        if isinstance(sink, RotatingSink):
            self._parts.tasks.append(asyncio.create_task(supervised(partial(self._rotate, sink, runner))))

    def _runner_on(self, store: Store) -> tuple[LogSink, Runner]:
        config = self.config
        again = store.values.load("sequence") is not None or store.values.load("boot") is not None
        membership = _membership(config, store)
        store.received.begin(authenticated=membership.ring is not None)
        sink = LogSink()
        if config.log:
            sink = RotatingSink(config.log, config.run, membership.number, keep=config.log_files)
        return sink, Runner(
            self._protocol,
            self._params,
            membership,
            self._media,
            limits=config.limits,
            sink=WatchedSink(sink),
            level=config.level,
            on_deliver=self._delivered,
            on_carry=self._carried if config.state else None,
            carried=store.carried.valid(self._protocol.__name__, membership.group_name),
            senses=self._motion,
            sample_s=config.sample_s if config.log else 0.0,
            again=again,
        )

    async def stop(self) -> None:
        """Stop: delivered events are still stored, and subscriptions end."""
        parts, self._parts = self._parts, None
        if parts is None:
            return
        parts.runner.stop()
        parts.runner.summarise()
        for task in parts.tasks:
            task.cancel()
        await parts.writer.close()
        parts.sink.close()
        parts.store.close()
        self._named.clear()
        self._subscribers.node_stopped()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def runner(self) -> Runner:
        return self._running.runner

    @property
    def store(self) -> Store:
        return self._running.store

    @property
    def _running(self) -> _Parts:
        if self._parts is None:
            raise NodeClosed("the node is not running")
        return self._parts

    def use(self, ring: KeyRing) -> None:
        """The group's keys have changed."""
        self.runner.use(ring)

    def read_keys(self) -> None:
        """Read the file of the group's keys again. If it has not changed since the last rotation over the air, the keys
        of that rotation stay."""
        self.use(ring_of(self.store.values, self.config.key))

    async def rotate(self, *, go_on: bool = False) -> str:
        """Give the group a new key over the air: a box for each member on the roster, which is read again. What it
        waits for now. `go_on`: do not wait any longer for members that have not taken the present step."""
        rekeying = self._running.rekeying
        await (rekeying.go_on() if go_on else rekeying.begin())
        return rekeying.progress()

    def motion(self, speed_mps: float | None) -> None:
        """This node moves at this speed in m/s; None: that is not known any more. Protocols that use movement or speed
        get it."""
        if speed_mps is not None and not 0 <= speed_mps < SPEED_MAX_MPS:
            raise InputError(f"speed_mps={speed_mps:g}: must be from 0 to {SPEED_MAX_MPS:g}")
        self.runner  # noqa: B018 - a node that does not run says so
        self._moved(nan if speed_mps is None else speed_mps)

    def _moved(self, speed_mps: float) -> None:
        if self._motion.set(speed_mps):
            self.runner.motion(self._motion.moving)

    # ---- publish and subscribe

    async def publish(
        self,
        topic: str = "",
        attrs: dict[str, Value] | None = None,
        payload: bytes = b"",
        *,
        validity_s: float | None = None,
        local: bool = False,
        key: str = "",
        repeated: bool = False,
    ) -> int:
        """The event's id, once it is on disk and the protocol has it. Without a validity it does not expire.

        With a `key`, a program that does not know whether it has published something can ask again (`repeated`): if one
        of the last publications with a key had this one, or one under way has it, nothing is published, and the result
        is that event's id.
        """
        publishing, keys = self._running.publishing, self._running.keys
        if validity_s is not None and not 1e-6 <= validity_s < FOREVER / 1e6:
            most = f"below {FOREVER / 1e6:.0f} (142 years); without it an event does not expire"
            raise InputError(f"validity_s={validity_s:g}: must be {'above 0' if validity_s < 1e-6 else most}")
        validity_us = FOREVER if validity_s is None else int(validity_s * 1e6)
        content = (topic, attrs, payload, validity_us, LOCAL if local else GLOBAL)
        if not key:
            return await publishing.publish(*content)
        return await keys.once(key, repeated, partial(publishing.publish, *content, partial(keys.add, key)))

    def subscribe(
        self, filter: str | Filter, *, name: str = "", after: int | None = None, acknowledge: bool = False
    ) -> Subscription:
        """Iterate over the result for the events.

        `after`: begin behind this position, as far back as events are stored. A position that no event has yet (of
        another store) stands for the position of the last event. `acknowledge`: an event counts as handed over when
        the application has called `done` with its position.
        """
        if acknowledge and not name:
            raise InputError("acknowledge: only a subscription with a name remembers its position")
        parsed = parse_subscription(filter) if isinstance(filter, str) else filter
        if not isinstance(parsed, Filter):
            raise InputError(f"filter: {filter!r} must be a text such as 'temperature > 30', or a Filter")
        store, runner = self.store, self.runner
        end = self._running.writer.end
        first = None if after is None else min(max(after, 0), end)
        if not name:
            number = runner.subscribe(parsed)
            return self._subscription(parsed, "", end if first is None else first, partial(self._drop, runner, number))
        old = store.subscriptions.get(name)
        named = store.subscriptions.set(name, str(parsed))
        if old is None or old.filter != named.filter:
            if name in self._named:
                runner.unsubscribe(self._named[name])
            self._named[name] = runner.subscribe(parsed)
        return self._subscription(parsed, name, named.cursor if first is None else first, None, acknowledge)

    def forget(self, name: str) -> None:
        """End a subscription with a name for good."""
        if name not in self._named:
            raise InputError(f"there is no subscription {name!r}")
        self.runner.unsubscribe(self._named.pop(name))
        self.store.subscriptions.remove(name)

    def _subscription(
        self,
        filter: Filter,
        name: str,
        position: int,
        on_close: Callable[[], None] | None,
        acknowledge: bool = False,
    ) -> Subscription:
        parts = self._running
        each = cursor_each(self.config.durability)
        subscription = Subscription(parts.store, parts.writer, filter, name, position, on_close, each, acknowledge)
        self._subscribers.add(subscription)
        return subscription

    def _drop(self, runner: Runner, number: int) -> None:
        if self._parts is not None and self._parts.runner is runner:
            runner.unsubscribe(number)

    # ---- status

    def status(self) -> NodeStatus:
        store, membership = self.store, self.runner.membership
        end = store.received.end()
        shown: dict[str, Any] = msgspec.structs.asdict(self.runner.status())
        return NodeStatus(
            **{**shown, "protocol": self.config.protocol},
            pid=os.getpid(),
            speed_mps=None if isnan(self._motion.speed()) else self._motion.speed(),
            moving=self._motion.moving,
            public="" if membership.identity is None else membership.identity.public.hex(),
            stored=store.counts(),
            delivered_before=self._running.writer.duplicates,
            rotation=self._running.rekeying.progress(),
            named=[NamedStatus(n.name, n.filter, end - n.cursor) for n in store.subscriptions.all()],
        )

    def watch(self) -> Watcher:
        """The rows of its log from now on, as far as `level` has them, whether or not there is a log."""
        sink = self.runner.journal.sink
        assert isinstance(sink, WatchedSink)
        return sink.watch()

    # ---- called by the runner

    def _delivered(self, event: Event, _: Event) -> None:
        if self._running.rekeying.takes(event):
            return
        self._running.writer.add_event(event)

    def _carried(self, sender: int, body: bytes, events: list[Event]) -> None:
        parts = self._running
        protocol, group = self._protocol.__name__, parts.runner.membership.group_name
        validity_us = max(event.validity_us for event in events)
        parts.writer.add_frame(partial(parts.store.carried.add, protocol, group, sender, body, validity_us))

    async def _rotate(self, sink: RotatingSink, runner: Runner) -> None:
        while True:
            await asyncio.sleep(self.config.log_rotate_s)
            runner.summarise()
            sink.rotate()


def _membership(config: Config, store: Store) -> Membership:
    if config.insecure:
        number = config.number if config.number >= 0 else _insecure_number(store)
        return Membership.insecure(number, store.values)
    roster = Roster.load(config.roster) if config.roster else None
    return Membership.secure(store.values, ring_of(store.values, config.key), roster, config.clocks_within_s or None)


def _insecure_number(store: Store) -> int:
    """The number of an insecure node: drawn at the first start, and stored."""
    stored = store.values.load("number")
    if stored is None:
        stored = Membership.insecure().number.to_bytes(4, "big")
        store.values.store("number", stored)
    return int.from_bytes(stored, "big")
