"""A station: one simulated node. It is the host of a protocol, and holds the state of its MAC and of its radio.

The rules that change this state are those of the MAC (mac/) and of the air (air/).

Choices that keep this cheap, checked against ns-3 in tests/world/test_calibration.py: the hearers of a frame are fixed
when it starts; there is no propagation delay; two stations whose access falls on the same microsecond both transmit.
"""

from __future__ import annotations

from math import nan
from typing import Final, final

from mypy_extensions import i64

from roamcast.log.schema import QUEUE
from roamcast.protocols.kit.interface import BROADCAST, NOBODY, Frame, Host, Params, Protocol
from roamcast.pubsub.event import Event
from roamcast.world.contacts.neighbourhood import Neighbourhood
from roamcast.world.frame_queue import FrameQueue
from roamcast.world.mac.base import Mac
from roamcast.world.published import MUTED
from roamcast.world.queue import TIMER, EventQueue
from roamcast.world.radio.base import Radio
from roamcast.world.recorder import Recorder
from roamcast.world.streams import Stream
from roamcast.world.timers import Timers

NEVER: Final = 1 << 60
NOTHING: Final = -1
EMPTY: Final = FrameQueue()  # the queue of all stations that never had to queue a frame
UNBORN: Final = Protocol(Host(NOBODY), Params())  # before the world is populated


class Receiver(Host):
    """The state that every reception touches.

    Attributes of this class and of `Station` are in the order of use, because with thousands of stations no line of
    memory is in the cache. A line is 64 bytes, eight numbers or references; the object's own head is half of the first
    one. An object has six lines on purpose: CPython's allocator lets such objects begin where a line begins.
    """

    __slots__ = (
        "asleep",
        "busy_until",
        "committed",
        "contending",
        "deafened",
        "energy",
        "garbled",
        "idle_since",
        "ifs",
        "index",
        "mac",
        "receiving",
        "sending",
        "signals",
        "slots",
        "up",
        "waiting",
    )

    def __init__(self, id: int, mac: Mac) -> None:
        super().__init__(id)
        self.busy_until: i64 = 0
        self.receiving: i64 = NOTHING  # the transmission the receiver is locked on to
        self.slots: i64 = 0
        self.up = True
        self.asleep = False
        self.contending = False
        self.sending = False
        self.waiting = False  # for an acknowledgement
        self.committed = False  # access fell on the microsecond in which another frame started
        self.garbled = False
        self.index: i64 = id
        self.ifs: i64 = mac.ifs
        self.idle_since: i64 = 0  # no slot is counted before; ahead, if frames for others reserve the medium (NAV)
        self.energy = 0.0  # of all transmissions on the air here, on a graded radio, …
        self.signals: i64 = 0  # … and how many these are
        self.mac = mac
        self.deafened: i64 = NOTHING  # the transmission it missed because it sent itself


@final
class Station(Receiver):
    __slots__ = (
        "accepted",
        "alarm",
        "alarm_key",
        "asleep_us",
        "attempt",
        "begun",
        "down_since",
        "due_us",
        "events",
        "frames",
        "head",
        "head_to",
        "heard_from",
        "heard_strength",
        "mac_rng",
        "motion",
        "off_us",
        "protocol",
        "protocol_rng",
        "queue",
        "radio",
        "recorder",
        "rx_until",
        "rx_us",
        "sends_until",
        "serial",
        "strength",
        "timers",
        "tries",
        "tx_us",
        "window",
    )

    def __init__(
        self, id: int, seed: int, events: EventQueue, mac: Mac, radio: Radio, motion: Neighbourhood, recorder: Recorder
    ) -> None:
        super().__init__(id, mac)
        # used for each frame that is handed up
        self.heard_from: i64 = 0  # the sender of the frame being handled, …
        self.heard_strength = nan  # … and its strength, on a graded radio
        self.protocol: Protocol = UNBORN
        self.recorder = recorder
        self.events = events
        self.protocol_rng = Stream(seed, id, "protocol").rng  # not the stream itself: a call less for every draw
        # timers: most protocols have one at a time, or a long one beside short ones; the last one needs no table
        self.alarm: i64 = 0  # serial of its setting; 0 means none
        self.alarm_key: i64 = 0
        self.timers: Timers | None = None  # the others
        self.serial: i64 = 0
        self.attempt: i64 = 0  # which attempt at medium access counts
        # used for each transmission
        self.head: Frame | None = None  # the frame to be sent next, …
        self.head_to: i64 = BROADCAST  # … its addressee …
        self.frames: i64 = 0  # … and its number
        self.queue = EMPTY  # the frames behind it, with their addressees
        self.sends_until: i64 = 0
        self.tx_us: i64 = 0
        self.mac_rng = Stream(seed, id, "mac").rng
        self.window: i64 = mac.window
        # a frame for one neighbour
        self.tries: i64 = 0  # how often it was sent in vain
        self.begun: i64 = -1  # number of the last one that was on the air
        self.accepted: i64 = -1  # number of the last one that the neighbour got and need not get again
        self.motion = motion
        # a graded radio
        self.radio = radio
        self.strength = 0.0  # of the transmission being received, relative to the sensitivity
        # time spent, us
        self.rx_until: i64 = 0  # receiving is counted up to here
        self.rx_us: i64 = 0
        self.due_us: i64 = 0  # added when `rx_until` is over
        self.off_us: i64 = 0  # time crashed
        self.asleep_us: i64 = 0
        self.down_since: i64 = 0

    # ---- requests of the protocol

    def now(self) -> int:
        return self.events.now

    def random(self) -> float:
        return self.protocol_rng.random()

    def broadcast(self, frame: Frame) -> None:
        self.enqueue(frame, BROADCAST)

    def send(self, to: int, frame: Frame) -> None:
        self.enqueue(frame, to)

    def relay(self, frame: Frame, first: bool = False) -> None:
        self.mac.relay(self, frame, first)
        self.enqueue(frame, BROADCAST)

    def withdraw(self, id: int) -> bool:
        frame = self.head
        if frame is not None and frame.id == id and self.head_to == BROADCAST:
            self.next_frame()
            self.contending = False
            self.committed = False
            self.attempt += 1
            if self.head is not None and not self.sending and self.up:
                self.mac.contend(self)
        elif not self.queue.remove(id, BROADCAST):
            return False
        self.mac.drop_relay(self, id)
        return True

    def echo_us(self, size: int) -> int:
        return self.mac.echo_us(self, size)

    def busy(self) -> float:
        return self.mac.busy_share(self)

    def role(self) -> str:
        return self.mac.roles[self.id] if self.mac.roles else ""

    def set_timer(self, key: int, delay_us: int) -> None:
        if delay_us < 0:
            raise ValueError(f"a timer cannot be set for {-delay_us} us ago")
        delay: i64 = delay_us
        which: i64 = key
        serial = self.serial + 1
        self.serial = serial
        timers = self.timers
        if self.alarm != 0 and self.alarm_key != which:  # the one that was set last is mostly the first to go off
            if timers is None:
                timers = self.timers = Timers()
            timers.set(self.alarm_key, self.alarm)
        self.alarm = serial
        self.alarm_key = which
        if timers is not None and timers.size > 0:
            timers.remove(which)
        self.events.push(self.events.now + delay, TIMER, self.index, serial, which)

    def cancel_timer(self, key: int) -> None:
        if self.alarm_key == key:
            self.alarm = 0
        if self.timers is not None:
            self.timers.remove(key)

    def goes_off(self, key: i64, serial: i64) -> bool:
        """Whether the timer that was set with this serial still counts; from now on it does not."""
        if self.alarm == serial:
            self.alarm = 0
            return True
        timers = self.timers
        if timers is None or timers.serial(key) != serial:
            return False
        timers.remove(key)
        return True

    def deliver(self, event: Event) -> None:
        self.recorder.deliver(self.events.now, self.index, event)

    def note(self, reason: int, event: int = 0, peer: int = NOBODY, value: int = 0) -> None:
        recorder = self.recorder
        recorder.tally.by_reason[reason] += 1
        if recorder.rows.frames:
            recorder.rows.noted(self.events.now, self.index, reason, event, peer, value)

    def mute(self, id: int) -> None:
        event = self.recorder.events.current
        if event is None or event.id != id:
            event = self.recorder.events.find(id)
        if event is not None:
            event.flags[self.index] |= MUTED

    def unmute(self, id: int) -> None:
        event = self.recorder.events.find(id)
        if event is not None:
            event.unmute(self.index)

    def heard(self, id: int) -> int:
        event = self.recorder.events.find(id)
        return 0 if event is None else event.copies(self.id)

    def signal(self) -> float:
        if not self.radio.plain:
            return self.radio.dbm(self.heard_strength)
        now = self.update_positions()
        return self.radio.nominal_dbm(self.heard_from, self.index, self.motion.square(self.heard_from, self.index, now))

    def speed(self) -> float:
        self.update_positions()
        return self.motion.speed(self.id)

    def update_positions(self) -> float:
        """Move all nodes to where they are now. Returns the time in seconds."""
        now = float(self.events.now) * 1e-6
        if now >= self.motion.next:
            self.motion.advance(now)
        return now

    def airtime(self, size: int) -> int:
        return self.mac.airtime(self.mac.bytes_on_air(size))

    def battery(self) -> float:
        now = self.events.now
        return self.recorder.energy.battery(now, self.tx_us, self.received_us(now), self.asleep_us, self.off_us)

    # ---- medium access

    def enqueue(self, frame: Frame, to: i64) -> None:
        if self.head is None:
            self.head = frame
            self.head_to = to
        elif len(self.queue) + 1 < self.mac.queue:
            if self.queue is EMPTY:
                self.queue = FrameQueue()
            self.queue.append(frame, to)
        else:
            size = self.mac.bytes_on_air(frame.size)
            self.recorder.lose(self.events.now, self.index, frame, 0, to, size, QUEUE, 0)
        if not self.contending and not self.sending and not self.waiting and self.up:
            self.mac.contend(self)

    def next_frame(self) -> None:
        """The frame at the head of the queue is over, delivered or not."""
        if self.queue:
            frame, to = self.queue.take()
            self.head = frame
            self.head_to = to
        else:
            self.head = None
        self.frames += 1
        if self.tries > 0:
            self.tries = 0
            self.window = self.mac.window

    def occupy(self, end: i64) -> None:
        """This station transmits until `end`; the frame that it was receiving is lost."""
        self.sending = True
        self.sends_until = end
        self.deafened = self.receiving
        self.receiving = NOTHING
        if self.busy_until < end:
            self.busy_until = end

    def listened(self, start: i64, end: i64) -> None:
        """The radio was busy with a frame from `start` to `end`; time that overlaps with another frame counts once."""
        if start < self.rx_until:
            start = self.rx_until
        if end > start:
            self.rx_us += end - start
            self.rx_until = end

    def listens(self, start: i64, end: i64) -> None:
        """The radio is busy with a frame from `start` to `end`, to be counted then; the frame before is over at
        `start`."""
        self.rx_us += self.due_us
        self.due_us = end - start
        self.rx_until = end

    def turns_away(self) -> None:
        """The station sends, and so loses the frame that it listens to; listening to it does not count."""
        self.due_us = 0

    def received_us(self, now: i64) -> i64:
        return self.rx_us + self.due_us if now >= self.rx_until else self.rx_us

    # ---- off and on again

    def leave(self, now: i64) -> None:
        """The radio goes off: it receives and sends nothing. Frames in the queue stay there."""
        self.up = False
        self.down_since = now
        self.contending = False
        self.waiting = False
        self.committed = False
        self.receiving = NOTHING
        self.deafened = NOTHING
        self.attempt += 1
        self.busy_until = NEVER

    def forget(self) -> None:
        """A crash: timers and frames are gone."""
        self.alarm = 0
        self.timers = None
        self.queue = EMPTY
        self.next_frame()

    def come_back(self, now: i64) -> None:
        self.up = True
        self.busy_until = now
        self.signals = 0
        self.energy = 0.0
        if self.head is not None:
            self.mac.contend(self)
