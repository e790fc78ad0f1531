"""Names of cells: what all share is shown once, what varies distinguishes them."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from roamcast.show import cells
from tests.show.made_up import row

GOSSIP = [({"p": p}, {"nodes": n, "duration_s": "30.0"}) for n, p in product(("50", "100"), ("0.3", "1.0"))]
PROXIMITY = [({"credits": c, "sizes": "wire"}, world) for _, world in GOSSIP[::2] for c in ("0", "2")]


def made(*settings: tuple[str, list[tuple[dict[str, str], dict[str, str]]]]) -> list[dict[str, Any]]:
    listed = [(label, params, world) for label, cells_ in settings for params, world in cells_]
    return [row(label, k, 1, params=params, world=world) for k, (label, params, world) in enumerate(listed)]


def test_what_all_cells_share_is_common_and_what_varies_is_a_column_or_a_name() -> None:
    rows = made(("gossip", GOSSIP), ("proximity", PROXIMITY))
    varied = cells.compare(rows)
    assert varied.labels == ["gossip", "proximity"]
    assert varied.common == {"duration_s": "30"}
    assert varied.fixed == {"gossip": {}, "proximity": {"sizes": "wire"}}
    assert varied.columns == ["nodes"]
    assert varied.own == {"gossip": ["p"], "proximity": ["credits"]}
    assert varied.swept() == ["nodes", "p", "credits"]
    assert [varied.name(each) for each in rows[:2]] == ["gossip p=0.3", "gossip p=1"]
    assert varied.full_name(rows[-1]) == "proximity credits=2 nodes=100"
    assert len({varied.full_name(each) for each in rows}) == len(rows)


def test_with_one_protocol_its_parameters_are_columns_and_it_is_not_named() -> None:
    rows = made(("gossip", GOSSIP))
    varied = cells.compare(rows)
    assert varied.columns == ["nodes", "p"]
    assert varied.own == {"gossip": []}
    assert [varied.name(rows[0]), varied.full_name(rows[0])] == ["", "nodes=50 p=0.3"]


def test_a_parameter_that_every_protocol_has_is_a_column_even_if_it_varies_in_one() -> None:
    rows = made(("a", [({"p": "0.1"}, {}), ({"p": "0.5"}, {})]), ("b", [({"p": "1"}, {})]))
    assert cells.compare(rows).columns == ["p"]


def test_a_parameter_that_differs_only_between_protocols_is_fixed() -> None:
    rows = made(("few", [({"credits": "0"}, {})]), ("many", [({"credits": "2"}, {})]))
    varied = cells.compare(rows)
    assert (varied.columns, varied.swept()) == ([], [])
    assert varied.fixed == {"few": {"credits": "0"}, "many": {"credits": "2"}}


def test_a_field_that_only_some_points_set_varies() -> None:
    rows = made(("a", [({}, {"nodes": "50"}), ({}, {"nodes": "50", "width_m": "10"})]))
    varied = cells.compare(rows)
    assert varied.common == {"nodes": "50"} and varied.columns == ["width_m"]
    assert [varied.full_name(each) for each in rows] == ["a", "width_m=10"]


def test_a_lonely_cell_has_its_label() -> None:
    rows = made(("a", [({"p": "1"}, {})]))
    assert cells.compare(rows).full_name(rows[0]) == "a"


def test_cells_are_distinct_and_in_the_campaigns_order() -> None:
    rows = [row("a", cell, seed) for seed in (1, 2) for cell in (1, 0)]
    assert [each["cell"] for each in cells.distinct(rows)] == [0, 1]


@pytest.mark.parametrize(
    ("setting", "heading", "value", "shown"),
    [
        ("speed_max_mps", "speed max [m/s]", "20.0", "20"),
        ("rate_bps", "rate [Mbit/s]", "5500000.0", "5.5"),
        ("jitter_ms", "jitter [ms]", "0.25", "0.25"),
        ("p", "p", "1.0", "1"),
        ("s", "s", "1", "1"),
        ("traffic_seed", "traffic seed", "7", "7"),
        ("mobility", "mobility", "v2.0", "v2.0"),
        ("keep_tables", "keep tables", "true", "true"),
    ],
)
def test_settings_are_shown_with_their_unit(setting: str, heading: str, value: str, shown: str) -> None:
    assert (cells.heading(setting), cells.shown(setting, value)) == (heading, shown)
