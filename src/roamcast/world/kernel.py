"""The main loop: takes events from the queue one by one and lets them happen."""

from __future__ import annotations

from math import inf
from typing import final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.log import schema
from roamcast.protocols.kit.interface import Params, Protocol
from roamcast.pubsub.event import LOCAL, Event, Value
from roamcast.pubsub.filters import Filter
from roamcast.pubsub.index import MatchingIndex
from roamcast.world import air
from roamcast.world.air.base import Air
from roamcast.world.air.lora import LoraAir
from roamcast.world.air.medium import Medium
from roamcast.world.courtesy import NEVER, NOW, Courtesy
from roamcast.world.faults import CRASH, RECOVER, SLEEP, WAKE
from roamcast.world.queue import (
    ACKNOWLEDGE,
    ATTEMPT,
    END,
    FAULT,
    KIND_MASK,
    LAST_INSTANT,
    LONGEST_S,
    MOTION,
    NODE_BITS,
    NODE_MASK,
    PUBLISH,
    SAMPLE,
    TIME_SHIFT,
    TIMEOUT,
    TIMER,
)
from roamcast.world.station import UNBORN, Station


@final
class Subscription:
    def __init__(self, node: int, number: int, filter: Filter) -> None:
        self.node = node
        self.number = number
        self.filter = filter


@final
class PlannedPublication:
    """An event that an application will publish, and when; it gets its id at that time."""

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
class World:
    __slots__ = (
        "absent",
        "ahead",
        "air",
        "by_place",
        "courtesy",
        "events",
        "everybody",
        "faults",
        "index",
        "local_range_m",
        "mac",
        "medium",
        "motion",
        "moving",
        "params",
        "planned",
        "protocol_class",
        "publications",
        "radio",
        "recorder",
        "sample_every",
        "stations",
        "subscribers",
        "subscriptions",
        "switches",
        "watch_motion",
    )

    def __init__(self, medium: Medium) -> None:
        self.medium = medium
        self.events = medium.events
        self.stations = medium.stations
        self.everybody = vec[i64](range(len(medium.stations)))
        self.motion = medium.motion
        self.mac = medium.mac
        self.radio = medium.radio
        self.faults = medium.faults
        self.recorder = medium.recorder
        self.air: Air = air.build(medium, metered=False)  # until the protocol is known
        self.by_place = self.stations  # in an order that puts neighbours close together in memory, where that is faster
        self.publications: list[tuple[int, int, int, list[int]]] = []  # (t, publisher, expiry, interested nodes)
        self.switches: list[tuple[int, int, bool]] = []  # (t, node, up) of each fault
        self.planned: list[PlannedPublication] = []
        self.ahead: i64 = 0  # how many planned publications were pushed
        self.courtesy: Courtesy | None = None
        self.absent: i64 = 0  # how many nodes are asleep or have crashed
        self.subscriptions: list[Subscription] = []
        self.index = MatchingIndex()
        self.subscribers: list[list[int]] = []  # of each distinct filter
        self.protocol_class: type[Protocol] = Protocol
        self.params: Params = Params()
        self.local_range_m = inf
        self.sample_every: i64 = 0
        self.watch_motion = False
        self.moving: list[bool] = []
        self.events.push(LAST_INSTANT, SAMPLE, 0, 0, 0)  # so that the queue is never empty

    # ---- before the run

    def populate(self, protocol: type[Protocol], params: Params, subscriptions: list[Subscription]) -> None:
        self.protocol_class = protocol
        self.params = params
        self.recorder.tally.expect_reasons()
        self.subscriptions = subscriptions
        numbers: dict[Filter, int] = {}
        distinct: list[Filter] = []
        for subscription in subscriptions:  # many nodes have the same filter: one entry of the index for all of them
            number = numbers.setdefault(subscription.filter, len(numbers))
            if number == len(self.subscribers):
                self.index.add(number, subscription.filter)
                self.subscribers.append([])
                distinct.append(subscription.filter)
            subscription.filter = distinct[number]  # one object for all, which stays in the processor's cache
            if subscription.node not in self.subscribers[number][-1:]:
                self.subscribers[number].append(subscription.node)
        if self.recorder.rows.deliveries:
            self.by_place = self.stations  # rows are in the order of nodes and of subscriptions
        else:
            place = {station.id: k for k, station in enumerate(self.by_place)}
            ordered = sorted(subscriptions, key=lambda subscription: place[subscription.node])
            self.subscriptions = [Subscription(s.node, s.number, s.filter) for s in ordered]  # in this order in memory
        for station in self.by_place:
            station.protocol = protocol(station, params)
        self.watch_motion = protocol.wants_motion or self.recorder.rows.moves
        self.air = air.build(self.medium, protocol.wants_battery)

    def start(self) -> None:
        for station in self.by_place:
            station.protocol.on_start()
        for s in self.subscriptions:
            self.recorder.rows.subscribed(0, s.node, s.number, s.filter)
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
        if self.ahead < len(self.planned):
            p = self.planned[self.ahead]
            self.events.push(p.t, PUBLISH, p.node, self.ahead, self.ahead)
            self.ahead += 1

    # ---- the run

    def run(self, until: i64) -> None:
        """Everything that happens up to and including `until`."""
        events = self.events
        stations = self.stations
        air = self.air
        while True:
            when, serial, key = events.pop()
            t = when >> TIME_SHIFT
            if t > until:  # too late for this call: put it back for the next one
                events.push(t, (when >> NODE_BITS) & KIND_MASK, when & NODE_MASK, serial, key)
                break
            events.now = t
            kind = (when >> NODE_BITS) & KIND_MASK
            station = stations[when & NODE_MASK]
            if kind == END:
                air.end(station, key, t)
            elif kind == ATTEMPT:
                if key == station.attempt:
                    air.attempt(station, t)
            elif kind == TIMER:
                if station.goes_off(key, serial):
                    station.protocol.on_timer(key)
            else:
                self.rarely(kind, station, key, t)
        events.now = until

    def rarely(self, kind: i64, station: Station, key: i64, t: i64) -> None:
        if kind == PUBLISH:
            self.publication_due(station, key, t)
        elif kind == ACKNOWLEDGE:
            if station.up and not station.sending:
                self.air.acknowledge(station, key, t)
        elif kind == TIMEOUT:
            if station.waiting and key == station.attempt:
                self.air.unacknowledged(station, t)
        elif kind == FAULT:
            self.fault(station, key, t)
        elif kind == MOTION:
            self.motion_changed(station, t)
        elif kind == SAMPLE:
            self.sample(t)

    # ---- publications

    def publication_due(self, station: Station, key: i64, t: i64) -> None:
        p = self.planned[key]
        if t == p.t:  # not one that waited
            self.look_ahead()
        courtesy = self.courtesy
        wait: i64 = 0 if courtesy is None else courtesy.wait_us(station, p.topic, key, t)
        if wait == NOW:
            self.publish(station, p, t)
        elif wait != NEVER:
            self.events.push(t + wait, PUBLISH, station.index, key, key)

    def publish(self, station: Station, p: PlannedPublication, t: i64) -> None:
        if not station.up and not station.asleep:
            return  # the application of a crashed node is down, too
        id = self.recorder.events.next_id(p.node)
        event = Event(id, p.topic, p.attrs, p.payload, p.validity_us, p.scope)
        interested = self.interested(event)
        in_range = self.within_local_range(p.node, t) if p.scope == LOCAL else []
        paired = interested  # with the publisher: a copy without it would cost as much as the event's flood
        if self.absent > 0 or p.scope == LOCAL:
            near = set(in_range)
            near.add(p.node)
            paired = [i for i in interested if self.stations[i].up and (p.scope != LOCAL or i in near)]
        self.recorder.publish(t, p.node, event, interested, paired, in_range)
        self.publications.append((t, p.node, t + p.validity_us, paired))
        station.protocol.on_publish(event)

    def interested(self, event: Event) -> list[int]:
        """The nodes that have a matching subscription, in order."""
        matching = self.index.match(event)
        if len(matching) == 1:
            return self.subscribers[matching[0]]
        return sorted({node: True for number in matching for node in self.subscribers[number]})

    def within_local_range(self, node: int, t: i64) -> list[int]:
        now = self.stations[node].update_positions()
        squares = self.motion.squares(node, self.everybody, now)
        range2 = self.local_range_m * self.local_range_m
        return [i for i in range(len(squares)) if squares[i] <= range2 and i != node]

    # ---- faults, motion, samples

    def fault(self, station: Station, what: i64, t: i64) -> None:
        if station.sending and what in (SLEEP, CRASH):
            self.events.push(station.sends_until + 1, FAULT, station.index, 0, what)
            return
        if what == SLEEP:
            station.asleep = True
            station.leave(t)
            self.recorder.rows.fault(t, station.index, schema.SLEEP)
        elif what == WAKE:
            station.asleep = False
            station.asleep_us += t - station.down_since
            self.recorder.rows.fault(t, station.index, schema.WAKE)
            station.come_back(t)
        elif what == CRASH:
            self.crash(station, t)
        elif what == RECOVER:
            self.recover(station, t)
        self.absent += 1 if what in (SLEEP, CRASH) else -1
        self.switches.append((t, station.id, station.up))
        after, then = self.faults.next(station.id, what)
        self.events.push(t + after, FAULT, station.index, 0, then)

    def crash(self, station: Station, t: i64) -> None:
        station.leave(t)
        station.forget()
        self.recorder.rows.fault(t, station.index, schema.CRASH)

    def recover(self, station: Station, t: i64) -> None:
        station.off_us += t - station.down_since
        self.recorder.rows.fault(t, station.index, schema.RECOVER)
        station.come_back(t)
        if self.faults.keep_tables:
            station.protocol.on_start()
            return
        self.recorder.events.forget(station.index)
        station.protocol = self.protocol_class(station, self.params)
        station.protocol.on_start()
        for s in self.subscriptions:
            if s.node == station.id:
                station.protocol.on_subscribe(s.number, s.filter)

    def await_motion(self, i: int) -> None:
        end = self.motion.leg_end(i)
        if end < LONGEST_S:
            at: i64 = int(end * 1e6) + 1  # never before the end, whatever rounding says
            self.events.push(at, MOTION, i, 0, 0)

    def motion_changed(self, station: Station, t: i64) -> None:
        station.update_positions()
        i = station.id
        self.await_motion(i)
        self.write_move(i, t)
        moving = self.motion.speed(i) > 0.0
        if moving != self.moving[i]:
            self.moving[i] = moving
            if station.up or station.asleep:
                station.protocol.on_motion(moving)

    def write_move(self, i: int, t: i64) -> None:
        if self.recorder.rows.moves:
            now = float(t) * 1e-6
            x, y = self.motion.position(i, now)
            ahead, aside = self.motion.position(i, now + 1.0)
            text = f"{x:.3f} {y:.3f} {ahead - x:.4f} {aside - y:.4f}"
            end = min(self.motion.leg_end(i), LONGEST_S)
            self.recorder.rows.moved(t, i, i64(end * 1e6), text)

    def sample(self, t: i64) -> None:
        if not self.recorder.rows.deliveries and not self.protocol_class.holds_state(self.params):
            # no row is to be written, and asking every node for nothing takes longer than a flood
            self.recorder.tally.samples += len(self.stations) - self.absent
        else:
            for station in self.by_place:
                if station.up:
                    entries, size = station.protocol.memory()
                    self.recorder.sample(t, station.index, entries, size)
        self.events.push(t + self.sample_every, SAMPLE, 0, 0, 0)

    def finish(self, until: i64) -> None:
        """Count the time up to the end of the run: stations that are still down were down until then."""
        self.air.cut_off(until)
        for station in self.stations:
            if not station.up:
                if station.asleep:
                    station.asleep_us += until - station.down_since
                else:
                    station.off_us += until - station.down_since

    def dissolve(self) -> None:
        """Nothing more will happen here: take the references away that go in circles, so that memory is free at
        once."""
        for station in self.stations:
            station.protocol = UNBORN

    def channel(self, until: i64) -> dict[str, float | None]:
        """How much of the time nodes send; and on LoRa radios, how busy the channel is at nodes, and how far events
        go. Elsewhere the world does not count receiving node by node."""
        sent_us: i64 = 0
        busy_us: i64 = 0
        busiest_us: i64 = 0
        for s in self.stations:
            sent_us += s.tx_us
            busy = s.tx_us + s.received_us(until)
            busy_us += busy
            if busy > busiest_us:
                busiest_us = busy
        air = self.air
        of_all = float(until * len(self.stations))
        counted: dict[str, float | None] = {"airtime_s_per_hour": 3600.0 * float(sent_us) / of_all}
        of_lora: tuple[float | None, float | None, float | None] = (None, None, None)
        if isinstance(air, LoraAir):
            news = self.recorder.tally.news
            hops = float(air.all_hops) / float(news) if news > 0 else None
            of_lora = (float(busy_us) / of_all, float(busiest_us) / float(until), hops)
        counted["utilisation_mean"], counted["utilisation_max"], counted["hops"] = of_lora
        return counted

    def energy_j(self, until: i64) -> float:
        energy = self.recorder.energy
        tx_us: i64 = 0
        rx_us = energy.shared_rx_us
        asleep_us: i64 = 0
        off_us: i64 = 0
        for s in self.stations:
            tx_us += s.tx_us
            rx_us += s.received_us(until)
            asleep_us += s.asleep_us
            off_us += s.off_us
        return energy.joules(until * len(self.stations), tx_us, rx_us, asleep_us, off_us)
