"""What the tree neighbours of a broker want, and what was advertised to them (Baldoni et al. §II).

Each tree neighbour gets the filters whose events the broker would like to receive from it. These are the broker's own
subscriptions and those that its other neighbours advertised, except filters that another one covers. An advertisement
is a small change, with the version that it builds on. Heartbeats acknowledge the version that has arrived. If that is
not the last one, the broker advertises everything again.

A neighbour may want more filters than there is room for, in its own table or in what the broker knows in total. The
rest is only counted. While there is a rest, the neighbour gets every event, and the broker wants every event from its
other neighbours. When enough filters have been taken back, the broker acknowledges version 0, and the neighbour
advertises everything again.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import Host, reason
from roamcast.protocols.kit.tree import next_version
from roamcast.protocols.subtree.cover_table import KnownFilter, key_of
from roamcast.protocols.subtree.filter_table import FilterSets, FilterTable
from roamcast.protocols.subtree.frames import (
    MAX_LINKS,
    NUMBER_MAX,
    PER_FRAME,
    REMOVED_PER_FRAME,
    Subscribe,
)
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, Filter

MAX_EARLY: Final = 64
"""Ours: the most frames kept that came before the frame they build on: a short frame may overtake a long one."""

ADVERTISED_ALL: Final = reason("note", "told all", "{peer} gets all {value} subscriptions")
OVERFLOW: Final = reason("note", "overflow", "no room for more filters of {peer}: it gets everything")
ALONG: Final = reason("forward", "along the tree", "{event} goes to {peer}")
WANTED: Final = reason("forward", "wanted", "{event} matches a subscription in the table")
NOT_ADVERTISED: Final = reason("forward", "not told yet", "{event}: {peer} has not advertised its subscriptions yet")


def most_of(room: int) -> int:
    return room - room // 8


@final
class TreeLink:
    """The parent or a child: the filters that it wants, by its numbers, and those advertised to it, by this node's."""

    def __init__(self, peer: int, sets: FilterSets) -> None:
        self.peer = peer
        self.sets = sets  # the same filters, as sets
        self.wanted: dict[int, Filter] = {}
        self.overflow = 0  # how many filters that it wants found no room
        self.gets_everything = False  # while there is an overflow
        self.received_version = 0
        self.early: dict[int, Subscribe] = {}  # frames, by the version that they build on
        self.advertised: dict[str, int] = {}
        self.advertised_version = 0
        self.advertised_us = 0
        self.next_number = 0
        self.from_scratch = True


@final
class TreeLinks:
    """The links to the parent and the children.

    `room` is how many filters each link can have; `advertises` is whether subscriptions travel at all; `owner` is an
    object that all brokers of a simulation have in common.
    """

    def __init__(self, host: Host, room: int, advertises: bool, owner: object = None) -> None:
        self.host = host
        self.room = room
        self.advertises = advertises
        self.filters = FilterTable(owner)
        self.by_peer: dict[int, TreeLink] = {}

    def add(self, peer: int) -> bool:
        """Returns whether it is new, and there was room."""
        if peer in self.by_peer or len(self.by_peer) >= MAX_LINKS:
            return False
        self.by_peer[peer] = TreeLink(peer, self.filters.sets_of(peer))
        return True

    def drop(self, peer: int) -> None:
        if self.by_peer.pop(peer, None) is not None:
            self.filters.forget(peer)

    def clear(self) -> None:
        for peer in list(self.by_peer):
            self.drop(peer)

    # ---- what neighbours want

    def receive(self, frame: Subscribe, sender: int) -> bool:
        """Returns whether the frame was used now. A frame that came before the one it builds on waits for it."""
        link = self.by_peer.get(sender)
        if link is None or not self.advertises:
            return False
        if frame.base not in (0, link.received_version):
            if len(link.early) < MAX_EARLY:
                link.early[frame.base] = frame
            return False
        self.apply(frame, link)
        while link.received_version in link.early:
            self.apply(link.early.pop(link.received_version), link)
        return True

    def apply(self, frame: Subscribe, link: TreeLink) -> None:
        if frame.base == 0:
            self.forget_wanted(link)
        link.received_version = frame.version
        for number in frame.removed:
            filter = link.wanted.pop(number, None)
            if filter is not None:
                self.filters.remove(filter, link.sets)
            elif link.overflow > 0:
                link.overflow -= 1
        for number, filter in frame.added:
            self.add_filter(link, number, filter)

    def add_filter(self, link: TreeLink, number: int, filter: Filter) -> None:
        if number in link.wanted:
            self.filters.remove(link.wanted.pop(number), link.sets)
        if len(link.wanted) < self.room and self.filters.has_room_for(filter):
            link.wanted[number] = filter
            self.filters.add(filter, link.sets)
            return
        link.overflow += 1
        if not link.gets_everything:
            self.host.note(OVERFLOW, peer=link.peer)
            link.gets_everything = True
            self.filters.add(EVERYTHING, link.sets)

    def forget_wanted(self, link: TreeLink) -> None:
        link.wanted.clear()
        link.overflow = 0
        self.filters.remove_all(link.sets)
        if link.gets_everything:
            self.filters.add(EVERYTHING, link.sets)

    def tidy(self) -> None:
        """With every heartbeat: frames that still wait for an earlier one go, and a table may fit again."""
        self.filters.forget_idle()
        for link in self.by_peer.values():
            if link.early:
                link.early.clear()
            if link.gets_everything:
                if link.overflow == 0:
                    link.gets_everything = False
                    self.filters.remove(EVERYTHING, link.sets)
                elif self.would_fit(link):
                    link.received_version = 0

    def would_fit(self, link: TreeLink) -> bool:
        """An eighth must stay free, in its own table and in total. Otherwise the next subscription could overflow."""
        own, total = len(link.wanted) + link.overflow, len(self.filters.order) + link.overflow
        return own <= most_of(self.room) and total <= most_of(self.filters.room)

    def reason_to_send(self, link: TreeLink, event: Event) -> int:
        """Why to send an event to a tree neighbour, or 0."""
        if not self.advertises:
            return ALONG
        if link.received_version == 0:
            return NOT_ADVERTISED  # R4
        if link.gets_everything:
            return WANTED
        return WANTED if self.filters.any_wanted_matches(link.sets, event) else 0

    # ---- what is advertised to neighbours

    def advertise_all(self, removals: bool) -> None:
        """Send all neighbours what is new for them; removals of filters can wait for the heartbeat (R3)."""
        if self.advertises:
            for link in self.by_peer.values():
                if link.from_scratch:
                    self.advertise_from_scratch(link)
                else:
                    self.advertise_changes(link, removals)

    def advertise_from_scratch(self, link: TreeLink) -> None:
        link.sets.forget_advertised()
        link.advertised.clear()
        added, _ = self.filters.changes(link.sets, removals=True)
        self.host.note(ADVERTISED_ALL, peer=link.peer, value=len(added))
        self.advertise(link, added, [])

    def advertise_changes(self, link: TreeLink, removals: bool) -> None:
        added, removed = self.filters.changes(link.sets, removals)
        if added or removed:
            self.advertise(link, added, sorted([link.advertised.pop(known.key) for known in removed]))

    def advertise(self, link: TreeLink, added: list[KnownFilter], removed: list[int]) -> None:
        """Send it in as many frames as needed, at least one."""
        frame = 0
        while frame == 0 or frame * PER_FRAME < len(added) or frame * REMOVED_PER_FRAME < len(removed):
            self.send(
                link,
                added[frame * PER_FRAME : (frame + 1) * PER_FRAME],
                removed[frame * REMOVED_PER_FRAME : (frame + 1) * REMOVED_PER_FRAME],
            )
            frame += 1

    def send(self, link: TreeLink, added: list[KnownFilter], removed: list[int]) -> None:
        pairs: list[tuple[int, Filter]] = []
        filters_size = 0
        for known in added:
            filters_size += known.size()
            link.advertised[known.key] = link.next_number
            pairs.append((link.next_number, known.filter))
            link.next_number = (link.next_number + 1) & NUMBER_MAX
        base = 0 if link.from_scratch else link.advertised_version
        link.advertised_version = next_version(link.advertised_version)
        link.advertised_us = self.host.now()
        link.from_scratch = False
        self.host.send(link.peer, Subscribe(base, link.advertised_version, pairs, removed, filters_size))

    def acknowledge(self, link: TreeLink, version: int, left_us: int) -> None:
        """A heartbeat acknowledges a version. It cannot acknowledge one that was sent after `left_us`."""
        if version != link.advertised_version and link.advertised_us < left_us:
            link.from_scratch = True

    def memory(self) -> tuple[int, int]:
        """The subscription table: the filters that tree neighbours want."""
        entries = size = 0
        for link in self.by_peer.values():
            for filter in link.wanted.values():
                entries += 1
                size += len(key_of(filter))
            if link.gets_everything:
                entries += 1
                size += len(key_of(EVERYTHING))
        return entries, size
