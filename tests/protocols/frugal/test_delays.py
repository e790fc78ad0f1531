"""Tasks whose delay changes while they wait. The delays themselves are tested in tests/paper/test_baehni.py."""

from __future__ import annotations

from roamcast.protocols.frugal.delays import Task
from roamcast.testing import ScriptHost


def test_a_stopped_task_is_not_shortened() -> None:
    host = ScriptHost(0)
    task = Task(host, 1)
    task.again(10)
    task.stop()
    task.shorten(5)
    assert host.timers == {}


def test_a_wait_can_be_shortened_twice() -> None:
    """80 of 100 are left, so 40 of 50; 30 of those are left, so 12 of 20."""
    host = ScriptHost(0)
    task = Task(host, 1)
    task.again(100)
    host.clock_us = 20
    task.shorten(50)
    assert host.timers == {1: 60}
    host.clock_us = 30
    task.shorten(20)
    assert host.timers == {1: 42}
