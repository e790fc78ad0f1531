"""The world's heart: takes events from the queue, moves frames over the air, calls protocols.

There are two ways over the air. On a *plain* radio (a disc) strength does not matter: whoever is near hears the frame,
and two frames at one receiver spoil each other. This is the fast one: nothing is computed per receiver but its
carrier sense. All other radios go the *graded* way: every frame has a strength at every receiver, interference adds up,
and the stronger frame may survive (radio.py).
"""

from __future__ import annotations

from math import ceil, inf
from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i16, i64

from roamcast.log import schema
from roamcast.log.recorder import (
    COLLISION,
    HALF_DUPLEX,
    HAS,
    HEARD,
    HEARD_MOST,
    LOSS,
    MUTED,
    NO_ACK,
    WANTED,
    Published,
    Recorder,
)
from roamcast.protocols.interface import BROADCAST, Frame, Params, Protocol
from roamcast.pubsub.event import LOCAL, Event, Value, event_id
from roamcast.pubsub.filters import Filter
from roamcast.pubsub.index import MatchingIndex
from roamcast.world.contacts import Neighbourhood
from roamcast.world.faults import CRASH, RECOVER, SLEEP, WAKE, Faults
from roamcast.world.mac import IDEAL, Mac
from roamcast.world.possible import Possible
from roamcast.world.queue import (
    ACKNOWLEDGE,
    ATTEMPT,
    END,
    FAULT,
    KIND_MASK,
    MOTION,
    NODE_BITS,
    NODE_MASK,
    PUBLISH,
    SAMPLE,
    TIME_SHIFT,
    TIMEOUT,
    TIMER,
    EventQueue,
)
from roamcast.world.radio import Radio, dbm
from roamcast.world.station import NOTHING, Station
from roamcast.world.streams import Stream

LAST_S: Final = 5e5  # beyond any run
NO_MARKS: Final = vec[i16]()


@final
class Subscription:
    def __init__(self, node: int, number: int, filter: Filter) -> None:
        self.node = node
        self.number = number
        self.filter = filter


@final
class Publication:
    """What an application will publish, and when; the event gets its id when it happens."""

    def __init__(
        self, t: int, node: int, topic: str, attrs: dict[str, Value], payload: bytes, validity_us: int, scope: int
    ) -> None:
        self.t = t
        self.node = node
        self.topic = topic
        self.attrs = attrs
        self.payload = payload
        self.validity_us = validity_us
        self.scope = scope


@final
class Transmission:
    """A frame on the air. Objects are used again and again; `serial` tells transmissions apart."""

    def __init__(self) -> None:
        self.frame: Frame | None = None  # None: an acknowledgement
        self.to: i64 = BROADCAST
        self.serial: i64 = 0
        self.number: i64 = 0  # the sender's own number of the frame: a repetition has the same
        self.size: i64 = 0
        self.start: i64 = 0
        self.airtime: i64 = 0
        self.hearers: list[Station] = []
        self.strengths = vec[float]()
        self.marks = NO_MARKS  # of the one event it carries
        self.cargo: list[Published] = []  # the events of a frame that carries several


@final
class World:
    def __init__(
        self,
        events: EventQueue,
        stations: list[Station],
        motion: Neighbourhood,
        mac: Mac,
        radio: Radio,
        recorder: Recorder,
        faults: Faults,
        possible: Possible | None,
        seed: int,
    ) -> None:
        self.events = events
        self.stations = stations
        self.motion = motion
        self.mac = mac
        self.radio = radio
        self.recorder = recorder
        self.faults = faults
        self.possible = possible
        self.transmissions: list[Transmission] = []
        self.free: list[i64] = []
        self.serial: i64 = 0
        self.plain = radio.plain()
        self.lossy = faults.lossy()
        self.chance: list[Stream] = [Stream(seed, i, "loss") for i in range(len(stations))] if self.lossy else []
        self.agenda: list[Publication] = []
        self.ahead: i64 = 0
        self.sequence: list[int] = [0] * len(stations)
        self.subscriptions: list[Subscription] = []
        self.index = MatchingIndex()
        self.protocol_class: type[Protocol] = Protocol
        self.params: Params = Params()
        self.local_range_m = inf
        self.sample_every: i64 = 0
        self.watch_motion = False
        self.moving: list[bool] = []

    # ---- before the run

    def populate(self, protocol: type[Protocol], params: Params, subscriptions: list[Subscription]) -> None:
        self.protocol_class = protocol
        self.params = params
        self.subscriptions = subscriptions
        for number, subscription in enumerate(subscriptions):
            self.index.add(number, subscription.filter)
        for station in self.stations:
            station.protocol = protocol(station, params)
        self.watch_motion = protocol.wants_motion or self.recorder.log_moves

    def start(self) -> None:
        for station in self.stations:
            station.protocol.on_start()
        for s in self.subscriptions:
            self.recorder.subscribe(0, s.node, s.number, str(s.filter))
            self.stations[s.node].protocol.on_subscribe(s.number, s.filter)
        for i in range(len(self.stations)):
            at, what = self.faults.first(i)
            if at >= 0:
                self.events.push(at, FAULT, i, 0, what)
        if self.watch_motion:
            self.moving = [self.motion.speed(i) > 0.0 for i in range(len(self.stations))]
            for i in range(len(self.stations)):
                self.write_move(i, 0)
                self.await_motion(i)
        if self.sample_every > 0:
            self.events.push(self.sample_every, SAMPLE, 0, 0, 0)
        self.look_ahead()

    def look_ahead(self) -> None:
        """Only the next publication waits in the queue."""
        if self.ahead < len(self.agenda):
            p = self.agenda[self.ahead]
            self.events.push(p.t, PUBLISH, p.node, self.ahead, self.ahead)
            self.ahead += 1

    # ---- the run

    def run(self, until: i64) -> None:
        """Everything that happens up to and including `until`."""
        events = self.events
        stations = self.stations
        while events.size > 0:
            events.pop()
            t = events.when >> TIME_SHIFT
            if t > until:
                # not ours: put it back for whoever goes on
                kind = (events.when >> NODE_BITS) & KIND_MASK
                events.push(t, kind, events.when & NODE_MASK, events.serial, events.key)
                break
            events.now = t
            kind = (events.when >> NODE_BITS) & KIND_MASK
            station = stations[events.when & NODE_MASK]
            if kind == END:
                self.end(station, events.key, t)
            elif kind == ATTEMPT:
                if events.key == station.attempt:
                    self.attempt(station, t)
            elif kind == TIMER:
                key = events.key
                if station.timers.get(key, -1) == events.serial:
                    del station.timers[key]
                    station.protocol.on_timer(key)
            else:
                self.rarely(kind, station, t)
        events.now = until

    def rarely(self, kind: i64, station: Station, t: i64) -> None:
        if kind == PUBLISH:
            publication = self.agenda[self.events.key]
            self.look_ahead()
            self.publish(station, publication, t)
        elif kind == ACKNOWLEDGE:
            if station.up and not station.sending:
                self.acknowledge(station, self.events.key, t)
        elif kind == TIMEOUT:
            if station.waiting and self.events.key == station.attempt:
                self.unacknowledged(station, t)
        elif kind == FAULT:
            self.fault(station, self.events.key, t)
        elif kind == MOTION:
            self.motion_changed(station, t)
        elif kind == SAMPLE:
            self.sample(t)

    # ---- transmissions

    def attempt(self, station: Station, t: i64) -> None:
        if station.committed:
            station.committed = False
        elif self.mac.kind != IDEAL:
            at = station.access()
            if at > t:
                self.events.push(at, ATTEMPT, station.index, 0, station.attempt)
                return
        station.contending = False
        outgoing = station.queue[0]
        frame = outgoing.frame
        size = self.mac.bytes_on_air(frame.size)
        airtime = self.mac.airtime(size)
        s = self.transmission(frame, outgoing.to, size, airtime)
        tx = self.transmissions[s]
        tx.number = outgoing.number
        self.recorder.sent(t, station.index, frame, tx.serial, outgoing.to, size, airtime)
        self.load(tx, frame)
        if self.mac.kind == IDEAL:
            station.queue.pop(0)
            self.start_ideal(station, tx, t)
            if len(station.queue) > 0:
                station.contend()
        else:
            self.occupy(station, t + airtime)
            if outgoing.to == BROADCAST:
                station.queue.pop(0)
            if self.plain:
                self.start_plain(station, tx, s, t, t + airtime)
            else:
                self.start_graded(station, tx, s, t, t + airtime)
        station.tx_us += airtime
        self.events.push(t + airtime, END, station.index, s, s)

    def transmission(self, frame: Frame | None, to: i64, size: i64, airtime: i64) -> i64:
        if len(self.free) > 0:
            s = self.free.pop()
        else:
            s = len(self.transmissions)
            self.transmissions.append(Transmission())
        tx = self.transmissions[s]
        tx.frame = frame
        tx.to = to
        tx.size = size
        tx.start = self.events.now
        tx.airtime = airtime
        if frame is not None:
            self.serial += 1
        tx.serial = self.serial
        return s

    def load(self, tx: Transmission, frame: Frame) -> None:
        """What the tally must know about the events on board."""
        tx.marks = NO_MARKS
        if frame.id != 0:
            published = self.recorder.published.get(frame.id)
            if published is not None:
                tx.marks = published.marks
            return
        events = frame.events()
        if len(events) > 0:
            published_all = self.recorder.published
            tx.cargo = [published_all[event.id] for event in events if event.id in published_all]

    def occupy(self, station: Station, end: i64) -> None:
        station.sending = True
        station.receiving = NOTHING
        if station.busy_until < end:
            station.busy_until = end

    def settled(self, t: i64) -> float:
        """`t` in seconds, with everybody where they are by then."""
        now = float(t) * 1e-6
        if now >= self.motion.next:
            self.motion.advance(now)
        return now

    def audience(self, station: Station, t: i64) -> vec[i64]:
        """Whose receivers a frame of this station reaches now."""
        now = self.settled(t)
        near = self.motion.near[station.index]
        return self.one_side(station.index, near, now) if self.faults.partitioned(t) else near

    def one_side(self, i: i64, near: vec[i64], now: float) -> vec[i64]:
        wall = self.faults.wall_m
        left = self.motion.x(i, now) < wall
        same = vec[i64]()
        for j in near:
            if (self.motion.x(j, now) < wall) == left:
                same = append(same, j)
        return same

    def start_ideal(self, station: Station, tx: Transmission, t: i64) -> None:
        stations = self.stations
        hearers: list[Station] = []
        for j in self.audience(station, t):
            other = stations[j]
            if other.up:
                hearers.append(other)
        tx.hearers = hearers

    def start_plain(self, station: Station, tx: Transmission, s: i64, t: i64, end: i64) -> None:
        stations = self.stations
        slot = self.mac.slot
        turnaround = self.mac.turnaround
        hearers: list[Station] = []
        for j in self.audience(station, t):
            other = stations[j]
            busy = other.busy_until
            if busy > t:
                if other.up:
                    self.clash(other, station, tx, t, end)
                continue
            if other.contending or other.slots > 0:
                start = other.idle_since
                if busy > start:
                    start = busy
                if other.reserved_until > start:
                    start = other.reserved_until
                idle = t - start - other.ifs
                left = other.slots * slot - idle
                if left <= turnaround and other.contending and idle >= 0:
                    other.committed = True
                elif idle > 0:
                    passed = idle // slot
                    other.slots = 0 if passed >= other.slots else other.slots - passed
            other.busy_until = end
            other.receiving = s
            hearers.append(other)
        tx.hearers = hearers
        if tx.to >= 0 and tx.frame is not None:
            self.reserve(hearers, tx.to, end)

    def clash(self, other: Station, station: Station, tx: Transmission, t: i64, end: i64) -> None:
        """A frame reaches a station that is busy: it is lost, and so is what the station was receiving."""
        why: i64 = HALF_DUPLEX if other.sending else COLLISION
        self.spoil(other, t)
        other.receiving = NOTHING
        if other.busy_until < end:
            other.busy_until = end
        frame = tx.frame
        if frame is not None:
            self.recorder.lost(t, other.index, frame, tx.serial, station.index, tx.size, why, 0)

    def spoil(self, other: Station, t: i64) -> None:
        """What a station is receiving gets garbled. If it knows by then that a frame is coming (the PLCP header is
        through), it will find an error at the end and wait for EIFS; if not, it only senses energy (9.2.3.4)."""
        if other.receiving >= 0 and t - self.transmissions[other.receiving].start >= self.mac.preamble:
            other.ifs = self.mac.eifs

    def start_graded(self, station: Station, tx: Transmission, s: i64, t: i64, end: i64) -> None:
        stations = self.stations
        motion = self.motion
        radio = self.radio
        capture = radio.capture
        threshold = radio.threshold
        near = self.audience(station, t)
        now = float(t) * 1e-6
        i = station.index
        x = motion.x(i, now)
        y = motion.y(i, now)
        r = radio.frame_range(i)
        r2 = r * r
        hearers: list[Station] = []
        strengths = vec[float]()
        for j in near:
            other = stations[j]
            if not other.up:
                continue
            dx = motion.x(j, now) - x
            dy = motion.y(j, now) - y
            strength = radio.strength(i, j, r2, dx * dx + dy * dy)
            if strength < threshold:
                continue
            if other.receiving >= 0:
                if other.strength < capture * (other.energy - other.strength + strength) and not other.garbled:
                    other.garbled = True
                    self.spoil(other, t)
            elif strength >= 1.0 and not other.sending and strength >= capture * other.energy:
                other.receiving = s
                other.strength = strength
                other.garbled = False
            other.energy += strength
            other.signals += 1
            hearers.append(other)
            strengths = append(strengths, strength)
            self.sense(other, t, end)
        tx.hearers = hearers
        tx.strengths = strengths
        if tx.to >= 0 and tx.frame is not None:
            self.reserve(hearers, tx.to, end)

    def sense(self, other: Station, t: i64, end: i64) -> None:
        """The medium gets busy at a station: its back-off freezes."""
        if other.busy_until <= t:
            if other.contending or other.slots > 0:
                slot = self.mac.slot
                idle = t - other.idle_from() - other.ifs
                left = other.slots * slot - idle
                if left <= self.mac.turnaround and other.contending and idle >= 0:
                    other.committed = True
                elif idle > 0:
                    passed = idle // slot
                    other.slots = 0 if passed >= other.slots else other.slots - passed
            other.busy_until = end
        elif other.busy_until < end:
            other.busy_until = end

    def reserve(self, hearers: list[Station], to: i64, end: i64) -> None:
        """The duration field keeps the medium for the acknowledgement."""
        until = end + self.mac.sifs + self.mac.ack_airtime
        for other in hearers:
            if other.index != to and other.reserved_until < until:
                other.reserved_until = until

    # ---- receptions

    def end(self, station: Station, s: i64, t: i64) -> None:
        tx = self.transmissions[s]
        if self.mac.kind != IDEAL:
            station.sending = False
        frame = tx.frame
        if frame is None:
            self.end_acknowledgement(station, tx, s, t)
        elif self.mac.kind == IDEAL:
            self.end_ideal(station, tx, frame, t)
        else:
            if self.plain and tx.to == BROADCAST and len(tx.cargo) == 0 and not self.lossy and not self.recorder.log_frames:
                self.end_plain(station, tx, frame, s, t)
            else:
                self.end_with_care(station, tx, frame, s, t)
            if tx.to == BROADCAST:
                station.redraw(t)
                if len(station.queue) > 0 and not station.contending and station.up:
                    station.contend()
            else:
                self.await_acknowledgement(station, t)
        tx.frame = None
        tx.hearers = []
        if len(tx.cargo) > 0:
            tx.cargo = []
        self.free.append(s)

    def end_plain(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        """The common case, without detours: a broadcast of at most one event, on a plain radio, with no rows to write."""
        recorder = self.recorder
        marks = tx.marks
        airtime = tx.airtime
        ifs = self.mac.ifs
        sender = station.id
        index = station.index
        got: i64 = 0
        duplicates: i64 = 0
        parasites: i64 = 0
        carries = len(marks) > 0
        for other in tx.hearers:
            if other.receiving != s:
                if other.up:
                    other.rx_us += airtime
                    recorder.losses[HALF_DUPLEX if other.sending else COLLISION] += 1
                continue
            other.rx_us += airtime
            other.receiving = NOTHING
            other.ifs = ifs
            got += 1
            if carries:
                mark = i64(marks[other.index])
                if mark & WANTED == 0:
                    parasites += 1
                if mark & HAS:
                    duplicates += 1
                    if mark & MUTED:
                        if mark < HEARD * HEARD_MOST:
                            marks[other.index] = i16(mark + HEARD)
                        continue
                else:
                    marks[other.index] = i16(mark | HAS)
            other.heard_from = index
            other.protocol.on_frame(frame, sender)
        recorder.receptions += got
        recorder.duplicates += duplicates
        recorder.parasites += parasites
        recorder.stamp(t, index, tx.serial, got)

    def end_with_care(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        """Any other case: strengths, losses by chance, addressees, several events, rows for the log."""
        recorder = self.recorder
        got: i64 = 0
        k: i64 = -1
        for other in tx.hearers:
            k += 1
            strength = 1.0
            if not self.plain:
                strength = tx.strengths[k]
                self.fade(other, strength)
            locked = other.receiving == s
            if locked:
                other.receiving = NOTHING
            if not other.up or (strength < 1.0 and not locked):
                continue
            spent = tx.airtime if locked or self.plain else 0
            other.rx_us += spent
            if not locked or (other.garbled and not self.plain):
                why: i64 = HALF_DUPLEX if other.sending else COLLISION
                recorder.lost(t, other.index, frame, tx.serial, station.index, tx.size, why, spent)
                continue
            other.ifs = self.mac.ifs
            if self.lossy and self.chance[other.index].random() < self.faults.loss_of(station.index, other.index):
                recorder.lost(t, other.index, frame, tx.serial, station.index, tx.size, LOSS, spent)
                continue
            if tx.to >= 0 and tx.to != other.index:
                continue
            got += 1
            self.hand_up(other, station, tx, frame, t, strength)
        recorder.stamp(t, station.index, tx.serial, got)

    def fade(self, other: Station, strength: float) -> None:
        """A signal ends. The sum starts afresh in silence, so that rounding does not pile up."""
        if other.signals > 1:
            other.signals -= 1
            other.energy -= strength
        else:
            other.signals = 0
            other.energy = 0.0

    def end_ideal(self, station: Station, tx: Transmission, frame: Frame, t: i64) -> None:
        got: i64 = 0
        reached = False
        for other in tx.hearers:
            if not other.up:
                continue
            other.rx_us += tx.airtime
            if tx.to >= 0 and tx.to != other.index:
                continue
            if self.lossy and self.chance[other.index].random() < self.faults.loss_of(station.index, other.index):
                self.recorder.lost(t, other.index, frame, tx.serial, station.index, tx.size, LOSS, tx.airtime)
                continue
            got += 1
            reached = True
            self.hand_up(other, station, tx, frame, t, 1.0)
        self.recorder.stamp(t, station.index, tx.serial, got)
        if tx.to >= 0 and not reached:
            self.recorder.lost(t, station.index, frame, tx.serial, tx.to, tx.size, NO_ACK, 0)
            station.protocol.on_undelivered(frame, tx.to)

    def hand_up(self, other: Station, station: Station, tx: Transmission, frame: Frame, t: i64, strength: float) -> None:
        """A frame arrived intact: count it, and give it to the protocol unless it asked not to be told."""
        recorder = self.recorder
        if tx.to >= 0 and self.mac.kind != IDEAL:
            self.events.push(t + self.mac.sifs, ACKNOWLEDGE, other.index, 0, station.index)
            if other.accepted.get(station.index, -1) == tx.number:
                return  # its acknowledgement was lost: a repetition
            other.accepted[station.index] = tx.number
        recorder.receptions += 1
        if recorder.log_frames:
            recorder.received(t, other.index, frame, tx.serial, station.index, tx.size, tx.airtime)
        for published in tx.cargo:
            recorder.heard_event(published, other.index)
        marks = tx.marks
        if len(marks) > 0:
            published_one = recorder.published[frame.id]
            recorder.heard_event(published_one, other.index)
            mark = i64(marks[other.index])
            if mark & MUTED:
                if mark < HEARD * HEARD_MOST:
                    marks[other.index] = i16(mark + HEARD)
                return
        other.heard_from = station.index
        if not self.plain:
            other.heard_strength = dbm(strength)
        other.protocol.on_frame(frame, station.id)

    # ---- acknowledged frames

    def await_acknowledgement(self, station: Station, t: i64) -> None:
        if not station.up:
            return
        station.waiting = True
        station.attempt += 1
        wait = self.mac.sifs + self.mac.ack_airtime + self.mac.slot
        self.events.push(t + wait, TIMEOUT, station.index, 0, station.attempt)

    def acknowledge(self, station: Station, to: i64, t: i64) -> None:
        airtime = self.mac.ack_airtime
        s = self.transmission(None, to, 0, airtime)
        tx = self.transmissions[s]
        tx.marks = NO_MARKS
        self.occupy(station, t + airtime)
        if self.plain:
            self.start_plain(station, tx, s, t, t + airtime)
        else:
            self.start_graded(station, tx, s, t, t + airtime)
        self.events.push(t + airtime, END, station.index, s, s)

    def end_acknowledgement(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        station.idle_since = t
        k: i64 = -1
        for other in tx.hearers:
            k += 1
            if not self.plain:
                self.fade(other, tx.strengths[k])
            if other.receiving != s:
                continue
            other.receiving = NOTHING
            if other.garbled and not self.plain:
                continue
            other.ifs = self.mac.ifs
            if other.index == tx.to and other.waiting:
                self.acknowledged(other, t)
        if len(station.queue) > 0 and not station.contending and not station.waiting and station.up:
            station.contend()

    def acknowledged(self, station: Station, t: i64) -> None:
        station.waiting = False
        station.queue.pop(0)
        station.window = self.mac.window
        station.redraw(t)
        if len(station.queue) > 0:
            station.contend()

    def unacknowledged(self, station: Station, t: i64) -> None:
        station.waiting = False
        outgoing = station.queue[0]
        outgoing.tries += 1
        if outgoing.tries > self.mac.retries:
            station.queue.pop(0)
            station.window = self.mac.window
            station.redraw(t)
            size = self.mac.bytes_on_air(outgoing.frame.size)
            self.recorder.lost(t, station.index, outgoing.frame, 0, outgoing.to, size, NO_ACK, 0)
            station.protocol.on_undelivered(outgoing.frame, outgoing.to)
        else:
            station.window = min(2 * station.window, self.mac.window_max)
            station.redraw(t)
        if len(station.queue) > 0 and not station.contending:
            station.contend()

    # ---- publications

    def publish(self, station: Station, p: Publication, t: i64) -> None:
        if not station.up and not station.asleep:
            return  # a crashed node has no application either
        self.sequence[p.node] += 1
        event = Event(event_id(p.node, self.sequence[p.node]), p.topic, p.attrs, p.payload, p.validity_us, p.scope)
        wanting = self.wanting(event)
        near = self.within_local_range(p.node, t) if p.scope == LOCAL else []
        paired = [i for i in wanting if i != p.node and self.stations[i].up and (p.scope != LOCAL or i in near)]
        self.recorder.publish(t, p.node, event, wanting, paired, near)
        if self.possible is not None:
            self.possible.publish(t, p.node, event, paired)
        station.protocol.on_publish(event)

    def wanting(self, event: Event) -> list[int]:
        nodes = {self.subscriptions[number].node: True for number in self.index.match(event)}
        return sorted(nodes)

    def within_local_range(self, node: int, t: i64) -> list[int]:
        now = self.settled(t)
        x = self.motion.x(node, now)
        y = self.motion.y(node, now)
        near: list[int] = []
        for i in range(len(self.stations)):
            dx = self.motion.x(i, now) - x
            dy = self.motion.y(i, now) - y
            if dx * dx + dy * dy <= self.local_range_m * self.local_range_m and i != node:
                near.append(i)
        return near

    # ---- faults, motion, samples

    def fault(self, station: Station, what: i64, t: i64) -> None:
        if station.sending and (what == SLEEP or what == CRASH):
            self.events.push(station.busy_until + 1, FAULT, station.index, 0, what)
            return
        if what == SLEEP:
            station.asleep = True
            station.leave(t)
            self.recorder.fault(t, station.index, schema.SLEEP)
        elif what == WAKE:
            station.asleep = False
            station.asleep_us += t - station.down_since
            self.recorder.fault(t, station.index, schema.WAKE)
            station.come_back(t)
        elif what == CRASH:
            self.crash(station, t)
        elif what == RECOVER:
            self.recover(station, t)
        if self.possible is not None:
            self.possible.switch(t, station.id, station.up)
        after, then = self.faults.next(station.id, what)
        self.events.push(t + after, FAULT, station.index, 0, then)

    def crash(self, station: Station, t: i64) -> None:
        station.leave(t)
        station.timers.clear()
        station.queue.clear()
        self.recorder.fault(t, station.index, schema.CRASH)

    def recover(self, station: Station, t: i64) -> None:
        station.off_us += t - station.down_since
        self.recorder.fault(t, station.index, schema.RECOVER)
        station.come_back(t)
        if self.faults.keep_tables:
            station.protocol.on_start()
            return
        for published in self.recorder.published.values():
            published.unmute(station.index)
        station.protocol = self.protocol_class(station, self.params)
        station.protocol.on_start()
        for s in self.subscriptions:
            if s.node == station.id:
                station.protocol.on_subscribe(s.number, s.filter)

    def await_motion(self, i: int) -> None:
        end = self.motion.leg_end(i)
        if end < LAST_S:
            at: i64 = ceil(end * 1e6)
            self.events.push(at, MOTION, i, 0, 0)

    def motion_changed(self, station: Station, t: i64) -> None:
        self.settled(t)
        i = station.id
        self.await_motion(i)
        self.write_move(i, t)
        moving = self.motion.speed(i) > 0.0
        if moving != self.moving[i]:
            self.moving[i] = moving
            if station.up or station.asleep:
                station.protocol.on_motion(moving)

    def write_move(self, i: int, t: i64) -> None:
        if self.recorder.log_moves:
            now = float(t) * 1e-6
            x, y = self.motion.position(i, now)
            ahead, aside = self.motion.position(i, now + 1.0)
            text = f"{x:.3f} {y:.3f} {ahead - x:.4f} {aside - y:.4f}"
            end = min(self.motion.leg_end(i), LAST_S)
            self.recorder.moved(t, i, i64(end * 1e6), text)

    def sample(self, t: i64) -> None:
        for station in self.stations:
            if station.up:
                entries, size = station.protocol.memory()
                self.recorder.state(t, station.index, entries, size)
        self.events.push(t + self.sample_every, SAMPLE, 0, 0, 0)

    def finish(self, until: i64) -> None:
        """Close the books: who is still down was down to the end."""
        for station in self.stations:
            if not station.up:
                if station.asleep:
                    station.asleep_us += until - station.down_since
                else:
                    station.off_us += until - station.down_since

    def energy_j(self, until: i64) -> float:
        power = self.recorder.power
        total = 0.0
        for s in self.stations:
            total += power.joules(until, s.tx_us, s.rx_us, s.asleep_us, s.off_us)
        return total
