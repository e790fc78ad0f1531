"""Worlds are put together here, from a scenario or from specifications and places."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, pi

from roamcast.errors import InputError
from roamcast.log.writer import LogSink
from roamcast.world import links, mac, mesh, mobility, parts
from roamcast.world import radio as radios
from roamcast.world.air import Medium
from roamcast.world.air.medium import MARGIN
from roamcast.world.contacts.kinetic import KineticContacts
from roamcast.world.contacts.neighbourhood import Neighbourhood
from roamcast.world.contacts.sought import SoughtContacts
from roamcast.world.courtesy import Courtesy
from roamcast.world.faults import Faults
from roamcast.world.kernel import World
from roamcast.world.mac.lora import Lora as LoraMac
from roamcast.world.mobility.static import Placed
from roamcast.world.outlook import PAIR, Outlook
from roamcast.world.queue import event_queue
from roamcast.world.radio import Lora, Radio, Table
from roamcast.world.recorder import Recorder
from roamcast.world.scenario import Scenario
from roamcast.world.specs import FaultSpec, LoraSpec, MacSpec, PowerSpec, RadioSpec, WorldSpec
from roamcast.world.station import Station
from roamcast.world.workload import micros

SAMPLES = 20
"""How often in a run the routing state of all nodes is sampled."""
MANY = 1000
"""So many nodes do not fit into the cache of a processor."""

OPEN = ("waypoint", "direction", "gauss-markov")
"""Models of movement in an area without streets."""
CHANGE = 55.0
"""Foreseeing a change takes as long as looking at so many nodes, …"""
LOOK = 10.0
"""… and a look takes as long as looking at so many, beside those at which it looks."""
FLOODED = 1000
"""A guess: few floods reach more nodes, since hops are limited, however many nodes there are."""


def build(scenario: Scenario, seed: int, level: str, sink: LogSink) -> World:
    """The world of a scenario, without a protocol."""
    s = scenario
    spec = spec_of(s, seed)
    radio = radio_of(s, seed)
    access = mac.build(spec.mac)
    motion = contacts_of(s, seed, radio, heard_ranges(radio, access, s.nodes))
    faults = Faults(spec.faults, s.nodes, traffic_of(s, seed))
    _leave_out(s, faults)
    if isinstance(radio, Table):
        links.wire(s, radio, faults)
    elif isinstance(radio, Lora) and s.links:
        links.override(s, radio, faults)
    world = assemble(spec, access, radio, motion, faults, seed, level, sink, _by_place(s, motion))
    world.local_range_m = s.local_range_m
    if s.polite and isinstance(world.mac, LoraMac):
        world.courtesy = Courtesy(world.mac)
    world.sample_every = max(1, micros(s.duration_s) // SAMPLES)
    return world


def standing(
    spec: WorldSpec,
    positions: list[tuple[float, float]],
    seed: int,
    level: str,
    sink: LogSink,
    ranges: list[float] | None = None,
) -> World:
    """A world of nodes that stand at given places, with given ranges if they differ."""
    n = len(positions)
    radio = radios.build(spec.radio, n, seed, ranges=ranges)
    access = mac.build(spec.mac)
    motion = KineticContacts(Placed(positions), n, seed, heard_ranges(radio, access, n))
    return assemble(spec, access, radio, motion, Faults(spec.faults, n, seed), seed, level, sink, range(n))


def assemble(
    spec: WorldSpec,
    access: mac.Mac,
    radio: Radio,
    motion: Neighbourhood,
    faults: Faults,
    seed: int,
    level: str,
    sink: LogSink,
    order: Iterable[int],
) -> World:
    """Stations are made in this `order`, and so lie in memory in it."""
    events = event_queue(len(radio.ranges))
    access.settle(len(radio.ranges))
    recorder = Recorder(len(radio.ranges), level, sink, spec.power)
    made = {i: Station(i, seed, events, access, radio, motion, recorder) for i in order}
    stations = [made[i] for i in range(len(made))]
    world = World(Medium(events, stations, motion, access, radio, recorder, faults, seed))
    world.by_place = list(made.values())
    return world


def spec_of(s: Scenario, seed: int = 0) -> WorldSpec:
    """The specification of a scenario's world. The seed is that of the run; only parts from outside may need it
    here."""
    places = traffic_of(s, seed)
    lora = mesh.spec_of(s, places) if "lora" in (s.mac, s.radio) else LoraSpec()
    return WorldSpec(
        mac=MacSpec(
            name=s.mac,
            rate_bps=s.rate_bps,
            queue=s.queue,
            retries=s.retries,
            overhead_bytes=s.overhead_bytes,
            lora=lora,
            outside=parts.MAC.make(s, places) if parts.MAC.outside(s.mac) else None,
        ),
        radio=RadioSpec(
            name=s.radio,
            range_m=s.range_m,
            range_max_m=s.range_max_m,
            range_per=s.range_per,
            carrier_sense_ratio=s.carrier_sense_ratio,
            capture_db=s.capture_db,
            crossover_m=s.crossover_m,
            path_loss_exponent=s.path_loss_exponent,
            shadowing_db=s.shadowing_db,
            lora=lora,
            outside=parts.RADIO.make(s, places) if parts.RADIO.outside(s.radio) else None,
        ),
        faults=FaultSpec(
            awake_us=micros(s.awake_s),
            asleep_us=micros(s.asleep_s),
            crash_mean_us=micros(s.crash_mean_s),
            repair_mean_us=micros(s.repair_mean_s),
            keep_tables=s.keep_tables,
            partition_from_us=micros(s.partition_from_s),
            partition_until_us=micros(s.partition_until_s),
            wall_m=s.width_m / 2,
            loss=s.loss,
        ),
        power=PowerSpec(tx_w=s.tx_w, rx_w=s.rx_w, idle_w=s.idle_w, sleep_w=s.sleep_w, battery_j=s.battery_j),
    )


def traffic_of(s: Scenario, seed: int) -> int:
    """The seed of everything that does not depend on frames: movement, the ranges of nodes, shadowing, faults.

    Everything else comes from the run's seed: which nodes publish what and when, and the random numbers of protocols
    and of frames (back-off, a range for each frame, losses by chance).
    """
    return s.traffic_seed or seed


def radio_of(s: Scenario, seed: int) -> Radio:
    return radios.build(spec_of(s, seed).radio, s.nodes, seed, traffic_of(s, seed))


def heard_ranges(radio: Radio, access: mac.Mac, nodes: int) -> list[float]:
    """How far away the air must visit stations. Where no frame disturbs another, those that only sense a frame need no
    visit. A few more than can decode it do no harm, because its strength decides."""
    sensed = [radio.sensed_up_to(radio.longest(i)) for i in range(nodes)]
    if access.contends:
        return sensed
    return [min(far, (1.0 + MARGIN) * near) for far, near in zip(sensed, decodable_ranges(radio, nodes), strict=True)]


def decodable_ranges(radio: Radio, nodes: int) -> list[float]:
    return [radio.farthest(radio.longest(i)) for i in range(nodes)]


def contacts_of(s: Scenario, seed: int, radio: Radio, reaches: list[float]) -> Neighbourhood:
    if not worth_seeking(s, radio, reaches):
        return motion_of(s, seed, reaches)
    traffic = traffic_of(s, seed)
    return SoughtContacts(mobility.build(s, traffic), s.nodes, traffic, reaches)


def in_the_open(s: Scenario, radio: Radio) -> bool:
    """Whether nodes walk in an area without streets, and their distance alone decides who hears whom."""
    return s.mobility in OPEN and not s.positions and not isinstance(radio, Lora | Table)


def worth_seeking(s: Scenario, radio: Radio, reaches: list[float]) -> bool:
    """Whether foreseeing all changes of contacts takes longer than looking for hearers at each frame, about: at the
    nodes of nine cells. Results are the same either way."""
    if not in_the_open(s, radio) or parts.RADIO.outside(s.radio):
        return False
    return foreseeing_per_s(s, min(reaches), max(reaches)) > (LOOK + nodes_around(s, max(reaches))) * frames_per_s(s)


def nodes_around(s: Scenario, reach: float) -> float:
    """How many nodes are in nine cells, about."""
    return s.nodes * min(1.0, 9.0 * reach**2 / (s.width_m * s.height_m))


def foreseeing_per_s(s: Scenario, least: float, most: float) -> float:
    """At how many nodes one could look in the time that it takes to foresee the changes of a second. Each leg of a node
    is held against those of the nodes around it; only Gauss-Markov's legs are so short that it matters."""
    legs = s.nodes / s.step_s if s.mobility == "gauss-markov" else 0.0
    return CHANGE * changes_per_s(s, least) + PAIR * legs * nodes_around(s, most)


def changes_per_s(s: Scenario, reach: float) -> float:
    """How many contacts begin or end in a second, about, if no node rests: a node that is faster than others by 4/π of
    the mean speed, on average, sweeps over them with the width of its reach."""
    faster = (s.speed_min_mps + s.speed_max_mps) / 2.0 * 4.0 / pi
    return s.nodes * 2.0 * reach * faster * s.nodes / (s.width_m * s.height_m)


def frames_per_s(s: Scenario) -> float:
    """How many frames are sent in a second, about, if every second node of those that a flood reaches forwards it."""
    events = s.publishers * s.rate_hz
    if s.events:
        events = s.events / max(1.0, (s.publish_until_s or s.duration_s) - s.publish_from_s)
    return events * min(s.nodes, FLOODED) / 2.0


def motion_of(s: Scenario, seed: int, ranges: list[float], from_s: float = 0.0) -> Neighbourhood:
    if s.radio == "table":
        return links.neighbourhood(s)
    if s.mobility == "contacts":
        return links.contacts(s)
    moving = _moving(s, seed, ranges, from_s)
    if s.radio == "lora" and s.links:
        links.connect(s, moving)
    return moving


def _moving(s: Scenario, seed: int, ranges: list[float], from_s: float = 0.0) -> Neighbourhood:
    traffic = traffic_of(s, seed)
    return KineticContacts(mobility.build(s, traffic), s.nodes, traffic, ranges, from_s)


def decodable(s: Scenario, seed: int, from_s: float = 0.0) -> Neighbourhood:
    """Who can decode whom from a certain time on, for an ideal flood (possible.py)."""
    radio = radio_of(s, seed)
    ranges = decodable_ranges(radio, s.nodes)
    if not isinstance(radio, Lora) or s.mobility == "contacts":
        return motion_of(s, seed, ranges, from_s)
    moving = _moving(s, seed, ranges)
    _cut_weak_links(radio, moving, s.nodes)
    if s.links:
        links.connect(s, moving)
    return moving


def outlook(s: Scenario, seed: int, from_s: float, events: int) -> tuple[Outlook, float] | None:
    """The same without contacts, where that is less work for so many events; and how much work contacts would be."""
    radio = radio_of(s, seed)
    if not in_the_open(s, radio):
        return None
    ranges = decodable_ranges(radio, s.nodes)
    work = foreseeing_per_s(s, min(ranges), max(ranges)) * (s.duration_s - from_s)
    if events * looks_of_flood(s, min(ranges)) > work:
        return None
    traffic = traffic_of(s, seed)
    return Outlook(mobility.build(s, traffic), s.nodes, traffic, ranges, from_s), work


def looks_of_flood(s: Scenario, reach: float) -> float:
    """At how many nodes an ideal flood looks, about: one in every disc passes the event on, and looks at all nodes that
    are left, on average half of them."""
    return s.nodes / 2.0 * max(1.0, s.width_m * s.height_m / (pi * reach * reach))


def _cut_weak_links(radio: Lora, moving: Neighbourhood, nodes: int) -> None:
    """Between LoRa nodes that stand, antennas and shadowing decide for each pair, and not how far a node can reach."""
    standing = [moving.leg_end(i) == inf for i in range(nodes)]
    places = [moving.position(i, 0.0) for i in range(nodes)]
    for i in range(nodes):
        for j in [int(each) for each in moving.hearers[i]]:
            if standing[i] and standing[j]:
                dx, dy = places[i][0] - places[j][0], places[i][1] - places[j][1]
                moving.hearers.put(i, j, radio.strength(i, j, 0.0, dx * dx + dy * dy) >= 1.0)


def _by_place(s: Scenario, motion: Neighbourhood) -> list[int]:
    """Nodes in the order of the patches they start in. Objects that are made one after the other lie together in
    memory, and a flood goes from neighbour to neighbour: with thousands of nodes that saves a tenth of a run."""
    if s.nodes < MANY:
        return list(range(s.nodes))
    patch_m = 4.0 * s.range_m

    def patch(i: int) -> tuple[float, float]:
        x, y = motion.position(i, 0.0)
        return x // patch_m, y // patch_m

    return sorted(range(s.nodes), key=patch)


def _leave_out(s: Scenario, faults: Faults) -> None:
    """Nodes are down while an imported movement does not have them."""
    absences = mobility.absences(s)
    if absences and (s.asleep_s or s.crash_mean_s):
        field = "asleep_s" if s.asleep_s else "crash_mean_s"
        raise InputError(f"{field} must be 0: trace={s.trace} already says when nodes are present")
    faults.leave_out(absences)
