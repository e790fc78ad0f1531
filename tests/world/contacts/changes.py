"""Changes of contacts, recorded; the hearers of each node."""

from __future__ import annotations

from roamcast.world.contacts.neighbourhood import LinkObserver, Neighbourhood


class Recorder(LinkObserver):
    def __init__(self) -> None:
        self.changes: list[tuple[float, int, int, bool]] = []

    def link(self, t: float, i: int, j: int, up: bool) -> None:
        self.changes.append((t, i, j, up))


def rows(k: Neighbourhood) -> list[list[int]]:
    return [list(row) for row in k.hearers]
