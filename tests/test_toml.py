"""TOML files that people write: an error names the file and the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from roamcast import toml
from roamcast.errors import InputError, Misplaced
from roamcast.toml import Lines


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    size: int = 0


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    one: Inner | None = None
    many: list[Inner] = []


def outer(content: dict[str, Any]) -> Outer:
    return toml.convert(content, Outer)


def test_load_returns_the_result_for_the_content_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('name = "a"\n[[many]]\nsize = 3\n')
    assert toml.load(tmp_path / "x.toml", "thing", outer) == Outer("a", many=[Inner(3)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "a"\n[one', "x:2: expected ']' at the end of a table declaration"),
        ("name = a\n\n", "x:1: no value; texts stand in quotes"),
        ('name = "a\n', "x:1: a text that begins here has no quote at its end"),
        ("", "x:1: name: is missing"),
        ("name = 1", "x:1: name: must be a text, not a whole number"),
        ('name = "a"\nnme = 1', "x:2: unknown field 'nme'; did you mean 'name'?"),
        ('name = "a"\n[one]\nsiz = 1', "x:3: unknown field 'siz'; did you mean 'size'?"),
        ('name = "a"\n[[many]]\nsize = 1\n[[many]]\nsize = "b"', "x:5: many.size: must be a whole number, not a text"),
        ('name = "a"\n[[many]]\nsize = 1\n[[many]]\nsizes = 1', "x:5: unknown field 'sizes'; did you mean 'size'?"),
        ('name = "a"\none = {\n  sizes = 2 }', "x:"),
    ],
)
def test_an_error_names_the_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        toml.parse(text, "x", outer)
    assert str(caught.value).startswith(message)


def test_a_file_that_cannot_be_read_gives_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot read the thing .*none.toml: no such file or directory$"):
        toml.load(tmp_path / "none.toml", "thing", outer)


def test_a_later_error_gets_its_line_too() -> None:
    def refuse(content: dict[str, Any]) -> None:
        raise Misplaced("too large", "one", "a.b")

    with pytest.raises(InputError, match=r"^x:4: too large$"):
        toml.parse('name = "a"\n[one]\nsize = 1\n"a.b" = 5\n', "x", refuse)


def test_the_field_that_a_message_names_first_is_found() -> None:
    assert toml.named(["nodes", "subscribers"], "subscribers (9) must not be above nodes (5)") == "subscribers"
    assert toml.named(["range", "range_m"], "range_m=0: must be above 0") == "range_m"
    assert toml.named(["mac", "mac.slots"], "mac.slots=0: must be above 0") == "mac.slots"
    assert toml.named(["a"], "something else") == ""


def test_an_entry_without_its_own_line_has_that_of_its_table() -> None:
    lines = Lines("a = 1\n[t]\nb = 2\n[t.u]\nc = 3\n")
    assert [lines.of(path) for path in [("a",), ("t", "b"), ("t", "x"), ("t", "u", "c"), ("z",)]] == [1, 3, 2, 5, 1]
