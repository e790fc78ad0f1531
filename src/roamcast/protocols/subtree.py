"""Subscription tree: one tree over the whole network (ST in Li §4.1; both strategies of Baldoni §II, Fig. 1).

Brokers, one on each node, hang in one tree: its root is the node with the lowest id in reach, everybody else hangs
below a neighbour (tree.py says how without loops). The tree is used as an unrooted one. With `mode="message"` an event
goes to every tree neighbour but the one it came from. With `mode="subscription"` each broker tells each tree neighbour
what it would like to hear from it: its own subscriptions and those it was told by its other neighbours, but those that
another one covers. So an event follows the reverse path of the subscriptions that match it.

What a neighbour has been told is kept in step by small changes, each with the version it builds on. Heartbeats say
which version has arrived; if that is not the last one, everything is told again.

The frames are in subtree_frames.py, what is wanted by whom and what covers it in subtree_interests.py, places,
heartbeats and whom to trust in tree.py.

Readings, one test each:
  R1  neither paper says how the tree comes about (they cite others, who build it on demand). The lowest id leads: any
      agreement will do, and this one needs no frames but heartbeats.
  R2  the heartbeat period is 1 s, as in treegroup; a neighbour missed three times is gone.
  R3  a broker whose neighbour was lost forgets what that neighbour wanted at once, and tells others with its next
      heartbeat: most of it comes back by another neighbour in that time.
  R4  until a new neighbour has said what it wants, it gets everything: what it wants is on its way.
  R5  an event that could not be sent to a lost parent goes to the next one, whatever that has said so far.
  R6  local and global events (Li §3.3) are treated alike: a single tree knows no groups.
  R7  a broker moves up when a neighbour would put it at least two levels higher, and changes a leaving parent
      (tree.py) for another one of the tree, as in treegroup, so that the two are compared on the same terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, final

from roamcast.protocols.frames import EventFrame
from roamcast.protocols.interface import NOBODY, Frame, Host, Params, Protocol, param, reason
from roamcast.protocols.store import Subscriptions
from roamcast.protocols.subtree_frames import (
    MAX_LINKS,
    NUMBER_MAX,
    PER_FRAME,
    REMOVED_PER_FRAME,
    Heartbeat,
    Join,
    Subscribe,
)
from roamcast.protocols.subtree_interests import OWN, Interest, Interests
from roamcast.protocols.tree import (
    LEVEL_MAX,
    MAX_NEIGHBOURS,
    NO_TREE,
    TICK,
    Hearing,
    Heart,
    Neighbour,
    Place,
    next_version,
    root_of,
    tree_name,
)
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, Filter

SYNC: Final = 2
"""The timer for telling tree neighbours what is new; TICK is the one of the next heartbeat."""

SYNC_US: Final = 50_000
"""Ours: what becomes known within this time is told in one frame."""
MAX_EARLY: Final = 64
"""Ours: frames kept that came before the one they build on: a short frame may overtake a long one."""

LED: Final = reason("note", "leads", "no tree to join: it leads one of its own")
HUNG: Final = reason("note", "joined", "hangs below {peer} at level {value}")
LOST_PARENT: Final = reason("note", "lost parent", "{peer} is gone, or is no good parent any more")
LOST_CHILD: Final = reason("note", "lost child", "{peer} is no child any more")
TOLD_ALL: Final = reason("note", "told all", "{peer} is told all {value} subscriptions")
TABLE_FULL: Final = reason("note", "table full", "no room in the table: what it had of {peer} is forgotten")
ALONG: Final = reason("forward", "along the tree", "{event} goes to {peer}")
WANTED: Final = reason("forward", "wanted", "{event} matches a subscription in the table")
UNKNOWN: Final = reason("forward", "not told yet", "{event}: {peer} has not said what it wants")
RESCUED: Final = reason("forward", "new parent", "{event} did not reach the old parent and goes to {peer}")
UNWANTED: Final = reason("suppress", "unwanted", "{event}: no other neighbour is known to want it")
LOST: Final = reason("drop", "lost child", "{event} did not reach {peer}")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")


# ------------------------------------------------------------------------------------------------------- parameters


@dataclass(frozen=True)
class SubTreeParams(Params):
    mode: str = param(
        "subscription",
        "what travels: subscriptions to all brokers, or messages",
        "Baldoni §II, Fig. 1",
        choices=("subscription", "message"),
    )
    heartbeat_s: float = param(1.0, "time between two heartbeats", "ours (R2)", unit="s", low=0.05, high=3600)
    missed: int = param(3, "heartbeats missed before a neighbour is gone", "ours (R2)", low=1, high=100)
    filters: int = param(1024, "filters kept for each tree neighbour", "ours", low=1)
    seen: int = param(4096, "events a node remembers", "ours", low=1)


# ------------------------------------------------------------------------------------------------------------ tables


@final
class Link:
    """What a tree neighbour wants (`got`), and what it was told (`told`), both by the numbers its teller gave."""

    def __init__(self, peer: int) -> None:
        self.peer = peer
        self.got: dict[int, Interest] = {}
        self.got_version = 0
        self.early: dict[int, Subscribe] = {}  # by the version they wait for
        self.told: dict[str, int] = {}
        self.told_version = 0
        self.told_us = 0
        self.next_number = 0
        self.from_scratch = True


# ---------------------------------------------------------------------------------------------------------- protocol


@final
class SubTree(Protocol):
    params_class: ClassVar[type[Params]] = SubTreeParams
    frames: ClassVar[tuple[type[Frame], ...]] = (Heartbeat, Join, Subscribe, EventFrame)

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        if not isinstance(params, SubTreeParams):
            raise TypeError("SubTree takes SubTreeParams")
        self.params = params
        self.tells = params.mode == "subscription"
        self.heartbeat_us = round(params.heartbeat_s * 1_000_000)
        self.gone_us = self.heartbeat_us * params.missed
        self.subscriptions = Subscriptions()
        self.place = Place(host.id)
        self.heart = Heart(host, self.heartbeat_us)
        self.hearing = Hearing(host, self.heartbeat_us, self.gone_us)
        self.neighbours: dict[int, Neighbour] = {}
        self.links: dict[int, Link] = {}  # the parent and the children
        self.interests = Interests()
        self.seen: dict[int, None] = {}
        self.hung_us = 0
        self.will_sync = False

    # ---- coming up, and the heartbeat

    def on_start(self) -> None:
        """A node that was down is out of its tree, whatever it remembers; its labels and events still count."""
        self.neighbours.clear()
        for peer in list(self.links):
            self.drop_link(peer)
        self.will_sync = False
        self.place.lead(tree_name(self.host.id, self.host.random()))
        self.host.cancel_timer(SYNC)
        self.heart.start()

    def on_timer(self, key: int) -> None:
        if key == TICK:
            self.tick()
        elif key == SYNC:
            self.will_sync = False
            self.sync_all(False)

    def tick(self) -> None:
        now = self.host.now()
        self.forget_the_silent()
        if self.place.is_root():
            self.place.count += 1
        elif self.place.is_stale(now, self.gone_us, self.heartbeat_us):
            self.place.bury()
            self.lose_parent()
        self.interests.forget_the_idle()
        for link in self.links.values():
            link.early.clear()
        self.sync_all(True)
        self.beat()
        self.heart.rest()

    def beat(self) -> None:
        place = self.place
        listed: list[int] = []
        for link in self.links.values():
            listed.append(link.peer)
            listed.append(link.got_version)
        self.heart.beat(Heartbeat(place.tree, place.count, place.level, place.parent, listed))

    def forget_the_silent(self) -> None:
        gone = self.hearing.silent(self.neighbours.values())
        for id in gone:
            del self.neighbours[id]
            if id in self.links and id != self.place.parent:
                self.lose_child(id)
        if self.place.parent in gone:
            self.lose_parent()

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, EventFrame):
            self.on_event(frame, sender)
        elif isinstance(frame, Heartbeat):
            self.on_heartbeat(frame, sender)
        elif isinstance(frame, Subscribe):
            self.on_subscribe_frame(frame, sender)
        elif isinstance(frame, Join):
            self.on_join(sender)

    def on_heartbeat(self, beat: Heartbeat, sender: int) -> None:
        neighbour = self.neighbours.get(sender)
        if neighbour is None:
            if len(self.neighbours) >= MAX_NEIGHBOURS:
                return
            neighbour = Neighbour(sender)
            self.neighbours[sender] = neighbour
        self.hearing.hear(neighbour, beat)
        if sender == self.place.parent:
            self.on_parents_heartbeat(neighbour)
        elif beat.parent == self.host.id:
            self.add_link(sender)
        elif sender in self.links:
            self.lose_child(sender)
        self.read_receipt(beat, sender)
        self.consider(neighbour)

    def on_parents_heartbeat(self, parent: Neighbour) -> None:
        place = self.place
        if parent.tree == place.tree and parent.count < place.count:
            return  # overtaken by a later one
        is_worse = parent.tree != place.tree and not self.is_better(parent.tree)
        if is_worse or parent.parent == self.host.id or not self.may_be_parent(parent):
            self.lose_parent()
            return
        has_moved = parent.tree != place.tree
        place.hang(parent.id, parent.tree, parent.count, parent.level, self.host.now())
        if has_moved:
            self.heart.hurry()
        if self.hearing.is_leaving(parent):
            self.change_parent()

    def read_receipt(self, beat: Heartbeat, sender: int) -> None:
        """Which version of what it was told has arrived. A parent that does not know its child is told again."""
        link = self.links.get(sender)
        if link is None:
            return
        version = beat.version_of(self.host.id)
        if version is not None:
            if version != link.told_version and link.told_us < self.beat_before(sender):
                link.from_scratch = True
        elif sender == self.place.parent and self.host.now() - self.hung_us > self.heartbeat_us:
            self.hung_us = self.host.now()
            self.host.send(sender, Join())
            link.from_scratch = True

    def beat_before(self, sender: int) -> int:
        """A frame sent before this instant should have arrived when the sender's heartbeat left."""
        return self.neighbours[sender].heard_us - SYNC_US

    # ---- the tree

    def is_better(self, tree: int) -> bool:
        """Whether a tree is to be preferred to this node's: that of the lower id (R1)."""
        return tree != NO_TREE and root_of(tree) < root_of(self.place.tree)

    def may_be_parent(self, neighbour: Neighbour) -> bool:
        return (
            neighbour.is_settled()
            and neighbour.parent != self.host.id
            and neighbour.level < LEVEL_MAX
            and root_of(neighbour.tree) < self.host.id
            and not self.hearing.has_failed(neighbour)
            and self.place.may_hang_below(neighbour.tree, neighbour.count, neighbour.level)
        )

    def consider(self, neighbour: Neighbour) -> None:
        """A heartbeat has come: is it from a better tree, or from much higher up in this one (R7)?"""
        if (self.place.is_far_below(neighbour) or self.is_better(neighbour.tree)) and self.may_be_parent(neighbour):
            self.hang_below(neighbour)

    def best_parent(self) -> Neighbour | None:
        able = [neighbour for neighbour in self.neighbours.values() if self.may_be_parent(neighbour)]
        return min(able, key=self.rank, default=None)

    def rank(self, neighbour: Neighbour) -> tuple[bool, bool, int, bool, int, int]:
        return (
            self.hearing.is_doubtful(neighbour),
            neighbour.tree != self.place.tree,
            root_of(neighbour.tree),
            self.hearing.is_faint(neighbour),
            neighbour.level,
            neighbour.id,
        )

    def hang_below(self, parent: Neighbour) -> None:
        old = self.place.parent
        if old != NOBODY and old != parent.id:
            self.drop_link(old)
        has_moved = parent.tree != self.place.tree
        self.hung_us = self.host.now()
        self.place.hang(parent.id, parent.tree, parent.count, parent.level, self.hung_us)
        self.host.note(HUNG, peer=parent.id, value=self.place.level)
        self.host.send(parent.id, Join())
        self.drop_link(parent.id)
        self.add_link(parent.id)
        if has_moved:
            self.heart.hurry()

    def change_parent(self) -> None:
        other = self.best_parent()
        if other is not None and other.tree == self.place.tree and not self.hearing.is_leaving(other):
            self.hang_below(other)

    def lose_parent(self) -> None:
        """Another neighbour of the tree, or of the next best one; if there is none, the children are told."""
        lost, place = self.place.parent, self.place
        self.host.note(LOST_PARENT, peer=lost)
        place.let_go()
        self.drop_link(lost)
        self.hearing.fails(self.neighbours.get(lost))
        parent = self.best_parent()
        if parent is not None:
            self.hang_below(parent)
            return
        self.host.note(LED)
        place.lead(tree_name(self.host.id, self.host.random()))
        self.heart.hurry()

    def on_join(self, sender: int) -> None:
        if sender == self.place.parent:
            self.lose_parent()  # it hangs below this node now
        if sender in self.links:
            self.drop_link(sender)
        self.add_link(sender)

    def add_link(self, peer: int) -> None:
        if peer not in self.links and len(self.links) < MAX_LINKS:
            self.links[peer] = Link(peer)
            self.soon()

    def lose_child(self, id: int) -> None:
        self.host.note(LOST_CHILD, peer=id)
        self.drop_link(id)

    def drop_link(self, peer: int) -> None:
        link = self.links.pop(peer, None)
        if link is not None:
            for interest in link.got.values():
                interest.unwant(peer)

    def on_undelivered(self, frame: Frame, to: int) -> None:
        if self.hearing.deserves_another_try(self.neighbours.get(to)):
            self.host.send(to, frame)
            return
        was_parent = to == self.place.parent
        if was_parent:
            self.lose_parent()
        elif to in self.links:
            self.lose_child(to)
        if isinstance(frame, EventFrame):
            if was_parent and self.place.parent != NOBODY:
                self.host.note(RESCUED, frame.event.id, self.place.parent)  # R5
                self.host.send(self.place.parent, frame)
            else:
                self.host.note(LOST, frame.event.id, to)

    # ---- subscriptions

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.on_unsubscribe(subscription)
        self.subscriptions.add(subscription, filter)
        if self.tells:
            self.interests.want(filter, OWN)
            self.soon()

    def on_unsubscribe(self, subscription: int) -> None:
        filter = self.subscriptions.filters.get(subscription)
        self.subscriptions.remove(subscription)
        if filter is not None and self.tells:
            self.interests.unwant(filter, OWN)

    def soon(self) -> None:
        if not self.will_sync:
            self.will_sync = True
            self.host.set_timer(SYNC, SYNC_US)

    def sync_all(self, removals: bool) -> None:
        if self.tells:
            for link in self.links.values():
                self.sync(link, removals)

    def sync(self, link: Link, removals: bool) -> None:
        """Tell a tree neighbour what it does not know; what is no longer wanted can wait for the heartbeat (R3)."""
        wanted = self.interests.wanted_from(link.peer)
        if link.from_scratch:
            self.host.note(TOLD_ALL, peer=link.peer, value=len(wanted))
            link.told.clear()
        added = [key for key in wanted if key not in link.told]
        removed = [key for key in link.told if key not in wanted] if removals else []
        while added or removed or link.from_scratch:
            self.tell(link, [wanted[key] for key in added[:PER_FRAME]], removed[:REMOVED_PER_FRAME])
            added = added[PER_FRAME:]
            removed = removed[REMOVED_PER_FRAME:]

    def tell(self, link: Link, added: list[Interest], removed: list[str]) -> None:
        pairs: list[tuple[int, Filter]] = []
        for interest in added:
            link.told[interest.key] = link.next_number
            pairs.append((link.next_number, interest.filter))
            link.next_number = (link.next_number + 1) & NUMBER_MAX
        numbers = [link.told.pop(key) for key in removed]
        base = 0 if link.from_scratch else link.told_version
        link.told_version = next_version(link.told_version)
        link.told_us = self.host.now()
        link.from_scratch = False
        self.host.send(link.peer, Subscribe(base, link.told_version, pairs, numbers))

    def on_subscribe_frame(self, frame: Subscribe, sender: int) -> None:
        link = self.links.get(sender)
        if link is None or not self.tells:
            return
        if frame.base not in (0, link.got_version):
            if len(link.early) < MAX_EARLY:
                link.early[frame.base] = frame
            return
        self.apply(frame, link)
        while link.got_version in link.early:
            self.apply(link.early.pop(link.got_version), link)
        self.soon()

    def apply(self, frame: Subscribe, link: Link) -> None:
        sender = link.peer
        if frame.base == 0:
            for interest in link.got.values():
                interest.unwant(sender)
            link.got.clear()
        link.got_version = frame.version
        for number in frame.removed:
            gone = link.got.pop(number, None)
            if gone is not None:
                gone.unwant(sender)
        for number, filter in frame.added:
            self.keep(link, number, filter)

    def keep(self, link: Link, number: int, filter: Filter) -> None:
        before = link.got.pop(number, None)
        if before is not None:
            before.unwant(link.peer)
        if len(link.got) >= self.params.filters:
            self.host.note(TABLE_FULL, peer=link.peer)
            for interest in link.got.values():
                interest.unwant(link.peer)
            link.got.clear()
            filter = EVERYTHING
        link.got[number] = self.interests.want(filter, link.peer)

    # ---- events

    def on_publish(self, event: Event) -> None:
        self.remember(event.id)
        self.forward(event, 0, NOBODY)

    def on_event(self, frame: EventFrame, sender: int) -> None:
        event = frame.event
        if event.id in self.seen or event.id == 0:  # id 0 would mute every heartbeat
            return
        if frame.age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id)
            return
        self.remember(event.id)
        self.deliver(event)
        self.forward(event, frame.age_us, sender)

    def remember(self, id: int) -> None:
        if len(self.seen) >= self.params.seen:
            del self.seen[next(iter(self.seen))]
        self.seen[id] = None
        self.host.mute(id)

    def deliver(self, event: Event) -> None:
        if event.publisher != self.host.id and self.subscriptions.match(event):
            self.host.deliver(event)

    def forward(self, event: Event, age_us: int, sender: int) -> None:
        frame = EventFrame(event, 0, age_us)
        is_wanted = False
        for link in self.links.values():
            why = self.why_send(link, event)
            if link.peer != sender and why:
                is_wanted = True
                self.host.note(why, event.id, link.peer)
                self.host.send(link.peer, frame)
        if not is_wanted:
            self.host.note(UNWANTED, event.id)

    def why_send(self, link: Link, event: Event) -> int:
        """The reason to send an event to a tree neighbour, or 0."""
        if not self.tells:
            return ALONG
        if link.got_version == 0:
            return UNKNOWN  # R4
        for interest in link.got.values():
            if interest.filter.matches(event):
                return WANTED
        return 0

    # ---- what is held

    def memory(self) -> tuple[int, int]:
        """The subscription table: what each tree neighbour wants."""
        entries = size = 0
        for link in self.links.values():
            for interest in link.got.values():
                entries += 1
                size += len(interest.key)
        return entries, size
