"""TOML files that people write: every error in one is an InputError that names the file and the line.

    written = toml.load(path, "campaign", understand)

calls `understand` with the file's content. It raises `Misplaced` with the path of the wrong entry, such as
("protocol", 0, "set", "p"); `Lines` finds its line in the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from roamcast.errors import InputError, Misplaced, error_text, unknown

Steps = tuple[str | int, ...]
"""The path of an entry: names of keys, and positions in lists of tables."""
T = TypeVar("T")
WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "a table",
    "str": "a text",
}
"""What people call the types of entries."""
PLAINER = {
    "illegal character '\\n'": "a text that begins here has no quote at its end",
    "invalid value": 'no value; texts stand in quotes, "so"',
}
"""For what tomllib says about the most frequent mistakes."""
MEANT = {"parameters": "set", "params": "set", "scenario": "world"}
"""What people write for an entry because it is called so elsewhere."""


def load(path: Path, what: str, understand: Callable[[dict[str, Any]], T]) -> T:
    """The result of `understand` for the file's content; `what` is the name of such files for people."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the {what} {path}: {error_text(error)}") from None
    return parse(text, path.name, understand)


def parse(text: str, name: str, understand: Callable[[dict[str, Any]], T]) -> T:
    """The same for a text; errors call it `name`."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        number = line[1] if line else max(1, len(text.splitlines()))  # without a number, the file ended too early
        reason = str(error).partition(" (at ")[0].lower()
        raise InputError(f"{name}:{number}: {PLAINER.get(reason, reason)}") from None
    try:
        return understand(content)
    except Misplaced as error:
        raise InputError(f"{name}:{Lines(text).of(error.path)}: {error}") from None


def convert(content: dict[str, Any], kind: type[T]) -> T:
    """The content as a struct of this kind."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        message, path = _plainly(str(error), kind)
        raise Misplaced(message, *path) from None


def named(fields: Iterable[str], message: str) -> str:
    """The field that a message names first."""
    places = {field: re.search(rf"(?<![\w.]){re.escape(field)}\b", message) for field in fields}
    return min(((p.start(), -len(field), field) for field, p in places.items() if p), default=(0, 0, ""))[2]


# ---- errors in plain words


def _plainly(message: str, kind: type) -> tuple[str, Steps]:
    """msgspec's "Expected `int`, got `str` - at `$.protocol[0].name`" as a line of ours, and the path."""
    what, _, where = message.partition(" - at ")
    steps = re.findall(r"\.(\w+)|\[(\d+)\]|\[\.\.\.\]", where)
    path: Steps = tuple(name or int(number) for name, number in steps if name or number)
    missing = re.search(r"missing required field `(\w+)`", what)
    if missing:
        return f"{missing[1]}: is missing", path
    extra = re.search(r"contains unknown field `(\w+)`", what)
    if extra:
        return _unknown_field(extra[1], _fields_at(kind, path)), (*path, extra[1])
    field = ".".join(str(step) for step in path if isinstance(step, str))
    must = must_be(what)
    return f"{field}: {must}" if field else must, path


def must_be(expected: str) -> str:
    """msgspec's "Expected `int`, got `str`" as "must be a whole number, not a text"; other complaints as they are."""
    if not expected.startswith("Expected "):
        return expected[:1].lower() + expected[1:]
    wanted, _, actual = expected.removeprefix("Expected ").partition(", got ")
    return f"must be {_in_words(wanted)}" + (f", not {_in_words(actual)}" if actual else "")


def _unknown_field(name: str, known: list[str]) -> str:
    meant = MEANT.get(name)
    return f"unknown field {name!r}; did you mean {meant!r}?" if meant in known else str(unknown("field", name, known))


def _in_words(wanted: str) -> str:
    """ "`int | array` >= 1" as "a whole number or a list of at least 1"."""
    kinds = re.match(r"`([\w |]+)`", wanted)
    if not kinds:
        return wanted.replace("`", "")
    named = [WORDS.get(kind, kind) for kind in kinds[1].split(" | ") if kind != "null"]
    limit = wanted[kinds.end() :].replace("of length ", "").replace(">= ", "of at least ").replace("<= ", "of at most ")
    return " or ".join(named) + limit.replace("> ", "above ").replace("< ", "below ")


def _fields_at(kind: type, path: Steps) -> list[str]:
    """The fields that the struct at this place of a struct has."""
    info: Any = msgspec.inspect.type_info(kind)
    for step in path:
        if isinstance(step, int):
            info = info.item_type
        else:
            info = _struct(next(field.type for field in info.fields if field.name == step))
    return [field.name for field in _struct(info).fields]


def _struct(info: Any) -> Any:
    """The struct, also if it is optional; anything else unchanged."""
    if isinstance(info, msgspec.inspect.UnionType):
        return next(kind for kind in info.types if isinstance(kind, msgspec.inspect.StructType))
    return info


# ---- lines


class Lines:
    """The lines of keys in a TOML text, from one pass over its lines. For a key that is not found, it is the line where
    its table begins."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._at: dict[Steps, int] = {(): 1}
        table: Steps = ()
        counts: dict[str, int] = {}
        for number, line in enumerate(self._lines, 1):
            header = re.match(r"\s*(\[\[?)\s*([\w.\-]+)\s*\]", line)
            if header:
                table = self._table(header[1] == "[[", header[2].split("."), counts)
                self._at.setdefault(table, number)
                self._at.setdefault(table[:1], number)
                continue
            quoted = re.match(r"""\s*["']([^"']+)["']\s*=""", line)
            key = quoted or re.match(r"""\s*["']?([\w\-]+)["']?\s*(?:\.\s*["']?([\w\-]+)["']?\s*)?=""", line)
            if key:
                self._at.setdefault((*table, key[1]), number)
                if not quoted and key[2]:
                    self._at.setdefault((*table, key[1], key[2]), number)

    @staticmethod
    def _table(repeated: bool, names: list[str], counts: dict[str, int]) -> Steps:
        first, rest = names[0], names[1:]
        if repeated and not rest:
            counts[first] = counts.get(first, -1) + 1
        return (first, counts[first], *rest) if first in counts else (first, *rest)

    def of(self, path: Steps) -> int:
        while path not in self._at:
            inside = self._inside(path)
            if inside:
                return inside
            path = path[:-1]
        return self._at[path]

    def _inside(self, path: Steps) -> int:
        """The line of a key in a value that is written over several lines, such as an inline table."""
        above = self._at.get(path[:-1], 0)
        if not above or not isinstance(path[-1], str) or not path[-1]:
            return 0
        for number in range(above, len(self._lines) + 1):
            line = self._lines[number - 1]
            if number > above and re.match(r"\s*\[", line):
                return 0
            if re.search(rf"""(?<![\w\-])["']?{re.escape(path[-1])}["']?\s*=""", line):
                return number
        return 0
