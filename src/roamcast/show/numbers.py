"""Numbers for people: on pages and on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, isfinite, log10
from statistics import median

NOTHING = "–"


def plain(value: float) -> str:
    """As it was set: 20, 0.3, 1,500; without digits that say nothing."""
    return (
        _written(value, 0) if float(value).is_integer() and abs(value) < 1e15 else f"{value:g}".replace("-", "\u2212")
    )


def number(value: float | None, digits: int = 3) -> str:
    """With as many significant digits as a comparison needs, and commas between thousands."""
    if value is None or not isfinite(value):
        return NOTHING
    return _written(value, _decimals(value, digits))


def spread(mean: float | None, half: float | None, factor: float = 1.0) -> str:
    """mean ± half, both with the decimals that the half width warrants."""
    if mean is None or not isfinite(mean):
        return NOTHING
    if half is None:
        return number(mean * factor)
    decimals = _decimals(half * factor, 2) if half else _decimals(mean * factor, 3)
    return f"{_written(mean * factor, decimals)} ± {_written(half * factor, decimals)}"


def column(intervals: Sequence[tuple[float, float | None] | None], factor: float = 1.0, least: int = 0) -> list[str]:
    """Means with half widths below each other: all with the same decimals, which are at least `least`. None is a
    value that does not exist."""
    means = [abs(each[0]) * factor for each in intervals if each is not None]
    halves = [each[1] * factor for each in intervals if each is not None and each[1]]
    decimals = max(least, _decimals(median(means), 3) if means else 0, _decimals(median(halves), 1) if halves else 0)
    texts = [None if each is None else _pair(each, factor, decimals) for each in intervals]
    width = max((len(half) for _, half in filter(None, texts)), default=0)
    return [NOTHING if text is None else f"{text[0]} ± {text[1]:>{width}}" if text[1] else text[0] for text in texts]


def p_value(p: float | None) -> str:
    if p is None:
        return NOTHING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _pair(interval: tuple[float, float | None], factor: float, decimals: int) -> tuple[str, str]:
    mean, half = interval
    return _written(mean * factor, decimals), "" if half is None else _written(half * factor, decimals)


def _decimals(value: float, digits: int) -> int:
    """How many decimals show that many significant digits."""
    return min(6, max(0, digits - 1 - floor(log10(abs(value))))) if value else 0


def _written(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace("-", "\u2212")


def interval(measured: float | None, low: float | None, high: float | None, unit: str = "") -> str:
    """`2.51 frames (2.44 … 2.58)`."""
    if measured is None:
        return NOTHING
    middle = f"{number(measured)} {unit}".rstrip()
    return middle if low is None or high is None or low == high else f"{middle} ({number(low)} … {number(high)})"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def several(n: int, what: str, more: str = "") -> str:
    return f"{n:,} {what if n == 1 else more or what + 's'}"
