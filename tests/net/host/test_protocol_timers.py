"""Timers by key: replaced, cancelled, fired once."""

from __future__ import annotations

import asyncio

from roamcast.net.air.timers import Timers
from roamcast.net.host.protocol_timers import ProtocolTimers
from tests.support.warp import WarpLoop

S = 1_000_000


def test_a_timer_is_replaced_cancelled_or_fires_once() -> None:
    loop = WarpLoop()
    timers = Timers(loop)
    fired: list[tuple[int, int]] = []
    keyed = ProtocolTimers(timers, lambda key: fired.append((key, timers.now_us() // S)))
    keyed.set(1, S)
    keyed.set(1, 2 * S)
    keyed.set(2, S)
    keyed.set(3, S)
    keyed.cancel(3)
    keyed.cancel(9)
    assert len(keyed) == 2
    loop.run_until_complete(asyncio.sleep(10.0))
    assert fired == [(2, 1), (1, 2)]
    assert len(keyed) == 0
    keyed.set(1, S)
    keyed.clear()
    loop.run_until_complete(asyncio.sleep(10.0))
    assert len(fired) == 2
    loop.close()


def test_a_timer_can_be_set_again_when_it_fires() -> None:
    loop = WarpLoop()
    timers = Timers(loop)
    times: list[int] = []

    def fire(key: int) -> None:
        times.append(timers.now_us() // S)
        if len(times) < 3:
            keyed.set(key, S)

    keyed = ProtocolTimers(timers, fire)
    keyed.set(1, S)
    loop.run_until_complete(asyncio.sleep(10.0))
    assert times == [1, 2, 3]
    loop.close()
