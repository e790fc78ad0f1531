"""What every host promises about frames, checked on every driver."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from roamcast.protocols.kit.interface import Frame
from roamcast.pubsub.event import Event
from tests.conformance.conftest import MakeDriver
from tests.conformance.driver import WHY, Deed, Driver, Parcel, Ping, Probe
from tests.conformance.requests import ABSENT, CELL, broadcast, ping, published, with_host

ROW = [0.0, 0.9, 1.8, 2.7]
"""Each node hears the nodes next to it."""


def send(to: int, *numbers: int) -> Deed:
    def deed(probe: Probe, event: Event) -> None:
        for number in numbers:
            probe.host.send(to, Ping(number))

    return deed


# ---- broadcasts


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


# ---- to one neighbour


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


# ---- mute and heard


def heard(driver: Driver, i: int, id: int) -> int:
    counts: list[int] = []
    driver.do(i, lambda probe, _: counts.append(probe.host.heard(id)))
    return counts[0]


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
