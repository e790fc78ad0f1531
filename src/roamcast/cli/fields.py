"""`roamcast fields`: the fields of a scenario, everything about one of them, and everything about a value of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roamcast.cli.options import import_from_here

if TYPE_CHECKING:
    from rich.console import Console

    from roamcast.world.fields import Field


def fields(
    name: Annotated[
        str,
        typer.Argument(
            metavar="[NAME]", help="A field, or a value of one: mobility=city, mac=mine:Class.", show_default=False
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """List the fields of a scenario with meaning, unit and range; or show one of them and what the presets set."""
    from rich.console import Console

    from roamcast.world.fields import field

    import_from_here()
    console = Console(highlight=False)
    name, is_value, value = name.partition("=")
    if is_value:
        _print_json(_value(name, value)) if json else _show_value(_value(name, value), console)
    elif name:
        _print_json(_one(field(name))) if json else _show_one(field(name), console)
    else:
        _print_json(_everything()) if json else _list(console)


# ---- all of them


def _list(console: Console) -> None:
    from roamcast.world.fields import sections

    for section, listed in sections().items():
        console.print(section, style="bold")
        _show_fields(listed, console)
        console.print()
    parts = _parts()
    if parts:
        console.print("from other packages (roamcast fields mobility=NAME shows one)", style="bold")
        _show_rows([(f"{part['field']}={part['name']}", part["is"]) for part in parts], console)


def _show_fields(listed: list[Field], console: Console) -> None:
    from roamcast.world.fields import shown

    rows = [("field", "default", "what it is, and which values it can have")]
    for field in listed:
        default = "" if field.default == {} else f"{shown(field.default)} {field.unit}".strip()
        rows.append((field.name, default, f"{field.meaning} ({field.range})"))
    _show_rows(rows, console, headed=True)


def _everything() -> dict[str, Any]:
    from roamcast.world.fields import fields as known

    return {"fields": [_facts(field) for field in known().values()], "parts": _parts()}


def _facts(field: Field) -> dict[str, Any]:
    import msgspec

    facts: dict[str, Any] = msgspec.to_builtins(field)
    return facts | {"range": field.range}


# ---- one field


def _show_one(field: Field, console: Console) -> None:
    from roamcast.world.fields import shown

    one = _one(field)
    console.print(f"{field.name}: {field.meaning}", markup=False)
    facts = {
        "values": "" if one["values"] else field.range,
        "kind": "" if field.kind in (field.range, "choice") else field.kind,
        "unit": field.unit,
        "default": "" if field.default == {} else f"{shown(field.default)} {field.unit}".strip(),
        "section": field.section,
    }
    _show_rows([(fact, text) for fact, text in facts.items() if text], console)
    if one["values"]:
        console.print("\nvalues", style="bold")
        _show_rows([*one["values"].items(), ("module:Class", "your own")], console)
    presets = one["presets"]
    console.print("\nin presets" if presets else "\nNo preset sets it.", style="bold" if presets else None)
    _show_rows([(name, shown(entry["value"]), entry["source"]) for name, entry in presets.items()], console)


def _one(field: Field) -> dict[str, Any]:
    return _facts(field) | {"values": _values(field.name), "presets": _in_presets(field)}


def _values(name: str) -> dict[str, str]:
    """What each mobility, radio or MAC is, roamcast's own and those of other packages."""
    from roamcast.world.parts import PARTS

    return {**PARTS[name].own, **{part["name"]: part["is"] for part in _parts(name)}} if name in PARTS else {}


def _in_presets(field: Field) -> dict[str, dict[str, Any]]:
    """What the papers' presets set this field to, and where each value comes from."""
    from roamcast.papers import presets

    loaded = {name: presets.load(name) for name in presets.names()}
    return {
        name: {"value": preset.values[field.name], "source": preset.sources[field.name]}
        for name, preset in loaded.items()
        if field.name in preset.values
    }


# ---- one value of a field


def _show_value(value: dict[str, Any], console: Console) -> None:
    from roamcast.world.fields import field, shown

    name = f"{value['field']}={value['name']}"
    console.print(f"{name}: {value['is']}" if value["is"] else name, markup=False)
    if value["parameters"]:
        rows = [("parameter", "default", "what it is, and which values it can have")]
        for p in value["parameters"]:
            about = f"{p['doc']} ({p['range']})" if p["range"] else p["doc"]
            rows.append((f"{value['field']}.{p['name']}", f"{shown(p['default'])} {p['unit']}".strip(), about))
        _show_rows(rows, console, headed=True)
    elif value["fields"]:
        _show_fields([field(name) for name in value["fields"]], console)
    else:
        console.print("It has no parameters, and no field is for it alone.")


def _value(name: str, value: str) -> dict[str, Any]:
    """A value of a field: what it is, and its parameters if it comes from outside."""
    from roamcast.papers.readings import headline
    from roamcast.world.fields import only_with
    from roamcast.world.parts import PARTS

    facts: dict[str, Any] = {"field": name, "name": value, "is": "", "parameters": []}
    facts["fields"] = [field.name for field in only_with(name, value)]
    if name in PARTS and PARTS[name].outside(value):
        facts["is"] = headline(PARTS[name].get(value))
        keys = ("name", "default", "unit", "range", "doc", "source")
        facts["parameters"] = [{key: getattr(p, key) for key in keys} for p in PARTS[name].parameters(value)]
    elif name in PARTS:
        facts["is"] = PARTS[name].own[value]
    return facts


def _parts(*fields: str) -> list[dict[str, Any]]:
    """What installed packages bring for these fields, or for all; of a part that cannot be loaded, why."""
    from roamcast.errors import InputError
    from roamcast.world.parts import PARTS

    parts: list[dict[str, Any]] = []
    for field in fields or PARTS:
        for name in PARTS[field].names()[len(PARTS[field].own) :]:
            try:
                parts.append(_value(field, name))
            except InputError as error:
                parts.append({"field": field, "name": name, "is": str(error), "parameters": [], "fields": []})
    return parts


# ---- printing


def _show_rows(rows: Sequence[tuple[str, ...]], console: Console, headed: bool = False) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for k in range(len(rows[0]) if rows else 0):
        table.add_column(no_wrap=k == 0)
    for k, row in enumerate(rows):
        table.add_row(*(Text(cell) for cell in row), style="dim" if headed and k == 0 else None)
    console.print(table)


def _print_json(facts: dict[str, Any]) -> None:
    import json

    print(json.dumps(facts))
