"""Proximity-driven routing (Baldoni, Beraldi, Querzoni, Cugola, Migliavacca 2005, Fig. 3).

Brokers beacon a summary of their subscriptions. A broker that hears a beacon keeps it, with the time, in its proximity
table `pt`; the number of beacons missed since then estimates how far away that subscriber is (0 for a neighbour). A
message carries the list of its destinations, each with the lowest proximity of all brokers that forwarded the message.
A broker that knows a new destination, or is closer to one, forwards the message too, after a delay proportional to its
proximity, unless it hears the message again first: so the closest broker suppresses the others.

Proximity is an int here, in thousandths, so that frames are exact and comparisons are simple. The frames are in
frames.py.

Readings, one test each:
  R1  the `return` in Fig. 3 belongs to the branch of the message that was received before (§IV).
  R2  a broker is a reason to send when its predicate matches and it is new to the list or strictly closer (§IV); as
      printed, `and` binds before `or`, and a broker whose predicate does not match would count when closer.
  R3  the publishing broker transmits at once, matched or not and without spending a credit; the list is filled from its
      own table (§III-C, Figs. 2 and 4). A subscription of its own puts it on the list at 0.
  R4  the delay at proximity 1 is `max_delay_s`: the paper gives no factor. Ours is 0.1 s: one missed beacon is then
      10 ms, about five times what a 150-byte frame at 1 Mbit/s needs with DIFS and back-off (about 2 ms), so the
      closer broker is heard before the next one would send.
  R5  beacons start at a random phase in the interval and then keep it.
  R6  which brokers beacon: "each broker" (§III-C), or only those with subscriptions, which alone can meet the overhead
      of Fig. 12: `beaconers`.
  R7  whether the random range of §VI-A is drawn for each node or for each frame is the scenario's `range_per`.
  R8  brokers with equal proximity would send at the same time and collide: after an idle DIFS all of them send, and
      back-off alone does not help (the paper's scenario then takes 4.3 event frames for each delivery instead of 2.6).
      A random part below `jitter_ms` is added, by default one missed beacon's worth of delay; not more, so that a
      closer broker still goes first.
  R9  missed beacons are counted from the last one heard: floor((now − time) / Δt), at most 10. A neighbour has
      missed none until a whole interval has gone by.
  R10 an event older than its validity is neither delivered nor sent; the paper's messages have no lifetime.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, final

from librt.vecs import append, pop, vec
from mypy_extensions import i64

from roamcast.protocols.kit.interface import NOBODY, Frame, Host, Params, Protocol, no_room, param, reason
from roamcast.protocols.kit.seen import Seen
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.protocols.kit.wire import uint_size
from roamcast.protocols.proximity.frames import (
    ADJACENT,
    CREDIT_MAX,
    DESTINATIONS_MAX,
    FARTHEST,
    INFINITE,
    Beacon,
    Destinations,
    Message,
    destination_list,
)
from roamcast.pubsub.covering import summarise
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

USUAL_CHANGES: Final = 16
"""Ours: room for eight brokers."""

BEACON_TIMER: Final = 0
"""No event has this id; the keys of the other timers are the ids of the events that wait."""

PUBLISHED: Final = reason("forward", "published", "its publisher sends {event} at once")
DELAY_NEW: Final = reason("delay", "new destination", "{event} in {value} us: {peer} is not on its list")
DELAY_CLOSER: Final = reason("delay", "closer", "{event} in {value} us: closer to {peer} than its list")
DELAY_CREDIT: Final = reason("delay", "credit", "{event} in {value} us on a credit")
SENT_NEW: Final = reason("forward", "new destination", "{event}: {peer} was not on its list, proximity {value}/1000")
SENT_CLOSER: Final = reason("forward", "closer", "{event}: proximity {value}/1000 to {peer}")
SENT_CREDIT: Final = reason("forward", "credit", "{event} on a credit")
HEARD_AGAIN: Final = reason("suppress", "heard again", "{event} was sent by {peer} first")
NO_CLOSER: Final = reason("drop", "no closer", "{event}: no new destination, none closer, no credit")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")
FORGOTTEN: Final = no_room("forgotten", "{event} gave way to newer ones before it was sent")
RESTARTED: Final = reason("drop", "restarted", "{event} was waiting when the node went down")
TABLE_FULL: Final = reason("note", "table full", "no room in the table: the entry of {peer} is removed")

_SENT: Final = {DELAY_NEW: SENT_NEW, DELAY_CLOSER: SENT_CLOSER, DELAY_CREDIT: SENT_CREDIT}


# ------------------------------------------------------------------------------------------------------------ state


@dataclass(frozen=True)
class ProximityParams(Params):
    beacon_interval_s: float = param(5.0, "Δt, time between two beacons", "Fig. 10", unit="s", low=0.001)
    table_age: int = param(
        10,
        "missed beacons after which a broker is forgotten, and proximity is 1",
        "§IV",
        unit="beacons",
        low=1,
        high=1000,
    )
    credits: int = param(
        0, "times a message may be forwarded though no broker is closer", "Fig. 10", low=0, high=CREDIT_MAX
    )
    max_delay_s: float = param(0.1, "delay before sending at proximity 1", "ours (R4)", unit="s", low=0.0)
    jitter_ms: float = param(10.0, "longest random delay on top, against ties", "ours (R8)", unit="ms", low=0.0)
    beaconers: str = param(
        "all", "which brokers beacon: all, or those with subscriptions", "§III-C; R6", choices=("all", "subscribers")
    )
    predicate_limit: int = param(8, "most alternatives in a beacon; with more it matches too much", "ours", low=1)
    seen_limit: int = param(4096, "ids of messages remembered", "ours; the paper remembers all", low=1)
    table_limit: int = param(1024, "brokers in the proximity table", "ours; the paper has no limit", low=1)
    destinations_limit: int = param(
        512, "length at which a destination list takes no new broker", "ours", low=1, high=DESTINATIONS_MAX
    )


@final
class ProximityTable:
    """`pt`: the brokers that were heard, the time, and the predicate of each; heard longest ago first.

    Every message is compared with the whole table. So the table is stored in columns, and only two numbers are read of
    a broker that gives no reason to send.
    """

    __slots__ = ("brokers", "preds", "sizes", "times_us")

    def __init__(self) -> None:
        self.brokers = vec[i64]()
        self.times_us = vec[i64]()
        self.preds: list[Filter] = []
        self.sizes = vec[i64]()  # of the beacons, in bytes

    def __len__(self) -> int:
        return len(self.brokers)

    def row(self, broker: i64) -> i64:
        """-1 for a broker that is not in the table."""
        for row in range(i64(len(self.brokers))):
            if self.brokers[row] == broker:
                return row
        return -1

    def add(self, broker: int, pred: Filter, time_us: int, size: int) -> None:
        self.brokers = append(self.brokers, broker)
        self.times_us = append(self.times_us, time_us)
        self.preds.append(pred)
        self.sizes = append(self.sizes, size)

    def remove(self, row: i64) -> None:
        self.brokers, _ = pop(self.brokers, row)
        self.times_us, _ = pop(self.times_us, row)
        del self.preds[row]
        self.sizes, _ = pop(self.sizes, row)

    def remove_before(self, time_us: i64) -> None:
        while len(self.times_us) > 0 and self.times_us[0] < time_us:
            self.remove(0)


@final
class WaitingMessage:
    """A message while this broker looks for a reason to send it, and then waits.

    `carried` is the destination list as it was received. Changes are stored apart (`closer`) until the message is sent,
    because many receivers of a message never send it.
    """

    __slots__ = (
        "carried",
        "closer",
        "closest",
        "count",
        "credit",
        "event",
        "expires_us",
        "limit",
        "peer",
        "size",
        "why",
    )

    def __init__(self, event: Event, credit: int, carried: Destinations, limit: int, expires_us: int) -> None:
        self.event = event
        self.credit = credit
        self.carried = carried
        self.closer = vec[i64](capacity=USUAL_CHANGES)  # broker, proximity, broker, …
        self.count = carried.count  # the length of the list as it will be sent
        self.size = carried.size  # in bytes
        self.limit = limit
        self.expires_us = expires_us
        self.closest = FARTHEST  # minProximity of Fig. 3
        self.why = NO_CLOSER
        self.peer = NOBODY

    def set_proximity(self, broker: i64, p: i64, before: i64) -> bool:
        """`before` is its proximity in the received list. Returns False if it is not there and the list is full."""
        if before != INFINITE:
            self.size += uint_size(p) - uint_size(before)
        elif self.count < self.limit:
            self.count += 1
            self.size += uint_size(broker) + uint_size(p)
        else:
            return False
        self.closer = append(append(self.closer, broker), p)
        return True

    def destinations(self) -> Destinations:
        return self.carried.changed(self.closer, self.count, self.size)


# --------------------------------------------------------------------------------------------------------- protocol


@final
class Proximity(Protocol):
    params_class: ClassVar[type[Params]] = ProximityParams
    frames: ClassVar[tuple[type[Frame], ...]] = (Beacon, Message)

    def __init__(self, host: Host, params: ProximityParams) -> None:
        super().__init__(host, params)
        self.params = params
        self.interval_us: i64 = round(params.beacon_interval_s * 1_000_000)
        self.max_delay_us = params.max_delay_s * 1_000_000
        self.jitter_us = params.jitter_ms * 1000
        self.table_age: i64 = params.table_age  # unboxed, as the interval is: the loop over `pt` divides by both
        self.st = Subscriptions()
        self.pt = ProximityTable()
        self.received = Seen()
        self.scheduled: dict[int, WaitingMessage] = {}
        self.beacon: Beacon | None = None  # for the present `st`

    # ---- subscriptions and beacons

    def on_start(self) -> None:
        for id in list(self.scheduled):
            self.abandon(id, RESTARTED)
        self.cleanup()
        self.host.set_timer(BEACON_TIMER, int(self.host.random() * float(self.interval_us)))  # R5

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.st.add(subscription, filter)
        self.beacon = None

    def on_unsubscribe(self, subscription: int) -> None:
        self.st.remove(subscription)
        self.beacon = None

    def every_interval(self) -> None:
        """Fig. 3, every Δt seconds."""
        self.host.set_timer(BEACON_TIMER, self.interval_us)
        if self.st.all or self.params.beaconers == "all":  # R6
            if self.beacon is None:
                self.beacon = Beacon(self.summary())
            self.host.broadcast(self.beacon)
        self.cleanup()

    def summary(self) -> Filter:
        """The predicate of `st`. For a single subscription it is that same object: many brokers have the same filter,
        and a table with one object for all of them is faster to go through."""
        filters = self.st.all
        predicate = summarise(filters, self.params.predicate_limit)
        return filters[0] if len(filters) == 1 and filters[0] == predicate else predicate

    def cleanup(self) -> None:
        """Remove the entries older than 10 Δt."""
        self.pt.remove_before(self.host.now() - self.table_age * self.interval_us)

    def predicate_received(self, beacon: Beacon, broker: int) -> None:
        """Fig. 3. A refreshed entry moves to the end: `pt` stays in the order of time."""
        row = self.pt.row(broker)
        if row >= 0:
            self.pt.remove(row)
        elif len(self.pt) >= self.params.table_limit:
            longest_ago = self.pt.brokers[0]
            self.pt.remove(0)
            self.host.note(TABLE_FULL, 0, longest_ago)
        self.pt.add(broker, beacon.predicate, self.host.now(), beacon.size)

    def proximity_after(self, elapsed_us: i64) -> i64:
        """Missed beacons as a share of `table_age`, in thousandths. To a broker that is not in the table, the proximity
        is infinite (§IV)."""
        if elapsed_us < self.interval_us:
            return ADJACENT
        missed = elapsed_us // self.interval_us  # R9
        return min(missed, self.table_age) * FARTHEST // self.table_age

    # ---- messages

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, Beacon):
            self.predicate_received(frame, sender)
        elif isinstance(frame, Message):
            self.forward(frame, sender)

    def on_timer(self, key: int) -> None:
        if key == BEACON_TIMER:
            self.every_interval()
        else:
            self.transmit(key)

    def on_publish(self, event: Event) -> None:
        if not self.remember(event.id):
            return
        expires_us = self.host.now() + event.validity_us
        m = WaitingMessage(event, self.params.credits, destination_list({}), self.params.destinations_limit, expires_us)
        self.add_own(m)
        self.compare(m)
        self.host.note(PUBLISHED, event.id, m.peer, m.closest)
        self.broadcast(m)  # R3

    def forward(self, frame: Message, sender: int) -> None:
        """Fig. 3."""
        event = frame.event
        if not self.remember(event.id):
            self.unschedule(event.id, sender)
            return  # R1
        if frame.age_us >= event.validity_us:  # R10
            self.drop(event.id, EXPIRED)
            return
        expires_us = self.host.now() + event.validity_us - frame.age_us
        m = WaitingMessage(event, frame.credit, frame.list, self.params.destinations_limit, expires_us)
        if self.add_own(m):
            self.host.deliver(event)
        matched = self.compare(m)
        if not matched and m.credit > 0:
            m.credit -= 1
            m.why = DELAY_CREDIT
            matched = True
        if matched:
            self.schedule(m)
        else:
            self.drop(event.id, NO_CLOSER)

    def add_own(self, m: WaitingMessage) -> bool:
        """Put this broker on the list if a subscription of its own matches; returns whether one does."""
        if not self.st.match(m.event):
            return False
        id = self.host.id
        m.set_proximity(id, ADJACENT, m.carried.proximity(id))
        return True

    def compare(self, m: WaitingMessage) -> bool:
        """The loop over `pt` of Fig. 3: lower proximities in the list by this table; returns whether any changed."""
        brokers, times_us, carried = self.pt.brokers, self.pt.times_us, m.carried
        now: i64 = self.host.now()
        matching: Filter | None = None  # the last predicate that matched: many brokers have the same
        matched = False
        for row in range(i64(len(brokers))):
            broker = brokers[row]
            p = self.proximity_after(now - times_us[row])
            before = carried.proximity(broker)  # infinite if it is new to the list, so that this broker is closer
            if p >= before:  # R2
                continue
            pred = self.pt.preds[row]
            if pred is not matching:
                if not pred.matches(m.event):
                    continue
                matching = pred
            if not m.set_proximity(broker, p, before):
                continue
            if not matched or p < m.closest:
                m.closest = p
                m.peer = broker
                m.why = DELAY_NEW if before == INFINITE else DELAY_CLOSER
            matched = True
        return matched

    def schedule(self, m: WaitingMessage) -> None:
        delay_us = int(self.max_delay_us * m.closest / FARTHEST + self.jitter_us * self.host.random())  # R4, R8
        self.scheduled[m.event.id] = m
        self.host.note(m.why, m.event.id, m.peer, delay_us)
        self.host.set_timer(m.event.id, delay_us)

    def unschedule(self, id: int, sender: int) -> None:
        if id in self.scheduled:
            self.abandon(id, HEARD_AGAIN, sender)

    def transmit(self, id: int) -> None:
        m = self.scheduled.get(id)
        if m is None:
            return
        del self.scheduled[id]
        if self.host.now() >= m.expires_us:
            self.drop(id, EXPIRED)
            return
        self.host.note(_SENT[m.why], id, m.peer, m.closest)
        self.broadcast(m)

    def broadcast(self, m: WaitingMessage) -> None:
        age_us = self.host.now() - (m.expires_us - m.event.validity_us)
        self.host.broadcast(Message(m.event, m.credit, m.destinations(), age_us))
        self.host.mute(m.event.id)  # it was sent: no later copy can change anything

    def abandon(self, id: int, why: int, peer: int = NOBODY) -> None:
        del self.scheduled[id]
        self.host.cancel_timer(id)
        self.drop(id, why, peer)

    def drop(self, id: int, why: int, peer: int = NOBODY) -> None:
        self.host.note(why, id, peer)
        self.host.mute(id)

    def remember(self, id: int) -> bool:
        """Footnote 3, with a limit: the oldest id makes room, and if its message still waits it is dropped.

        Returns False for an id that is remembered already.
        """
        if not self.received.add(id):
            return False
        if len(self.received) > self.params.seen_limit:
            oldest = self.received.take_oldest()
            if oldest in self.scheduled:
                self.abandon(oldest, FORGOTTEN)
        return True

    def memory(self) -> tuple[int, int]:
        """The proximity table: an id and a time of 8 bytes each, and the predicate as it was received."""
        return (len(self.pt), 16 * len(self.pt) + int(sum(self.pt.sizes)))
