"""The MAC and the plain channel alone, to be held against other simulators: stations that send and never forward.

`reception_success("one_cell", 10, 0.8)`: ten stations in one cell that together offer 0.8 seconds of airtime a second
in frames of 400 bytes, at Poisson instants; which share of the receptions that could have been came about?
"""

from __future__ import annotations

from typing import Any

from roamcast.errors import unknown
from roamcast.log.recorder import Power, Recorder
from roamcast.log.writer import LogSink
from roamcast.protocols.kit.interface import Frame, Params, Protocol
from roamcast.pubsub.event import FOREVER, GLOBAL, Event
from roamcast.world import mac
from roamcast.world.contacts import KineticContacts
from roamcast.world.faults import Faults
from roamcast.world.kernel import Publication, World
from roamcast.world.mobility.static import Placed
from roamcast.world.queue import event_queue
from roamcast.world.radio import Radio
from roamcast.world.station import Station
from roamcast.world.streams import Stream

RANGE_M = 150.0
APART_M = 100.0
"""In a row of stations this far apart, neighbours hear each other and nobody else does."""
DRAIN_S = 60.0


class Load(Frame):
    """So many bytes of nothing."""

    def fields(self) -> list[Any]:
        return []


class Traffic(Protocol):
    """Broadcasts a frame of the payload's length for every publication."""

    def on_publish(self, event: Event) -> None:
        self.host.broadcast(Load("load", 0, len(event.payload)))


def layout(name: str, stations: int) -> tuple[list[tuple[float, float]], list[int], int]:
    """(positions, who sends, how many hear each frame)."""
    if name == "one_cell":
        return [(float(i % 10), float(i // 10)) for i in range(stations)], list(range(stations)), stations - 1
    if name == "hidden_terminal":
        # A and C, which do not hear each other, send; B between them listens
        return [(i * APART_M, 0.0) for i in range(3)], [0, 2], 1
    raise unknown("layout", name, ("one_cell", "hidden_terminal"))


def reception_success(
    name: str,
    stations: int,
    offered_load: float,
    *,
    seconds: float = 100.0,
    seed: int = 1,
    payload: int = 400,
    law: str = "disc",
    rate_bps: float = 1e6,
) -> float:
    positions, senders, hearers = layout(name, stations)
    access = mac.build("dcf", rate_bps, 1_000_000, 7)
    airtime_us = int(access.airtime(access.bytes_on_air(payload)))
    gap_s = airtime_us * 1e-6 * len(senders) / offered_load
    world = _world(positions, access, law, seed)
    world.agenda = _poisson(senders, gap_s, seconds, payload, seed)
    world.populate(Traffic, Params(), [])
    world.start()
    world.run(round((seconds + DRAIN_S) * 1e6))
    tally = world.recorder
    return int(tally.receptions) / (int(tally.frames_sent) * hearers)


def _world(positions: list[tuple[float, float]], access: mac.Mac, law: str, seed: int) -> World:
    n = len(positions)
    radio = Radio(law, RANGE_M, 0.0, [RANGE_M] * n, False, 1.0, 10.0, 86.1, 3.0, 0.0, seed)
    motion = KineticContacts(Placed(positions), n, seed, [RANGE_M] * n)
    events = event_queue()
    recorder = Recorder(n, "summary", LogSink(), Power(0.0, 0.0, 0.0, 0.0, 1.0))
    faults = Faults(n, seed, 0, 0, 0, 1, False, 0, 0, 0.0, 0.0)
    stations = [Station(i, seed, events, access, radio, motion, recorder) for i in range(n)]
    return World(events, stations, motion, access, radio, recorder, faults, seed)


def _poisson(senders: list[int], gap_s: float, seconds: float, payload: int, seed: int) -> list[Publication]:
    instants: list[tuple[int, int]] = []
    for node in senders:
        stream = Stream(seed, node, "load")
        t = stream.exponential(gap_s)
        while t < seconds:
            instants.append((round(t * 1e6), node))
            t += stream.exponential(gap_s)
    content = bytes(payload)
    return [Publication(t, node, "", {}, content, FOREVER, GLOBAL) for t, node in sorted(instants)]
