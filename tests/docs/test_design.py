"""The page about the design: the functions that it names exist, and lead from one to the next."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.checkout import ROOT

PAGE = ROOT / "docs" / "explanation" / "design.md"
SOURCE = ROOT / "src" / "roamcast"
CALLED_BY_PYTHON = {"Subscription.__anext__"}


class Step(NamedTuple):
    function: str
    file: Path

    @property
    def own_name(self) -> str:
        return self.function.rpartition(".")[2]


def paths() -> list[list[Step]]:
    section = PAGE.read_text().partition("## The path of one event\n")[2].partition("\n## ")[0]
    tables = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    return [
        [
            Step(function, SOURCE / file)
            for function, file in re.findall(r"\| `([\w.]+)` \| `([\w/.]+)` \|$", table, re.M)
        ]
        for table in tables
    ]


def functions(file: Path) -> set[str]:
    names = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{member.name}" for member in node.body if hasattr(member, "name")}
        elif hasattr(node, "name"):
            names.add(node.name)
    return names


def mentioned(file: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(file.read_text())))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return attributes | {node.id for node in nodes if isinstance(node, ast.Name)}


def test_both_paths_are_there() -> None:
    simulated, real = paths()
    assert (simulated[0].own_name, simulated[-1].file.parent.name) == ("reproduce", "show")
    assert (real[0].function, real[-1].function) == ("Node.publish", "Subscription.__anext__")
    assert min(len(simulated), len(real)) > 20


@pytest.mark.parametrize("path", paths(), ids=["to a claim", "to a subscriber"])
def test_every_function_of_a_path_exists(path: list[Step]) -> None:
    for step in path:
        assert step.function in functions(step.file), step


@pytest.mark.parametrize("path", paths(), ids=["to a claim", "to a subscriber"])
def test_a_function_is_used_in_a_file_that_comes_before_it(path: list[Step]) -> None:
    for k, step in enumerate(path[1:], 1):
        if step.function not in CALLED_BY_PYTHON:
            assert any(step.own_name in mentioned(earlier.file) for earlier in path[:k]), step
