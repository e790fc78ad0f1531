"""XML as a stream: elements as they begin and end, with their lines. Memory holds one piece of the file."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final
from xml.parsers import expat

from roamcast.world.traces.files import CUT, opened

CHUNK_BYTES: Final = 1 << 18
BROKEN: Final = "!"
"""In place of an element's name: the file is not well-formed from here on, and `attributes` says why."""

Element = tuple[int, str, dict[str, str], str]
"""Line, name (`/name` at its end), attributes, text."""


class _Listener:
    def __init__(self, wanted: frozenset[str]) -> None:
        self.wanted = wanted
        self.elements: list[Element] = []
        self.text: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.text.append

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.text.clear()
        name = name.rpartition(":")[2]
        if name in self.wanted:
            self.elements.append((self.parser.CurrentLineNumber, name, attributes, ""))

    def end(self, name: str) -> None:
        name = "/" + name.rpartition(":")[2]
        if name in self.wanted:
            self.elements.append((self.parser.CurrentLineNumber, name, {}, "".join(self.text).strip()))
        self.text.clear()


def elements(path: str, wanted: frozenset[str]) -> Iterator[Element]:
    """The elements in `wanted` (`name` for beginnings, `/name` for ends)."""
    listener = _Listener(wanted)
    broken = ""
    with opened(path) as file:
        while not broken:
            try:
                chunk = file.read(CHUNK_BYTES)
                listener.parser.Parse(chunk, not chunk)
            except expat.ExpatError as error:
                broken = f"not well-formed ({expat.ErrorString(error.code)})"
            except (EOFError, zlib.error, OSError):
                broken = CUT
            yield from listener.elements
            listener.elements.clear()
            if not broken and not chunk:
                return
    yield listener.parser.CurrentLineNumber, BROKEN, {}, broken
