"""Medium access without contention and of TinyOS, computed by hand."""

from __future__ import annotations

import pytest

from tests.world.places import CELL, ROW
from tests.world.stage import Stage


def test_tinyos_backs_off_before_every_packet() -> None:
    stage = Stage(CELL, access="tinyos", rate_bps=19_200.0)
    byte_us = 417
    stage.send(1.0, 0, size=2)
    stage.send(1.0, 0, size=2)
    stage.run(5.0)
    first, second = (1 + draw for draw in stage.draws(0, 32, 32))
    airtime = int(stage.mac.airtime(36))
    at = 1_000_000 + first * byte_us
    assert stage.sent(0) == [at, at + airtime + second * byte_us]


def test_tinyos_stops_counting_while_a_packet_comes_in() -> None:
    seed = next(
        s for s in range(1, 99) if Stage(CELL, seed=s).draws(1, 32)[0] > Stage(CELL, seed=s).draws(0, 32)[0] + 5
    )
    stage = Stage(CELL, access="tinyos", rate_bps=19_200.0, seed=seed)
    stage.send(1.0, 0, size=2)
    stage.send(1.0, 1, size=2)
    stage.run(5.0)
    (zero,), (one,) = stage.draws(0, 32), stage.draws(1, 32)
    airtime = int(stage.mac.airtime(36))
    assert stage.sent(0) == [1_000_000 + (1 + zero) * 417]
    assert stage.sent(1) == [1_000_000 + (1 + one) * 417 + airtime]
    assert len(stage.heard(2)) == 2


def test_motes_whose_access_is_a_byte_time_apart_collide() -> None:
    """The second mote cannot sense the first one: its radio is already turning from receiving to sending."""
    seed = next(
        s for s in range(1, 999) if Stage(CELL, seed=s).draws(1, 32)[0] == Stage(CELL, seed=s).draws(0, 32)[0] + 1
    )
    stage = Stage(CELL, access="tinyos", rate_bps=19_200.0, seed=seed)
    stage.send(1.0, 0, size=2)
    stage.send(1.0, 1, size=2)
    stage.run(5.0)
    assert stage.sent(1)[0] - stage.sent(0)[0] == 417
    assert stage.heard(2) == stage.heard(3) == []


def test_motes_whose_access_is_two_byte_times_apart_do_not_collide() -> None:
    seed = next(
        s for s in range(1, 999) if Stage(CELL, seed=s).draws(1, 32)[0] == Stage(CELL, seed=s).draws(0, 32)[0] + 2
    )
    stage = Stage(CELL, access="tinyos", rate_bps=19_200.0, seed=seed)
    stage.send(1.0, 0, size=2)
    stage.send(1.0, 1, size=2)
    stage.run(5.0)
    assert len(stage.heard(2)) == 2


def test_on_an_ideal_medium_all_stations_may_send_at_once() -> None:
    stage = Stage(CELL, access="ideal", queue=1)
    for node in range(4):
        for _ in range(3):
            stage.send(0.001, node)
    stage.run(1.0)
    one_after_the_other = [1000, 1000 + 8 * 436, 1000 + 16 * 436]
    assert [stage.sent(node) for node in range(4)] == [one_after_the_other] * 4
    assert [len(stage.heard(node)) for node in range(4)] == [9] * 4
    assert stage.rows("lose") == []


def test_on_an_ideal_medium_an_addressed_frame_reaches_its_addressee_or_fails_at_once() -> None:
    stage = Stage(ROW, access="ideal")
    stage.send(0.001, 0, to=1)
    stage.send(0.01, 0, to=2)
    stage.run(1.0)
    assert [t for t, _ in stage.heard(1)] == [1000 + 8 * 436]
    assert stage.heard(2) == []
    assert stage.happened(0, "undelivered") == [(10_000 + 8 * 436, 2, 2)]
    assert stage.lost(0) == [(10_000 + 8 * 436, "no-ack")]


def test_a_timer_cannot_be_set_in_the_past() -> None:
    stage = Stage(CELL)
    with pytest.raises(ValueError, match="5 us ago"):
        stage.stations[0].set_timer(1, -5)
