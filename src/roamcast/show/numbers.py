"""Numbers for people: on pages and on the command line."""

from __future__ import annotations

from math import floor, isfinite, log10

NOTHING = "–"


def number(value: float | None, digits: int = 3) -> str:
    """With so many significant digits as it takes to compare it, and thin spaces between thousands."""
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


def _decimals(value: float, digits: int) -> int:
    """How many it takes for so many significant digits."""
    return min(6, max(0, digits - 1 - floor(log10(abs(value))))) if value else 0


def _written(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace(",", "\u202f").replace("-", "\u2212")


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
    return f"{n:,}".replace(",", "\u202f") + f" {what if n == 1 else more or what + 's'}"
