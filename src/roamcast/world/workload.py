"""The workload of a scenario: its subscriptions and publications.

  single     some nodes subscribe to one topic, others publish on it
  topics     the same, except that publishers are subscribers themselves (Baehni et al. 2005); with `bystanders`, the
             other nodes subscribe to another topic, on which no node publishes
  ranges     every node subscribes to ranges of numbers, events are numbers (Rezende et al. 2008)
  interests  a catalogue of interests, each a conjunction of attributes; nodes subscribe to some of them, an event has
             the attributes of one and perhaps more (Li et al. 2013)
  mesh       positions, telemetry, node infos and texts in the shares and lengths that LoRa meshes have; every event has
             a number besides, and nodes subscribe to ranges of numbers, so that content decides who is interested

All draws are from streams of the workload, so two protocols under one seed get the same publications.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from roamcast.pubsub.event import FOREVER, GLOBAL, LOCAL, Value
from roamcast.pubsub.filters import And, Compare, Filter, Range, Topic
from roamcast.world.density import nearness
from roamcast.world.kernel import PlannedPublication, Subscription
from roamcast.world.scenario import Scenario
from roamcast.world.streams import Stream

TOPIC = "news"
OTHER_TOPIC = "sport"
NUMBERS = 1_000_000
"""R of Rezende et al. 2008: events are numbers up to R. The paper gives no value; only shares of R matter."""


class Message(NamedTuple):
    """A kind of message in a mesh: how many of them a node sends in an hour, and the bytes of its content."""

    topic: str
    per_hour: float
    payload_bytes: int


MESH: Final = (
    Message("position", 4.0, 26),
    Message("telemetry", 2.0, 30),
    Message("nodeinfo", 1.0 / 3.0, 60),
    Message("text", 1.0, 40),
)
"""Meshtastic's default intervals (positions every 15 minutes, device telemetry every 30, node infos every 3 hours), and
one text an hour (ours). Lengths are ours, of typical messages. `rate_hz` decides how many there are in all."""
MESH_PAYLOADS: Final = {message.topic: bytes(message.payload_bytes) for message in MESH}


class Workload:
    """`subscriptions`, and `publications` in order of time."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self.nodes_stream = Stream(seed, 0, "who")
        self.contents_stream = Stream(seed, 0, "what")
        self.times_stream = Stream(seed, 0, "when")
        self.order = shuffled(list(range(scenario.nodes)), self.nodes_stream)
        self.catalogue: list[dict[str, Value]] = []
        self.filters: list[tuple[int, Filter]] = getattr(self, f"_subscribe_{scenario.workload}")()
        self.subscriptions = [Subscription(node, k, filter) for k, (node, filter) in enumerate(self.filters)]
        self.publishers = self._publishers()
        self.local_share = local_share(scenario)
        self.validity_us = micros(scenario.validity_s) if scenario.validity_s else FOREVER
        self.payload = bytes(scenario.payload_bytes)
        self.publications = [self._publication(t, node) for t, node in self._instants()]

    # ---- subscriptions

    def _subscribers(self) -> list[int]:
        """Subscribers come after publishers in the random order: a node is both only if there are too few nodes."""
        s = self.scenario
        first = min(s.publishers, s.nodes - s.subscribers)
        return sorted(self.order[first : first + s.subscribers])

    def _subscribe_single(self) -> list[tuple[int, Filter]]:
        return [(node, Topic(TOPIC)) for node in self._subscribers()]

    def _subscribe_topics(self) -> list[tuple[int, Filter]]:
        s = self.scenario
        filters: list[tuple[int, Filter]] = [(node, Topic(TOPIC)) for node in sorted(self.order[: s.subscribers])]
        if s.bystanders == "subscribed":
            filters += [(node, Topic(OTHER_TOPIC)) for node in sorted(self.order[s.subscribers :])]
        return filters

    def _subscribe_ranges(self) -> list[tuple[int, Filter]]:
        s = self.scenario
        k = s.subscriptions_per_node
        if s.ranges_within:
            width = NUMBERS * width_within(s.interested, k)
            return [(node, self._range_within(width)) for node in range(s.nodes) for _ in range(k)]
        share = 1.0 - (1.0 - s.interested) ** (1.0 / k)  # of one range
        return [(node, self._range(share)) for node in range(s.nodes) for _ in range(k)]

    def _subscribe_mesh(self) -> list[tuple[int, Filter]]:
        return self._subscribe_ranges()

    def _range(self, share: float) -> Filter:
        """A range that contains every number with this probability, also the first and last: so it may begin below the
        first."""
        if share == 1.0:
            return Range("v", 0.0, float(NUMBERS))
        width = NUMBERS * share / (1.0 - share)
        low = self.nodes_stream.uniform(-width, NUMBERS)
        return Range("v", round(low, 3), round(low + width, 3))

    def _range_within(self, width: float) -> Filter:
        """A range that begins at a number in (0, R], drawn in thousandths like all of them; it may end above R (§4)."""
        low = (1 + int(self.nodes_stream.below(1000 * NUMBERS))) / 1000
        return Range("v", low, round(low + width, 3))

    def _subscribe_interests(self) -> list[tuple[int, Filter]]:
        s = self.scenario
        self.catalogue = [self._interest(k) for k in range(s.interests)]
        filters: list[tuple[int, Filter]] = []
        for node in range(s.nodes):
            count = 1 + self.nodes_stream.below(s.subscriptions_per_node)
            for interest in shuffled(list(range(s.interests)), self.nodes_stream)[:count]:
                filters.append((node, conjunction(self.catalogue[interest])))
        return filters

    def _interest(self, k: int) -> dict[str, Value]:
        """A conjunction of 1 to `attributes_max` attributes. No other interest has its first attribute."""
        more = self.nodes_stream.below(self.scenario.attributes_max)
        attrs: dict[str, Value] = {"a": f"i{k}"}
        for name in "bcdefgh"[:more]:
            attrs[name] = f"{name}{self.nodes_stream.below(4)}"
        return attrs

    # ---- publications

    def _publishers(self) -> list[int]:
        return self.order[: self.scenario.publishers]

    def _instants(self) -> list[tuple[int, int]]:
        s = self.scenario
        start, end = s.publish_from_s, s.publish_until_s or s.duration_s
        if not self.publishers:
            return []
        if s.events:
            chosen = [self.publishers[int(self.nodes_stream.below(len(self.publishers)))] for _ in range(s.events)]
            return sorted(
                (micros(self.times_stream.uniform(start, end) if s.events > 1 else start), node) for node in chosen
            )
        if not s.rate_hz:
            return []
        instants = [(t, node) for node in self.publishers for t in self._times(start, end, 1.0 / s.rate_hz)]
        return sorted(instants)

    def _times(self, start: float, end: float, gap: float) -> list[int]:
        times: list[int] = []
        poisson = self.scenario.arrivals == "poisson"
        t = start + (self.times_stream.exponential(gap) if poisson else self.times_stream.uniform(0.0, gap))
        while t < end:
            times.append(micros(t))
            t += self.times_stream.exponential(gap) if poisson else gap
        return times

    def _publication(self, t: int, node: int) -> PlannedPublication:
        scope = LOCAL if self.local_share and self.contents_stream.random() < self.local_share else GLOBAL
        topic, attrs = self._content()
        payload = MESH_PAYLOADS.get(topic, self.payload)
        return PlannedPublication(t, node, topic, attrs, payload, self.validity_us, scope)

    def _kind(self) -> str:
        drawn = self.contents_stream.random() * sum(kind.per_hour for kind in MESH)
        for kind in MESH:
            drawn -= kind.per_hour
            if drawn < 0.0:
                return kind.topic
        return MESH[-1].topic

    def _content(self) -> tuple[str, dict[str, Value]]:
        s = self.scenario
        if s.workload == "ranges":
            return "", {"v": round(self.contents_stream.random() * NUMBERS, 3)}
        if s.workload == "mesh":
            return self._kind(), {"v": round(self.contents_stream.random() * NUMBERS, 3)}
        if s.workload == "interests":
            attrs = dict(self.catalogue[int(self.contents_stream.below(s.interests))])
            for name in "bcdefgh"[len(attrs) - 1 : self.contents_stream.below(s.attributes_max)]:
                attrs[name] = f"{name}{self.contents_stream.below(4)}"
            return "", attrs
        return TOPIC, {}


def local_share(s: Scenario) -> float:
    """The share of local events among publications. A local event is for nearby nodes only, which are the share
    `nearness` of all nodes if they are spread evenly. So a share of the notifications takes more local publications."""
    if s.local_of == "publications" or s.local_share == 0.0:
        return s.local_share
    nearby = nearness(s.width_m, s.height_m, s.local_range_m)
    return s.local_share / (s.local_share + nearby * (1.0 - s.local_share))


def width_within(share: float, k: int) -> float:
    """The width, as a share of R, of each of a node's k ranges so that on average it wants that share of the events.

    With a minimum uniform in (0, R], a range of width x R contains the number v R with probability min(v, x): fewer
    nodes want small numbers. None of k ranges contains it with probability (1 - min(v, x))^k, whose mean over v is
    (1 + k (1 - x)^(k + 1)) / (k + 1). That must be 1 - share; it cannot be below 1 / (k + 1).
    """
    rest = max(0.0, ((k + 1) * (1.0 - share) - 1.0) / k)
    return float(1.0 - rest ** (1.0 / (k + 1)))


def conjunction(attrs: dict[str, Value]) -> Filter:
    equal: list[Filter] = [Compare(name, "=", value) for name, value in attrs.items()]
    return equal[0] if len(equal) == 1 else And(equal)


def micros(seconds: float) -> int:
    return round(seconds * 1e6)


def shuffled(items: list[int], stream: Stream) -> list[int]:
    """In random order (Fisher and Yates)."""
    for k in range(len(items) - 1, 0, -1):
        other = int(stream.below(k + 1))
        items[k], items[other] = items[other], items[k]
    return items
