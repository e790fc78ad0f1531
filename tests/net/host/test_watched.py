"""The rows of a node's log for programs that watch it."""

from __future__ import annotations

from roamcast.log import schema
from roamcast.net.host import watched
from roamcast.net.host.watched import WatchedSink
from roamcast.protocols import registry
from roamcast.pubsub.event import event_id
from tests.support.sinks import MemorySink

EVENT = event_id(3, 12)


def publish(sink: WatchedSink, t: int) -> None:
    sink.row(t, 3, schema.PUBLISH, EVENT, 0, -1, 10, 0, "{}")


def test_rows_go_to_the_log_and_to_every_watcher_from_its_begin_to_its_end() -> None:
    log = MemorySink()
    sink = WatchedSink(log)
    publish(sink, 1)
    first = sink.watch()
    publish(sink, 2)
    second = sink.watch()
    publish(sink, 3)
    second.close()
    publish(sink, 4)
    assert [row[0] for row in log.rows] == [1, 2, 3, 4]
    assert [row.t for row in first.take()[0]] == [2, 3, 4]
    assert [row.t for row in second.take()[0]] == [3]
    assert first.take() == ([], 0)


def test_a_slow_watcher_loses_the_oldest_rows_and_knows_it() -> None:
    sink = WatchedSink(MemorySink())
    watcher = sink.watch()
    for t in range(watched.MOST_ROWS + 7):
        publish(sink, t)
    rows, lost = watcher.take()
    assert (len(rows), rows[0].t, lost) == (watched.MOST_ROWS, 7, 7)
    publish(sink, 0)
    assert watcher.take()[1] == 0


def test_long_numbers_are_texts_and_decisions_are_sentences() -> None:
    registry.get("gossip")
    sink = WatchedSink(MemorySink())
    watcher = sink.watch()
    sink.row(5, 3, schema.FORWARD, EVENT, 0, -1, 0, 0, "drawn")
    sink.row(6, 3, schema.SEND, EVENT, 1 << 62, -1, 100, 800, "event")
    sink.row(7, 3, schema.SUBSCRIBE, 2, 0, -1, 0, 0, "topic news")
    forward, send, subscribe = watcher.take()[0]
    assert (forward.kind, forward.event, forward.frame, forward.text) == (
        "forward",
        "3:12",
        "",
        "forward: the draw was for 3:12",
    )
    assert (send.event, send.frame, send.text) == ("3:12", str(1 << 62), "event")
    assert (subscribe.event, subscribe.text) == ("", "topic news")


def test_the_log_gets_what_belongs_beside_its_rows() -> None:
    class Beside(MemorySink):
        texts: tuple[str, ...] = ()

        def summarise(self, text: str) -> None:
            self.texts += ("summary", text)

        def describe(self, text: str) -> None:
            self.texts += ("run", text)

    log = Beside()
    sink = WatchedSink(log)
    sink.summarise("a")
    sink.describe("b")
    assert log.texts == ("summary", "a", "run", "b")
