"""The pages of findings, for the report."""

from __future__ import annotations

import re
from importlib.resources import files

from markdown_it import MarkdownIt
from markdown_it.token import Token

from roamcast.papers.experiments import PAPERS
from roamcast.show.markup import Html, trusted


def findings() -> dict[str, Html]:
    """By paper: the pages of findings (docs/explanation/findings/, which the package carries)."""
    place = files("roamcast.papers").joinpath("findings")
    pages = {paper: place.joinpath(f"{paper}.md") for paper in PAPERS}
    return {paper: body(page.read_text(encoding="utf-8")) for paper, page in pages.items() if page.is_file()}


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
