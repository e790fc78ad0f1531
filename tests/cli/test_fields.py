"""`roamcast fields`: the fields of a scenario, and everything about one."""

from __future__ import annotations

import json

from roamcast.papers import presets
from roamcast.world.fields import fields
from tests.cli.conftest import Typed


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
    assert one["choices"] == ["ideal", "dcf", "tinyos", "module:Class"]
    assert one["presets"].keys() == {name for name in presets.names() if "mac" in presets.load(name).values}
    assert one["presets"]["costa"] == {"value": "tinyos", "source": "reading R13"}


def test_an_unknown_name_gets_a_suggestion(roamcast: Typed) -> None:
    assert roamcast("fields", "nods") == (2, "", "roamcast: unknown scenario field 'nods'; did you mean 'nodes'?\n")
