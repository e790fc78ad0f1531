"""What happens to own frames is logged, and an unreachable neighbour is reported to the protocol."""

from __future__ import annotations

from typing import Any

from roamcast.log import schema
from roamcast.net.host.handlers import Handlers
from roamcast.net.host.journal import Journal
from roamcast.net.host.send_reports import SendReports
from roamcast.net.limits import Limits
from roamcast.net.refusal import Tally
from tests.conformance.driver import Ping
from tests.support.sinks import MemorySink


def test_each_report_has_its_row_or_its_handler() -> None:
    sink = MemorySink()
    handlers = Handlers(Tally(), None)
    calls: list[tuple[Any, int]] = []
    handlers.protocol = type("P", (), {"on_undelivered": lambda _, frame, to: calls.append((frame, to))})()
    reports = SendReports(handlers, Journal(sink, "full", 3, 0, lambda: 5), Limits(rate_bps=1e6))
    frame = Ping(1)
    reports.frame_sent(frame, 9, 77, 100, repeated=False)
    reports.frame_sent(frame, 9, 78, 100, repeated=True)
    reports.frame_lost(frame, 9, 78, 100, "no-ack")
    reports.frame_undelivered(frame, 9)
    rows = [
        (schema.KINDS[kind], serial, peer, size, value, why)
        for _, _, kind, _, serial, peer, size, value, why in sink.rows
    ]
    assert rows == [
        ("send", 77, 9, 100, 800, "ping"),
        ("send", 78, 9, 100, 800, "ping"),
        ("repeat", 78, 9, 0, 0, ""),
        ("lose", 78, 9, 100, 0, "no-ack"),
    ]
    assert calls == [(frame, 9)]
