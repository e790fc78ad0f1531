"""What a campaign has set, as columns of its tables: `p_credits` is a parameter, `w_nodes` a field of the world.

The parameter of a part from outside, `mobility.gain` in files, is `w_mobility__gain`: no field has two underscores in a
row, so a column says which setting it is. Settings that a row does not have are missing in it, or None.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

PARAMETER, FIELD = "p_", "w_"
"""What the columns of settings begin with; no other column of a table does."""
DOT = "__"
Settings = dict[str, Any]


def columns(params: Mapping[str, Any], world: Mapping[str, Any]) -> Settings:
    """Values by the names of their columns, parameters first."""
    fields = {of_field(name): value for name, value in world.items()}
    return {of_parameter(name): value for name, value in params.items()} | fields


def of_parameter(name: str) -> str:
    return f"{PARAMETER}{name}"


def of_field(name: str) -> str:
    return f"{FIELD}{name.replace('.', DOT, 1)}"


def is_setting(column: str) -> bool:
    return column.startswith((PARAMETER, FIELD))


def params(row: Mapping[str, Any]) -> Settings:
    """The parameters of the protocol that the campaign has set."""
    return {name.removeprefix(PARAMETER): value for name, value in _given(row, PARAMETER)}


def world(row: Mapping[str, Any]) -> Settings:
    """The fields of the scenario that the campaign has set."""
    return {name.removeprefix(FIELD).replace(DOT, ".", 1): value for name, value in _given(row, FIELD)}


def _given(row: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in row.items() if name.startswith(prefix) and value is not None]


def text(value: Any) -> str:
    """As people and files write it: 20 rather than 20.0, and `true`."""
    if isinstance(value, str):
        return value
    return json.dumps(value).removesuffix(".0")
