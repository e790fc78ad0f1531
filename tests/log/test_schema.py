"""The log's schema: what other programs may rely on."""

from __future__ import annotations

import ast
from pathlib import Path

import pyarrow as pa
import pytest

import roamcast.log.schema as schema
from roamcast.errors import InputError


def test_columns_and_types_are_these_and_in_this_order() -> None:
    text = pa.dictionary(pa.int32(), pa.string())
    assert [(field.name, field.type) for field in schema.arrow_schema()] == [
        ("run", pa.string()),
        ("t", pa.int64()),
        ("node", pa.int32()),
        ("kind", text),
        ("event", pa.int64()),
        ("frame", pa.int64()),
        ("peer", pa.int32()),
        ("bytes", pa.int32()),
        ("value", pa.int64()),
        ("reason", text),
    ]


def test_version_is_in_the_metadata() -> None:
    assert schema.arrow_schema().metadata == {b"roamcast.schema": b"3"}


def test_each_constant_is_the_code_of_the_kind_it_is_named_after() -> None:
    for code, name in enumerate(schema.KINDS):
        assert getattr(schema, name.upper()) == code
        assert schema.kind_code(name) == code


def test_the_docstring_describes_every_column_and_every_kind() -> None:
    source = Path(schema.__file__).with_name("schema.py")  # a compiled module has no docstring
    text = ast.get_docstring(ast.parse(source.read_text())) or ""
    words = text.replace(",", " ").split()
    assert all(name in words for name in (*schema.KINDS, *schema.arrow_schema().names))
    assert all(f"`{loss}`" in text for loss in (*schema.LOSSES, *schema.OVERHEARD))


def names_at(level: str) -> set[str]:
    return {schema.KINDS[code] for code in schema.kinds_at(level)}


def test_a_level_has_the_kinds_of_the_level_below_and_more() -> None:
    assert names_at("summary") == set()
    deliveries = {"publish", "subscribe", "unsubscribe", "deliver", "sleep", "wake", "crash", "recover", "state"}
    assert names_at("deliveries") == deliveries
    frames = {"send", "repeat", "acknowledge", "receive", "overhear", "lose"}
    decisions = {"forward", "suppress", "drop", "delay", "note"}
    assert names_at("frames") == deliveries | frames | decisions
    assert names_at("full") == set(schema.KINDS)


def test_a_misspelt_level_or_kind_is_an_input_error_with_a_hint() -> None:
    with pytest.raises(InputError, match="did you mean 'frames'"):
        schema.kinds_at("frame")
    with pytest.raises(InputError, match="did you mean 'deliver'"):
        schema.kind_code("delivery")
