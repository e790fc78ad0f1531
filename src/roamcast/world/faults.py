"""Faults that a scenario asks for: duty cycles, crashes, partitions, losses by chance.

A node that an imported movement leaves out for a while is down for that time, as after a crash.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from roamcast.world.specs import FaultSpec
from roamcast.world.streams import Streams

SLEEP: Final = 0
WAKE: Final = 1
CRASH: Final = 2
RECOVER: Final = 3
NONE: Final = -1
NEVER_US: Final = 501_000_000_000
"""A time after the longest run that still fits into a queue."""


@final
class Faults:
    """Times in microseconds. A node sleeps or crashes, never both in one scenario (scenario.py checks that)."""

    def __init__(self, spec: FaultSpec, nodes: int, seed: int) -> None:
        self.streams = Streams(seed, nodes, "faults")
        self.awake: i64 = spec.awake_us
        self.asleep: i64 = spec.asleep_us
        self.crash_mean: i64 = spec.crash_mean_us
        self.repair_mean: i64 = spec.repair_mean_us
        self.keep_tables: bool = spec.keep_tables
        self.partition_from: i64 = spec.partition_from_us
        self.partition_until: i64 = spec.partition_until_us
        self.wall_m: float = spec.wall_m
        self.loss: float = spec.loss
        self.link_loss: dict[i64, float] = {}  # measured links: i << 20 | j -> share of frames lost
        self.switches: dict[int, list[int]] = {}  # instants at which a node vanishes, appears, vanishes …
        self.switched: dict[int, int] = {}  # how many of them are over

    def first(self, node: int) -> tuple[int, int]:
        """When a node's first fault is, and its kind; (-1, -1) for a node without faults.

        All nodes are awake at the beginning; the first sleep comes after a random part of a cycle (Costa et al. 2005,
        section IV).
        """
        if node in self.switches:
            self.switched[node] = 0
            return self.switches[node][0], CRASH
        if self.asleep > 0:
            cycle = float(self.awake + self.asleep)
            return int(self.streams.of(node).random() * cycle), SLEEP
        if self.crash_mean > 0:
            return int(self.streams.of(node).exponential(float(self.crash_mean))), CRASH
        return NONE, NONE

    def next(self, node: int, what: int) -> tuple[int, int]:
        """How long after the fault `what` the next one of a node comes, and its kind."""
        if node in self.switches:
            return self.next_switch(node), RECOVER if what == CRASH else CRASH
        if what == SLEEP:
            return int(self.asleep), WAKE
        if what == WAKE:
            return int(self.awake), SLEEP
        mean = self.repair_mean if what == CRASH else self.crash_mean
        return 1 + int(self.streams.of(node).exponential(float(mean))), RECOVER if what == CRASH else CRASH

    def leave_out(self, absences: dict[int, list[tuple[int, int]]]) -> None:
        """Nodes are down in these intervals, which are sorted and disjoint; an end of -1 means never."""
        for node, intervals in absences.items():
            instants = [t if 0 <= t < NEVER_US else NEVER_US for interval in intervals for t in interval]
            self.switches[node] = instants

    def next_switch(self, node: int) -> int:
        k = self.switched[node]
        self.switched[node] = k + 1
        instants = self.switches[node]
        return (instants[k + 1] if k + 1 < len(instants) else NEVER_US) - instants[k]

    def lossy(self) -> bool:
        return self.loss > 0.0 or len(self.link_loss) > 0

    def loss_of(self, i: i64, j: i64) -> float:
        """Probability that a frame from i that arrived intact at j is lost by chance."""
        return 1.0 - (1.0 - self.loss) * (1.0 - self.link_loss.get(i << 20 | j, 0.0))

    def any(self) -> bool:
        """Whether a node ever goes off."""
        return self.asleep > 0 or self.crash_mean > 0 or len(self.switches) > 0


@final
class RandomLosses:
    """Losses by chance. Each receiver has a stream of its own."""

    def __init__(self, faults: Faults, nodes: int, seed: int) -> None:
        self.faults = faults
        self.streams = Streams(seed, nodes, "loss")

    def strike(self, i: i64, j: i64) -> bool:
        """Whether a frame from i that arrived intact at j is lost by chance."""
        return self.streams.of(j).random() < self.faults.loss_of(i, j)
