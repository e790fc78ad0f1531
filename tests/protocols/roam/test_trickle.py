"""Summaries follow Trickle (kit/trickle.py), and nobody is silent for long."""

from __future__ import annotations

from math import inf

from roamcast.protocols.roam.trickle import Trickle
from roamcast.testing import ScriptHost
from tests.protocols.kit.test_trickle import KEY, run


def test_nobody_stays_silent_in_two_of_the_longest_intervals_in_a_row() -> None:
    host = ScriptHost(1)
    trickle = Trickle(host, KEY, 100, 800, 2)
    trickle.start()
    sent: list[int] = []
    for end_us in (100, 300, 700, 1500, 2300, 3100):
        trickle.agree()
        trickle.agree()
        sent.append(len(run(trickle, host, end_us)))
    assert sent == [0, 0, 0, 1, 0, 1], "the first three are short"


def test_in_a_crowd_nodes_are_silent_for_longer_and_not_for_ever() -> None:
    def sent(neighbours: int) -> int:
        host = ScriptHost(1)
        trickle = Trickle(host, KEY, 100, 100, 2)
        trickle.start()
        count = 0
        for end_us in range(100, 100 * 60 + 1, 100):
            trickle.follow(neighbours, inf)
            trickle.agree()
            trickle.agree()
            count += len(run(trickle, host, end_us))
        return count

    assert [sent(n) for n in (3, 7, 8, 16, 24, 200)] == [30, 30, 20, 15, 15, 15]


def test_among_few_neighbours_intervals_stay_half_as_long() -> None:
    host = ScriptHost(1)
    trickle = Trickle(host, KEY, 100, 800, 2)
    longest = []
    for neighbours in (0, 2, 3, 50):
        trickle.follow(neighbours, inf)
        longest.append(trickle.longest_us)
    assert longest == [400, 400, 800, 800]
    short = Trickle(host, KEY, 100, 100, 2)
    short.follow(0, inf)
    assert short.longest_us == 100, "and never shorter than the shortest"


def test_m18_no_interval_is_longer_than_the_limit() -> None:
    trickle = Trickle(ScriptHost(1), KEY, 100, 800, 2)
    longest = []
    for neighbours, limit_us in ((3, 1e9), (3, 300.0), (0, 300.0), (0, 500.0), (3, 20.0), (3, 900.0)):
        trickle.follow(neighbours, limit_us)
        longest.append(trickle.longest_us)
    assert longest == [800, 300, 300, 400, 100, 800]


def test_among_few_neighbours_patience_is_about_the_intervals_that_they_have() -> None:
    host = ScriptHost(1)
    trickle = Trickle(host, KEY, 100, 800, 2)
    trickle.follow(0, inf)
    trickle.start()
    sent: list[int] = []
    for end_us in (100, 300, 700, 1100, 1500, 1900):
        trickle.agree()
        trickle.agree()
        sent.append(len(run(trickle, host, end_us)))
        trickle.follow(0, inf)
    assert sent == [0, 0, 1, 0, 1, 0], "the first two are short"


def test_a_neighbour_that_keeps_intervals_short_does_not_keep_a_node_silent() -> None:
    host = ScriptHost(1)
    trickle = Trickle(host, KEY, 100, 400, 2)
    trickle.start()
    sent = 0
    for end_us in range(100, 10_000, 100):
        trickle.agree()
        trickle.agree()
        sent += len(run(trickle, host, end_us - 1))
        trickle.differ()
    assert 10 <= sent <= 33


def test_m18_an_interval_that_is_too_long_begins_anew_and_once() -> None:
    host = ScriptHost(1)
    trickle = Trickle(host, KEY, 100, 800, 2)
    trickle.hurry(300.0)
    assert host.timers == {}, "it does not run yet"
    trickle.start()
    run(trickle, host, 2000)
    assert trickle.interval_us == 300
    trickle.follow(3, inf)
    run(trickle, host, 4000)
    assert trickle.interval_us == 800
    trickle.hurry(300.0)
    due_us = host.timers[KEY]
    assert trickle.interval_us == 300 and due_us <= host.clock_us + 300
    trickle.hurry(300.0)
    trickle.hurry(500.0)
    assert host.timers[KEY] == due_us
