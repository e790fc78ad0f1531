"""Own frames: in order, within their share of airtime, acknowledged or repeated."""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.log import schema
from roamcast.net.air.medium import Sent
from roamcast.net.limits import Limits
from roamcast.net.wire.packet import POSITION, read_header
from roamcast.pubsub.event import Event
from tests.conformance.driver import Ping, Probe
from tests.conformance.real import Real, Walled
from tests.net.conftest import broadcast_all, rows_of


def test_own_transmissions_keep_to_their_share_of_airtime(real: Any) -> None:
    """A datagram of about 1100 bytes takes 8.8 ms at 1 Mbit/s; a tenth of the time allows eleven a second."""
    driver = real(limits=Limits(airtime_share=0.1, airtime_burst_s=0.05, queue=500))
    driver.begin(0, broadcast_all(range(200), bytes(1000)))
    driver.run(10.0)
    sent = rows_of(driver, schema.SEND)
    assert sum(row[7] for row in sent) <= 0.1 * 10.0e6 + 0.05e6 + sent[0][7]
    assert len(sent) > 100, "the share is used"
    assert [number for number, _ in driver.probe(1).numbers()] == list(range(len(sent))), "in order"


def test_acknowledgements_do_not_use_up_the_airtime_of_own_frames(real: Any) -> None:
    """A neighbour sends frames that need ten times more acknowledgements than this node has airtime for."""
    slow = Limits(airtime_share=0.05, airtime_burst_s=0.05, sender_frames_per_s=1e6, queue=10_000)
    driver = real(limits=slow)
    driver.do(0, lambda probe, _: probe.host.broadcast(Ping(0)))
    driver.do(1, lambda probe, _: probe.host.broadcast(Ping(0)))
    asker, address = driver.runners[1].codec, driver.media[0].port()
    driver.begin(0, broadcast_all(range(1, 31)))
    for n in range(1000):
        (ask,) = asker.outgoing(asker.encode(Ping(n)), 0, n)[1]
        driver.media[1].send(ask, ("127.0.0.1", address))
        driver.run(0.001)
    own = [number for number, sender in driver.probe(1).numbers() if sender == 0]
    assert own == list(range(31))
    assert driver.runners[0].tally.acks_out * 70 * 8 <= 0.5 * (0.05 * 2.1e6 + 0.05e6)
    assert driver.runners[0].tally.dropped["ack airtime"] > 500


def test_a_full_queue_loses_the_newest_frames_and_counts_them(real: Any) -> None:
    driver = real(limits=Limits(airtime_share=0.01, airtime_burst_s=0.001, queue=5))
    driver.do(0, broadcast_all(range(20)))
    assert driver.runners[0].tally.drops() == {"queue full": 14}
    assert {row[8] for row in rows_of(driver, schema.LOSE)} == {"queue"}
    driver.run(5.0)
    assert [number for number, _ in driver.probe(1).numbers()] == [0, 1, 2, 3, 4, 5]


class Choked(Walled):
    """A medium that returns the given results: no room, no network, or too large."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.results: list[Sent] = []
        self.tried = 0

    def send(self, datagram: bytes, to: Any = None) -> Sent:
        if read_header(datagram).kind == POSITION:  # these are sent once, whatever happens to them
            return super().send(datagram, to)
        self.tried += 1
        if self.results:
            result = self.results.pop(0)
            if result is not Sent.SENT:
                return result
        return super().send(datagram, to)


@pytest.fixture
def choked(monkeypatch: pytest.MonkeyPatch, real: Any) -> Real:
    monkeypatch.setattr("tests.conformance.real.Walled", Choked)
    driver = real()
    assert isinstance(driver, Real)
    return driver


def returns(driver: Real, *results: Sent) -> Choked:
    medium = driver.media[0]
    assert isinstance(medium, Choked)
    medium.results = list(results)
    return medium


def test_a_full_buffer_delays_frames_and_loses_none(choked: Real) -> None:
    full, sent = Sent.FULL, Sent.SENT
    medium = returns(choked, full, full, sent, full, sent, sent, full, full, full, full, full, full, full, full)
    choked.begin(0, broadcast_all(range(4), bytes(2000)))
    choked.run(5.0)
    assert [number for number, _ in choked.probe(1).numbers()] == [0, 1, 2, 3]
    assert choked.runners[0].tally.drops() == {}
    assert medium.tried == 8 + 11


def test_a_buffer_that_stays_full_is_not_tried_all_the_time(choked: Real) -> None:
    medium = returns(choked, *[Sent.FULL] * 10_000)
    choked.begin(0, lambda probe, _: probe.host.broadcast(Ping(1)))
    choked.run(60.0)
    assert 590 < medium.tried < 620


def test_without_a_network_broadcasts_are_lost_and_neighbours_are_tried_again(choked: Real) -> None:
    choked.do(1, lambda probe, _: probe.host.broadcast(Ping(0)))
    returns(choked, Sent.DOWN, Sent.DOWN, Sent.DOWN)

    def deed(probe: Probe, _: Event) -> None:
        probe.host.broadcast(Ping(1))
        probe.host.send(1, Ping(2))
        probe.host.broadcast(Ping(3))

    choked.do(0, deed)
    assert sorted(number for number, _ in choked.probe(1).numbers()) == [2, 3]
    assert choked.runners[0].tally.drops() == {"no network": 3}


def test_a_frame_that_the_network_will_not_take_is_given_up_at_once(choked: Real) -> None:
    returns(choked, Sent.TOO_LARGE, Sent.TOO_LARGE)

    def deed(probe: Probe, _: Event) -> None:
        probe.host.broadcast(Ping(1))
        probe.host.send(1, Ping(2))
        probe.host.broadcast(Ping(3))

    choked.do(0, deed)
    assert [number for number, _ in choked.probe(1).numbers()] == [3]
    assert [call.arguments[0].number for call in choked.probe(0).calls("undelivered")] == [2]
    assert choked.runners[0].tally.drops() == {"too large": 2}


def test_a_neighbour_whose_address_changed_is_reached_again(real: Any) -> None:
    driver = real()
    driver.do(1, lambda probe, _: probe.host.broadcast(Ping(0)))
    before = driver.media[1].port()
    driver.crash(1)
    driver.recover(1, keep_tables=True)
    assert driver.media[1].port() != before
    driver.do(0, lambda probe, _: probe.host.send(1, Ping(5)))
    driver.run(2.0)
    assert driver.probe(1).numbers() == [(5, 0)]
    assert driver.probe(0).calls("undelivered") == []
    assert driver.runners[0].tally.retries > 0


def test_a_frame_goes_to_the_neighbour_alone_if_its_address_is_known(real: Any) -> None:
    driver = real([0.0, 0.3, 0.6])
    driver.do(1, lambda probe, _: probe.host.broadcast(Ping(0)))
    driver.do(0, lambda probe, _: probe.host.send(1, Ping(5)))
    assert driver.probe(1).numbers() == [(5, 0)]
    assert driver.runners[2].tally.drops() == {}
    driver.do(0, lambda probe, _: probe.host.send(2, Ping(6)))
    assert driver.runners[1].tally.dropped["not for us"] == 1, (
        "a frame for a node that was never heard goes to the group's address"
    )


def test_frames_for_others_do_not_wait_for_a_neighbour_that_does_not_answer(real: Any) -> None:
    """Forty nodes that do not exist: each would delay all frames behind it by 0.44 s."""
    driver = real(limits=Limits(queue=200))

    def deed(probe: Probe, _: Event) -> None:
        for number in range(40):
            probe.host.send(1000 + number, Ping(number))
        probe.host.send(1, Ping(100))
        probe.host.send(1, Ping(101))
        probe.host.broadcast(Ping(102))

    driver.begin(0, deed)
    driver.run(1.5)
    assert [number for number, _ in driver.probe(1).numbers()] == [100, 101, 102]
    driver.run(5.0)
    assert sorted(call.arguments[0].number for call in driver.probe(0).calls("undelivered")) == list(range(40))
    assert driver.runners[0].tally.dropped["no ack"] == 40
    assert len(driver.runners[0].outbox) == 0


def test_frames_for_one_neighbour_stay_in_order_while_it_does_not_answer(real: Any) -> None:
    driver = real()
    driver.crash(1)

    def deed(probe: Probe, _: Event) -> None:
        for number in range(5):
            probe.host.send(1, Ping(number))

    driver.begin(0, deed)
    driver.run(0.1)
    assert len(driver.runners[0].outbox) == 5
    driver.recover(1, keep_tables=False)
    driver.run(2.0)
    assert [number for number, _ in driver.probe(1).numbers()] == list(range(5))
    assert len(driver.runners[0].outbox) == 0
