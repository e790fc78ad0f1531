"""Tree groups (Li, Khan, Li; 004_f38ff0266e7816c4).

Nodes form small trees, the groups. A group's root is its leader. Every node keeps a Bloom bitmap of its own
subscriptions and one for each child's branch, and sends their union to its parent; so an event goes up to the leader
and, on the way, down every branch whose bitmap it passes. Nodes that hear another group are gateways; what they know
goes up to the leader like the bitmaps do, and the leader sends an event on to each adjacent group through the gateway
closest to it. Heartbeats say who is there; who loses its parent finds another, of the same group if it can.

Everything hangs on one broadcast heartbeat a second. It tells a node's place (kit/tree.py says how that keeps trees
free of loops), whether the group is open for merging, the size of the sender's branch, and for each child which bitmap
and which gateway records have arrived: a child sends a bitmap when it changed, and again until it sees that.

Below, how groups come about and hold together: joining, Algorithm 1 and merging (§3.1), repair (§3.4). What has a room
of its own:
  leader.py      the weight of a leader (§3.1)      merging.py        who merges, and who leads then (§3.1)
  index.py       bitmaps and records (§3.2)         gateways.py       ways to the adjacent groups (§3.3)
  routing.py     events on their way (§3.2, §3.3)   bloom_routing.py  keys and bitmaps (§3.2, §3.5)
  tables.py      neighbours and children            kit/tree.py       places, heartbeats, whom to trust (§3.4)
  frames.py      the frames                         params.py         the parameters

Readings, one test each:
  R1  bitmaps have 1024 bits and 4 hashes: the paper gives neither.
  R2  the heartbeat period is 1 s; it varies by a tenth either way, so that neighbours whose heartbeats collide once do
      not collide for ever. Who is not heard for `missed` periods is gone; a tree whose root's count stands still for
      one period more and one for each level is gone too. So is a child of which nothing but its request was heard.
  R3  the four weighing factors are 0.25, and every term is in [0, 1]: P_A is what the battery has left; s the mean
      strength of the neighbours' heartbeats between −95 dBm (0) and −45 dBm (1), 0.5 where the radio does not tell; C_L
      the share of pairs of neighbours that are neighbours; Δdd, of which the paper says only the name, the number of
      nodes that one transmission reaches over the largest such number among the node and its neighbours. Both need
      the neighbours' neighbours, so everybody lists its neighbours in every heartbeat, with a group or without: whoever
      loses its group knows its weight at once, and those who stay in theirs count for those who look for one.
  R4  §3.2 sends an event to the parent "if neither of them matches". Read to the letter, one subscriber near the
      publisher keeps the event from all others, against §3.3 ("interested subscribers all over the network"). So by
      default, which is ours, an event always goes up to the leader; `climb="unmatched"` is the letter.
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
  R12 "local" events stay in the publisher's group or go to "a few adjacent groups" (§3.3), which gives no number:
      `local_groups` says how many groups away, 1 by default, which is ours.
  R13 an event tells the groups it has come through and those that leaders have sent it to; no leader sends it to one of
      them again. Kept only from the groups it came through, it cost a sixth more frames for the same delivery (2 m/s).
  R14 who has no parent when an event must go up keeps it for `hold_s`, which the paper does not mention: repair takes
      milliseconds when a neighbour can take over. A node that restarts drops what it held.
  R15 a node moves up when a neighbour of its group would put it at least two levels higher. The paper balances trees
      only when they are built and merged; without this they grow deep by repair. One level is not worth the frames.
  R16 a gateway that has lost the other group gives the event back to its parent, which looks for another way, and so
      on up to the leader; every node does so once for each event and group. The paper does not say what happens.
  R17 a parent that is leaving (kit/tree.py) is changed for another one of the group before it is lost; the paper waits.
      Nobody takes a leaving neighbour for parent or peer where there is another.
  R18 a gateway whose peers are all faint (kit/tree.py) counts as farther from the leader than any other.
  R19 "stale" events lose value (§3.3), and the paper says no more: an event past its validity is neither delivered nor
      sent on, also when it expired while it waited for a parent or did not get through. Its age travels with it.
  R20 an event is taken from whoever sends it, but the groups it is meant for are believed only of the parent, on the
      way down, and of a child that gives it back: the tree is the only way that the paper sends it to gateways. Two
      nodes can differ for a moment about who is whose child, and the groups are lost then; the paper names no such
      check, so `strangers="believed"` goes without it.
"""

from __future__ import annotations

from typing import ClassVar, Final, final

from roamcast.protocols.kit.interface import NOBODY, Frame, Host, Params, Protocol, reason
from roamcast.protocols.kit.subscriptions import Subscriptions
from roamcast.protocols.kit.tree import MAX_NEIGHBOURS, NO_TREE, TICK, Heart, tree_name
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
from roamcast.protocols.treegroup.leader import WEIGHT_UNIT, Standing, is_better
from roamcast.protocols.treegroup.merging import Merging
from roamcast.protocols.treegroup.params import TreeGroupParams
from roamcast.protocols.treegroup.routing import Routing
from roamcast.protocols.treegroup.tables import ANSWER_US, Child, Member, Tables, branch_depth, branch_members, receipts
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter

ANSWER: Final = 2
"""The timer of the patience with somebody who was asked to be the parent; TICK is the one of the next heartbeat."""

ANYBODY: Final = -2
"""Who was asked, when it was everybody in reach."""

LEADS: Final = reason("note", "leads", "no tree to join: it leads one of its own")
JOINED: Final = reason("note", "joined", "hangs below {peer} at level {value}")
ADMITTED: Final = reason("note", "admitted", "{peer} is a child now")
REFUSED: Final = reason("note", "refused", "{peer} cannot hang here: level {value}")
LOST_PARENT: Final = reason("note", "lost parent", "{peer} is gone, or is no good parent any more")
LOST_CHILD: Final = reason("note", "lost child", "{peer} is no child any more")
ORPHANED: Final = reason("note", "orphaned", "no neighbour can be the parent: the {value} children are told")


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
        self.hearing = tables.hearing
        self.neighbours = tables.neighbours
        self.children = tables.children
        self.heartbeat_us = self.hearing.heartbeat_us
        self.gone_us = self.hearing.gone_us
        self.heart = Heart(host, self.heartbeat_us)
        self.subscriptions = Subscriptions()
        self.standing = Standing(host, params, self.neighbours)
        self.merging = Merging(tables)
        self.index = Index(tables)
        self.routing = Routing(tables, self.index, self.subscriptions)
        self.new = True
        self.open = False
        self.since_us = 0  # without a group since
        self.hung_us = 0
        self.asked = NOBODY
        self.is_turning = False

    # ---- coming up, and the heartbeat

    def on_start(self) -> None:
        """A node that was down is out of its tree, whatever it remembers; its labels and events still count."""
        now = self.host.now()
        self.place.leave()
        self.neighbours.clear()
        self.children.clear()
        self.index.forget_routes()
        self.routing.restart()
        self.standing.come_or_go()
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
        self.index.find_routes()
        self.index.tell_parent(False)
        self.routing.drop_the_late()
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
                0 if grouped else self.standing.weight(),
                self.open,
                branch_members(self.children),
                branch_depth(self.children),
                receipts(self.children),
                self.standing.listing(),
            )
        )

    def forget_the_silent(self) -> None:
        gone = self.hearing.silent(self.neighbours.values())
        for id in gone:
            del self.neighbours[id]
            self.standing.come_or_go()
            if id in self.children:
                self.lose_child(id)
        for child in list(self.children.values()):
            if child.id not in self.neighbours and self.host.now() - child.since_us > self.gone_us:
                self.lose_child(child.id)  # it asked to be one, and was never heard again
        if self.place.parent in gone:
            self.lose_parent()

    def on_frame(self, frame: Frame, sender: int) -> None:
        if isinstance(frame, GroupEvent):
            self.routing.on_event(frame, sender)
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
            self.standing.come_or_go()
        self.hearing.hear(neighbour, beat)
        if neighbour.learn(beat):
            self.standing.change()
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
            self.index.parent_has(versions[0], versions[1])
        elif self.asked == NOBODY and self.host.now() - self.hung_us > self.heartbeat_us:
            self.ask(sender)

    def on_childs_heartbeat(self, beat: Heartbeat, sender: int) -> None:
        child = self.children.get(sender)
        if child is None:
            if len(self.children) >= MAX_CHILDREN or not self.place.is_settled():
                return
            child = Child(sender, self.host.now())
            self.children[sender] = child
        child.members = beat.members
        child.depth = beat.depth

    # ---- finding a group (§3.1)

    def look_for_a_group(self, now: int) -> None:
        parent = self.best_parent()
        is_deep = self.new and parent is not None and parent.level >= self.params.preferred_levels  # R8
        if parent is not None and not is_deep:
            self.ask(parent.id)
            return
        if self.place.is_root():
            return
        patience_us = self.patience_us()
        if now - self.since_us < patience_us:
            return
        is_late = now - self.since_us > patience_us + 2 * self.heartbeat_us  # the better leaders do not lead
        if parent is not None and is_late:
            self.ask(parent.id)
        elif parent is not None and self.standing.is_capable():
            self.lead()
        elif self.standing.is_capable() or is_late:
            self.offer()

    def patience_us(self) -> int:
        """How long a node without a group waits before it leads one (R7)."""
        wait = max(0.0, 1.0 - self.standing.weight() / WEIGHT_UNIT) * self.params.election_s * 1_000_000
        return int(wait) + (self.heartbeat_us if self.new else 0)

    def offer(self) -> None:
        """Ask whoever is there; if nobody answers, lead."""
        self.asked = ANYBODY
        self.host.broadcast(Join(self.standing.weight()))
        self.host.set_timer(ANSWER, ANSWER_US)

    def ask(self, neighbour: int) -> None:
        self.asked = neighbour
        self.host.send(neighbour, Join(self.standing.weight()))
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
        self.host.note(LEADS, value=self.standing.weight())
        self.host.cancel_timer(ANSWER)
        self.asked = NOBODY
        self.new = False
        self.place.lead(tree_name(self.host.id, self.host.random()))
        self.open = True
        self.merging.proposed_us = self.host.now()
        self.routing.release()
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
        self.children[n1] = Child(n1, self.host.now())
        self.welcome(n1)

    def welcome(self, n1: int) -> None:
        self.host.send(n1, Welcome(self.place.tree, self.place.count, self.place.level))

    def create_a_group(self, join: Join, n1: int) -> None:
        if is_better(self.standing.weight(), self.host.id, join.weight, n1):
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
        self.index.start_over()
        self.index.tell_parent(True)
        self.routing.release()
        if self.is_turning:
            self.is_turning = False
            if before != NOBODY and before != parent:
                self.host.send(before, Turn())

    def has_moved(self) -> None:
        self.index.find_routes()
        self.heart.hurry()

    # ---- merging (§3.1)

    def merge(self) -> None:
        """The leader proposes to another, if this is not a group of one, which would rather join (R9)."""
        if self.open and not self.is_lone():
            proposal = self.merging.proposal(self.index.routes)
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

    # ---- the index (§3.2), gateways (§3.3) and events

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.subscriptions.add(subscription, filter)
        self.index.subscribe(filter)
        self.index.tell_parent(True)

    def on_unsubscribe(self, subscription: int) -> None:
        self.subscriptions.remove(subscription)
        self.index.start_from(self.subscriptions.all)

    def on_bitmap(self, frame: Bitmap, sender: int) -> None:
        child = self.children.get(sender)
        if child is not None and self.index.take_bitmap(frame, child):
            self.index.tell_parent(True)

    def on_gateway(self, frame: Gateway, sender: int) -> None:
        child = self.children.get(sender)
        if child is not None:
            self.index.take_records(frame, child)
            self.index.tell_records()

    def on_publish(self, event: Event) -> None:
        self.routing.publish(event)

    # ---- repair (§3.4)

    def best_parent(self) -> Member | None:
        """The neighbour to hang below: of the same group, within the preferred levels, high up, and heard well."""
        best: Member | None = None
        for neighbour in self.neighbours.values():
            if self.may_be_parent(neighbour) and (best is None or self.rank(neighbour) < self.rank(best)):
                best = neighbour
        return best

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
        self.index.forget_routes()
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
            self.routing.lost(frame, to)
        if to == self.asked and isinstance(frame, Join):
            self.host.cancel_timer(ANSWER)
            self.no_answer()
        elif to == self.place.parent:
            self.lose_parent()
        if self.place.is_settled():
            self.routing.release()

    # ---- what is held

    def memory(self) -> tuple[int, int]:
        return self.index.memory()
