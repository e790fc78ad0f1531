"""The notebooks run from top to bottom, and show what they show here.

Texts are compared; figures only have to be there. With UPDATE_DOCS=1 outputs are written anew where texts differ.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.docs.pages import ROOT, UPDATE
from tests.docs.test_examples import PUBLIC

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))


def test_there_are_three() -> None:
    assert NOTEBOOKS == ["campaign-tables.ipynb", "first-look.ipynb", "your-own-protocol.ipynb"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_shows_what_it_shows_here(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}")  # for what it types in a terminal
    monkeypatch.setenv("COLUMNS", "80")
    written = nbformat.read(FOLDER / name, as_version=4)
    done = nbformat.read(FOLDER / name, as_version=4)
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(done, timeout=300, resources=place, record_timing=False).execute()
    if UPDATE and shown(done) != shown(written):
        nbformat.write(done, FOLDER / name)
        written = done
    assert shown(done) == shown(written)


def shown(notebook: Any) -> list[str]:
    """The text of every cell's outputs; a figure counts as such."""
    return ["".join(text(output) for output in cell.get("outputs", [])) for cell in notebook.cells]


def text(output: Any) -> str:
    assert output["output_type"] != "error", output
    if output["output_type"] == "stream":
        return timeless(output["text"])
    data = output["data"]
    return "a figure" if "image/png" in data else timeless(data["text/plain"])


def timeless(text: str) -> str:
    return re.sub(r"very roughly .*", "*", text)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_has_outputs_and_imports_only_public_names(name: str) -> None:
    notebook = nbformat.read(FOLDER / name, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert sum(bool(cell.outputs) for cell in code) >= len(code) / 2
    for cell in code:
        plain = "\n".join(line for line in cell.source.splitlines() if not line.startswith(("!", "%")))
        for node in ast.walk(ast.parse(plain)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("roamcast"):
                assert node.module in PUBLIC
