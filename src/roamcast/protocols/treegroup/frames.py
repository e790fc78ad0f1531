"""The frames of tree groups, and how they are encoded. `protocol.py` says what they are for.

every node      Heartbeat                   to all neighbours, once a period
finding a group Join, Welcome               Algorithm 1's request and its answer
the index       Bitmap, Gateway             a branch's bitmap and gateway records, to the parent
merging         Propose, Accept, Turn       between leaders, and then up the branch that turns
events          GroupEvent                  up, down and across
"""

from __future__ import annotations

from typing import Any, Final, final

from roamcast.errors import Malformed
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.tree import COUNT_MAX, LEVEL_MAX, NODE_MAX, TREE_MAX, VERSION_MAX, PlaceHeartbeat, as_place
from roamcast.protocols.kit.wire import as_bytes, as_int, as_list, counted, measure, uint_size
from roamcast.protocols.treegroup.bloom_routing import Masks
from roamcast.pubsub.event import FOREVER, Event, event_from_fields

WEIGHT_MAX: Final = 65_535
MAX_CHILDREN: Final = 64
MAX_LISTED: Final = 32
"""Ours: the most neighbours that a heartbeat lists; the paper's networks have about nine."""
MAX_GROUPS: Final = 32
"""Ours: the most adjacent groups that are recorded, and the most groups that an event carries."""
MAX_ROUTE: Final = 64
REACH_MAX: Final = 255

UNKNOWN: Final = -1
"""The size of a list whose bytes are not counted yet."""

UP: Final = 0
DOWN: Final = 1
ACROSS: Final = 2
"""Which way an event goes: to the parent, to a child, or from a gateway to its peer in another group."""


# --------------------------------------------------------------------------------------------------------- heartbeats


@final
class Heartbeat(PlaceHeartbeat):
    """A node's place, the size of its branch, and the versions that it has received from its children.

    `weight` is 0 while the node has a group: only nodes without one are compared. `children` is flat: id, version of
    the bitmap, version of the gateway records, id, … `neighbours` is in ascending order.
    """

    __slots__ = ("children", "depth", "members", "neighbours", "open", "weight")

    def __init__(
        self,
        tree: int,
        count: int,
        level: int,
        parent: int,
        weight: int,
        open: bool,
        members: int,
        depth: int,
        children: list[int],
        neighbours: list[int],
    ) -> None:
        super().__init__(tree, count, level, parent)
        self.weight = weight
        self.open = open
        self.members = members
        self.depth = depth
        self.children = children
        self.neighbours = neighbours
        place_size = uint_size(tree) + uint_size(count) + uint_size(level) + (1 if parent < 0 else uint_size(parent))
        branch_size = uint_size(weight) + 1 + uint_size(members) + uint_size(depth)
        self.size = 2 + place_size + branch_size + _ints_size(children) + _ints_size(neighbours)

    def fields(self) -> list[Any]:
        place = [self.tree, self.count, self.level, self.parent]
        return [*place, self.weight, self.open, self.members, self.depth, self.children, self.neighbours]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Heartbeat:
        weight, open, members, depth, children, neighbours = counted(fields[4:], 6)
        tree, count, level, parent = as_place(fields[:4])
        listed = [as_int(value) for value in as_list(children, 3 * MAX_CHILDREN)]
        around = [as_int(id, 0, NODE_MAX) for id in as_list(neighbours, MAX_LISTED)]
        if type(open) is not bool or len(listed) % 3 or sorted(set(around)) != around:
            raise Malformed("heartbeat")
        return Heartbeat(
            tree,
            count,
            level,
            parent,
            as_int(weight, 0, WEIGHT_MAX),
            open,
            as_int(members, 1, NODE_MAX),
            as_int(depth, 0, LEVEL_MAX),
            listed,
            around,
        )

    def versions_of(self, child: int) -> tuple[int, int] | None:
        """The versions of the bitmap and of the gateway records that the sender has received from this child.

        None if it does not list the child.
        """
        for index in range(0, len(self.children), 3):
            if self.children[index] == child:
                return self.children[index + 1], self.children[index + 2]
        return None


# ---------------------------------------------------------------------------------------------------- finding a group


@final
class Join(Frame):
    """The group joining request: the sender looks for a parent; `weight` is its own."""

    __slots__ = ("weight",)

    def __init__(self, weight: int) -> None:
        super().__init__("join", 0, 2 + uint_size(weight))
        self.weight = weight

    def fields(self) -> list[Any]:
        return [self.weight]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Join:
        (weight,) = counted(fields, 1)
        return Join(as_int(weight, 0, WEIGHT_MAX))


@final
class Welcome(Frame):
    """The answer: the group (its name contains the leader), the count and the level of the sender. Group 0: refused."""

    __slots__ = ("count", "level", "tree")

    def __init__(self, tree: int, count: int, level: int) -> None:
        super().__init__("welcome", 0, 2 + uint_size(tree) + uint_size(count) + uint_size(level))
        self.tree = tree
        self.count = count
        self.level = level

    def fields(self) -> list[Any]:
        return [self.tree, self.count, self.level]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Welcome:
        tree, count, level = counted(fields, 3)
        return Welcome(as_int(tree, 0, TREE_MAX), as_int(count, 0, COUNT_MAX), as_int(level, 0, LEVEL_MAX))


# ---------------------------------------------------------------------------------------------------------- the index


@final
class Bitmap(Frame):
    """The merged bitmap of the sender's branch, for its parent."""

    __slots__ = ("bitmap", "version")

    def __init__(self, version: int, bitmap: bytes) -> None:
        super().__init__("bitmap", 0, measure([version, bitmap]))
        self.version = version
        self.bitmap = bitmap

    def fields(self) -> list[Any]:
        return [self.version, self.bitmap]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Bitmap:
        version, bitmap = counted(fields, 2)
        return Bitmap(as_int(version, 1, VERSION_MAX), as_bytes(bitmap))


@final
class Gateway(Frame):
    """The gateway records of the sender's branch, for its parent."""

    __slots__ = ("records", "version")

    def __init__(self, version: int, records: list[list[Any]]) -> None:
        super().__init__("gateway", 0, measure([version, records]))
        self.version = version
        self.records = records

    def fields(self) -> list[Any]:
        return [self.version, self.records]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Gateway:
        version, records = counted(fields, 2)
        checked = [_checked_record(record) for record in as_list(records, MAX_GROUPS)]
        return Gateway(as_int(version, 1, VERSION_MAX), checked)


def _checked_record(fields: object) -> list[Any]:
    tree, gateway, level, open = counted(as_list(fields), 4)
    if type(open) is not bool:
        raise Malformed("gateway record")
    return [as_int(tree, 1, TREE_MAX), as_int(gateway, 0, NODE_MAX), as_int(level, 0, LEVEL_MAX), open]


# ------------------------------------------------------------------------------------------------------------ merging


@final
class Propose(Frame):
    """The proposal of one leader to another that their groups merge. `reach` is the level of the gateway at first, and
    after the gateway the length of the way from leader to leader."""

    __slots__ = ("depth", "gateway", "members", "reach", "route", "source", "target")

    def __init__(
        self, source: int, target: int, gateway: int, members: int, depth: int, reach: int, route: list[int]
    ) -> None:
        super().__init__("merge", 0, measure([source, target, gateway, members, depth, reach, route]))
        self.source = source
        self.target = target
        self.gateway = gateway
        self.members = members
        self.depth = depth
        self.reach = reach
        self.route = route

    def fields(self) -> list[Any]:
        return [self.source, self.target, self.gateway, self.members, self.depth, self.reach, self.route]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Propose:
        source, target, gateway, members, depth, reach, route = counted(fields, 7)
        return Propose(
            as_int(source, 1, TREE_MAX),
            as_int(target, 1, TREE_MAX),
            as_int(gateway, 0, NODE_MAX),
            as_int(members, 1, NODE_MAX),
            as_int(depth, 0, LEVEL_MAX),
            as_int(reach, 0, 2 * LEVEL_MAX + 1),
            [as_int(id, 0, NODE_MAX) for id in as_list(route, MAX_ROUTE)],
        )

    def passed_on(self, node: int, farther: int) -> Propose:
        route, reach = [*self.route, node], self.reach + farther
        return Propose(self.source, self.target, self.gateway, self.members, self.depth, reach, route)


@final
class Accept(Frame):
    """The answer, on the way back along `route`: `turner` attaches to `below`, and its group follows it."""

    __slots__ = ("below", "route", "turner")

    def __init__(self, turner: int, below: int, route: list[int]) -> None:
        super().__init__("merge", 0, measure([turner, below, route]))
        self.turner = turner
        self.below = below
        self.route = route

    def fields(self) -> list[Any]:
        return [self.turner, self.below, self.route]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Accept:
        turner, below, route = counted(fields, 3)
        hops = [as_int(id, 0, NODE_MAX) for id in as_list(route, MAX_ROUTE)]
        return Accept(as_int(turner, 0, NODE_MAX), as_int(below, 0, NODE_MAX), hops)


@final
class Turn(Frame):
    """From a child to its old parent, which then becomes its child."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("merge", 0, 2)

    def fields(self) -> list[Any]:
        return []

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Turn:
        counted(fields, 0)
        return Turn()


# ------------------------------------------------------------------------------------------------------------- events


@final
class GroupEvent(Frame):
    """An event on its way: up, down or across; how many groups it may still enter; the groups that it came through; and
    on its way down the groups that it is meant for. A frame that is meant for groups has no id, because the host must
    hand it up even to a node that has the event.

    `masks` and `groups_size` are not sent: they are computed from the event (bloom_routing.py) and from `groups`, once
    for all receivers in the simulator.
    """

    __slots__ = ("age_us", "event", "groups", "groups_size", "masks", "reach", "targets", "way")

    def __init__(
        self,
        event: Event,
        way: int,
        age_us: int,
        reach: int,
        groups: list[int],
        targets: list[int],
        masks: Masks | None = None,
        groups_size: int = UNKNOWN,
    ) -> None:
        self.groups_size = _ints_size(groups) if groups_size == UNKNOWN else groups_size
        self.kind = "event"  # not by super().__init__: this is made for every hop of an event
        self.size = 3 + uint_size(age_us) + uint_size(reach) + self.groups_size + _ints_size(targets) + event.size
        self.id = 0 if targets else event.id
        self.cargo = None if targets else event
        self.event = event
        self.way = way
        self.age_us = age_us
        self.reach = reach
        self.groups = groups
        self.targets = targets
        self.masks = masks

    def events(self) -> list[Event]:
        return [self.event]

    def fields(self) -> list[Any]:
        return [self.way, self.age_us, self.reach, self.groups, self.targets, self.event.fields()]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> GroupEvent:
        way, age_us, reach, groups, targets, event_fields = counted(fields, 6)
        event = event_from_fields(event_fields)
        if event.id == 0:  # would mute every heartbeat
            raise Malformed("event id 0")
        if way == ACROSS and targets:  # an event that crosses has reached its group
            raise Malformed("across, and meant for groups")
        return GroupEvent(
            event,
            as_int(way, UP, ACROSS),
            as_int(age_us, 0, FOREVER),
            as_int(reach, 0, REACH_MAX),
            [as_int(tree, 1, TREE_MAX) for tree in as_list(groups, MAX_GROUPS)],
            [as_int(tree, 1, TREE_MAX) for tree in as_list(targets, MAX_GROUPS)],
        )


def _ints_size(values: list[int]) -> int:
    """Bytes of a list of non-negative ints."""
    size = 1 if len(values) < 16 else 3
    for value in values:
        size += uint_size(value)
    return size
