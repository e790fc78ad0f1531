"""Tables that fit the terminal: numbers are never cut off; where there is no room, columns are stacked or left out."""

from __future__ import annotations

import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

GAP = 2
"""Spaces between columns."""


class Column(msgspec.Struct, frozen=True):
    """`text` columns are left-aligned and may be wrapped between words; the others are numbers."""

    heading: str
    values: list[str]
    text: bool = False

    @property
    def least_width(self) -> int:
        """A heading may be wrapped between words."""
        words = [word for heading in self.heading.split("\n") for word in heading.split()]
        words += [word for value in self.values for word in value.split()] if self.text else self.values
        return max(map(cell_len, words), default=0)


def fits(columns: list[Column], width: int) -> bool:
    return sum(column.least_width + GAP for column in columns) - GAP <= width


def table(columns: list[Column]) -> Table:
    grid = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False)
    for column in columns:
        grid.add_column(
            escape(column.heading),
            justify="left" if column.text else "right",
            vertical="top",
            min_width=column.least_width,
            max_width=None if column.text else column.least_width,  # room is for texts
            overflow="fold",
        )
    for values in zip(*(column.values for column in columns), strict=True):
        grid.add_row(*map(escape, values))
    return grid


def stacked(columns: list[Column]) -> Table:
    """A block of lines for each row, where its columns do not fit beside each other."""
    grid = Table(box=None, show_header=False, padding=(0, GAP, 0, 0), pad_edge=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for k, values in enumerate(zip(*(column.values for column in columns), strict=True)):
        if k:
            grid.add_row()
        for column, value in zip(columns, values, strict=True):
            grid.add_row(escape(column.heading), escape(value))
    return grid


def print_fitting(console: Console, columns: list[Column]) -> None:
    console.print(table(columns) if fits(columns, console.width) else stacked(columns))
