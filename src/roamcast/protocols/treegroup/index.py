"""The index of a group (Li §3.2) and its gateway records (§3.3): what a node has from its branch and tells its parent.

A node keeps a bitmap of its own subscriptions and one for each child's branch; their union goes to the parent, and so
do the records of the gateways in the branch (gateways.py). Both are sent when they change, and again until a
heartbeat of the parent lists that version.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import NEVER, Neighbour, next_version
from roamcast.protocols.treegroup.bloom_routing import filter_bitmap
from roamcast.protocols.treegroup.frames import Bitmap, Gateway
from roamcast.protocols.treegroup.gateways import closest_gateways
from roamcast.protocols.treegroup.tables import ANSWER_US, Child, Part, Record, Tables
from roamcast.pubsub.filters import Filter

RECORD_BYTES: Final = 16
"""Two ids of four bytes, a tree of six, a level and `open`."""


@final
class Told:
    """How far the parent is told something: sent when it changed, and again until the parent says that it has it."""

    def __init__(self) -> None:
        self.version = 0
        self.sent_us = 0
        self.known = 0  # the version that the parent's last heartbeat listed

    def change(self) -> None:
        self.version = next_version(self.version)

    def start_over(self) -> None:
        """The parent is another one."""
        self.known = 0
        self.sent_us = NEVER

    def must_repeat(self, parent: Neighbour | None) -> bool:
        """Whether the parent was never sent this, or says in a heartbeat well after it was sent that it has it not."""
        if self.known == self.version or self.version == 0:
            return False
        return self.sent_us == NEVER or (parent is not None and self.sent_us + ANSWER_US < parent.heard_us)


@final
class Index(Part):
    """A node's part of the index."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self.bytes = (tables.params.bits + 7) // 8
        self.local = 0  # the bitmap of this node's own subscriptions
        self.routes: dict[int, Record] = {}  # adjacent group -> the gateway closest to the leader
        self.bitmap_sent = 0
        self.bitmap_told = Told()
        self.routes_sent: dict[int, Record] = {}
        self.records_told = Told()

    # ---- what is known

    def subscribe(self, filter: Filter) -> None:
        self.local |= filter_bitmap(filter, self.params.bits, self.params.hashes)

    def start_from(self, filters: list[Filter]) -> None:
        """A bit may stand for several subscriptions: when one is taken back, the bitmap is made anew."""
        self.local = 0
        for filter in filters:
            self.subscribe(filter)

    def merged_bitmap(self) -> int:
        bitmap = self.local
        for child in self.children.values():
            bitmap |= child.bitmap
        return bitmap

    def take_bitmap(self, frame: Bitmap, child: Child) -> bool:
        """Whether it is one."""
        bitmap = int.from_bytes(frame.bitmap, "little")
        if len(frame.bitmap) != self.bytes or bitmap >> self.params.bits:
            return False
        child.bitmap = bitmap
        child.bitmap_version = frame.version
        return True

    def take_records(self, frame: Gateway, child: Child) -> None:
        child.records = [Record(r[0], r[1], r[2], r[3], child.id) for r in frame.records]
        child.records_version = frame.version
        self.find_routes()

    def find_routes(self) -> None:
        self.routes = closest_gateways(self.place, self.hearing, self.neighbours, self.children)

    def forget_routes(self) -> None:
        self.routes = {}

    # ---- what the parent is told

    def parent_has(self, bitmap_version: int, records_version: int) -> None:
        self.bitmap_told.known = bitmap_version
        self.records_told.known = records_version

    def start_over(self) -> None:
        self.bitmap_told.start_over()
        self.records_told.start_over()

    def tell_parent(self, at_once: bool) -> None:
        """Send up what the parent has not; `at_once`, only what is news that somebody may be waiting for."""
        if self.place.parent == NOBODY:
            return
        self.tell_bitmap(at_once)
        self.tell_records()

    def tell_bitmap(self, at_once: bool) -> None:
        bitmap = self.merged_bitmap()
        if bitmap != self.bitmap_sent and not (at_once and bitmap | self.bitmap_sent == self.bitmap_sent):
            self.bitmap_sent = bitmap
            self.bitmap_told.change()
        elif not self.bitmap_told.must_repeat(self.neighbours.get(self.place.parent)):
            return
        self.bitmap_told.sent_us = self.host.now()
        data = self.bitmap_sent.to_bytes(self.bytes, "little")
        self.host.send(self.place.parent, Bitmap(self.bitmap_told.version, data))

    def tell_records(self) -> None:
        if self.place.parent == NOBODY:
            return
        if not same_records(self.routes, self.routes_sent):
            self.routes_sent = self.routes
            self.records_told.change()
        elif not self.records_told.must_repeat(self.neighbours.get(self.place.parent)):
            return
        self.records_told.sent_us = self.host.now()
        records = [self.routes[tree].fields() for tree in sorted(self.routes)]
        self.host.send(self.place.parent, Gateway(self.records_told.version, records))

    def memory(self) -> tuple[int, int]:
        """Bitmaps (its own and its children's) and gateway records."""
        bitmaps = 1 + len(self.children)
        records = len(self.routes)
        for child in self.children.values():
            records += len(child.records)
        return bitmaps + records, bitmaps * self.bytes + records * RECORD_BYTES


def same_records(one: dict[int, Record], other: dict[int, Record]) -> bool:
    """Whether the parent would read the same: `via` does not travel."""
    if len(one) != len(other):
        return False
    for tree, a in one.items():
        b = other.get(tree)
        if b is None or a.gateway != b.gateway or a.level != b.level or a.open != b.open:
            return False
    return True
