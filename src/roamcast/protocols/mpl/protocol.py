"""MPL (RFC 7731): neighbours flood, count copies and compare what they have, each paced by a Trickle timer (RFC 6206).

The Internet's standard for sending to all nodes of a low-power network: Hui and Kelsey, *Multicast Protocol for
Low-Power and Lossy Networks*, 2016. A baseline: what a deployment would use that wants to reach all nodes, and invents
nothing. All nodes are forwarders of one domain. Subscriptions are not part of it: every event goes to every node.

  proactive  a node that gets a new data message buffers it and starts a Trickle timer for it. In each of three
             intervals it sends the message once, unless it hears the message from a neighbour first (§9)
  reactive   nodes send control messages that say which messages of each seed they buffer, seldom while all agree. Who
             buffers a message that the sender lacks starts the timer of that message again. Who lacks one itself soon
             sends a control message of its own, so that neighbours notice (§10)

Names and constants are the RFC's. Readings, one test each:
  R1  a seed is a publisher, and the sequence number is the publisher's: both are in the id of every event. Numbers have
      32 bits instead of 8 and never wrap around. `window` is what the RFC's 8 bits leave: half of their space
  R2  the link-layer latency is a frame's airtime, at least `latency_ms`. For a data message the *expected* latency is
      that of the message itself, for control messages the *worst case* is that of a frame of `frame_limit` bytes
  R3  the publisher sends its message at once, as a seed sends into its domain (§9.1), and then forwards it like others.
      A timer begins with the shortest interval (RFC 6206 leaves the first one open)
  R4  the RFC's messages have no validity: here a message whose event has expired leaves the buffer, and a control
      message no longer mentions it. It is not taken again
  R5  an application gets an event once, also if the lifetime of the seed's entry has ended in between; an application
      that subscribes late gets the valid events that are buffered. The RFC hands over to IPv6 and says nothing of it
  R6  a Seed Set that does not fit into one frame goes out in several, each of which names the seeds that it is about.
      The RFC has one control message, which IPv6 may split
  R7  memory has bounds. If there are too many messages, the seed with most of them gives up its oldest one, as the RFC
      allows, by a greater MinSequence. A new seed has no place in a full Seed Set, whose entries have a least lifetime,
      except the node itself
  R8  a seed's entry begins with the first number that is heard of it (§9.3), and older ones are refused: who joins late
      gets what comes next. With `backlog` it begins so many numbers earlier. The publisher itself keeps a whole window
  R9  an unknown seed of which a neighbour buffers nothing is no inconsistency, nor is one that a full Seed Set cannot
      take: no message could resolve it, and both nodes would send control messages for ever
  R10 all nodes are one domain, without a limit of hops, so local events go as far as others, as in plain flooding
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, final

from mypy_extensions import i64

from roamcast.protocols.kit.interface import Frame, Host, Params, Protocol, no_room, param, reason
from roamcast.protocols.kit.relay import EXPIRED, SOURCE
from roamcast.protocols.kit.seen import Seen
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.protocols.kit.trickle import TrickleTimer
from roamcast.protocols.mpl.frames import SEED_MAX, WINDOW_MAX, ControlMessage, DataMessage, control_messages
from roamcast.protocols.mpl.sets import (
    MESSAGE_BYTES,
    SEED_BYTES,
    BufferedMessage,
    InformationBase,
    Seed,
    sequence_of,
)
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

UNHEARD: Final = reason("forward", "unheard", "{event} was heard {value} times in this interval")
HEARD: Final = reason("suppress", "heard in interval", "{event} was heard {value} times in this interval")
NEEDED: Final = reason("delay", "needed", "{peer} lacks {event}: its timer begins again")
OLD: Final = reason("drop", "below MinSequence", "{event} from {peer} is behind the window of its seed")
FULL: Final = no_room("messages full", "{event} made room: its seed has most messages here, and this is the oldest")
PASSED: Final = no_room("window passed", "{event} left the window of its seed, because newer ones came")
NO_SEED: Final = no_room("seed set full", "{event} from {peer} is of a new seed, and there is no room for it")
ENDED: Final = reason("drop", "seed ended", "{event} left with its seed, of which nothing new was heard for long")

CONTROL: Final = -1
"""The timer of control messages; those that are not negative belong to data messages."""

RFC: Final = "RFC 7731, §5.4"


@dataclass(frozen=True)
class MplParams(Params):
    proactive: bool = param(True, "forward new messages unasked: PROACTIVE_FORWARDING", RFC)
    seed_lifetime_s: float = param(
        1800.0, "least lifetime of a seed's entry: SEED_SET_ENTRY_LIFETIME", RFC, unit="s", low=0.001
    )
    data_imin: float = param(10.0, "DATA_MESSAGE_IMIN, in expected link-layer latencies (R2)", RFC, low=0.1)
    data_doublings: int = param(0, "how often that doubles up to DATA_MESSAGE_IMAX", RFC, low=0, high=20)
    data_k: int = param(1, "copies heard that make another one useless: DATA_MESSAGE_K", RFC, low=1, high=100)
    data_expirations: int = param(3, "intervals: DATA_MESSAGE_TIMER_EXPIRATIONS", RFC, low=0, high=1000)
    control_imin: float = param(10.0, "CONTROL_MESSAGE_IMIN, in worst link-layer latencies (R2)", RFC, low=0.1)
    control_imax_s: float = param(300.0, "CONTROL_MESSAGE_IMAX", RFC, unit="s", low=0.001)
    control_k: int = param(1, "equal ones heard that suffice: CONTROL_MESSAGE_K", RFC, low=1, high=100)
    control_expirations: int = param(10, "intervals: CONTROL_MESSAGE_TIMER_EXPIRATIONS", RFC, low=0, high=1000)
    latency_ms: float = param(
        1.0, "link-layer latency, at least", "ours (R2): a MAC waits before it sends", unit="ms", low=0.0
    )
    frame_limit: int = param(1200, "seeds in a control message", "ours: a datagram", unit="B", low=64, high=32_000)
    window: int = param(128, "sequence numbers from MinSequence on", "RFC 7731, §8 (R1)", low=1, high=WINDOW_MAX)
    backlog: int = param(0, "numbers before the first one heard that are still taken (R8)", "RFC 7731, §9.3", low=0)
    seeds: int = param(1024, "most seeds", "ours (R7)", low=1, high=16_384)
    buffered: int = param(10_000, "most buffered messages", "ours (R7), as roam", low=1, high=1_000_000)
    buffered_kib: int = param(16_384, "most content of buffered messages", "ours (R7), as roam", unit="KiB", low=1)
    seen_limit: int = param(65_536, "ids of events that are not delivered again", "ours (R5)", low=1)


@final
class Mpl(Protocol):
    params_class: ClassVar[type[Params]] = MplParams
    frames: ClassVar[tuple[type[Frame], ...]] = (DataMessage, ControlMessage)

    def __init__(self, host: Host, params: MplParams) -> None:
        super().__init__(host, params)
        self.params = params
        self.subscriptions = Subscriptions()
        self.base = InformationBase(
            params.seeds,
            params.buffered,
            params.buffered_kib << 10,
            params.window,
            round(1e6 * params.seed_lifetime_s),
        )
        shortest_us = self.interval_us(params.control_imin, params.frame_limit)
        longest_us = max(shortest_us, round(1e6 * params.control_imax_s))
        self.control = TrickleTimer(
            host, CONTROL, shortest_us, longest_us, params.control_k, params.control_expirations
        )
        self.delivered = Seen()

    # ---- what the host calls

    def on_start(self) -> None:
        """Timers do not survive a crash; tables may."""
        for seed in self.base.seeds.values():
            for message in seed.messages.values():
                if message.timer.running:
                    message.timer.start()
        self.control.start()

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.subscriptions.add(subscription, filter)
        self.catch_up()
        for seed in list(self.base.seeds.values()):  # R5
            for message in list(seed.messages.values()):
                if not message.own and not message.delivered and filter.matches(message.event):
                    self.deliver(message)

    def on_unsubscribe(self, subscription: int) -> None:
        self.subscriptions.remove(subscription)

    def on_publish(self, event: Event) -> None:
        self.catch_up()
        if self.take(event, 0, self.host.id):
            self.host.note(SOURCE, event.id)
            self.host.broadcast(DataMessage(event, 1, 0))  # R3

    def on_publish_again(self, event: Event) -> None:
        """Control messages offer it to neighbours that lack it."""
        self.catch_up()
        self.take(event, 0, self.host.id)

    def on_frame(self, frame: Frame, sender: int) -> None:
        self.catch_up()
        if isinstance(frame, DataMessage):
            self.receive(frame, sender)
        elif isinstance(frame, ControlMessage):
            self.compare(frame, sender)

    def on_timer(self, key: int) -> None:
        self.catch_up()
        if key == CONTROL:
            if self.control.fired():
                for frame in control_messages(self.base.infos(), self.params.frame_limit):
                    self.host.broadcast(frame)
            return
        message = self.base.message(key)
        if message is not None:
            self.forward(message)

    # ---- data messages (§9)

    def receive(self, frame: DataMessage, sender: int) -> None:
        event = frame.event
        seed = self.base.seeds.get(event.publisher)
        if seed is not None:
            sequence = sequence_of(event)
            if frame.newest and sequence < seed.newest:  # the sender lacks all later ones
                for later in seed.after(sequence):
                    self.begin_again(seed.messages[later], sender)
            if sequence < seed.min_sequence:
                self.host.note(OLD, event.id, sender)
                return
            message = seed.messages.get(sequence)
            if message is not None:
                message.timer.agree()
                return
            if seed.knows(sequence):  # it has expired here
                return
        if frame.age_us >= event.validity_us:  # it stays unknown: a wrong age must not keep the event away
            self.host.note(EXPIRED, event.id, sender)
            return
        self.take(event, frame.age_us, sender)

    def take(self, event: Event, age_us: int, sender: int) -> bool:
        """Buffer a new message, and deliver its event. Returns whether it is new."""
        own = event.publisher == self.host.id
        sequence = sequence_of(event)
        seed = self.base.seeds.get(event.publisher)
        if seed is None:
            if self.base.is_full() and not own:
                self.host.note(NO_SEED, event.id, sender)
                return False
            backlog = self.params.window - 1 if own else self.params.backlog  # R8
            seed = self.base.add_seed(event.publisher, max(0, sequence - backlog))
        elif seed.knows(sequence):
            if sequence < seed.min_sequence:  # an own one that is published again
                self.host.note(OLD, event.id, sender)
            return False
        now_us = self.host.now()
        message = BufferedMessage(event, now_us - age_us, own, self.timer_of(event))
        self.move_window(seed, sequence)
        self.forget(self.base.add(seed, message, now_us), PASSED)
        if not own and self.subscriptions.match(event):
            self.deliver(message)
        if self.params.proactive:
            message.timer.start()
        self.control.differ()
        self.forget(self.base.make_room(), FULL)
        return True

    def move_window(self, seed: Seed, sequence: int) -> None:
        """Of the newest message of a seed the host only counts copies. Of others their M flags matter, too."""
        if sequence < seed.newest:
            return
        former = seed.messages.get(seed.newest)
        if former is not None:
            self.count_copies(former)
            self.host.unmute(former.event.id)
            former.heard = 0
        self.host.mute(seed.id << 32 | sequence)

    def forward(self, message: BufferedMessage) -> None:
        """The timer of a message has fired."""
        event = message.event
        timer = message.timer
        self.count_copies(message)
        heard, sending = timer.same, timer.sending
        if timer.fired():
            newest = self.base.seeds[event.publisher].newest == sequence_of(event)
            self.host.note(UNHEARD, event.id, value=heard)
            self.host.broadcast(DataMessage(event, 1 if newest else 0, max(0, self.host.now() - message.since_us)))
        elif sending:
            self.host.note(HEARD, event.id, value=heard)

    def begin_again(self, message: BufferedMessage, peer: int) -> None:
        """A neighbour lacks a message."""
        self.count_copies(message)
        if not message.timer.running:
            self.host.note(NEEDED, message.event.id, peer)
        message.timer.differ()

    def count_copies(self, message: BufferedMessage) -> None:
        """Those that the host has counted since the last call."""
        heard = self.host.heard(message.event.id)
        message.timer.same += max(0, heard - message.heard)  # a host that was down may count from 0 again
        message.heard = heard

    # ---- control messages (§10)

    def compare(self, frame: ControlMessage, sender: int) -> None:
        seeds = self.base.by_number
        count: i64 = len(seeds)
        k: i64 = 0
        differs = False
        mentioned: i64 = 0
        for info in frame.seeds:  # by number, too
            while k < count and seeds[k].id < info.seed:
                k += 1
            if k == count or seeds[k].id != info.seed:
                differs = differs or (info.vector != 0 and not self.base.is_full())  # R9
                continue
            seed = seeds[k]
            mentioned += 1
            if info.vector == seed.held and info.min_sequence == seed.min_sequence:
                continue
            differs = differs or seed.lacks(info)
            for sequence in seed.lacked_by(info):
                differs = True
                self.begin_again(seed.messages[sequence], sender)
        if mentioned < count:
            differs = self.offer_others(frame, sender) or differs
        if differs:
            self.control.differ()
        elif frame.high == SEED_MAX:  # the last of its parts (R6)
            self.control.agree()

    def offer_others(self, frame: ControlMessage, sender: int) -> bool:
        """The seeds that a control message is about and does not mention; returns whether it lacks messages."""
        differs = False
        mentioned = {info.seed: info for info in frame.seeds}
        for id, seed in self.base.seeds.items():
            if frame.low <= id <= frame.high and id not in mentioned:
                for message in seed.messages.values():
                    differs = True
                    self.begin_again(message, sender)
        return differs

    # ---- the sets (§7)

    def catch_up(self) -> None:
        """Before anything else: which events have expired by now, and which seeds have ended?"""
        now_us = self.host.now()
        if now_us >= self.base.due_us:
            self.forget(self.base.expire(now_us), EXPIRED)
            self.forget(self.base.end_seeds(now_us), ENDED)

    def forget(self, messages: list[BufferedMessage], why: int) -> None:
        for message in messages:
            id = message.event.id
            if why != EXPIRED or message.timer.running:  # otherwise nothing was left to do for it
                self.host.note(why, id)
            message.timer.stop()
            self.host.unmute(id)

    def deliver(self, message: BufferedMessage) -> None:
        message.delivered = True
        if self.delivered.add(message.event.id):  # R5
            self.host.deliver(message.event)
            if len(self.delivered) > self.params.seen_limit:
                self.delivered.take_oldest()

    def timer_of(self, event: Event) -> TrickleTimer:
        shortest_us = self.interval_us(self.params.data_imin, DataMessage(event, 0, 0).size)
        longest_us = shortest_us << self.params.data_doublings
        return TrickleTimer(
            self.host, event.id, shortest_us, longest_us, self.params.data_k, self.params.data_expirations
        )

    def interval_us(self, latencies: float, size: int) -> int:
        """So many times the link-layer latency of a frame of this size (R2)."""
        return max(2, round(latencies * max(1000.0 * self.params.latency_ms, float(self.host.airtime(size)))))

    def memory(self) -> tuple[int, int]:
        """Seeds and buffered messages, with the contents of these."""
        base = self.base
        return (
            len(base.seeds) + base.count,
            base.bytes + SEED_BYTES * len(base.seeds) + MESSAGE_BYTES * base.count,
        )
