"""Numbers and findings for people."""

from __future__ import annotations

import re
from importlib.resources import files
from math import floor, isfinite, log10

from markdown_it import MarkdownIt
from markdown_it.token import Token

from roamcast.papers.experiments import PAPERS
from roamcast.show.markup import Html, trusted

NOTHING = "–"


def number(value: float | None, digits: int = 3) -> str:
    """With so many significant digits as it takes to compare it, and thin spaces between thousands."""
    if value is None or not isfinite(value):
        return NOTHING
    return _written(value, _decimals(value, digits))


def spread(mean: float | None, half: float | None, factor: float = 1.0) -> str:
    """mean ± half, both with the decimals that the half width warrants."""
    if mean is None or not isfinite(mean):
        return NOTHING
    if half is None:
        return number(mean * factor)
    decimals = _decimals(half * factor, 2) if half else _decimals(mean * factor, 3)
    return f"{_written(mean * factor, decimals)} ± {_written(half * factor, decimals)}"


def _decimals(value: float, digits: int) -> int:
    """How many it takes for so many significant digits."""
    return min(6, max(0, digits - 1 - floor(log10(abs(value))))) if value else 0


def _written(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace(",", "\u202f").replace("-", "\u2212")


def interval(measured: float | None, low: float | None, high: float | None) -> str:
    if measured is None:
        return NOTHING
    if low is None or high is None or low == high:
        return number(measured)
    return f"{number(measured)} ({number(low)} … {number(high)})"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def several(n: int, what: str, more: str = "") -> str:
    return f"{n:,}".replace(",", "\u202f") + f" {what if n == 1 else more or what + 's'}"


# ---- findings


def findings() -> dict[str, Html]:
    """By paper: the pages of findings (docs/explanation/findings/, which the package carries)."""
    place = files("roamcast.papers").joinpath("findings")
    pages = {number: place.joinpath(f"{folder}.md") for number, folder in PAPERS.items()}
    return {number: body(page.read_text(encoding="utf-8")) for number, page in pages.items() if page.is_file()}


def body(page: str) -> Html:
    """Of a page of findings: without its title, and without the scorecard, which the report has at length."""
    page = re.sub(r"<!-- scorecard -->.*?(<!-- /scorecard -->|\Z)", "", page, flags=re.DOTALL)
    return markdown(re.sub(r"\A# .*\n", "", page))


def markdown(text: str) -> Html:
    """Headings two levels lower, tables that scroll; no raw HTML, no images, no links that lead into other files."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
        elif token.type == "th_open":
            token.attrSet("scope", "col")
        elif token.type == "inline" and token.children:
            token.children = _without_local_links(token.children)
    html = parser.renderer.render(tokens, parser.options, {})
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    return trusted(html)


def _without_local_links(children: list[Token]) -> list[Token]:
    kept: list[Token] = []
    dropped: list[bool] = []
    for child in children:
        if child.type == "link_open":
            dropped.append(not str(child.attrGet("href") or "").startswith(("https://", "http://")))
            if dropped[-1]:
                continue
        elif child.type == "link_close" and dropped.pop():
            continue
        kept.append(child)
    return kept
