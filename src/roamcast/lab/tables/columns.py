"""The columns that say which run a row is about: for code that must do without Arrow. schemas.py has all columns.

Behind the label stand the settings that the campaign has chosen, each with a column and a type of its own
(judging/settings.py names them). Names and types follow from the cells of all campaigns in the folder, before anything
has run, so that tables do not depend on which runs have finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from roamcast.judging import settings
from roamcast.lab.campaign import Cell
from roamcast.world.parts import given_in

TEXT, INT, LONG, DOUBLE, BOOL = "text", "int", "long", "double", "bool"

COORDINATES: Final = {
    "run": TEXT,  # digest of all that decides the run
    "campaign": TEXT,
    "preset": TEXT,
    "reading": TEXT,  # another reading of the preset's paper; empty for the joint one
    "cell": INT,  # place of the experiment in the campaign
    "protocol": TEXT,
    "label": TEXT,  # what the campaign calls protocol and parameters
    "seed": LONG,
    "nodes": INT,
}
"""Names, in order, and types; the settings follow the label."""
BEHIND = "label"
LEAST, MOST = -(2**63), 2**63 - 1
EXACT = 2**53
"""Up to here every whole number is a double."""


def with_settings(kinds: Mapping[str, str]) -> dict[str, str]:
    """The coordinates, with the settings in their place."""
    named = {}
    for name, kind in COORDINATES.items():
        named[name] = kind
        if name == BEHIND:
            named |= kinds
    return named


class Chosen:
    """The settings of cells as columns: `kinds` has the type of each, `of` the values of a cell.

    Query languages do not tell capital letters from small ones. So where two settings differ in nothing else, the
    column of the second one ends in `_2`.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        distinct = {id(cell): cell for cell in cells}.values()
        values: dict[str, list[Any]] = {}
        for cell in distinct:
            for name, value in _values(cell):
                values.setdefault(name, []).append(value)
        ordered = sorted(values, key=lambda name: not name.startswith(settings.PARAMETER))  # which keeps their order
        self._names = _distinct(ordered)
        self.kinds = {self._names[name]: _kind(values[name]) for name in ordered}

    def of(self, cell: Cell) -> dict[str, Any]:
        """Values by column, of the types that the columns have; only those that the campaign has set for the cell."""
        named = ((self._names[name], value) for name, value in _values(cell))
        return {column: _as(self.kinds[column], value) for column, value in named}


def _values(cell: Cell) -> Iterator[tuple[str, Any]]:
    """As they are in effect: `p = 1` of a parameter that is no whole number is 1.0."""
    params = {name: cell.params.get(name, value) for name, value in cell.given.items()}
    world = {field: given_in(cell.scenario, field) for field in cell.world}
    for name, value in settings.columns(params, world).items():
        if value is not None:
            yield name, value


def _distinct(names: Iterable[str]) -> dict[str, str]:
    taken: set[str] = set()
    columns: dict[str, str] = {}
    for name in names:
        column, count = name, 1
        while column.lower() in taken:
            count += 1
            column = f"{name}_{count}"
        taken.add(column.lower())
        columns[name] = column
    return columns


def _kind(values: list[Any]) -> str:
    """The narrowest type that keeps all values as they are; a text if there is no other."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return BOOL
    if kinds == {int} and all(LEAST <= value <= MOST for value in values):
        return LONG
    if kinds <= {int, float} and all(isinstance(value, float) or abs(value) <= EXACT for value in values):
        return DOUBLE
    return TEXT


def _as(kind: str, value: Any) -> Any:
    if kind == DOUBLE:
        return float(value)
    return settings.text(value) if kind == TEXT else value
