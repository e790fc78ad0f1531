"""`roamcast protocols`: what there is, and the parameters of one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from roamcast.protocols.interface import Protocol
    from roamcast.protocols.parameters import Parameter


def protocols(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Show this protocol's parameters.", show_default=False)
    ] = "",
) -> None:
    """List the protocols, or the parameters of one."""
    if name:
        _show_one(name)
    else:
        _list()


def _list() -> None:
    from rich.console import Console
    from rich.table import Table

    from roamcast.errors import InputError
    from roamcast.protocols import registry

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name in registry.names():
        try:
            line = headline(registry.get(name))
        except InputError as error:
            line = str(error)
        table.add_row(name, line)
    Console(highlight=False).print(table)


def _show_one(name: str) -> None:
    from rich.console import Console

    from roamcast.protocols import parameters, registry

    protocol = registry.get(name)
    console = Console(highlight=False)
    console.print(headline(protocol), markup=False)
    _show_parameters(parameters.describe(protocol), console)
    numbered = readings(protocol)
    if numbered:
        console.print("\nHow the paper is read where it leaves a choice:", style="bold")
        console.print(numbered, markup=False, soft_wrap=True)


def _show_parameters(described: list[Parameter], console: Console) -> None:
    from rich.table import Table

    if not described:
        console.print("It has no parameters.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("parameter", "default", "range", "what it does"):
        table.add_column(heading, header_style="bold", no_wrap=heading != "what it does")
    for p in described:
        default = str(p.default).lower() if isinstance(p.default, bool) else str(p.default)
        table.add_row(p.name, f"{default} {p.unit}", p.range, f"{p.doc} [dim]\\[{p.source}][/]")
    console.print(table)


def headline(protocol: type[Protocol]) -> str:
    """The first sentence of the class's documentation, or else of its module's."""
    of_class, of_module = _texts(protocol)
    paragraph = " ".join((of_class or of_module).partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s+(?=[A-Z])", paragraph, maxsplit=1)[0]


def readings(protocol: type[Protocol]) -> str:
    """How the paper is read where it leaves a choice: the numbered part of the module's documentation."""
    lines = _texts(protocol)[1].splitlines()
    numbered = [k for k, line in enumerate(lines) if re.match(r"\s+R\d+\s", line)]
    return "\n".join(lines[numbered[0] :]).rstrip() if numbered else ""


def _texts(protocol: type[Protocol]) -> tuple[str, str]:
    """What the class and its module say of themselves, read from the source: compiled modules do not keep it."""
    import ast
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec(protocol.__module__)
    name = protocol.__module__.rpartition(".")[2]
    source = Path(spec.origin).parent / f"{name}.py" if spec and spec.origin else Path()
    if not source.is_file():
        return "", ""
    module = ast.parse(source.read_text(encoding="utf-8"))
    own = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == protocol.__name__]
    return (ast.get_docstring(own[0]) if own else None) or "", ast.get_docstring(module) or ""
