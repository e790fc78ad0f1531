"""Runs one protocol on an asyncio loop, over one medium or several.

    runner = Runner(protocol_class, params, membership, medium)   # in a running loop
    runner.start()                          # opens the medium and starts the protocol
    number = runner.subscribe(filter)       # before or after `start`; `runner.unsubscribe(number)`
    event = runner.publisher.prepare("weather", {"temperature": 31.5})    # numbered and sealed
    runner.publish(event)                   # at once, or after it was stored
    runner.use(key_ring)                    # the group's keys have changed
    runner.status(), runner.counters()      # plain data
    runner.stop()                           # an orderly stop; `start` goes on afterwards
    runner.summarise()                      # counters beside the rows of the log, before the sink is closed

The parts are objects of their own (`host/__init__.py` lists them). This class makes them, connects them, and starts and
stops them together. Nothing that is received raises here.

Time is microseconds since the runner was made, by the loop's monotonic clock. Rows of the log have `epoch_us` added:
the Unix time at which the runner was made, read once, so that rows never go back.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from roamcast.errors import InputError, NodeClosed
from roamcast.log import schema
from roamcast.log.writer import LogSink
from roamcast.net.air.lanes import Outboxes, lanes_of
from roamcast.net.air.medium import Medium
from roamcast.net.air.timers import Timers
from roamcast.net.host.boot_record import BootRecord
from roamcast.net.host.catch_up import CarriedFrames, CatchUp, span_us
from roamcast.net.host.decisions import Decisions
from roamcast.net.host.deliveries import Deliver, Deliveries
from roamcast.net.host.handlers import Handlers
from roamcast.net.host.host import NetHost
from roamcast.net.host.inbox import Carry, Inbox
from roamcast.net.host.journal import Journal
from roamcast.net.host.muted import MutedIds
from roamcast.net.host.protocol_timers import ProtocolTimers
from roamcast.net.host.publisher import Publisher
from roamcast.net.host.sampler import StateSampler
from roamcast.net.host.send_reports import SendReports
from roamcast.net.host.senses import Senses
from roamcast.net.host.status import RunnerStatus, runner_status
from roamcast.net.host.subscriptions import Subscriptions
from roamcast.net.limits import Limits
from roamcast.net.refusal import UNREAD, Tally
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.net.wire.addresses import Address
from roamcast.net.wire.codec import FrameCodec
from roamcast.net.wire.packet import POSITION_BYTES
from roamcast.protocols.kit.interface import Params, Protocol
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

log: Final = logging.getLogger("roamcast.net")

IN_RANGE_US: Final = 10_000_000
"""A peer that was heard within this time counts as in range of the publisher of a local event."""


class Runner:
    def __init__(
        self,
        protocol: type[Protocol],
        params: Params,
        membership: Membership,
        media: Medium | Mapping[str, Medium],
        *,
        limits: Limits | None = None,
        sink: LogSink | None = None,
        level: str = "frames",
        on_deliver: Deliver | None = None,
        on_error: Callable[[Exception], None] | None = None,
        on_carry: Carry | None = None,
        carried: CarriedFrames = (),
        senses: Senses | None = None,
        sample_s: float = 0.0,
        again: bool = False,
        seed: int | None = None,
    ) -> None:
        """Make it in a running loop. Several media have names; of those that reach a neighbour, the first is used.

        `carried` are frames that earlier boots gave to `on_carry`. Routing state is logged every `sample_s` seconds;
        0: never. `again`: this node has run before in another process, and its log notes that it is back. `seed` is for
        tests.
        """
        self.membership = membership
        self.limits = limits or Limits()
        self.lanes = lanes_of(media, self.limits)
        self.tally = Tally()
        self.protocol_class = protocol
        self._params = params
        self._was_down = False
        self.made_us = span_us(carried)  # the clock begins with the oldest carried frame
        self.timers = Timers(asyncio.get_running_loop(), self.made_us)
        epoch_us = time.time_ns() // 1000 - self.made_us
        self.journal = Journal(sink or LogSink(), level, self.id, epoch_us, self.timers.now_us)
        datagram_max = max(lane.medium.datagram_max for lane in self.lanes)
        self.publisher = Publisher(membership, datagram_max)
        self.codec = FrameCodec(protocol, membership, self.limits, self.tally, datagram_max)
        self._connect(on_deliver, on_error, on_carry, carried, senses or Senses(), random.Random(seed))
        for i, lane in enumerate(self.lanes):
            lane.medium.prefer(partial(self._known_on, i))
        self._record.restore()
        self._sampler = StateSampler(self.handlers, self.journal, self.timers, sample_s)
        if again:
            self.journal.row(schema.RECOVER, reason=schema.ANEW)  # before any subscription of this boot

    def _connect(
        self,
        on_deliver: Deliver | None,
        on_error: Callable[[Exception], None] | None,
        on_carry: Carry | None,
        carried: CarriedFrames,
        senses: Senses,
        stream: random.Random,
    ) -> None:
        """Make the parts that refer to each other."""
        codec, journal, limits, tally, timers = self.codec, self.journal, self.limits, self.tally, self.timers
        self.handlers = Handlers(tally, on_error)
        self.muted = MutedIds(limits.muted)
        self.decisions = Decisions(journal, tally)
        self.deliveries = Deliveries(self.publisher, journal, tally, on_deliver)
        self.subscriptions = Subscriptions(self.handlers, journal)
        reports = [SendReports(self.handlers, journal, lane.limits) for lane in self.lanes]
        self.outbox = Outboxes(codec, self.lanes, timers, tally, [*reports])
        self.inbox = Inbox(codec, self.outbox, self.lanes, self.handlers, self.muted, journal, limits, tally, on_carry)
        self.protocol_timers = ProtocolTimers(timers, self._timer)
        self._record = BootRecord(self.membership.durable, codec, timers)
        self.catch_up = CatchUp(carried, codec, self.inbox, timers, journal, self._record, reports[0].frame_undelivered)
        self.host = NetHost(
            self.id,
            timers,
            self.protocol_timers,
            self.outbox,
            self.deliveries,
            self.decisions,
            self.muted,
            senses,
            stream,
        )

    @property
    def id(self) -> int:
        return self.membership.number

    @property
    def running(self) -> bool:
        return self.host.running

    @property
    def protocol(self) -> Protocol | None:
        """The protocol object of this boot; there is none before the first start."""
        return self.handlers.protocol

    # ---- start and stop

    def start(self, *, keep_tables: bool = False) -> None:
        """Start, or start again after `stop`: with the old protocol object, or with a new one."""
        if self.running:
            return
        if self.membership.ring is None:
            log.warning("INSECURE: node %d neither encrypts nor authenticates nor signs anything", self.id)
        self._warn_of_short_datagrams()
        self.host.running = True
        if self._was_down:
            self.journal.row(schema.RECOVER)
        fresh = self.protocol is None or not keep_tables
        if fresh:
            self.muted.clear()
            self.handlers.protocol = self.protocol_class(self.host, self._params)
        for i, lane in enumerate(self.lanes):
            lane.medium.open(partial(self.receive, i))
        if self.catch_up.frames:
            self._start_with_catch_up()
        else:
            self._start_protocol(fresh)
        self._record.begin_writing()
        self._sampler.begin()

    def _warn_of_short_datagrams(self) -> None:
        for lane in self.lanes:
            room = lane.medium.datagram_max
            if self.membership.ring is not None and room < POSITION_BYTES:
                log.warning(
                    "%s: datagrams of %d bytes have no room for signed positions (%d), so a member of the group can "
                    "silence this node there",
                    *(lane.name, room, POSITION_BYTES),
                )

    def _start_protocol(self, fresh: bool) -> None:
        self.handlers.call(lambda protocol: protocol.on_start())
        if fresh:
            self.subscriptions.announce_all()

    def _start_with_catch_up(self) -> None:
        self.catch_up.begin()
        self.host.transmit = self.catch_up.transmit
        self._start_protocol(fresh=True)
        self.catch_up.run()
        self.host.transmit = self.outbox.add
        self.catch_up.end()

    def stop(self) -> None:
        """An orderly stop. Frames that wait to be sent are lost, and so are timers."""
        if not self.running:
            return
        self.host.running = False
        for lane in self.lanes:
            lane.medium.close()
        self.timers.clear()
        self.outbox.clear()
        self.protocol_timers.clear()
        self.handlers.clear()
        self._was_down = True
        self.journal.row(schema.CRASH)
        self._record.write()

    def use(self, ring: KeyRing) -> None:
        """The group's keys have changed."""
        if self.membership.ring is None or ring.group != self.membership.ring.group:
            raise InputError("these are the keys of another group")
        self.membership.ring = ring
        self.codec.use(ring)

    # ---- the application

    def publish(self, event: Event, *, again: bool = False) -> None:
        """Give an event that `Publisher.prepare` made to the protocol. `again`: an earlier boot did so, too."""
        if not self.running:
            raise NodeClosed("cannot publish: the node is not running")
        self.tally.published += 1
        self.journal.published(event, self.in_range)
        if again:
            self.publish_again(event)
        else:
            self.codec.sealed_here(event)
            self.handlers.call(lambda protocol: protocol.on_publish(event))

    def publish_again(self, event: Event) -> None:
        """Give the protocol an own event that it had before: in an earlier boot, or until its table was full."""
        self.codec.sealed_here(event)
        self.handlers.call(lambda protocol: protocol.on_publish_again(event))

    def subscribe(self, filter: Filter) -> int:
        """The subscription's number, for `unsubscribe`."""
        return self.subscriptions.add(filter, self.running)

    def unsubscribe(self, number: int) -> None:
        self.subscriptions.remove(number, self.running)

    def motion(self, moving: bool) -> None:
        """This node started or stopped moving."""
        if self.running and self.protocol_class.wants_motion:
            self.handlers.call(lambda protocol: protocol.on_motion(moving))

    # ---- called by the medium and the timers

    def receive(self, lane: int, datagram: bytes, address: Address) -> None:
        self.inbox.receive(datagram, (lane, address), self.timers.now_us())

    def _known_on(self, lane: int) -> list[Address]:
        """The known addresses on a lane."""
        return [address for i, address in self.codec.addresses.known(self.timers.now_us()) if i == lane]

    def _timer(self, key: int) -> None:
        self.handlers.call(lambda protocol: protocol.on_timer(key))

    # ---- status and counters

    def status(self) -> RunnerStatus:
        return runner_status(self)

    def counters(self) -> dict[str, Any]:
        """How often each thing happened, and how many things were dropped for each reason."""
        self.tally.dropped[UNREAD] = sum(lane.medium.unread() for lane in self.lanes)
        return self.tally.as_dict()

    def summarise(self) -> None:
        """Put the counters beside the rows of the log."""
        summary = {"node": self.id, "epoch_us": self.journal.epoch_us, **self.counters()}
        self.journal.sink.summarise(json.dumps(summary))

    def in_range(self) -> list[int]:
        """The neighbours that were heard lately."""
        return self.codec.peers.heard_since(self.timers.now_us() - IN_RANGE_US)
