"""Values and names as filters hold and write them: which are allowed, and how they look in a filter's text."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from roamcast.errors import InputError
from roamcast.pubsub.event import Value
from roamcast.pubsub.values import ABSENT, INT_HIGH, INT_LOW, kind_of

KEYWORDS: Final = ("and", "between", "exists", "false", "in", "not", "or", "prefix", "topic", "true")

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def check_text(text: str) -> None:
    if not isinstance(text, str):
        raise InputError(f"expected a text, not {text!r}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError("a text must be valid Unicode: it has half of a surrogate pair") from None


def check_value(value: Value) -> int:
    """The kind of a value, or an InputError if no filter may hold it."""
    kind = kind_of(value)
    if kind == ABSENT:
        raise InputError(f"a value is a number, a text, true or false, not {value!r}")
    if isinstance(value, str):
        check_text(value)
    elif isinstance(value, int) and not INT_LOW <= value <= INT_HIGH:
        raise InputError("a whole number must fit in 64 bits")
    return kind


def sorted_once(values: list[Value]) -> list[Value]:
    keyed: list[tuple[int, Any, bool, Value]] = [(check_value(v), v, isinstance(v, float), v) for v in values]
    keyed.sort()
    result: list[Value] = []
    for i, (kind, key, _, value) in enumerate(keyed):
        if i == 0 or keyed[i - 1][0] != kind or keyed[i - 1][1] != key:
            result.append(value)
    return result


def written(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return repr(value).replace("inf", "1e999")  # it is read back as infinity
    return str(value)


def written_name(name: str) -> str:
    return name if _WORD.fullmatch(name) and name not in KEYWORDS else written(name)
