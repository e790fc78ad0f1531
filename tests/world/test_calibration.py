"""Calibration: the share of successful receptions of ns-3's 802.11b, row by row, without fitted constants."""

from __future__ import annotations

import csv
from typing import NamedTuple

import pytest

from roamcast.errors import InputError
from tests.support.calibration import reception_success
from tests.support.data import data, find

TOLERANCE = 0.03


class Row(NamedTuple):
    layout: str
    stations: int
    load: float
    success: float


def rows() -> list[Row]:
    path = find("mac_calibration.csv")
    if path is None:
        return []
    with path.open() as file:
        table = csv.DictReader(line for line in file if not line.startswith("#"))
        return [
            Row(r["layout"], int(r["stations"]), float(r["offered_load"]), float(r["reception_success"])) for r in table
        ]


@pytest.mark.parametrize("row", rows(), ids=lambda r: f"{r.layout}-{r.stations}-{r.load:g}")
def test_success_is_close_to_that_of_ns3(row: Row) -> None:
    seconds = 400.0 if row.layout == "hidden_terminal" else 60.0
    measured = reception_success(row.layout, row.stations, row.load, seconds=seconds)
    assert measured == pytest.approx(row.success, abs=TOLERANCE)


def test_the_reference_data_are_present() -> None:
    data("mac_calibration.csv")
    assert len(rows()) >= 20


@pytest.mark.parametrize(("layout", "stations", "load"), [("one_cell", 10, 0.8), ("hidden_terminal", 3, 0.4)])
def test_a_graded_radio_at_equal_strengths_behaves_like_the_disc(layout: str, stations: int, load: float) -> None:
    disc = reception_success(layout, stations, load, seconds=100.0)
    graded = reception_success(layout, stations, load, seconds=100.0, law="log-distance")
    if layout == "one_cell":  # strengths differ there, and the stronger frame may survive
        assert graded >= disc - 0.01
    else:
        assert graded == pytest.approx(disc, abs=0.01)


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(InputError, match="one_cell"):
        reception_success("one_cel", 2, 0.1)
