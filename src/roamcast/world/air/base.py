"""What all kinds of air share: frames go on the air, end, and are handed to protocols.

Each kind is a class of its own, chosen once for a run (`air.build`), so a frame takes one virtual call when it starts
and one when it ends. A frame ends in one of two ways. One by one, each hearer loses or receives it, and its protocol
acts, before the next hearer does: rows of the log are in that order. All at once, the hearers' radios are done first,
which leaves a list of numbers; then copies are counted, then protocols act. Both give the same results, since no node
sees the state of another; the second is faster, and is taken where no rows are written and no frame is lost by chance
(`at_once`).

    ideal.py         no frame disturbs another
    acknowledged.py  what a shared medium adds: frames for one neighbour are acknowledged, or repeated
    plain.py         a disc: a frame reaches every station in range, and two frames at one receiver collide
    steady.py        the same, faster, where stations never go off
    graded.py        frames have a strength at each receiver, interference adds up, and the stronger may survive
    lora.py          each frame stands against each other one, and preambles may save both
"""

from __future__ import annotations

from librt.random import Random
from librt.vecs import append, vec
from mypy_extensions import i64, u8

from roamcast.log.schema import LOSSES
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.medium import Medium
from roamcast.world.air.transmission import Transmission
from roamcast.world.published import COPY, FULL, HAS, MUTED, NO_EVENTS, ONLY_COUNTED, WANTED, PublishedEvent
from roamcast.world.queue import ATTEMPT, END
from roamcast.world.station import UNBORN, Station


class Air:
    def __init__(self, medium: Medium) -> None:
        self.medium = medium
        self.events = medium.events
        self.stations = medium.stations
        self.hearers = medium.hearers
        self.motion = medium.motion
        self.mac = medium.mac
        self.losses = medium.losses
        self.recorder = medium.recorder
        self.rows = medium.recorder.rows
        self.tally = medium.recorder.tally
        self.fingerprint = medium.recorder.fingerprint
        self.energy = medium.recorder.energy
        self.published = medium.recorder.events
        self.transmissions: list[Transmission] = []
        self.free = vec[i64]()  # a stack of the places whose transmissions are over, and room for the others …
        self.idle: i64 = 0  # … and how many these are
        self.serial: i64 = 0
        self.at_once = medium.losses is None and not self.rows.frames
        self.ones = vec[float]([1.0] * len(self.stations))  # strengths where they do not matter
        self.receivers = vec[i64]([0] * len(self.stations))  # numbers of the stations that received a frame, …
        self.heard = self.ones[:]  # … and its strength at each of them
        # what `fetch` touched last; nobody reads it
        self.fetched_protocol = UNBORN
        self.fetched_protocol_rng: Random | None = None
        self.fetched_mac_rng: Random | None = None
        self.fetched_us: i64 = 0
        self.fetched_s = 0.0

    # ---- what differs from air to air

    def start(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        """A transmission begins: find its hearers. `s` is its place among the transmissions."""
        raise NotImplementedError

    def end_broadcast(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        """A frame for all ends: hand it to the protocols of the stations that received it."""
        raise NotImplementedError

    def end_addressed(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        """A frame for one neighbour ends: hand it to the neighbour's protocol, if it received the frame."""
        raise NotImplementedError

    def end_acknowledgement(self, station: Station, tx: Transmission, s: i64, t: i64) -> None:
        raise NotImplementedError

    def acknowledge(self, station: Station, to: i64, t: i64) -> None:
        """It is time for a station to send an acknowledgement."""
        raise NotImplementedError

    def unacknowledged(self, station: Station, t: i64) -> None:
        """No acknowledgement came in time."""
        raise NotImplementedError

    # ---- transmissions

    def attempt(self, station: Station, t: i64) -> None:
        """A back-off is over: the station sends, unless the medium got busy meanwhile."""
        if station.committed:
            station.committed = False
        else:
            at = self.mac.access(station)
            if at > t:
                self.events.push(at, ATTEMPT, station.index, 0, station.attempt)
                return
        station.contending = False
        frame = station.head
        assert frame is not None
        s = self.place_for(station)
        tx = self.transmissions[s]
        self.load(tx, station, frame, t)
        station.tx_us += tx.airtime
        self.tally.sent(frame.kind, tx.size)
        if self.rows.frames:
            self.rows.sent(t, station.index, frame, tx.serial, tx.to, tx.size, tx.airtime)
        if tx.to < 0 and not station.queue:
            station.head = None
            station.frames += 1
        else:
            self.advance_queue(tx, station, frame, t)
        self.start(station, tx, s, t)
        self.events.push(t + tx.airtime, END, station.index, s, s)

    def place_for(self, sender: Station) -> i64:
        """A place among the transmissions: a free one, or one more."""
        if self.idle > 0:
            self.idle -= 1
            return self.free[self.idle]
        self.transmissions.append(Transmission(sender, self.ones))
        self.free = append(self.free, 0)
        return len(self.transmissions) - 1

    def load(self, tx: Transmission, station: Station, frame: Frame, t: i64) -> None:
        mac = self.mac
        if frame.size != mac.weighed:
            mac.weigh(frame.size)
        self.serial += 1
        tx.sender = station
        tx.frame = frame
        tx.to = station.head_to
        tx.serial = self.serial
        tx.number = station.frames
        tx.size = mac.on_air
        tx.start = t
        tx.airtime = mac.lasts
        tx.collisions = 0
        tx.deaf = 0
        cargo = frame.cargo
        id = frame.id if cargo is None else cargo.id
        if id != 0:
            event = self.published.current
            tx.event = event if event is not None and event.id == id else self.published.find(id)
        else:
            tx.event = None
            events = frame.events()
            if len(events) > 0:
                known = [self.published.find(event.id) for event in events]
                tx.events = [event for event in known if event is not None]

    def advance_queue(self, tx: Transmission, station: Station, frame: Frame, t: i64) -> None:
        """Only a frame for one neighbour stays at the head of the queue, until it is acknowledged."""
        if tx.to >= 0:
            if station.begun == station.frames:
                self.recorder.repeat(t, station.index, frame, tx.serial, tx.to)
            station.begun = station.frames
        if tx.to < 0 or not self.mac.contends:
            station.next_frame()

    def end(self, station: Station, s: i64, t: i64) -> None:
        tx = self.transmissions[s]
        station.sending = False
        frame = tx.frame
        if frame is None:
            self.end_acknowledgement(station, tx, s, t)
        elif tx.to < 0:
            self.end_broadcast(station, tx, frame, s, t)
            if self.mac.contends:
                self.mac.draw_backoff(station)
        else:
            self.end_addressed(station, tx, frame, s, t)
        if station.head is not None and not station.contending and not station.waiting and station.up:
            self.mac.contend(station)
        tx.frame = None
        tx.events = NO_EVENTS
        self.free[self.idle] = s
        self.idle += 1

    def cut_off(self, until: i64) -> None:
        """The run ends while frames are still on the air: they count up to its end."""
        for station in self.stations:
            if station.sending:
                station.tx_us -= station.sends_until - until

    # ---- receptions, all at once

    def hand_out(self, station: Station, tx: Transmission, frame: Frame, got: i64) -> None:
        """A frame arrived intact at the first `got` of the `receivers`. Hand it to their protocols, except where its
        event is muted."""
        self.tally.receptions += got
        receivers = self.receivers
        for several in tx.events:
            for k in range(got):
                self.recorder.copy_arrived(several, receivers[k])
        event = tx.event
        self.published.current = event
        if event is not None:
            got = self.count_copies(event, got)
        heard = self.heard
        stations = self.stations
        index = station.index
        sender = station.id
        for k in range(got):  # before any protocol acts
            other = stations[receivers[k]]
            other.heard_from = index
            other.heard_strength = heard[k]
            self.fetch(other)
        for k in range(got):
            stations[receivers[k]].protocol.on_frame(frame, sender)

    def fetch(self, station: Station) -> None:
        """Touch all that a station needs to pass a frame on. It lies in several places, which in a large world are in
        no cache. Asked for all of them together, a processor waits once; asked for each when it is needed, it waits for
        each."""
        self.fetched_protocol = station.protocol
        self.fetched_protocol_rng = station.protocol_rng
        self.fetched_mac_rng = station.mac_rng
        self.fetched_us = station.tx_us
        self.fetched_s = self.motion.leg_end(station.index)

    def count_copies(self, event: PublishedEvent, got: i64) -> i64:
        """Count the copies of an event that arrived at these receivers, and leave out those that have muted it.
        Returns how many are left."""
        receivers = self.receivers
        heard = self.heard
        flags = event.flags
        left: i64 = 0
        unwanted: i64 = 0
        fresh: i64 = 0  # receivers that did not have the event, …
        fresh_unwanted: i64 = 0  # … and those of them that do not want it
        for k in range(got):
            i = receivers[k]
            flag = i64(flags[i])
            if flag & WANTED == 0:
                unwanted += 1
            if flag >= FULL:
                event.carry(i)
                continue
            if flag >= ONLY_COUNTED:
                flags[i] = u8(flag + COPY)
                continue
            if flag & HAS == 0:
                fresh += 1
                if flag & WANTED == 0:
                    fresh_unwanted += 1
                flag |= HAS
                flags[i] = u8(flag)
            if flag & MUTED:  # muted before the first copy came
                flags[i] = u8(flag + COPY)
                continue
            receivers[left] = i
            heard[left] = heard[k]
            left += 1
        self.tally.copies_arrived(got, fresh, unwanted, fresh_unwanted)
        return left

    def leave_only(self, addressee: i64, got: i64) -> i64:
        """Of these receivers only the addressee counts. Returns 1 if it is one of them."""
        receivers = self.receivers
        for k in range(got):
            if receivers[k] == addressee:
                receivers[0] = addressee
                self.heard[0] = self.heard[k]
                return 1
        return 0

    # ---- receptions, one by one

    def hand_to(
        self, other: Station, station: Station, tx: Transmission, frame: Frame, t: i64, strength: float
    ) -> None:
        """A frame arrived intact at a station."""
        other.listened(tx.start, t)
        if self.received(other, station, tx, frame, t):
            other.heard_strength = strength
            other.protocol.on_frame(frame, station.id)

    def received(self, other: Station, station: Station, tx: Transmission, frame: Frame, t: i64) -> bool:
        """Count a frame that arrived intact. Returns whether the protocol is to see it: its event is not muted."""
        self.tally.receptions += 1
        if self.rows.frames:
            self.rows.received(t, other.index, frame, tx.serial, station.index, tx.size, tx.airtime)
        for several in tx.events:
            self.recorder.copy_arrived(several, other.index)
        event = tx.event
        self.published.current = event
        if event is not None:
            self.recorder.copy_arrived(event, other.index)
            flags = i64(event.flags[other.index])
            if flags & MUTED:
                if flags >= FULL:
                    event.carry(other.index)
                else:
                    event.flags[other.index] = u8(flags + COPY)
                return False
        other.heard_from = station.index
        return True

    def overhear(self, other: Station, station: Station, tx: Transmission, t: i64, reason: i64) -> None:
        """A radio received a frame that its protocol will not see."""
        other.listened(tx.start, t)
        self.recorder.overhear(t, other.index, tx.frame, tx.serial, station.index, tx.size, reason, tx.airtime)

    def miss(self, other: Station, station: Station, tx: Transmission, frame: Frame, t: i64, reason: i64) -> None:
        """A frame is lost at a receiver that had locked on to it."""
        other.listened(tx.start, t)
        self.recorder.lose(t, other.index, frame, tx.serial, station.index, tx.size, reason, tx.airtime)

    def write_loss(self, other: Station, station: Station, tx: Transmission, frame: Frame, t: i64, reason: i64) -> None:
        """The row of a frame that a receiver never locked on to; it is counted elsewhere."""
        self.rows.lost(t, other.index, frame, tx.serial, station.index, tx.size, LOSSES[reason], 0)
