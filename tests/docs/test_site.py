"""The documentation as a site: every page is reached, nothing is fetched, and search works from disk."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.show.browser import Browser, started

PAGES = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`mkdocs.yml` is strict: a link that leads nowhere fails the build."""
    place = tmp_path_factory.mktemp("site")
    words = [str(ROOT / ".venv" / "bin" / "mkdocs"), "build", "--quiet", "--site-dir", str(place)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return place


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_page_is_in_the_menu(page: Path, site: Path) -> None:
    name = page.relative_to(ROOT / "docs").with_suffix(".html")
    assert (site / name).is_file()
    assert f'href="{name}"' in (site / "index.html").read_text()


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"<(?:script|img|link)[^>]+(?:src|href)=\"?(https?:|//)[^>]*>")
    assert [path.name for path in site.rglob("*.html") if loaded.search(path.read_text())] == []


def test_sources_are_named_without_a_link(site: Path) -> None:
    page = (site / "reference" / "protocols.html").read_text()
    assert "roamcast/protocols/gossip.py" in page and 'href="../../src' not in page


def test_a_notebook_is_a_page_with_its_figures(site: Path) -> None:
    page = (site / "notebooks" / "first-look.html").read_text()
    assert page.count("data:image/png;base64,") == 2 and "gossip on baldoni, seed 1" in page and "<svg" in page


def test_a_browser_reads_it_from_disk_and_searches(site: Path, browser: Browser) -> None:
    browser.open(site / "index.html")
    assert browser.run("return document.querySelector('h1').textContent.includes('roamcast')")
    browser.run(
        "document.querySelector('[data-md-toggle=search]').click();"
        "const box = document.querySelector('[data-md-component=search-query]');"
        "box.focus(); box.value = 'jitter'; box.dispatchEvent(new Event('input', {bubbles: true}));"
        "box.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}))"
    )
    hits = "return document.querySelectorAll('.md-search-result__item').length"
    for _ in range(100):
        if browser.run(hits):
            break
        browser.run("return new Promise(done => setTimeout(done, 50))")
    assert browser.run(hits) > 0
    assert [address for address in browser.requests() if address.startswith(("http", "ws"))] == []
