"""Merging groups (Li et al. §3.1): one leader proposes, the other decides; then `membership.py` turns a branch (R11).

The proposal goes down to the gateway that is nearest to the open group, across, and up to the other leader. It collects
its route on the way, and the answer takes the route back.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.interface import NOBODY, reason
from roamcast.protocols.kit.tree import root_of
from roamcast.protocols.treegroup.frames import MAX_ROUTE, Accept, Propose
from roamcast.protocols.treegroup.gateways import peer_in
from roamcast.protocols.treegroup.tables import GatewayRecord, Part, Tables, branch_depth, branch_members

PROPOSED: Final = reason("note", "merge proposed", "to the group led by {peer}")
MERGED: Final = reason("note", "merge accepted", "{peer} turns its branch; depth {value} at most")


@final
class Merging(Part):
    """A node's part in merging."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self.period_us = round(tables.params.merge_s * 1_000_000)
        self.proposed_us = 0
        self.busy_until_us = 0

    def is_open(self) -> bool:
        """Whether the group that this node leads is not saturated (R8)."""
        p = self.params
        return branch_depth(self.children) < p.preferred_levels and branch_members(self.children) < p.max_members

    def proposal(self, routes: dict[int, GatewayRecord]) -> Propose | None:
        """The leader's proposal to the nearest open group, if it is time for one."""
        now = self.host.now()
        if now - self.proposed_us < self.period_us or now < self.busy_until_us:
            return None
        best: GatewayRecord | None = None
        for record in routes.values():
            if record.open and (best is None or record.level < best.level):
                best = record
        if best is None:
            return None
        self.proposed_us = now
        self.busy_until_us = now + self.heartbeat_us
        self.host.note(PROPOSED, peer=root_of(best.tree))
        depth, members = branch_depth(self.children), branch_members(self.children)
        return Propose(self.place.tree, best.tree, best.gateway, members, depth, best.level, [])

    def pass_on(self, frame: Propose) -> Accept | None:
        """Pass it down to the gateway, across, or up to the other leader. If this is that leader, it may accept."""
        if self.host.id in frame.route or len(frame.route) >= MAX_ROUTE:
            return None
        if self.place.tree == frame.target:
            if self.place.is_root():
                return self.decide(frame)
            if self.place.parent != NOBODY:
                self.host.send(self.place.parent, frame.passed_on(self.host.id, 0))
        elif self.place.tree == frame.source and frame.gateway == self.host.id:
            peer = peer_in(frame.target, self.link_quality, self.neighbours)
            if peer is not None:
                self.host.send(peer.id, frame.passed_on(self.host.id, 1 + peer.level))
        elif self.place.tree == frame.source:
            to = self.child_towards(frame)
            if to != NOBODY:
                self.host.send(to, frame.passed_on(self.host.id, 0))
        return None

    def child_towards(self, frame: Propose) -> int:
        """The child in whose branch the gateway is."""
        for child in self.children.values():
            for record in child.records:
                if record.tree == frame.target and record.gateway == frame.gateway:
                    return child.id
        return NOBODY

    def decide(self, frame: Propose) -> Accept | None:
        """The other leader accepts if no limit is exceeded, and chooses which of the two leads (R10)."""
        now = self.host.now()
        depth, members = branch_depth(self.children), branch_members(self.children)
        if not self.is_open() or now < self.busy_until_us or frame.gateway not in frame.route:
            return None
        if members + frame.members > self.params.max_members:
            return None
        if_self = max(depth, frame.reach + frame.depth)
        if_other = max(frame.depth, frame.reach + depth)
        if min(if_self, if_other) > self.params.max_level:
            return None
        self.busy_until_us = now + self.period_us  # until the members are counted
        boundary = frame.gateway
        route = [*frame.route, self.host.id]
        peer = route[route.index(boundary) + 1]
        if (if_self, -members, self.place.tree) <= (if_other, -frame.members, frame.source):
            turner, below = boundary, peer
        else:
            turner, below = peer, boundary
        self.host.note(MERGED, peer=turner, value=min(if_self, if_other))
        return Accept(turner, below, frame.route)
