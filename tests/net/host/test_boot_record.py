"""What a boot records for the next one."""

from __future__ import annotations

import asyncio
import time

from roamcast.net.air.timers import Timers
from roamcast.net.durable import MemoryValues
from roamcast.net.host.boot_record import KEEP_S, BootRecord
from tests.net.members import datagram, drops, frame_codec, hear
from tests.support.warp import WarpLoop


def test_the_next_boot_refuses_datagrams_that_this_one_has_received() -> None:
    loop, durable, sender = WarpLoop(), MemoryValues(), frame_codec()
    first, second = frame_codec(), frame_codec()
    old = datagram(sender)
    assert hear(first, old) is not None
    record = BootRecord(durable, first, Timers(loop))
    record.restore()
    assert record.last_alive_us() is None
    record.write()
    later = BootRecord(durable, second, Timers(loop))
    later.restore()
    assert hear(second, old) is None
    assert drops(second) == {"stale": 1}
    alive_us = later.last_alive_us()
    assert alive_us is not None and abs(alive_us - time.time() * 1e6) < 60e6
    loop.close()


def test_it_is_written_every_few_minutes_until_the_timers_are_cleared() -> None:
    loop, durable = WarpLoop(), MemoryValues()
    timers = Timers(loop)
    BootRecord(durable, frame_codec(), timers).begin_writing()
    assert durable.values.get("alive") is None
    for _ in range(3):
        loop.run_until_complete(asyncio.sleep(KEEP_S + 0.1))
        assert durable.values.pop("alive")
    timers.clear()
    loop.run_until_complete(asyncio.sleep(3 * KEEP_S))
    assert "alive" not in durable.values
    loop.close()
