"""The three floodings that 001 (§5.2, "Frugality") compares itself with: events are stored and sent again every second.

  flooding-periodic   (1) every node sends every valid event it holds, whatever its interests
  flooding-interest   (2) a node holds and sends only events it is interested in
  flooding-neighbors  (3) a node sends an event only if it and at least one of its neighbours are interested; it knows
                          its neighbours' interests from heartbeats

Readings, one test each:
  R1  a node's second starts at a random phase for each event, so that neighbours do not answer together for ever
  R2  a publisher sends at once, and then every second like everybody else; under (3) it too needs an interested
      neighbour, and waits for one
  R3  under (2) and (3) a node that is not interested drops the event: it neither stores nor sends it
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

from roamcast.protocols.frames import EventFrame
from roamcast.protocols.interface import Frame, Host, Params, Protocol, param, reason
from roamcast.protocols.store import Subscriptions
from roamcast.protocols.wire import as_list, counted, measure
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter, filter_from_fields

PERIODIC = reason("forward", "periodic", "its second has come round")
NO_INTEREST = reason("drop", "not interested", "no subscription here matches it")
NO_NEIGHBOUR = reason("suppress", "no interested neighbour", "no neighbour is known to want it")
EXPIRED = reason("drop", "expired", "its validity is over")
FULL = reason("drop", "store full", "the oldest event made room")

HEARTBEAT: Final = 0
"""The timer of heartbeats; events' timers are their ids, which are above it."""


@dataclass(frozen=True)
class FloodingParams(Params):
    period_s: float = param(1.0, "time between two sendings of an event", "001, §5.2", unit="s", low=0.001)
    store: int = param(1000, "events a node holds at the most", "ours", low=1)
    heartbeat_s: float = param(1.0, "time between two heartbeats (flooding-neighbors)", "001, §5.1", unit="s", low=0.001)
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
        return HeartbeatFrame([filter_from_fields(entry) for entry in as_list(filters, 256)])


@final
class Held:
    """A stored event, and when it was how old."""

    def __init__(self, event: Event, age_us: int, since_us: int) -> None:
        self.event = event
        self.age_us = age_us
        self.since_us = since_us


@final
class Neighbour:
    def __init__(self, filters: list[Filter], heard_us: int) -> None:
        self.filters = filters
        self.heard_us = heard_us


class FloodingPeriodic(Protocol):
    params_class = FloodingParams
    frames = (EventFrame, HeartbeatFrame)

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        assert isinstance(params, FloodingParams)
        self.period_us = round(params.period_s * 1e6)
        self.store = params.store
        self.heartbeat_us = round(params.heartbeat_s * 1e6)
        self.forget_us = round(params.forget * params.heartbeat_s * 1e6)
        self.subscriptions = Subscriptions()
        self.held: dict[int, Held] = {}

    # ---- what the variants change

    def holds(self, event: Event) -> bool:
        """Whether this node stores an event at all."""
        return True

    def sends(self, event: Event) -> bool:
        """Whether it would send it now."""
        return True

    # ---- what they share

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.subscriptions.add(subscription, filter)

    def on_unsubscribe(self, subscription: int) -> None:
        self.subscriptions.remove(subscription)

    def on_publish(self, event: Event) -> None:
        self.host.mute(event.id)
        self.keep(event, 0)
        self.send(event.id)
        self.host.set_timer(event.id, self.period_us)  # R2

    def on_frame(self, frame: Frame, sender: int) -> None:
        if not isinstance(frame, EventFrame):
            return
        event = frame.event
        self.host.mute(event.id)
        if frame.age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id, sender)
            return
        if self.subscriptions.match(event):
            self.host.deliver(event)
        if not self.holds(event):  # R3
            self.host.note(NO_INTEREST, event.id, sender)
            return
        self.keep(event, frame.age_us)
        self.host.set_timer(event.id, int(self.host.random() * self.period_us))  # R1

    def on_timer(self, key: int) -> None:
        if self.send(key):
            self.host.set_timer(key, self.period_us)

    def keep(self, event: Event, age_us: int) -> None:
        if len(self.held) >= self.store:
            oldest = next(iter(self.held))
            del self.held[oldest]
            self.host.cancel_timer(oldest)
            self.host.note(FULL, oldest)
        self.held[event.id] = Held(event, age_us, self.host.now())

    def send(self, id: int) -> bool:
        """Send a held event if it is its turn; False when it has expired and was dropped."""
        held = self.held[id]
        age_us = held.age_us + self.host.now() - held.since_us
        if age_us >= held.event.validity_us:
            del self.held[id]
            self.host.note(EXPIRED, id)
            return False
        if self.sends(held.event):
            self.host.note(PERIODIC, id)
            self.host.broadcast(EventFrame(held.event, 0, age_us))
        else:
            self.host.note(NO_NEIGHBOUR, id)
        return True

    def memory(self) -> tuple[int, int]:
        return len(self.held), sum(held.event.size for held in self.held.values())


@final
class FloodingInterest(FloodingPeriodic):
    def holds(self, event: Event) -> bool:
        return self.subscriptions.match(event)


@final
class FloodingNeighbors(FloodingPeriodic):
    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        self.neighbours: dict[int, Neighbour] = {}

    def on_start(self) -> None:
        self.host.set_timer(HEARTBEAT, int(self.host.random() * self.heartbeat_us))

    def holds(self, event: Event) -> bool:
        return self.subscriptions.match(event)

    def sends(self, event: Event) -> bool:
        self.forget()
        if not self.subscriptions.match(event):
            return False
        for neighbour in self.neighbours.values():
            for filter in neighbour.filters:
                if filter.matches(event):
                    return True
        return False

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, HeartbeatFrame):
            self.neighbours[sender] = Neighbour(frame.filters, self.host.now())
        else:
            super().on_frame(frame, sender)

    def on_timer(self, key: int) -> None:
        if key == HEARTBEAT:
            self.forget()
            self.host.broadcast(HeartbeatFrame(self.subscriptions.all))
            self.host.set_timer(HEARTBEAT, self.heartbeat_us)
        else:
            super().on_timer(key)

    def forget(self) -> None:
        oldest = self.host.now() - self.forget_us
        for node in [node for node, neighbour in self.neighbours.items() if neighbour.heard_us < oldest]:
            del self.neighbours[node]

    def memory(self) -> tuple[int, int]:
        entries, size = super().memory()
        return entries + len(self.neighbours), size + 12 * len(self.neighbours)
