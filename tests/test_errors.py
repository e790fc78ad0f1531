"""Errors: all of them in one tree, and their texts for people."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import roamcast
from roamcast.errors import error_text, meant, one_line

PACKAGE = Path(roamcast.__file__).parent
ERRORS = PACKAGE / "errors.py"


def test_the_text_of_a_system_error_has_no_number_and_no_path(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught:
        (tmp_path / "none").read_text()
    assert error_text(caught.value) == "no such file or directory"


def test_bytes_that_are_not_text_get_a_clear_message(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"\xff\xfe")
    with pytest.raises(UnicodeDecodeError) as caught:
        (tmp_path / "image").read_text(encoding="utf-8")
    assert error_text(caught.value) == "not text in UTF-8"


def test_other_messages_become_one_line() -> None:
    assert error_text(OSError("page 3\n  is damaged")) == "page 3 is damaged"
    assert one_line(ValueError(" two\n lines")) == "two lines"


def classes(path: Path) -> dict[str, list[str]]:
    """The exceptions that a module defines, with their bases."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
    known = {node.name: [ast.unparse(base) for base in node.bases] for node in nodes}
    return {name: bases for name, bases in known.items() if any(re.search("Error|Exception", base) for base in bases)}


def test_all_errors_are_in_one_file() -> None:
    elsewhere = {name for path in PACKAGE.rglob("*.py") if path != ERRORS for name in classes(path)}
    assert elsewhere == {"Refused"}, "which never leaves net"


def test_the_tree_of_errors_names_all_of_them() -> None:
    text = ast.get_docstring(ast.parse(ERRORS.read_text())) or ""
    drawn = re.findall(r"^(│?)[ ]*[├└]── (\w+) +\S", text, re.MULTILINE)
    below = {name: ["InputError" if line else "RoamcastError"] for line, name in drawn}
    assert below | {"RoamcastError": ["Exception"]} == classes(ERRORS)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("gosip", "did you mean 'gossip'?"),
        ("speed", "did you mean 'speed_law' or 'speed_max_mps'?"),
        ("credits", "known: gossip, retries, speed_law, speed_max_mps"),  # too far from `retries` to be it
        ("go", "known: gossip, retries, speed_law, speed_max_mps"),
    ],
)
def test_what_was_meant_is_a_near_name_or_those_that_begin_so(typed: str, answer: str) -> None:
    assert meant(typed, ["gossip", "speed_max_mps", "speed_law", "retries"]) == answer
