"""Rules about the sources as texts: how long files and functions are, and which words are names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

PACKAGE = ROOT / "src" / "roamcast"
LONGEST_FILE, LONGEST_FUNCTION = 500, 50
SOURCES = sorted(path for folder in ("src", "tests", "bench", "tools") for path in (ROOT / folder).rglob("*.py"))
TEXTS = {path: path.read_text(encoding="utf-8") for path in SOURCES}
AVOIDED = {"told", "said", "found"}
"""Words that say where a value came from, not what it is (docs/reference/glossary.md)."""
NUMBERED = re.compile(r"(?<![\w.,:#])00[0-4](?![\w.,])")
"""Numbers by which papers were once called."""
MOVES = re.compile(r"\.(?:rename|replace)\((?:target|path|self\.\w+|\w*place)\)|os\.(?:replace|rename)\(")


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(text) for path, text in TEXTS.items()}


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def data_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg


def test_no_file_is_too_long() -> None:
    assert [path for path, text in TEXTS.items() if len(text.splitlines()) > LONGEST_FILE] == []


def test_no_function_is_too_long(trees: dict[Path, ast.Module]) -> None:
    lengths = [(path, name, length) for path, tree in trees.items() for name, length in functions(tree)]
    assert [function for function in lengths if function[2] > LONGEST_FUNCTION] == []


def test_names_say_what_a_value_is(trees: dict[Path, ast.Module]) -> None:
    names = [(path, name) for path, tree in trees.items() for name in data_names(tree)]
    assert [(path, name) for path, name in names if AVOIDED & set(name.lower().split("_"))] == []


def test_papers_are_called_by_their_authors() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "src" / "roamcast" / "papers").rglob("*.toml"),
    ]
    assert len(pages) > 50
    assert [path for path in pages if NUMBERED.search(path.read_text(encoding="utf-8"))] == []


def test_only_one_module_replaces_files() -> None:
    """`files.py` writes beside and renames."""
    assert {path.name for path in SOURCES if "src" in path.parts and MOVES.search(TEXTS[path])} == {"files.py"}
