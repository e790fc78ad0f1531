"""The three floodings that 001 (§5.2, "Frugality") compares itself with: events are stored and sent again every second.

  flooding-periodic   (1) every node sends every valid event it holds, whatever its interests
  flooding-interest   (2) a node holds and sends only events it is interested in
  flooding-neighbors  (3) a node sends an event only if it and at least one of its neighbours are interested; it knows
                          its neighbours' interests from heartbeats

Readings, one test each:
  R1  a node's second starts at a random phase for each event, so that neighbours do not answer together for ever
  R2  a publisher is interested in what it publishes. It sends at once, and then every second like everybody else; under
      (3) it too needs an interested neighbour, and waits for one
  R3  under (2) and (3) a node that is not interested, or no longer, drops the event: it neither stores nor sends it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, final

from roamcast.protocols.frames import EventFrame
from roamcast.protocols.interface import Frame, Host, Params, Protocol, param, reason
from roamcast.protocols.store import Subscriptions
from roamcast.protocols.wire import as_list, counted, measure
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, Filter, filter_from_fields

PERIODIC: Final = reason("forward", "periodic", "the turn of {event} has come round")
NO_INTEREST: Final = reason("drop", "not interested", "no subscription here matches {event}")
NO_NEIGHBOUR: Final = reason("suppress", "no interested neighbour", "no neighbour is known to want {event}")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")
FULL: Final = reason("drop", "store full", "{event}, held for longest, made room")

HEARTBEAT: Final = 0
"""The timer of heartbeats; events' timers are their ids, which are above it."""

FILTERS_MAX: Final = 256
"""Subscriptions that a heartbeat can name; a node that has more says that it wants everything."""


# ---------------------------------------------------------------------------------------------- parameters and frames


@dataclass(frozen=True)
class FloodingParams(Params):
    period_s: float = param(1.0, "time between two sendings of an event", "001, §5.2", unit="s", low=0.001)
    store: int = param(1000, "events a node holds at the most", "ours", low=1)


@dataclass(frozen=True)
class NeighborsParams(FloodingParams):
    heartbeat_s: float = param(1.0, "time between two heartbeats", "001, §5.1", unit="s", low=0.001)
    forget: float = param(2.5, "heartbeats missed before a neighbour is forgotten", "001, §5.1 (HB2NGC)", low=1.0)


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
class Held:
    """A stored event: whether it was published here, and when it was how old."""

    def __init__(self, event: Event, own: bool, age_us: int, since_us: int) -> None:
        self.event = event
        self.own = own
        self.age_us = age_us
        self.since_us = since_us


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

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        assert isinstance(params, FloodingParams)
        self.period_us = round(params.period_s * 1e6)
        self.store = params.store
        self.subscriptions = Subscriptions()
        self.held: dict[int, Held] = {}

    # ---- what the variants change

    def interested(self, event: Event) -> bool:
        """Whether this node holds an event that it did not publish."""
        return True

    def neighbour_interested(self, event: Event) -> bool:
        """Whether an event that is held is to be sent now."""
        return True

    # ---- what they share

    def on_start(self) -> None:
        """Timers die with a node: events in a store that outlived a crash get new ones."""
        for id in self.held:
            self.start_period(id)

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.subscriptions.add(subscription, filter)

    def on_unsubscribe(self, subscription: int) -> None:
        self.subscriptions.remove(subscription)

    def on_publish(self, event: Event) -> None:
        self.host.mute(event.id)
        self.keep(Held(event, True, 0, self.host.now()))
        self.on_timer(event.id)  # R2

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
        self.keep(Held(event, False, frame.age_us, self.host.now()))
        self.start_period(event.id)

    def on_timer(self, key: int) -> None:
        if self.turn(self.held[key]):
            self.host.set_timer(key, self.period_us)
        else:
            del self.held[key]

    def start_period(self, id: int) -> None:
        self.host.set_timer(id, int(self.host.random() * self.period_us))  # R1

    def keep(self, held: Held) -> None:
        if len(self.held) >= self.store:
            oldest = next(iter(self.held))
            del self.held[oldest]
            self.host.cancel_timer(oldest)
            self.host.note(FULL, oldest)
        self.held[held.event.id] = held

    def turn(self, held: Held) -> bool:
        """An event's second has come round: send it, if it is wanted. False if there is no reason to hold it longer."""
        event = held.event
        age_us = held.age_us + self.host.now() - held.since_us
        if age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id)
            return False
        if not held.own and not self.interested(event):  # R3
            self.host.note(NO_INTEREST, event.id)
            return False
        if self.neighbour_interested(event):
            self.host.note(PERIODIC, event.id)
            self.host.broadcast(EventFrame(event, 0, age_us))
        else:
            self.host.note(NO_NEIGHBOUR, event.id)
        return True

    def memory(self) -> tuple[int, int]:
        return len(self.held), sum(held.event.size for held in self.held.values())


class FloodingInterest(FloodingPeriodic):
    def interested(self, event: Event) -> bool:
        return self.subscriptions.match(event)


@final
class FloodingNeighbors(FloodingInterest):
    params_class = NeighborsParams
    frames = (EventFrame, HeartbeatFrame)

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        assert isinstance(params, NeighborsParams)
        self.heartbeat_us = round(params.heartbeat_s * 1e6)
        self.forget_us = round(params.forget * params.heartbeat_s * 1e6)
        self.neighbours: dict[int, Neighbour] = {}

    def on_start(self) -> None:
        super().on_start()
        self.host.set_timer(HEARTBEAT, int(self.host.random() * self.heartbeat_us))

    def neighbour_interested(self, event: Event) -> bool:
        self.forget()
        return any(neighbour.wants(event) for neighbour in self.neighbours.values())

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, HeartbeatFrame):
            self.neighbours[sender] = Neighbour(frame.filters, self.host.now())
        else:
            super().on_frame(frame, sender)

    def on_timer(self, key: int) -> None:
        if key == HEARTBEAT:
            self.forget()
            own = self.subscriptions.all
            self.host.broadcast(HeartbeatFrame(own if len(own) <= FILTERS_MAX else [EVERYTHING]))
            self.host.set_timer(HEARTBEAT, self.heartbeat_us)
        else:
            super().on_timer(key)

    def forget(self) -> None:
        oldest_us = self.host.now() - self.forget_us
        for node in [node for node, neighbour in self.neighbours.items() if neighbour.heard_us < oldest_us]:
            del self.neighbours[node]

    def memory(self) -> tuple[int, int]:
        entries, size = super().memory()
        return entries + len(self.neighbours), size + 12 * len(self.neighbours)
