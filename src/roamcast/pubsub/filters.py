"""Filters: the conditions of subscriptions.

A filter is an immutable predicate over events, written once in Python (`topic("a.b") & (attr("t") > 30)`), as text
(`topic a.b and t > 30`, see text.py) or on the air (`fields`). Two filters are equal if their texts are equal, so equal
filters also have the same bytes. `and` and `or` are flat, and with a single operand they become that operand.

How values compare: numbers with numbers, text with text (by code point), false before true; true is not 1. A value that
is absent or of another kind matches no condition, not even `!=`. NaN counts as absent.

No filter has more than `MAX_LEAVES` conditions (each value of an `in` is one) or nests deeper than `MAX_DEPTH`, so
every filter can be sent, and every received filter is cheap to match.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, final

from mypy_extensions import mypyc_attr

from roamcast.errors import InputError, Malformed
from roamcast.pubsub import values as sets
from roamcast.pubsub.event import Event, Value
from roamcast.pubsub.literals import check_text, check_value, sorted_once, written, written_name
from roamcast.pubsub.values import ABSENT, Cut, kind_of

MAX_LEAVES: Final = 256
MAX_DEPTH: Final = 16

OPERATORS: Final = ("=", "!=", "<", "<=", ">", ">=")

# Tags on the air.
_EVERYTHING: Final = 0
_NOTHING: Final = 1
_TOPIC: Final = 2
_EXISTS: Final = 3
_COMPARE: Final = 4
_RANGE: Final = 5
_ONE_OF: Final = 6
_PREFIX: Final = 7
_AND: Final = 8
_OR: Final = 9


@mypyc_attr(allow_interpreted_subclasses=True)
class Filter:
    """A predicate over events: an immutable value, except that some remember their last answer (`wants`)."""

    def matches(self, event: Event) -> bool:
        raise NotImplementedError

    def wants(self, event: Event) -> bool:
        """Whether it matches. An `Expression` keeps the answer about the last event, because a flood asks a filter that
        many nodes share about the same event again and again."""
        return self.matches(event)

    def fields(self) -> list[Any]:
        """Its form on the air; `filter_from_fields` is the inverse."""
        raise NotImplementedError

    def __and__(self, other: Filter) -> Filter:
        return And([self, other])

    def __or__(self, other: Filter) -> Filter:
        return Or([self, other])


class Expression(Filter):
    """A filter of this module. Two of them are equal if their texts are equal."""

    def __init__(self, text: str, leaves: int = 1, depth: int = 1) -> None:
        if leaves > MAX_LEAVES:
            raise InputError(f"a filter has at most {MAX_LEAVES} conditions, not {leaves}")
        if depth > MAX_DEPTH:
            raise InputError(f"a filter nests at most {MAX_DEPTH} deep")
        self.text: Final = text
        self.leaves: Final = leaves
        self.depth: Final = depth
        self._asked: Event | None = None  # the event that `wants` was asked about last, …
        self._wanted = False  # … and the answer

    def wants(self, event: Event) -> bool:
        if event is not self._asked:
            self._wanted = self.matches(event)
            self._asked = event
        return self._wanted

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<filter {self.text}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


# ------------------------------------------------------------------------------------------------------- constants


@final
class Everything(Expression):
    def __init__(self) -> None:
        super().__init__("true")

    def matches(self, event: Event) -> bool:
        return True

    def fields(self) -> list[Any]:
        return [_EVERYTHING]


@final
class Nothing(Expression):
    def __init__(self) -> None:
        super().__init__("false")

    def matches(self, event: Event) -> bool:
        return False

    def fields(self) -> list[Any]:
        return [_NOTHING]


EVERYTHING: Final = Everything()
NOTHING: Final = Nothing()


# ---------------------------------------------------------------------------------------------------------- leaves


@final
class Topic(Expression):
    """The topic `name` and all below it: `a.b` covers `a.b.c` and not `a.bc`. The empty name is the root."""

    def __init__(self, name: str) -> None:
        check_text(name)
        super().__init__(f"topic {written_name(name)}")
        self.name: Final = name
        self._below: Final = name + "."

    def matches(self, event: Event) -> bool:
        topic = event.topic
        return topic == self.name or topic.startswith(self._below) or not self.name

    def fields(self) -> list[Any]:
        return [_TOPIC, self.name]


class Leaf(Expression):
    """A condition on one attribute; its text is the attribute's name between `head` and `tail`."""

    def __init__(self, name: str, head: str, tail: str, leaves: int = 1) -> None:
        check_text(name)
        if not name:
            raise InputError("an attribute needs a name")
        super().__init__(head + written_name(name) + tail, leaves)
        self.name: Final = name

    def accepted(self) -> list[Cut]:
        """The set of values that meet the condition (see values.py)."""
        raise NotImplementedError


@final
class Exists(Leaf):
    def __init__(self, name: str) -> None:
        super().__init__(name, "exists ", "")

    def matches(self, event: Event) -> bool:
        return kind_of(event.attrs.get(self.name)) != ABSENT

    def fields(self) -> list[Any]:
        return [_EXISTS, self.name]

    def accepted(self) -> list[Cut]:
        return sets.present()


@final
class Compare(Leaf):
    """`op` is one of = != < <= > >=."""

    def __init__(self, name: str, op: str, value: Value) -> None:
        if op not in OPERATORS:
            raise InputError(f"no comparison {op!r}; one of {' '.join(OPERATORS)}")
        self._kind: Final = check_value(value)
        super().__init__(name, "", f" {op} {written(value)}")
        self.op: Final = op
        self.value: Final[Any] = value
        self._code: Final = OPERATORS.index(op)
        self._word: Final = value if op == "=" and isinstance(value, str) else None  # the most common condition

    def matches(self, event: Event) -> bool:
        value: Any = event.attrs.get(self.name)
        word = self._word
        if word is not None:
            return isinstance(value, str) and value == word
        if kind_of(value) != self._kind:
            return False
        code = self._code
        if code == 0:
            return bool(value == self.value)
        if code == 1:
            return bool(value != self.value)
        if code == 2:
            return bool(value < self.value)
        if code == 3:
            return bool(value <= self.value)
        if code == 4:
            return bool(value > self.value)
        return bool(value >= self.value)

    def fields(self) -> list[Any]:
        return [_COMPARE, self.name, self._code, self.value]

    def accepted(self) -> list[Cut]:
        low, high = sets.before(self.value), sets.after(self.value)
        first, last = sets.start(self._kind), sets.start(self._kind + 1)
        if self.op == "=":
            return [low, high]
        if self.op == "<":
            return sets.between(first, low)
        if self.op == "<=":
            return [first, high]
        if self.op == ">":
            return sets.between(high, last)
        if self.op == ">=":
            return [low, last]
        return sets.union(sets.between(first, low), sets.between(high, last))


@final
class Range(Leaf):
    """The closed interval from `low` to `high`, two values of one kind; empty when low is above high."""

    def __init__(self, name: str, low: Value, high: Value) -> None:
        self._kind: Final = check_value(low)
        if check_value(high) != self._kind:
            raise InputError(f"the ends of a range are of one kind, not {written(low)} and {written(high)}")
        super().__init__(name, "", f" between {written(low)} and {written(high)}")
        self.low: Final[Any] = low
        self.high: Final[Any] = high
        self._floats: Final = sets.is_float(low) and sets.is_float(high)
        self._low: Final = float(low) if self._floats else 0.0
        self._high: Final = float(high) if self._floats else 0.0

    def matches(self, event: Event) -> bool:
        value: Any = event.attrs.get(self.name)
        if self._floats and isinstance(value, float):
            return self._low <= value <= self._high  # NaN is in no range
        return kind_of(value) == self._kind and bool(self.low <= value <= self.high)

    def fields(self) -> list[Any]:
        return [_RANGE, self.name, self.low, self.high]

    def accepted(self) -> list[Cut]:
        return sets.closed(self.low, self.high)


@final
class OneOf(Leaf):
    """One of several values, which are sorted, each once."""

    def __init__(self, name: str, values: Iterable[Value]) -> None:
        self.values: Final = sorted_once(list(values))
        listed = ", ".join([written(value) for value in self.values])
        super().__init__(name, "", f" in ({listed})", max(1, len(self.values)))
        # True == 1 in Python, so the two kinds must not share a table.
        self._bools: Final = frozenset([v for v in self.values if isinstance(v, bool)])
        self._others: Final = frozenset([v for v in self.values if not isinstance(v, bool)])

    def matches(self, event: Event) -> bool:
        value = event.attrs.get(self.name)
        if isinstance(value, bool):
            return value in self._bools
        return value in self._others

    def fields(self) -> list[Any]:
        return [_ONE_OF, self.name, *self.values]

    def accepted(self) -> list[Cut]:
        return sets.points(self.values)


@final
class Prefix(Leaf):
    """Texts that begin with `prefix`."""

    def __init__(self, name: str, prefix: str) -> None:
        check_text(prefix)
        super().__init__(name, "", f" prefix {written(prefix)}")
        self.prefix: Final = prefix

    def matches(self, event: Event) -> bool:
        value = event.attrs.get(self.name)
        return isinstance(value, str) and value.startswith(self.prefix)

    def fields(self) -> list[Any]:
        return [_PREFIX, self.name, self.prefix]

    def accepted(self) -> list[Cut]:
        return sets.with_prefix(self.prefix)


# ------------------------------------------------------------------------------------------------------ connectives


@final
class And(Expression):
    """All of several filters. An empty list matches everything."""

    def __init__(self, filters: Iterable[Filter]) -> None:
        flat: list[Filter] = []
        for operand in filters:
            part = _unwrapped(operand)
            if isinstance(part, And):
                flat.extend(part.filters)
            else:
                flat.append(part)
        texts = [f"({part})" if isinstance(part, Or) and len(flat) > 1 else str(part) for part in flat]
        super().__init__(" and ".join(texts) or "true", _leaves(flat), _depth(flat))
        self.filters: Final[tuple[Filter, ...]] = tuple(flat)

    def matches(self, event: Event) -> bool:
        for part in self.filters:  # noqa: SIM110 (a generator costs more than the loop)
            if not part.matches(event):
                return False
        return True

    def fields(self) -> list[Any]:
        return _joined_fields(_AND, _EVERYTHING, self.filters)


@final
class Or(Expression):
    """At least one of several filters. An empty list matches nothing."""

    def __init__(self, filters: Iterable[Filter]) -> None:
        flat: list[Filter] = []
        for operand in filters:
            part = _unwrapped(operand)
            if isinstance(part, Or):
                flat.extend(part.filters)
            else:
                flat.append(part)
        super().__init__(" or ".join([str(part) for part in flat]) or "false", _leaves(flat), _depth(flat))
        self.filters: Final[tuple[Filter, ...]] = tuple(flat)

    def matches(self, event: Event) -> bool:
        for part in self.filters:  # noqa: SIM110 (a generator costs more than the loop)
            if part.matches(event):
                return True
        return False

    def fields(self) -> list[Any]:
        return _joined_fields(_OR, _NOTHING, self.filters)


def _unwrapped(part: Filter) -> Filter:
    """The only operand of a connective, or a constant if it has none: so equal filters have equal texts."""
    if not isinstance(part, Filter):
        raise TypeError(f"expected a filter, not {part!r}")
    if isinstance(part, And):
        return part if len(part.filters) > 1 else part.filters[0] if part.filters else EVERYTHING
    if isinstance(part, Or):
        return part if len(part.filters) > 1 else part.filters[0] if part.filters else NOTHING
    return part


def _joined_fields(tag: int, empty: int, filters: tuple[Filter, ...]) -> list[Any]:
    if not filters:
        return [empty]
    if len(filters) == 1:
        return filters[0].fields()
    return [tag, *[part.fields() for part in filters]]


def _leaves(filters: list[Filter]) -> int:
    return max(1, sum([part.leaves if isinstance(part, Expression) else 1 for part in filters]))


def _depth(filters: list[Filter]) -> int:
    deepest = max([part.depth if isinstance(part, Expression) else 1 for part in filters], default=1)
    return deepest + 1 if len(filters) > 1 else deepest


# --------------------------------------------------------------------------------------------------------- from the air


def filter_from_fields(fields: object) -> Filter:
    """The inverse of `Filter.fields`, for fields that came from the air: anything else is `Malformed`."""
    try:
        return _from_fields(fields, MAX_DEPTH)
    except InputError as error:
        raise Malformed(f"filter: {error}") from error


def _from_fields(fields: object, depth: int) -> Filter:
    if not isinstance(fields, list) or not fields or len(fields) > MAX_LEAVES + 2 or depth == 0:
        raise Malformed("no filter")
    tag: Any = fields[0]
    rest: list[Any] = fields[1:]
    if type(tag) is not int:
        raise Malformed("filter tag")
    if tag == _AND:
        return And([_from_fields(part, depth - 1) for part in rest])
    if tag == _OR:
        return Or([_from_fields(part, depth - 1) for part in rest])
    if tag == _EVERYTHING and not rest:
        return EVERYTHING
    if tag == _NOTHING and not rest:
        return NOTHING
    if not rest or type(rest[0]) is not str:
        raise Malformed("filter without a name")
    return _leaf_from_fields(tag, rest[0], rest[1:])


def _leaf_from_fields(tag: int, name: str, rest: list[Any]) -> Filter:
    for value in rest:
        if type(value) not in (int, float, str, bool):
            raise Malformed("filter value")
    if tag == _ONE_OF:
        return OneOf(name, rest)
    if tag == _TOPIC and not rest:
        return Topic(name)
    if tag == _EXISTS and not rest:
        return Exists(name)
    if tag == _PREFIX and len(rest) == 1 and type(rest[0]) is str:
        return Prefix(name, rest[0])
    if tag == _RANGE and len(rest) == 2:
        return Range(name, rest[0], rest[1])
    if tag == _COMPARE and len(rest) == 2 and type(rest[0]) is int and 0 <= rest[0] < len(OPERATORS):
        return Compare(name, OPERATORS[rest[0]], rest[1])
    raise Malformed("filter fields")


# ------------------------------------------------------------------------------------------------------- in Python code


def topic(name: str) -> Filter:
    return Topic(name)


def attr(name: str) -> Attribute:
    """`attr("temperature") > 30`, `attr("room").isin("lab", "hall")`."""
    return Attribute(name)


@final
class Attribute:
    """The name of an attribute, waiting for a condition."""

    def __init__(self, name: str) -> None:
        self.name: Final = name

    def __eq__(self, value: Value) -> Filter:  # type: ignore[override]
        return Compare(self.name, "=", value)

    def __ne__(self, value: Value) -> Filter:  # type: ignore[override]
        return Compare(self.name, "!=", value)

    def __lt__(self, value: Value) -> Filter:
        return Compare(self.name, "<", value)

    def __le__(self, value: Value) -> Filter:
        return Compare(self.name, "<=", value)

    def __gt__(self, value: Value) -> Filter:
        return Compare(self.name, ">", value)

    def __ge__(self, value: Value) -> Filter:
        return Compare(self.name, ">=", value)

    def __hash__(self) -> int:
        return hash(self.name)

    def isin(self, *values: Value) -> Filter:
        return OneOf(self.name, values)

    def startswith(self, prefix: str) -> Filter:
        return Prefix(self.name, prefix)

    def between(self, low: Value, high: Value) -> Filter:
        return Range(self.name, low, high)

    def exists(self) -> Filter:
        return Exists(self.name)
