"""Subscriptions have numbers, and a new protocol object gets them all."""

from __future__ import annotations

from typing import Any

from roamcast.log import schema
from roamcast.net.host.handlers import Handlers
from roamcast.net.host.journal import Journal
from roamcast.net.host.subscriptions import Subscriptions
from roamcast.net.refusal import Tally
from roamcast.pubsub.filters import topic
from tests.support.sinks import MemorySink


class Learner:
    """A protocol that records its subscriptions."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def on_subscribe(self, number: int, filter: Any) -> None:
        self.calls.append((number, filter))

    def on_unsubscribe(self, number: int) -> None:
        self.calls.append((number,))


def test_subscriptions_made_before_the_start_are_announced_at_the_start() -> None:
    sink, learner = MemorySink(), Learner()
    handlers = Handlers(Tally(), None)
    handlers.protocol = learner  # type: ignore[assignment]
    subscriptions = Subscriptions(handlers, Journal(sink, "full", 3, 0, lambda: 5))
    assert [subscriptions.add(topic(name), running=False) for name in "abc"] == [1, 2, 3]
    subscriptions.remove(2, running=False)
    assert learner.calls == []
    subscriptions.announce_all()
    assert learner.calls == [(1, topic("a")), (3, topic("c"))]
    assert subscriptions.add(topic("d"), running=True) == 4
    subscriptions.remove(1, running=True)
    assert learner.calls[2:] == [(4, topic("d")), (1,)]
    kinds = [(schema.KINDS[row[2]], row[3]) for row in sink.rows]
    assert kinds == [*(("subscribe", n) for n in (1, 2, 3)), ("unsubscribe", 2), ("subscribe", 4), ("unsubscribe", 1)]
    assert subscriptions.filters == {3: topic("c"), 4: topic("d")}
