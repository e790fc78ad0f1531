"""A small world for tests: nodes at given places send given frames at given times.

    stage = Stage([(0, 0), (100, 0)])
    stage.send(0.001, 0)                     node 0 hands a frame of 400 bytes to its MAC after a millisecond
    stage.run(1.0)
    assert stage.heard(1) == [(0.00468, 0)]

The MAC's draws are known beforehand (`draws`), so instants can be computed by hand.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from roamcast.log import schema
from roamcast.protocols.kit.interface import Frame, Host, Params, Protocol
from roamcast.pubsub.event import FOREVER, GLOBAL, Event
from roamcast.pubsub.filters import Filter
from roamcast.world.assembly import standing
from roamcast.world.kernel import PlannedPublication, Subscription
from roamcast.world.queue import FAULT
from roamcast.world.specs import FaultSpec, LoraSpec, MacSpec, PowerSpec, RadioSpec, WorldSpec
from roamcast.world.streams import Stream
from tests.support.sinks import MemorySink

US = 1_000_000
RANGE_M = 150.0
PAYLOAD = 400
AIRTIME_US = 192 + 8 * (PAYLOAD + 36)
"""The airtime of that payload at 1 Mbit/s: 3.68 ms."""
SLOT_US, SIFS_US, DIFS_US, ACK_US = 20, 10, 50, 304
EIFS_US = SIFS_US + ACK_US + DIFS_US
NEVER_US = 1 << 38
LORA = LoraSpec()


class Words(Frame):
    """A given number of bytes, with a number that identifies the frame."""

    def __init__(self, number: int, size: int) -> None:
        super().__init__("words", 0, size)
        self.number = number

    def fields(self) -> list[Any]:
        return [self.number]


class Actor(Protocol):
    """Sends a frame for every publication, and records every call."""

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        self.frames_sent = 0
        self.happened: list[tuple[Any, ...]] = []

    def on_start(self) -> None:
        self.happened.append(("start", self.host.now()))

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.happened.append(("subscribe", self.host.now(), subscription, str(filter)))

    def on_publish(self, event: Event) -> None:
        timer = event.attrs.get("timer", -1)
        if isinstance(timer, int) and timer >= 0:
            self.host.set_timer(7, timer)
            return
        self.frames_sent += 1
        to = event.attrs.get("to", -1)
        words = Words(self.frames_sent, len(event.payload))
        if isinstance(to, int) and to >= 0:
            self.host.send(to, words)
        else:
            self.host.broadcast(words)

    def on_timer(self, key: int) -> None:
        self.happened.append(("timer", self.host.now()))

    def on_frame(self, frame: Frame, sender: int) -> None:
        assert isinstance(frame, Words)
        self.happened.append(("frame", self.host.now(), sender, frame.number, self.host.signal()))

    def on_undelivered(self, frame: Frame, to: int) -> None:
        assert isinstance(frame, Words)
        self.happened.append(("undelivered", self.host.now(), to, frame.number))


class Row(NamedTuple):
    t: int
    node: int
    kind: str
    event: int
    frame: int
    peer: int
    bytes: int
    value: int
    reason: str


def world_spec(
    *,
    access: str = "dcf",
    rate_bps: float = 1e6,
    queue: int = 50,
    retries: int = 7,
    law: str = "disc",
    range_m: float = RANGE_M,
    range_max_m: float = 0.0,
    per_frame: bool = False,
    carrier_sense_ratio: float = 1.0,
    capture_db: float = 10.0,
    exponent: float = 3.0,
    shadowing_db: float = 0.0,
    loss: float = 0.0,
    partition_us: tuple[int, int] = (0, 0),
    wall_m: float = 0.0,
    keep_tables: bool = False,
    lora: LoraSpec = LORA,
) -> WorldSpec:
    return WorldSpec(
        mac=MacSpec(name=access, rate_bps=rate_bps, queue=queue, retries=retries, lora=lora),
        radio=RadioSpec(
            name=law,
            range_m=range_m,
            range_max_m=range_max_m,
            range_per="frame" if per_frame else "node",
            carrier_sense_ratio=carrier_sense_ratio,
            capture_db=capture_db,
            path_loss_exponent=exponent,
            shadowing_db=shadowing_db,
            lora=lora,
        ),
        faults=FaultSpec(
            keep_tables=keep_tables,
            partition_from_us=partition_us[0],
            partition_until_us=partition_us[1],
            wall_m=wall_m,
            loss=loss,
        ),
        power=PowerSpec(battery_j=1000.0),
    )


class Stage:
    def __init__(
        self,
        positions: list[tuple[float, float]],
        *,
        ranges: list[float] | None = None,
        seed: int = 1,
        level: str = "frames",
        **world: Any,
    ) -> None:
        """`world` is for `world_spec`."""
        self.seed = seed
        self.sink = MemorySink()
        self.world = standing(world_spec(**world), positions, seed, level, self.sink, ranges)
        self.stations = self.world.stations
        self.mac = self.world.mac
        self.radio = self.world.radio
        self.faults = self.world.faults
        self.recorder = self.world.recorder
        self.subscriptions: list[Subscription] = []
        self.script: list[PlannedPublication] = []
        self.switches: list[tuple[int, int, int]] = []

    # ---- the script

    def send(self, t_s: float, node: int, to: int = -1, size: int = PAYLOAD) -> None:
        self.script.append(PlannedPublication(round(t_s * US), node, "", {"to": to}, bytes(size), FOREVER, GLOBAL))

    def wind(self, t_s: float, node: int, delay_s: float) -> None:
        """Let the node set a timer."""
        attrs: dict[str, Any] = {"timer": round(delay_s * US)}
        self.script.append(PlannedPublication(round(t_s * US), node, "", attrs, b"", FOREVER, GLOBAL))

    def switch(self, t_s: float, node: int, what: int) -> None:
        """A fault of faults.py at this instant; no other one follows from it."""
        self.switches.append((round(t_s * US), node, what))

    def run(self, seconds: float, protocol: type[Actor] = Actor) -> Stage:
        self.world.planned = sorted(self.script, key=lambda p: (p.t, p.node))
        self.world.populate(protocol, Params(), self.subscriptions)
        self.world.start()
        self.faults.awake = self.faults.asleep = NEVER_US
        self.faults.crash_mean = self.faults.repair_mean = NEVER_US
        for t, node, what in self.switches:
            self.world.events.push(t, FAULT, node, 0, what)
        self.world.run(round(seconds * US))
        self.world.finish(round(seconds * US))
        return self

    # ---- results; instants in microseconds

    def draws(self, node: int, *windows: int) -> list[int]:
        """The first numbers that this node's MAC draws."""
        chance = Stream(self.seed, node, "mac")
        return [int(chance.below(window)) for window in windows]

    def rows(self, kind: str, node: int | None = None) -> list[Row]:
        named = [Row(r[0], r[1], schema.KINDS[r[2]], *r[3:]) for r in self.sink.rows]
        return [row for row in named if row.kind == kind and node in (None, row.node)]

    def sent(self, node: int) -> list[int]:
        """When its frames went on the air."""
        return [row.t for row in self.rows("send", node)]

    def heard(self, node: int) -> list[tuple[int, int]]:
        """(time, sender)"""
        return [(row.t, row.peer) for row in self.rows("receive", node)]

    def lost(self, node: int) -> list[tuple[int, str]]:
        """(time, reason)"""
        return [(row.t, row.reason) for row in self.rows("lose", node)]

    def happened(self, node: int, what: str) -> list[tuple[Any, ...]]:
        actor = self.stations[node].protocol
        assert isinstance(actor, Actor)
        return [entry[1:] for entry in actor.happened if entry[0] == what]
