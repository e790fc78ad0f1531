"""Tree groups (Li, Khan, Li; 004_f38ff0266e7816c4).

Nodes form small trees, the groups. A group's root is its leader. Every node keeps a Bloom bitmap of its own
subscriptions and one for each child's branch, and sends their union to its parent; so an event goes up to the leader
and, on the way, down every branch whose bitmap it passes. Nodes that hear another group are gateways; what they know
goes up to the leader like the bitmaps do, and the leader sends an event on to each adjacent group through the gateway
closest to it. Heartbeats say who is there; who loses its parent finds another, of the same group if it can.

Everything hangs on one broadcast heartbeat a second. It tells a node's place (tree.py says how that keeps trees free of
loops), whether the group is open for merging, the size of the sender's branch, and for each child which bitmap and
which gateway records have arrived: a child sends a bitmap when it changed, and again until it sees that.

Below, the protocol in the order of the paper's sections: groups and merging (§3.1), the index (§3.2), gateways and
events (§3.2, §3.3), repair (§3.4). What has a room of its own:
  treegroup_frames.py    the frames                      treegroup_leader.py    the weight of a leader (§3.1)
  treegroup_params.py    the parameters                  treegroup_merging.py   who merges, and who leads then (§3.1)
  treegroup_tables.py    neighbours, children, events    treegroup_gateways.py  ways to the adjacent groups (§3.3)
  bloom_routing.py       keys and bitmaps (§3.2, §3.5)   tree.py                places, heartbeats, whom to trust (§3.4)

Readings, one test each:
  R1  bitmaps have 1024 bits and 4 hashes: the paper gives neither.
  R2  the heartbeat period is 1 s; it varies by a tenth either way, so that neighbours whose heartbeats collide once do
      not collide for ever. Who is not heard for `missed` periods is gone; a tree whose root's count stands still for
      one period more and one for each level is gone too.
  R3  the four weighing factors are 0.25, and every term is in [0, 1]: P_A is what the battery has left; s the mean
      strength of the neighbours' heartbeats between −95 dBm (0) and −45 dBm (1), 0.5 where the radio does not tell; C_L
      the share of pairs of neighbours that are neighbours; Δdd, of which the paper says only the name, the number of
      nodes that one transmission reaches over the largest such number among the node and its neighbours.
  R4  §3.2 sends an event to the parent "if neither of them matches". Read to the letter, one subscriber near the
      publisher keeps the event from all others, against §3.3 ("interested subscribers all over the network"). So by
      default an event always goes up to the leader; `climb="unmatched"` is the letter.
  R5  only a node that looks for a parent sends Algorithm 1's request, and the answer is a frame of its own. A node with
      a group tells group and level in every heartbeat, which is all that its request would tell: who has no group and
      hears it asks (lines 4 and 5), and who has another one becomes a gateway (§3.1), on both sides.
  R6  line 5 does not look at N1's level: here N1 is asked, and its line 1 does. In line 7 the higher weight leads, and
      between equals the lower id. An N0 at the maximum level stays where it is and N1 leads a group alone.
  R7  "capable of being a leader": a node without a group offers itself after (1 − W) · `election_s`, so that in the
      whole network the best ones go first, if no neighbour without a group has a higher weight. A new node listens for
      a heartbeat period before.
  R8  "preferred levels": a new node takes a place down to that level if there is one and else tries to lead before it
      goes deeper. A group that has so many levels is saturated and merges with nobody.
  R9  a leader without members counts as a node that looks for a group; of two such neighbours the higher id joins.
  R10 balance is measured by the depth of the merged tree, estimated as level of the boundary node + depth of its
      group + 1 + level of its peer. The one that makes it shallower leads; then the one with more members, then the
      lower name. The paper gives no limit of members: `max_members`.
  R11 a group merges by turning: the boundary node hangs itself below its peer, then asks its old parent to hang below
      it, and so on up to the old leader. All others follow their parents.
  R12 "local" events stay in the publisher's group or go to a few adjacent ones (§3.3): `local_groups` says how many
      groups away.
  R13 an event tells the groups it has come through and those that leaders have sent it to; no leader sends it to one of
      them again. Kept only from the groups it came through, it cost a sixth more frames for the same delivery (2 m/s).
  R14 who has no parent when an event must go up keeps it for `hold_s`, which the paper does not mention: repair takes
      milliseconds when a neighbour can take over.
  R15 a node moves up when a neighbour of its group would put it at least two levels higher. The paper balances trees
      only when they are built and merged; without this they grow deep by repair. One level is not worth the frames.
  R16 a gateway that has lost the other group gives the event back to its parent, which looks for another way, and so
      on up to the leader; every node does so once for each event and group. The paper does not say what happens.
  R17 a parent that is leaving (tree.py) is changed for another one of the group before it is lost; the paper waits.
      Nobody takes a leaving neighbour for parent or peer where there is another.
  R18 a gateway whose peers are all faint (tree.py) counts as farther from the leader than any other.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, final

from roamcast.protocols.bloom_routing import event_masks, filter_bitmap, passes
from roamcast.protocols.interface import NOBODY, Frame, Host, Params, Protocol, reason
from roamcast.protocols.store import Subscriptions
from roamcast.protocols.tree import MAX_NEIGHBOURS, NO_TREE, TICK, Hearing, Heart, Place, tree_name
from roamcast.protocols.treegroup_frames import (
    ACROSS,
    DOWN,
    MAX_CHILDREN,
    MAX_GROUPS,
    MAX_LISTED,
    REACH_MAX,
    UP,
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
from roamcast.protocols.treegroup_gateways import closest_gateways, peer_in
from roamcast.protocols.treegroup_leader import WEIGHT_UNIT, is_better, is_capable, leader_weight
from roamcast.protocols.treegroup_merging import Merging
from roamcast.protocols.treegroup_params import TreeGroupParams
from roamcast.protocols.treegroup_tables import (
    ANSWER_US,
    Child,
    Member,
    Passage,
    Record,
    Told,
    branch_depth,
    branch_members,
    receipts,
)
from roamcast.pubsub.event import LOCAL, Event
from roamcast.pubsub.filters import Filter

ANSWER: Final = 2
"""The timer of the patience with somebody who was asked to be the parent; TICK is the one of the next heartbeat."""

ANYBODY: Final = -2
"""Who was asked, when it was everybody in reach."""

RECORD_BYTES: Final = 16
"""Two ids of four bytes, a tree of six, a level and `open`."""

LEADS: Final = reason("note", "leads", "no tree to join: it leads one of its own")
JOINED: Final = reason("note", "joined", "hangs below {peer} at level {value}")
ADMITTED: Final = reason("note", "admitted", "{peer} is a child now")
REFUSED: Final = reason("note", "refused", "{peer} cannot hang here: level {value}")
LOST_PARENT: Final = reason("note", "lost parent", "{peer} is gone, or is no good parent any more")
LOST_CHILD: Final = reason("note", "lost child", "{peer} is no child any more")
ORPHANED: Final = reason("note", "orphaned", "no neighbour can be the parent: the {value} children are told")

CLIMBED: Final = reason("forward", "to parent", "{event} goes up to {peer}")
BRANCHED: Final = reason("forward", "to child", "{event} passes the bitmap of {peer}")
TO_GATEWAY: Final = reason("forward", "to gateway", "{event} goes down to a gateway by {peer}")
CROSSED: Final = reason("forward", "to group", "{event} crosses to the group of {peer}")
HELD: Final = reason("delay", "no parent", "{event} waits for a parent")
NO_BRANCH: Final = reason("suppress", "no branch", "{event}: no bitmap here passes it")
GAVE_BACK: Final = reason("forward", "gave back", "{event}: no way to a group any more, {peer} is to find another")
FAR_ENOUGH: Final = reason("suppress", "far enough", "{event} is local and goes no farther")
NO_LINK: Final = reason("drop", "no link", "{event}: nobody of that group is in reach")
NEVER_LEFT: Final = reason("drop", "no parent", "{event} found no parent in time")
LOST_DOWN: Final = reason("drop", "lost child", "{event} did not reach {peer}")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")


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

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        if not isinstance(params, TreeGroupParams):
            raise TypeError("TreeGroup takes TreeGroupParams")
        self.params = params
        self.heartbeat_us = round(params.heartbeat_s * 1_000_000)
        self.gone_us = self.heartbeat_us * params.missed
        self.hold_us = round(params.hold_s * 1_000_000)
        self.local = 0  # the bitmap of this node's own subscriptions
        self.subscriptions = Subscriptions()
        self.place = Place(host.id)
        self.heart = Heart(host, self.heartbeat_us)
        self.hearing = Hearing(host, self.heartbeat_us, self.gone_us)
        self.neighbours: dict[int, Member] = {}
        self.children: dict[int, Child] = {}
        self.merging = Merging(host, params, self.place, self.hearing, self.neighbours, self.children)
        self.routes: dict[int, Record] = {}  # adjacent group -> the gateway closest to the leader
        self.passages: dict[int, Passage] = {}
        self.waiting: list[Passage] = []
        self.new = True
        self.open = False
        self.since_us = 0  # without a group since
        self.hung_us = 0
        self.asked = NOBODY
        self.is_turning = False
        self.bitmap_sent = 0
        self.bitmap_told = Told()
        self.records_sent: list[list[Any]] = []
        self.records_told = Told()

    # ---- coming up, and the heartbeat

    def on_start(self) -> None:
        """A node that was down is out of its tree, whatever it remembers; its labels and events still count."""
        now = self.host.now()
        self.place.leave()
        self.neighbours.clear()
        self.children.clear()
        self.routes.clear()
        self.waiting.clear()
        self.new = True
        self.asked = NOBODY
        self.is_turning = False
        self.since_us = now
        self.host.cancel_timer(ANSWER)
        self.heart.start()

    def on_timer(self, key: int) -> None:
        if key == TICK:
            self.tick()
        elif key == ANSWER:
            self.no_answer()

    def tick(self) -> None:
        now = self.host.now()
        self.forget_the_silent()
        if self.place.is_root():
            self.place.count += 1
            self.open = self.merging.is_open()
            self.merge()
        elif self.place.is_stale(now, self.gone_us, self.heartbeat_us):
            self.place.bury()
            self.lose_parent()
        if self.asked == NOBODY and (not self.place.is_settled() or self.is_lone()):
            self.look_for_a_group(now)
        self.find_routes()
        self.tell_parent(False)
        self.drop_the_late(now)
        self.beat()
        self.heart.rest()

    def beat(self) -> None:
        place = self.place
        grouped = place.tree != NO_TREE
        self.heart.beat(
            Heartbeat(
                place.tree,
                place.count,
                place.level,
                place.parent,
                0 if grouped else self.weight(),
                self.open,
                branch_members(self.children),
                branch_depth(self.children),
                receipts(self.children),
                [] if grouped else sorted(self.neighbours)[:MAX_LISTED],
            )
        )

    def forget_the_silent(self) -> None:
        gone = self.hearing.silent(self.neighbours.values())
        for id in gone:
            del self.neighbours[id]
            if id in self.children:
                self.lose_child(id)
        if self.place.parent in gone:
            self.lose_parent()

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, GroupEvent):
            self.on_event(frame, sender)
        elif isinstance(frame, Heartbeat):
            self.on_heartbeat(frame, sender)
        elif isinstance(frame, Join):
            self.on_join(frame, sender)
        elif isinstance(frame, Welcome):
            self.on_welcome(frame, sender)
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

    def on_heartbeat(self, beat: Heartbeat, sender: int) -> None:
        neighbour = self.neighbours.get(sender)
        if neighbour is None:
            if len(self.neighbours) >= MAX_NEIGHBOURS:
                return
            neighbour = Member(sender)
            self.neighbours[sender] = neighbour
        self.hearing.hear(neighbour, beat)
        neighbour.learn(beat)
        if sender == self.place.parent:
            self.on_parents_heartbeat(beat, sender)
        elif beat.parent == self.host.id:
            self.on_childs_heartbeat(beat, sender)
        elif sender in self.children:
            self.lose_child(sender)
        if self.asked == NOBODY and beat.tree != NO_TREE:
            self.consider(neighbour)

    def on_parents_heartbeat(self, beat: Heartbeat, sender: int) -> None:
        place = self.place
        if beat.tree == place.tree and beat.count < place.count:
            return  # overtaken by a later one
        if (
            beat.tree == NO_TREE
            or beat.parent == self.host.id
            or beat.level >= self.params.max_level
            or not place.may_hang_below(beat.tree, beat.count, beat.level)
        ):
            self.lose_parent()
            return
        moved = beat.tree != place.tree
        place.hang(sender, beat.tree, beat.count, beat.level, self.host.now())
        self.open = beat.open
        if moved:
            self.has_moved()
        self.read_receipt(beat, sender)
        if self.asked == NOBODY and self.hearing.is_leaving(self.neighbours[sender]):
            self.change_parent()

    def read_receipt(self, beat: Heartbeat, sender: int) -> None:
        """What the parent has from this node; a parent that does not know its child is asked again."""
        versions = beat.versions_of(self.host.id)
        if versions is not None:
            self.bitmap_told.known, self.records_told.known = versions
        elif self.asked == NOBODY and self.host.now() - self.hung_us > self.heartbeat_us:
            self.ask(sender)

    def on_childs_heartbeat(self, beat: Heartbeat, sender: int) -> None:
        child = self.children.get(sender)
        if child is None:
            if len(self.children) >= MAX_CHILDREN or not self.place.is_settled():
                return
            child = Child(sender)
            self.children[sender] = child
        child.members = beat.members
        child.depth = beat.depth

    # ---- finding a group (§3.1)

    def weight(self) -> int:
        return leader_weight(self.params, self.host.battery(), self.neighbours)

    def is_capable(self) -> bool:
        return is_capable(self.weight(), self.host.id, self.neighbours)

    def look_for_a_group(self, now: int) -> None:
        parent = self.best_parent()
        is_deep = self.new and parent is not None and parent.level >= self.params.preferred_levels  # R8
        if parent is not None and not is_deep:
            self.ask(parent.id)
            return
        patience_us = self.patience_us()
        if self.place.is_root() or now - self.since_us < patience_us:
            return
        is_late = now - self.since_us > patience_us + 2 * self.heartbeat_us  # the better leaders do not lead
        if parent is not None and is_late:
            self.ask(parent.id)
        elif parent is not None and self.is_capable():
            self.lead()
        elif self.is_capable() or is_late:
            self.offer()

    def patience_us(self) -> int:
        """How long a node without a group waits before it leads one (R7)."""
        wait = max(0.0, 1.0 - self.weight() / WEIGHT_UNIT) * self.params.election_s * 1_000_000
        return int(wait) + (self.heartbeat_us if self.new else 0)

    def offer(self) -> None:
        """Ask whoever is there; if nobody answers, lead."""
        self.asked = ANYBODY
        self.host.broadcast(Join(self.weight()))
        self.host.set_timer(ANSWER, ANSWER_US)

    def ask(self, neighbour: int) -> None:
        self.asked = neighbour
        self.host.send(neighbour, Join(self.weight()))
        self.host.set_timer(ANSWER, ANSWER_US)

    def no_answer(self) -> None:
        asked, self.asked = self.asked, NOBODY
        self.is_turning = False
        if asked == NOBODY:
            return
        if asked == ANYBODY:
            self.lead()
            return
        self.hearing.fails(self.neighbours.get(asked))
        if asked == self.place.parent:
            self.lose_parent()
        elif not self.place.is_settled():
            self.find_parent()

    def lead(self) -> None:
        self.host.note(LEADS, value=self.weight())
        self.host.cancel_timer(ANSWER)
        self.asked = NOBODY
        self.new = False
        self.place.lead(tree_name(self.host.id, self.host.random()))
        self.open = True
        self.merging.proposed_us = self.host.now()
        self.release()
        self.heart.hurry()

    def is_lone(self) -> bool:
        return self.place.is_root() and not self.children

    def on_join(self, join: Join, n1: int) -> None:
        """Algorithm 1: N0, which is this node, receives a group joining request from N1."""
        if n1 == self.place.parent:
            self.lose_parent()  # who looks for a parent has no place to offer
        if self.place.is_settled() and self.place.level < self.params.max_level:  # line 1
            self.admit(n1)  # line 2
        elif self.place.is_settled():
            self.host.note(REFUSED, peer=n1, value=self.place.level)
            self.host.send(n1, Welcome(NO_TREE, 0, 0))  # R6
        elif self.asked == NOBODY or self.asked == ANYBODY or self.asked == n1:
            self.create_a_group(join, n1)  # line 7

    def admit(self, n1: int) -> None:
        if len(self.children) >= MAX_CHILDREN:
            self.host.send(n1, Welcome(NO_TREE, 0, 0))
            return
        self.host.note(ADMITTED, peer=n1)
        if self.is_lone():
            self.asked = NOBODY  # it is no lone leader any more
            self.host.cancel_timer(ANSWER)
        self.children[n1] = Child(n1)
        self.welcome(n1)

    def welcome(self, n1: int) -> None:
        self.host.send(n1, Welcome(self.place.tree, self.place.count, self.place.level))

    def create_a_group(self, join: Join, n1: int) -> None:
        if is_better(self.weight(), self.host.id, join.weight, n1):
            self.lead()
            self.admit(n1)
        elif self.asked != n1:
            self.ask(n1)

    def on_welcome(self, welcome: Welcome, n0: int) -> None:
        if self.asked != n0 and self.asked != ANYBODY:
            return
        if welcome.level >= self.params.max_level or not self.place.may_hang_below(
            welcome.tree, welcome.count, welcome.level
        ):
            if self.asked == n0:
                self.host.cancel_timer(ANSWER)
                self.no_answer()
            return
        self.hang_below(n0, welcome)

    def hang_below(self, parent: int, welcome: Welcome) -> None:
        before = self.place.parent
        moved = welcome.tree != self.place.tree
        self.host.cancel_timer(ANSWER)
        self.asked = NOBODY
        self.new = False
        self.children.pop(parent, None)
        self.hung_us = self.host.now()
        self.place.hang(parent, welcome.tree, welcome.count, welcome.level, self.hung_us)
        self.host.note(JOINED, peer=parent, value=self.place.level)
        if moved:
            self.has_moved()
        self.bitmap_told.start_over()
        self.records_told.start_over()
        self.tell_parent(True)
        self.release()
        if self.is_turning:
            self.is_turning = False
            if before != NOBODY and before != parent:
                self.host.send(before, Turn())

    def has_moved(self) -> None:
        self.find_routes()
        self.heart.hurry()

    # ---- merging (§3.1)

    def merge(self) -> None:
        """The leader proposes to another, if this is not a group of one, which would rather join (R9)."""
        if self.open and not self.is_lone():
            proposal = self.merging.proposal(self.routes)
            if proposal is not None:
                self.on_propose(proposal)

    def on_propose(self, frame: Propose) -> None:
        accept = self.merging.pass_on(frame)
        if accept is not None:
            self.on_accept(accept)

    def on_accept(self, frame: Accept) -> None:
        if frame.turner == self.host.id:
            self.turn(frame.below)
        elif frame.route:
            self.host.send(frame.route[-1], Accept(frame.turner, frame.below, frame.route[:-1]))

    def on_turn(self, sender: int) -> None:
        if sender in self.children:
            self.turn(sender)

    def turn(self, below: int) -> None:
        """Hang below a node of the other group; then the old parent hangs below this one (R11)."""
        if self.asked == NOBODY and self.place.is_settled():
            self.is_turning = True
            self.ask(below)

    # ---- the index (§3.2)

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.subscriptions.add(subscription, filter)
        self.local |= filter_bitmap(filter, self.params.bits, self.params.hashes)
        self.tell_parent(True)

    def on_unsubscribe(self, subscription: int) -> None:
        self.subscriptions.remove(subscription)
        self.local = 0
        for filter in self.subscriptions.all:
            self.local |= filter_bitmap(filter, self.params.bits, self.params.hashes)

    def merged_bitmap(self) -> int:
        bitmap = self.local
        for child in self.children.values():
            bitmap |= child.bitmap
        return bitmap

    def on_bitmap(self, frame: Bitmap, sender: int) -> None:
        child = self.children.get(sender)
        bitmap = int.from_bytes(frame.bitmap, "little")
        if child is None or len(frame.bitmap) != (self.params.bits + 7) // 8 or bitmap >> self.params.bits:
            return
        child.bitmap = bitmap
        child.bitmap_version = frame.version
        self.tell_parent(True)

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
        size = (self.params.bits + 7) // 8
        self.host.send(self.place.parent, Bitmap(self.bitmap_told.version, self.bitmap_sent.to_bytes(size, "little")))

    # ---- gateways (§3.3)

    def find_routes(self) -> None:
        self.routes = closest_gateways(self.place, self.hearing, self.neighbours, self.children)

    def tell_records(self) -> None:
        records = [self.routes[tree].fields() for tree in sorted(self.routes)]
        if records != self.records_sent:
            self.records_sent = records
            self.records_told.change()
        elif not self.records_told.must_repeat(self.neighbours.get(self.place.parent)):
            return
        self.records_told.sent_us = self.host.now()
        self.host.send(self.place.parent, Gateway(self.records_told.version, records))

    def on_gateway(self, frame: Gateway, sender: int) -> None:
        child = self.children.get(sender)
        if child is None:
            return
        child.records = [Record(r[0], r[1], r[2], r[3], sender) for r in frame.records]
        child.records_version = frame.version
        self.find_routes()
        if self.place.parent != NOBODY:
            self.tell_records()

    # ---- events: intra-group (§3.2) and inter-group (§3.3) routing

    def on_publish(self, event: Event) -> None:
        reach = self.params.local_groups if event.scope == LOCAL else REACH_MAX
        masks = event_masks(event, self.params.bits, self.params.hashes)
        passage = self.remember(Passage(event, masks, reach, [], 0, self.host.now()))
        self.spread(passage, UP, NOBODY, [])

    def on_event(self, frame: GroupEvent, sender: int) -> None:
        event = frame.event
        if frame.age_us >= event.validity_us:
            self.host.note(EXPIRED, event.id)
            return
        passage = self.passages.get(event.id)
        if passage is not None:
            if frame.way == UP:
                self.try_another_way(passage, frame.targets)
            else:
                self.send_down(passage, {}, frame.targets)
            return
        masks = frame.masks
        if masks is None:
            masks = event_masks(event, self.params.bits, self.params.hashes)
        passage = Passage(event, masks, frame.reach, frame.groups, frame.age_us, self.host.now())
        self.remember(passage)
        self.deliver(event)
        self.spread(passage, frame.way, sender, frame.targets)

    def remember(self, passage: Passage) -> Passage:
        if len(self.passages) >= self.params.seen:
            del self.passages[next(iter(self.passages))]
        self.passages[passage.event.id] = passage
        self.host.mute(passage.event.id)
        return passage

    def deliver(self, event: Event) -> None:
        """The bitmap may be wrong, the subscriptions are not (§3.6)."""
        if event.publisher != self.host.id and self.subscriptions.match(event):
            self.host.deliver(event)

    def spread(self, passage: Passage, way: int, sender: int, targets: list[int]) -> None:
        """The first time an event is here: down every branch that it passes, and up unless it came from there."""
        branches: dict[int, list[int]] = {}
        for child in self.children.values():
            if child.id != sender and passes(child.bitmap, passage.masks):
                branches[child.id] = []
        matched = bool(branches) or passes(self.local, passage.masks)
        if way == DOWN:
            if not branches and not targets:
                self.host.note(NO_BRANCH, passage.event.id)
            self.send_down(passage, branches, targets)
        elif self.place.is_root():
            self.send_down(passage, branches, self.groups_to_tell(passage))
        else:
            self.send_down(passage, branches, [])
            if self.params.climb == "always" or not matched:  # R4
                self.climb(passage)

    def groups_to_tell(self, passage: Passage) -> list[int]:
        """The leader's choice: every adjacent group that was not told yet (R13)."""
        if passage.reach == 0:
            return []
        untold = [tree for tree in self.routes if tree not in passage.groups]
        passage.groups = [*passage.groups, self.place.tree, *untold][-MAX_GROUPS:]
        return untold

    def send_down(self, passage: Passage, branches: dict[int, list[int]], targets: list[int]) -> None:
        """To every child in `branches`, and towards the gateways of the groups in `targets`, one frame for each."""
        for tree in targets:
            route = self.routes.get(tree)
            if tree in passage.towards:
                continue
            passage.towards.append(tree)
            if route is None:
                self.give_back(passage, tree)
            elif route.via == NOBODY:
                self.cross(passage, tree)
            else:
                branches.setdefault(route.via, []).append(tree)
        for child, wanted in branches.items():
            self.host.note(TO_GATEWAY if wanted else BRANCHED, passage.event.id, child)
            self.host.send(child, passage.frame(DOWN, wanted, self.host.now()))

    def climb(self, passage: Passage) -> None:
        if self.place.is_root():
            self.send_down(passage, {}, self.groups_to_tell(passage))
        elif self.place.parent != NOBODY:
            self.host.note(CLIMBED, passage.event.id, self.place.parent)
            self.host.send(self.place.parent, passage.frame(UP, [], self.host.now()))
        else:
            self.hold(passage)

    def hold(self, passage: Passage) -> None:
        self.host.note(HELD, passage.event.id)
        self.waiting.append(passage)
        if len(self.waiting) > self.params.held:
            self.host.note(NEVER_LEFT, self.waiting.pop(0).event.id)

    def release(self) -> None:
        """There is a parent again (R14)."""
        waiting, self.waiting = self.waiting, []
        now = self.host.now()
        for passage in waiting:
            if now - passage.born_us >= passage.event.validity_us:
                self.host.note(EXPIRED, passage.event.id)
            else:
                self.climb(passage)

    def drop_the_late(self, now: int) -> None:
        while self.waiting and now - self.waiting[0].had_us > self.hold_us:
            self.host.note(NEVER_LEFT, self.waiting.pop(0).event.id)

    def cross(self, passage: Passage, tree: int) -> None:
        """From the gateway to its peer in the other group, or to whoever else of that group is in reach."""
        if passage.reach == 0:  # it came here another way first, and has gone as far as it may (R12)
            self.host.note(FAR_ENOUGH, passage.event.id)
            return
        peer = peer_in(tree, self.hearing, self.neighbours)
        if peer is None:
            self.try_another_way(passage, [tree])
            return
        self.host.note(CROSSED, passage.event.id, peer.id)
        self.host.send(peer.id, passage.frame(ACROSS, [], self.host.now()))

    def on_lost_event(self, frame: GroupEvent, to: int) -> None:
        """`send` gave up. Up: with the next parent again. Across: to somebody else there. Down: the branch is gone."""
        passage = self.passages.get(frame.event.id)
        if passage is None:
            return
        if frame.way == UP:
            if not frame.targets:
                self.hold(passage)
        elif frame.way == ACROSS:
            neighbour = self.neighbours.get(to)
            if neighbour is not None and neighbour.tree != self.place.tree:
                self.cross(passage, neighbour.tree)
        else:
            self.host.note(LOST_DOWN, frame.event.id, to)
            self.try_another_way(passage, frame.targets)

    def try_another_way(self, passage: Passage, targets: list[int]) -> None:
        """What led to these groups does not any more: once, look for another gateway, here or above (R16)."""
        again = [tree for tree in targets if tree not in passage.again]
        if not again:
            return
        passage.again = passage.again + again
        passage.towards = [tree for tree in passage.towards if tree not in again]
        self.find_routes()
        if self.place.parent != NOBODY:
            self.tell_records()
        self.send_down(passage, {}, again)

    def give_back(self, passage: Passage, tree: int) -> None:
        if self.place.parent == NOBODY:
            self.host.note(NO_LINK, passage.event.id)
            return
        self.host.note(GAVE_BACK, passage.event.id, self.place.parent)
        self.host.send(self.place.parent, passage.frame(UP, [tree], self.host.now()))

    # ---- repair (§3.4)

    def best_parent(self) -> Member | None:
        """The neighbour to hang below: of the same group, within the preferred levels, high up, and heard well."""
        able = [neighbour for neighbour in self.neighbours.values() if self.may_be_parent(neighbour)]
        return min(able, key=self.rank, default=None)

    def may_be_parent(self, neighbour: Member) -> bool:
        if neighbour.parent == self.host.id or neighbour.level >= self.params.max_level:
            return False
        if not neighbour.is_settled():
            return False
        if self.hearing.has_failed(neighbour):
            return False
        if self.is_lone() and neighbour.level == 0 and neighbour.members == 1 and self.host.id < neighbour.id:
            return False  # R9
        return self.place.may_hang_below(neighbour.tree, neighbour.count, neighbour.level)

    def rank(self, neighbour: Member) -> tuple[bool, bool, bool, bool, int, float, int]:
        dbm = neighbour.signal_dbm
        return (
            self.hearing.is_doubtful(neighbour),
            neighbour.tree != self.place.tree,
            neighbour.level >= self.params.preferred_levels,
            self.hearing.is_faint(neighbour),
            neighbour.level,
            0.0 if dbm != dbm else -dbm,
            neighbour.id,
        )

    def consider(self, neighbour: Member) -> None:
        """A heartbeat has come: is this the parent that was missing, or a much better one (R15)?"""
        place = self.place
        if not place.is_settled() or self.is_lone():
            if self.may_be_parent(neighbour):
                self.look_for_a_group(self.host.now())
        elif place.is_far_below(neighbour) and self.may_be_parent(neighbour):
            self.ask(neighbour.id)

    def change_parent(self) -> None:
        """The parent is about to be lost: take another one of the same group while it is still there (R17)."""
        other = self.best_parent()
        if other is not None and other.tree == self.place.tree and not self.hearing.is_leaving(other):
            self.ask(other.id)

    def lose_parent(self) -> None:
        parent = self.place.parent
        self.host.note(LOST_PARENT, peer=parent)
        self.place.let_go()
        self.hearing.fails(self.neighbours.get(parent))
        if self.asked == NOBODY:
            self.find_parent()

    def find_parent(self) -> None:
        parent = self.best_parent()
        if parent is not None:
            self.ask(parent.id)
        elif self.place.tree != NO_TREE:
            self.orphan()

    def orphan(self) -> None:
        """Nobody can be the parent: the children are told, so that they find others, and this node below them."""
        self.host.note(ORPHANED, value=len(self.children))
        self.place.leave()
        self.children.clear()
        self.routes.clear()
        self.open = False
        self.since_us = self.host.now()
        self.beat()

    def lose_child(self, id: int) -> None:
        """Its filter goes, and with the next heartbeat the parent is told."""
        self.host.note(LOST_CHILD, peer=id)
        del self.children[id]

    def on_undelivered(self, frame: Frame, to: int) -> None:
        if self.hearing.deserves_another_try(self.neighbours.get(to)):
            self.host.send(to, frame)
            return
        if to in self.children:
            self.lose_child(to)
        if isinstance(frame, GroupEvent):
            self.on_lost_event(frame, to)
        if to == self.asked and isinstance(frame, Join):
            self.host.cancel_timer(ANSWER)
            self.no_answer()
        elif to == self.place.parent:
            self.lose_parent()
        if self.place.is_settled():
            self.release()

    # ---- what is held

    def memory(self) -> tuple[int, int]:
        """Bitmaps (its own and its children's) and gateway records."""
        bitmaps = 1 + len(self.children)
        records = len(self.routes)
        for child in self.children.values():
            records += len(child.records)
        return bitmaps + records, bitmaps * ((self.params.bits + 7) // 8) + records * RECORD_BYTES
