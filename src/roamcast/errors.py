"""Everything roamcast raises on purpose.

RoamcastError
├── InputError          what a person typed or wrote in a file is wrong: one clear line, exit status 2
│   ├── FilterError     a filter's text, with the position of the offending character
│   └── MapError        a street map that cannot be driven on
├── Malformed           bytes from the air that are no frame: counted and dropped, never shown to a protocol
├── StoreError          the disk of a real node failed: nothing that was asked for happened
└── NodeClosed          a real node is not running, or not any more
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class RoamcastError(Exception):
    """Base of all errors that roamcast raises on purpose."""


class InputError(RoamcastError):
    """Wrong input. The message is one line that names the field and says what would be right."""


class FilterError(InputError):
    """A filter's text does not parse. `position` counts characters from 0."""

    def __init__(self, message: str, text: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.position = position

    def __str__(self) -> str:
        return f"{self.message} at character {self.position + 1} of {self.text!r}"


class MapError(InputError):
    """A street map that cannot be driven on."""


class Malformed(RoamcastError):
    """Bytes or fields that are no frame."""


class StoreError(RoamcastError):
    """The disk failed: nothing that was asked for happened."""


class NodeClosed(RoamcastError):
    """The node is not running, or not any more."""


def unknown(what: str, name: str, known: Iterable[str]) -> InputError:
    """`unknown protocol 'gosip'; did you mean 'gossip'?`"""
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(names)
    return InputError(f"unknown {what} {name!r}; {hint}")
