"""What runs in the same world share. A campaign has many of them: other protocols, other parameters.

What was possible (possible.py) depends on nodes and contacts, on the publications, and on the faults, and not on what a
protocol made of them. So a process that does several runs in one world computes it once. Publications and faults are
those that happened: a node that sends fails a little later, a publication waits where the channel is busy.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Final

import msgspec

Publications = list[tuple[int, int, int, list[int]]]
Switches = list[tuple[int, int, bool]]

MOST: Final = 20_000
"""Numbers that are kept, the latest ones; they take 4 MB."""


class Shared:
    """What was possible, by a digest of all that decides it."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.possible: dict[bytes, int] = {}

    def of(self, name: str) -> SharedWorld:
        """The world of this name, which is another one wherever nodes are others or meet at other times."""
        return SharedWorld(name, self)


class SharedWorld:
    """A world with a name; one without a name shares nothing."""

    def __init__(self, name: str = "", shared: Shared | None = None) -> None:
        self.name = name
        self.shared = shared

    def possible(self, publications: Publications, switches: Switches, count: Callable[[], int]) -> int:
        """What was possible with these publications and faults: as it is known, or by counting."""
        if self.shared is None or not self.name:
            return count()
        known = self.shared.possible
        decides = blake2b(msgspec.json.encode([self.name, switches]), digest_size=16)
        for publication in publications:  # one by one: all interested nodes of all events may be many
            decides.update(msgspec.json.encode(publication))
        key = decides.digest()
        if key not in known:
            if len(known) >= self.shared.most:
                del known[next(iter(known))]
            known[key] = count()
        return known[key]
