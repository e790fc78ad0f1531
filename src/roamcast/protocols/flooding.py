"""The three floodings that Baehni et al. (§5.2, "Frugality") compare their system with: events are sent every second.

  flooding-periodic   (1) every node sends every valid event it holds, whether its subscriptions match or not
  flooding-interest   (2) a node holds and sends only events that match its subscriptions
  flooding-neighbors  (3) a node sends an event only if its own subscriptions and those of at least one neighbour match;
                          it knows the subscriptions of its neighbours from heartbeats

A node has one timer for all its events, set for the event whose turn comes first.

Readings, one test each:
  R1  the turns of an event come at a random phase of the second, so that neighbours do not always send together
      (phase="random"); or all turns come when the node's clock shows a whole number of periods (phase="common"), as
      if every process had a task that starts with the simulation: the clocks of simulated nodes agree. Nothing here
      synchronises the clocks of real nodes, so they have common ticks only as far as the clocks were set to the same
      time. All nodes would send in the same microsecond and collide, so a random part below `jitter_ms` is then added,
      as for the answers of frugal (its R17). A publisher sends at once in both cases (R2), and heartbeats keep their
      random phase
  R2  a publisher is interested in its own events. It sends an event at once, and then every second like other nodes;
      under (3) it needs an interested neighbour, too, and waits for one
  R3  under (2) and (3) a node that is not interested, or no longer, drops the event: it neither stores nor sends it
  R4  sizes="paper": a heartbeat has 50 bytes and an event 400, as in frugal (its R19), and nothing else counts
  R5  under (3) an event is sent once for all neighbours (copies="one"), or once for each that is interested
      (copies="each"): footnote 14 says that (3) needs the most bandwidth, but sent once it needs less than (1). Each
      sending is a broadcast: no process can send to one neighbour alone (§2)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, final

from mypy_extensions import i64

from roamcast.protocols.frugal.frames import PAPER_EVENT_BYTES, PAPER_HEARTBEAT_BYTES
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame, Host, Params, Protocol, no_room, param, reason
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.protocols.kit.wire import as_list, counted, measure
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, Filter, filter_from_fields

PERIODIC: Final = reason("forward", "periodic", "the turn of {event} has come round")
NO_INTEREST: Final = reason("drop", "not interested", "no subscription here matches {event}")
NO_NEIGHBOUR: Final = reason("suppress", "no interested neighbour", "no neighbour is known to want {event}")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")
FULL: Final = no_room("store full", "{event} was held longest and made room")

HEARTBEAT: Final = 0
TURN: Final = 1
"""Timers."""

FILTERS_MAX: Final = 256
"""The most subscriptions in a heartbeat; a node that has more sends a filter that matches everything."""


# ---------------------------------------------------------------------------------------------- parameters and frames


@dataclass(frozen=True)
class FloodingParams(Params):
    period_s: float = param(
        1.0, "time between two sendings of an event", "Baehni et al. 2005, §5.2", unit="s", low=0.001
    )
    store: int = param(1000, "most events that a node holds", "ours", low=1)
    phase: str = param(
        "random",
        "when the turns of an event come: at a random phase, or at common ticks",
        "ours (R1)",
        choices=("random", "common"),
    )
    jitter_ms: float = param(10.0, "longest random delay on top of common ticks", "ours (R1)", unit="ms", low=0.0)
    sizes: str = param("wire", "frame sizes: as encoded, or as in §5.2", "ours; §5.2 (R4)", choices=("wire", "paper"))


@dataclass(frozen=True)
class NeighborsParams(FloodingParams):
    heartbeat_s: float = param(1.0, "time between two heartbeats", "Baehni et al. 2005, §5.1", unit="s", low=0.001)
    forget: float = param(
        2.5, "heartbeats missed before a neighbour is forgotten", "Baehni et al. 2005, §5.1 (HB2NGC)", low=1.0
    )
    copies: str = param(
        "one",
        "sendings of an event in its turn: one, or one for each interested neighbour",
        "ours (R5)",
        choices=("one", "each"),
    )


@final
class HeartbeatFrame(Frame):
    """A node's subscriptions."""

    def __init__(self, filters: list[Filter]) -> None:
        self.filters = filters
        super().__init__("heartbeat", 0, measure(self.fields()))

    def fields(self) -> list[Any]:
        return [[filter.fields() for filter in self.filters]]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> HeartbeatFrame:
        (filters,) = counted(fields, 1)
        return HeartbeatFrame([filter_from_fields(entry) for entry in as_list(filters, FILTERS_MAX)])


# ------------------------------------------------------------------------------------------------------------- tables


@final
class BufferedEvent:
    """An event with its age at a certain time, and when its turn comes. `own`: it was published here."""

    def __init__(self, event: Event, own: bool, age_us: int, since_us: int) -> None:
        self.event = event
        self.own = own
        self.age_us = age_us
        self.since_us = since_us
        self.due_us = 0


@final
class Turns:
    """Events in the order of their turns, those of the same time in the order they came.

    A turn that has just been taken comes again after all others, except where phases are random or turns have a random
    part. So a turn is mostly taken at one end and inserted at the other, and neither end moves the events between.
    """

    def __init__(self) -> None:
        self.taken: i64 = 0  # so many at the front are over
        self.order: list[BufferedEvent] = []

    def __bool__(self) -> bool:
        return len(self.order) > self.taken

    def waiting(self) -> list[BufferedEvent]:
        return self.order[self.taken :]

    def next_us(self) -> int:
        return self.order[self.taken].due_us

    def take(self) -> BufferedEvent:
        buffered = self.order[self.taken]
        self.taken += 1
        if 2 * self.taken > len(self.order):
            self.drop_taken()
        return buffered

    def drop_taken(self) -> None:
        del self.order[: self.taken]
        self.taken = 0

    def insert(self, buffered: BufferedEvent, due_us: int) -> bool:
        """Returns whether it comes before all others."""
        buffered.due_us = due_us
        order = self.order
        position, end = self.taken, len(order)
        if position < end and order[end - 1].due_us <= due_us:
            position = end
        while position < end:  # not bisect: compiled, its key costs more than the search
            middle = (position + end) // 2
            if order[middle].due_us <= due_us:
                position = middle + 1
            else:
                end = middle
        order.insert(position, buffered)
        return position == self.taken

    def remove(self, buffered: BufferedEvent) -> None:
        self.drop_taken()
        self.order.remove(buffered)


@final
class Neighbour:
    def __init__(self, filters: list[Filter], heard_us: int) -> None:
        self.filters = filters
        self.heard_us = heard_us

    def wants(self, event: Event) -> bool:
        return any(filter.matches(event) for filter in self.filters)


# ----------------------------------------------------------------------------------------------------------- protocols


class FloodingPeriodic(Protocol):
    params_class = FloodingParams
    frames: ClassVar[tuple[type[Frame], ...]] = (EventFrame,)

    def __init__(self, host: Host, params: FloodingParams) -> None:
        super().__init__(host, params)
        self.params = params
        self.period_us = round(params.period_s * 1e6)
        self.common_ticks = params.phase == "common"
        self.jitter_us = params.jitter_ms * 1000
        self.paper_sizes = params.sizes == "paper"
        self.subscriptions = Subscriptions()
        self.events: dict[int, BufferedEvent] = {}
        self.turns = Turns()  # of the same events

    # ---- what the variants change

    def interested(self, event: Event) -> bool:
        """Whether this node stores an event of another node."""
        return True

    def sendings(self, event: Event) -> int:
        """How many times to send a stored event now."""
        return 1

    # ---- what they share

    def on_start(self) -> None:
        """Timers do not survive a crash. If the tables did, their events get new turns."""
        self.turns = Turns()
        for buffered in self.events.values():
            self.start_period(buffered)

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.subscriptions.add(subscription, filter)

    def on_unsubscribe(self, subscription: int) -> None:
        self.subscriptions.remove(subscription)

    def on_publish(self, event: Event) -> None:
        self.host.mute(event.id)
        buffered = BufferedEvent(event, True, 0, self.host.now())
        self.store(buffered)
        if self.take_turn(buffered):  # R2
            self.wait(buffered, self.until_next_turn())
        else:
            del self.events[event.id]

    def on_frame(self, frame: Frame, sender: int) -> None:
        assert isinstance(frame, EventFrame)
        event = frame.event
        self.host.mute(event.id)
        if frame.age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id, sender)
            return
        if self.subscriptions.match(event):
            self.host.deliver(event)
        if not self.interested(event):  # R3
            self.host.note(NO_INTEREST, event.id, sender)
            return
        buffered = BufferedEvent(event, False, frame.age_us, self.host.now())
        self.store(buffered)
        self.start_period(buffered)

    def on_timer(self, key: int) -> None:
        now_us = self.host.now()
        turns = self.turns
        while turns and turns.next_us() <= now_us:
            buffered = turns.take()
            if self.take_turn(buffered):
                turns.insert(buffered, now_us + self.until_next_turn())
            else:
                del self.events[buffered.event.id]
        if turns:
            self.host.set_timer(TURN, turns.next_us() - now_us)

    def start_period(self, buffered: BufferedEvent) -> None:
        first_us = self.until_next_turn() if self.common_ticks else int(self.host.random() * self.period_us)  # R1
        self.wait(buffered, first_us)

    def until_next_turn(self) -> int:
        if self.common_ticks:  # R1
            return self.period_us - self.host.now() % self.period_us + int(self.host.random() * self.jitter_us)
        return self.period_us

    def wait(self, buffered: BufferedEvent, delay_us: int) -> None:
        if self.turns.insert(buffered, self.host.now() + delay_us):
            self.host.set_timer(TURN, delay_us)

    def store(self, buffered: BufferedEvent) -> None:
        id = buffered.event.id
        if id in self.events:  # the host has forgotten that it is muted
            self.turns.remove(self.events[id])
        elif len(self.events) >= self.params.store:
            oldest = next(iter(self.events))
            self.turns.remove(self.events.pop(oldest))
            self.host.note(FULL, oldest)
        self.events[id] = buffered

    def take_turn(self, buffered: BufferedEvent) -> bool:
        """The turn of an event: send it, if a node is interested. Returns whether to keep the event."""
        event = buffered.event
        age_us = buffered.age_us + self.host.now() - buffered.since_us
        if age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id)
            return False
        if not buffered.own and not self.interested(event):  # R3
            self.host.note(NO_INTEREST, event.id)
            return False
        sendings = self.sendings(event)
        if sendings:
            self.host.note(PERIODIC, event.id)
            self.send(event, age_us, sendings)
        else:
            self.host.note(NO_NEIGHBOUR, event.id)
        return True

    def send(self, event: Event, age_us: int, times: int) -> None:
        frame = EventFrame(event, 0, age_us)
        if self.paper_sizes:
            frame.size = PAPER_EVENT_BYTES  # R4
        for _ in range(times):
            self.host.broadcast(frame)

    def memory(self) -> tuple[int, int]:
        size = 0
        for buffered in self.events.values():
            size += buffered.event.size
        return len(self.events), size


class FloodingInterest(FloodingPeriodic):
    only_subscribers_forward = True

    def interested(self, event: Event) -> bool:
        return self.subscriptions.match(event)


@final
class FloodingNeighbors(FloodingInterest):
    params_class = NeighborsParams
    frames = (EventFrame, HeartbeatFrame)

    def __init__(self, host: Host, params: NeighborsParams) -> None:
        super().__init__(host, params)
        self.heartbeat_us = round(params.heartbeat_s * 1e6)
        self.forget_us = round(params.forget * params.heartbeat_s * 1e6)
        self.one_copy = params.copies == "one"
        self.neighbours: dict[int, Neighbour] = {}

    def on_start(self) -> None:
        super().on_start()
        self.host.set_timer(HEARTBEAT, int(self.host.random() * self.heartbeat_us))

    def sendings(self, event: Event) -> int:
        self.forget_silent()
        interested = 0
        for neighbour in self.neighbours.values():
            if neighbour.wants(event):
                interested += 1
                if self.one_copy:  # R5
                    break
        return interested

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, HeartbeatFrame):
            self.neighbours[sender] = Neighbour(frame.filters, self.host.now())
        else:
            super().on_frame(frame, sender)

    def on_timer(self, key: int) -> None:
        if key == HEARTBEAT:
            self.forget_silent()
            self.send_heartbeat()
            self.host.set_timer(HEARTBEAT, self.heartbeat_us)
        else:
            super().on_timer(key)

    def send_heartbeat(self) -> None:
        own = self.subscriptions.all
        frame = HeartbeatFrame(own if len(own) <= FILTERS_MAX else [EVERYTHING])
        if self.paper_sizes:
            frame.size = PAPER_HEARTBEAT_BYTES  # R4
        self.host.broadcast(frame)

    def forget_silent(self) -> None:
        oldest_us = self.host.now() - self.forget_us
        for node in [node for node, neighbour in self.neighbours.items() if neighbour.heard_us < oldest_us]:
            del self.neighbours[node]

    def memory(self) -> tuple[int, int]:
        entries, size = super().memory()
        return entries + len(self.neighbours), size + 12 * len(self.neighbours)
