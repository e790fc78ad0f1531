"""Medium access, computed by hand: which node may send when, what freezes, what is repeated, what is dropped."""

from __future__ import annotations

import pytest

from roamcast.world.faults import SLEEP, WAKE
from tests.world.places import CELL, ROW
from tests.world.stage import ACK_US, AIRTIME_US, DIFS_US, EIFS_US, SIFS_US, SLOT_US, Stage

LAWS = pytest.mark.parametrize("law", ["disc", "log-distance"])


def access_us(end_us: int, slots: int, space_us: int = DIFS_US) -> int:
    return end_us + space_us + slots * SLOT_US


# ---- immediate access, back-off


@LAWS
def test_on_a_medium_that_has_been_idle_a_frame_goes_out_at_once(law: str) -> None:
    stage = Stage(CELL, law=law)
    stage.send(0.001, 0)
    stage.run(1.0)
    assert stage.sent(0) == [1000]
    assert stage.heard(1) == stage.heard(3) == [(1000 + AIRTIME_US, 0)]
    assert stage.heard(0) == []


@LAWS
def test_a_station_waits_until_the_medium_has_been_idle_for_difs(law: str) -> None:
    stage = Stage(CELL, law=law)
    stage.send(0.000010, 0)
    stage.run(1.0)
    assert stage.sent(0) == [DIFS_US]


@LAWS
def test_two_stations_whose_difs_ends_in_the_same_microsecond_both_send(law: str) -> None:
    stage = Stage(CELL, law=law)
    stage.send(0.000010, 0)
    stage.send(0.000020, 1)
    stage.run(0.004)
    assert stage.sent(0) == stage.sent(1) == [DIFS_US]


@LAWS
def test_on_a_busy_medium_a_station_backs_off_after_difs(law: str) -> None:
    stage = Stage(CELL, law=law)
    stage.send(0.001, 0)
    stage.send(0.002, 1)
    stage.run(1.0)
    (slots,) = stage.draws(1, 32)
    assert stage.sent(1) == [access_us(1000 + AIRTIME_US, slots)]
    assert [sender for _, sender in stage.heard(2)] == [0, 1]


@LAWS
def test_a_back_off_freezes_while_others_send_and_goes_on_where_it_was(law: str) -> None:
    stage = Stage(CELL, law=law)
    stage.send(0.001, 0)
    stage.send(0.002, 1)
    stage.send(0.003, 2)
    stage.run(1.0)
    (one,), (two,) = stage.draws(1, 32), stage.draws(2, 32)
    assert one != two, "choose another seed: these two would collide"
    first, later, left = (1, 2, two - one) if one < two else (2, 1, one - two)
    first_at = access_us(1000 + AIRTIME_US, min(one, two))
    assert stage.sent(first) == [first_at]
    assert stage.sent(later) == [access_us(first_at + AIRTIME_US, left)]
    assert len(stage.heard(3)) == 3


@LAWS
def test_a_part_of_a_slot_does_not_count(law: str) -> None:
    """The frame of 2 comes when 1 has counted some slots and a part of one."""
    for late_us in (1, 19, 20, 21, 39, 40):
        stage = Stage(CELL, law=law, seed=3)
        (slots,) = stage.draws(1, 32)
        assert slots > 2
        end = 1000 + AIRTIME_US
        second = end + DIFS_US + late_us
        stage.send(0.001, 0)
        stage.send(0.002, 1)
        stage.send(second * 1e-6, 2)  # the medium has been idle for DIFS: immediate access
        stage.run(1.0)
        assert stage.sent(2) == [second]
        assert stage.sent(1) == [access_us(second + AIRTIME_US, slots - late_us // SLOT_US)]


@LAWS
def test_after_a_transmission_a_station_backs_off_before_the_next(law: str) -> None:
    stage = Stage(CELL, law=law)
    stage.send(0.001, 0)
    stage.send(0.001, 0)
    stage.run(1.0)
    (slots,) = stage.draws(0, 32)
    assert stage.sent(0) == [1000, access_us(1000 + AIRTIME_US, slots)]


@LAWS
def test_the_back_off_after_a_transmission_is_over_by_the_time_of_a_later_frame(law: str) -> None:
    stage = Stage(CELL, law=law)
    stage.send(0.001, 0)
    stage.send(0.1, 0)
    stage.run(1.0)
    assert stage.sent(0) == [1000, 100_000]


@LAWS
def test_the_back_off_after_a_transmission_counts_when_the_next_frame_comes_soon(law: str) -> None:
    stage = Stage(CELL, law=law)
    (slots,) = stage.draws(0, 32)
    assert slots > 2
    end = 1000 + AIRTIME_US
    stage.send(0.001, 0)
    stage.send((end + DIFS_US + 25) * 1e-6, 0)  # one slot and a quarter have passed
    stage.run(1.0)
    assert stage.sent(0) == [1000, access_us(end, slots)]


@LAWS
def test_two_stations_that_draw_the_same_slot_collide(law: str) -> None:
    """Stations 1 and 2 begin in the same microsecond: neither hears the other, and no other station receives
    anything."""
    seed = next(s for s in range(1, 200) if Stage(CELL, seed=s).draws(1, 32) == Stage(CELL, seed=s).draws(2, 32))
    stage = Stage(CELL, law=law, seed=seed)
    stage.send(0.001, 0)
    stage.send(0.002, 1)
    stage.send(0.002, 2)
    stage.run(1.0)
    (slots,) = stage.draws(1, 32)
    at = access_us(1000 + AIRTIME_US, slots)
    assert stage.sent(1) == stage.sent(2) == [at]
    assert stage.heard(1)[1:] == stage.heard(2)[1:] == []
    assert [why for _, why in stage.lost(3)] == ["collision"] * 2
    assert [why for _, why in stage.lost(0)] == ["collision"] * 2


@pytest.mark.parametrize(
    ("law", "sizes"),
    [
        ("disc", (400, 400)),
        ("disc", (100, 400)),
        ("disc", (400, 100)),
        ("log-distance", (400, 400)),
        ("log-distance", (100, 400)),
        ("log-distance", (400, 100)),
    ],
)
def test_a_station_that_sends_meanwhile_loses_a_frame_to_half_duplex(law: str, sizes: tuple[int, int]) -> None:
    stage = Stage(CELL[:2], law=law)
    for node, size in enumerate(sizes):
        stage.send(0.001, node, size=size)
    stage.run(1.0)
    assert [why for _, why in stage.lost(0)] == ["half-duplex"]
    assert [why for _, why in stage.lost(1)] == ["half-duplex"]


# ---- EIFS


def eifs_stage(second_after_us: int, law: str) -> tuple[Stage, int]:
    """0 and 2, hidden from each other, overlap at 1, which waits to send. Also returns when 1 last senses something."""
    stage = Stage(ROW, law=law)
    stage.send(0.001, 0)
    stage.send((1000 + second_after_us) * 1e-6, 2)
    stage.send(0.002, 1)
    stage.run(1.0)
    return stage, 1000 + second_after_us + AIRTIME_US


@LAWS
@pytest.mark.parametrize("second_after_us", [192, 193, 1500])
def test_a_frame_garbled_after_its_plcp_header_is_followed_by_eifs(law: str, second_after_us: int) -> None:
    stage, quiet_from = eifs_stage(second_after_us, law)
    (slots,) = stage.draws(1, 32)
    assert stage.sent(1) == [access_us(quiet_from, slots, EIFS_US)]


@LAWS
@pytest.mark.parametrize("second_after_us", [1, 100, 191])
def test_a_frame_garbled_before_its_plcp_header_is_only_energy(law: str, second_after_us: int) -> None:
    stage, quiet_from = eifs_stage(second_after_us, law)
    (slots,) = stage.draws(1, 32)
    assert stage.sent(1) == [access_us(quiet_from, slots)]


@LAWS
def test_a_frame_that_is_understood_ends_eifs(law: str) -> None:
    stage = Stage(ROW, law=law)
    stage.send(0.001, 0)
    stage.send(0.0025, 2)
    stage.send(0.02, 0)
    stage.send(0.021, 1)
    stage.run(1.0)
    (slots,) = stage.draws(1, 32)
    assert stage.sent(1) == [access_us(20_000 + AIRTIME_US, slots)]


@LAWS
def test_the_end_of_eifs_does_not_make_a_station_send_during_a_frame(law: str) -> None:
    """Without EIFS, node 1 would have sent before the frame of 0; it must not send during that frame."""
    stage = Stage(ROW, law=law)
    stage.send(0.001, 0)
    stage.send(0.0025, 2)
    stage.send(0.02, 0)
    stage.send(0.021, 1)
    (slots,) = stage.draws(1, 32)
    after = access_us(20_000 + AIRTIME_US, slots) + 100
    stage.send(after * 1e-6, 0)
    stage.run(1.0)
    for mine in stage.sent(1):
        assert all(abs(mine - other) >= AIRTIME_US for other in stage.sent(0))


@LAWS
def test_immediate_access_waits_for_eifs_too(law: str) -> None:
    stage = Stage(ROW, law=law)
    stage.send(0.001, 0)
    stage.send(0.0025, 2)
    quiet_from = 2500 + AIRTIME_US
    stage.send((quiet_from + 100) * 1e-6, 1)
    stage.run(1.0)
    assert stage.sent(1) == [quiet_from + EIFS_US]


@LAWS
def test_a_station_s_own_transmission_ends_its_eifs(law: str) -> None:
    stage = Stage(ROW, law=law)
    stage.send(0.001, 0)
    stage.send(0.0025, 2)
    stage.send(0.01, 1)  # long after EIFS
    stage.send(0.01, 1)
    stage.run(1.0)
    (slots,) = stage.draws(1, 32)
    assert stage.sent(1) == [10_000, access_us(10_000 + AIRTIME_US, slots)]


# ---- acknowledged frames


@LAWS
def test_an_acknowledged_frame_arrives_once_and_the_next_follows_the_acknowledgement(law: str) -> None:
    stage = Stage(CELL, law=law)
    stage.send(0.001, 0, to=2)
    stage.send(0.001, 0, to=2)
    stage.run(1.0)
    (slots,) = stage.draws(0, 32)
    acknowledged = 1000 + AIRTIME_US + SIFS_US + ACK_US
    assert stage.sent(0) == [1000, access_us(acknowledged, slots)]
    assert [t for t, _ in stage.heard(2)] == [t + AIRTIME_US for t in stage.sent(0)]
    assert stage.heard(1) == stage.heard(3) == []
    assert stage.happened(0, "undelivered") == []
    assert [row.peer for row in stage.rows("send")] == [2, 2]


@LAWS
@pytest.mark.parametrize("retries", [0, 3, 7])
def test_without_acknowledgement_a_frame_is_repeated_with_doubled_windows(law: str, retries: int) -> None:
    stage = Stage([(0.0, 0.0), (1000.0, 0.0)], law=law, retries=retries)
    stage.send(0.001, 0, to=1)
    stage.run(2.0)
    windows = [64, 128, 256, 512, 1024, 1024, 1024][:retries]
    expected = [1000]
    gives_up = SIFS_US + ACK_US + SLOT_US
    for slots in stage.draws(0, *windows):
        expected.append(access_us(expected[-1] + AIRTIME_US + gives_up, slots))
    assert stage.sent(0) == expected
    given_up_at = expected[-1] + AIRTIME_US + gives_up
    assert stage.happened(0, "undelivered") == [(given_up_at, 1, 1)]
    assert stage.lost(0) == [(given_up_at, "no-ack")]


@LAWS
def test_the_window_is_the_smallest_again_after_a_frame_was_given_up(law: str) -> None:
    stage = Stage([(0.0, 0.0), (1000.0, 0.0)], law=law, retries=2)
    stage.send(0.001, 0, to=1)
    stage.send(0.001, 0)
    stage.run(2.0)
    *_, slots = stage.draws(0, 64, 128, 32)
    given_up_at = stage.happened(0, "undelivered")[0][0]
    assert stage.sent(0)[-1] == access_us(given_up_at, slots)
    assert len(stage.sent(0)) == 4


@LAWS
def test_a_repetition_is_acknowledged_and_dropped(law: str) -> None:
    """1 hears 0, but 0 does not hear 1's acknowledgements."""
    stage = Stage([(0.0, 0.0), (100.0, 0.0)], law=law, ranges=[150.0, 50.0], range_m=50.0, retries=3)
    stage.send(0.001, 0, to=1)
    stage.send(0.001, 0, to=1)
    stage.run(2.0)
    assert len(stage.sent(0)) == 8
    assert [number for _, _, number, _ in stage.happened(1, "frame")] == [1, 2]
    assert len(stage.heard(1)) == 2
    assert [number for _, _, number in stage.happened(0, "undelivered")] == [1, 2]


@LAWS
def test_a_station_that_overhears_a_frame_does_not_send_until_its_acknowledgement_is_over(law: str) -> None:
    """NAV: 0 does not hear 2, which acknowledges 1's frame."""
    stage = Stage(ROW, law=law)
    stage.send(0.001, 1, to=2)
    stage.send(0.002, 0)
    stage.run(1.0)
    (slots,) = stage.draws(0, 32)
    assert stage.sent(0) == [access_us(1000 + AIRTIME_US + SIFS_US + ACK_US, slots)]
    assert len(stage.sent(1)) == 1


@LAWS
def test_a_frame_that_comes_while_the_medium_is_reserved_backs_off(law: str) -> None:
    stage = Stage(ROW, law=law)
    end = 1000 + AIRTIME_US
    stage.send(0.001, 1, to=2)
    stage.send((end + 100) * 1e-6, 0)
    stage.run(1.0)
    (slots,) = stage.draws(0, 32)
    assert stage.sent(0) == [access_us(end + SIFS_US + ACK_US, slots)]


@LAWS
def test_acknowledgements_can_be_lost_like_frames(law: str) -> None:
    """The broadcast of 2, which 1 does not hear, collides with the acknowledgement at 0."""
    positions = [(0.0, 0.0), (100.0, 0.0), (-100.0, 0.0)]
    stage = Stage(positions, law=law)
    end = 1000 + AIRTIME_US
    stage.switch(0.0005, 2, SLEEP)
    stage.switch((end + 5) * 1e-6, 2, WAKE)  # it slept through the frame and knows of no reservation …
    stage.send((end + 6) * 1e-6, 2)  # … but after DIFS it falls into the acknowledgement
    stage.send(0.001, 0, to=1)
    stage.run(1.0)
    assert stage.sent(2) == [end + 5 + DIFS_US]
    assert len(stage.sent(0)) == 2
    assert [number for _, _, number, _ in stage.happened(1, "frame")] == [1]


def test_a_station_that_is_sending_does_not_acknowledge() -> None:
    """A mote whose back-off has two byte times left sends then; the acknowledgement was due after four."""
    pair = CELL[:2]
    seed = next(
        s for s in range(1, 999) if Stage(pair, seed=s).draws(1, 32)[0] == Stage(pair, seed=s).draws(0, 32)[0] + 2
    )
    stage = Stage(pair, access="tinyos", rate_bps=19_200.0, seed=seed)
    stage.send(1.0, 0, to=1, size=2)
    stage.send(1.0, 1, size=2)
    stage.run(5.0)
    first_end = stage.sent(0)[0] + int(stage.mac.airtime(36))
    assert stage.sent(1) == [first_end + 2 * 417]
    assert [sender for _, sender in stage.heard(0)] == [1]
    assert len(stage.sent(0)) == 2
    assert len(stage.happened(1, "frame")) == 1


def test_an_old_timeout_does_not_end_the_wait_of_a_later_attempt() -> None:
    """At 11 Mbit/s a short frame is shorter than the wait for its acknowledgement; here a short sleep interrupts that
    wait."""
    stage = Stage([(0.0, 0.0), (1000.0, 0.0)], rate_bps=11e6, retries=1)
    stage.send(0.1, 0, to=1, size=0)
    airtime = int(stage.mac.airtime(36))
    end = 100_000 + airtime
    stage.switch((end + 1) * 1e-6, 0, SLEEP)
    stage.switch((end + 2) * 1e-6, 0, WAKE)
    stage.run(1.0)
    (slots,) = stage.draws(0, 64)
    second = end + 2 + DIFS_US
    gives_up = SIFS_US + ACK_US + SLOT_US
    assert second + airtime < end + gives_up
    assert stage.sent(0) == [100_000, second, access_us(second + airtime + gives_up, slots)]


# ---- the queue


@pytest.mark.parametrize("queue", [1, 3])
def test_a_full_queue_drops_the_frame_that_comes_last(queue: int) -> None:
    stage = Stage(CELL, queue=queue)
    for _ in range(5):
        stage.send(0.001, 0)
    stage.run(1.0)
    assert len(stage.sent(0)) == queue
    assert stage.lost(0) == [(1000, "queue")] * (5 - queue)
    assert [number for _, _, number, _ in stage.happened(1, "frame")] == list(range(1, queue + 1))


def test_a_queue_has_room_again_once_its_first_frame_is_on_the_air() -> None:
    stage = Stage(CELL, queue=1)
    stage.send(0.001, 0)
    stage.send(0.002, 0)
    stage.send(0.003, 0)
    stage.run(1.0)
    assert len(stage.sent(0)) == 2
    assert stage.lost(0) == [(3000, "queue")]


def test_broadcasts_and_addressed_frames_keep_their_order() -> None:
    stage = Stage(CELL)
    for to in (-1, 1, -1, 1):
        stage.send(0.001, 0, to=to)
    stage.run(1.0)
    assert [number for _, _, number, _ in stage.happened(1, "frame")] == [1, 2, 3, 4]
