"""Logs for the tests of explanations: written by hand, and of small simulated runs."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from roamcast.log.explanation.answers import Answers
from roamcast.log.explanation.lists import EventAtNodes, Events, EventsAtNode
from roamcast.log.explanation.pair import Explanation
from roamcast.log.explanation.select import Columns
from roamcast.log.reader import LogRow, rows_of
from roamcast.log.schema import KINDS
from roamcast.pubsub.event import FOREVER, event_id
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.support.sinks import MemorySink

EVENT = event_id(1, 1)


class Hand:
    """A log written by hand; times are in milliseconds, rows are put in order of time."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []

    def row(
        self,
        ms: float,
        node: int,
        kind: str,
        event: int = 0,
        frame: int = 0,
        peer: int = -1,
        value: int = 0,
        reason: str = "",
    ) -> Hand:
        self._rows.append((int(ms * 1000), node, KINDS.index(kind), event, frame, peer, 0, value, reason))
        return self

    def subscribe(self, ms: float, node: int, text: str = "topic news") -> Hand:
        return self.row(ms, node, "subscribe", 1, reason=text)

    def publish(
        self,
        ms: float,
        node: int = 1,
        event: int = EVENT,
        validity_us: int = FOREVER,
        near: list[int] | None = None,
        **attrs: Any,
    ) -> Hand:
        content = {"topic": "news", "scope": "global" if near is None else "local", "attrs": attrs}
        content |= {} if near is None else {"near": near}
        return self.row(ms, node, "publish", event, value=validity_us, reason=json.dumps(content))

    def send(self, ms: float, node: int, frame: int, to: int = -1, event: int = EVENT) -> Hand:
        return self.row(ms, node, "send", event, frame, to, reason="event")

    def receive(self, ms: float, node: int, frame: int, sender: int, event: int = EVENT) -> Hand:
        return self.row(ms, node, "receive", event, frame, sender, reason="event")

    def lose(self, ms: float, node: int, frame: int, peer: int, why: str = "collision", event: int = EVENT) -> Hand:
        return self.row(ms, node, "lose", event, frame, peer, reason=why)

    def overhear(self, ms: float, node: int, frame: int, sender: int, event: int = EVENT) -> Hand:
        return self.row(ms, node, "overhear", event, frame, sender, reason="for another")

    def deliver(self, ms: float, node: int, event: int = EVENT) -> Hand:
        return self.row(ms, node, "deliver", event)

    def decide(self, ms: float, node: int, kind: str, label: str, event: int = EVENT) -> Hand:
        return self.row(ms, node, kind, event, reason=label)

    def beacon(self, ms: float, sender: int, *hearers: int, frame: int = 0) -> Hand:
        """A frame without events."""
        self.send(ms, sender, frame or 10_000 + len(self._rows), event=0)
        for hearer in hearers:
            self.receive(ms, hearer, frame or 10_000 + len(self._rows), sender, 0)
        return self

    def table(self) -> Any:
        sink = MemorySink()
        for row in sorted(self._rows, key=lambda row: row[0]):
            sink.row(*row)
        return sink.table("r")

    def columns(self) -> Columns:
        return Columns(self.table())

    def log_rows(self) -> list[LogRow]:
        return rows_of(self.table())

    def answers(self, merged: bool = False) -> Answers:
        return Answers(self.table(), "by-hand.parquet", merged)

    def explain(self, node: int, event: int = EVENT) -> Explanation:
        return pair(self.answers(), node, event)


def pair(answers: Answers, node: int | str, event: int | str) -> Explanation:
    answer = answers.answer(node, event)
    assert isinstance(answer, Explanation)
    return answer


def all_events(answers: Answers) -> Events:
    answer = answers.answer(None, None)
    assert isinstance(answer, Events)
    return answer


def at_nodes(answers: Answers, event: int | str) -> EventAtNodes:
    answer = answers.answer(None, event)
    assert isinstance(answer, EventAtNodes)
    return answer


def at_node(answers: Answers, node: int | str) -> EventsAtNode:
    answer = answers.answer(node, None)
    assert isinstance(answer, EventsAtNode)
    return answer


NODES = 20
RANGE_M = 150.0
WORLD: dict[str, Any] = {
    "nodes": NODES,
    "width_m": 600.0,
    "height_m": 600.0,
    "duration_s": 20.0,
    "speed_min_mps": 5.0,
    "speed_max_mps": 15.0,
    "range_m": RANGE_M,
    "publishers": 3,
    "subscribers": 8,
    "rate_hz": 0.5,
    "rate_bps": 100_000,  # slow, so that frames collide
}
WORLDS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "flooding": ("gossip", {"p": 1.0}, {}),
    "gossip": ("gossip", {"p": 0.6}, {"loss": 0.2}),
    "proximity": ("proximity", {}, {"validity_s": 8.0}),
    "sleeping": ("managed", {}, {"awake_s": 4.0, "asleep_s": 3.0}),
    "crashing": ("counter", {}, {"crash_mean_s": 10.0, "repair_mean_s": 5.0}),
    "several events a frame": ("frugal", {}, {"validity_s": 15.0, "workload": "topics", "bystanders": "subscribed"}),
    "buffers": ("psamanet", {}, {"workload": "ranges", "publishers": 6}),
    "to one neighbour": ("treegroup", {}, {"queue": 1, "retries": 1, "workload": "interests", "local_share": 0.5}),
    "links": ("semiprob-links", {}, {}),
}


@cache
def simulated(world: str) -> Any:
    """The table of a small run of level full."""
    protocol, params, fields = WORLDS[world]
    sink = MemorySink()
    simulate(Scenario(**WORLD | fields), protocol, params, 1, level="full", sink=sink, possible=False)
    return sink.table("r")


@cache
def answers(world: str) -> Answers:
    return Answers(simulated(world), world, False)


@cache
def simulated_rows(world: str) -> list[LogRow]:
    return rows_of(simulated(world))
