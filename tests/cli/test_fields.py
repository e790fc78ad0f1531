"""`roamcast fields`: the fields of a scenario, and everything about one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roamcast.papers import presets
from roamcast.world.fields import fields
from roamcast.world.parts import MOBILITY
from tests.cli.conftest import Typed
from tests.support import harbour


def test_all_fields_are_listed_by_section(roamcast: Typed) -> None:
    status, out, err = roamcast("fields")
    assert (status, err) == (0, "")
    firsts = [line.split()[0] for line in out.splitlines() if line.strip()]
    assert [first for first in firsts if first in fields()][:3] == ["nodes", "width_m", "height_m"]
    assert set(fields()) <= set(firsts)
    assert "medium access" in out


def test_one_field_shows_its_meaning_and_what_presets_set(roamcast: Typed) -> None:
    status, out, _ = roamcast("fields", "range_m")
    assert status == 0
    for text in (fields()["range_m"].meaning, "0.01 … 10,000,000", "150 m", "§5.1, footnote 12"):
        assert text in out
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("li ")] == [["li", "150"]]


def test_a_field_that_no_preset_sets_says_so(roamcast: Typed) -> None:
    out = roamcast("fields", "keep_tables")[1]
    assert "true | false" in out
    assert "No preset sets it." in out


def test_json_is_one_object(roamcast: Typed) -> None:
    everything = json.loads(roamcast("fields", "--json")[1])
    assert [entry["name"] for entry in everything["fields"]] == list(fields())
    one = json.loads(roamcast("fields", "mac", "--json")[1])
    assert one["choices"] == ["ideal", "dcf", "lora", "tinyos", "module:Class"]
    assert one["presets"].keys() == {name for name in presets.names() if "mac" in presets.load(name).values}
    assert one["presets"]["costa"] == {"value": "tinyos", "source": "reading R13"}


def test_an_unknown_name_gets_a_suggestion(roamcast: Typed) -> None:
    assert roamcast("fields", "nods") == (2, "", "roamcast: unknown scenario field 'nods'; did you mean 'nodes'?\n")


def test_the_list_fits_into_80_columns(roamcast: Typed) -> None:
    out = roamcast("fields", columns=80)[1]
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    assert set(fields()) <= {line.split()[0] for line in out.splitlines() if line.strip()}
    words = " ".join(out.split())
    for field in fields().values():
        for word in f"{field.meaning} ({field.range})".split():
            assert word in words, field.name


def test_a_part_of_the_world_says_what_each_value_is(roamcast: Typed) -> None:
    out = roamcast("fields", "mobility")[1]
    listed = dict(line.split(maxsplit=1) for line in out.splitlines() if line.split(" ")[0] in MOBILITY.own)
    assert {name: text.rstrip() for name, text in listed.items()} == MOBILITY.own
    assert json.loads(roamcast("fields", "mobility", "--json")[1])["values"] == MOBILITY.own


def test_a_value_shows_the_fields_that_only_it_needs(roamcast: Typed) -> None:
    status, out, _ = roamcast("fields", "mobility=manhattan")
    assert status == 0
    firsts = [line.split()[0] for line in out.splitlines()]
    assert [first for first in firsts if first in fields()] == [
        "speed_per",
        "pause_min_s",
        "pause_max_s",
        "block_m",
        "turn",
    ]
    one = json.loads(roamcast("fields", "workload=interests", "--json")[1])
    assert one["fields"] == ["subscriptions_per_node", "interests", "attributes_max"]
    assert "It has no parameters" in roamcast("fields", "mac=dcf")[1]


def test_a_class_shows_its_own_parameters(roamcast: Typed) -> None:
    out = roamcast("fields", "mobility=tests.world.outside:Shuttle")[1]
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[0].startswith("mobility=tests.world.outside:Shuttle: Back and forth from the left to the right")
    assert lines[-2:] == [
        "mobility.speed_mps  5 m/s    speed of all nodes (0.1 … 100)",
        "mobility.lanes      4        how many lanes there are (≥ 1)",
    ]
    one = json.loads(roamcast("fields", "mobility=tests.world.outside:Shuttle", "--json")[1])
    assert one["parameters"][1] == {
        **{"name": "lanes", "default": 4, "unit": "", "range": "≥ 1"},
        **{"doc": "how many lanes there are", "source": "ours"},
    }


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mobility=wapoint", "unknown mobility 'wapoint'; did you mean 'waypoint'?"),
        ("mobilty=city", "unknown scenario field 'mobilty'; did you mean 'mobility'?"),
        ("workload=range", "unknown workload 'range'; did you mean 'ranges'?"),
        ("nodes=5", "nodes=5: nodes is 1 … 1,000,000, not a choice; type roamcast fields nodes"),
        (
            "mobility.lanes",
            "mobility.lanes: a parameter of which mobility? roamcast fields mobility=NAME lists those of",
        ),
        ("mac=no_such_module:X", "mac 'no_such_module:X' cannot be loaded: No module named 'no_such_module'"),
        ("mac=tests.world.outside:Shuttle", "mac 'tests.world.outside:Shuttle': tests.world.outside:Shuttle is no"),
    ],
)
def test_what_is_not_there_gets_one_line(roamcast: Typed, name: str, message: str) -> None:
    status, out, err = roamcast("fields", name)
    assert (status, out) == (2, "")
    assert err.startswith(f"roamcast: {message}")
    assert err.count("\n") == 1


def test_a_package_that_cannot_be_loaded_does_not_hide_the_fields(
    roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harbour.install(tmp_path, entry_points="[roamcast.macs]\nbroken = no_such_module:X\n")
    monkeypatch.syspath_prepend(tmp_path)
    status, out, _ = roamcast("fields")
    assert status == 0
    assert "mac=broken  mac 'broken' cannot be loaded: No module named 'no_such_module'" in out
