"""Summaries come seldom while all agree, soon after news, and not at all where others have said the same."""

from __future__ import annotations

from roamcast.protocols.roam.trickle import Trickle
from roamcast.testing import ScriptHost

KEY = 9


def run(trickle: Trickle, host: ScriptHost, until_us: int) -> list[int]:
    """The times at which a summary is sent."""
    sent: list[int] = []
    while host.timers[KEY] <= until_us:
        host.clock_us = host.timers.pop(KEY)
        if trickle.fired():
            sent.append(host.clock_us)
    return sent


def made() -> tuple[Trickle, ScriptHost]:
    host = ScriptHost(1)
    trickle = Trickle(host, KEY, 100, 800, 2)
    trickle.start()
    return trickle, host


def test_intervals_double_up_to_the_longest_and_each_has_one_summary_in_its_second_half() -> None:
    trickle, host = made()
    sent = run(trickle, host, 3000)
    begins = [0, 100, 300, 700, 1500, 2300]
    lengths = [100, 200, 400, 800, 800, 800]
    for begin, length, t in zip(begins, lengths, sent, strict=False):
        assert begin + length // 2 <= t <= begin + length
    assert len(sent) in (5, 6)


def test_news_makes_the_interval_short_again_but_does_not_restart_a_short_one() -> None:
    trickle, host = made()
    due_us = host.timers[KEY]
    trickle.differ()
    assert host.timers[KEY] == due_us
    run(trickle, host, 1000)
    trickle.differ()
    assert trickle.interval_us == 100
    assert host.timers[KEY] - host.clock_us <= 100


def test_who_has_heard_the_same_often_enough_stays_silent_in_this_interval_only() -> None:
    trickle, host = made()
    trickle.agree()
    assert len(run(trickle, host, 99)) == 1, "once is not enough"
    trickle, host = made()
    trickle.agree()
    trickle.agree()
    assert run(trickle, host, 99) == []
    assert len(run(trickle, host, 300)) == 1


def test_nobody_stays_silent_in_two_of_the_longest_intervals_in_a_row() -> None:
    trickle, host = made()
    sent: list[int] = []
    for end_us in (100, 300, 700, 1500, 2300, 3100):
        trickle.agree()
        trickle.agree()
        sent.append(len(run(trickle, host, end_us)))
    assert sent == [0, 0, 0, 1, 0, 1], "the first three are short"
