"""HTML that cannot be injected into: text is escaped unless it is `Html`, and only `tag` and `trusted` make that."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Union

VOID = ("br", "hr", "input", "meta", "col")


class Html(str):
    """Markup, as opposed to text."""

    __slots__ = ()


Child = Union[str, None, Iterable["Child"]]  # noqa: UP007 (it names itself)
"""Text, markup, nothing, or several of them."""


def tag(name: str, /, *children: Child, **attributes: str | int | bool | None) -> Html:
    """An element. `class_` and `for_` lose the underscore; `aria_label` is aria-label. None and False leave out."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{escape(str(value))}"')
    opening = f"<{' '.join(words)}>"
    return Html(opening if name in VOID else f"{opening}{joined(*children)}</{name}>")


def joined(*children: Child) -> Html:
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(escape(child))
        else:
            parts.append(joined(*child))
    return Html("".join(parts))


def trusted(markup: str) -> Html:
    """HTML that was made here: a drawing, rendered Markdown, the page's own style. Never text that a person typed."""
    return Html(markup)
