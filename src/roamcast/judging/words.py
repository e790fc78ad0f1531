"""Checks in words: the questions that scorecards show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BETWEEN = {
    "order": "above that of",
    "equal": "minus that of",
    "ratio": "over that of",
    "steeper": "changes more than",
    "cheaper": "below that of",
}
"""How the two sides of a comparison are joined."""


def question(spec: Mapping[str, Any]) -> str:
    """A check as a line of text."""
    if "asks" in spec:
        return str(spec["asks"])
    metric = spec.get("metric", "")
    kind = spec["kind"]
    if kind in BETWEEN:
        a, b = (spec["above"], spec["below"]) if kind == "order" else (spec["of"], spec["to"])
        return f"{metric} of {described(a)} {BETWEEN[kind]} {described(b)}"
    if kind == "like":
        return f"{metric} of {described(spec['where'])} follows {spec['x']} like a {spec['like']}"
    if kind == "trend":
        return f"{metric} of {described(spec['where'])} {spec['direction']} with {spec['x']}"
    if kind == "spread":
        of = spec.get("each", "seed")
        of = f"each {of} with one {spec['by']}" if "by" in spec else f"{spec['block']} seeds"
        return f"{metric} of {described(spec['where'])}: best less worst of {of}"
    return f"{metric} of {described(spec.get('where', {}))}"


def described(where: Mapping[str, Any]) -> str:
    """The runs that a check uses: `gossip, p=0.5 or 0.7`."""

    def text(value: Any) -> str:
        return " or ".join(map(str, value)) if isinstance(value, list) else str(value)

    parts = (text(v) if k in ("label", "protocol") else f"{k}={text(v)}" for k, v in where.items())
    return ", ".join(parts) or "all runs"
