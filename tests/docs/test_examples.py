"""Every example in the documentation does what the page says."""

from __future__ import annotations

import re
import sys
from importlib import invalidate_caches
from pathlib import Path

import pytest

from tests.docs.pages import FENCE, ROOT, UPDATE, examples, pages, play, same

PUBLIC = {"roamcast", "roamcast.lab.traces", "roamcast.parts", "roamcast.testing"}
WITH_EXAMPLES = [page for page in pages() if FENCE.search(page.read_text())]


PLAYED = [page for page in WITH_EXAMPLES if page.name != "gallery.md"]
"""test_gallery.py plays that one, and looks at its pictures."""


@pytest.mark.parametrize("page", PLAYED, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_do_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # which a page may change
    invalidate_caches()
    real = play(page, tmp_path)
    if UPDATE:
        page.write_text(real)
    assert real == page.read_text()


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples_use_only_public_names(page: Path) -> None:
    code = "\n".join(block for language, block in FENCE.findall(page.read_text()) if language == "python")
    imported = re.findall(r"^\s*(?:from|import) (roamcast[\w.]*)", code, re.MULTILINE)
    assert set(imported) <= PUBLIC


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_make_targets_that_pages_name_exist(page: Path) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^\$ |`)make (\w+)", page.read_text(), re.MULTILINE)) <= targets


@pytest.mark.parametrize(
    ("shown", "real", "fits"),
    [
        ("a  b\n", "a b\n", True),
        ("a b\n", "a c\n", False),
        ("a\n", "a\nb\n", False),
        ("a\n…\n", "a\nb\nc\n", True),
        ("…\nc\n", "a\nb\nc\n", True),
        ("a … c\n", "a 17 c\n", True),
        ("a … c\n", "a 17 d\n", False),
        ("9 s simulated in 0.10 s\n", "9 s simulated in 3.21 s\n", True),
        ("a+b\n", "aab\n", False),
        ("", "", True),
        ("", "a\n", False),
    ],
)
def test_outputs_are_compared_loosely_but_compared(shown: str, real: str, fits: bool) -> None:
    assert same(shown, real) is fits


def test_commands_and_outputs_are_separated() -> None:
    both = examples("$ one\nx\ny\n$ two\n")
    assert [(e.command, e.shown) for e in both] == [("one", "x\ny\n"), ("two", "")]
