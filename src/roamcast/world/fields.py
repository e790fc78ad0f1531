"""The fields of a scenario for people: what each means, its unit, its range and its default.

All of it is taken from the types in scenario.py; `roamcast fields` and the reference page show it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, get_args

import msgspec

from roamcast.errors import InputError, unknown
from roamcast.world.parts import PARTS
from roamcast.world.scenario import FILES, Scenario, bare

UNITS: Final = {
    "_bytes": "bytes",
    "_mps": "m/s",
    "_bps": "bit/s",
    "_hz": "1/s",
    "_db": "dB",
    "_m": "m",
    "_s": "s",
    "_w": "W",
    "_j": "J",
}
"""Units by the ends of names."""


class Field(msgspec.Struct, frozen=True):
    """`kind` is "number", "whole number", "true | false", "text", "file", "table" or "choice"; `choices` are all values
    of a choice. A number is above `above`, at least `least` and at most `most`, where these are given."""

    name: str
    section: str
    meaning: str
    unit: str
    kind: str
    default: Any
    choices: list[str] = []
    above: float | None = None
    least: float | None = None
    most: float | None = None

    @property
    def range(self) -> str:
        """The values that are allowed, in one line."""
        if self.choices:
            return " | ".join(self.choices)
        if self.least is not None and self.most is not None:
            return f"{_number(self.least)} … {_number(self.most)}"
        limits = ((">", self.above), ("≥", self.least), ("≤", self.most))
        bounds = [f"{sign} {_number(bound)}" for sign, bound in limits if bound is not None]
        return ", ".join(bounds) or self.kind


@cache
def fields() -> dict[str, Field]:
    """All fields by name, in their order."""
    described: dict[str, Field] = {}
    section = ""
    for field in msgspec.structs.fields(Scenario):
        about: Any = msgspec.inspect.type_info(field.type)
        section = about.extra["section"] or section
        described[field.name] = _field(field, about, section)
    return described


def field(name: str) -> Field:
    part, dot, _ = name.partition(".")
    if dot and part in PARTS:
        raise InputError(f"{name}: a parameter of which {part}? roamcast fields {part}=NAME lists those of one")
    if name not in fields():
        raise unknown("scenario field", name, fields(), "`roamcast fields` lists them")
    return fields()[name]


def only_with(name: str, value: str) -> list[Field]:
    """The fields that matter only if this one has this value: their meaning begins with it ("city: longest stop")."""
    described = field(name)
    if described.kind != "choice":
        raise InputError(f"{name}={value}: {name} is {described.range}, not a choice; type roamcast fields {name}")
    if name not in PARTS and value not in described.choices:
        raise unknown(name, value, described.choices)
    listed = sections()[described.section]
    return [one for one in listed if value in one.meaning.partition(": ")[0].split(", ")]


def sections() -> dict[str, list[Field]]:
    """The fields by section, both in their order."""
    grouped: dict[str, list[Field]] = {}
    for one in fields().values():
        grouped.setdefault(one.section, []).append(one)
    return grouped


def _field(field: msgspec.structs.FieldInfo, about: Any, section: str) -> Field:
    name, kind = field.name, bare(field.type)
    ends = next((unit for end, unit in UNITS.items() if name.endswith(end)), "")
    choices = [str(value) for value in get_args(get_args(field.type)[0])] if _kind(name, kind) == "choice" else []
    return Field(
        name=name,
        section=section,
        meaning=about.extra_json_schema["description"],
        unit=about.extra["unit"] or ends,
        kind=_kind(name, kind),
        default={} if field.default is msgspec.NODEFAULT else field.default,
        choices=[*PARTS[name].built_in, "module:Class"] if name in PARTS else choices,
        above=getattr(kind, "gt", None),
        least=getattr(kind, "ge", None),
        most=getattr(kind, "le", None),
    )


def _kind(name: str, kind: Any) -> str:
    if name in FILES:
        return "file"
    if name in PARTS or isinstance(kind, msgspec.inspect.LiteralType):
        return "choice"
    return {"BoolType": "true | false", "IntType": "whole number", "FloatType": "number", "DictType": "table"}[
        type(kind).__name__
    ]


def shown(value: object) -> str:
    """A value as people type it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _number(bound: float) -> str:
    return f"{bound:,.15g}"
