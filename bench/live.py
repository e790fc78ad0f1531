"""All protocols on real nodes: `python -m bench.live [PROTOCOL ...] [--scene NAME ...] [--seeds N] [--go-on]`.

Whole nodes, as people run them, with their stores, keys and signatures: UDP over cables between network namespaces.
Where the scene says so, receivers lose a share of the datagrams. The clock does not wait (tests/support/warp.py), so
latencies are those of protocols, queues and airtime, not of this machine. Beside each result stands what the simulator
predicts for the same contacts, publications and losses: the mean of some seeds, with an ideal MAC.

Prints tables in Markdown, each cell with the simulator's prediction in brackets, and writes out/live.json, from which
`--go-on` continues. Needs root, for the namespaces. On a busy machine of two cores everything takes about half an hour.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from tests.support.namespaces import Namespaces
from tests.support.placed import Placed
from tests.support.sinks import MemorySink
from tests.support.warp import WarpLoop

from roamcast.log import schema
from roamcast.net.air.medium import Network
from roamcast.net.config import Config
from roamcast.net.host.senses import Senses
from roamcast.net.live import live_params
from roamcast.net.node.node import Node
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.seals import SEAL_BYTES
from roamcast.net.wire.addresses import Address
from roamcast.net.wire.costs import OVERHEAD_BYTES
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.pubsub.event import GLOBAL
from roamcast.pubsub.filters import topic
from roamcast.world.assembly import build
from roamcast.world.kernel import PlannedPublication, Subscription
from roamcast.world.scenario import Scenario

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "live.json"
EVENTS = 40
WARM_UP_S = 30.0
"""Trees and groups need some time to form."""
EVERY_S = 0.5
END_S = WARM_UP_S + EVENTS * EVERY_S + 60.0
VALIDITY_S = 600.0
MEMORY = Path("/dev/shm")
"""Stores are there, if it exists: the clock does not wait, but disks take their time."""
PAYLOAD_BYTES = 100
PARAMS: dict[str, dict[str, Any]] = {"gossip": {"p": 1.0}}
"""Where the default of real nodes would be unfair: gossip that forwards half of the time cannot cross a row."""
Link = tuple[int, int]


@dataclass(frozen=True)
class Scene:
    about: str
    nodes: int
    links: list[Link]
    subscribers: list[int]
    loss: float = 0.0
    changes: list[tuple[float, Link, bool]] = field(default_factory=list)  # when a link is joined or cut
    kills: list[tuple[float, float, int]] = field(default_factory=list)  # when a node is killed, and started again
    joins: dict[int, float] = field(default_factory=dict)  # when a node starts, if not at the beginning
    without: tuple[str, ...] = ()  # protocols that are left out


def row(n: int) -> list[Link]:
    return [(i, i + 1) for i in range(n - 1)]


MIDDLE_S = WARM_UP_S + EVENTS * EVERY_S / 2
HEALED_S = WARM_UP_S + EVENTS * EVERY_S + 10.0
RING = [(i, (i + 1) % 8) for i in range(8)] + [(i, i + 4) for i in range(4)]
HALVES = [*combinations(range(3), 2), *combinations(range(3, 6), 2)]
SCENES = {
    "row": Scene("a row of five; the last one subscribes, those between do not", 5, row(5), [4]),
    "lossy": Scene("the same, and every cable loses one frame in ten", 5, row(5), [4], loss=0.1),
    "lossy-all": Scene("the same, and all subscribe", 5, row(5), [1, 2, 3, 4], loss=0.1),
    "churn": Scene(
        "eight in a ring with four chords; four are killed while events come, and start again 5 s later",
        8,
        RING,
        list(range(1, 8)),
        kills=[(MIDDLE_S - 5.0 + 2.0 * k, MIDDLE_S + 2.0 * k, i) for k, i in enumerate((1, 3, 4, 6))],
    ),
    "late": Scene(
        "the subscriber starts 10 s after the last event, behind a relay that does not subscribe",
        3,
        row(3),
        [2],
        joins={2: HEALED_S},
    ),
    "partition": Scene(
        "two rooms of three; one link joins them 10 s after the last event",
        6,
        HALVES,
        [1, 2, 3, 4, 5],
        changes=[(HEALED_S, (2, 3), True)],
    ),
    "room": Scene(
        "thirty in one room, all subscribe, and every cable loses one frame in twenty",
        30,
        list(combinations(range(30), 2)),
        list(range(1, 30)),
        loss=0.05,
        without=(
            "flooding-periodic",
            "flooding-interest",
            "flooding-neighbors",
        ),  # each node sends each event every second
    ),
}


@dataclass
class Outcome:
    delivered: float  # pairs of an event and a subscriber
    pairs: int
    latency_s: float | None  # median; None if nothing arrived
    slow_s: float | None  # 95th percentile
    frames: float  # sent by all nodes, in all


def outcome(arrived: dict[tuple[int, int], float], scene: Scene, frames: float) -> Outcome:
    """`arrived`: latencies by (node, number of the event)."""
    late = sorted(arrived.values())
    return Outcome(
        len(late),
        EVENTS * len(scene.subscribers),
        statistics.median(late) if late else None,
        late[int(0.95 * (len(late) - 1))] if late else None,
        frames,
    )


def published_s(n: int) -> float:
    return WARM_UP_S + n * EVERY_S


def params_of(protocol: str) -> dict[str, Any]:
    return live_params(protocol) | PARAMS.get(protocol, {})


# ---- real nodes


class StillLoop(WarpLoop):
    """Threads do their work at once, so that the clock does not run on meanwhile."""

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future


class Standing(Senses):
    def speed(self) -> float:
        return 0.0


class Lossy(Placed):
    """Does not hear a share of the datagrams."""

    def __init__(self, network: Network, loop: WarpLoop, places: Namespaces, i: int, loss: float) -> None:
        super().__init__(network, loop, places, i)
        self.loss = loss
        self.chance = random.Random(i)

    def open(self, receive: Callable[[bytes, Address], None]) -> None:
        super().open(lambda data, source: receive(data, source) if self.chance.random() >= self.loss else None)


class Field:
    """The nodes of one run."""

    def __init__(self, scene: Scene, protocol: str, places: Namespaces, loop: StillLoop, folder: Path) -> None:
        self.scene = scene
        self.protocol = protocol
        self.places = places
        self.loop = loop
        self.folder = folder
        self.nodes: dict[int, Node] = {}
        self.readers: dict[int, asyncio.Task[None]] = {}
        self.arrived: dict[tuple[int, int], float] = {}
        self.frames = 0

    async def start(self, i: int) -> None:
        config = Config(
            state=str(self.folder / str(i)),
            key=str(self.folder / "group.key"),
            protocol=self.protocol,
            params=params_of(self.protocol),
        )
        medium = Lossy(Network(interface="air"), self.loop, self.places, i, self.scene.loss)
        node = Node(config, medium=medium, senses=Standing())
        await node.start()
        self.nodes[i] = node
        if i in self.scene.subscribers:
            self.readers[i] = asyncio.create_task(self.read(i, node))

    async def read(self, i: int, node: Node) -> None:
        async for event in node.subscribe("topic news", name="all"):
            n = int(event.attrs["n"])
            assert (i, n) not in self.arrived, "an event came twice"
            self.arrived[i, n] = self.loop.time() - published_s(n)

    async def kill(self, i: int) -> None:
        """As by `kill -9`: nothing is written any more."""
        node = self.nodes.pop(i)
        parts = node._parts
        assert parts is not None
        self.frames += parts.runner.tally.frames_out
        node._parts = None
        parts.runner.host.running = False
        parts.runner.lanes[0].medium.close()
        parts.runner.timers.clear()
        for task in [*parts.tasks, parts.writer._task, self.readers.pop(i, None)]:
            if task is not None:
                task.cancel()
        parts.store.close()

    async def run(self) -> Outcome:
        scene, loop = self.scene, self.loop
        deeds: list[tuple[float, Callable[[], Any]]] = []
        deeds += [(scene.joins.get(i, 0.0), lambda i=i: self.start(i)) for i in range(scene.nodes)]
        deeds += [(t, lambda link=link, up=up: self.join(link, up)) for t, link, up in scene.changes]
        for killed_s, back_s, i in scene.kills:
            deeds += [(killed_s, lambda i=i: self.kill(i)), (back_s, lambda i=i: self.start(i))]
        deeds += [(published_s(n), lambda n=n: self.publish(n)) for n in range(EVENTS)]
        for t, deed in sorted(deeds, key=lambda entry: entry[0]):
            await asyncio.sleep(max(0.0, t - loop.time()))
            await deed()
        await asyncio.sleep(END_S - loop.time())
        for i in list(self.nodes):
            await self.kill(i)
        await asyncio.sleep(0)
        return outcome(self.arrived, scene, self.frames)

    async def publish(self, n: int) -> None:
        await self.nodes[0].publish("news", {"n": n}, bytes(PAYLOAD_BYTES), validity_s=VALIDITY_S)

    async def join(self, link: Link, up: bool) -> None:
        self.places.join(*link, up)


def live(scene: Scene, protocol: str, places: Namespaces) -> Outcome:
    for link in combinations(range(scene.nodes), 2):
        places.join(*link, link in scene.links or link[::-1] in scene.links)
    loop = StillLoop()
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        KeyRing.new().save(Path(folder) / "group.key")
        try:
            return loop.run_until_complete(Field(scene, protocol, places, loop, Path(folder)).run())
        finally:
            loop.close()


# ---- the simulator


def contacts(scene: Scene) -> str:
    lines = [(scene.joins.get(max(link), 0.0), link, True) for link in scene.links] + scene.changes
    lines += [(END_S, link, False) for _, link, _ in lines]
    return "".join(f"{t:.6f} CONN {min(link)} {max(link)} {'up' if up else 'down'}\n" for t, link, up in sorted(lines))


def simulated(scene: Scene, protocol: str, seed: int, trace: Path) -> Outcome:
    trace.write_text(contacts(scene))
    world = Scenario(
        nodes=scene.nodes,
        mobility="contacts",
        trace=str(trace),
        duration_s=END_S,
        mac="ideal",
        loss=scene.loss,
        overhead_bytes=OVERHEAD_BYTES,
        publishers=1,
        subscribers=1,
        events=1,
    )
    run = build(world, seed, "frames", sink := MemorySink())
    content = bytes(PAYLOAD_BYTES + SEAL_BYTES)
    run.planned = [
        PlannedPublication(round(published_s(n) * 1e6), 0, "news", {"n": n}, content, round(VALIDITY_S * 1e6), GLOBAL)
        for n in range(EVENTS)
    ]
    chosen = registry.get(protocol)
    wishes = [Subscription(i, k, topic("news")) for k, i in enumerate(scene.subscribers)]
    run.populate(chosen, parameters.build(chosen, params_of(protocol), protocol), wishes)
    run.faults.keep_tables = True  # real nodes have theirs again after the catch-up
    run.start()
    deeds = [(round(t * 1e6), "crash", i) for t, _, i in scene.kills]
    deeds += [(round(t * 1e6), "recover", i) for _, t, i in scene.kills]
    for t_us, what, i in sorted(deeds):
        run.run(t_us)
        getattr(run, what)(run.stations[i], t_us)
    run.run(round(END_S * 1e6))
    return counted(scene, sink)


def counted(scene: Scene, sink: MemorySink) -> Outcome:
    arrived: dict[tuple[int, int], float] = {}
    frames = 0
    for t, node, kind, event, *_ in sink.rows:
        frames += kind == schema.SEND
        if kind == schema.DELIVER:
            n = (event & 0xFFFFFFFF) - 1
            arrived.setdefault((node, n), t / 1e6 - published_s(n))
    return outcome(arrived, scene, frames)


def predicted(scene: Scene, protocol: str, seeds: int) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        runs = [simulated(scene, protocol, seed, Path(folder) / "trace.txt") for seed in range(1, seeds + 1)]
    mean = {name: statistics.mean(getattr(run, name) for run in runs) for name in ("delivered", "frames")}
    middle = {name: _median([getattr(run, name) for run in runs]) for name in ("latency_s", "slow_s")}
    return Outcome(**mean, **middle, pairs=runs[0].pairs)


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


# ---- tables

Results = dict[str, dict[str, dict[str, Any]]]
"""By scene and protocol: {"live": …, "simulated": …}, the fields of `Outcome`."""


def delivered(one: dict[str, Any]) -> str:
    return f"{100 * one['delivered'] / one['pairs']:.0f} %"


def frames(one: dict[str, Any]) -> str:
    return f"{one['frames'] / EVENTS:.0f}"


def latency(one: dict[str, Any]) -> str:
    return f"{_time(one['latency_s'])}, {_time(one['slow_s'])}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def table(title: str, cell: Callable[[dict[str, Any]], str], results: Results, scenes: list[str]) -> str:
    lines = [f"| {title} | " + " | ".join(scenes) + " |", "|---" * (1 + len(scenes)) + "|"]
    for protocol in registry.names():
        cells = [
            f"{cell(done['live'])} ({cell(done['simulated'])})" if done else "–"
            for done in (results[scene].get(protocol) for scene in scenes)
        ]
        if any(cell_ != "–" for cell_ in cells):
            lines.append(f"| `{protocol}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def show(results: Results) -> None:
    scenes = [name for name in SCENES if name in results]
    titles = {"delivered": delivered, "frames per event": frames, "median and 95 % of latencies": latency}
    for title, cell in titles.items():
        print(f"\n{table(title, cell, results, scenes)}")


# ---- everything


def run_scene(name: str, protocols: list[str], seeds: int, results: Results) -> None:
    """Add to the results what they do not have yet; they are written after each protocol."""
    scene = SCENES[name]
    done = results.setdefault(name, {})
    left = [protocol for protocol in protocols if protocol not in done and protocol not in scene.without]
    if not left:
        return
    with Namespaces(scene.nodes) as places:
        for protocol in left:
            print(f"{name}: {protocol}", file=sys.stderr, flush=True)
            real, expected = live(scene, protocol, places), predicted(scene, protocol, seeds)
            done[protocol] = {"live": vars(real), "simulated": vars(expected)}
            OUT.parent.mkdir(exist_ok=True)
            OUT.write_text(json.dumps(results, indent=1))


def main() -> None:
    options = argparse.ArgumentParser(description="All protocols on real nodes, beside the simulator.")
    options.add_argument("protocols", nargs="*", metavar="PROTOCOL", help="all, unless some are named")
    options.add_argument("--scene", nargs="*", choices=SCENES, default=list(SCENES), metavar="NAME")
    options.add_argument("--seeds", type=int, default=3, help="simulations of each")
    options.add_argument("--go-on", action="store_true", help=f"keep what {OUT.relative_to(ROOT)} has, and do the rest")
    asked = options.parse_args()
    logging.disable()
    results: Results = json.loads(OUT.read_text()) if asked.go_on and OUT.exists() else {}
    for name in asked.scene:
        run_scene(name, asked.protocols or registry.names(), asked.seeds, results)
    show(results)


if __name__ == "__main__":
    main()
