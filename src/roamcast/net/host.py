"""One node: a protocol on an asyncio loop, over a medium, with the promises of `protocols.kit.interface` kept.

Handlers of the protocol run one after the other: what happens inside one (an application that publishes when something
is delivered to it) waits until it is over. Nothing that comes from the air raises here; an error inside the protocol is
counted and told to `on_error`, and the node goes on.

Time is microseconds since the host was made; what happens is logged by journal.py.

What a protocol knows dies with it. So that events of others outlive this, frames that brought some are told
(`on_carry`) to whoever can keep them, and a protocol that begins anew hears them again first (`Past`): each at the
instant when it came, by a clock that leaps from one to the next and then to the present. Meanwhile the node is alone:
nothing it says leaves, nobody acknowledges anything. So a protocol comes to hold what it would hold if it had been out
of everybody's reach, and ages and validities are what they are. All it sees of the leaps is that timers are late. What
was still to be said when the earlier life ended, as far as that is known (it was stopped, or wrote down that it lived),
is said now: better twice than never.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite, nan
from typing import Any, Final

from roamcast.errors import InputError, Malformed, RoamcastError
from roamcast.log import schema
from roamcast.log.writer import LogSink
from roamcast.net.identity import Member
from roamcast.net.journal import Journal
from roamcast.net.limits import Limits
from roamcast.net.link import Arrival, Link
from roamcast.net.medium import Medium
from roamcast.net.outbox import Outbox
from roamcast.net.packet import FRAGMENTS_MAX
from roamcast.net.peers import Address
from roamcast.net.publications import sealed as seal
from roamcast.net.publications import unsealed
from roamcast.net.refusal import APPLICATION, PROTOCOL_ERROR, UNREAD, Tally
from roamcast.net.security import SEAL_BYTES, KeyRing
from roamcast.net.timers import Timer, Timers
from roamcast.protocols.kit import wire
from roamcast.protocols.kit.interface import BROADCAST, NOBODY, Frame, Host, Params, Protocol, reason_kind, reason_label
from roamcast.pubsub.event import FOREVER, GLOBAL, Event, Value, event_from_fields, event_id
from roamcast.pubsub.filters import Filter

log: Final = logging.getLogger("roamcast.net")

KEEP_S: Final = 300.0
"""How often it is written down that this node lives, and where neighbours are in their numbers, so that a restart does
not open the window."""
NEAR_US: Final = 10_000_000
"""Who was heard so lately counts as near a local event's publisher."""
EVENT_ROOM: Final = 4096
"""Bytes of a frame that a protocol may need beside an event."""

ALONE_US: Final = 500_000
"""How long it takes to find out that a neighbour does not answer, for a node that is alone with its past."""

Deliver = Callable[[Event, Event], None]
"""Called with an event as it was published, and as it travelled."""
Carry = Callable[[int, bytes, list[Event]], None]
"""Called with who sent a frame, the frame, and the events that it brought."""
Past = Sequence[tuple[int, int, bytes]]
"""Frames of earlier lives, in the order they came: how many microseconds ago, from whom, and what."""


class Senses:
    """What a node can tell about itself: override what there is an instrument for."""

    def speed(self) -> float:
        """In m/s."""
        return nan

    def battery(self) -> float:
        """The share that is left."""
        return 1.0


class NetHost(Host):
    def __init__(
        self,
        protocol: type[Protocol],
        params: Params,
        member: Member,
        medium: Medium,
        *,
        limits: Limits | None = None,
        sink: LogSink | None = None,
        level: str = "frames",
        on_deliver: Deliver | None = None,
        on_error: Callable[[Exception], None] | None = None,
        on_carry: Carry | None = None,
        past: Past | None = None,
        senses: Senses | None = None,
        sample_s: float = 0.0,
        again: bool = False,
        seed: int | None = None,
    ) -> None:
        """To be made in a running loop. Routing state is logged every `sample_s` seconds, or never.

        `again`: this node has lived before, in another process; its log says that it is back.

        `seed` is for tests: without, the system draws one.
        """
        super().__init__(member.number)
        self.member = member
        self.medium = medium
        self.limits = limits or Limits()
        self.tally = Tally()
        self.protocol: Protocol | None = None
        self.running = False
        self._protocol_class = protocol
        self._params = params
        self._on_deliver = on_deliver
        self._on_error = on_error
        self._senses = senses or Senses()
        self._sample_us = int(sample_s * 1e6)
        self._on_carry = on_carry
        self._past: Past = past or ()
        self._loop = asyncio.get_running_loop()
        self._began_us = max((ago_us for ago_us, _, _ in self._past), default=0)
        self.timers = Timers(self._loop, self._began_us)
        self.epoch_us = time.time_ns() // 1000 - self._began_us
        self.journal = Journal(sink or LogSink(), level, member.number, self.epoch_us, self.now)
        self._dice = random.Random(seed)
        self.link = Link(protocol, member, self.limits, self.tally, medium.datagram_max)
        self.outbox = Outbox(self.link, medium, self.timers, self.limits, self.tally, self)
        medium.favour(lambda: self.link.gate.favoured(self.now()))
        heard = member.vault.load("heard")
        if heard is not None:
            self.link.restore(heard)
        self._set: dict[int, Timer] = {}  # the protocol's timers
        self._muted: OrderedDict[int, int] = OrderedDict()
        self._carried: OrderedDict[int, None] = OrderedDict()  # events whose frames were told
        self._subscriptions: dict[int, Filter] = {}
        self._subscribed = 0
        self._inside = False
        self._later: deque[Callable[[], None]] = deque()
        self._notes: dict[int, int] = {}
        self._errors_said: dict[str, bool] = {}
        self._was_down = False
        if again:
            self.journal.row(schema.RECOVER, reason=schema.ANEW)  # before any subscription of this life

    # ---- life

    def start(self, *, keep_tables: bool = False) -> None:
        """Begin, or begin again after `stop`: with the old protocol object, or with a new one."""
        if self.running:
            return
        if self.member.ring is None:
            log.warning("INSECURE: node %d neither encrypts nor authenticates nor signs anything", self.id)
        self.running = True
        if self._was_down:
            self.journal.row(schema.RECOVER)
        fresh = self.protocol is None or not keep_tables
        if fresh:
            self._muted.clear()
            self.protocol = self._protocol_class(self, self._params)
        self.medium.open(self._heard)
        past, self._past = self._past, ()
        if past:
            self.journal.present_us = self.now()
            self.timers.leap(self._began_us - past[0][0])
        assert self.protocol is not None
        self._tell(self.protocol.on_start)
        if fresh:
            for number, filter in self._subscriptions.items():
                self._tell(partial(self.protocol.on_subscribe, number, filter))
        if past:
            self._relive(past)
        self.timers.after(int(KEEP_S * 1e6), self._keep_again)
        if self._sample_us > 0:
            self.timers.after(self._sample_us, self._sample)

    def _relive(self, past: Past) -> None:
        for ago_us, sender, body in past:
            try:
                frame = wire.decode(self._protocol_class, body)
            except Malformed:  # another version of this protocol said so
                continue
            if not self.link.genuine(frame, ago_us / 1e6):  # by another roster, or the file was tampered with
                continue
            self.timers.leap(max(self._began_us - ago_us, self.now()))
            self._remember(frame)
            self._hand_up(frame, sender)
        alive = self.member.vault.load("alive")
        if alive is not None:
            ended_us = min(int.from_bytes(alive, "big") - self.epoch_us, self.journal.present_us)
            self.timers.leap(max(self.now(), ended_us))
        self.journal.present_us = -1
        self.timers.leap(None)

    def stop(self) -> None:
        """As if the node crashed, but in good order. What waited to be sent is lost, as are timers."""
        if not self.running:
            return
        self.running = False
        self.medium.close()
        self.timers.clear()
        self.outbox.clear()
        self._set.clear()
        self._later.clear()
        self._was_down = True
        self.journal.row(schema.CRASH)
        self._keep()

    def summarise(self) -> None:
        """Put the counters beside the rows of the log."""
        self.journal.sink.summarise(json.dumps({"node": self.id, "epoch_us": self.epoch_us, **self.counters()}))

    def use(self, ring: KeyRing) -> None:
        """The group's keys have changed."""
        if self.member.ring is None or ring.group != self.member.ring.group:
            raise InputError("these keys are another group's")
        self.member.ring = ring
        self.link.use(ring)

    def _keep(self) -> None:
        try:
            self.member.vault.store("heard", self.link.peers.export())
            self.member.vault.store("alive", (time.time_ns() // 1000).to_bytes(8, "big"))
        except (RoamcastError, OSError) as error:  # whoever has a disk that fails still has a radio
            log.error("%s", error)

    def _keep_again(self) -> None:
        self._keep()
        self.timers.after(int(KEEP_S * 1e6), self._keep_again)

    def _sample(self) -> None:
        assert self.protocol is not None
        entries, size = self.protocol.memory()
        self.journal.row(schema.STATE, size=size, value=entries)
        self.timers.after(self._sample_us, self._sample)

    # ---- the application

    def prepare(
        self,
        topic: str = "",
        attrs: dict[str, Value] | None = None,
        payload: bytes = b"",
        validity_us: int = FOREVER,
        scope: int = GLOBAL,
    ) -> Event:
        """An event of this node, numbered and sealed, to be given to `publish`: at once, or after it was stored."""
        try:
            event = event_from_fields([1, topic, dict(attrs or {}), payload, validity_us, scope])
        except (Malformed, ValueError, OverflowError, TypeError) as error:
            raise InputError(f"cannot publish this: {error}") from None
        for name, value in event.attrs.items():
            if isinstance(value, float) and not isfinite(value):
                raise InputError(f"cannot publish {name}={value}: must be finite")
        largest = min(wire.MAX_FRAME, FRAGMENTS_MAX * (self.medium.datagram_max - 100)) - EVENT_ROOM - SEAL_BYTES
        if event.size > largest:
            raise InputError(f"cannot publish {event.size} bytes in one event: at most {largest}")
        id = event_id(self.id, self.member.sequence.next())
        return self._sealed(Event(id, event.topic, event.attrs, payload, event.validity_us, scope))

    def said(self, event: Event) -> Event:
        """What the application said, of an event that `prepare` made or the protocol delivered."""
        return event if self.member.ring is None else unsealed(event)

    def renew(self, said: Event, left_us: int) -> Event:
        """An event that was said in an earlier life, as it travels now: with what is left of its validity, and with
        the seal of the group that the node is in now."""
        return self._sealed(Event(said.id, said.topic, said.attrs, said.payload, left_us, said.scope))

    def _sealed(self, event: Event) -> Event:
        identity, ring = self.member.identity, self.member.ring
        return event if identity is None or ring is None else seal(event, identity, ring.group, time.time())

    def publish(self, event: Event) -> None:
        """Hand an event that `prepare` made to the protocol."""
        if not self.running or self.protocol is None:
            raise InputError("cannot publish: the node is not running")
        self.tally.published += 1
        self.journal.published(event, self._near)
        self._tell(partial(self.protocol.on_publish, event))

    def subscribe(self, filter: Filter) -> int:
        """The subscription's number, for `unsubscribe`."""
        self._subscribed += 1
        self._subscriptions[self._subscribed] = filter
        self.journal.row(schema.SUBSCRIBE, self._subscribed, reason=str(filter))
        if self.running and self.protocol is not None:
            self._tell(partial(self.protocol.on_subscribe, self._subscribed, filter))
        return self._subscribed

    def unsubscribe(self, number: int) -> None:
        filter = self._subscriptions.pop(number)
        self.journal.row(schema.UNSUBSCRIBE, number, reason=str(filter))
        if self.running and self.protocol is not None:
            self._tell(partial(self.protocol.on_unsubscribe, number))

    def motion(self, moving: bool) -> None:
        """This node started or stopped moving."""
        if self.running and self.protocol is not None and self._protocol_class.wants_motion:
            self._tell(partial(self.protocol.on_motion, moving))

    def status(self) -> dict[str, Any]:
        """Plain data for people and programs to look at."""
        now_us = self.now()
        entries, size = (0, 0) if self.protocol is None else self.protocol.memory()
        return {
            "node": self.id,
            "protocol": self._protocol_class.__name__,
            "secure": self.member.ring is not None,
            "keys": [] if self.member.ring is None else [f"{key.id:04x}" for key in self.member.ring.keys],
            "sending_key": "" if self.member.ring is None else f"{self.member.ring.sending.id:04x}",
            "network": self.medium.up(),
            "up_s": (now_us - self._began_us) / 1e6,
            "neighbours": [
                {
                    "node": number,
                    "address": str(peer.address[0]),
                    "silent_s": (now_us - peer.heard_us) / 1e6,
                    "frames": peer.frames,
                    "bytes": peer.bytes,
                }
                for number, peer in reversed(self.link.peers.known.items())
            ],
            "subscriptions": {number: str(filter) for number, filter in self._subscriptions.items()},
            "queue": len(self.outbox),
            "timers": len(self._set),
            "airtime_s": self.outbox.airtime_us / 1e6,
            "routing_entries": entries,
            "routing_bytes": size,
            "decisions": {f"{reason_kind(r)}: {reason_label(r)}": n for r, n in sorted(self._notes.items())},
            **self.counters(),
        }

    def counters(self) -> dict[str, Any]:
        """How often each thing happened, and why how much was dropped."""
        self.tally.dropped[UNREAD] = self.medium.unread()
        return self.tally.as_dict()

    # ---- what the protocol asks for

    def now(self) -> int:
        return self.timers.now_us()

    def random(self) -> float:
        return self._dice.random()

    def broadcast(self, frame: Frame) -> None:
        self._enqueue(frame, BROADCAST)

    def send(self, to: int, frame: Frame) -> None:
        self._enqueue(frame, to)

    def _enqueue(self, frame: Frame, to: int) -> None:
        if self.journal.present_us >= 0:
            if to >= 0:
                self.timers.after(ALONE_US, partial(self.frame_undelivered, frame, to))
        elif self.running:
            self.outbox.add(frame, to)

    def set_timer(self, key: int, delay_us: int) -> None:
        if delay_us < 0:
            raise ValueError(f"a timer cannot go off {-delay_us} us ago")
        self.cancel_timer(key)
        if self.running:
            self._set[key] = self.timers.after(delay_us, partial(self._timer, key))

    def cancel_timer(self, key: int) -> None:
        timer = self._set.pop(key, None)
        if timer is not None:
            self.timers.cancel(timer)

    def _timer(self, key: int) -> None:
        del self._set[key]
        assert self.protocol is not None
        self._tell(partial(self.protocol.on_timer, key))

    def deliver(self, event: Event) -> None:
        self.tally.delivered += 1
        self.journal.row(schema.DELIVER, event.id)
        if self._on_deliver is None:
            return
        try:
            self._on_deliver(self.said(event), event)
        except Exception:
            self.tally.drop(APPLICATION)
            log.exception("the application failed to take an event")

    def note(self, reason: int, event: int = 0, peer: int = NOBODY, value: int = 0) -> None:
        if self.journal.present_us < 0:
            self._notes[reason] = self._notes.get(reason, 0) + 1
        kind = schema.kind_code(reason_kind(reason))
        self.journal.row(kind, event, peer=peer, value=value, reason=reason_label(reason))

    def mute(self, id: int) -> None:
        if id != 0 and id not in self._muted:
            self._muted[id] = 0
            if len(self._muted) > self.limits.muted:
                self._muted.popitem(last=False)

    def unmute(self, id: int) -> None:
        self._muted.pop(id, None)

    def heard(self, id: int) -> int:
        return self._muted.get(id, 0)

    def signal(self) -> float:
        return nan

    def speed(self) -> float:
        return self._senses.speed()

    def battery(self) -> float:
        return self._senses.battery()

    # ---- what comes from the air

    def _heard(self, datagram: bytes, address: Address) -> None:
        tally = self.tally
        tally.datagrams_in += 1
        tally.bytes_in += len(datagram)
        arrival = self.link.incoming(datagram, address, self.timers.now_us())
        if arrival is None:
            return
        if arrival.acknowledges:
            self.outbox.acknowledged(arrival.sender, arrival.number)
            return
        if arrival.to >= 0:
            self.outbox.acknowledge(arrival.address, arrival.sender, arrival.number)
        if arrival.frame is not None:
            self._arrived(arrival, arrival.frame)

    def _arrived(self, arrival: Arrival, frame: Frame) -> None:
        self.tally.frames_in += 1
        size = arrival.size + arrival.datagrams * self.medium.header_bytes
        self.journal.arrived(arrival, frame, size, self._airtime_us(size))
        if self._on_carry is not None and self._remember(frame):
            self._on_carry(arrival.sender, wire.encode(self._protocol_class, frame), frame.events())
        self._hand_up(frame, arrival.sender)

    def _remember(self, frame: Frame) -> bool:
        """Whether it brought an event of somebody else for the first time, as far as that is remembered."""
        new = [event.id for event in frame.events() if event.publisher != self.id and event.id not in self._carried]
        for id in new:
            self._carried[id] = None
            if len(self._carried) > self.limits.carried:
                self._carried.popitem(last=False)
        return bool(new)

    def _hand_up(self, frame: Frame, sender: int) -> None:
        if frame.id in self._muted:
            self._muted[frame.id] += 1
            self._muted.move_to_end(frame.id)
            self.tally.muted += 1
            return
        assert self.protocol is not None
        self._tell(partial(self.protocol.on_frame, frame, sender))

    # ---- what becomes of own frames

    def frame_sent(self, frame: Frame, to: int, serial: int, size: int, again: bool) -> None:
        self.journal.sent(frame, to, serial, size, self._airtime_us(size))
        if again:
            self.journal.repeated(frame, to, serial)

    def frame_lost(self, frame: Frame, to: int, serial: int, size: int, why: str) -> None:
        self.journal.lost(frame, to, serial, size, why)

    def frame_undelivered(self, frame: Frame, to: int) -> None:
        assert self.protocol is not None
        self._tell(partial(self.protocol.on_undelivered, frame, to))

    # ---- one handler at a time

    def _tell(self, handler: Callable[[], None]) -> None:
        self._later.append(handler)
        if self._inside:
            return
        self._inside = True
        try:
            while self._later:
                self._run(self._later.popleft())
        finally:
            self._inside = False

    def _run(self, handler: Callable[[], None]) -> None:
        try:
            handler()
        except Exception as error:  # whatever is wrong with the protocol, the node stays up
            self.tally.drop(PROTOCOL_ERROR)
            if self._on_error is not None:
                self._on_error(error)
            elif type(error).__name__ not in self._errors_said:
                self._errors_said[type(error).__name__] = True
                log.exception("the protocol failed; further errors of this type are only counted")

    # ---- for the log

    def _airtime_us(self, size: int) -> int:
        return int(size * 8e6 / self.limits.rate_bps)

    def _near(self) -> list[int]:
        since_us = self.now() - NEAR_US
        return sorted(number for number, peer in self.link.peers.known.items() if peer.heard_us >= since_us)
