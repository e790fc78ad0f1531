"""The index of a group (Li et al. §3.2) and its gateway records (§3.3): what a node advertises to its parent.

A node keeps a bitmap of its own subscriptions and one for each child's branch. Their union goes to the parent, and so
do the records of the gateways in the branch (gateways.py). Both are sent when they change, and again until a heartbeat
of the parent acknowledges that version.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import NOBODY
from roamcast.protocols.kit.tree import NEVER, Neighbour, next_version
from roamcast.protocols.treegroup.bloom_routing import filter_bitmap
from roamcast.protocols.treegroup.frames import Bitmap, Gateway
from roamcast.protocols.treegroup.gateways import closest_gateways
from roamcast.protocols.treegroup.tables import ANSWER_US, Child, GatewayRecord, Part, Tables
from roamcast.pubsub.filters import Filter

RECORD_BYTES: Final = 16
"""Two ids of four bytes, a tree of six, a level and `open`."""


@final
class Advertised:
    """Which version of a bitmap or of records the parent has: the last one sent, and the last one acknowledged."""

    def __init__(self) -> None:
        self.version = 0
        self.sent_us = 0
        self.acknowledged = 0  # the version that the parent's last heartbeat listed

    def new_version(self) -> None:
        self.version = next_version(self.version)

    def start_over(self) -> None:
        """The node has another parent."""
        self.acknowledged = 0
        self.sent_us = NEVER

    def must_repeat(self, parent: Neighbour | None) -> bool:
        """Whether to send it again: this parent never got it, or a heartbeat long after it does not acknowledge it."""
        if self.acknowledged == self.version or self.version == 0:
            return False
        return self.sent_us == NEVER or (parent is not None and self.sent_us + ANSWER_US < parent.heard_us)


@final
class Index(Part):
    """A node's part of the index."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self.bytes = (tables.params.bits + 7) // 8
        self.local = 0  # the bitmap of this node's own subscriptions
        self.routes: dict[int, GatewayRecord] = {}  # adjacent group -> the gateway closest to the leader
        self.sent_bitmap = 0
        self.advertised_bitmap = Advertised()
        self.sent_routes: dict[int, GatewayRecord] = {}
        self.advertised_records = Advertised()

    # ---- the branch

    def subscribe(self, filter: Filter) -> None:
        self.local |= filter_bitmap(filter, self.params.bits, self.params.hashes)

    def rebuild(self, filters: list[Filter]) -> None:
        """After an unsubscription: a bit may belong to several subscriptions, so it cannot just be cleared."""
        self.local = 0
        for filter in filters:
            self.subscribe(filter)

    def merged_bitmap(self) -> int:
        bitmap = self.local
        for child in self.children.values():
            bitmap |= child.bitmap
        return bitmap

    def store_bitmap(self, frame: Bitmap, child: Child) -> bool:
        """Returns False if it is not a bitmap of the right length."""
        bitmap = int.from_bytes(frame.bitmap, "little")
        if len(frame.bitmap) != self.bytes or bitmap >> self.params.bits:
            return False
        child.bitmap = bitmap
        child.bitmap_version = frame.version
        return True

    def store_records(self, frame: Gateway, child: Child) -> None:
        child.records = [GatewayRecord(r[0], r[1], r[2], r[3], child.id) for r in frame.records]
        child.records_version = frame.version
        self.find_routes()

    def find_routes(self) -> None:
        self.routes = closest_gateways(self.place, self.link_quality, self.neighbours, self.children)

    def forget_routes(self) -> None:
        self.routes = {}

    # ---- what the parent gets

    def acknowledge(self, bitmap_version: int, records_version: int) -> None:
        """The parent has received these versions."""
        self.advertised_bitmap.acknowledged = bitmap_version
        self.advertised_records.acknowledged = records_version

    def start_over(self) -> None:
        self.advertised_bitmap.start_over()
        self.advertised_records.start_over()

    def advertise(self, only_additions: bool) -> None:
        """Send the parent what it does not have yet. With `only_additions`, a bitmap that only lost bits waits for the
        next heartbeat."""
        if self.place.parent == NOBODY:
            return
        self.advertise_bitmap(only_additions)
        self.advertise_records()

    def advertise_bitmap(self, only_additions: bool) -> None:
        bitmap = self.merged_bitmap()
        if bitmap != self.sent_bitmap and not (only_additions and bitmap | self.sent_bitmap == self.sent_bitmap):
            self.sent_bitmap = bitmap
            self.advertised_bitmap.new_version()
        elif not self.advertised_bitmap.must_repeat(self.neighbours.get(self.place.parent)):
            return
        self.advertised_bitmap.sent_us = self.host.now()
        data = self.sent_bitmap.to_bytes(self.bytes, "little")
        self.host.send(self.place.parent, Bitmap(self.advertised_bitmap.version, data))

    def advertise_records(self) -> None:
        if self.place.parent == NOBODY:
            return
        if not same_records(self.routes, self.sent_routes):
            self.sent_routes = self.routes
            self.advertised_records.new_version()
        elif not self.advertised_records.must_repeat(self.neighbours.get(self.place.parent)):
            return
        self.advertised_records.sent_us = self.host.now()
        records = [self.routes[tree].fields() for tree in sorted(self.routes)]
        self.host.send(self.place.parent, Gateway(self.advertised_records.version, records))

    def memory(self) -> tuple[int, int]:
        """The bitmaps (the node's own and those of its children) and the gateway records."""
        bitmaps = 1 + len(self.children)
        records = len(self.routes)
        for child in self.children.values():
            records += len(child.records)
        return bitmaps + records, bitmaps * self.bytes + records * RECORD_BYTES


def same_records(one: dict[int, GatewayRecord], other: dict[int, GatewayRecord]) -> bool:
    """Whether the parent would get the same records: `via` is not sent."""
    if len(one) != len(other):
        return False
    for tree, a in one.items():
        b = other.get(tree)
        if b is None or a.gateway != b.gateway or a.level != b.level or a.open != b.open:
            return False
    return True
