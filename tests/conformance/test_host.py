"""What every host promises (protocols/kit/interface.py), checked on every driver.

After each test `Driver.check` checks what must always hold: time never decreases, no handler is called inside another
handler of the same node, a node does not hear itself, and the first call is `on_start`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from roamcast.protocols.kit.interface import Frame
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import topic
from tests.conformance.conftest import MakeDriver
from tests.conformance.driver import WHY, WHY_NOT, Deed, Driver, Parcel, Ping, Probe

CELL = [0.0, 0.3, 0.6, 0.9]
"""All nodes hear each other."""
ROW = [0.0, 0.9, 1.8, 2.7]
"""Each node hears the nodes next to it."""
ABSENT = 77
KEYS = [0, 1, (1 << 63) - 1, -2]
MS = 1000


def broadcast(*numbers: int, content: bytes = b"") -> Deed:
    def deed(probe: Probe, event: Event) -> None:
        for number in numbers:
            probe.host.broadcast(Ping(number, 0, content))

    return deed


def send(to: int, *numbers: int) -> Deed:
    def deed(probe: Probe, event: Event) -> None:
        for number in numbers:
            probe.host.send(to, Ping(number))

    return deed


def with_host(*calls: tuple[Any, ...]) -> Deed:
    """`with_host(("set_timer", 1, 5000), ("cancel_timer", 1))`"""

    def deed(probe: Probe, event: Event) -> None:
        for name, *arguments in calls:
            getattr(probe.host, name)(*arguments)

    return deed


def now_us(driver: Driver, i: int) -> int:
    """The node's clock, read in a handler."""
    driver.begin(i, lambda *_: None)
    driver.run(0.0)
    return driver.probe(i).inputs[-1].now_us


# --------------------------------------------------------------------------------------------------- starting, time


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


# ----------------------------------------------------------------------------------------------------------- timers


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


# ------------------------------------------------------------------------------------------------------- broadcasts


@pytest.mark.parametrize("places", [CELL, ROW, [0.0, 1.0, 2.1], [0.0]])
def test_a_broadcast_reaches_all_nodes_in_range_and_no_others(drive: MakeDriver, places: list[float]) -> None:
    driver = drive(places)
    for i in range(len(places)):
        driver.do(i, broadcast(100 + i))
    for j, probe in enumerate(driver.probes()):
        assert probe.numbers() == [(100 + i, i) for i in range(len(places)) if j in driver.in_range(i)]


@pytest.mark.parametrize("content", [b"", bytes(200)], ids=["alike", "a long one before a short one"])
def test_frames_arrive_in_the_order_they_were_handed_over(drive: MakeDriver, content: bytes) -> None:
    driver = drive([0.0, 0.5])

    def deed(probe: Probe, event: Event) -> None:
        probe.host.broadcast(Ping(1))
        probe.host.send(1, Ping(2))
        probe.host.send(1, Ping(3))
        probe.host.broadcast(Ping(4, content=content))
        probe.host.broadcast(Ping(5))

    driver.do(0, deed)
    driver.run(1.0)
    assert [number for number, _ in driver.probe(1).numbers()] == [1, 2, 3, 4, 5]


def test_a_frame_is_not_heard_within_the_handler_that_sent_it(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    heard: list[int] = []

    def deed(probe: Probe, event: Event) -> None:
        probe.host.broadcast(Ping(1))
        heard.append(len(driver.probe(1).numbers()))

    driver.do(0, deed)
    assert heard == [0]
    assert len(driver.probe(1).numbers()) == 1


def test_nodes_that_answer_at_once_are_not_called_inside_their_own_handlers(drive: MakeDriver) -> None:
    """Frames, timers and deliveries in turn, from inside each other; `check` counts nested calls."""
    driver = drive([0.0, 0.5])

    def answer(probe: Probe, frame: Frame, sender: int) -> None:
        assert isinstance(frame, Ping)
        if frame.number > 0:
            probe.host.set_timer(frame.number, 0)

    def on_timer(probe: Probe, key: int) -> None:
        probe.host.broadcast(Ping(key - 1))
        probe.host.note(WHY)

    for probe in driver.probes():
        probe.react["frame"] = answer
        probe.react["timer"] = on_timer
    driver.do(0, broadcast(10))
    driver.run(3.0)
    assert [number for number, _ in driver.probe(1).numbers()] == [10, 8, 6, 4, 2, 0]
    assert [number for number, _ in driver.probe(0).numbers()] == [9, 7, 5, 3, 1]


@pytest.mark.parametrize(
    "make",
    [lambda _: Ping(5, 0, b"abc" * 20), lambda event: Ping(6, event.id), Parcel],
    ids=["plain", "id", "cargo"],
)
@pytest.mark.parametrize("to", [-1, 1])
def test_a_frame_arrives_unchanged_and_stays_unchanged(
    drive: MakeDriver, make: Callable[[Event], Frame], to: int
) -> None:
    driver = drive([0.0, 0.5])
    sent: list[Frame] = []

    def deed(probe: Probe, event: Event) -> None:
        sent.append(make(event))
        if to < 0:
            probe.host.broadcast(sent[0])
        else:
            probe.host.send(to, sent[0])

    driver.do(0, deed)
    ((frame, sender),) = [call.arguments for call in driver.probe(1).calls("frame")]
    assert sender == 0
    again = make(driver.probe(0).calls("publish")[0].arguments[0])
    for one in (frame, sent[0]):
        assert type(one) is type(again)
        assert one.fields() == again.fields()
        assert (one.kind, one.id, one.size, one.events()) == (again.kind, again.id, again.size, again.events())


# ------------------------------------------------------------------------------------------------- to one neighbour


def test_a_frame_for_one_neighbour_reaches_that_one_alone_and_once(drive: MakeDriver) -> None:
    driver = drive(CELL)
    driver.do(0, send(2, 1, 2, 3))
    driver.run(2.0)
    assert [probe.numbers() for probe in driver.probes()] == [[], [], [(1, 0), (2, 0), (3, 0)], []]
    assert all(probe.calls("undelivered") == [] for probe in driver.probes())


@pytest.mark.parametrize("to", [2, ABSENT])
def test_a_frame_that_is_not_acknowledged_is_reported_as_undelivered_once(drive: MakeDriver, to: int) -> None:
    driver = drive(ROW)
    driver.do(0, send(to, 1))
    driver.run(5.0)
    ((frame, addressee),) = [call.arguments for call in driver.probe(0).calls("undelivered")]
    assert isinstance(frame, Ping)
    assert (frame.number, addressee) == (1, to)
    assert [probe.numbers() for probe in driver.probes()] == [[]] * 4
    assert all(probe.calls("undelivered") == [] for probe in driver.probes()[1:])


def test_a_node_does_not_hear_what_it_sends_to_itself(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    driver.do(0, send(0, 1))
    driver.run(5.0)
    assert len(driver.probe(0).calls("undelivered")) == 1
    assert driver.probe(1).numbers() == []


def test_an_undelivered_frame_does_not_block_the_frames_after_it(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    driver.begin(0, send(ABSENT, 1, 2))
    driver.do(0, send(1, 3))
    driver.do(0, broadcast(4))
    driver.run(5.0)
    assert driver.probe(1).numbers() == [(3, 0), (4, 0)]
    numbers = [call.arguments[0].number for call in driver.probe(0).calls("undelivered")]
    assert numbers == [1, 2]


def test_a_frame_sent_again_from_on_undelivered_is_not_handled_inside_it(drive: MakeDriver) -> None:
    driver = drive([0.0, 5.0])

    def again(probe: Probe, frame: Frame, to: int) -> None:
        assert isinstance(frame, Ping)
        if frame.number < 4:
            probe.host.send(to, Ping(frame.number + 1))

    driver.probe(0).react["undelivered"] = again
    driver.do(0, send(1, 1))
    driver.run(10.0)
    assert [call.arguments[0].number for call in driver.probe(0).calls("undelivered")] == [1, 2, 3, 4]


def test_a_frame_whose_acknowledgement_was_lost_is_not_handed_up_twice(drive: MakeDriver) -> None:
    """0 and 1 begin together. While 0 is still sending, 2, which does not hear 0, acknowledges the frame of 1."""
    driver = drive([0.0, 0.9, 1.8])
    driver.run(1.0)
    for number in range(5):
        driver.begin(0, broadcast(number, content=bytes(500)))
        driver.do(1, send(2, number))
        driver.run(2.0)
    assert driver.probe(2).numbers() == [(number, 1) for number in range(5)]


def test_over_a_bad_channel_a_frame_arrives_once_or_its_loss_is_reported(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5], loss=0.4)
    numbers = list(range(40))
    for number in numbers:
        driver.do(0, send(1, number))
    driver.run(5.0)
    came = [number for number, _ in driver.probe(1).numbers()]
    lost = [call.arguments[0].number for call in driver.probe(0).calls("undelivered")]
    assert came == sorted(set(came)), "twice, or out of order"
    assert sorted({*came, *lost}) == numbers
    assert len(came) > 15


def test_broadcasts_over_a_bad_channel_are_lost_without_a_report(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5], loss=0.5)
    for number in range(40):
        driver.do(0, broadcast(number))
    assert 5 < len(driver.probe(1).numbers()) < 35
    assert driver.probe(0).calls("undelivered") == []


# -------------------------------------------------------------------------------------------------- mute and heard


def published(driver: Driver, i: int) -> Event:
    """Node i publishes an event without effect."""
    driver.do(i, lambda *_: None)
    event: Event = driver.probe(i).calls("publish")[-1].arguments[0]
    return event


def heard(driver: Driver, i: int, id: int) -> int:
    counts: list[int] = []
    driver.do(i, lambda probe, _: counts.append(probe.host.heard(id)))
    return counts[0]


def ping(number: int, id: int) -> Deed:
    return lambda probe, _: probe.host.broadcast(Ping(number, id))


def test_frames_with_a_muted_id_are_counted_and_not_handed_up(drive: MakeDriver) -> None:
    driver = drive(CELL)
    event = published(driver, 0)
    driver.probe(1).react["frame"] = lambda probe, *_: probe.host.mute(event.id)
    assert heard(driver, 1, event.id) == 0
    for number, i in enumerate([0, 2, 3, 0]):
        driver.do(i, ping(number, event.id))
    driver.do(0, lambda probe, _: probe.host.broadcast(Parcel(event)))
    assert driver.probe(1).numbers() == [(0, 0)]
    assert heard(driver, 1, event.id) == 4
    assert len(driver.probe(2).numbers()) == 3, "other nodes still receive it"
    assert heard(driver, 2, event.id) == 0


def test_an_id_can_be_muted_before_its_first_frame_arrives(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    event = published(driver, 0)
    driver.do(1, with_host(("mute", event.id)))
    for number in range(3):
        driver.do(0, ping(number, event.id))
    assert driver.probe(1).numbers() == []
    assert heard(driver, 1, event.id) == 3


def test_a_publisher_can_mute_its_own_event(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    driver.do(0, lambda probe, event: probe.host.mute(event.id))
    event = driver.probe(0).calls("publish")[0].arguments[0]
    driver.do(1, ping(1, event.id))
    assert driver.probe(0).numbers() == []
    assert heard(driver, 0, event.id) == 1


def test_muting_again_does_not_count_from_the_beginning(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    event = published(driver, 0)
    driver.do(1, with_host(("mute", event.id)))
    driver.do(0, ping(1, event.id))
    driver.do(1, with_host(("mute", event.id)))
    driver.do(0, ping(2, event.id))
    assert heard(driver, 1, event.id) == 2


def test_an_unmuted_id_is_handed_up_again_and_counted_from_zero(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    event, other = published(driver, 0), published(driver, 0)
    driver.do(1, with_host(("mute", event.id), ("mute", other.id), ("unmute", ABSENT)))
    driver.do(0, ping(1, event.id))
    driver.do(1, with_host(("unmute", event.id)))
    assert heard(driver, 1, event.id) == 0
    driver.do(0, ping(2, event.id))
    driver.do(0, ping(3, other.id))
    assert driver.probe(1).numbers() == [(2, 0)]
    driver.do(1, with_host(("mute", event.id)))
    driver.do(0, ping(4, event.id))
    assert driver.probe(1).numbers() == [(2, 0)]
    assert heard(driver, 1, event.id) == 1


def test_other_ids_and_frames_without_an_id_are_still_handed_up(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    one, other = published(driver, 0), published(driver, 0)
    driver.do(1, with_host(("mute", one.id), ("mute", 0)))
    driver.do(0, ping(1, one.id))
    driver.do(0, ping(2, other.id))
    driver.do(0, ping(3, 0))
    assert driver.probe(1).numbers() == [(2, 0), (3, 0)]


def test_a_muted_frame_for_one_neighbour_is_acknowledged_nevertheless(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.5])
    event = published(driver, 0)
    driver.do(1, with_host(("mute", event.id)))
    driver.do(0, lambda probe, _: probe.host.send(1, Ping(1, event.id)))
    driver.run(5.0)
    assert driver.probe(0).calls("undelivered") == []
    assert driver.probe(1).numbers() == []
    assert heard(driver, 1, event.id) == 1


# ------------------------------------------------------------------------------------------------ crash and recovery


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


# ------------------------------------------------------------------------------------------------------------ the log


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


# ----------------------------------------------------------------------------------- signal strength, speed, battery


def test_a_nearer_sender_is_heard_at_least_as_strongly(drive: MakeDriver) -> None:
    driver = drive([0.0, 0.1, 0.9])
    signals: list[float] = []
    driver.probe(0).react["frame"] = lambda probe, *_: signals.append(probe.host.signal())
    driver.do(1, broadcast(1))
    driver.do(2, broadcast(2))
    near, far = signals
    assert (near != near and far != far) or near >= far


def test_a_standing_node_has_no_speed_and_its_battery_is_a_share(drive: MakeDriver) -> None:
    driver = drive([0.0])
    seen: list[tuple[float, float]] = []
    for _ in range(3):
        driver.do(0, lambda probe, _: seen.append((probe.host.speed(), probe.host.battery())))
    assert all(speed == 0.0 or speed != speed for speed, _ in seen)
    left = [battery for _, battery in seen]
    assert left == sorted(left, reverse=True)
    assert all(0.0 <= battery <= 1.0 for battery in left)
