"""Summaries follow Trickle (kit/trickle.py), and nobody is silent for long."""

from __future__ import annotations

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
