"""Medium access and collisions of LoRa radios, computed by hand.

A frame of 24 bytes with its header of 16 lasts 395,264 us on long-fast; a slot has 77,232 us.
"""

from __future__ import annotations

from math import log10
from typing import Any

import pytest

from roamcast.world.faults import CRASH, RECOVER
from roamcast.world.lora import airtime_us
from roamcast.world.mac.lora import HOUR_US, Lora
from roamcast.world.specs import LoraSpec
from tests.world.stage import Stage, Words

SLOT = 77_232
AIRTIME = airtime_us(LoraSpec(), 40)
SECOND = 1_000_000
APART = [(0.0, 0.0), (1500.0, 0.0), (3000.0, 0.0)]
"""Neighbours hear each other; 0 and 2 do not even notice each other."""
PAIR = [(0.0, 0.0), (1000.0, 0.0)]


def lora_stage(positions: list[tuple[float, float]], lora: LoraSpec | None = None, **more: Any) -> Stage:
    return Stage(positions, access="lora", law="lora", lora=lora or LoraSpec(), **more)


def mac_of(stage: Stage) -> Lora:
    mac = stage.mac
    assert isinstance(mac, Lora)
    return mac


def at_once(stage: Stage) -> Stage:
    """No node waits: instants are those of the script."""
    mac = mac_of(stage)
    mac.window_min = mac.window_span = 0
    return stage


# ---- access


def test_a_frame_waits_for_a_number_of_slots_below_four_where_the_channel_is_free() -> None:
    stage = lora_stage(PAIR)
    stage.send(1.0, 0, size=24)
    stage.run(5.0)
    (slots,) = stage.draws(0, 4)
    assert stage.sent(0) == [SECOND + slots * SLOT]
    assert stage.heard(1) == [(SECOND + slots * SLOT + AIRTIME, 0)]


def test_a_node_whose_wait_ends_while_the_channel_is_busy_draws_again_from_there() -> None:
    stage = lora_stage(PAIR)
    seed = next(s for s in range(1, 99) if lora_stage(PAIR, seed=s).draws(0, 4) == [0])
    stage = lora_stage(PAIR, seed=seed)
    stage.send(1.0, 0, size=24)
    stage.send(1.1, 1, size=24)
    stage.run(9.0)
    first, *more = stage.draws(1, 4, 3, 3, 3, 3)
    at = 1_100_000 + first * SLOT
    for draw in more:
        if at >= SECOND + AIRTIME:
            break
        at += (1 + draw) * SLOT if at - SECOND >= SLOT else 0
    assert stage.sent(1) == [at] and at >= SECOND + AIRTIME
    assert stage.heard(0) == [(at + AIRTIME, 1)]


@pytest.mark.parametrize("late_us, noticed", [(SLOT - 1, False), (SLOT, True)])
def test_activity_that_began_less_than_a_slot_ago_is_not_noticed(late_us: int, noticed: bool) -> None:
    stage = at_once(lora_stage(PAIR))
    stage.send(1.0, 0, size=24)
    stage.send(1.0 + late_us / 1e6, 1, size=24)
    stage.run(9.0)
    slots = -(-(AIRTIME - late_us) // SLOT) if noticed else 0  # one more each time, until the channel is free
    assert stage.sent(1) == [SECOND + late_us + slots * SLOT]
    assert len(stage.heard(0)) == len(stage.heard(1)) == (1 if noticed else 0)


def test_windows_of_relays_grow_with_the_signal() -> None:
    mac = mac_of(lora_stage(PAIR))
    assert [int(mac.exponent_by_signal(snr)) for snr in (-30.0, -20.0, -14.0, -2.0, 14.9, 15.0, 40.0)] == [
        2,
        2,
        3,
        5,
        7,
        8,
        8,
    ]
    assert int(mac.exponent_by_signal(float("nan"))) == 2


def test_windows_of_own_frames_grow_with_the_use_of_the_channel() -> None:
    mac = mac_of(lora_stage(PAIR))
    assert int(mac.exponent_by_use(0, 0)) == 2
    mac.sensed(0, 0, 0, 30_000_000)
    assert mac.utilisation(0, 59_000_000) == pytest.approx(0.5)
    assert int(mac.exponent_by_use(0, 59_000_000)) == 5
    assert mac.utilisation(0, 90_000_000) == pytest.approx(0.25)  # half of that minute has passed out of sight
    assert mac.utilisation(0, 200_000_000) == 0.0


def test_an_own_frame_draws_from_the_window_of_the_use_of_the_channel() -> None:
    """Half a minute of use makes 2^5 slots; a relay of another frame has a window of its own, which is not taken."""
    stage = lora_stage(PAIR)
    mac, station = mac_of(stage), stage.stations[0]
    mac.relays[0][7] = 256
    assert mac.window_of(station, 59_000_000) == 4
    mac.sensed(0, 0, 0, 30_000_000)
    assert mac.window_of(station, 59_000_000) == 32
    station.head = Numbered(6)
    assert mac.window_of(station, 59_000_000) == 32
    station.head = Numbered(7)
    assert mac.window_of(station, 59_000_000) == 256


def test_what_a_node_sends_itself_counts_as_use_of_the_channel() -> None:
    stage = at_once(lora_stage([(0.0, 0.0), (9000.0, 0.0)]))
    stage.send(1.0, 0, size=24)
    stage.run(30.0)
    mac = mac_of(stage)
    assert mac.utilisation(0, 30 * SECOND) == pytest.approx(AIRTIME / 60e6)
    assert mac.utilisation(1, 30 * SECOND) == 0.0


def test_frames_that_overlap_count_once_as_use_of_the_channel() -> None:
    mac = mac_of(lora_stage(PAIR))
    mac.sensed(0, 0, 0, 6_000_000)
    mac.sensed(0, 3_000_000, 6_000_000, 9_000_000)
    mac.sensed(0, 4_000_000, 9_000_000, 5_000_000)
    assert mac.utilisation(0, 10_000_000) == pytest.approx(0.15)


def test_a_relay_waits_by_its_signal_and_a_router_goes_first() -> None:
    stage = lora_stage(PAIR)
    mac, station = mac_of(stage), stage.stations[0]
    station.heard_strength = 10.0 ** ((mac.noise_dbm + 15.0 - stage.radio.sensitivity_dbm) / 10.0)
    mac.relay(station, Words(1, 24), False)
    mac.relay(station, Numbered(7), True)
    assert mac.relays[0] == {0: 256, 7: 16}


class Numbered(Words):
    def __init__(self, id: int) -> None:
        super().__init__(0, 24)
        self.id = id


def test_a_frame_that_waits_can_be_taken_back() -> None:
    stage = lora_stage(PAIR)
    stage.run(0.5)
    station = stage.stations[0]
    station.relay(Numbered(5))
    station.relay(Numbered(6))
    station.relay(Numbered(7))
    assert station.withdraw(6) and not station.withdraw(6)
    assert station.withdraw(5) and not station.withdraw(8)
    stage.world.run(30 * SECOND)
    assert len(stage.sent(0)) == 1 and mac_of(stage).relays[0] == {}
    assert not station.withdraw(7)  # it has gone


def test_an_echo_takes_two_frames_and_the_windows_of_two_waits() -> None:
    stage = lora_stage(PAIR)
    assert stage.stations[0].echo_us(24) == 2 * AIRTIME + (4 + 32) * SLOT
    assert Stage(PAIR).stations[0].echo_us(24) == 0


# ---- collisions


def strong_and_weak(ratio_db: float) -> list[tuple[float, float]]:
    """Senders 0 and 2 do not notice each other, and are that much apart in strength at 1, between them."""
    near = 1500.0
    far = near * 10.0 ** (ratio_db / 44.9)
    return [(-near, 0.0), (0.0, 0.0), (far, 0.0)]


@pytest.mark.parametrize("ratio_db, heard", [(0.0, []), (5.9, []), (6.1, [0])])
def test_the_stronger_frame_survives_with_six_decibels(ratio_db: float, heard: list[int]) -> None:
    lora = LoraSpec(tx_dbm=33.0)
    stage = at_once(lora_stage(strong_and_weak(ratio_db), lora))
    stage.send(1.0, 0, size=24)
    stage.send(1.2, 2, size=24)
    stage.run(5.0)
    assert [sender for _, sender in stage.heard(1)] == heard
    assert [reason for _, reason in stage.lost(1)] == ["collision"] * (2 - len(heard))


def test_the_stronger_frame_survives_even_if_it_comes_later() -> None:
    stage = at_once(lora_stage(strong_and_weak(8.0), LoraSpec(tx_dbm=33.0)))
    stage.send(1.0, 2, size=24)
    stage.send(1.2, 0, size=24)
    stage.run(5.0)
    assert [sender for _, sender in stage.heard(1)] == [0]


@pytest.mark.parametrize("overlap_us, survive", [(11 * 8192, True), (11 * 8192 + 1, False)])
def test_frames_survive_if_the_earlier_one_ends_in_the_preamble_of_the_later_one(
    overlap_us: int, survive: bool
) -> None:
    stage = at_once(lora_stage(APART))
    stage.send(1.0, 0, size=24)
    stage.send((SECOND + AIRTIME - overlap_us) / 1e6, 2, size=24)
    stage.run(5.0)
    assert len(stage.heard(1)) == (2 if survive else 0)


@pytest.mark.parametrize("first, second", [(0, 2), (2, 0)])
def test_frames_too_weak_to_be_decoded_harm_nobody(first: int, second: int) -> None:
    """Node 0 is 4.5 dB stronger at 1 than node 2, which would not be enough for a frame that can be decoded."""
    positions = [(0.0, 0.0), (1700.0, 0.0), (1700.0 + 2140.0, 0.0)]
    stage = at_once(lora_stage(positions))
    stage.send(1.0, first, size=24)
    stage.send(1.2, second, size=24)
    stage.run(5.0)
    assert [sender for _, sender in stage.heard(1)] == [0] and stage.lost(1) == []
    assert mac_of(stage).utilisation(1, 5 * SECOND) == pytest.approx((AIRTIME + 200_000) / 60e6)  # both were noticed


def test_a_radio_that_sends_hears_nothing() -> None:
    stage = at_once(lora_stage(PAIR))
    stage.send(1.0, 0, size=24)
    stage.send(1.05, 1, size=200)
    stage.run(9.0)
    assert stage.heard(0) == stage.heard(1) == []
    assert [reason for _, reason in stage.lost(0) + stage.lost(1)] == ["half-duplex", "half-duplex"]


def test_a_node_that_was_off_during_a_frame_has_not_received_it() -> None:
    stage = at_once(lora_stage(PAIR))
    stage.send(1.0, 0, size=24)
    stage.send(3.0, 0, size=24)
    stage.switch(1.1, 1, CRASH)
    stage.switch(1.2, 1, RECOVER)
    stage.run(9.0)
    assert stage.heard(1) == [(3 * SECOND + AIRTIME, 0)] and stage.lost(1) == []


def test_frames_for_one_neighbour_are_acknowledged() -> None:
    stage = at_once(lora_stage(PAIR))
    stage.send(1.0, 0, to=1, size=24)
    stage.run(9.0)
    assert stage.sent(0) == [SECOND]
    assert [row.t for row in stage.rows("acknowledge")] == [SECOND + AIRTIME + SLOT]
    assert stage.happened(0, "undelivered") == []


def test_a_frame_for_a_neighbour_that_is_not_there_is_given_up() -> None:
    stage = lora_stage([(0.0, 0.0), (9000.0, 0.0)], retries=2)
    stage.send(1.0, 0, to=1, size=24)
    stage.run(60.0)
    assert len(stage.sent(0)) == 3 and len(stage.happened(0, "undelivered")) == 1


# ---- duty cycle


def test_a_sender_that_has_used_its_share_of_an_hour_waits_and_says_so() -> None:
    lora = LoraSpec(duty_cycle=2.5 * AIRTIME / HOUR_US)
    stage = at_once(lora_stage(PAIR, lora))
    for k in range(4):
        stage.send(1.0 + 10 * k, 0, size=24)
    stage.run(7300.0)
    first, second, third, fourth = stage.sent(0)
    assert (first, second) == (SECOND, 11 * SECOND)
    assert (third, fourth) == (first + AIRTIME + HOUR_US, second + AIRTIME + HOUR_US)
    waits = [row.value for row in stage.rows("delay", 0) if row.reason == "duty cycle"]
    assert waits[0] == third - 21 * SECOND


def test_without_a_limit_nobody_waits_for_it() -> None:
    stage = at_once(lora_stage(PAIR))
    for k in range(4):
        stage.send(1.0 + k, 0, size=24)
    stage.run(10.0)
    assert len(stage.sent(0)) == 4 and stage.rows("delay") == []


def test_the_strength_at_two_distances_differs_by_the_slope_of_the_law() -> None:
    stage = lora_stage([(0.0, 0.0), (500.0, 0.0), (1000.0, 0.0)])
    near, far = (stage.radio.dbm(stage.radio.strength(0, 1, 0.0, d * d)) for d in (500.0, 1000.0))
    assert near - far == pytest.approx(44.9 * log10(2.0))
