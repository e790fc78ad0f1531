"""What every host promises (protocols/kit/interface.py), checked on every driver.

After each test `Driver.check` checks what must always hold: time never decreases, no handler is called inside another
handler of the same node, a node does not hear itself, and the first call is `on_start`.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import topic
from tests.conformance.conftest import MakeDriver
from tests.conformance.driver import WHY, WHY_NOT, Driver, Probe
from tests.conformance.requests import ABSENT, CELL, broadcast, ping, published, with_host

KEYS = [0, 1, (1 << 63) - 1, -2]
MS = 1000


def now_us(driver: Driver, i: int) -> int:
    """The node's clock, read in a handler."""
    driver.begin(i, lambda *_: None)
    driver.run(0.0)
    return driver.probe(i).inputs[-1].now_us


# ---- starting, time


def test_a_node_is_started_once_and_then_gets_its_subscriptions(drive: MakeDriver) -> None:
    driver = drive(CELL, subscriptions=[(1, topic("news")), (1, topic("sport"))])
    driver.run(1.0)
    for i, probe in enumerate(driver.probes()):
        calls = [call.what for call in probe.inputs]
        assert calls == ["start", "subscribe", "subscribe"] if i == 1 else ["start"]
    filters = [call.arguments[1] for call in driver.probe(1).calls("subscribe")]
    assert filters == [topic("news"), topic("sport")]
    assert len({call.arguments[0] for call in driver.probe(1).calls("subscribe")}) == 2


def test_every_node_has_its_own_id(drive: MakeDriver) -> None:
    assert [probe.host.id for probe in drive(CELL).probes()] == [0, 1, 2, 3]


def test_time_passes(drive: MakeDriver) -> None:
    driver = drive([0.0])
    before = now_us(driver, 0)
    driver.run(2.0)
    assert 0 <= now_us(driver, 0) - before - 2_000_000 <= driver.late_us


def test_every_node_draws_its_own_random_numbers(drive: MakeDriver) -> None:
    driver = drive(CELL)
    drawn: list[list[float]] = []
    for i in range(4):
        driver.do(i, lambda probe, _: drawn.append([probe.host.random() for _ in range(50)]))
    assert all(0.0 <= number < 1.0 for numbers in drawn for number in numbers)
    assert len({tuple(numbers) for numbers in drawn}) == 4
    assert all(len(set(numbers)) > 40 for numbers in drawn)


# ---- timers


@pytest.mark.parametrize("key", KEYS)
def test_a_timer_goes_off_once_when_it_is_due(drive: MakeDriver, key: int) -> None:
    driver = drive([0.0])
    began = now_us(driver, 0)
    driver.do(0, with_host(("set_timer", key, 50 * MS)))
    driver.run(1.0)
    ((fired, when),) = driver.probe(0).timers()
    assert fired == key
    assert 0 <= when - began - 50 * MS <= driver.late_us


def test_timers_go_off_in_the_order_they_are_due(drive: MakeDriver) -> None:
    driver = drive([0.0])
    driver.do(0, with_host(("set_timer", 1, 300 * MS), ("set_timer", 2, 100 * MS), ("set_timer", 3, 200 * MS)))
    assert [key for key, _ in driver.probe(0).timers()] == [2, 3, 1]


def test_timers_due_together_all_go_off(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    for i in (0, 1):
        driver.begin(i, with_host(*(("set_timer", key, 100 * MS) for key in KEYS)))
    driver.run(1.0)
    for i in (0, 1):
        assert sorted(key for key, _ in driver.probe(i).timers()) == sorted(KEYS)


@pytest.mark.parametrize("first_ms, second_ms", [(50, 100), (100, 50), (100, 100), (50, 0)])
def test_setting_a_live_timer_replaces_it(drive: MakeDriver, first_ms: int, second_ms: int) -> None:
    driver = drive([0.0])
    began = now_us(driver, 0)
    driver.do(0, with_host(("set_timer", 5, first_ms * MS), ("set_timer", 6, 1), ("set_timer", 5, second_ms * MS)))
    ((_, when),) = [fired for fired in driver.probe(0).timers() if fired[0] == 5]
    assert 0 <= when - began - second_ms * MS <= driver.late_us


def test_a_timer_replaced_in_a_later_handler_does_not_go_off_when_it_was_due(drive: MakeDriver) -> None:
    driver = drive([0.0])
    driver.begin(0, with_host(("set_timer", 5, 100 * MS)))
    driver.run(0.05)
    driver.begin(0, with_host(("set_timer", 5, 100 * MS)))
    driver.run(0.07)
    assert driver.probe(0).timers() == []
    driver.run(1.0)
    assert len(driver.probe(0).timers()) == 1


def test_a_cancelled_timer_never_goes_off(drive: MakeDriver) -> None:
    driver = drive([0.0])
    driver.begin(0, with_host(("set_timer", 5, 100 * MS), ("set_timer", 6, 100 * MS), ("set_timer", 7, 0)))
    driver.begin(0, with_host(("cancel_timer", 5), ("cancel_timer", 7), ("cancel_timer", ABSENT)))
    driver.run(1.0)
    fired = [key for key, _ in driver.probe(0).timers()]
    assert 5 not in fired
    assert fired.count(6) == 1


def test_a_timer_that_another_timer_cancels_at_the_same_instant_does_not_go_off(drive: MakeDriver) -> None:
    driver = drive([0.0])
    driver.probe(0).react["timer"] = lambda probe, key: probe.host.cancel_timer(3 - key)
    driver.do(0, with_host(("set_timer", 1, 10 * MS), ("set_timer", 2, 10 * MS)))
    assert len(driver.probe(0).timers()) == 1


def test_a_timer_set_again_after_it_was_cancelled_goes_off_once(drive: MakeDriver) -> None:
    driver = drive([0.0])
    calls = (("set_timer", 5, 10 * MS), ("cancel_timer", 5), ("set_timer", 5, 30 * MS))
    driver.do(0, with_host(*calls))
    assert [key for key, _ in driver.probe(0).timers()] == [5]


def test_a_timer_that_went_off_can_be_set_again_in_its_own_handler(drive: MakeDriver) -> None:
    driver = drive([0.0])
    driver.probe(0).react["timer"] = lambda probe, key: probe.host.set_timer(key, 100 * MS)
    driver.begin(0, with_host(("set_timer", 5, 100 * MS)))
    driver.run(1.05)
    times = [when for _, when in driver.probe(0).timers()]
    assert len(times) == 10 or (driver.late_us > 0 and 5 <= len(times) <= 10)
    assert all(b - a >= 100 * MS for a, b in pairwise(times))


def test_a_timer_without_delay_goes_off_after_the_handler_that_set_it(drive: MakeDriver) -> None:
    driver = drive([0.0])
    seen: list[str] = []

    def deed(probe: Probe, event: Event) -> None:
        probe.host.set_timer(5, 0)
        seen.append("end of the handler")

    driver.probe(0).react["timer"] = lambda *_: seen.append("timer")
    driver.do(0, deed)
    assert seen == ["end of the handler", "timer"]


def test_timers_belong_to_one_node(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    driver.begin(0, with_host(("set_timer", 5, 100 * MS)))
    driver.begin(1, with_host(("cancel_timer", 5)))
    driver.run(1.0)
    assert [len(probe.timers()) for probe in driver.probes()] == [1, 0]


# ---- crash and recovery


def test_a_crashed_node_neither_receives_nor_sends_and_loses_its_timers(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    driver.begin(1, with_host(("set_timer", 5, 100 * MS)))
    driver.run(0.05)
    driver.crash(1)
    driver.do(0, broadcast(1))
    driver.run(1.0)
    driver.recover(1, keep_tables=True)
    driver.run(1.0)
    probe = driver.probe(1)
    assert [call.what for call in probe.inputs] == ["start", "publish", "start"]
    driver.do(0, broadcast(2))
    driver.do(1, broadcast(3))
    assert probe.numbers() == [(2, 0)]
    assert driver.probe(0).numbers() == [(3, 1)]


def test_a_node_that_lost_its_tables_starts_from_scratch(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5], subscriptions=[(1, topic("news"))])
    event = published(driver, 0)
    driver.do(1, with_host(("mute", event.id)))
    before = driver.probe(1)
    driver.crash(1)
    driver.run(1.0)
    driver.recover(1, keep_tables=False)
    driver.run(1.0)
    after = driver.probe(1)
    assert after is not before
    assert [call.what for call in after.inputs] == ["start", "subscribe"]
    driver.do(0, ping(1, event.id))
    assert after.numbers() == [(1, 0)], "muted ids are forgotten too"


def test_a_node_that_kept_its_tables_goes_on_with_them(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    event = published(driver, 0)
    driver.do(1, with_host(("mute", event.id)))
    before = driver.probe(1)
    driver.crash(1)
    driver.recover(1, keep_tables=True)
    driver.do(0, ping(1, event.id))
    assert driver.probe(1) is before
    assert before.numbers() == []


# ---- the log


def test_deliveries_are_recorded_for_their_node_and_in_order(drive_logging: MakeDriver) -> None:
    driver = drive_logging([0.0, 0.5])
    one, other = published(driver, 0), published(driver, 0)
    driver.do(1, with_host(("deliver", other), ("deliver", one)))
    assert driver.delivered(1) == [other.id, one.id]
    assert driver.delivered(0) == []


def test_notes_are_recorded_with_their_reasons(drive_logging: MakeDriver) -> None:
    driver = drive_logging([0.0, 0.5])
    driver.do(1, with_host(("note", WHY, 5, 3, 9), ("note", WHY_NOT), ("note", WHY, 6)))
    assert driver.notes(1) == [
        ("forward", "probe", 5, 3, 9),
        ("suppress", "probe", 0, -1, 0),
        ("forward", "probe", 6, -1, 0),
    ]
    assert driver.notes(0) == []


# ---- signal strength, airtime, speed, battery


def test_a_nearer_sender_is_heard_at_least_as_strongly(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.1, 0.9])
    signals: list[float] = []
    driver.probe(0).react["frame"] = lambda probe, *_: signals.append(probe.host.signal())
    driver.do(1, broadcast(1))
    driver.do(2, broadcast(2))
    near, far = signals
    assert (near != near and far != far) or near >= far


def test_longer_frames_are_longer_on_the_air(drive: MakeDriver) -> None:
    driver = drive([0.0])
    times: list[int] = []
    driver.do(0, lambda probe, _: times.extend(probe.host.airtime(size) for size in (1, 100, 1000, 2000)))
    assert 0 < times[0] <= times[1] < times[2] < times[3]
    assert times[3] - times[2] >= (times[2] - times[1]) * 1000 // 900 - 1, "in proportion to what is added"


def test_a_standing_node_has_no_speed_and_its_battery_is_a_share(drive: MakeDriver) -> None:
    driver = drive([0.0])
    seen: list[tuple[float, float]] = []
    for _ in range(3):
        driver.do(0, lambda probe, _: seen.append((probe.host.speed(), probe.host.battery())))
    assert all(speed == 0.0 or speed != speed for speed, _ in seen)
    left = [battery for _, battery in seen]
    assert left == sorted(left, reverse=True)
    assert all(0.0 <= battery <= 1.0 for battery in left)
