"""How the papers are read: the documentation of each protocol's module, and the readings numbered there.

It is read from the source files: compiled modules do not keep their documentation.
"""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roamcast.protocols.kit.interface import Protocol

SYSTEMS = {
    "baldoni": ("proximity",),
    "baehni": ("frugal", "flooding-periodic", "flooding-interest", "flooding-neighbors"),
    "costa": ("semiprob", "semiprob-links"),
    "rezende": ("psamanet",),
    "li": ("treegroup", "subtree"),
}
"""The protocols that each paper describes, its own first."""

IDEAS = {
    "baldoni": "Nothing is kept up except beacons: nodes that met a subscriber lately forward first, and others hear "
    "that and stay silent.",
    "baehni": "Events wait for whoever drives by: heartbeats say which node wants what, and a back-off and a table of "
    "ids keep copies rare.",
    "costa": "A little knowledge around each subscriber, and chance where there is none.",
    "rezende": "People carry publications, and pass them on where subscriptions are.",
    "li": "Groups that agree on interests, trees inside them, and gateways between them.",
}
"""What each paper contributes, in a sentence."""


def headline(protocol: type[Protocol]) -> str:
    """The first sentence of the class's documentation, or else of its module's."""
    of_class, of_module = _texts(protocol)
    paragraph = " ".join((of_class or of_module).partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s+(?=[A-Z])", paragraph, maxsplit=1)[0]


def readings(protocol: type[Protocol]) -> str:
    """How the paper is read where it leaves a choice: the numbered part of the module's documentation."""
    lines = _texts(protocol)[1].splitlines()
    numbered = [k for k, line in enumerate(lines) if re.match(r"\s+R\d+\s", line)]
    return "\n".join(lines[numbered[0] :]).rstrip() if numbered else ""


def numbered(protocol: type[Protocol]) -> list[tuple[str, str]]:
    """The readings one by one: (R1, its text)."""
    parts = re.split(r"^\s+(R\d+[a-z]?)\s+", readings(protocol), flags=re.MULTILINE)[1:]
    return [(name, " ".join(text.split())) for name, text in zip(parts[::2], parts[1::2], strict=True)]


def _texts(protocol: type[Protocol]) -> tuple[str, str]:
    """The documentation of the class and of its module."""
    spec = find_spec(protocol.__module__)
    name = protocol.__module__.rpartition(".")[2]
    source = Path(spec.origin).parent / f"{name}.py" if spec and spec.origin else Path()
    if not source.is_file():
        return "", ""
    module = ast.parse(source.read_text(encoding="utf-8"))
    own = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == protocol.__name__]
    return (ast.get_docstring(own[0]) if own else None) or "", ast.get_docstring(module) or ""
