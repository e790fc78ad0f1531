"""A field test on one machine: twelve nodes with the contacts of simulated ones, over real sockets.

Contacts are those of nodes that move by a model. The same contacts, publications and subscriptions are simulated
(`mobility=contacts`) under other seeds, which draw the protocols' delays and decisions; real runs differ in these, too.
The mean delivery ratio of the real runs must lie within the 95 % interval for the mean of as many further simulations:
mean ± t · s · √(1/real + 1/simulated).

Every node has its own network namespace, and cables are cut and joined (tests/support/namespaces.py). Where that is not
permitted, all are on the loopback interface behind walls in software, with a warning. In both cases everything is
encrypted and signed, and the nodes are on one loop whose clock does not wait (tests/support/warp.py): otherwise the
test would take a minute and a half, and a busy machine would add delays. test_processes.py has nodes that are processes
in real time. Where the kernel can lose frames (`tc netem`), it does, and so does the simulation. A delay by the kernel
would have no meaning for a clock that does not wait.

Four things differ between a cable and the simulator's radio, and the interval is narrow enough to show them. So they
are made equal here:
  - a cable takes no time. At a megabit a second, nodes whose delays differ by less than a frame's airtime all send
    before they hear each other: proximity sends 13 % more events, and delivers one more in a hundred;
  - a node finds out by six attempts, 0.44 s in all, that a neighbour has gone; the simulator's ideal MAC knows at once.
    With these pauses subtree delivers five fewer in a hundred;
  - a cable does not say how strong a signal is; in the simulator all nodes of a contact list are at one place, and hear
    each other well. Treegroup's leaders are chosen by signals: without them it delivers two fewer in a hundred;
  - the kernel hands out what comes at one moment in an order of its own, and the simulator in that of its stations
    (tests/support/warp.py). In the kernel's order treegroup delivers three fewer in a hundred.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from roamcast.net.air.medium import Network
from roamcast.net.air.udp import UdpMedium
from roamcast.net.host.runner import Runner
from roamcast.net.host.senses import Senses
from roamcast.net.limits import Limits
from roamcast.net.trust.seals import SEAL_BYTES
from roamcast.net.wire.costs import OVERHEAD_BYTES
from roamcast.protocols import registry
from roamcast.world.assembly import build, decodable
from roamcast.world.contacts.neighbourhood import LinkObserver
from roamcast.world.kernel import PlannedPublication
from roamcast.world.scenario import Scenario
from roamcast.world.workload import Workload
from tests.conformance.real import PORT, Walled, members
from tests.support.log_metrics import metrics
from tests.support.namespaces import Namespaces
from tests.support.placed import Placed
from tests.support.sinks import MemorySink
from tests.support.warp import WarpLoop

NODES = 12
SECONDS = 90.0
LOSS = 0.05
SEEDS = range(1, 41)
OURS = 0
"""The seed of the publications and subscriptions."""
RUNS = 3
AT_ONCE = Limits(ack_timeout_s=0.0005, ack_timeout_max_s=0.001)
CABLE_BPS = 1e9
STRONG_DBM = -30.0
ROUNDING = 1e-9
"""The smallest half width of the interval: frugal always delivers everything."""
PROTOCOLS = ["proximity", "frugal", "roam", "semiprob", "psamanet", "treegroup", "subtree"]
GROUP = "239.255.251.1"

Change = tuple[float, int, int, bool]


def walk() -> Scenario:
    """The source of contacts: people who walk in a square."""
    return Scenario(
        nodes=NODES,
        width_m=300.0,
        height_m=300.0,
        range_m=110.0,
        speed_min_mps=2.0,
        speed_max_mps=6.0,
        duration_s=SECONDS,
        events=1,
        mac="ideal",
    )


class Changes(LinkObserver):
    def __init__(self) -> None:
        self.changes: list[Change] = []

    def link(self, t: float, i: int, j: int, up: bool) -> None:
        if i < j:
            self.changes.append((t, i, j, up))


def contacts() -> list[Change]:
    """(t, i, j, joined), in order."""
    motion = decodable(walk(), 7)
    seen = Changes()
    seen.changes = [(0.0, i, int(j), True) for i in range(NODES) for j in motion.hearers[i] if i < j]
    motion.observer = seen
    while motion.next < SECONDS:
        motion.advance(motion.next)
    return seen.changes


def scenario(trace: Path, loss: float) -> Scenario:
    return Scenario(
        nodes=NODES,
        mobility="contacts",
        trace=str(trace),
        duration_s=SECONDS,
        mac="ideal",
        rate_bps=CABLE_BPS,
        loss=loss,
        overhead_bytes=OVERHEAD_BYTES,
        publishers=3,
        subscribers=6,
        events=24,
        publish_from_s=30.0,
        publish_until_s=60.0,
        validity_s=30.0,
        payload_bytes=100 + SEAL_BYTES,
    )


class Standing(Senses):
    """A contact list has no places: in the simulator all nodes are at one, do not move, and hear each other well."""

    def speed(self) -> float:
        return 0.0

    def signal(self) -> float:
        return STRONG_DBM


# ---- places of nodes


class Air:
    """Which nodes hear each other: by cables between namespaces, or by walls on the loopback interface."""

    def __init__(self, loop: WarpLoop, places: Namespaces | None) -> None:
        self.loop = loop
        self.places = places
        self.joined: set[tuple[int, int]] = set()
        self.walled: dict[int, list[Walled]] = {}  # by port

    def media(self, port: int) -> list[UdpMedium]:
        if self.places is not None:
            return [Placed(Network(GROUP, port, "air"), self.loop, self.places, i) for i in range(NODES)]
        meeting = Network(GROUP, port, "lo")
        self.walled[port] = [Walled(meeting, self.loop, self._passes(port, i)) for i in range(NODES)]
        return list(self.walled[port])

    def _passes(self, port: int, i: int) -> Callable[[int], bool]:
        def passes(sender: int) -> bool:
            j = next((j for j, medium in enumerate(self.walled[port]) if medium.port() == sender), -1)
            return i == j or (min(i, j), max(i, j)) in self.joined

        return passes

    def join(self, i: int, j: int, joined: bool) -> None:
        (self.joined.add if joined else self.joined.discard)((i, j))
        if self.places is not None:
            self.places.join(i, j, joined)


@pytest.fixture(scope="module")
def places() -> Iterator[Namespaces | None]:
    try:
        made = Namespaces(NODES, LOSS)
    except OSError as error:
        warnings.warn(f"no network namespaces ({error}): the field is on loopback, behind walls", stacklevel=1)
        yield None
        return
    if not made.lossy:
        warnings.warn("this kernel has no netem: the field loses nothing, and neither do the simulations", stacklevel=1)
    with made:
        yield made


# ---- the real runs, all protocols at the same time


def real(places: Namespaces | None, changes: list[Change], world: Scenario, seed: int) -> dict[str, dict[str, Any]]:
    loop = WarpLoop()
    air = Air(loop, places)
    for i, j in combinations(range(NODES), 2):
        air.join(i, j, False)
    errors: list[Exception] = []
    sinks = {name: MemorySink() for name in PROTOCOLS}
    workload = Workload(world, OURS)

    async def go() -> None:
        runners: dict[str, list[Runner]] = {}
        for number, name in enumerate(PROTOCOLS):
            chosen = registry.get(name)
            memberships = members(NODES, secure=True)
            runners[name] = [
                Runner(
                    chosen,
                    chosen.params_class(),
                    member,
                    medium,
                    limits=AT_ONCE,
                    sink=sinks[name],
                    on_error=errors.append,
                    senses=Standing(),
                    seed=1000 * seed + i,
                )
                for i, (member, medium) in enumerate(zip(memberships, air.media(PORT + number), strict=True))
            ]
            for subscription in workload.subscriptions:
                runners[name][subscription.node].subscribe(subscription.filter)
        for group in runners.values():
            for runner in group:
                runner.start()
        for t, i, j, up in changes:
            loop.call_at(t, air.join, i, j, up)
        for publication in workload.publications:
            loop.call_at(publication.t / 1e6, partial(publish_on_all, runners, publication))
        await asyncio.sleep(SECONDS)
        for group in runners.values():
            for runner in group:
                runner.stop()

    try:
        loop.run_until_complete(go())
    finally:
        loop.close()
    if errors:
        raise errors[0]
    return {name: metrics(sink.table(name)) for name, sink in sinks.items()}


def publish_on_all(runners: dict[str, list[Runner]], publication: PlannedPublication) -> None:
    for group in runners.values():
        runner = group[publication.node]
        runner.publish(
            runner.publisher.prepare(
                publication.topic, dict(publication.attrs), bytes(100), publication.validity_us, publication.scope
            )
        )


# ---- what the simulator expects


def simulated(world: Scenario, protocol: str, seed: int) -> float:
    run = build(world, seed, "frames", sink := MemorySink())
    workload, chosen = Workload(world, OURS), registry.get(protocol)
    run.planned = workload.publications
    run.populate(chosen, chosen.params_class(), workload.subscriptions)
    run.start()
    run.run(int(SECONDS * 1e6))
    delivery = metrics(sink.table(protocol))["delivery"]
    assert isinstance(delivery, float)
    return delivery


def expected(world: Scenario, protocol: str) -> tuple[float, float]:
    """The 95 % interval for the mean delivery ratio of as many further runs as there are real ones."""
    ratios = [simulated(world, protocol, seed) for seed in SEEDS]
    n, mean, spread = len(ratios), statistics.mean(ratios), statistics.stdev(ratios)
    reach = float(stats.t.ppf(0.975, n - 1)) * spread * math.sqrt(1 / RUNS + 1 / n)
    return mean - reach, mean + reach


@pytest.fixture(scope="module")
def field(places: Namespaces | None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Scenario, Any]:
    changes = contacts()
    assert {node for _, i, j, _ in changes for node in (i, j)} == set(range(NODES))
    trace = tmp_path_factory.mktemp("field") / "contacts.txt"
    lines = [f"{t:.6f} CONN {i} {j} {'up' if up else 'down'}\n" for t, i, j, up in changes]
    trace.write_text("".join(lines))
    world = scenario(trace, LOSS if places is not None and places.lossy else 0.0)
    return world, [real(places, changes, world, seed) for seed in range(RUNS)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_real_delivery_lies_in_the_interval_that_the_simulator_predicts(
    field: tuple[Scenario, Any], protocol: str
) -> None:
    world, runs = field
    assert all(run[protocol]["interested"] == 24 * 6 for run in runs)
    ours = statistics.mean(run[protocol]["delivery"] for run in runs)
    low, high = expected(world, protocol)
    print(f"{protocol}: real {ours:.3f}, simulated {low:.3f} to {high:.3f}")
    assert low - ROUNDING <= ours <= high + ROUNDING
