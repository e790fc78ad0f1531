"""One run: build a world from a scenario, run it, and return its metrics."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from roamcast import __version__
from roamcast.errors import InputError
from roamcast.log import catalogue
from roamcast.log.schema import LEVELS
from roamcast.log.writer import LogSink, ParquetSink
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.interface import Params, Protocol
from roamcast.world.assembly import build, decodable, outlook
from roamcast.world.kernel import World
from roamcast.world.possible import possible_pairs, possible_pairs_at_once
from roamcast.world.scenario import Scenario
from roamcast.world.shared import Publications, SharedWorld, Switches
from roamcast.world.workload import Workload, micros

STEPS = 200
"""How often in a run progress is reported."""


@dataclass(frozen=True)
class Result:
    metrics: dict[str, Any]
    fingerprint: str
    wall_s: float
    cpu_s: float
    sim_s: float
    events: list[int]
    """The ids of published events, in order of time."""
    latencies_us: list[int]
    """The latency of every delivery to an interested node, in order of time."""


def simulate(
    scenario: Scenario,
    protocol: str | type[Protocol],
    params: dict[str, Any] | None = None,
    seed: int = 1,
    *,
    level: str = "summary",
    log: Path | None = None,
    run: str = "",
    progress: Callable[[float], None] | None = None,
    sink: LogSink | None = None,
    possible: bool = True,
    preset: str = "",
    shared: SharedWorld | None = None,
) -> Result:
    """Run `protocol` (a name or a class) in `scenario`. Rows go to the Parquet file `log`, or to `sink`, as far as
    `level` includes them.

    With `possible`, an ideal flood over the same contacts is computed, too, or taken from another run in the same
    `shared` world. `preset` is the name of the world, for people who read the log.
    """
    if level not in LEVELS:
        raise InputError(f"level={level}: must be one of {', '.join(LEVELS)}")
    chosen = registry.get(protocol) if isinstance(protocol, str) else protocol
    name = protocol if isinstance(protocol, str) else registry.name_of(protocol)
    settings = parameters.build(chosen, params or {}, name)
    if log is not None:
        sink = ParquetSink(log, run or run_id(scenario, name, settings, seed))
    elif sink is None:
        sink = LogSink()
    try:
        sink.describe(_description(preset, scenario, name, settings, seed))
        with _without_collecting():
            result = _run(scenario, chosen, settings, seed, level, sink, progress, possible, shared or SharedWorld())
        spent = {"fingerprint": result.fingerprint, "wall_s": result.wall_s, "cpu_s": result.cpu_s}
        sink.summarise(json.dumps({**result.metrics, **spent}))
        sink.close()
    except BaseException:
        sink.abandon()
        raise
    return result


def run_id(scenario: Scenario, protocol: str, params: Params, seed: int) -> str:
    """A name for a run: a digest of everything that decides it."""
    decides = [__version__, scenario.facts(), protocol, asdict(params), seed]
    return blake2b(json.dumps(decides, sort_keys=True).encode(), digest_size=8).hexdigest()


def _description(preset: str, scenario: Scenario, protocol: str, params: Params, seed: int) -> str:
    facts = {"version": __version__, "preset": preset, "protocol": protocol, "params": asdict(params), "seed": seed}
    return json.dumps({**facts, "scenario": scenario.facts()})


@contextmanager
def _without_collecting() -> Iterator[None]:
    """A run leaves no cycles worth collecting, and searching for them costs more than the run."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _run(
    scenario: Scenario,
    protocol: type[Protocol],
    params: Params,
    seed: int,
    level: str,
    sink: LogSink,
    progress: Callable[[float], None] | None,
    possible: bool,
    shared: SharedWorld,
) -> Result:
    world = build(scenario, seed, level, sink)
    workload = Workload(scenario, seed)
    world.planned = workload.publications
    world.populate(protocol, params, workload.subscriptions)
    began, began_cpu = time.perf_counter(), time.process_time()
    _go(world, micros(scenario.duration_s), progress)
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    metrics = _metrics(scenario, world, seed, shared if possible else None)
    recorder = world.recorder
    latencies = list(recorder.tally.latencies)
    digest = recorder.fingerprint.digest()
    world.dissolve()
    return Result(metrics, digest, wall_s, cpu_s, scenario.duration_s, recorder.events.ids(), latencies)


def _go(world: World, until: int, progress: Callable[[float], None] | None) -> None:
    world.start()
    if progress is None:
        world.run(until)
    else:
        for step in range(1, STEPS + 1):
            world.run(until * step // STEPS)
            progress(step / STEPS)
    world.finish(until)


def _metrics(scenario: Scenario, world: World, seed: int, shared: SharedWorld | None) -> dict[str, Any]:
    counted = world.recorder.tally.metrics()
    counted["energy_j"] = world.energy_j(micros(scenario.duration_s))
    counted["reachable"] = world.recorder.tally.messages * (scenario.nodes - 1)
    counted |= world.channel(micros(scenario.duration_s))
    happened = world.publications, world.switches
    counted["possible"] = None
    if shared is not None:
        counted["possible"] = shared.possible(*happened, lambda: what_was_possible(scenario, seed, *happened))
    return catalogue.complete(counted)


def what_was_possible(s: Scenario, seed: int, publications: Publications, switches: Switches) -> int:
    """Pairs (event, node) that an ideal flood could deliver in this world, given its publications and faults
    (world/possible.py).

    Only decodable links count, whatever the carrier-sense range.
    """
    if not publications:
        return 0
    begin_s, until = publications[0][0] / 1e6, micros(s.duration_s)
    ahead = None if switches else outlook(s, seed, begin_s, len(publications))
    if ahead is None:
        return possible_pairs(decodable(s, seed, begin_s), s.nodes, publications, switches, until)
    return possible_pairs_at_once(*ahead, lambda t: decodable(s, seed, t), s.nodes, publications, until)
