"""The fields of a scenario for people."""

from __future__ import annotations

import msgspec
import pytest

from roamcast.errors import InputError
from roamcast.world.fields import Field, field, fields, only_with, sections, shown
from roamcast.world.scenario import FILES, Scenario

UNITS = {"m", "m/s", "s", "bit/s", "1/s", "dB", "W", "J", "bytes"}


def test_every_field_is_there_with_its_default_in_the_order_of_the_scenario() -> None:
    assert [(f.name, f.default) for f in fields().values()] == list(msgspec.structs.asdict(Scenario()).items())


@pytest.mark.parametrize("one", fields().values(), ids=lambda f: f.name)
def test_every_field_has_a_meaning_a_section_and_allowed_values(one: Field) -> None:
    assert len(one.meaning) > 10
    assert not one.meaning.endswith(".")
    assert one.section
    assert one.range


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("width_m", "m"),
        ("speed_max_mps", "m/s"),
        ("rate_bps", "bit/s"),
        ("payload_bytes", "bytes"),
        ("queue", "frames"),
        ("crash_mean_s", "s"),
        ("rate_hz", "1/s"),
        ("tx_w", "W"),
        ("battery_j", "J"),
        ("loss", ""),
        ("capture_db", "dB"),
    ],
)
def test_a_unit_comes_from_the_name_or_is_given(name: str, unit: str) -> None:
    assert field(name).unit == unit


def test_a_field_whose_name_ends_with_a_unit_has_it() -> None:
    without = [
        f.name for f in fields().values() if f.unit not in UNITS and f.name.rpartition("_")[2] in ("s", "m", "w")
    ]
    assert without == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nodes", "1 … 1,000,000"),
        ("duration_s", "> 0, ≤ 500,000"),
        ("battery_j", "> 0"),
        ("rate_bps", "1 … 1,000,000,000,000"),
        ("publishers", "≥ 0"),
        ("keep_tables", "true | false"),
        ("speed_law", "uniform | normal"),
        ("mac", "ideal | dcf | lora | tinyos | module:Class"),
        ("radio_set", "table"),
    ],
)
def test_the_allowed_values_are_one_line(name: str, text: str) -> None:
    assert field(name).range == text


def test_fields_that_name_files_are_of_kind_file() -> None:
    assert [f.name for f in fields().values() if f.kind == "file"] == list(FILES)


def test_sections_have_all_fields() -> None:
    assert [f.name for listed in sections().values() for f in listed] == list(fields())
    assert [f.name for f in sections()["power"]] == ["tx_w", "rx_w", "idle_w", "sleep_w", "battery_j"]


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(InputError, match=r"^unknown scenario field 'nods'; did you mean 'nodes'\?$"):
        field("nods")


def test_fields_that_one_value_needs_are_those_whose_meaning_begins_with_it() -> None:
    assert [f.name for f in only_with("radio", "log-distance")] == ["path_loss_exponent", "shadowing_db"]
    assert [f.name for f in only_with("mobility", "mine:Class")] == []
    with pytest.raises(InputError, match=r"^unknown workload 'rangs'; did you mean 'ranges'\?$"):
        only_with("workload", "rangs")


def test_a_meaning_begins_with_a_value_of_a_choice_or_with_no_name() -> None:
    """Otherwise a value that is called something else now would lose its fields."""
    for section in sections().values():
        values = {value for one in section for value in one.choices}
        for one in section:
            names, colon, _ = one.meaning.partition(": ")
            if colon and " " not in names.replace(", ", ""):
                assert set(names.split(", ")) <= values, one.name


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (1e6, "1000000"), (0.75, "0.75"), (5, "5"), ("a", "a")])
def test_a_value_is_shown_as_it_is_typed(value: object, text: str) -> None:
    assert shown(value) == text
