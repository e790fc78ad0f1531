"""Sets of attribute values: the algebra behind covering, summaries and the detection of filters that cannot match.

All values lie on one line: first the absent value, then false and true, then the numbers, then the texts by code point.
A *cut* is a place between two neighbours on that line, and a set of values is the sorted list of cuts where it begins,
ends, begins, ends. Every condition on one attribute is such a set (a prefix is an interval of texts, `!=` is a kind
with a hole), so union, intersection and inclusion are one sweep each, and every set has exactly one list.

The line is treated as dense: nothing here knows that no text lies between "a" and "a\\0". So an empty set may not be
recognised as empty, but a set that is recognised as empty is always empty.
"""

from __future__ import annotations

from typing import Final

from roamcast.pubsub.event import Value

ABSENT: Final = 0
BOOL: Final = 1
NUMBER: Final = 2
TEXT: Final = 3
END: Final = 4

Cut = tuple[int, Value, int]
"""(kind, value, 0 before the value or 1 after it)."""

INFINITY: Final = float("inf")
INT_LOW: Final = -(1 << 63)
INT_HIGH: Final = (1 << 64) - 1
"""The ints that msgpack can carry."""
EXACT: Final = 1 << 53
"""Floats hold all ints up to this one."""

LAST_CHARACTER: Final = 0x10FFFF
SURROGATES: Final = (0xD800, 0xE000)
"""Code points that no text on the air contains."""


def kind_of(value: object) -> int:
    """The kind of a value. NaN is not a value: its kind is ABSENT."""
    if isinstance(value, str):
        return TEXT
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return NUMBER
    if isinstance(value, float):
        return NUMBER if value == value else ABSENT
    return ABSENT


def is_float(value: object) -> bool:
    """Whether it is a number that a float can hold without rounding."""
    if isinstance(value, int):
        return not isinstance(value, bool) and -EXACT <= value <= EXACT
    return isinstance(value, float)


def start(kind: int) -> Cut:
    """Where a kind begins, which is where the one before it ends."""
    if kind == NUMBER:
        return (NUMBER, -INFINITY, 0)
    if kind == TEXT:
        return (TEXT, "", 0)
    return (kind, False, 0)


def before(value: Value) -> Cut:
    return (kind_of(value), _plain(value), 0)


def after(value: Value) -> Cut:
    """Every place has one cut only: after false is before true, and after true is where numbers begin."""
    kind = kind_of(value)
    if kind == BOOL:
        return start(NUMBER) if value else (BOOL, True, 0)
    if kind == NUMBER and value == INFINITY:
        return start(TEXT)
    return (kind, _plain(value), 1)


def _plain(value: Value) -> Value:
    """A float that is a whole number becomes an int, so that equal sets have equal lists."""
    if isinstance(value, float) and value.is_integer() and INT_LOW <= value <= INT_HIGH:
        return int(value)
    return value


def between(low: Cut, high: Cut) -> list[Cut]:
    return [low, high] if low < high else []


def closed(low: Value, high: Value) -> list[Cut]:
    return between(before(low), after(high))


def points(values: list[Value]) -> list[Cut]:
    result: list[Cut] = []
    for value in values:
        result = union(result, closed(value, value))
    return result


def present() -> list[Cut]:
    return [start(BOOL), start(END)]


def anything() -> list[Cut]:
    """All values, and the absent one."""
    return [start(ABSENT), start(END)]


def with_prefix(prefix: str) -> list[Cut]:
    return [before(prefix), after_prefix(prefix)]


def after_prefix(prefix: str) -> Cut:
    """The place after all texts that begin with this one."""
    stem = prefix.rstrip(chr(LAST_CHARACTER))
    if not stem:
        return start(END)
    code = ord(stem[-1]) + 1
    return before(stem[:-1] + chr(SURROGATES[1] if code == SURROGATES[0] else code))


def below_topic(name: str) -> list[Cut]:
    """The topic itself and all topics below it; the empty name is the root."""
    return union(closed(name, name), with_prefix(name + ".")) if name else with_prefix("")


def union(a: list[Cut], b: list[Cut]) -> list[Cut]:
    return _sweep(a, b, 1)


def intersection(a: list[Cut], b: list[Cut]) -> list[Cut]:
    return _sweep(a, b, 2)


def complement(a: list[Cut]) -> list[Cut]:
    first, last = start(ABSENT), start(END)
    result = a[1:] if a and a[0] == first else [first, *a]
    if result and result[-1] == last:
        result.pop()
    else:
        result.append(last)
    return result


def includes(general: list[Cut], special: list[Cut]) -> bool:
    if not special:
        return True
    if not general or special[0] < general[0] or general[-1] < special[-1]:
        return False
    return len(general) == 2 or intersection(general, special) == special


def _sweep(a: list[Cut], b: list[Cut], enough: int) -> list[Cut]:
    """The places of the line that lie in at least `enough` of the two sets."""
    result: list[Cut] = []
    i, j = 0, 0
    while i < len(a) or j < len(b):
        if j == len(b):
            cut = a[i]
        elif i == len(a):
            cut = b[j]
        else:
            cut = min(a[i], b[j])
        if i < len(a) and a[i] == cut:
            i += 1
        if j < len(b) and b[j] == cut:
            j += 1
        inside = i % 2 + j % 2 >= enough
        if inside != (len(result) % 2 == 1):
            result.append(cut)
    return result
