"""`roamcast fields`: the fields of a scenario, and everything about one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from roamcast.world.fields import Field


def fields(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Show everything about this field.", show_default=False)
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """List the fields of a scenario with meaning, unit and range, or show one and what the papers' presets set."""
    from rich.console import Console

    from roamcast.world.fields import field
    from roamcast.world.fields import fields as known

    console = Console(highlight=False)
    if json:
        _print_json([field(name)] if name else list(known().values()), bool(name))
    elif name:
        _show_one(field(name), console)
    else:
        _list(console)


def _list(console: Console) -> None:
    from rich.table import Table

    from roamcast.world.fields import sections

    for section, listed in sections().items():
        table = Table(box=None, padding=(0, 2, 0, 0), title=section, title_justify="left", title_style="bold")
        for heading in ("field", "default", "values", "what it is"):
            table.add_column(heading, header_style="dim", no_wrap=heading in ("field", "default"))
        for field in listed:
            table.add_row(field.name, _default(field), field.range, field.meaning)
        console.print(table)
        console.print()


def _show_one(field: Field, console: Console) -> None:
    from rich.table import Table

    from roamcast.world.fields import shown

    console.print(f"{field.name}: {field.meaning}", markup=False)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    kind = "" if field.kind in (field.range, "choice") else field.kind
    outside = ", ".join(_installed(field.name))
    facts = {"values": field.range, "kind": kind, "from other packages": outside, "unit": field.unit}
    for heading, text in (facts | {"default": _default(field), "section": field.section}).items():
        if text:
            table.add_row(f"[bold]{heading}[/]", text)
    console.print(table)
    presets = _in_presets(field)
    console.print("\nin presets" if presets else "\nNo preset sets it.", style="bold" if presets else None)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, entry in presets.items():
        table.add_row(name, shown(entry["value"]), f"[dim]{entry['source']}[/]")
    if presets:
        console.print(table)


def _installed(name: str) -> list[str]:
    from roamcast.world.parts import PARTS

    return [known for known in PARTS[name].names() if PARTS[name].outside(known)] if name in PARTS else []


def _default(field: Field) -> str:
    from roamcast.world.fields import shown

    text = "" if field.default == {} else shown(field.default)
    return f"{text} {field.unit}".strip() if text else ""


def _in_presets(field: Field) -> dict[str, dict[str, Any]]:
    """What the papers' presets set this field to, and where each value comes from."""
    from roamcast.papers import presets

    loaded = {name: presets.load(name) for name in presets.names()}
    return {
        name: {"value": preset.values[field.name], "source": preset.sources[field.name]}
        for name, preset in loaded.items()
        if field.name in preset.values
    }


def _print_json(chosen: list[Field], one: bool) -> None:
    import json

    import msgspec

    entries = [msgspec.to_builtins(field) | {"range": field.range} for field in chosen]
    if one:
        print(json.dumps(entries[0] | {"presets": _in_presets(chosen[0])}))
    else:
        print(json.dumps({"fields": entries}))
