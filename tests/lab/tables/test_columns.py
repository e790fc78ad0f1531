"""What a campaign has set becomes columns: their names, their types, and the values in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.judging import settings
from roamcast.lab.campaign import Cell, parse
from roamcast.lab.tables import columns, schemas
from roamcast.lab.tables.columns import BOOL, DOUBLE, LONG, TEXT, Chosen
from roamcast.lab.tables.write import table_of
from roamcast.log import catalogue
from roamcast.world.scenario import Scenario


def cell(given: dict[str, Any], world: dict[str, Any] | None = None) -> Cell:
    made = Scenario(mobility="tests.world.outside:Shuttle", mobility_set={}) if world else Scenario()
    return Cell("gossip", "gossip", given, {}, world or {}, made)


def kinds_of(*values: Any) -> str:
    return Chosen([cell({"x": value}) for value in values]).kinds["p_x"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((1, 2), LONG),
        ((1, 2.5), DOUBLE),
        ((True, False), BOOL),
        (("a", "b"), TEXT),
        ((1, "a"), TEXT),
        ((True, 1), TEXT),
        ((2**63,), TEXT),
        ((2**53 + 1, 0.5), TEXT),
        (((1, 2),), TEXT),
    ],
)
def test_the_type_of_a_column_keeps_every_value(values: tuple[Any, ...], kind: str) -> None:
    assert kinds_of(*values) == kind


ANY = st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(max_size=5))


@given(st.lists(ANY, min_size=1, max_size=6))
def test_values_come_back_from_arrow_as_they_were_or_as_texts(values: list[Any]) -> None:
    cells = [cell({"x": value}) for value in values]
    chosen = Chosen(cells)
    table = table_of([chosen.of(each) for each in cells], schemas.coordinates(chosen.kinds))
    back = table.column("p_x").to_pylist()
    if chosen.kinds["p_x"] == TEXT:
        assert back == [settings.text(value) for value in values]
    else:
        assert back == values and (chosen.kinds["p_x"] != LONG or all(type(value) is int for value in back))


def test_a_campaigns_settings_are_typed_by_what_is_in_effect() -> None:
    """`p = 1` is a probability, and so is 1.0; gossip has no credits."""
    campaign = parse(
        'name = "x"\npreset = "baldoni"\n[world]\nnodes = [20, 30]\nmac = "ideal"\nkeep_tables = true\n'
        '[[protocol]]\nname = "gossip"\nset = { p = 1 }\n[[protocol]]\nname = "proximity"\nset = { credits = [0, 2] }'
    )
    chosen = Chosen(campaign.cells)
    named = {"p_p": DOUBLE, "p_credits": LONG, "w_nodes": LONG, "w_mac": TEXT, "w_keep_tables": BOOL}
    assert list(chosen.kinds.items()) == list(named.items())
    assert chosen.of(campaign.cells[0]) == {"p_p": 1.0, "w_nodes": 20, "w_mac": "ideal", "w_keep_tables": True}
    table = table_of([chosen.of(each) for each in campaign.cells], schemas.coordinates(chosen.kinds))
    assert table.column("p_credits").to_pylist() == [None, None, 0, 2, 0, 2]
    assert table.column("w_keep_tables").to_pylist() == [True] * 6
    place = table.column_names.index("label")
    assert table.column_names[place : place + 7] == ["label", *named, "seed"]


def test_parameters_of_a_part_from_outside_have_two_underscores() -> None:
    world = {"mobility": "tests.world.outside:Shuttle", "mobility.lanes": 2}
    assert list(settings.columns({"queue": 1}, {**world, "queue": 5})) == [
        *("p_queue", "w_mobility", "w_mobility__lanes", "w_queue")
    ]
    assert settings.world(settings.columns({}, world)) == world
    assert not any("__" in field for field in Scenario.__struct_fields__)


def test_settings_that_differ_in_capitals_alone_are_numbered() -> None:
    chosen = Chosen([cell({"K": 1, "k": 2, "k_2": 3})])
    assert chosen.of(cell({"K": 1, "k": 2, "k_2": 3})) == {"p_K": 1, "p_k_2": 2, "p_k_2_2": 3}
    assert len({name.lower() for name in chosen.kinds}) == 3


def test_no_other_column_looks_like_a_setting() -> None:
    tables = (schemas.runs({}), schemas.metrics({}), schemas.summary({}), schemas.differences(schemas.metrics({})))
    assert not [name for table in tables for name in table.names if settings.is_setting(name)]
    assert not [metric.name for metric in catalogue.METRICS if settings.is_setting(metric.name)]
    assert not [name for name in columns.COORDINATES if settings.is_setting(name)]


@pytest.mark.parametrize(("value", "text"), [(20.0, "20"), (0.5, "0.5"), (True, "true"), ("a", "a"), (3, "3")])
def test_values_as_people_write_them(value: Any, text: str) -> None:
    assert settings.text(value) == text
