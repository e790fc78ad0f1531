"""The file by which ns-3 gets a world of roamcast: a line for each setting, each leg of a node, and each publication.

    NAME VALUE
    leg NODE START_S X_M Y_M VX_MPS VY_MPS
    publish AT_US NODE BYTES COUNT NODE...        the nodes that are interested, without the publisher

BYTES are those of the frame without the encoding of its age, which grows on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from roamcast.log.writer import LogSink
from roamcast.protocols.gossip import Gossip
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.wire import uint_size
from roamcast.pubsub.event import Event
from roamcast.world import mobility
from roamcast.world.assembly import build, traffic_of
from roamcast.world.kernel import World
from roamcast.world.mobility import Leg
from roamcast.world.scenario import Scenario
from roamcast.world.streams import Stream
from roamcast.world.workload import Workload, micros

SETTINGS = ("nodes", "radio", "range_m", "range_max_m", "carrier_sense_ratio", "capture_db", "crossover_m", "rate_bps")
"""Fields of the scenario that are passed on as they are."""


def write(path: Path, scenario: Scenario, params: dict[str, Any], seed: int) -> None:
    """Runs the world first: which nodes an event is for may depend on where they are when it is published."""
    world = build(scenario, seed, "summary", LogSink())
    workload = Workload(scenario, seed)
    world.planned = workload.publications
    world.populate(Gossip, parameters.build(Gossip, params, "gossip"), workload.subscriptions)
    world.start()
    world.run(micros(scenario.duration_s))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines(scenario, seed, params, world)))


def lines(scenario: Scenario, seed: int, params: dict[str, Any], world: World) -> Iterator[str]:
    """The world of this scenario and seed, with gossip's parameters. `world` has run."""
    for name in SETTINGS:
        yield f"{name} {getattr(scenario, name)}"
    yield f"queue {scenario.queue}"
    yield f"seconds {scenario.duration_s}"
    yield f"seed {seed}"
    yield f"p {params['p']}"
    yield f"jitter_us {params['jitter_ms'] * 1000.0}"
    for node, leg in legs(scenario, seed):
        yield f"leg {node} {leg.start_s!r} {leg.x!r} {leg.y!r} {leg.vx!r} {leg.vy!r}"
    yield from publications(world)


def legs(scenario: Scenario, seed: int) -> Iterator[tuple[int, Leg]]:
    """Every leg that a node begins before the end of the run."""
    places = traffic_of(scenario, seed)
    model = mobility.build(scenario, places)
    for node in range(scenario.nodes):
        stream = Stream(places, node, "mobility")
        leg = model.first(node, stream)
        yield node, leg
        while leg.end_s < scenario.duration_s:
            leg = model.next(node, leg, stream)
            yield node, leg


def publications(world: World) -> Iterator[str]:
    planned = zip(world.planned, world.recorder.events.ids(), world.publications, strict=True)
    for p, id, (t, node, _, interested) in planned:
        frame = EventFrame(Event(id, p.topic, p.attrs, p.payload, p.validity_us, p.scope), 0, 0)
        others = [str(i) for i in interested if i != node]
        yield " ".join(["publish", str(t), str(node), str(frame.size - uint_size(0)), str(len(others)), *others])
