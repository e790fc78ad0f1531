"""How near a sender is, by its signal (M14)."""

from __future__ import annotations

from math import isnan, nan

import pytest

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.roam.nearness import Nearness
from roamcast.testing import ScriptHost
from tests.protocols.roam.nodes import news, node


def measured(*signals_dbm: float) -> list[float]:
    host = ScriptHost()
    nearness = Nearness(host)
    values = []
    for host.signal_dbm in signals_dbm:
        values.append(nearness.of_sender())
    return values


def test_the_weakest_signal_of_all_is_far_and_the_strongest_near() -> None:
    values = measured(-80.0, -60.0, -90.0, -70.0)
    assert isnan(values[0]), "there is nothing to compare it with"
    assert values[1:3] == [1.0, 0.0]
    assert 0.6 < values[3] < 0.7


def test_without_signals_or_if_all_are_alike_nothing_is_known() -> None:
    assert all(isnan(value) for value in measured(nan, -70.0, -70.0, nan))


def test_what_was_heard_long_ago_fades() -> None:
    values = measured(-20.0, -95.0, *[-80.0, -70.0] * 1000)
    assert values[-2] < 0.1 and values[-1] > 0.9


@pytest.mark.parametrize(("signal_dbm", "delay_ms"), [(-90.0, 10), (-60.0, 30), (nan, 20)])
def test_half_of_a_delay_depends_on_the_signal(signal_dbm: float, delay_ms: int) -> None:
    protocol, host = node()
    for n, host.signal_dbm in enumerate((-60.0, -90.0)):
        host.hear(protocol, EventFrame(news(n + 1), 0, 0), 2)
    host.signal_dbm = signal_dbm
    host.draws = [0.5]
    host.hear(protocol, EventFrame(news(3), 0, 0), 2)
    assert host.timers[news(3).id] == pytest.approx(1000 * delay_ms, rel=0.02)
