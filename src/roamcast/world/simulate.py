"""One run: build a world from a scenario, let it go, and say what came of it."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from roamcast import __version__
from roamcast.errors import InputError
from roamcast.log import catalogue
from roamcast.log.recorder import Power, Recorder
from roamcast.log.schema import LEVELS
from roamcast.log.writer import LogSink, ParquetSink
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.interface import Params
from roamcast.world import links, mac, mobility
from roamcast.world.contacts import KineticContacts, Neighbourhood
from roamcast.world.faults import Faults
from roamcast.world.kernel import World
from roamcast.world.possible import possible_pairs
from roamcast.world.queue import event_queue
from roamcast.world.radio import Radio
from roamcast.world.scenario import Scenario
from roamcast.world.station import Station
from roamcast.world.streams import Stream
from roamcast.world.workload import Workload, micros

SAMPLES = 20
"""How often in a run everybody's routing state is looked at."""
STEPS = 200
"""How often in a run progress is told."""


@dataclass(frozen=True)
class Result:
    metrics: dict[str, Any]
    fingerprint: str
    wall_s: float
    cpu_s: float
    sim_s: float


def simulate(
    scenario: Scenario,
    protocol: str,
    params: dict[str, Any] | None = None,
    seed: int = 1,
    *,
    level: str = "summary",
    log: Path | None = None,
    run: str = "",
    progress: Callable[[float], None] | None = None,
    sink: LogSink | None = None,
    possible: bool = True,
) -> Result:
    """Run `protocol` in `scenario`. Rows go to the Parquet file `log`, or to `sink`, as far as `level` asks for them.

    `possible` tells whether to find out what an ideal flood could have delivered.
    """
    if level not in LEVELS:
        raise InputError(f"level={level}: must be one of {', '.join(LEVELS)}")
    chosen = registry.get(protocol)
    settings = parameters.build(chosen, params or {}, protocol)
    if log is not None:
        sink = ParquetSink(log, run or run_id(scenario, protocol, settings, seed))
    elif sink is None:
        sink = LogSink()
    try:
        world = build(scenario, seed, level, sink)
        workload = Workload(scenario, seed)
        world.agenda = workload.publications
        world.populate(chosen, settings, workload.subscriptions)
        began, began_cpu = time.perf_counter(), time.process_time()
        _go(world, micros(scenario.duration_s), progress)
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
        metrics = _metrics(scenario, world, seed, possible)
        fingerprint = world.recorder.fingerprint()
        told = {**metrics, "fingerprint": fingerprint, "wall_s": wall_s, "cpu_s": cpu_s}
        sink.summarise(json.dumps(told))
        sink.close()
    except BaseException:
        sink.abandon()
        raise
    return Result(metrics, fingerprint, wall_s, cpu_s, scenario.duration_s)


def run_id(scenario: Scenario, protocol: str, params: Params, seed: int) -> str:
    """A name for a run: a digest of all that decides it."""
    decides = [__version__, msgspec.to_builtins(scenario), protocol, asdict(params), seed]
    return blake2b(json.dumps(decides, sort_keys=True).encode(), digest_size=8).hexdigest()


def traffic_of(s: Scenario, seed: int) -> int:
    """The seed of what is there before anybody sends: where nodes are when, their own ranges, shadowing, faults.

    Everything else comes from the run's seed: who publishes what and when, and the dice of protocols and of frames
    (back-off, a range for each frame, losses by chance).
    """
    return s.traffic_seed or seed


def build(scenario: Scenario, seed: int, level: str, sink: LogSink) -> World:
    s = scenario
    ranges = _ranges(s, seed)
    radio = _radio(s, ranges, seed)
    reaches = [radio.reach(s.range_max_m if radio.per_frame else r) for r in ranges]
    motion = _motion(s, seed, reaches)
    faults = _faults(s, seed)
    _leave_out(s, faults)
    if s.radio == "table":
        links.wire(s, radio, faults)
    events = event_queue()
    recorder = Recorder(s.nodes, level, sink, Power(s.tx_w, s.rx_w, s.idle_w, s.sleep_w, s.battery_j))
    access = mac.build(s.mac, s.rate_bps, s.queue, s.retries, s.overhead_bytes)
    made = {i: Station(i, seed, events, access, radio, motion, recorder) for i in _by_place(s, motion)}
    stations = [made[i] for i in range(s.nodes)]
    world = World(events, stations, motion, access, radio, recorder, faults, seed)
    world.by_place = list(made.values())
    world.local_range_m = s.local_range_m
    world.sample_every = max(1, micros(s.duration_s) // SAMPLES)
    return world


def _by_place(s: Scenario, motion: Neighbourhood) -> list[int]:
    """Nodes in the order of the patches they start in. Objects that are made one after the other lie together in
    memory, and a flood goes from neighbour to neighbour: with thousands of nodes that saves a tenth of a run."""
    patch_m = 4.0 * s.range_m

    def patch(i: int) -> tuple[float, float]:
        x, y = motion.position(i, 0.0)
        return x // patch_m, y // patch_m

    return sorted(range(s.nodes), key=patch)


def _go(world: World, until: int, progress: Callable[[float], None] | None) -> None:
    """Nothing in a run makes cycles worth collecting, and looking for them costs more than the run."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        world.start()
        if progress is None:
            world.run(until)
        else:
            for step in range(1, STEPS + 1):
                world.run(until * step // STEPS)
                progress(step / STEPS)
        world.finish(until)
    finally:
        if collecting:
            gc.enable()


def _metrics(scenario: Scenario, world: World, seed: int, possible: bool) -> dict[str, Any]:
    counted = world.recorder.metrics()
    counted["energy_j"] = world.energy_j(micros(scenario.duration_s))
    counted["possible"] = what_was_possible(scenario, seed, world.told, world.switched) if possible else None
    return catalogue.complete(counted)


def what_was_possible(
    s: Scenario, seed: int, told: list[tuple[int, int, int, list[int]]], switched: list[tuple[int, int, bool]]
) -> int:
    """Pairs that an ideal flood could serve in this world, given who told what and who was up (world/possible.py).

    Only decodable links count, whatever the carrier-sense range.
    """
    radio = _radio(s, _ranges(s, seed), seed)
    decodable = [radio.farthest(s.range_max_m if radio.per_frame else r) for r in radio.ranges]
    return possible_pairs(_motion(s, seed, decodable), s.nodes, told, switched, micros(s.duration_s))


def _ranges(s: Scenario, seed: int) -> list[float]:
    if s.range_max_m > s.range_m and s.range_per == "node":
        traffic = traffic_of(s, seed)
        return [Stream(traffic, i, "range").uniform(s.range_m, s.range_max_m) for i in range(s.nodes)]
    return [s.range_m] * s.nodes


def _radio(s: Scenario, ranges: list[float], seed: int) -> Radio:
    per_frame = s.range_max_m > s.range_m and s.range_per == "frame"
    return Radio(
        s.radio,
        s.range_m,
        s.range_max_m,
        ranges,
        per_frame,
        s.carrier_sense_ratio,
        s.capture_db,
        s.crossover_m,
        s.path_loss_exponent,
        s.shadowing_db,
        seed,
        traffic_of(s, seed),
    )


def _motion(s: Scenario, seed: int, reaches: list[float]) -> Neighbourhood:
    if s.radio == "table":
        return links.neighbourhood(s)
    if s.mobility == "contacts":
        return links.contacts(s)
    traffic = traffic_of(s, seed)
    return KineticContacts(mobility.build(s, traffic), s.nodes, traffic, reaches)


def _leave_out(s: Scenario, faults: Faults) -> None:
    """Nodes that an imported movement does not always have."""
    absences = mobility.absences(s)
    if absences and (s.asleep_s or s.crash_mean_s):
        field = "asleep_s" if s.asleep_s else "crash_mean_s"
        raise InputError(f"{field} must be 0: trace={s.trace} says itself when nodes are there")
    faults.leave_out(absences)


def _faults(s: Scenario, seed: int) -> Faults:
    return Faults(
        s.nodes,
        traffic_of(s, seed),
        micros(s.awake_s),
        micros(s.asleep_s),
        micros(s.crash_mean_s),
        micros(s.repair_mean_s),
        s.keep_tables,
        micros(s.partition_from_s),
        micros(s.partition_until_s),
        s.width_m / 2,
        s.loss,
    )
