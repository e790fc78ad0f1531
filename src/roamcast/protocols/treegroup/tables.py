"""What a node of a tree group keeps: its place, its neighbours, and its children with their branches."""

from __future__ import annotations

from typing import Any, Final, final

from roamcast.protocols.kit.interface import NOBODY, Host
from roamcast.protocols.kit.tree import LEVEL_MAX, Hearing, Neighbour, Place
from roamcast.protocols.treegroup.frames import Heartbeat
from roamcast.protocols.treegroup.params import TreeGroupParams

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

    def learn(self, beat: Heartbeat) -> bool:
        """Whether its neighbours have changed."""
        self.weight = beat.weight
        self.open = beat.open
        self.members = beat.members
        if beat.neighbours == self.neighbours:
            return False
        self.neighbours = beat.neighbours
        return True


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

    def __init__(self, id: int, since_us: int) -> None:
        self.id = id
        self.since_us = since_us
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


# ---------------------------------------------------------------------------------------------------- all that is kept


@final
class Tables:
    """What all parts of a node look at."""

    def __init__(self, host: Host, params: TreeGroupParams) -> None:
        heartbeat_us = round(params.heartbeat_s * 1_000_000)
        self.host = host
        self.params = params
        self.place = Place(host.id)
        self.hearing = Hearing(host, heartbeat_us, heartbeat_us * params.missed)
        self.neighbours: dict[int, Member] = {}
        self.children: dict[int, Child] = {}


class Part:
    """A part of a node: it has the node's tables at hand."""

    def __init__(self, tables: Tables) -> None:
        self.host = tables.host
        self.params = tables.params
        self.place = tables.place
        self.hearing = tables.hearing
        self.neighbours = tables.neighbours
        self.children = tables.children
