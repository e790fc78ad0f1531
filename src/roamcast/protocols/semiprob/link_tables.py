"""Subscription tables of neighbours: the pages on which they are advertised, and the frames. `links.py` uses them.

A node advertises the same rows to all neighbours, except that a row is not meant for a neighbour if it came from that
neighbour alone. So a row names the link it came by, if there is only one. That neighbour ignores the row, and one
broadcast serves all.

Rows are on pages that a frame can carry. A row stays on its page while it is advertised, and a new row goes to the
first page with room, so a change costs the frame of one page. Pages are sent whole and have versions: a repeated or
overtaken frame does no harm. Beacons list the versions of all pages, and a node that lacks a page requests it in its
own beacon.

A table has a size (`TABLE_BYTES`); the rows that are farthest away are left out.
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
"""Ours: bytes of the rows on a page; a longer row has a page of its own."""
TABLE_BYTES: Final = 8192
"""Ours: bytes of all rows that are advertised."""
PAGES_MAX: Final = 128
"""Ours: twice what a table needs, because pages have gaps where rows were removed."""
WANTED_MAX: Final = 32
"""Ours: the most pages that a beacon requests; the next one requests the rest."""
ROWS_MAX: Final = PAGE_BYTES

ANY_LINK: Final = -1

Row = tuple[int, Filter]  # (hops to the subscriber, its filter)
TableRow = tuple[int, int, Filter]  # the same with the only link it came by, or ANY_LINK, in between


def row_size(row: Row) -> int:
    """Bytes of a row in a frame, with the longest link."""
    return 1 + uint_size(row[0]) + 5 + measure(row[1].fields()) - 1


# ------------------------------------------------------------------------------------------------ what is advertised


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
class AdvertisedTable:
    """The rows that a node advertises. After `put` and `remove`, `update_pages` returns the pages that have changed."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self.page_of: dict[Row, int] = {}
        self.sizes: dict[Row, int] = {}  # of the rows on pages
        self.size = 0
        self.unplaced: dict[Row, int] = {}  # rows that are not on a page yet, or have no room
        self.changed: dict[int, None] = {}

    def versions(self) -> list[int]:
        return [page.version for page in self.pages]

    def put(self, row: Row, link: int) -> None:
        page = self.page_of.get(row, -1)
        if page < 0:
            self.unplaced[row] = link
        elif self.pages[page].rows[row] != link:
            self.pages[page].rows[row] = link
            self.changed[page] = None

    def remove(self, row: Row) -> None:
        if row in self.page_of:
            self.take_off(row)
        elif row in self.unplaced:
            del self.unplaced[row]

    def update_pages(self) -> list[int]:
        for row in sorted(self.unplaced, key=_distance):
            size = row_size(row)
            if self.make_room(row[0], size):
                self.place(row, self.unplaced.pop(row), size)
        changed, self.changed = sorted(self.changed), {}
        for page in changed:
            self.pages[page].version += 1
        return changed

    def make_room(self, distance: int, size: int) -> bool:
        """Returns whether the table has room for a row. If necessary, rows that are farther away are taken off."""
        while self.size + size > TABLE_BYTES or self.page_for(size) == PAGES_MAX:
            farthest = max(self.page_of, key=_distance, default=None)
            if farthest is None or farthest[0] <= distance:
                return False
            self.unplaced[farthest] = self.take_off(farthest)
        return True

    def page_for(self, size: int) -> int:
        """The first page with room; it may be a new one."""
        for index, page in enumerate(self.pages):
            if not page.size or page.size + size <= PAGE_BYTES:
                return index
        return len(self.pages)

    def place(self, row: Row, link: int, size: int) -> None:
        page = self.page_for(size)
        if page == len(self.pages):
            self.pages.append(Page())
        self.pages[page].rows[row] = link
        self.pages[page].size += size
        self.size += size
        self.page_of[row] = page
        self.sizes[row] = size
        self.changed[page] = None

    def take_off(self, row: Row) -> int:
        page = self.page_of.pop(row)
        size = self.sizes.pop(row)
        self.pages[page].size -= size
        self.size -= size
        self.changed[page] = None
        return self.pages[page].rows.pop(row)


def _distance(row: Row) -> int:
    return row[0]


# ------------------------------------------------------------------------------------------------------------ frames


@final
class BeaconFrame(Frame):
    """The sender's boot, the versions of its pages, the nodes that it hears, and the pages that it lacks."""

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
        requested: dict[int, list[int]] = {}
        for entry in as_list(lacks, WANTED_MAX):
            numbers = as_list(entry, 1 + WANTED_MAX)
            if not numbers:
                raise Malformed("pages without a node")
            requested[as_int(numbers[0], 0, NODE_MAX)] = [as_int(page, 0, PAGES_MAX - 1) for page in numbers[1:]]
        if len(requested) != len(lacks):
            raise Malformed("a node twice")
        return BeaconFrame(
            as_int(boot, 1, NUMBER_MAX),
            [as_int(version, 0, NUMBER_MAX) for version in as_list(versions, PAGES_MAX)],
            [as_int(node, 0, NODE_MAX) for node in as_list(heard, HEARD_MAX)],
            requested,
        )


@final
class TableFrame(Frame):
    """A page of the rows that the sender advertises; a higher version replaces a lower one."""

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
    """An event as in EventFrame, and the links it goes along: a node that is not in `to` ignores it."""

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
