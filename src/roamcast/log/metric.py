"""What an entry of the catalogue of metrics consists of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

Row = Mapping[str, Any]

COUNT = "count"
SUM = "sum"
BY_NAME = "counts by name"
QUOTIENT = "quotient"
MEAN = "mean"
RANK = "nearest rank"
OVER_TIME = "sum over time"
WHOLE = (COUNT, SUM)
"""The kinds whose values are whole numbers, 0 for an empty log."""

SHARE = "share"
"""The unit of a number from 0 to 1."""
FOR_PEOPLE = {"s": ("ms", 1000.0), "bytes": ("kB", 0.001)}
"""Units that the report shows as others, and what to multiply by."""


class Term(msgspec.Struct, frozen=True):
    """A column of a run's row, or one entry of a column that counts by name; `sign` is 1 or -1."""

    column: str
    entry: str = ""
    sign: int = 1

    def value(self, row: Row) -> int | None:
        value: int | None = row[self.column].get(self.entry, 0) if self.entry else row[self.column]
        return None if value is None else self.sign * value

    @property
    def text(self) -> str:
        return f"{self.column}[{self.entry}]" if self.entry else self.column


class Quotient(msgspec.Struct, frozen=True):
    """A sum of terms over another one, or a sum alone if there is no divisor."""

    part: tuple[Term, ...]
    whole: tuple[Term, ...] = ()

    def value(self, row: Row) -> float | None:
        """None if a term is not known, or the divisor is zero."""
        part, whole = _added(self.part, row), _added(self.whole, row)
        if not self.whole or part is None:
            return None if part is None else float(part)
        return part / whole if whole else None

    @property
    def text(self) -> str:
        part = _sum_text(self.part)
        if not self.whole:
            return part
        return " / ".join(
            f"({text})" if len(terms) > 1 else text
            for terms, text in ((self.part, part), (self.whole, _sum_text(self.whole)))
        )


def _added(terms: tuple[Term, ...], row: Row) -> int | None:
    total = 0
    for term in terms:
        value = term.value(row)
        if value is None:
            return None
        total += value
    return total


def _sum_text(terms: tuple[Term, ...]) -> str:
    signed = "".join(f" {'−' if term.sign < 0 else '+'} {term.text}" for term in terms)
    return signed.removeprefix(" + ")


def over(part: str | list[str | Term], whole: str | list[str | Term] | None = None) -> Quotient:
    """`over("a", ["b", "-c"])` is a / (b − c)."""
    return Quotient(_terms(part), _terms(whole or []))


def _terms(written: str | list[str | Term]) -> tuple[Term, ...]:
    listed = [written] if isinstance(written, str) else written
    return tuple(
        term if isinstance(term, Term) else Term(term.removeprefix("-"), sign=-1 if term.startswith("-") else 1)
        for term in listed
    )


class Line(msgspec.Struct, frozen=True):
    """How `roamcast run` shows a metric: `note` may contain {names} of others, `digits` are decimals, `factor` makes
    the unit that the note names.

    If the metric `needs` is not known, or a count of zero, the line is left out.
    """

    title: str
    note: str = ""
    digits: int = 0
    factor: float = 1.0
    needs: str = ""


class Cost(msgspec.Struct, frozen=True):
    """How the report weighs delivery against a metric: its short name, and the title and scale of its axis."""

    short: str
    axis: str
    log: bool = False


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One number of one run (of kind BY_NAME: one number for each name).

    `per_node` is the name under which figures and claims find it divided by the number of nodes. `simulated` metrics
    are unknown for real nodes. `line`, `column` (a heading) and `cost` say where people see it; a column is left out
    where the metric that it is `beside` is not known.
    """

    name: str
    group: str
    unit: str
    kind: str
    means: str
    formula: str
    quotient: Quotient | None = None
    per_node: str = ""
    simulated: bool = False
    line: Line | None = None
    column: str = ""
    beside: str = ""
    cost: Cost | None = None

    @property
    def averaged(self) -> bool:
        """Whether it is one number a run, so that means and intervals over seeds make sense."""
        return self.kind != BY_NAME

    @property
    def shown_unit(self) -> tuple[str, float]:
        """The unit in which the report shows it, and what to multiply by."""
        return FOR_PEOPLE.get(self.unit, (self.unit, 1.0))
