"""Subscription tree: one tree over the whole network (ST in Li et al. §4.1; both strategies of Baldoni et al. §II).

Each node has a broker, and all brokers are in one tree. Its root is the node with the lowest id in range, and every
other broker is attached to a neighbour (kit/tree.py explains how that makes no loops). Events use the tree without a
direction. With `mode="message"` an event goes to every tree neighbour except the one it came from. With
`mode="subscription"` each broker advertises to each tree neighbour the filters whose events it would like to receive
from it, so an event follows the reverse path of the subscriptions that match it.

This file has the tree and the way of events through it. What neighbours want and what is advertised to them is in
tree_links.py, the choice of what to advertise in filter_table.py, the frames in frames.py, and places, heartbeats and
link quality in kit/tree.py.

Readings, one test each:
  R1  neither paper says how the tree comes about (they cite other papers, which build it on demand). The lowest id
      leads: any agreement will do, and this one needs only heartbeats.
  R2  the heartbeat period is 1 s, as in treegroup; a neighbour missed three times is gone.
  R3  a broker that loses a neighbour forgets at once what that neighbour wanted, and advertises the change with its
      next heartbeat: most of these filters come back by another neighbour in that time.
  R4  until a new neighbour has advertised what it wants, it gets everything: its advertisement is on its way.
  R5  an event that did not reach the parent, or the former one, goes to the present parent, whatever that has
      advertised so far: the nodes above the old parent are reached that way too. Without a parent, or sent to a child,
      the event is lost.
  R6  local and global events (Li et al. §3.3) are treated in the same way: a single tree has no groups.
  R7  a broker moves up when a neighbour would put it at least two levels higher, and replaces a leaving parent
      (kit/tree.py) by another one of the tree, as in treegroup, so that the two are compared on the same terms.
  R8  an event whose age in its frame has reached its validity when it arrives is neither delivered nor forwarded, nor
      remembered: a younger copy may come. The papers' events have no lifetime. Brokers forward at once, so an event
      does not age here: the time that the radio takes is not counted (kit/frames.py).
  R9  a neighbour that wants more filters than there is room for, for each neighbour or for all together, gets
      everything until its filters fit again: the papers' tables have no limit, and no subscriber may be lost to ours.
      The filters of the application on the node always have room.
  R10 a node that has once heard a count of its tree believes it, as no paper has a node that lies. With `doubt`, which
      real nodes have, a count is given up when the parent's heartbeats go on below it (kit/tree.py): otherwise one
      frame of a member with a high count would keep a node out of the tree until the root gets there.
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
from roamcast.protocols.subtree.filter_table import OWN
from roamcast.protocols.subtree.frames import Heartbeat, Join, Subscribe
from roamcast.protocols.subtree.tree_links import TreeLinks
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

SYNC: Final = 2
"""The timer of the next advertisement; TICK is that of the next heartbeat."""

SYNC_US: Final = 50_000
"""Ours: changes within this time are advertised together."""

LEADS: Final = reason("note", "leads", "no tree to join: this node leads one of its own")
JOINED: Final = reason("note", "joined", "this node is a child of {peer} now, at level {value}")
LOST_PARENT: Final = reason("note", "lost parent", "{peer} is gone, or no longer a good parent")
LOST_CHILD: Final = reason("note", "lost child", "{peer} is no longer a child")
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
        "what goes to all brokers: subscriptions, or messages",
        "Baldoni et al. 2005, §II, Fig. 1",
        choices=("subscription", "message"),
    )
    heartbeat_s: float = param(1.0, "time between two heartbeats", "ours (R2)", unit="s", low=0.05, high=3600)
    missed: int = param(3, "heartbeats missed before a neighbour is gone", "ours (R2)", low=1, high=100)
    filters: int = param(1024, "filters kept for each tree neighbour", "ours", low=1)
    seen: int = param(4096, "events a node remembers", "ours", low=1)
    doubt: bool = param(False, "whether a count that the parent does not reach is given up", "ours (R10)")


# ---------------------------------------------------------------------------------------------------------- protocol


@final
class SubTree(Protocol):
    params_class: ClassVar[type[Params]] = SubTreeParams
    frames: ClassVar[tuple[type[Frame], ...]] = (Heartbeat, Join, Subscribe, EventFrame)

    def __init__(self, host: Host, params: SubTreeParams) -> None:
        super().__init__(host, params)
        self.params = params
        self.advertises = params.mode == "subscription"
        self.heartbeat_us = round(params.heartbeat_s * 1_000_000)
        self.gone_us = self.heartbeat_us * params.missed
        self.subscriptions = Subscriptions()
        self.place = Place(host.id, params.doubt)
        self.heartbeat_timer = HeartbeatTimer(host, self.heartbeat_us)
        self.link_quality = LinkQuality(host, self.heartbeat_us, self.gone_us)
        self.neighbours: dict[int, Neighbour] = {}
        self.links = TreeLinks(host, params.filters, self.advertises, params)
        self.seen: dict[int, None] = {}
        self.attached_us = 0
        self.former_parent = NOBODY
        self.will_sync = False

    # ---- coming up, and the heartbeat

    def on_start(self) -> None:
        """A node that was down is out of its tree, whatever its tables say; its labels and events still count."""
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
            self.links.advertise_all(removals=False)

    def tick(self) -> None:
        now = self.host.now()
        self.forget_silent()
        if self.place.is_root():
            self.place.count += 1
        elif self.place.is_stale(now, self.gone_us, self.heartbeat_us):
            self.place.mark_root_dead()
            self.lose_parent()
        self.links.tidy()
        self.links.advertise_all(removals=True)
        self.send_heartbeat()
        self.heartbeat_timer.schedule_next()

    def send_heartbeat(self) -> None:
        place = self.place
        listed: list[int] = []
        for link in self.links.by_peer.values():
            listed.append(link.peer)
            listed.append(link.received_version)
        self.heartbeat_timer.send(Heartbeat(place.tree, place.count, place.level, place.parent, listed))

    def forget_silent(self) -> None:
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
            if self.links.receive(frame, sender):
                self.sync_soon()
        elif isinstance(frame, Join):
            self.on_join(sender)

    def on_heartbeat(self, heartbeat: Heartbeat, sender: int) -> None:
        neighbour = self.neighbours.get(sender)
        if neighbour is None:
            if len(self.neighbours) >= MAX_NEIGHBOURS:
                return
            neighbour = Neighbour(sender)
            self.neighbours[sender] = neighbour
        self.link_quality.record(neighbour, heartbeat)
        if sender == self.place.parent:
            self.on_parents_heartbeat(neighbour)
            self.read_receipt(heartbeat, sender)
        elif heartbeat.parent == self.host.id:
            self.add_link(sender)
            self.read_receipt(heartbeat, sender)
        elif sender in self.links.by_peer:
            self.lose_child(sender)
        self.consider(neighbour)

    def on_parents_heartbeat(self, parent: Neighbour) -> None:
        place = self.place
        if place.is_overtaken(parent.tree, parent.count):
            return
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

    def read_receipt(self, heartbeat: Heartbeat, sender: int) -> None:
        """Which version has arrived. A parent that does not list this node gets another Join."""
        link = self.links.by_peer.get(sender)
        if link is None:
            return
        version = heartbeat.version_of(self.host.id)
        if version is not None:
            self.links.acknowledge(link, version, self.neighbours[sender].heard_us - SYNC_US)
        elif sender == self.place.parent and self.host.now() - self.attached_us > self.heartbeat_us:
            self.attached_us = self.host.now()
            self.host.send(sender, Join())
            link.from_scratch = True

    # ---- the tree

    def is_better(self, tree: int) -> bool:
        """Whether a tree is better than this node's: the root with the lower id is (R1)."""
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
            self.attach_below(neighbour)

    def best_parent(self) -> Neighbour | None:
        candidates = [neighbour for neighbour in self.neighbours.values() if self.may_be_parent(neighbour)]
        return min(candidates, key=self.rank, default=None)

    def rank(self, neighbour: Neighbour) -> tuple[bool, bool, int, bool, int, int]:
        return (
            self.link_quality.is_doubtful(neighbour),
            neighbour.tree != self.place.tree,
            root_of(neighbour.tree),
            self.link_quality.is_faint(neighbour),
            neighbour.level,
            neighbour.id,
        )

    def attach_below(self, parent: Neighbour) -> None:
        old = self.place.parent
        if old != NOBODY and old != parent.id:
            self.former_parent = old
            self.links.drop(old)
        has_moved = parent.tree != self.place.tree
        self.attached_us = self.host.now()
        self.place.attach(parent.id, parent.tree, parent.count, parent.level, self.attached_us)
        self.host.note(JOINED, peer=parent.id, value=self.place.level)
        self.host.send(parent.id, Join())
        self.links.drop(parent.id)
        self.add_link(parent.id)
        if has_moved:
            self.heartbeat_timer.send_soon()

    def change_parent(self) -> None:
        other = self.best_parent()
        if other is not None and other.tree == self.place.tree and not self.link_quality.is_leaving(other):
            self.attach_below(other)

    def lose_parent(self) -> None:
        """Take another neighbour of the tree, or of the next best one; if there is none, lead the children."""
        lost, place = self.place.parent, self.place
        self.host.note(LOST_PARENT, peer=lost)
        place.lose_parent()
        self.former_parent = lost
        self.links.drop(lost)
        self.link_quality.mark_failed(self.neighbours.get(lost))
        parent = self.best_parent()
        if parent is not None:
            self.attach_below(parent)
            return
        self.host.note(LEADS)
        place.lead(tree_name(self.host.id, self.host.random()))
        self.heartbeat_timer.send_soon()

    def on_join(self, sender: int) -> None:
        if sender == self.place.parent:
            self.lose_parent()  # it is below this node now
        self.links.drop(sender)
        self.add_link(sender)

    def add_link(self, peer: int) -> None:
        if self.links.add(peer):
            self.sync_soon()

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
        """An event did not reach the former parent: the present one gets it, whatever it has advertised (R5)."""
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
        if self.advertises:
            self.links.filters.add(filter, self.links.filters.sets_of(OWN))
            self.sync_soon()

    def on_unsubscribe(self, subscription: int) -> None:
        filter = self.subscriptions.get(subscription)
        self.subscriptions.remove(subscription)
        if filter is not None and self.advertises:
            self.links.filters.remove(filter, self.links.filters.sets_of(OWN))

    def sync_soon(self) -> None:
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
            why = self.links.reason_to_send(link, frame.event)
            if why:
                is_wanted = True
                self.host.note(why, frame.id, link.peer)
                self.host.send(link.peer, frame)
        if not is_wanted:
            self.host.note(UNWANTED, frame.id)

    def memory(self) -> tuple[int, int]:
        return self.links.memory()
