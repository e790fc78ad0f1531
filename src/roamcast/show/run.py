"""One run as people read it: a line for each metric of the catalogue that has one."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from roamcast.log import catalogue
from roamcast.log.metric import BY_NAME, SHARE, Line, Metric

UNKNOWN = "–"


def lines(metrics: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(title, value, note) of each metric that the run has."""
    texts = {name: number(value) for name, value in metrics.items() if not isinstance(value, dict)}
    shown: list[tuple[str, str, str]] = []
    for metric in catalogue.BY_SECTION:
        line = metric.line
        if line is None or not metric.averaged or (line.needs and not _there(metrics.get(line.needs))):
            continue
        shown.append((line.title, _value(metric, line, metrics[metric.name]), line.note.format_map(texts)))
    return shown


def counts(metrics: Mapping[str, Any]) -> list[str]:
    """`losses: collision 10,333, half-duplex 142` for each metric that counts by name."""
    return [
        f"{metric.line.title}: " + ", ".join(f"{name} {n:,}" for name, n in metrics[metric.name].items())
        for metric in catalogue.BY_SECTION
        if metric.kind == BY_NAME and metric.line is not None and metrics.get(metric.name)
    ]


def sparse(metrics: Mapping[str, Any]) -> str:
    """Says so if most pairs had no chance: a newcomer would take that for the protocol's fault."""
    possible: Any = metrics.get("possible")
    interested: Any = metrics.get("interested")
    if not _known(possible) or not _known(interested) or 2 * possible >= interested:
        return ""
    return f"not even an ideal flood could reach {interested - possible:,} of the {interested:,} pairs: a sparse world"


def percent(value: Any) -> str:
    return f"{100 * value:.1f} %" if _known(value) else UNKNOWN


def number(value: Any, digits: int = 0) -> str:
    if not _known(value):
        return UNKNOWN
    return f"{value:,.{digits}f}" if isinstance(value, float) else f"{value:,}"


def _value(metric: Metric, line: Line, value: Any) -> str:
    if metric.unit == SHARE:
        return percent(value)
    return number(value if line.factor == 1 or not _known(value) else line.factor * value, line.digits)


def _there(value: Any) -> bool:
    """Whether it is known, and no count of zero."""
    return _known(value) and (isinstance(value, float) or value > 0)


def _known(value: Any) -> bool:
    return value is not None and isfinite(value)
