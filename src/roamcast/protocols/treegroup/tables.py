"""What a node of a tree group keeps: its place, its neighbours, and its children with their branches."""

from __future__ import annotations

from typing import Any, Final, final

from roamcast.protocols.kit.interface import NOBODY, Host
from roamcast.protocols.kit.tree import LEVEL_MAX, LinkQuality, Neighbour, Place
from roamcast.protocols.treegroup.frames import Heartbeat
from roamcast.protocols.treegroup.params import TreeGroupParams

ANSWER_US: Final = 100_000
"""Ours: how long to wait for an answer. A unicast frame with a few retries needs about a fortieth of it at 1 Mbit/s."""


@final
class GroupNeighbour(Neighbour):
    """A neighbour, with what its last heartbeat contained about its group."""

    def __init__(self, id: int) -> None:
        super().__init__(id)
        self.weight = 0
        self.open = False
        self.members = 1
        self.neighbours: list[int] = []

    def update(self, heartbeat: Heartbeat) -> bool:
        """Returns whether its list of neighbours has changed."""
        self.weight = heartbeat.weight
        self.open = heartbeat.open
        self.members = heartbeat.members
        if heartbeat.neighbours == self.neighbours:
            return False
        self.neighbours = heartbeat.neighbours
        return True


# ------------------------------------------------------------------------------------------------------- the branch


@final
class GatewayRecord:
    """A gateway: the group that it leads to, its own level, and whether that group may merge.

    `via` is the child in whose branch the gateway is, or NOBODY if the node itself is the gateway.
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
    """A child: the size, bitmap and gateways of its branch, with the versions received (0 means none)."""

    def __init__(self, id: int, since_us: int) -> None:
        self.id = id
        self.since_us = since_us
        self.members = 1
        self.depth = 0
        self.bitmap = 0
        self.bitmap_version = 0
        self.records: list[GatewayRecord] = []
        self.records_version = 0


MEMBERS_MAX: Final = (1 << 31) - 1
"""The largest size of a branch that a heartbeat can carry."""


def branch_members(children: dict[int, Child]) -> int:
    """How many nodes are in the branch of the node that has these children, itself included."""
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
    """What a heartbeat acknowledges: id of a child, version of its bitmap, version of its gateway records, id, …"""
    listed: list[int] = []
    for child in children.values():
        listed.append(child.id)
        listed.append(child.bitmap_version)
        listed.append(child.records_version)
    return listed


# --------------------------------------------------------------------------------------------------- what parts share


@final
class Tables:
    """The tables that all parts of a node use."""

    def __init__(self, host: Host, params: TreeGroupParams) -> None:
        self.host = host
        self.params = params
        self.heartbeat_us = round(params.heartbeat_s * 1_000_000)
        self.place = Place(host.id, params.doubt)
        self.link_quality = LinkQuality(host, self.heartbeat_us, self.heartbeat_us * params.missed)
        self.neighbours: dict[int, GroupNeighbour] = {}
        self.children: dict[int, Child] = {}


class Part:
    """A part of a node. It has direct access to the node's tables."""

    def __init__(self, tables: Tables) -> None:
        self.host = tables.host
        self.params = tables.params
        self.heartbeat_us = tables.heartbeat_us
        self.place = tables.place
        self.link_quality = tables.link_quality
        self.neighbours = tables.neighbours
        self.children = tables.children
