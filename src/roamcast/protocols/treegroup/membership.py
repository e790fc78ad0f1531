"""Membership in a group: how a node finds one (Li et al. §3.1, Algorithm 1), leads one, and keeps a parent (§3.4).

The readings (R1 …) are those of `protocol.py`. N0 and N1 are the nodes of Algorithm 1.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import NOBODY, reason
from roamcast.protocols.kit.tree import NO_TREE, HeartbeatTimer, tree_name
from roamcast.protocols.treegroup.frames import MAX_CHILDREN, Heartbeat, Join, Turn, Welcome
from roamcast.protocols.treegroup.index import Index
from roamcast.protocols.treegroup.leader import WEIGHT_UNIT, Candidacy, is_better
from roamcast.protocols.treegroup.merging import Merging
from roamcast.protocols.treegroup.routing import Routing
from roamcast.protocols.treegroup.tables import (
    ANSWER_US,
    Child,
    GroupNeighbour,
    Part,
    Tables,
    branch_depth,
    branch_members,
    receipts,
)

ANSWER: Final = 2
"""The timer of a request to be the parent: how long to wait for the answer."""

ANY_NODE: Final = -2
"""What `requested` is after a request to all nodes in range."""

LEADS: Final = reason("note", "leads", "no tree to join: this node leads one of its own")
JOINED: Final = reason("note", "joined", "this node is a child of {peer} now, at level {value}")
ADMITTED: Final = reason("note", "admitted", "{peer} is a child now")
REFUSED: Final = reason("note", "refused", "{peer} cannot attach here: level {value}")
LOST_PARENT: Final = reason("note", "lost parent", "{peer} is gone, or no longer a good parent")
LOST_CHILD: Final = reason("note", "lost child", "{peer} is no longer a child")
ORPHANED: Final = reason("note", "orphaned", "no neighbour can be the parent; {value} children are to look for another")


@final
class Membership(Part):
    """A node's parent and children, and the requests that change them."""

    def __init__(
        self, tables: Tables, merging: Merging, index: Index, routing: Routing, heartbeat_timer: HeartbeatTimer
    ) -> None:
        super().__init__(tables)
        self.merging = merging
        self.index = index
        self.routing = routing
        self.heartbeat_timer = heartbeat_timer
        self.candidacy = Candidacy(tables)
        self.is_new = True  # it has not been in a group since it started
        self.is_open = False  # the group can merge
        self.alone_since_us = 0  # since when it has had no group
        self.attached_us = 0  # when it got its parent
        self.requested = NOBODY  # the node that was requested to be the parent and has not answered yet
        self.is_turning = False

    def restart(self) -> None:
        """A node that was down is out of its tree, whatever its tables say; its labels still count."""
        self.place.leave()
        self.neighbours.clear()
        self.children.clear()
        self.candidacy.neighbours_changed()
        self.is_new = True
        self.requested = NOBODY
        self.is_turning = False
        self.alone_since_us = self.host.now()
        self.host.cancel_timer(ANSWER)

    def send_heartbeat(self) -> None:
        place = self.place
        has_group = place.tree != NO_TREE
        self.heartbeat_timer.send(
            Heartbeat(
                place.tree,
                place.count,
                place.level,
                place.parent,
                0 if has_group else self.candidacy.weight(),
                self.is_open,
                branch_members(self.children),
                branch_depth(self.children),
                receipts(self.children),
                self.candidacy.listed_neighbours(),
            )
        )

    # ---- finding a group (§3.1)

    def needs_group(self) -> bool:
        """Whether the node has no group, or is the only one in its group, and no request is open."""
        return self.requested == NOBODY and (not self.place.is_attached() or self.is_alone())

    def is_alone(self) -> bool:
        """Whether the node leads a group without members."""
        return self.place.is_root() and not self.children

    def find_group(self, now: int) -> None:
        parent = self.best_parent()
        is_deep = self.is_new and parent is not None and parent.level >= self.params.preferred_levels  # R8
        if parent is not None and not is_deep:
            self.request(parent.id)
            return
        if self.place.is_root():
            return
        lead_delay_us = self.lead_delay_us()
        if now - self.alone_since_us < lead_delay_us:
            return
        is_late = now - self.alone_since_us > lead_delay_us + 2 * self.heartbeat_us  # the better leaders do not lead
        if parent is not None and is_late:
            self.request(parent.id)
        elif parent is not None and self.candidacy.is_capable():
            self.lead()
        elif self.candidacy.is_capable() or is_late:
            self.request_any()

    def lead_delay_us(self) -> int:
        """How long a node without a group waits before it leads one (R7)."""
        wait = max(0.0, 1.0 - self.candidacy.weight() / WEIGHT_UNIT) * self.params.election_s * 1_000_000
        return int(wait) + (self.heartbeat_us if self.is_new else 0)

    def request_any(self) -> None:
        """Send the joining request to all nodes in range; if none answers, lead."""
        self.requested = ANY_NODE
        self.host.broadcast(Join(self.candidacy.weight()))
        self.host.set_timer(ANSWER, ANSWER_US)

    def request(self, neighbour: int) -> None:
        self.requested = neighbour
        self.host.send(neighbour, Join(self.candidacy.weight()))
        self.host.set_timer(ANSWER, ANSWER_US)

    def no_answer(self) -> None:
        requested, self.requested = self.requested, NOBODY
        self.is_turning = False
        if requested == NOBODY:
            return
        if requested == ANY_NODE:
            self.lead()
            return
        self.link_quality.mark_failed(self.neighbours.get(requested))
        if requested == self.place.parent:
            self.lose_parent()
        elif not self.place.is_attached():
            self.find_parent()

    def lead(self) -> None:
        self.host.note(LEADS, value=self.candidacy.weight())
        self.host.cancel_timer(ANSWER)
        self.requested = NOBODY
        self.is_new = False
        self.place.lead(tree_name(self.host.id, self.host.random()))
        self.is_open = True
        self.merging.proposed_us = self.host.now()
        self.routing.send_waiting()
        self.heartbeat_timer.send_soon()

    def on_join(self, join: Join, n1: int) -> None:
        """Algorithm 1: N0, which is this node, receives a group joining request from N1."""
        if n1 == self.place.parent:
            self.lose_parent()  # a node that looks for a parent has no place to offer
        if self.place.is_attached() and self.place.level < self.params.max_level:  # line 1
            self.admit(n1)  # line 2
        elif self.place.is_attached():
            self.host.note(REFUSED, peer=n1, value=self.place.level)
            self.host.send(n1, Welcome(NO_TREE, 0, 0))  # R6
        elif self.requested == NOBODY or self.requested == ANY_NODE or self.requested == n1:
            self.create_group(join, n1)  # line 7

    def admit(self, n1: int) -> None:
        if len(self.children) >= MAX_CHILDREN:
            self.host.send(n1, Welcome(NO_TREE, 0, 0))
            return
        self.host.note(ADMITTED, peer=n1)
        if self.is_alone():
            self.requested = NOBODY  # it has a member now, so it looks for no group
            self.host.cancel_timer(ANSWER)
        self.children[n1] = Child(n1, self.host.now())
        self.host.send(n1, Welcome(self.place.tree, self.place.count, self.place.level))

    def create_group(self, join: Join, n1: int) -> None:
        if is_better(self.candidacy.weight(), self.host.id, join.weight, n1):
            self.lead()
            self.admit(n1)
        elif self.requested != n1:
            self.request(n1)

    def on_welcome(self, welcome: Welcome, n0: int) -> None:
        if self.requested != n0 and self.requested != ANY_NODE:
            return
        if welcome.level >= self.params.max_level or not self.place.may_attach_below(
            welcome.tree, welcome.count, welcome.level
        ):
            if self.requested == n0:
                self.host.cancel_timer(ANSWER)
                self.no_answer()
            return
        self.attach_below(n0, welcome)

    def attach_below(self, parent: int, welcome: Welcome) -> None:
        before = self.place.parent
        has_new_tree = welcome.tree != self.place.tree
        self.host.cancel_timer(ANSWER)
        self.requested = NOBODY
        self.is_new = False
        self.children.pop(parent, None)
        self.attached_us = self.host.now()
        self.place.attach(parent, welcome.tree, welcome.count, welcome.level, self.attached_us)
        self.host.note(JOINED, peer=parent, value=self.place.level)
        if has_new_tree:
            self.tree_changed()
        self.index.start_over()
        self.index.advertise(True)
        self.routing.send_waiting()
        if self.is_turning:
            self.is_turning = False
            if before != NOBODY and before != parent:
                self.host.send(before, Turn())

    def tree_changed(self) -> None:
        self.index.find_routes()
        self.heartbeat_timer.send_soon()

    def turn(self, below: int) -> None:
        """Attach to a node of the other group; then the old parent attaches below this node (R11)."""
        if self.requested == NOBODY and self.place.is_attached():
            self.is_turning = True
            self.request(below)

    # ---- repair (§3.4)

    def best_parent(self) -> GroupNeighbour | None:
        """The best neighbour to attach to: of the same group, within the preferred levels, high up, well received."""
        best: GroupNeighbour | None = None
        for neighbour in self.neighbours.values():
            if self.may_be_parent(neighbour) and (best is None or self.rank(neighbour) < self.rank(best)):
                best = neighbour
        return best

    def may_be_parent(self, neighbour: GroupNeighbour) -> bool:
        if neighbour.parent == self.host.id or neighbour.level >= self.params.max_level:
            return False
        if not neighbour.is_attached():
            return False
        if self.link_quality.has_failed(neighbour):
            return False
        if self.is_alone() and neighbour.level == 0 and neighbour.members == 1 and self.host.id < neighbour.id:
            return False  # R9
        return self.place.may_attach_below(neighbour.tree, neighbour.count, neighbour.level)

    def rank(self, neighbour: GroupNeighbour) -> tuple[bool, bool, bool, bool, int, float, int]:
        dbm = neighbour.signal_dbm
        return (
            self.link_quality.is_doubtful(neighbour),
            neighbour.tree != self.place.tree,
            neighbour.level >= self.params.preferred_levels,
            self.link_quality.is_faint(neighbour),
            neighbour.level,
            0.0 if dbm != dbm else -dbm,
            neighbour.id,
        )

    def consider(self, neighbour: GroupNeighbour) -> None:
        """A heartbeat has come: is this the parent that was missing, or a much better one (R15)?"""
        place = self.place
        if not place.is_attached() or self.is_alone():
            if self.may_be_parent(neighbour):
                self.find_group(self.host.now())
        elif place.is_far_below(neighbour) and self.may_be_parent(neighbour):
            self.request(neighbour.id)

    def change_parent(self) -> None:
        """The parent is about to be lost: take another one of the same group while it is still there (R17)."""
        other = self.best_parent()
        if other is not None and other.tree == self.place.tree and not self.link_quality.is_leaving(other):
            self.request(other.id)

    def lose_parent(self) -> None:
        parent = self.place.parent
        self.host.note(LOST_PARENT, peer=parent)
        self.place.lose_parent()
        self.link_quality.mark_failed(self.neighbours.get(parent))
        if self.requested == NOBODY:
            self.find_parent()

    def find_parent(self) -> None:
        parent = self.best_parent()
        if parent is not None:
            self.request(parent.id)
        elif self.place.tree != NO_TREE:
            self.leave_group()

    def leave_group(self) -> None:
        """No neighbour can be the parent: a heartbeat makes the children look for other parents, and one of them may
        become the parent of this node."""
        self.host.note(ORPHANED, value=len(self.children))
        self.place.leave()
        self.children.clear()
        self.index.forget_routes()
        self.is_open = False
        self.alone_since_us = self.host.now()
        self.send_heartbeat()

    def lose_child(self, id: int) -> None:
        """Its bitmap goes, and the parent gets the new one with the next heartbeat."""
        self.host.note(LOST_CHILD, peer=id)
        del self.children[id]
