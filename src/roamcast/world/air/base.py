"""What all kinds of air share: frames go on the air, end, and are handed to protocols.

Each kind is a class of its own, chosen once for a run (`air.build`), so a frame takes one virtual call when it starts
and one when it ends, and one loop goes through its receivers:

    ideal.py         no frame disturbs another
    acknowledged.py  what a shared medium adds: frames for one neighbour are acknowledged, or repeated
    plain.py         a disc: a frame reaches every station in range, and two frames at one receiver collide
    swift.py         the same, faster, where no rows are written and no frame is lost by chance
    steady.py        faster still, where stations never go off
    graded.py        frames have a strength at each receiver, interference adds up, and the stronger may survive
    lora.py          each frame stands against each other one, and preambles may save both
"""

from __future__ import annotations

from mypy_extensions import i64

from roamcast.log.schema import LOSSES
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.medium import Medium
from roamcast.world.air.transmission import NO_HEARERS, Transmission
from roamcast.world.published import COPY, MUTED, NO_EVENTS
from roamcast.world.queue import ATTEMPT, END
from roamcast.world.station import Station


class Air:
    def __init__(self, medium: Medium) -> None:
        self.medium = medium
        self.events = medium.events
        self.hearers = medium.hearers
        self.mac = medium.mac
        self.losses = medium.losses
        self.recorder = medium.recorder
        self.rows = medium.recorder.rows
        self.tally = medium.recorder.tally
        self.fingerprint = medium.recorder.fingerprint
        self.energy = medium.recorder.energy
        self.published = medium.recorder.events
        self.transmissions: list[Transmission] = []
        self.free: list[i64] = []
        self.serial: i64 = 0

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
        s = self.free.pop() if len(self.free) > 0 else self.one_more(station)
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

    def one_more(self, sender: Station) -> i64:
        """Room for one more transmission at a time."""
        self.transmissions.append(Transmission(sender))
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
        tx.hearers = NO_HEARERS
        tx.events = NO_EVENTS
        self.free.append(s)

    def cut_off(self, until: i64) -> None:
        """The run ends while frames are still on the air: they count up to its end."""
        for tx in self.transmissions:
            if tx.hearers is not NO_HEARERS:
                tx.sender.tx_us -= tx.start + tx.airtime - until

    # ---- receptions

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
            flags = event.flags[other.index]
            if flags & MUTED:
                event.flags[other.index] = flags + COPY
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
