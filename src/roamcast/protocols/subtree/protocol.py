"""Subscription tree: one tree over the whole network (ST in Li §4.1; both strategies of Baldoni §II, Fig. 1).

Brokers, one on each node, hang in one tree: its root is the node with the lowest id in reach, everybody else hangs
below a neighbour (kit/tree.py says how without loops). The tree is used as an unrooted one. With `mode="message"` an
event goes to every tree neighbour but the one it came from. With `mode="subscription"` each broker tells each tree
neighbour what it would like to hear from it, so an event follows the reverse path of the subscriptions that match it.

Here are the tree and the events' way through it; what neighbours want and are told is in links.py, what of it is
worth telling in interests.py, the frames in frames.py, places, heartbeats and whom to trust in kit/tree.py.

Readings, one test each:
  R1  neither paper says how the tree comes about (they cite others, who build it on demand). The lowest id leads: any
      agreement will do, and this one needs no frames but heartbeats.
  R2  the heartbeat period is 1 s, as in treegroup; a neighbour missed three times is gone.
  R3  a broker whose neighbour was lost forgets what that neighbour wanted at once, and tells others with its next
      heartbeat: most of it comes back by another neighbour in that time.
  R4  until a new neighbour has said what it wants, it gets everything: what it wants is on its way.
  R5  an event that did not reach the parent, or the one before it, goes to the present one, whatever that has said so
      far: what hangs above the old one is reached that way too. Without a parent, or sent to a child, it is lost.
  R6  local and global events (Li §3.3) are treated alike: a single tree knows no groups.
  R7  a broker moves up when a neighbour would put it at least two levels higher, and changes a leaving parent
      (kit/tree.py) for another one of the tree, as in treegroup, so that the two are compared on the same terms.
  R8  an event whose age, as its frame tells it, has reached its validity when it arrives is neither delivered nor sent
      on, nor remembered: a younger copy may come. The papers' events have no lifetime. Brokers send on at once, so an
      event does not age here: what the radio holds it up is not counted (frames.py).
  R9  a neighbour that wants more filters than there is room for, for each neighbour or for all together, gets
      everything, until what it wants fits again: the papers' tables have no limit, and no subscriber may be lost to
      ours. What the application on the node wants always has room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, final

from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import NOBODY, Frame, Host, Params, Protocol, param, reason
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.protocols.kit.tree import (
    LEVEL_MAX,
    MAX_NEIGHBOURS,
    NO_TREE,
    TICK,
    HeartbeatTimer,
    LinkQuality,
    Neighbour,
    Place,
    root_of,
    tree_name,
)
from roamcast.protocols.subtree.frames import Heartbeat, Join, Subscribe
from roamcast.protocols.subtree.interests import OWN
from roamcast.protocols.subtree.links import Links
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

SYNC: Final = 2
"""The timer for telling tree neighbours what is new; TICK is the one of the next heartbeat."""

SYNC_US: Final = 50_000
"""Ours: what becomes known within this time is told in one frame."""

LED: Final = reason("note", "leads", "no tree to join: it leads one of its own")
HUNG: Final = reason("note", "joined", "hangs below {peer} at level {value}")
LOST_PARENT: Final = reason("note", "lost parent", "{peer} is gone, or is no good parent any more")
LOST_CHILD: Final = reason("note", "lost child", "{peer} is no child any more")
RESCUED: Final = reason("forward", "new parent", "{event} did not reach the old parent and goes to {peer}")
UNWANTED: Final = reason("suppress", "unwanted", "{event}: no other neighbour is known to want it")
LOST_DOWN: Final = reason("drop", "lost child", "{event} did not reach {peer}")
LOST_UP: Final = reason("drop", "lost parent", "{event} did not reach {peer}, and there is no other parent")
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


# ---------------------------------------------------------------------------------------------------------- protocol


@final
class SubTree(Protocol):
    params_class: ClassVar[type[Params]] = SubTreeParams
    frames: ClassVar[tuple[type[Frame], ...]] = (Heartbeat, Join, Subscribe, EventFrame)

    def __init__(self, host: Host, params: SubTreeParams) -> None:
        super().__init__(host, params)
        self.params = params
        self.tells = params.mode == "subscription"
        self.heartbeat_us = round(params.heartbeat_s * 1_000_000)
        self.gone_us = self.heartbeat_us * params.missed
        self.subscriptions = Subscriptions()
        self.place = Place(host.id)
        self.heartbeat_timer = HeartbeatTimer(host, self.heartbeat_us)
        self.link_quality = LinkQuality(host, self.heartbeat_us, self.gone_us)
        self.neighbours: dict[int, Neighbour] = {}
        self.links = Links(host, params.filters, self.tells, params)
        self.seen: dict[int, None] = {}
        self.hung_us = 0
        self.former_parent = NOBODY
        self.will_sync = False

    # ---- coming up, and the heartbeat

    def on_start(self) -> None:
        """A node that was down is out of its tree, whatever it remembers; its labels and events still count."""
        self.neighbours.clear()
        self.links.clear()
        self.will_sync = False
        self.place.lead(tree_name(self.host.id, self.host.random()))
        self.host.cancel_timer(SYNC)
        self.heartbeat_timer.start()

    def on_timer(self, key: int) -> None:
        if key == TICK:
            self.tick()
        elif key == SYNC:
            self.will_sync = False
            self.links.tell_all(removals=False)

    def tick(self) -> None:
        now = self.host.now()
        self.forget_the_silent()
        if self.place.is_root():
            self.place.count += 1
        elif self.place.is_stale(now, self.gone_us, self.heartbeat_us):
            self.place.mark_root_dead()
            self.lose_parent()
        self.links.tidy()
        self.links.tell_all(removals=True)
        self.beat()
        self.heartbeat_timer.schedule_next()

    def beat(self) -> None:
        place = self.place
        listed: list[int] = []
        for link in self.links.by_peer.values():
            listed.append(link.peer)
            listed.append(link.got_version)
        self.heartbeat_timer.send(Heartbeat(place.tree, place.count, place.level, place.parent, listed))

    def forget_the_silent(self) -> None:
        gone = self.link_quality.silent(self.neighbours.values())
        for id in gone:
            del self.neighbours[id]
            if id in self.links.by_peer and id != self.place.parent:
                self.lose_child(id)
        if self.place.parent in gone:
            self.lose_parent()

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, EventFrame):
            self.on_event(frame, sender)
        elif isinstance(frame, Heartbeat):
            self.on_heartbeat(frame, sender)
        elif isinstance(frame, Subscribe):
            if self.links.hear(frame, sender):
                self.soon()
        elif isinstance(frame, Join):
            self.on_join(sender)

    def on_heartbeat(self, beat: Heartbeat, sender: int) -> None:
        neighbour = self.neighbours.get(sender)
        if neighbour is None:
            if len(self.neighbours) >= MAX_NEIGHBOURS:
                return
            neighbour = Neighbour(sender)
            self.neighbours[sender] = neighbour
        self.link_quality.record(neighbour, beat)
        if sender == self.place.parent:
            self.on_parents_heartbeat(neighbour)
            self.read_receipt(beat, sender)
        elif beat.parent == self.host.id:
            self.add_link(sender)
            self.read_receipt(beat, sender)
        elif sender in self.links.by_peer:
            self.lose_child(sender)
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
        place.attach(parent.id, parent.tree, parent.count, parent.level, self.host.now())
        if has_moved:
            self.heartbeat_timer.send_soon()
        if self.link_quality.is_leaving(parent):
            self.change_parent()

    def read_receipt(self, beat: Heartbeat, sender: int) -> None:
        """Which version of what it was told has arrived. A parent that does not know its child is told again."""
        link = self.links.by_peer.get(sender)
        if link is None:
            return
        version = beat.version_of(self.host.id)
        if version is not None:
            self.links.read_receipt(link, version, self.neighbours[sender].heard_us - SYNC_US)
        elif sender == self.place.parent and self.host.now() - self.hung_us > self.heartbeat_us:
            self.hung_us = self.host.now()
            self.host.send(sender, Join())
            link.from_scratch = True

    # ---- the tree

    def is_better(self, tree: int) -> bool:
        """Whether a tree is to be preferred to this node's: that of the lower id (R1)."""
        return tree != NO_TREE and root_of(tree) < root_of(self.place.tree)

    def may_be_parent(self, neighbour: Neighbour) -> bool:
        return (
            neighbour.is_attached()
            and neighbour.parent != self.host.id
            and neighbour.level < LEVEL_MAX
            and root_of(neighbour.tree) < self.host.id
            and not self.link_quality.has_failed(neighbour)
            and self.place.may_attach_below(neighbour.tree, neighbour.count, neighbour.level)
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
            self.link_quality.is_doubtful(neighbour),
            neighbour.tree != self.place.tree,
            root_of(neighbour.tree),
            self.link_quality.is_faint(neighbour),
            neighbour.level,
            neighbour.id,
        )

    def hang_below(self, parent: Neighbour) -> None:
        old = self.place.parent
        if old != NOBODY and old != parent.id:
            self.former_parent = old
            self.links.drop(old)
        has_moved = parent.tree != self.place.tree
        self.hung_us = self.host.now()
        self.place.attach(parent.id, parent.tree, parent.count, parent.level, self.hung_us)
        self.host.note(HUNG, peer=parent.id, value=self.place.level)
        self.host.send(parent.id, Join())
        self.links.drop(parent.id)
        self.add_link(parent.id)
        if has_moved:
            self.heartbeat_timer.send_soon()

    def change_parent(self) -> None:
        other = self.best_parent()
        if other is not None and other.tree == self.place.tree and not self.link_quality.is_leaving(other):
            self.hang_below(other)

    def lose_parent(self) -> None:
        """Another neighbour of the tree, or of the next best one; if there is none, the children are told."""
        lost, place = self.place.parent, self.place
        self.host.note(LOST_PARENT, peer=lost)
        place.lose_parent()
        self.former_parent = lost
        self.links.drop(lost)
        self.link_quality.mark_failed(self.neighbours.get(lost))
        parent = self.best_parent()
        if parent is not None:
            self.hang_below(parent)
            return
        self.host.note(LED)
        place.lead(tree_name(self.host.id, self.host.random()))
        self.heartbeat_timer.send_soon()

    def on_join(self, sender: int) -> None:
        if sender == self.place.parent:
            self.lose_parent()  # it hangs below this node now
        self.links.drop(sender)
        self.add_link(sender)

    def add_link(self, peer: int) -> None:
        if self.links.add(peer):
            self.soon()

    def lose_child(self, id: int) -> None:
        self.host.note(LOST_CHILD, peer=id)
        self.links.drop(id)

    def on_undelivered(self, frame: Frame, to: int) -> None:
        if self.link_quality.should_retry(self.neighbours.get(to)):
            self.host.send(to, frame)
            return
        is_parent, is_child = to == self.place.parent, to in self.links.by_peer
        if is_parent:
            self.lose_parent()
        elif is_child:
            self.lose_child(to)
        if isinstance(frame, EventFrame):
            if is_parent or (to == self.former_parent and not is_child):
                self.send_up(frame, to)
            else:
                self.host.note(LOST_DOWN, frame.id, to)

    def send_up(self, frame: EventFrame, lost: int) -> None:
        """An event did not reach the parent that was: the present one gets it, whatever that has said so far (R5)."""
        parent = self.place.parent
        if parent == NOBODY:
            self.host.note(LOST_UP, frame.id, lost)
        else:
            self.host.note(RESCUED, frame.id, parent)
            self.host.send(parent, frame)

    # ---- subscriptions

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.on_unsubscribe(subscription)
        self.subscriptions.add(subscription, filter)
        if self.tells:
            self.links.interests.want(filter, self.links.interests.side(OWN))
            self.soon()

    def on_unsubscribe(self, subscription: int) -> None:
        filter = self.subscriptions.filters.get(subscription)
        self.subscriptions.remove(subscription)
        if filter is not None and self.tells:
            self.links.interests.unwant(filter, self.links.interests.side(OWN))

    def soon(self) -> None:
        if not self.will_sync:
            self.will_sync = True
            self.host.set_timer(SYNC, SYNC_US)

    # ---- events

    def on_publish(self, event: Event) -> None:
        self.remember(event.id)
        self.forward(EventFrame(event, 0, 0), NOBODY)

    def on_event(self, frame: EventFrame, sender: int) -> None:
        event = frame.event
        if event.id in self.seen or event.id == 0:  # id 0 would mute every heartbeat
            return
        if frame.age_us >= event.validity_us:  # R8
            self.host.note(EXPIRED, event.id)
            return
        self.remember(event.id)
        if event.publisher != self.host.id and self.subscriptions.match(event):
            self.host.deliver(event)
        self.forward(frame if frame.ttl == 0 else EventFrame(event, 0, frame.age_us), sender)

    def remember(self, id: int) -> None:
        if len(self.seen) >= self.params.seen:
            del self.seen[next(iter(self.seen))]
        self.seen[id] = None
        self.host.mute(id)

    def forward(self, frame: EventFrame, sender: int) -> None:
        is_wanted = False
        for link in self.links.by_peer.values():
            if link.peer == sender:
                continue
            why = self.links.why_send(link, frame.event)
            if why:
                is_wanted = True
                self.host.note(why, frame.id, link.peer)
                self.host.send(link.peer, frame)
        if not is_wanted:
            self.host.note(UNWANTED, frame.id)

    # ---- what is held

    def memory(self) -> tuple[int, int]:
        return self.links.memory()
