from __future__ import annotations

import pytest

from roamcast.cli.options import typed_value
from tests.cli.conftest import OneLine


@pytest.mark.parametrize(
    ("text", "meant"),
    [("1", 1), ("-2.5", -2.5), ("true", True), ("false", False), ("lab", "lab"), ('"1"', "1"), ('"', '"')],
)
def test_values_are_what_they_read_like(text: str, meant: object) -> None:
    assert typed_value(text) == meant
    assert type(typed_value(text)) is type(meant)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["publish", "news"], "no node runs on the state state"),
        (["publish", "news", "x"], "attribute 'x': must be KEY=VALUE"),
    ],
)
def test_wrong_input_is_one_line(one_line: OneLine, words: list[str], message: str) -> None:
    one_line(words, message)
