"""The simulated backend, with any MAC and any radio."""

from __future__ import annotations

from dataclasses import dataclass

from roamcast.log import schema
from roamcast.protocols.kit.interface import Params
from roamcast.pubsub.event import FOREVER, GLOBAL
from roamcast.pubsub.filters import Filter
from roamcast.world.assembly import standing
from roamcast.world.kernel import PlannedPublication, Subscription, World
from roamcast.world.specs import FaultSpec, MacSpec, RadioSpec, WorldSpec
from tests.conformance.driver import Driver, Probe
from tests.support.sinks import MemorySink

RANGE_M = 150.0
SEED = 1


@dataclass(frozen=True)
class Kind:
    """`level` decides not only what is logged: below `frames`, broadcasts on a plain radio take a shorter path."""

    mac: str
    radio: str
    level: str = "frames"
    carrier_sense_ratio: float = 1.0


class Simulated(Driver):
    def __init__(
        self, kind: Kind, places: list[float], subscriptions: list[tuple[int, Filter]] | None = None, loss: float = 0.0
    ) -> None:
        super().__init__(places)
        self.kind = kind
        self.sink = MemorySink()
        self.world = build(kind, places, self.sink, loss)
        asked = [Subscription(i, k, filter) for k, (i, filter) in enumerate(subscriptions or [])]
        self.world.populate(Probe, Params(), asked)
        self.world.start()
        self.now_us = 0

    def probe(self, i: int) -> Probe:
        probe = self.world.stations[i].protocol
        assert isinstance(probe, Probe)
        return probe

    def publish(self, i: int, deed: int) -> None:
        self.world.planned.append(PlannedPublication(self.now_us, i, "deed", {"deed": deed}, b"", FOREVER, GLOBAL))
        self.world.look_ahead()

    def run(self, seconds: float) -> None:
        self.now_us += round(seconds * 1e6)
        self.world.run(self.now_us)

    def crash(self, i: int) -> None:
        self.world.crash(self.world.stations[i], self.now_us)

    def recover(self, i: int, keep_tables: bool) -> None:
        self.world.faults.keep_tables = keep_tables
        self.world.recover(self.world.stations[i], self.now_us)

    def delivered(self, i: int) -> list[int]:
        return [row[3] for row in self.sink.rows if row[1] == i and row[2] == schema.DELIVER]

    def notes(self, i: int) -> list[tuple[str, str, int, int, int]]:
        rows = [row for row in self.sink.rows if row[1] == i and row[2] in schema.DECISIONS]
        return [(schema.KINDS[kind], why, event, peer, value) for _, _, kind, event, _, peer, _, value, why in rows]


def build(kind: Kind, places: list[float], sink: MemorySink, loss: float) -> World:
    spec = WorldSpec(
        mac=MacSpec(name=kind.mac, rate_bps=19_200.0 if kind.mac == "tinyos" else 1e6),
        radio=RadioSpec(name=kind.radio, range_m=RANGE_M, carrier_sense_ratio=kind.carrier_sense_ratio),
        faults=FaultSpec(loss=loss),
    )
    return standing(spec, [(x * RANGE_M, 0.0) for x in places], SEED, kind.level, sink)
