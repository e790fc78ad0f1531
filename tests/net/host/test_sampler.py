"""Routing state goes to the log from time to time."""

from __future__ import annotations

import asyncio

from roamcast.log import schema
from roamcast.net.air.timers import Timers
from roamcast.net.host.handlers import Handlers
from roamcast.net.host.journal import Journal
from roamcast.net.host.sampler import StateSampler
from roamcast.net.refusal import Tally
from tests.support.sinks import MemorySink
from tests.support.warp import WarpLoop


def test_it_samples_at_its_period_or_never() -> None:
    loop, sink = WarpLoop(), MemorySink()
    timers, handlers = Timers(loop), Handlers(Tally(), None)
    handlers.protocol = type("P", (), {"memory": lambda _: (3, 40)})()
    journal = Journal(sink, "full", 7, 0, timers.now_us)
    StateSampler(handlers, journal, timers, 0.0).begin()
    assert len(timers) == 0
    StateSampler(handlers, journal, timers, 2.0).begin()
    loop.run_until_complete(asyncio.sleep(7.0))
    assert [(row[2], row[6], row[7]) for row in sink.rows] == [(schema.STATE, 40, 3)] * 3
    loop.close()
