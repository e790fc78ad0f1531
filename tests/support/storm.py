"""Random troubles for a TinyNet, and what must hold for every protocol.

A `Plan` is a small network and a list of steps: events are published, some of short validity, subscriptions made and
removed, links cut and joined, nodes crash and come back with or without their tables, and move. `weather` runs it and
checks after every step that

  - a node delivers an event at most once until its tables are lost;
  - it delivers only events that match one of its subscriptions at that time;
  - it delivers no expired events (frames in flight do not age, so the time of a hop is allowed).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from roamcast.protocols.kit.interface import Frame, Protocol
from roamcast.protocols.kit.wire import decode, encode
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter, topic
from tests.support.net import HOP_US, TinyNet

TOPICS = ("a", "a.b", "c")
SHORT_US = 400_000


@dataclass(frozen=True)
class Plan:
    n: int
    links: list[tuple[int, int]]
    directed: bool
    seed: int
    loss: float
    duplication: float
    jitter_us: int
    skew_us: int
    steps: list[tuple[str, int, int, int]]  # (what, node, argument, ms to wait after it)


@dataclass
class NodeState:
    """Which events a node may deliver."""

    filters: dict[int, Filter] = field(default_factory=dict)
    delivered: int = 0  # how many deliveries were checked
    had: set[int] = field(default_factory=set)  # ids delivered or published since its tables were last lost


DOINGS = ("publish", "publish", "publish-short", "subscribe", "unsubscribe", "crash", "recover", "cut", "join", "walk")


@st.composite
def plans(draw: Any, steps: int = 25) -> Plan:
    n = draw(st.integers(2, 6))
    node = st.integers(0, n - 1)
    step = st.tuples(st.sampled_from(DOINGS), node, st.integers(0, 5), st.sampled_from([0, 1, 20, 300, 1500, 4000]))
    return Plan(
        n,
        draw(st.lists(st.tuples(node, node).filter(lambda pair: pair[0] != pair[1]), max_size=12)),
        draw(st.booleans()),
        draw(st.integers(0, 999)),
        draw(st.sampled_from([0.0, 0.0, 0.3])),
        draw(st.sampled_from([0.0, 0.3])),
        draw(st.sampled_from([0, 30_000])),
        draw(st.sampled_from([0, 7_000_000, -3_000_000])),
        draw(st.lists(step, max_size=steps)),
    )


def weather(protocol: type[Protocol], plan: Plan, kind: type[TinyNet] = TinyNet, **params: Any) -> TinyNet:
    net = planned(protocol, plan, kind, **params)
    for _ in steps(net, plan):
        pass
    return net


def planned(protocol: type[Protocol], plan: Plan, kind: type[TinyNet] = TinyNet, **params: Any) -> TinyNet:
    """The network of a plan, before anything is done to it."""
    return kind(
        protocol,
        plan.n,
        plan.links,
        directed=plan.directed,
        seed=plan.seed,
        loss=plan.loss,
        duplication=plan.duplication,
        jitter_us=plan.jitter_us,
        skew_us=plan.skew_us,
        **params,
    )


def steps(net: TinyNet, plan: Plan) -> Iterator[None]:
    """Take the plan step by step, so that a test can do something else in between."""
    storm = _Storm(net, plan)
    net.start()
    for what, node, argument, ms in plan.steps:
        storm.do(what, node, argument)
        before_us = net.now_us
        net.run(ms / 1000)
        storm.check(before_us)
        yield


class _Storm:
    def __init__(self, net: TinyNet, plan: Plan) -> None:
        self.net = net
        self.states = [NodeState() for _ in range(plan.n)]
        self.published: dict[int, tuple[Event, int]] = {}
        self.slack_us = 10 * plan.n * (HOP_US + plan.jitter_us)

    def do(self, what: str, i: int, argument: int) -> None:
        net, state = self.net, self.states[i]
        other = argument % len(self.states)
        if what == "crash" and net.up[i]:
            net.crash(i)
        elif what == "recover" and not net.up[i]:
            keep = argument % 2 == 0
            net.recover(i, keep_tables=keep)
            if not keep:
                state.had.clear()
                for key, filter in state.filters.items():
                    net.nodes[i].on_subscribe(key, filter)
        elif what == "cut":
            net.cut(i, other)
        elif what == "join" and i != other:
            net.join(i, other)
        elif net.up[i]:
            self.act(what, i, argument)

    def act(self, what: str, i: int, argument: int) -> None:
        net, state = self.net, self.states[i]
        if what in ("publish", "publish-short"):
            content: dict[str, Any] = {"topic": TOPICS[argument % 3], "attrs": {"v": argument}}
            if what == "publish-short":
                content["validity_us"] = SHORT_US
            event = net.publish(i, **content)
            state.had.add(event.id)
            self.published[event.id] = (event, net.now_us)
        elif what == "subscribe":
            state.filters[argument % 3] = topic(TOPICS[argument // 2])
            net.subscribe(i, state.filters[argument % 3], argument % 3)
        elif what == "unsubscribe":
            state.filters.pop(argument % 3, None)
            net.nodes[i].on_unsubscribe(argument % 3)
        elif what == "walk":
            net.nodes[i].on_motion(argument % 2 == 0)

    def check(self, before_us: int) -> None:
        """`before_us`: all earlier deliveries were checked already."""
        for host, state in zip(self.net.hosts, self.states, strict=True):
            for event in host.delivered[state.delivered :]:
                original, published_us = self.published[event.id]
                assert event == original
                assert event.id not in state.had, "delivered twice, or to its publisher"
                assert any(filter.matches(event) for filter in state.filters.values()), "no subscription matches"
                assert before_us <= published_us + event.validity_us + self.slack_us, "delivered after it expired"
                state.had.add(event.id)
            state.delivered = len(host.delivered)


# ------------------------------------------------------------------------------------------------------------ frames


def check_encoding(protocol: type[Protocol], frame: Frame) -> None:
    """The frame has the size that it states, and is decoded unchanged."""
    data = encode(protocol, frame)
    assert len(data) == frame.size
    back = decode(protocol, data)
    assert type(back) is type(frame)
    assert back.fields() == frame.fields() and (back.kind, back.id, back.size) == (frame.kind, frame.id, frame.size)
    assert back.events() == frame.events()


INTS = st.integers(-(1 << 63), (1 << 64) - 1)
VALUES = st.recursive(
    st.none() | st.booleans() | INTS | st.floats() | st.text(max_size=4) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
