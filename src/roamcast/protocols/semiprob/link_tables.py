"""Subscription tables of neighbours: the pages they are told on, and the frames. `links.py` uses them.

What a node has to tell is the same for all neighbours, but that nobody is told what came from nobody but itself. So a
row names the one link it came by, if there is only one; that neighbour passes over it, and a broadcast serves all.

Rows lie on pages that a frame can carry. A row stays on its page for as long as it is told, and a new one goes to the
first page with room, so a change costs the frame of one page. Pages are sent whole and have versions: a repeated or an
overtaken frame does no harm. Beacons list the versions of all pages. Who lacks one says so in its own beacon.

A table has a size (`TABLE_BYTES`); what is farthest away is left out of it.
"""

from __future__ import annotations

from typing import Any, Final, final

from roamcast.errors import Malformed
from roamcast.protocols.kit.frames import TTL_MAX
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.wire import as_int, as_list, counted, measure, uint_size
from roamcast.pubsub.event import FOREVER, Event, event_from_fields
from roamcast.pubsub.filters import Filter, filter_from_fields

NODE_MAX: Final = (1 << 31) - 1
NUMBER_MAX: Final = (1 << 32) - 1
HORIZON_MAX: Final = 255
HEARD_MAX: Final = 256

PAGE_BYTES: Final = 256
"""Ours: rows on a page, but a longer row has a page of its own."""
TABLE_BYTES: Final = 8192
"""Ours: rows that are told in all."""
PAGES_MAX: Final = 128
"""Ours: twice what a table needs, because pages have gaps where rows were taken back."""
WANTED_MAX: Final = 32
"""Ours: pages that a beacon asks for at most; the next one asks for the rest."""
ROWS_MAX: Final = PAGE_BYTES

ANY_LINK: Final = -1

Row = tuple[int, Filter]  # (hops to the subscriber, what it wants)
TableRow = tuple[int, int, Filter]  # … with the only link that it came by, or ANY_LINK, in between


def row_size(row: Row) -> int:
    """Bytes of a row on the air at most, whatever link it came by."""
    return 1 + uint_size(row[0]) + 5 + measure(row[1].fields()) - 1


# ------------------------------------------------------------------------------------------------------- what is told


@final
class Page:
    """Rows, each with the only link it came by (or ANY_LINK)."""

    __slots__ = ("rows", "size", "version")

    def __init__(self) -> None:
        self.rows: dict[Row, int] = {}
        self.size = 0
        self.version = 0

    def listed(self) -> list[TableRow]:
        return [(distance, link, filter) for (distance, filter), link in self.rows.items()]


@final
class Told:
    """What a node tells its neighbours. `tell` and `drop` say what changes, `settle` which pages that has changed."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self.where: dict[Row, int] = {}
        self.sizes: dict[Row, int] = {}  # of the rows on pages
        self.size = 0
        self.waiting: dict[Row, int] = {}  # rows that are on no page yet, or for which there is no room
        self.changed: dict[int, None] = {}

    def versions(self) -> list[int]:
        return [page.version for page in self.pages]

    def tell(self, row: Row, link: int) -> None:
        at = self.where.get(row, -1)
        if at < 0:
            self.waiting[row] = link
        elif self.pages[at].rows[row] != link:
            self.pages[at].rows[row] = link
            self.changed[at] = None

    def drop(self, row: Row) -> None:
        if row in self.where:
            self.strike(row)
        elif row in self.waiting:
            del self.waiting[row]

    def settle(self) -> list[int]:
        for row in sorted(self.waiting, key=_distance):
            size = row_size(row)
            if self.make_room(row[0], size):
                self.place(row, self.waiting.pop(row), size)
        changed, self.changed = sorted(self.changed), {}
        for at in changed:
            self.pages[at].version += 1
        return changed

    def make_room(self, distance: int, size: int) -> bool:
        """Whether there is room in the table for a row, if need be instead of some that are farther away."""
        while self.size + size > TABLE_BYTES or self.page_for(size) == PAGES_MAX:
            farthest = max(self.where, key=_distance, default=None)
            if farthest is None or farthest[0] <= distance:
                return False
            self.waiting[farthest] = self.strike(farthest)
        return True

    def page_for(self, size: int) -> int:
        """The first page with room; it may be a new one."""
        for at, page in enumerate(self.pages):
            if not page.size or page.size + size <= PAGE_BYTES:
                return at
        return len(self.pages)

    def place(self, row: Row, link: int, size: int) -> None:
        at = self.page_for(size)
        if at == len(self.pages):
            self.pages.append(Page())
        self.pages[at].rows[row] = link
        self.pages[at].size += size
        self.size += size
        self.where[row] = at
        self.sizes[row] = size
        self.changed[at] = None

    def strike(self, row: Row) -> int:
        at = self.where.pop(row)
        size = self.sizes.pop(row)
        self.pages[at].size -= size
        self.size -= size
        self.changed[at] = None
        return self.pages[at].rows.pop(row)


def _distance(row: Row) -> int:
    return row[0]


# ------------------------------------------------------------------------------------------------------------ frames


@final
class BeaconFrame(Frame):
    """I am here since boot `boot`, my pages have these versions, I hear these nodes, and lack these pages of theirs."""

    __slots__ = ("boot", "heard", "lacks", "versions")

    def __init__(self, boot: int, versions: list[int], heard: list[int], lacks: dict[int, list[int]]) -> None:
        self.boot = boot
        self.versions = versions
        self.heard = heard
        self.lacks = lacks
        super().__init__("beacon", 0, measure(self.fields()))

    def fields(self) -> list[Any]:
        return [self.boot, self.versions, self.heard, [[node, *pages] for node, pages in self.lacks.items()]]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> BeaconFrame:
        boot, versions, heard, lacks = counted(fields, 4)
        asked: dict[int, list[int]] = {}
        for entry in as_list(lacks, WANTED_MAX):
            numbers = as_list(entry, 1 + WANTED_MAX)
            if not numbers:
                raise Malformed("pages of nobody")
            asked[as_int(numbers[0], 0, NODE_MAX)] = [as_int(page, 0, PAGES_MAX - 1) for page in numbers[1:]]
        if len(asked) != len(lacks):
            raise Malformed("a node is asked twice")
        return BeaconFrame(
            as_int(boot, 1, NUMBER_MAX),
            [as_int(version, 0, NUMBER_MAX) for version in as_list(versions, PAGES_MAX)],
            [as_int(node, 0, NODE_MAX) for node in as_list(heard, HEARD_MAX)],
            asked,
        )


@final
class TableFrame(Frame):
    """A page of what the sender tells its neighbours; a higher version replaces a lower one."""

    __slots__ = ("boot", "page", "rows", "version")

    def __init__(self, boot: int, page: int, version: int, rows: list[TableRow]) -> None:
        self.boot = boot
        self.page = page
        self.version = version
        self.rows = rows
        super().__init__("subscription", 0, measure(self.fields()))

    def fields(self) -> list[Any]:
        rows = [[distance, link, filter.fields()] for distance, link, filter in self.rows]
        return [self.boot, self.page, self.version, rows]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> TableFrame:
        boot, page, version, listed = counted(fields, 4)
        rows: list[TableRow] = []
        for row in as_list(listed, ROWS_MAX):
            distance, link, filter = counted(as_list(row), 3)
            rows.append(
                (as_int(distance, 1, HORIZON_MAX), as_int(link, ANY_LINK, NODE_MAX), filter_from_fields(filter))
            )
        return TableFrame(
            as_int(boot, 1, NUMBER_MAX), as_int(page, 0, PAGES_MAX - 1), as_int(version, 1, NUMBER_MAX), rows
        )


@final
class LinkEventFrame(Frame):
    """An event as in EventFrame, and along which links it goes: whoever is not named in `to` has not got it."""

    __slots__ = ("age_us", "event", "to", "ttl")

    def __init__(self, event: Event, ttl: int, age_us: int, to: list[int]) -> None:
        size = 3 + uint_size(ttl) + uint_size(age_us) + event.size + (0 if len(to) < 16 else 2)
        for node in to:
            size += uint_size(node)
        self.kind = "event"  # not by super().__init__: this is made for every transmission of an event
        self.id = event.id
        self.size = size
        self.cargo = event
        self.event = event
        self.ttl = ttl
        self.age_us = age_us
        self.to = to

    def events(self) -> list[Event]:
        return [self.event]

    def fields(self) -> list[Any]:
        return [self.ttl, self.age_us, self.event.fields(), self.to]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> LinkEventFrame:
        ttl, age_us, event, to = counted(fields, 4)
        named = [as_int(node, 0, NODE_MAX) for node in as_list(to, HEARD_MAX)]
        return LinkEventFrame(event_from_fields(event), as_int(ttl, 0, TTL_MAX), as_int(age_us, 0, FOREVER), named)
