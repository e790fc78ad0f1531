"""Tree groups (Li, Khan, Li 2013).

Nodes form small trees, the groups. The root of a tree is the leader of the group. Every node keeps a Bloom bitmap of
its own subscriptions and one for each child's branch, and sends their union to its parent. So an event goes up to the
leader and, on the way, down every branch whose bitmap it passes. Nodes that hear another group are gateways. What they
know goes up to the leader like the bitmaps, and the leader sends an event to each adjacent group through the gateway
that is closest to it. A node that no longer hears its parent looks for another one, of the same group if possible.

Each node broadcasts a heartbeat once a second. It contains the node's place (kit/tree.py explains how that keeps trees
free of loops), whether the group is open for merging, the size of the sender's branch, and for each child the versions
of its bitmap and gateway records that have arrived. A child sends them when they change, and again until they have
arrived.

This file has the heartbeats and hands every frame to the part that it concerns:
  membership.py  joining, Algorithm 1 (§3.1), repair (§3.4)
  leader.py      the weight of a leader (§3.1)      merging.py        which groups merge, which leader stays (§3.1)
  index.py       bitmaps and records (§3.2)         gateways.py       ways to the adjacent groups (§3.3)
  routing.py     events on their way (§3.2, §3.3)   bloom_routing.py  keys and bitmaps (§3.2, §3.5)
  tables.py      neighbours and children            kit/tree.py       places, heartbeats, link quality (§3.4)
  frames.py      the frames                         params.py         the parameters

Readings, one test each:
  R1  bitmaps have 1024 bits and 4 hashes: the paper gives neither.
  R2  the heartbeat period is 1 s. It varies by a tenth either way; otherwise neighbours whose heartbeats collide once
      would always collide. A node that is not heard for `missed` periods is gone. A tree is gone, too, if its root's
      count has stopped for one more period and one for each level; so is a child if only its request was heard.
  R3  the four weighing factors are 0.25, and every term is in [0, 1]: P_A is what the battery has left; s the mean
      strength of the neighbours' heartbeats between −95 dBm (0) and −45 dBm (1), 0.5 where the radio does not measure
      it; C_L the share of pairs of neighbours that are neighbours; Δdd, which the paper only names, the number of nodes
      that one transmission reaches over the largest such number among the node and its neighbours. Both need the
      neighbours' neighbours, so all nodes list their neighbours in every heartbeat, with a group or without: a node
      that loses its group knows its weight at once, and nodes in a group count for those that look for one.
  R4  §3.2 sends an event to the parent "if neither of them matches". Taken literally, one subscriber near the
      publisher keeps the event from all others, against §3.3 ("interested subscribers all over the network"). So our
      default is that an event always goes up to the leader; `climb="unmatched"` is the literal rule.
  R5  only a node that looks for a parent sends Algorithm 1's request, and the answer is a frame of its own. The
      heartbeat of a node with a group contains group and level, and its request would contain nothing else. A node
      without a group that hears it sends a request (lines 4 and 5), and a node of another group becomes a gateway
      (§3.1), on both sides.
  R6  line 5 does not check the level of N1: here N1 gets a request and checks it in its own line 1. In line 7 the
      higher weight leads, and between equals the lower id. An N0 at the maximum level stays where it is and N1 leads a
      group alone.
  R7  "capable of being a leader": a node without a group offers itself after (1 − W) · `election_s`, so that in the
      whole network the best ones go first, if no neighbour without a group has a higher weight. A new node listens for
      a heartbeat period before.
  R8  "preferred levels": a new node takes a place down to that level if there is one; otherwise it tries to lead before
      it goes deeper. A group that has as many levels is saturated and does not merge.
  R9  a leader without members counts as a node that looks for a group; of two such neighbours the higher id joins.
  R10 balance is measured by the depth of the merged tree, estimated as level of the boundary node + depth of its
      group + 1 + level of its peer. The leader that makes it shallower leads; then the one with more members, then the
      lower name. The paper gives no limit of members: `max_members`.
  R11 a group merges by turning a branch: the boundary node attaches to its peer and then requests its old parent to
      attach below it, and so on up to the old leader. All other nodes follow their parents.
  R12 "local" events stay in the publisher's group or go to "a few adjacent groups" (§3.3), without a number:
      `local_groups` is how many groups away; its default, 1, is ours.
  R13 an event carries the groups that it has come through and those that leaders have sent it to. No leader sends it
      to one of them again. If it carried only those it came through, the same delivery would cost a sixth more frames
      (2 m/s).
  R14 a node that has no parent when an event must go up keeps it for `hold_s` (the paper does not mention this case):
      repair takes milliseconds when a neighbour can take over. A node that restarts drops the events that waited.
  R15 a node moves up when a neighbour of its group would put it at least two levels higher. The paper balances trees
      only when they are built and merged; without this rule, repair makes them deep. One level is not worth the frames.
  R16 a gateway that has lost the other group gives the event back to its parent, which looks for another way, and so
      on up to the leader; every node does so once for each event and group. The paper does not say what happens.
  R17 a parent that is leaving (kit/tree.py) is replaced by another one of the group before it is lost; the paper waits.
      No node takes a leaving neighbour as parent or peer if there is another.
  R18 a gateway whose peers are all faint (kit/tree.py) counts as farther from the leader than any other.
  R19 "stale" events lose value (§3.3), and the paper says no more: an event past its validity is neither delivered nor
      forwarded, also when it expired while it waited for a parent or did not get through. Its frames carry its age.
  R20 a node takes an event from any sender, but the groups that it is meant for only from its parent, on the way down,
      and from a child that gives it back: the tree is the only way that the paper sends events to gateways. Two nodes
      can disagree for a moment whether one is the other's child, and then the groups are lost. The paper has no such
      check; `strangers="believed"` does without it.
  R21 a node that has once heard a count of its tree believes it, as the paper has no node that lies. With `doubt`,
      which real nodes have, a count is given up when the parent's heartbeats go on below it (kit/tree.py): otherwise
      one frame of a member with a high count would keep a node out of its group until the leader gets there.
"""

from __future__ import annotations

from typing import ClassVar, final

from roamcast.protocols.kit.interface import NOBODY, Frame, Host, Params, Protocol
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.protocols.kit.tree import MAX_NEIGHBOURS, NO_TREE, TICK, HeartbeatTimer
from roamcast.protocols.treegroup.frames import (
    MAX_CHILDREN,
    Accept,
    Bitmap,
    Gateway,
    GroupEvent,
    Heartbeat,
    Join,
    Propose,
    Turn,
    Welcome,
)
from roamcast.protocols.treegroup.index import Index
from roamcast.protocols.treegroup.membership import ANSWER, Membership
from roamcast.protocols.treegroup.merging import Merging
from roamcast.protocols.treegroup.params import TreeGroupParams
from roamcast.protocols.treegroup.routing import Routing
from roamcast.protocols.treegroup.tables import Child, GroupNeighbour, Tables
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter


@final
class TreeGroup(Protocol):
    params_class: ClassVar[type[Params]] = TreeGroupParams
    wants_battery = True
    frames: ClassVar[tuple[type[Frame], ...]] = (
        Heartbeat,
        Join,
        Welcome,
        Bitmap,
        Gateway,
        Propose,
        Accept,
        Turn,
        GroupEvent,
    )

    def __init__(self, host: Host, params: TreeGroupParams) -> None:
        super().__init__(host, params)
        self.params = params
        tables = Tables(host, params)
        self.place = tables.place
        self.link_quality = tables.link_quality
        self.neighbours = tables.neighbours
        self.children = tables.children
        self.heartbeat_us = tables.heartbeat_us
        self.heartbeat_timer = HeartbeatTimer(host, self.heartbeat_us)
        self.subscriptions = Subscriptions()
        self.merging = Merging(tables)
        self.index = Index(tables)
        self.routing = Routing(tables, self.index, self.subscriptions)
        self.membership = Membership(tables, self.merging, self.index, self.routing, self.heartbeat_timer)

    # ---- what the host calls

    def on_start(self) -> None:
        """The events that a node remembers still count."""
        self.index.forget_routes()
        self.routing.restart()
        self.membership.restart()
        self.heartbeat_timer.start()

    def on_timer(self, key: int) -> None:
        if key == TICK:
            self.tick()
        elif key == ANSWER:
            self.membership.no_answer()

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, GroupEvent):
            self.routing.on_event(frame, sender)
        elif isinstance(frame, Heartbeat):
            self.on_heartbeat(frame, sender)
        elif isinstance(frame, Join):
            self.membership.on_join(frame, sender)
        elif isinstance(frame, Welcome):
            self.membership.on_welcome(frame, sender)
        elif isinstance(frame, Bitmap):
            self.on_bitmap(frame, sender)
        elif isinstance(frame, Gateway):
            self.on_gateway(frame, sender)
        elif isinstance(frame, Propose):
            self.on_propose(frame)
        elif isinstance(frame, Accept):
            self.on_accept(frame)
        elif isinstance(frame, Turn):
            self.on_turn(sender)

    def on_publish(self, event: Event) -> None:
        self.routing.publish(event)

    def on_undelivered(self, frame: Frame, to: int) -> None:
        if self.link_quality.should_retry(self.neighbours.get(to)):
            self.host.send(to, frame)
            return
        if to in self.children:
            self.membership.lose_child(to)
        if isinstance(frame, GroupEvent):
            self.routing.undelivered(frame, to)
        if to == self.membership.requested and isinstance(frame, Join):
            self.host.cancel_timer(ANSWER)
            self.membership.no_answer()
        elif to == self.place.parent:
            self.membership.lose_parent()
        if self.place.is_attached():
            self.routing.send_waiting()

    # ---- heartbeats

    def tick(self) -> None:
        now = self.host.now()
        self.forget_silent()
        if self.place.is_root():
            self.place.count += 1
            self.membership.is_open = self.merging.is_open()
            self.propose_merge()
        elif self.place.is_stale(now, self.link_quality.gone_us, self.heartbeat_us):
            self.place.mark_root_dead()
            self.membership.lose_parent()
        if self.membership.needs_group():
            self.membership.find_group(now)
        self.index.find_routes()
        self.index.advertise(False)
        self.routing.drop_late()
        self.membership.send_heartbeat()
        self.heartbeat_timer.schedule_next()

    def forget_silent(self) -> None:
        gone = self.link_quality.silent(self.neighbours.values())
        for id in gone:
            del self.neighbours[id]
            self.membership.candidacy.neighbours_changed()
            if id in self.children:
                self.membership.lose_child(id)
        for child in list(self.children.values()):
            if child.id not in self.neighbours and self.host.now() - child.since_us > self.link_quality.gone_us:
                self.membership.lose_child(child.id)  # after its request to be one, it was never heard again
        if self.place.parent in gone:
            self.membership.lose_parent()

    def on_heartbeat(self, heartbeat: Heartbeat, sender: int) -> None:
        neighbour = self.neighbours.get(sender)
        if neighbour is None:
            if len(self.neighbours) >= MAX_NEIGHBOURS:
                return
            neighbour = GroupNeighbour(sender)
            self.neighbours[sender] = neighbour
            self.membership.candidacy.neighbours_changed()
        self.link_quality.record(neighbour, heartbeat)
        if neighbour.update(heartbeat):
            self.membership.candidacy.lists_changed()
        if sender == self.place.parent:
            self.on_parents_heartbeat(heartbeat, sender)
        elif heartbeat.parent == self.host.id:
            self.on_childs_heartbeat(heartbeat, sender)
        elif sender in self.children:
            self.membership.lose_child(sender)
        if self.membership.requested == NOBODY and heartbeat.tree != NO_TREE:
            self.membership.consider(neighbour)

    def on_parents_heartbeat(self, heartbeat: Heartbeat, sender: int) -> None:
        place = self.place
        if place.is_overtaken(heartbeat.tree, heartbeat.count):
            return
        if (
            heartbeat.tree == NO_TREE
            or heartbeat.parent == self.host.id
            or heartbeat.level >= self.params.max_level
            or not place.may_attach_below(heartbeat.tree, heartbeat.count, heartbeat.level)
        ):
            self.membership.lose_parent()
            return
        has_new_tree = heartbeat.tree != place.tree
        place.attach(sender, heartbeat.tree, heartbeat.count, heartbeat.level, self.host.now())
        self.membership.is_open = heartbeat.open
        if has_new_tree:
            self.membership.tree_changed()
        self.read_receipt(heartbeat, sender)
        if self.membership.requested == NOBODY and self.link_quality.is_leaving(self.neighbours[sender]):
            self.membership.change_parent()

    def read_receipt(self, heartbeat: Heartbeat, sender: int) -> None:
        """Which versions the parent has received from this node. If it does not list this node, it gets a request."""
        versions = heartbeat.versions_of(self.host.id)
        if versions is not None:
            self.index.acknowledge(versions[0], versions[1])
        elif self.membership.requested == NOBODY and self.host.now() - self.membership.attached_us > self.heartbeat_us:
            self.membership.request(sender)

    def on_childs_heartbeat(self, heartbeat: Heartbeat, sender: int) -> None:
        child = self.children.get(sender)
        if child is None:
            if len(self.children) >= MAX_CHILDREN or not self.place.is_attached():
                return
            child = Child(sender, self.host.now())
            self.children[sender] = child
        child.members = heartbeat.members
        child.depth = heartbeat.depth

    # ---- merging (§3.1)

    def propose_merge(self) -> None:
        """The leader proposes it to another one, unless its group has no other members: then it joins a group (R9)."""
        if self.membership.is_open and not self.membership.is_alone():
            proposal = self.merging.proposal(self.index.routes)
            if proposal is not None:
                self.on_propose(proposal)

    def on_propose(self, frame: Propose) -> None:
        accept = self.merging.pass_on(frame)
        if accept is not None:
            self.on_accept(accept)

    def on_accept(self, frame: Accept) -> None:
        if frame.turner == self.host.id:
            self.membership.turn(frame.below)
        elif frame.route:
            self.host.send(frame.route[-1], Accept(frame.turner, frame.below, frame.route[:-1]))

    def on_turn(self, sender: int) -> None:
        if sender in self.children:
            self.membership.turn(sender)

    # ---- the index (§3.2) and gateways (§3.3)

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.subscriptions.add(subscription, filter)
        self.index.subscribe(filter)
        self.index.advertise(True)

    def on_unsubscribe(self, subscription: int) -> None:
        self.subscriptions.remove(subscription)
        self.index.rebuild(self.subscriptions.all)

    def on_bitmap(self, frame: Bitmap, sender: int) -> None:
        child = self.children.get(sender)
        if child is not None and self.index.store_bitmap(frame, child):
            self.index.advertise(True)

    def on_gateway(self, frame: Gateway, sender: int) -> None:
        child = self.children.get(sender)
        if child is not None:
            self.index.store_records(frame, child)
            self.index.advertise_records()

    def memory(self) -> tuple[int, int]:
        return self.index.memory()
