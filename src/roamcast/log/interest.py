"""Which nodes are interested in which events, from the rows of one log in order.

A node is interested in an event if it has a matching subscription when the event is published, is up at that moment,
and did not publish it; if the event is local, it must also be one of the nodes in range that the publish row names.

Rows count in their order in the log, also those of one instant. If an event has several publish rows (a restarted real
node publishes valid events again), the first one counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from roamcast.log.reader import LogRow
from roamcast.log.schema import ANEW
from roamcast.pubsub.event import SCOPES, Event
from roamcast.pubsub.filters import Filter
from roamcast.pubsub.text import parse

FAULTS: Final = ("sleep", "wake", "crash", "recover")
KINDS: Final = ("publish", "subscribe", "unsubscribe", *FAULTS)
"""The kinds of rows that decide which nodes are interested."""


@dataclass
class PublishedEvent:
    t_us: int
    publisher: int
    event: Event
    in_range: list[int] | None
    """The nodes that a local event can interest; None for a global one."""
    subscribers: set[int]
    """Nodes with a matching subscription, the publisher too if it has one."""
    interested: set[int]
    """The subscribers that count: up, in range if the event is local, and not the publisher."""
    own: bool
    """Whether the publisher has a matching subscription itself, and is up."""
    filters: dict[int, list[str]] = field(default_factory=dict)
    """The matching filters of each subscriber."""


@dataclass
class Audience:
    """The subscriptions of all nodes, and which nodes are up, according to the rows so far."""

    filters: dict[str, Filter] = field(default_factory=dict)
    subscriptions: dict[tuple[int, int], str] = field(default_factory=dict)
    subscribers: dict[str, Counter[int]] = field(default_factory=dict)
    asleep: set[int] = field(default_factory=set)
    crashed: set[int] = field(default_factory=set)

    def subscribe(self, node: int, number: int, text: str) -> None:
        self.unsubscribe(node, number)
        if text not in self.filters:
            self.filters[text] = parse(text)
        self.subscriptions[node, number] = text
        self.subscribers.setdefault(text, Counter())[node] += 1

    def unsubscribe(self, node: int, number: int) -> None:
        text = self.subscriptions.pop((node, number), None)
        if text is not None:
            self.subscribers[text][node] -= 1

    def forget(self, node: int) -> None:
        for subscriber, number in [key for key in self.subscriptions if key[0] == node]:
            self.unsubscribe(subscriber, number)

    def fault(self, node: int, kind: str) -> None:
        absent = self.asleep if kind in ("sleep", "wake") else self.crashed
        if kind in ("sleep", "crash"):
            absent.add(node)
        else:
            absent.discard(node)

    def take(self, row: LogRow) -> None:
        """Apply the change of a row; a publish row changes nothing."""
        if row.kind == "subscribe":
            self.subscribe(row.node, row.event, row.reason)
        elif row.kind == "unsubscribe":
            self.unsubscribe(row.node, row.event)
        elif row.kind in FAULTS:
            self.fault(row.node, row.kind)
            if row.kind == "recover" and row.reason == ANEW:
                self.forget(row.node)

    def published(self, row: LogRow) -> PublishedEvent:
        """The event of a publish row, with the nodes that are interested in it now."""
        content: dict[str, Any] = json.loads(row.reason)
        scope = SCOPES.index(content["scope"])
        event = Event(row.event, content["topic"], content["attrs"], b"", row.value, scope)
        filters: dict[int, list[str]] = {}
        for text, nodes in self.subscribers.items():
            if self.filters[text].matches(event):
                for node, subscriptions in nodes.items():
                    if subscriptions:
                        filters.setdefault(node, []).append(text)
        subscribers = set(filters)
        live = subscribers - self.asleep - self.crashed
        interested = live - {row.node}
        in_range = content["near"] if content["scope"] == "local" else None
        if in_range is not None:
            interested &= set(in_range)
        return PublishedEvent(row.t, row.node, event, in_range, subscribers, interested, row.node in live, filters)


def published_events(rows: Iterable[LogRow], only: int = 0) -> dict[int, PublishedEvent]:
    """All published events by id, or only one of them; `rows` are those of `KINDS`, in order."""
    audience = Audience()
    events: dict[int, PublishedEvent] = {}
    for row in rows:
        if row.kind != "publish":
            audience.take(row)
        elif row.event not in events and only in (0, row.event):
            events[row.event] = audience.published(row)
    return events
