"""The air: frames start, clash, end and are handed up; acknowledgements come or do not.

There are two ways over the air. On a *plain* radio (a disc) strength does not matter: whoever is near hears the frame,
and two frames at one receiver spoil each other. This is the fast one: nothing is computed per receiver but its
carrier sense. All other radios go the *graded* way: every frame has a strength at every receiver, interference adds up,
and the stronger frame may survive (radio.py).
"""

from __future__ import annotations

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i32, i64

from roamcast.log.recorder import (
    ACKNOWLEDGEMENT,
    COLLISION,
    FOR_ANOTHER,
    HALF_DUPLEX,
    HAS,
    HEARD,
    LOSS,
    MUTED,
    NO_ACK,
    NODE_BITS,
    REPETITION,
    SETTLED,
    WANTED,
    Recorder,
)
from roamcast.protocols.kit.interface import Frame
from roamcast.world.contacts import Neighbourhood
from roamcast.world.faults import Faults
from roamcast.world.hearing import Hearing, Row
from roamcast.world.mac.base import Mac
from roamcast.world.queue import ACKNOWLEDGE, ATTEMPT, END, TIMEOUT, EventQueue
from roamcast.world.radio.base import Radio, dbm
from roamcast.world.station import NO_CARGO, NOBODY_HEARS, NOTHING, Station, Transmission
from roamcast.world.streams import Stream

NO_MARKS: Final = vec[i32]()


class Air:
    __slots__ = (
        "calm",
        "chance",
        "events",
        "faults",
        "free",
        "hearing",
        "lossy",
        "mac",
        "metered",
        "motion",
        "plain",
        "radio",
        "recorder",
        "serial",
        "stations",
        "swift",
        "transmissions",
    )

    def __init__(
        self,
        events: EventQueue,
        stations: list[Station],
        motion: Neighbourhood,
        mac: Mac,
        radio: Radio,
        recorder: Recorder,
        faults: Faults,
        seed: int,
    ) -> None:
        self.events = events
        self.stations = stations
        self.motion = motion
        self.hearing = Hearing(stations, motion)
        self.mac = mac
        self.radio = radio
        self.recorder = recorder
        self.faults = faults
        self.transmissions: list[Transmission] = []
        self.free: list[i64] = []
        self.serial: i64 = 0
        self.plain = radio.plain()
        self.lossy = faults.lossy()
        self.swift = self.plain and not self.lossy and not recorder.log_frames and mac.contends
        self.calm = self.swift  # and nobody ever goes off
        self.metered = False  # whether somebody asks how much of its own battery is left
        self.chance: list[Stream] = [Stream(seed, i, "loss") for i in range(len(stations))] if self.lossy else []

    # ---- transmissions

    def attempt(self, station: Station, t: i64) -> None:
        mac = self.mac
        if station.committed:
            station.committed = False
        else:
            at = self.mac.access(station)
            if at > t:
                self.events.push(at, ATTEMPT, station.index, 0, station.attempt)
                return
        station.contending = False
        frame = station.front
        assert frame is not None
        to = station.front_to
        if frame.size != mac.weighed:
            mac.weigh(frame.size)
        size = mac.on_air
        airtime = mac.lasts
        s = self.free.pop() if len(self.free) > 0 else self.one_more(station)
        tx = self.transmissions[s]
        self.serial += 1
        tx.sender = station
        tx.frame = frame
        tx.to = to
        tx.serial = self.serial
        tx.number = station.frames
        tx.size = size
        tx.start = t
        tx.airtime = airtime
        cargo = frame.cargo
        if cargo is not None and cargo.handle >= 0:
            tx.published = self.recorder.records[cargo.handle]
        else:
            self.load(tx, frame)
        recorder = self.recorder
        recorder.frames_sent += 1
        recorder.bytes_sent += size
        recorder.count_kind(frame.kind)
        if recorder.log_frames:
            recorder.write_sent(t, station.index, frame, tx.serial, to, size, airtime)
        if to >= 0:
            if station.begun == station.frames:
                recorder.repeated(t, station.index, frame, tx.serial, to)
            station.begun = station.frames
        station.tx_us += airtime
        if to < 0 and not station.queue:
            station.front = None
            station.frames += 1
        elif to < 0 or not mac.contends:
            station.next_frame()
        if not mac.contends:
            self.start_ideal(station, tx, t)
        elif self.plain:
            self.start_plain(station, tx, s, t, t + airtime)
        else:
            self.start_graded(station, tx, s, t, t + airtime)
        self.events.push(t + airtime, END, station.index, s, s)

    def one_more(self, sender: Station) -> i64:
        """Room for one more transmission at a time."""
        self.transmissions.append(Transmission(sender))
        return len(self.transmissions) - 1

    def load(self, tx: Transmission, frame: Frame) -> None:
        """What the tally must know about the events on board, where the frame does not say it by `cargo`."""
        if frame.id != 0:
            tx.published = self.recorder.find(frame.id)
            return
        tx.published = None
        events = frame.events()
        if len(events) > 0:
            known = [self.recorder.record(event) for event in events]
            tx.cargo = [published for published in known if published is not None]

    def audience(self, station: Station, t: i64) -> Row:
        """Whose receivers a frame of this station reaches now."""
        now = float(t) * 1e-6
        row = self.hearing.row(station, now)
        if self.faults.partition_from <= t < self.faults.partition_until:
            row = self.one_side(row, station, now)
        return row

    def one_side(self, row: Row, station: Station, now: float) -> Row:
        wall = self.faults.wall_m
        left = self.motion.x(station.id, now) < wall
        return tuple([other for other in row if (self.motion.x(other.id, now) < wall) == left])

    def start_ideal(self, station: Station, tx: Transmission, t: i64) -> None:
        station.sending = True
        station.sends_until = t + tx.airtime
        hearers: list[Station] = []
        r = self.radio.frame_range(station.index)
        for other in self.audience(station, t):
            if other.up and (self.plain or self.strength(station.index, other.index, r, t) >= 1.0):
                hearers.append(other)
        tx.hearers = hearers

    def strength(self, i: i64, j: i64, range_m: float, t: i64) -> float:
        now = float(t) * 1e-6
        dx = self.motion.x(j, now) - self.motion.x(i, now)
        dy = self.motion.y(j, now) - self.motion.y(i, now)
        return self.radio.strength(i, j, range_m * range_m, dx * dx + dy * dy)

    def start_plain(self, station: Station, tx: Transmission, s: i64, t: i64, end: i64) -> None:
        """A frame for one station alone (and an acknowledgement) matters to all others by its length, which they sense
        when it begins; in a calm world its end is only looked at where it may end something."""
        to = tx.to
        tx.targeted = targeted = self.calm and to >= 0
        tx.collisions = 0
        tx.deaf = 0
        locked: i64 = 0
        metered = targeted and self.metered
        nav: i64 = 0
        if to >= 0 and tx.frame is not None:
            nav = self.reserved(end)
        ifs = self.mac.ifs
        if station.receiving >= 0:
            self.deafen(station, t)
        station.occupy(end)
        hearers: list[Station] = []
        collisions: i64 = 0
        deaf: i64 = 0
        for other in self.audience(station, t):
            busy = other.busy_until
            if busy > t:
                # it is lost here, and so is what this station was receiving
                if other.receiving >= 0:
                    self.spoil(other, t)
                    other.receiving = NOTHING
                if busy < end:
                    other.busy_until = end
                if other.sending:
                    deaf += 1
                elif other.up:
                    collisions += 1
                continue
            if other.contending:
                self.mac.freeze(other, t)
            elif other.slots > 0:
                self.mac.count_down(other, t)
            other.busy_until = end
            other.receiving = s
            if to >= 0:
                locked += 1
                if metered:
                    other.listens(t, end)
                if other.index != to:
                    if other.idle_since < nav:
                        other.idle_since = nav
                    if targeted and other.ifs == ifs:
                        continue
            hearers.append(other)
        tx.hearers = hearers
        tx.locked = locked
        frame = tx.frame
        if frame is None or deaf + collisions == 0:
            return
        self.recorder.losses[HALF_DUPLEX] += deaf
        self.recorder.losses[COLLISION] += collisions
        if self.recorder.log_frames:
            self.write_clashes(station, tx, frame, t)

    def deafen(self, station: Station, t: i64) -> None:
        """A station that was receiving is about to transmit: does it miss the end of a targeted frame?"""
        if station.busy_until <= t:  # no: that is over, and the end did not concern it
            station.receiving = NOTHING
        elif self.transmissions[station.receiving].targeted:
            self.transmissions[station.receiving].deaf += 1
            station.receiving = NOTHING
            station.turns_away()

    def write_clashes(self, station: Station, tx: Transmission, frame: Frame, t: i64) -> None:
        """The rows of those near who did not begin to receive the frame: they were busy (or off: no row)."""
        heard: i64 = 0
        for other in self.audience(station, t):
            if heard < len(tx.hearers) and tx.hearers[heard] is other:
                heard += 1
                continue
            if other.up:
                why: i64 = HALF_DUPLEX if other.sending else COLLISION
                self.recorder.write_loss(t, other.index, frame, tx.serial, station.index, tx.size, why, 0)

    def spoil(self, other: Station, t: i64) -> None:
        """What a station is receiving gets garbled. If it knows by then that a frame is coming (the PLCP header is
        through), it will find an error at the end and wait for EIFS; if not, it only senses energy (9.2.3.4)."""
        tx = self.transmissions[other.receiving]
        if tx.targeted:
            tx.collisions += 1
        if t - tx.start >= self.mac.preamble:
            other.ifs = self.mac.eifs

    def start_graded(self, station: Station, tx: Transmission, s: i64, t: i64, end: i64) -> None:
        station.occupy(end)
        motion = self.motion
        radio = self.radio
        capture = radio.capture
        threshold = radio.threshold
        audience = self.audience(station, t)
        now = float(t) * 1e-6
        i = station.index
        x = motion.x(i, now)
        y = motion.y(i, now)
        r = radio.frame_range(i)
        r2 = r * r
        frame = tx.frame
        hearers: list[Station] = []
        strengths = vec[float]()
        for other in audience:
            if not other.up:
                continue
            j = other.index
            dx = motion.x(j, now) - x
            dy = motion.y(j, now) - y
            strength = radio.strength(i, j, r2, dx * dx + dy * dy)
            if strength < threshold:
                continue
            disturbed = capture * (other.energy - other.strength + strength)
            if other.receiving >= 0 and other.strength < disturbed and not other.garbled:
                other.garbled = True
                self.spoil(other, t)
            if strength >= 1.0:
                if other.receiving < 0 and not other.sending and strength >= capture * other.energy:
                    other.receiving = s
                    other.strength = strength
                    other.garbled = False
                elif frame is not None:
                    why: i64 = HALF_DUPLEX if other.sending else COLLISION
                    self.recorder.lost(t, j, frame, tx.serial, i, tx.size, why, 0)
            other.energy += strength
            other.signals += 1
            hearers.append(other)
            strengths = append(strengths, strength)
            self.sense(other, t, end)
        tx.hearers = hearers
        tx.strengths = strengths
        if tx.to >= 0 and frame is not None:
            nav = self.reserved(end)
            for other in hearers:
                if other.index != tx.to and other.idle_since < nav:
                    other.idle_since = nav

    def sense(self, other: Station, t: i64, end: i64) -> None:
        """The medium gets busy at a station: its back-off freezes."""
        if other.busy_until <= t:
            if other.contending:
                self.mac.freeze(other, t)
            elif other.slots > 0:
                self.mac.count_down(other, t)
            other.busy_until = end
        elif other.busy_until < end:
            other.busy_until = end

    def reserved(self, end: i64) -> i64:
        """How long the duration field keeps the medium for the acknowledgement."""
        return end + self.mac.sifs + self.mac.ack_airtime

    # ---- receptions

    def end(self, station: Station, s: i64, t: i64) -> None:
        tx = self.transmissions[s]
        frame = tx.frame
        station.sending = False
        if self.swift and tx.to < 0 and frame is not None and not tx.cargo:
            self.end_plain(station, tx, frame, s, t)
            self.mac.draw_backoff(station)
        elif frame is None:
            self.end_acknowledgement(station, tx, s, t)
        elif not self.mac.contends:
            self.end_ideal(station, tx, frame, t)
        else:
            self.end_with_care(station, tx, frame, s, t)
            if tx.to < 0:
                self.mac.draw_backoff(station)
            else:
                self.await_acknowledgement(station, t)
        if station.front is not None and not station.contending and not station.waiting and station.up:
            self.mac.contend(station)
        tx.frame = None
        tx.hearers = NOBODY_HEARS
        tx.cargo = NO_CARGO
        self.free.append(s)

    def end_plain(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        """The common case without detours: a broadcast of at most one event, on a plain radio, no rows to write."""
        recorder = self.recorder
        published = tx.published
        marks = NO_MARKS if published is None else published.marks
        if not self.calm:
            self.listened(tx, s, t)
        recorder.current = published
        ifs = self.mac.ifs
        sender = station.id
        index = station.index
        collisions: i64 = 0
        deaf: i64 = 0
        off: i64 = 0
        news: i64 = 0
        parasites: i64 = 0
        parasites_at_first: i64 = 0
        carries = len(marks) > 0
        for other in tx.hearers:
            if other.receiving != s:
                if other.deafened == s:
                    other.deafened = NOTHING
                    deaf += 1
                elif other.up:
                    collisions += 1
                else:
                    off += 1
                continue
            other.receiving = NOTHING
            if other.ifs != ifs:
                self.understood(other)
            if carries:
                i = other.index
                mark = marks[i]
                if mark & WANTED == 0:
                    parasites += 1
                if mark >= SETTLED:
                    marks[i] = mark + HEARD
                    continue
                if mark & HAS == 0:
                    news += 1
                    if mark & WANTED == 0:
                        parasites_at_first += 1
                    mark |= HAS
                    marks[i] = mark
                if mark & MUTED:  # before it ever came
                    marks[i] = mark + HEARD
                    continue
            other.heard_from = index
            other.protocol.on_frame(frame, sender)
        got = len(tx.hearers) - off - collisions - deaf
        recorder.receptions += got
        if carries:
            recorder.duplicates += got - news
            recorder.duplicates_wanted += got - news - (parasites - parasites_at_first)
        recorder.parasites += parasites
        if collisions + deaf > 0:
            recorder.losses[COLLISION] += collisions
            recorder.losses[HALF_DUPLEX] += deaf
        if self.calm:
            recorder.rx_us += (got + collisions) * tx.airtime
        recorder.stamp(t, index, tx.serial << NODE_BITS | got)

    def listened(self, tx: Transmission, s: i64, t: i64) -> None:
        """Who slept through a part of a frame may have begun to receive another one meanwhile: each to its own account,
        where what overlaps counts once."""
        for other in tx.hearers:
            if other.receiving == s or (other.up and other.deafened != s):
                other.listened(tx.start, t)

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
            if other.receiving != s:
                if tx.targeted:
                    continue
                if other.deafened == s:
                    other.deafened = NOTHING
                    recorder.lost(t, other.index, frame, tx.serial, station.index, tx.size, HALF_DUPLEX, 0)
                elif self.plain and other.up:  # on a graded radio that was told when the frame began
                    self.miss(other, station, tx, frame, t, COLLISION)
                continue
            other.receiving = NOTHING
            if other.garbled and not self.plain:
                self.miss(other, station, tx, frame, t, COLLISION)
                continue
            self.understood(other)
            if self.lossy and self.chance[other.index].random() < self.faults.loss_of(station.index, other.index):
                self.miss(other, station, tx, frame, t, LOSS)
                continue
            if tx.to >= 0 and tx.to != other.index:
                self.overhear(other, station, tx, t, FOR_ANOTHER)
                continue
            got += 1
            self.hand_up(other, station, tx, frame, t, strength)
        if tx.targeted:
            recorder.losses[COLLISION] += tx.collisions
            recorder.losses[HALF_DUPLEX] += tx.deaf
            recorder.overheard += tx.locked - tx.collisions - tx.deaf - got
            self.account(tx)
        recorder.stamp(t, station.index, tx.serial << NODE_BITS | got)

    def account(self, tx: Transmission) -> None:
        """Time that radios were on to a targeted transmission; metered ones have it on their own accounts."""
        if not self.metered:
            self.recorder.rx_us += (tx.locked - tx.deaf) * tx.airtime

    def overhear(self, other: Station, station: Station, tx: Transmission, t: i64, why: i64) -> None:
        """A radio took in what its protocol will not see; of a targeted transmission all are counted at its end."""
        if tx.targeted:
            return
        other.listened(tx.start, t)
        self.recorder.overhear(t, other.index, tx.frame, tx.serial, station.index, tx.size, why, tx.airtime)

    def miss(self, other: Station, station: Station, tx: Transmission, frame: Frame, t: i64, why: i64) -> None:
        """A frame that a receiver had locked on to is lost."""
        other.listened(tx.start, t)
        self.recorder.lost(t, other.index, frame, tx.serial, station.index, tx.size, why, tx.airtime)

    def understood(self, other: Station) -> None:
        """A frame without errors ends EIFS (9.2.3.4); who was waiting for its end waits no longer than DIFS now."""
        if other.ifs != self.mac.ifs:
            other.ifs = self.mac.ifs
            if other.contending:
                self.mac.request_access(other)

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
            if tx.to >= 0 and tx.to != other.index:
                self.overhear(other, station, tx, t, FOR_ANOTHER)
                continue
            if self.lossy and self.chance[other.index].random() < self.faults.loss_of(station.index, other.index):
                self.miss(other, station, tx, frame, t, LOSS)
                continue
            got += 1
            reached = True
            self.hand_up(other, station, tx, frame, t, 1.0)
        self.recorder.stamp(t, station.index, tx.serial << NODE_BITS | got)
        if tx.to >= 0 and not reached:
            self.recorder.lost(t, station.index, frame, tx.serial, tx.to, tx.size, NO_ACK, 0)
            station.protocol.on_undelivered(frame, tx.to)

    def hand_up(
        self, other: Station, station: Station, tx: Transmission, frame: Frame, t: i64, strength: float
    ) -> None:
        """A frame arrived intact: count it, and give it to the protocol unless it asked not to be told."""
        recorder = self.recorder
        if tx.to >= 0 and self.mac.contends:
            self.events.push(t + self.mac.sifs, ACKNOWLEDGE, other.index, 0, station.index)
            if station.accepted == tx.number:  # its acknowledgement was lost
                self.overhear(other, station, tx, t, REPETITION)
                return
            station.accepted = tx.number
        if not tx.targeted:
            other.listened(tx.start, t)
        recorder.receptions += 1
        if recorder.log_frames:
            recorder.received(t, other.index, frame, tx.serial, station.index, tx.size, tx.airtime)
        for published in tx.cargo:
            recorder.heard_event(published, other.index)
        one = tx.published
        recorder.current = one
        if one is not None:
            recorder.heard_event(one, other.index)
            mark = one.marks[other.index]
            if mark & MUTED:
                one.marks[other.index] = mark + HEARD
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
        s = self.free.pop() if len(self.free) > 0 else self.one_more(station)
        tx = self.transmissions[s]
        tx.sender = station
        tx.frame = None
        tx.to = to
        tx.serial = 0
        tx.size = self.mac.ack
        tx.start = t
        tx.airtime = airtime
        station.tx_us += airtime
        self.recorder.acknowledge(t, station.index, to, tx.size, airtime)
        if self.plain:
            self.start_plain(station, tx, s, t, t + airtime)
        else:
            self.start_graded(station, tx, s, t, t + airtime)
        self.events.push(t + airtime, END, station.index, s, s)

    def end_acknowledgement(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        k: i64 = -1
        for other in tx.hearers:
            k += 1
            if not self.plain:
                self.fade(other, tx.strengths[k])
            if other.receiving != s:
                if other.deafened == s:
                    other.deafened = NOTHING
                elif self.plain and other.up:
                    self.overhear(other, station, tx, t, ACKNOWLEDGEMENT)
                continue
            other.receiving = NOTHING
            self.overhear(other, station, tx, t, ACKNOWLEDGEMENT)
            if other.garbled and not self.plain:
                continue
            self.understood(other)
            if other.index == tx.to and other.waiting:
                self.acknowledged(other, t)
        if tx.targeted:
            self.account(tx)

    def acknowledged(self, station: Station, t: i64) -> None:
        station.waiting = False
        station.next_frame()
        self.mac.draw_backoff(station)
        if station.front is not None:
            self.mac.contend(station)

    def unacknowledged(self, station: Station, t: i64) -> None:
        station.waiting = False
        self.mac.count_from(station, t)
        station.tries += 1
        frame = station.front
        to = station.front_to
        if station.tries > self.mac.retries and frame is not None:
            station.next_frame()
            self.mac.draw_backoff(station)
            size = self.mac.bytes_on_air(frame.size)
            self.recorder.lost(t, station.index, frame, 0, to, size, NO_ACK, 0)
            station.protocol.on_undelivered(frame, to)
        else:
            station.window = min(2 * station.window, self.mac.window_max)
            self.mac.draw_backoff(station)
        if station.front is not None and not station.contending:
            self.mac.contend(station)
