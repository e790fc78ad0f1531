"""What a node of a tree group keeps: its neighbours, its children with their branches, and the events it has had."""

from __future__ import annotations

from typing import Any, Final, final

from roamcast.protocols.interface import NOBODY
from roamcast.protocols.tree import LEVEL_MAX, NEVER, Neighbour, next_version
from roamcast.protocols.treegroup_frames import ACROSS, REACH_MAX, GroupEvent, Heartbeat
from roamcast.pubsub.event import FOREVER, Event

ANSWER_US: Final = 100_000
"""Ours: some forty times what a unicast frame needs at 1 Mbit/s with a few retries."""


@final
class Member(Neighbour):
    """A neighbour, with what its last heartbeat told of its group."""

    def __init__(self, id: int) -> None:
        super().__init__(id)
        self.weight = 0
        self.open = False
        self.members = 1
        self.neighbours: list[int] = []

    def learn(self, beat: Heartbeat) -> None:
        self.weight = beat.weight
        self.open = beat.open
        self.members = beat.members
        self.neighbours = beat.neighbours


# ------------------------------------------------------------------------------------------------------- the branch


@final
class Record:
    """A gateway: the group it leads to, its own level, and whether that group may merge.

    `via` is the child whose branch it is in, NOBODY for the node itself.
    """

    __slots__ = ("gateway", "level", "open", "tree", "via")

    def __init__(self, tree: int, gateway: int, level: int, open: bool, via: int = NOBODY) -> None:
        self.tree = tree
        self.gateway = gateway
        self.level = level
        self.open = open
        self.via = via

    def fields(self) -> list[Any]:
        return [self.tree, self.gateway, self.level, self.open]


@final
class Child:
    """What a node has from a child: its branch's size, bitmap and gateways, with their versions (0 means none)."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.members = 1
        self.depth = 0
        self.bitmap = 0
        self.bitmap_version = 0
        self.records: list[Record] = []
        self.records_version = 0


MEMBERS_MAX: Final = (1 << 31) - 1
"""The most that a heartbeat can say, whatever children claim."""


def branch_members(children: dict[int, Child]) -> int:
    """How many nodes hang below the one that has these children, itself among them."""
    members = 1
    for child in children.values():
        members += child.members
    return min(members, MEMBERS_MAX)


def branch_depth(children: dict[int, Child]) -> int:
    """How many levels are below the node that has these children."""
    depth = -1
    for child in children.values():
        depth = max(depth, child.depth)
    return min(depth + 1, LEVEL_MAX)


def receipts(children: dict[int, Child]) -> list[int]:
    """What a heartbeat says to the children: id, version of the bitmap, version of the gateway records, id, …"""
    listed: list[int] = []
    for child in children.values():
        listed.append(child.id)
        listed.append(child.bitmap_version)
        listed.append(child.records_version)
    return listed


@final
class Told:
    """How far the parent is told something: sent when it changed, and again until the parent says that it has it."""

    def __init__(self) -> None:
        self.version = 0
        self.sent_us = 0
        self.known = 0  # the version that the parent's last heartbeat listed

    def change(self) -> None:
        self.version = next_version(self.version)

    def start_over(self) -> None:
        """The parent is another one."""
        self.known = 0
        self.sent_us = NEVER

    def must_repeat(self, parent: Neighbour | None) -> bool:
        """Whether the parent was never sent this, or says in a heartbeat well after it was sent that it has it not."""
        if self.known == self.version or self.version == 0:
            return False
        return self.sent_us == NEVER or (parent is not None and self.sent_us + ANSWER_US < parent.heard_us)


# ----------------------------------------------------------------------------------------------------------- events


@final
class Passage:
    """An event that a node has: what it needs to send it on, the groups it was sent towards, and those it had to be
    sent towards again."""

    __slots__ = ("again", "born_us", "event", "groups", "had_us", "masks", "reach", "towards")

    def __init__(self, event: Event, masks: list[int], reach: int, groups: list[int], age_us: int, now_us: int) -> None:
        self.event = event
        self.masks = masks
        self.reach = reach
        self.groups = groups
        self.born_us = now_us - age_us
        self.had_us = now_us
        self.towards: list[int] = []
        self.again: list[int] = []

    def frame(self, way: int, targets: list[int], now_us: int) -> GroupEvent:
        """The event as it leaves now; a group that it enters counts (R12)."""
        reach = self.reach
        if way == ACROSS and reach != REACH_MAX:
            reach -= 1
        return GroupEvent(self.event, way, min(now_us - self.born_us, FOREVER), reach, self.groups, targets, self.masks)
