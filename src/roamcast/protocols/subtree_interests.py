"""What a broker of the subscription tree and its tree neighbours want, and what of it is worth telling on.

Every filter is here once, whoever wants it. A tree neighbour is told what somebody else wants, but what is covered by
another filter that somebody else wants (Baldoni §II, note 1). Finding what covers what takes a pass over all filters,
so it is done once for each filter, and a filter that nobody wants any more is kept for a while in case it comes back.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.interface import NOBODY
from roamcast.pubsub.covering import covers
from roamcast.pubsub.filters import Expression, Filter

OWN: Final = NOBODY
"""Who wants it, where it is the application on this node."""

IDLE_BEATS: Final = 10
"""Ours: heartbeats for which a filter that nobody wants is kept, with what covers it, in case it comes back."""


@final
class Interest:
    """A filter, which tree neighbours want it (OWN for this node), and which other interests cover it."""

    __slots__ = ("coverers", "filter", "idle", "key", "sources")

    def __init__(self, key: str, filter: Filter) -> None:
        self.key = key
        self.filter = filter
        self.sources: dict[int, int] = {}  # how often each wants it
        self.coverers: list[Interest] = []
        self.idle = 0

    def is_wanted_beyond(self, peer: int) -> bool:
        """Whether somebody else than this tree neighbour wants it."""
        return len(self.sources) > (1 if peer in self.sources else 0)

    def unwant(self, source: int) -> None:
        """Somebody who wants it wants it once less."""
        left = self.sources.get(source, 0) - 1
        if left > 0:
            self.sources[source] = left
        else:
            self.sources.pop(source, None)


@final
class Interests:
    """All interests of a broker and its tree neighbours, by their keys."""

    def __init__(self) -> None:
        self.rows: dict[str, Interest] = {}

    def want(self, filter: Filter, source: int) -> Interest:
        key = key_of(filter)
        interest = self.rows.get(key)
        if interest is None:
            interest = Interest(key, filter)
            for other in self.rows.values():
                if covers(other.filter, filter):
                    interest.coverers.append(other)
                if covers(filter, other.filter):
                    other.coverers.append(interest)
            self.rows[key] = interest
        interest.idle = 0
        interest.sources[source] = interest.sources.get(source, 0) + 1
        return interest

    def unwant(self, filter: Filter, source: int) -> None:
        self.rows[key_of(filter)].unwant(source)

    def forget_the_idle(self) -> None:
        """Interests that nobody has had for a while go, and with them what they covered."""
        gone: dict[str, None] = {}
        for interest in self.rows.values():
            interest.idle = 0 if interest.sources else interest.idle + 1
            if interest.idle > IDLE_BEATS:
                gone[interest.key] = None
        if not gone:
            return
        for key in gone:
            del self.rows[key]
        for interest in self.rows.values():
            interest.coverers = [other for other in interest.coverers if other.key not in gone]

    def wanted_from(self, peer: int) -> dict[str, Interest]:
        """What to tell a tree neighbour: what others want, but what others want as part of something larger."""
        result: dict[str, Interest] = {}
        for interest in self.rows.values():
            if interest.is_wanted_beyond(peer) and not self.is_covered(interest, peer):
                result[interest.key] = interest
        return result

    def is_covered(self, interest: Interest, peer: int) -> bool:
        """Of two filters that cover each other, the one with the lower key is told."""
        for other in interest.coverers:
            if other.is_wanted_beyond(peer) and (interest not in other.coverers or other.key < interest.key):
                return True
        return False


def key_of(filter: Filter) -> str:
    """Equal filters have equal keys; its length is also taken for the size of a filter in a table."""
    return filter.text if isinstance(filter, Expression) else repr(filter.fields())
