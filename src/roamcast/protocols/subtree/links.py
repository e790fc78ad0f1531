"""What a broker's tree neighbours want, and what they have been told: subscription forwarding (Baldoni §II).

Each tree neighbour is told what the broker would like to hear from it: its own subscriptions and those it was told by
its other neighbours, but those that another one covers. What a neighbour has been told is kept in step by small
changes, each with the version it builds on. Heartbeats say which version has arrived; if that is not the last one,
everything is told again.

A neighbour may want more filters than there is room for, in its own table or in what the broker knows in total. Those
beyond are only counted, and as long as there are any, the neighbour gets everything, and so does this broker from
others. When enough of them have been taken back, the broker says that nothing has arrived, and is told everything
again.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import Host, reason
from roamcast.protocols.kit.tree import next_version
from roamcast.protocols.subtree.frames import (
    MAX_LINKS,
    NUMBER_MAX,
    PER_FRAME,
    REMOVED_PER_FRAME,
    Subscribe,
)
from roamcast.protocols.subtree.interests import Interests, Side
from roamcast.protocols.subtree.kin import Interest, key_of
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, Filter

MAX_EARLY: Final = 64
"""Ours: frames kept that came before the one they build on: a short frame may overtake a long one."""

TOLD_ALL: Final = reason("note", "told all", "{peer} is told all {value} subscriptions")
OVERFLOW: Final = reason("note", "overflow", "no room for more of what {peer} wants: it gets everything")
ALONG: Final = reason("forward", "along the tree", "{event} goes to {peer}")
WANTED: Final = reason("forward", "wanted", "{event} matches a subscription in the table")
UNKNOWN: Final = reason("forward", "not told yet", "{event}: {peer} has not said what it wants")


def most_of(room: int) -> int:
    return room - room // 8


@final
class Link:
    """What a tree neighbour wants (`got`), and what it was told (`told`), both by the numbers its teller gave."""

    def __init__(self, peer: int, side: Side) -> None:
        self.peer = peer
        self.side = side  # both once more, as sets
        self.got: dict[int, Filter] = {}
        self.beyond = 0  # how many more there was no room for
        self.gets_everything = False  # as long as there are such
        self.got_version = 0
        self.early: dict[int, Subscribe] = {}  # by the version they wait for
        self.told: dict[str, int] = {}
        self.told_version = 0
        self.told_us = 0
        self.next_number = 0
        self.from_scratch = True


@final
class Links:
    """The tree neighbours: the parent and the children. `room` is for how many filters of each; `tells` is whether
    subscriptions travel at all; `owner` is whoever all brokers of a simulation have in common."""

    def __init__(self, host: Host, room: int, tells: bool, owner: object = None) -> None:
        self.host = host
        self.room = room
        self.tells = tells
        self.interests = Interests(owner)
        self.by_peer: dict[int, Link] = {}

    def add(self, peer: int) -> bool:
        """Whether it is new, and there was room."""
        if peer in self.by_peer or len(self.by_peer) >= MAX_LINKS:
            return False
        self.by_peer[peer] = Link(peer, self.interests.side(peer))
        return True

    def drop(self, peer: int) -> None:
        if self.by_peer.pop(peer, None) is not None:
            self.interests.forget_side(peer)

    def clear(self) -> None:
        for peer in list(self.by_peer):
            self.drop(peer)

    # ---- what they want

    def hear(self, frame: Subscribe, sender: int) -> bool:
        """Whether the frame was of use now; one that builds on what has not come yet waits for it."""
        link = self.by_peer.get(sender)
        if link is None or not self.tells:
            return False
        if frame.base not in (0, link.got_version):
            if len(link.early) < MAX_EARLY:
                link.early[frame.base] = frame
            return False
        self.apply(frame, link)
        while link.got_version in link.early:
            self.apply(link.early.pop(link.got_version), link)
        return True

    def apply(self, frame: Subscribe, link: Link) -> None:
        if frame.base == 0:
            self.forget_got(link)
        link.got_version = frame.version
        for number in frame.removed:
            gone = link.got.pop(number, None)
            if gone is not None:
                self.interests.unwant(gone, link.side)
            elif link.beyond > 0:
                link.beyond -= 1
        for number, filter in frame.added:
            self.keep(link, number, filter)

    def keep(self, link: Link, number: int, filter: Filter) -> None:
        if number in link.got:
            self.interests.unwant(link.got.pop(number), link.side)
        if len(link.got) < self.room and self.interests.has_room_for(filter):
            link.got[number] = filter
            self.interests.want(filter, link.side)
            return
        link.beyond += 1
        if not link.gets_everything:
            self.host.note(OVERFLOW, peer=link.peer)
            link.gets_everything = True
            self.interests.want(EVERYTHING, link.side)

    def forget_got(self, link: Link) -> None:
        link.got.clear()
        link.beyond = 0
        self.interests.unwant_all(link.side)
        if link.gets_everything:
            self.interests.want(EVERYTHING, link.side)

    def tidy(self) -> None:
        """With every heartbeat: who waits for an earlier frame has waited enough, and a table may fit again."""
        self.interests.forget_the_idle()
        for link in self.by_peer.values():
            if link.early:
                link.early.clear()
            if link.gets_everything:
                if link.beyond == 0:
                    link.gets_everything = False
                    self.interests.unwant(EVERYTHING, link.side)
                elif self.would_fit(link):
                    link.got_version = 0

    def would_fit(self, link: Link) -> bool:
        """An eighth must be left free, of its own table and in total, lest it overflow with the next subscription."""
        own, total = len(link.got) + link.beyond, len(self.interests.order) + link.beyond
        return own <= most_of(self.room) and total <= most_of(self.interests.room)

    def why_send(self, link: Link, event: Event) -> int:
        """The reason to send an event to a tree neighbour, or 0."""
        if not self.tells:
            return ALONG
        if link.got_version == 0:
            return UNKNOWN  # R4
        if link.gets_everything:
            return WANTED
        for filter in link.got.values():
            if filter.matches(event):
                return WANTED
        return 0

    # ---- what they are told

    def tell_all(self, removals: bool) -> None:
        """Tell everybody what is new to them; what is no longer wanted can wait for the heartbeat (R3)."""
        if self.tells:
            for link in self.by_peer.values():
                if link.from_scratch:
                    self.tell_from_scratch(link)
                else:
                    self.tell_changes(link, removals)

    def tell_from_scratch(self, link: Link) -> None:
        link.side.forget_told()
        link.told.clear()
        wanted, _ = self.interests.news(link.side, removals=True)
        self.host.note(TOLD_ALL, peer=link.peer, value=len(wanted))
        self.tell(link, wanted, [])

    def tell_changes(self, link: Link, removals: bool) -> None:
        added, removed = self.interests.news(link.side, removals)
        if added or removed:
            self.tell(link, added, sorted([link.told.pop(interest.key) for interest in removed]))

    def tell(self, link: Link, added: list[Interest], removed: list[int]) -> None:
        """In as many frames as it takes; what is told from scratch takes one at least."""
        at = 0
        while at == 0 or at * PER_FRAME < len(added) or at * REMOVED_PER_FRAME < len(removed):
            self.send(
                link,
                added[at * PER_FRAME : (at + 1) * PER_FRAME],
                removed[at * REMOVED_PER_FRAME : (at + 1) * REMOVED_PER_FRAME],
            )
            at += 1

    def send(self, link: Link, added: list[Interest], removed: list[int]) -> None:
        pairs: list[tuple[int, Filter]] = []
        filters_size = 0
        for interest in added:
            filters_size += interest.size()
            link.told[interest.key] = link.next_number
            pairs.append((link.next_number, interest.filter))
            link.next_number = (link.next_number + 1) & NUMBER_MAX
        base = 0 if link.from_scratch else link.told_version
        link.told_version = next_version(link.told_version)
        link.told_us = self.host.now()
        link.from_scratch = False
        self.host.send(link.peer, Subscribe(base, link.told_version, pairs, removed, filters_size))

    def read_receipt(self, link: Link, version: int, left_us: int) -> None:
        """A heartbeat says which version has arrived; what was told after `left_us` cannot have."""
        if version != link.told_version and link.told_us < left_us:
            link.from_scratch = True

    # ---- what is held

    def memory(self) -> tuple[int, int]:
        """The subscription table: what each tree neighbour wants."""
        entries = size = 0
        for link in self.by_peer.values():
            for filter in link.got.values():
                entries += 1
                size += len(key_of(filter))
            if link.gets_everything:
                entries += 1
                size += len(key_of(EVERYTHING))
        return entries, size
