"""A driver under test: nodes along a line, each with a probe that records every call of its host.

The suite (test_host.py) uses drivers through `Driver` alone. A backend decides how nodes are made, how time passes and
what is recorded. A test acts on a node inside a handler of that node's probe, as a protocol does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from roamcast.protocols.kit.interface import Frame, Host, Params, Protocol, reason
from roamcast.protocols.kit.wire import as_bytes, as_int, counted, measure
from roamcast.pubsub.event import Event, event_from_fields
from roamcast.pubsub.filters import Filter

WHY = reason("forward", "probe", "{event} for {peer}, {value}")
WHY_NOT = reason("suppress", "probe", "not {event}")


class Ping(Frame):
    """A number, an id that can be muted, and some bytes."""

    def __init__(self, number: int, id: int = 0, content: bytes = b"") -> None:
        self.number = number
        self.content = content
        super().__init__("ping", id, measure([number, id, content]))

    def fields(self) -> list[Any]:
        return [self.number, self.id, self.content]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Ping:
        number, id, content = counted(fields, 3)
        return Ping(as_int(number), as_int(id), as_bytes(content))


class Parcel(Frame):
    """An event on its way."""

    def __init__(self, event: Event) -> None:
        self.event = event
        super().__init__("parcel", event.id, measure([event.fields()]))
        self.cargo = event

    def events(self) -> list[Event]:
        return [self.event]

    def fields(self) -> list[Any]:
        return [self.event.fields()]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Parcel:
        (event,) = counted(fields, 1)
        return Parcel(event_from_fields(event))


class Input(NamedTuple):
    what: str
    now_us: int
    arguments: tuple[Any, ...]


class Probe(Protocol):
    """Records every call and reacts with the functions in `react`: `probe.react["timer"] = lambda probe, key: …`."""

    frames = (Ping, Parcel)

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        self.inputs: list[Input] = []
        self.react: dict[str, Callable[..., None]] = {}
        self.deeds: list[Callable[[Probe, Event], None]] = []
        self.inside = False
        self.nested = 0

    def on_start(self) -> None:
        self._record("start")

    def on_frame(self, frame: Frame, sender: int) -> None:
        self._record("frame", frame, sender)

    def on_timer(self, key: int) -> None:
        self._record("timer", key)

    def on_publish(self, event: Event) -> None:
        self._record("publish", event)

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self._record("subscribe", subscription, filter)

    def on_unsubscribe(self, subscription: int) -> None:
        self._record("unsubscribe", subscription)

    def on_motion(self, moving: bool) -> None:
        self._record("motion", moving)

    def on_undelivered(self, frame: Frame, to: int) -> None:
        self._record("undelivered", frame, to)

    def _record(self, what: str, *arguments: Any) -> None:
        self.nested += self.inside
        self.inside = True
        self.inputs.append(Input(what, self.host.now(), arguments))
        if what == "publish":
            deed = arguments[0].attrs["deed"]
            self.deeds[deed](self, arguments[0])
        elif what in self.react:
            self.react[what](self, *arguments)
        self.inside = False

    # ---- results for tests

    def calls(self, what: str) -> list[Input]:
        return [call for call in self.inputs if call.what == what]

    def timers(self) -> list[tuple[int, int]]:
        """(key, time) of the timers that fired."""
        return [(call.arguments[0], call.now_us) for call in self.calls("timer")]

    def numbers(self) -> list[tuple[int, int]]:
        """(number, sender) of the pings that arrived."""
        return [(f.number, sender) for _, _, (f, sender) in self.calls("frame") if isinstance(f, Ping)]


Deed = Callable[[Probe, Event], None]


class Driver(ABC):
    """Nodes 0, 1, … at `places` along a line; nodes that are at most 1 apart hear each other.

    `late_us` is how late a timer may fire, and `quiet_s` is long enough for a frame or two to arrive.
    """

    late_us = 0
    quiet_s = 0.5

    def __init__(self, places: list[float]) -> None:
        self.places = places
        self.deeds: list[Deed] = []

    # ---- what a backend does

    @abstractmethod
    def probe(self, i: int) -> Probe: ...

    @abstractmethod
    def publish(self, i: int, deed: int) -> None:
        """The application on node i publishes an event with the attribute `deed`, at the present time."""

    @abstractmethod
    def run(self, seconds: float) -> None:
        """Let time pass."""

    @abstractmethod
    def crash(self, i: int) -> None: ...

    @abstractmethod
    def recover(self, i: int, keep_tables: bool) -> None:
        """It comes back: with its old probe, or with a new one and its old subscriptions."""

    @abstractmethod
    def delivered(self, i: int) -> list[int]:
        """Ids of the events that node i delivered."""

    @abstractmethod
    def notes(self, i: int) -> list[tuple[str, str, int, int, int]]:
        """(kind, label, event, peer, value) of each note of node i."""

    # ---- shared by all backends

    def do(self, i: int, deed: Deed) -> None:
        """Node i does this in a handler, and then there is time for the effects."""
        self.begin(i, deed)
        self.run(self.quiet_s)

    def begin(self, i: int, deed: Deed) -> None:
        """The same, but no time passes."""
        self.deeds.append(deed)
        self.probe(i).deeds = self.deeds
        self.publish(i, len(self.deeds) - 1)

    def probes(self) -> list[Probe]:
        return [self.probe(i) for i in range(len(self.places))]

    def in_range(self, i: int) -> list[int]:
        here = self.places[i]
        return [j for j, there in enumerate(self.places) if j != i and abs(there - here) <= 1.0]

    def check(self) -> None:
        """Check what holds in every test."""
        for probe in self.probes():
            times = [call.now_us for call in probe.inputs]
            assert times == sorted(times), "time went back"
            assert probe.nested == 0, "a handler was called inside another"
            assert probe.inputs[0].what == "start"
            senders = {call.arguments[1] for call in probe.calls("frame")}
            assert probe.host.id not in senders, "a node heard itself"
