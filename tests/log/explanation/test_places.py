"""Where nodes were."""

from __future__ import annotations

import pytest

from roamcast.log.explanation.places import Places
from tests.log.explanation.logs import Hand


def places() -> Places:
    log = (
        Hand()
        .row(0, 1, "move", value=2_000_000, reason="10 20 3 -4")
        .row(2000, 1, "move", value=10**9, reason="16 12 0 0")
    )
    return Places(log.row(1000, 2, "move", value=3_000_000, reason="16 15 0 1").log_rows())


def test_a_node_moves_along_its_leg_and_not_beyond() -> None:
    assert places().position(1, 1_000_000) == (13.0, 16.0)
    assert places().position(1, 2_000_000) == (16.0, 12.0)
    assert places().position(2, 3_000_000) == places().position(2, 9_000_000) == (16.0, 17.0)


def test_distances() -> None:
    assert places().distance_m(1, 2, 3_000_000) == pytest.approx(5.0)


def test_before_its_first_leg_and_without_one_a_place_is_not_known() -> None:
    assert places().position(2, 999_999) is None
    assert places().distance_m(1, 2, 0) is places().distance_m(1, 3, 5_000_000) is None
