"""Parameters from text that people type: converted by the default's type, checked, and refused in one clear line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any, Final, final

from roamcast.errors import InputError, unknown
from roamcast.protocols.kit.interface import Params, Protocol

TRUE: Final = ("true", "yes", "1")
FALSE: Final = ("false", "no", "0")
LARGEST: Final = 1 << 53  # above it, floats cannot represent every whole number


@final
class Parameter:
    """The description of one parameter of a protocol, or of a part of the world."""

    __slots__ = ("default", "doc", "name", "range", "source", "unit")

    def __init__(self, name: str, default: object, unit: str, doc: str, source: str, range: str) -> None:
        self.name = name
        self.default = default
        self.unit = unit
        self.doc = doc
        self.source = source
        self.range = range


def build(protocol: type[Protocol], given: Mapping[str, object], called: str = "") -> Params:
    """The protocol's parameters: the given texts or values, and defaults for the rest.

    `called` is the protocol's name for people; without it, errors name the class.
    """
    return of_class(protocol.params_class, given, called or protocol.__name__)


def of_class(params_class: type[Params], given: Mapping[str, object], called: str) -> Params:
    """The same for any class of parameters: also radios, MACs and kinds of movement have some."""
    known: dict[str, Field[Any]] = {field.name: field for field in fields(params_class)}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            if not known:
                raise InputError(f"{name}={value}: {called} has no parameters")
            raise unknown(f"{called} parameter", name, known)
        values[name] = _convert(known[name], value)
    try:
        return params_class(**values)
    except ValueError as error:
        raise InputError(str(error)) from error


def describe(protocol: type[Protocol]) -> list[Parameter]:
    """The protocol's parameters, in the order they were declared."""
    return describe_class(protocol.params_class)


def describe_class(params_class: type[Params]) -> list[Parameter]:
    """The same for the parameters of anything that has some."""
    described: list[Parameter] = []
    for field in fields(params_class):
        about = field.metadata
        described.append(
            Parameter(
                field.name,
                field.default,
                about.get("unit", ""),
                about.get("doc", ""),
                about.get("source", ""),
                _range(field),
            )
        )
    return described


def _convert(field: Field[Any], value: object) -> object:
    default = field.default
    right: object = None
    if isinstance(default, bool):
        right = _bool(value)
    elif isinstance(default, int):
        right = _int(value)
    elif isinstance(default, float):
        right = _float(value)
    elif isinstance(value, str):
        right = value
    if right is None or not _within(field, right):
        raise InputError(f"{field.name}={value}: must be {_wanted(field)}")
    return right


def _bool(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    return True if word in TRUE else False if word in FALSE else None


def _int(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    try:
        number = int(value)
    except ValueError:
        return None
    return number if abs(number) <= LARGEST else None


def _float(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= LARGEST else None  # false for NaN


def _within(field: Field[Any], value: object) -> bool:
    choices = field.metadata.get("choices", ())
    if choices and value not in choices:
        return False
    if isinstance(value, (int, float)):
        low, high = field.metadata.get("low"), field.metadata.get("high")
        return (low is None or value >= low) and (high is None or value <= high)
    return True


def _wanted(field: Field[Any]) -> str:
    choices = field.metadata.get("choices", ())
    if choices:
        return "one of " + ", ".join(choices)
    if isinstance(field.default, bool):
        return "true or false"
    if isinstance(field.default, str):
        return "a text"
    low, high = field.metadata.get("low"), field.metadata.get("high")
    number = "a whole number" if isinstance(field.default, int) else "a number"
    if low is not None and high is not None:
        return f"{number} between {low:g} and {high:g}"
    if low is not None:
        return f"{number} of at least {low:g}"
    return number if high is None else f"{number} of at most {high:g}"


def _range(field: Field[Any]) -> str:
    choices = field.metadata.get("choices", ())
    if choices:
        return " | ".join(choices)
    if isinstance(field.default, bool):
        return "true | false"
    low, high = field.metadata.get("low"), field.metadata.get("high")
    if low is not None and high is not None:
        return f"{low:g} … {high:g}"
    if low is not None:
        return f"≥ {low:g}"
    return "" if high is None else f"≤ {high:g}"
