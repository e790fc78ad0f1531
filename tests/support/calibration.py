"""The MAC and the plain channel alone, to compare with other simulators: stations that send and never forward.

`reception_success("one_cell", 10, 0.8)`: ten stations that all hear each other send 0.8 seconds of airtime a second
together, in frames of 400 bytes at Poisson instants. The result is the share of possible receptions that succeeded.
"""

from __future__ import annotations

from typing import Any

from roamcast.errors import unknown
from roamcast.log.writer import LogSink
from roamcast.protocols.kit.interface import Frame, Params, Protocol
from roamcast.pubsub.event import FOREVER, GLOBAL, Event
from roamcast.world import mac
from roamcast.world.assembly import standing
from roamcast.world.kernel import PlannedPublication
from roamcast.world.specs import MacSpec, RadioSpec, WorldSpec
from roamcast.world.streams import Stream

RANGE_M = 150.0
APART_M = 100.0
"""In a row of stations this far apart, only neighbours hear each other."""
DRAIN_S = 60.0


class Load(Frame):
    """A frame with a given number of empty bytes."""

    def fields(self) -> list[Any]:
        return []


class Traffic(Protocol):
    """Broadcasts a frame of the payload's length for every publication."""

    def on_publish(self, event: Event) -> None:
        self.host.broadcast(Load("load", 0, len(event.payload)))


def layout(name: str, stations: int) -> tuple[list[tuple[float, float]], list[int], int]:
    """(positions, senders, hearers of each frame)."""
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
    spec = WorldSpec(mac=MacSpec(rate_bps=rate_bps, queue=1_000_000), radio=RadioSpec(name=law, range_m=RANGE_M))
    access = mac.build(spec.mac)
    airtime_us = int(access.airtime(access.bytes_on_air(payload)))
    gap_s = airtime_us * 1e-6 * len(senders) / offered_load
    world = standing(spec, positions, seed, "summary", LogSink())
    world.planned = _poisson(senders, gap_s, seconds, payload, seed)
    world.populate(Traffic, Params(), [])
    world.start()
    world.run(round((seconds + DRAIN_S) * 1e6))
    tally = world.recorder.tally
    return int(tally.receptions) / (int(tally.frames_sent) * hearers)


def _poisson(senders: list[int], gap_s: float, seconds: float, payload: int, seed: int) -> list[PlannedPublication]:
    instants: list[tuple[int, int]] = []
    for node in senders:
        stream = Stream(seed, node, "load")
        t = stream.exponential(gap_s)
        while t < seconds:
            instants.append((round(t * 1e6), node))
            t += stream.exponential(gap_s)
    content = bytes(payload)
    return [PlannedPublication(t, node, "", {}, content, FOREVER, GLOBAL) for t, node in sorted(instants)]
