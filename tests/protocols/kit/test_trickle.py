"""Trickle: seldom while all agree, soon after news, not where others have said the same, and up to its end."""

from __future__ import annotations

from roamcast.protocols.kit.trickle import ENDLESS, TrickleTimer
from roamcast.testing import ScriptHost

KEY = 9


def run(timer: TrickleTimer, host: ScriptHost, until_us: int) -> list[int]:
    """The times at which the node sends."""
    sent: list[int] = []
    while host.timers.get(KEY, until_us + 1) <= until_us:
        host.clock_us = host.timers.pop(KEY)
        if timer.fired():
            sent.append(host.clock_us)
    return sent


def made(enough: int = 2, expirations: int = ENDLESS) -> tuple[TrickleTimer, ScriptHost]:
    host = ScriptHost(1)
    timer = TrickleTimer(host, KEY, 100, 800, enough, expirations)
    timer.start()
    return timer, host


def test_intervals_double_up_to_the_longest_and_a_node_sends_in_the_second_half_of_each() -> None:
    timer, host = made()
    sent = run(timer, host, 3000)
    begins = [0, 100, 300, 700, 1500, 2300]
    lengths = [100, 200, 400, 800, 800, 800]
    for begin, length, t in zip(begins, lengths, sent, strict=False):
        assert begin + length // 2 <= t <= begin + length
    assert len(sent) in (5, 6)


def test_news_makes_the_interval_short_again_but_does_not_restart_a_short_one() -> None:
    timer, host = made()
    due_us = host.timers[KEY]
    timer.differ()
    assert host.timers[KEY] == due_us
    run(timer, host, 1000)
    timer.differ()
    assert timer.interval_us == 100
    assert host.timers[KEY] - host.clock_us <= 100


def test_a_node_that_has_heard_the_same_often_enough_is_silent_in_this_interval_only() -> None:
    timer, host = made()
    timer.agree()
    assert len(run(timer, host, 99)) == 1, "once is not enough"
    timer, host = made()
    timer.agree()
    timer.agree()
    assert run(timer, host, 99) == []
    assert len(run(timer, host, 300)) == 1


def test_a_node_may_be_silent_in_all_intervals() -> None:
    timer, host = made(enough=1)
    for end_us in (100, 300, 700, 1500, 2300, 3100):
        timer.agree()
        assert run(timer, host, end_us) == []


def test_after_its_expirations_the_timer_stops_whether_it_has_sent_or_not() -> None:
    timer, host = made(expirations=3)
    timer.agree()
    timer.agree()
    assert len(run(timer, host, 100_000)) == 2
    assert (timer.running, host.timers) == (False, {})


def test_something_that_differs_starts_a_stopped_timer_and_counts_anew_in_a_running_one() -> None:
    timer, host = made(expirations=3)
    run(timer, host, 100_000)
    timer.differ()
    assert len(run(timer, host, 200_000)) == 3
    timer.start()
    run(timer, host, host.clock_us + 100)
    timer.differ()
    assert len(run(timer, host, 300_000)) == 3


def test_without_expirations_a_timer_never_starts() -> None:
    timer, host = made(expirations=0)
    timer.differ()
    assert (timer.running, host.timers) == (False, {})


def test_a_stopped_timer_does_not_fire() -> None:
    timer, host = made()
    timer.stop()
    assert (timer.running, host.timers) == (False, {})
