"""Tree groups (Li, Khan, Li; 004_f38ff0266e7816c4).

Nodes form small trees, the groups. A group's root is its leader. Every node keeps a Bloom bitmap of its own
subscriptions and one for each child's branch, and sends their union to its parent; so an event goes up to the leader
and, on the way, down every branch whose bitmap it passes. Nodes that hear another group are gateways; what they know
goes up to the leader like the bitmaps do, and the leader sends an event on to each adjacent group through the gateway
closest to it. Heartbeats say who is there; who loses its parent finds another, of the same group if it can.

Everything hangs on one broadcast heartbeat a second. It tells a node's place (tree.py says how that keeps trees free of
loops), whether the group is open for merging, the size of the sender's branch, and for each child which bitmap and
which gateway records have arrived: a child sends a bitmap when it changed, and again until it sees that.

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

from dataclasses import dataclass
from typing import Any, ClassVar, Final, final

from roamcast.errors import Malformed
from roamcast.protocols.bloom_routing import event_masks, filter_bitmap, passes
from roamcast.protocols.interface import NOBODY, Frame, Host, Params, Protocol, param, reason
from roamcast.protocols.tree import (
    COUNT_MAX,
    LEVEL_MAX,
    MAX_NEIGHBOURS,
    NEVER,
    NO_TREE,
    NODE_MAX,
    TREE_MAX,
    Hearing,
    Neighbour,
    Place,
    root_of,
    tree_name,
)
from roamcast.protocols.wire import as_bytes, as_int, as_list, counted, measure, uint_size
from roamcast.pubsub.bloom import MAX_BITS, MAX_HASHES
from roamcast.pubsub.event import FOREVER, LOCAL, Event, event_from_fields
from roamcast.pubsub.filters import Filter

TICK: Final = 1
ANSWER: Final = 2
"""Timers: the next heartbeat, and the patience with somebody who was asked to be the parent."""

ANYBODY: Final = -2
"""Who was asked, when it was everybody in reach."""

ANSWER_US: Final = 100_000
"""Ours: some forty times what a unicast frame needs at 1 Mbit/s with a few retries."""

HURRY_US: Final = 30_000
"""Ours: news of another group go out within this time, spread so that neighbours do not speak all at once."""

FAINT_LEVELS: Final = 16
"""Ours (R18): more levels than a group has, so that a gateway with a good link is closer than any without."""

WEAK_DBM: Final = -95.0
STRONG_DBM: Final = -45.0
NEUTRAL: Final = 0.5

WEIGHT_UNIT: Final = 1000
WEIGHT_MAX: Final = 65_535
VERSION_MAX: Final = 65_535
MAX_CHILDREN: Final = 64
MAX_LISTED: Final = 32
"""Ours: so many neighbours are listed in a heartbeat; the paper's networks have about nine."""
MAX_GROUPS: Final = 32
"""Ours: so many adjacent groups are recorded, and so many groups an event remembers having come through."""
MAX_ROUTE: Final = 64
REACH_MAX: Final = 255

UP: Final = 0
DOWN: Final = 1
ACROSS: Final = 2

LEADS: Final = reason("note", "leads", "no tree to join: it leads one of its own")
JOINED: Final = reason("note", "joined", "hangs below {peer} at level {value}")
ADMITTED: Final = reason("note", "admitted", "{peer} is a child now")
REFUSED: Final = reason("note", "refused", "{peer} cannot hang here: level {value}")
LOST_PARENT: Final = reason("note", "lost parent", "{peer} is gone, or is no good parent any more")
LOST_CHILD: Final = reason("note", "lost child", "{peer} is no child any more")
ORPHANED: Final = reason("note", "orphaned", "no neighbour can be the parent: the {value} children are told")
PROPOSED: Final = reason("note", "merge proposed", "to the group led by {peer}")
MERGED: Final = reason("note", "merge accepted", "{peer} turns its branch; depth {value} at most")

CLIMBED: Final = reason("forward", "to parent", "{event} goes up to {peer}")
BRANCHED: Final = reason("forward", "to child", "{event} passes the bitmap of {peer}")
TO_GATEWAY: Final = reason("forward", "to gateway", "{event} goes down to a gateway by {peer}")
CROSSED: Final = reason("forward", "to group", "{event} crosses to the group of {peer}")
HELD: Final = reason("delay", "no parent", "{event} waits for a parent")
NO_BRANCH: Final = reason("suppress", "no branch", "{event}: no bitmap here passes it")
GAVE_BACK: Final = reason("forward", "gave back", "{event}: no way to a group any more, {peer} is to find another")
NO_LINK: Final = reason("drop", "no link", "{event}: nobody of that group is in reach")
NEVER_LEFT: Final = reason("drop", "no parent", "{event} found no parent in time")
LOST_DOWN: Final = reason("drop", "lost child", "{event} did not reach {peer}")
EXPIRED: Final = reason("drop", "expired", "{event} is past its validity")


# ---------------------------------------------------------------------------------------------------------- frames


@final
class Heartbeat(Frame):
    """A node's place, its branch, and what it has from its children.

    `weight` and `neighbours` are told only while the node has no group: nobody else's are asked for. `children` is
    flat: id, version of the bitmap, version of the gateway records, id, …
    """

    __slots__ = (
        "children",
        "count",
        "depth",
        "level",
        "members",
        "neighbours",
        "open",
        "parent",
        "tree",
        "weight",
    )

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
        self.tree = tree
        self.count = count
        self.level = level
        self.parent = parent
        self.weight = weight
        self.open = open
        self.members = members
        self.depth = depth
        self.children = children
        self.neighbours = neighbours
        super().__init__("heartbeat", 0, measure(self.fields()))

    def fields(self) -> list[Any]:
        return [
            self.tree,
            self.count,
            self.level,
            self.parent,
            self.weight,
            self.open,
            self.members,
            self.depth,
            self.children,
            self.neighbours,
        ]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Heartbeat:
        tree, count, level, parent, weight, open, members, depth, children, neighbours = counted(fields, 10)
        listed = [as_int(value) for value in as_list(children, 3 * MAX_CHILDREN)]
        if type(open) is not bool or len(listed) % 3:
            raise Malformed("heartbeat")
        return Heartbeat(
            as_int(tree, 0, TREE_MAX),
            as_int(count, 0, COUNT_MAX),
            as_int(level, 0, LEVEL_MAX),
            as_int(parent, NOBODY, NODE_MAX),
            as_int(weight, 0, WEIGHT_MAX),
            open,
            as_int(members, 1, NODE_MAX),
            as_int(depth, 0, LEVEL_MAX),
            listed,
            [as_int(id, 0, NODE_MAX) for id in as_list(neighbours, MAX_LISTED)],
        )


@final
class Join(Frame):
    """The group joining request: the sender wants a parent, and this is its weight."""

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
    """The answer: the group (its name tells the leader), the count and the level of the sender. No group: refused."""

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
class Record:
    """A gateway: the group it leads to, its own level, and whether that group may merge.

    `via` is the child whose branch it is in, NOBODY for the node itself.
    """

    __slots__ = ("gateway", "level", "open", "tree", "via")

    def __init__(self, tree: int, gateway: int, level: int, open: bool, via: int) -> None:
        self.tree = tree
        self.gateway = gateway
        self.level = level
        self.open = open
        self.via = via

    def fields(self) -> list[Any]:
        return [self.tree, self.gateway, self.level, self.open]


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


@final
class Propose(Frame):
    """One leader to another: let us merge. `reach` is the level of the gateway, and from there on the way from leader
    to leader."""

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
    """The answer, on the way back along `route`: `turner` is to hang itself below `below`, and its group after it."""

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
    """A child to its old parent: hang yourself below me."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("merge", 0, 2)

    def fields(self) -> list[Any]:
        return []

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Turn:
        counted(fields, 0)
        return Turn()


@final
class GroupEvent(Frame):
    """An event on its way: up, down or across; how many groups it may still enter; the groups it came through, and on
    its way down those it is meant for. A frame that is meant for groups has no id: it must be handed up even to a node
    that has the event.

    `masks` does not travel: it is what the event's content says, made once where frames are handed over as objects.
    """

    __slots__ = ("age_us", "event", "groups", "masks", "reach", "targets", "way")

    def __init__(
        self,
        event: Event,
        way: int,
        age_us: int,
        reach: int,
        groups: list[int],
        targets: list[int],
        masks: list[int] | None = None,
    ) -> None:
        size = 3 + uint_size(age_us) + uint_size(reach) + _trees_size(groups) + _trees_size(targets) + event.size
        super().__init__("event", 0 if targets else event.id, size)
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
        return GroupEvent(
            event,
            as_int(way, UP, ACROSS),
            as_int(age_us, 0, FOREVER),
            as_int(reach, 0, REACH_MAX),
            [as_int(tree, 1, TREE_MAX) for tree in as_list(groups, MAX_GROUPS)],
            [as_int(tree, 1, TREE_MAX) for tree in as_list(targets, MAX_GROUPS)],
        )


def _trees_size(trees: list[int]) -> int:
    size = 1 if len(trees) < 16 else 3
    for tree in trees:
        size += uint_size(tree)
    return size


# ------------------------------------------------------------------------------------------------------- parameters


@dataclass(frozen=True)
class TreeGroupParams(Params):
    heartbeat_s: float = param(1.0, "time between two heartbeats", "ours (R2)", unit="s", low=0.05, high=3600)
    missed: int = param(3, "heartbeats missed before a neighbour is gone", "ours (R2)", low=1, high=100)
    bits: int = param(1024, "bits of a Bloom bitmap", "ours (R1)", low=1, high=MAX_BITS)
    hashes: int = param(4, "hash functions of a Bloom bitmap", "ours (R1)", low=1, high=MAX_HASHES)
    max_level: int = param(9, "deepest level of a group tree", "Table 1", low=1, high=30)
    preferred_levels: int = param(4, "levels at which a group stops growing", "Table 1", low=1, high=30)
    max_members: int = param(128, "members at which a group stops merging", "ours (R10)", low=2)
    wf1: float = param(0.25, "weighing factor of the power", "ours (R3)", low=0, high=1)
    wf2: float = param(0.25, "weighing factor of the signal strength", "ours (R3)", low=0, high=1)
    wf3: float = param(0.25, "weighing factor of the clustering coefficient", "ours (R3)", low=0, high=1)
    wf4: float = param(0.25, "weighing factor of the dissemination degree", "ours (R3)", low=0, high=1)
    election_s: float = param(4.0, "wait of a node with weight 0 before it leads", "ours (R7)", unit="s", low=0)
    merge_s: float = param(5.0, "time between two attempts to merge", "ours", unit="s", low=0.1)
    climb: str = param("always", "which events go to the parent", "§3.2 (R4)", choices=("always", "unmatched"))
    local_groups: int = param(1, "how many groups away a local event goes", "§3.3 (R12)", low=0, high=REACH_MAX - 1)
    hold_s: float = param(5.0, "how long an event waits for a parent", "ours (R14)", unit="s", low=0)
    held: int = param(16, "events that wait for a parent", "ours", low=0)
    seen: int = param(1024, "events a node remembers", "ours", low=1)


# ------------------------------------------------------------------------------------------------------------ tables


@final
class Member(Neighbour):
    """A neighbour, with its last heartbeat."""

    def __init__(self, id: int) -> None:
        super().__init__(id)
        self.weight = 0
        self.open = False
        self.members = 1
        self.neighbours: list[int] = []


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


# ---------------------------------------------------------------------------------------------------------- protocol


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
        self.merge_us = round(params.merge_s * 1_000_000)
        self.hold_us = round(params.hold_s * 1_000_000)
        self.local = 0  # the bitmap of this node's own subscriptions
        self.subscriptions: dict[int, Filter] = {}
        self.place = Place(host.id)
        self.hearing = Hearing(self.heartbeat_us)
        self.neighbours: dict[int, Member] = {}
        self.children: dict[int, Child] = {}
        self.routes: dict[int, Record] = {}  # adjacent group -> the gateway closest to the leader
        self.passages: dict[int, Passage] = {}
        self.waiting: list[Passage] = []
        self.new = True
        self.open = False
        self.since_us = 0  # without a group since
        self.beat_us = 0
        self.hung_us = 0
        self.asked = NOBODY
        self.is_turning = False
        self.proposed_us = 0
        self.busy_until_us = 0
        self.bitmap_version = 0
        self.bitmap_sent = 0
        self.bitmap_sent_us = 0
        self.bitmap_known = 0
        self.records_version = 0
        self.records_sent: list[list[Any]] = []
        self.records_sent_us = 0
        self.records_known = 0

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
        self.host.set_timer(TICK, int(self.host.random() * self.heartbeat_us))

    def on_timer(self, key: int) -> None:
        if key == TICK:
            self.tick()
        elif key == ANSWER:
            self.no_answer()

    def tick(self) -> None:
        now = self.host.now()
        self.forget_the_silent(now)
        if self.place.is_root():
            self.place.count += 1
            self.open = self.is_open()
            self.merge(now)
        elif self.place.is_stale(now, self.gone_us, self.heartbeat_us):
            self.place.bury()
            self.lose_parent()
        if self.asked == NOBODY and (not self.place.is_settled() or self.is_lone()):
            self.look_for_a_group(now)
        self.find_routes()
        self.tell_parent(False)
        self.drop_the_late(now)
        self.beat()
        self.host.set_timer(TICK, int(self.heartbeat_us * (0.9 + 0.2 * self.host.random())))  # R2

    def beat(self) -> None:
        place = self.place
        grouped = place.tree != NO_TREE
        listed: list[int] = []
        for child in self.children.values():
            listed.append(child.id)
            listed.append(child.bitmap_version)
            listed.append(child.records_version)
        self.beat_us = self.host.now()
        self.host.broadcast(
            Heartbeat(
                place.tree,
                place.count,
                place.level,
                place.parent,
                0 if grouped else self.weight(),
                self.open,
                self.branch_members(),
                self.branch_depth(),
                listed,
                [] if grouped else sorted(self.neighbours)[:MAX_LISTED],
            )
        )

    def hurry(self) -> None:
        """The group is another one: neighbours should know before a second has passed."""
        wait = int(self.host.random() * HURRY_US) + max(0, self.beat_us + HURRY_US - self.host.now())
        self.host.set_timer(TICK, wait)

    def forget_the_silent(self, now: int) -> None:
        gone = [n.id for n in self.neighbours.values() if now - n.heard_us > self.gone_us]
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
        self.hearing.hear(neighbour, self.host.now(), self.host.signal())
        neighbour.tree = beat.tree
        neighbour.count = beat.count
        neighbour.level = beat.level
        neighbour.parent = beat.parent
        neighbour.weight = beat.weight
        neighbour.open = beat.open
        neighbour.members = beat.members
        neighbour.neighbours = beat.neighbours
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

    def change_parent(self) -> None:
        """The parent is about to be lost: take another one of the same group while it is still there (R17)."""
        other = self.best_parent()
        if other is not None and other.tree == self.place.tree and not self.hearing.is_leaving(other):
            self.ask(other.id)

    def read_receipt(self, beat: Heartbeat, sender: int) -> None:
        """What the parent has from this node; a parent that does not know its child is asked again."""
        children = beat.children
        for at in range(0, len(children), 3):
            if children[at] == self.host.id:
                self.bitmap_known = children[at + 1]
                self.records_known = children[at + 2]
                return
        if self.asked == NOBODY and self.host.now() - self.hung_us > self.heartbeat_us:
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

    # ---- the weight of a leader (§3.1)

    def weight(self) -> int:
        """W in thousandths (R3)."""
        p = self.params
        w = p.wf1 * _unit(self.host.battery()) + p.wf2 * self.signal_strength()
        w += p.wf3 * self.clustering() + p.wf4 * self.dissemination()
        return min(round(w * WEIGHT_UNIT), WEIGHT_MAX)

    def signal_strength(self) -> float:
        total = 0.0
        for neighbour in self.neighbours.values():
            dbm = neighbour.signal_dbm
            total += NEUTRAL if dbm != dbm else _unit((dbm - WEAK_DBM) / (STRONG_DBM - WEAK_DBM))
        return total / len(self.neighbours) if self.neighbours else NEUTRAL

    def clustering(self) -> float:
        """The local clustering coefficient: pairs of neighbours of which one lists the other, over all pairs."""
        ids = sorted(self.neighbours)
        pairs = len(ids) * (len(ids) - 1) // 2
        linked = 0
        for at, id in enumerate(ids):
            listed = self.neighbours[id].neighbours
            for other in ids[at + 1 :]:
                if other in listed or id in self.neighbours[other].neighbours:
                    linked += 1
        return linked / pairs if pairs else 0.0

    def dissemination(self) -> float:
        most = own = len(self.neighbours)
        for neighbour in self.neighbours.values():
            most = max(most, len(neighbour.neighbours))
        return own / most if most else 0.0

    def is_capable(self) -> bool:
        """No neighbour without a group would be the better leader."""
        weight = self.weight()
        for neighbour in self.neighbours.values():
            if neighbour.tree == NO_TREE and _better(neighbour.weight, neighbour.id, weight, self.host.id):
                return False
        return True

    # ---- finding a group (§3.1)

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
        if asked in self.neighbours:
            self.neighbours[asked].failed_us = self.host.now()
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
        self.proposed_us = self.host.now()
        self.release()
        self.hurry()

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
        if _better(self.weight(), self.host.id, join.weight, n1):
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
        self.bitmap_known = self.records_known = 0
        self.bitmap_sent_us = self.records_sent_us = NEVER
        self.tell_parent(True)
        self.release()
        if self.is_turning:
            self.is_turning = False
            if before != NOBODY and before != parent:
                self.host.send(before, Turn())

    def has_moved(self) -> None:
        self.find_routes()
        self.hurry()

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
        if self.hearing.has_failed(neighbour, self.host.now()):
            return False
        if self.is_lone() and neighbour.level == 0 and neighbour.members == 1 and self.host.id < neighbour.id:
            return False  # R9
        return self.place.may_hang_below(neighbour.tree, neighbour.count, neighbour.level)

    def rank(self, neighbour: Member) -> tuple[bool, bool, bool, bool, int, float, int]:
        is_other = neighbour.tree != self.place.tree
        is_deep = neighbour.level >= self.params.preferred_levels
        dbm = neighbour.signal_dbm
        weakness = 0.0 if dbm != dbm else -dbm
        is_faint = self.hearing.is_faint(neighbour)
        return (
            self.hearing.is_doubtful(neighbour, self.host.now()),
            is_other,
            is_deep,
            is_faint,
            neighbour.level,
            weakness,
            neighbour.id,
        )

    def consider(self, neighbour: Member) -> None:
        """A heartbeat has come: is this the parent that was missing, or a much better one (R15)?"""
        place = self.place
        if not place.is_settled() or self.is_lone():
            if self.may_be_parent(neighbour):
                self.look_for_a_group(self.host.now())
        elif neighbour.tree == place.tree and neighbour.level + 3 <= place.level and self.may_be_parent(neighbour):
            self.ask(neighbour.id)

    def lose_parent(self) -> None:
        parent = self.place.parent
        self.host.note(LOST_PARENT, peer=parent)
        self.place.let_go()
        if parent in self.neighbours:
            self.neighbours[parent].failed_us = self.host.now()
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
        neighbour = self.neighbours.get(to)
        if neighbour is not None and self.hearing.deserves_another_try(neighbour, self.host.now()):
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

    # ---- the index (§3.2)

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.subscriptions[subscription] = filter
        self.local |= filter_bitmap(filter, self.params.bits, self.params.hashes)
        self.tell_parent(True)

    def on_unsubscribe(self, subscription: int) -> None:
        self.subscriptions.pop(subscription, None)
        self.local = 0
        for filter in self.subscriptions.values():
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
            self.bitmap_version = _next_version(self.bitmap_version)
        elif not self.must_repeat(self.bitmap_known, self.bitmap_version, self.bitmap_sent_us):
            return
        self.bitmap_sent_us = self.host.now()
        size = (self.params.bits + 7) // 8
        self.host.send(self.place.parent, Bitmap(self.bitmap_version, self.bitmap_sent.to_bytes(size, "little")))

    def must_repeat(self, known: int, version: int, sent_us: int) -> bool:
        """Whether the parent was never sent this, or says in a heartbeat well after it was sent that it has it not."""
        if known == version or version == 0:
            return False
        parent = self.neighbours.get(self.place.parent)
        return sent_us == NEVER or (parent is not None and sent_us + ANSWER_US < parent.heard_us)

    # ---- gateways (§3.3)

    def find_routes(self) -> None:
        """To each adjacent group the gateway that is closest to the leader: this node, or one in a child's branch."""
        self.routes = {}
        tree, now = self.place.tree, self.host.now()
        if tree == NO_TREE:
            return
        for neighbour in self.neighbours.values():
            if neighbour.tree != NO_TREE and neighbour.tree != tree and not self.hearing.is_doubtful(neighbour, now):
                level = self.place.level + (FAINT_LEVELS if self.hearing.is_faint(neighbour) else 0)
                self.keep(Record(neighbour.tree, self.host.id, level, neighbour.open, NOBODY))
        for child in self.children.values():
            for record in child.records:
                if record.tree != tree:
                    self.keep(record)

    def keep(self, record: Record) -> None:
        known = self.routes.get(record.tree)
        if known is None:
            if len(self.routes) < MAX_GROUPS:
                self.routes[record.tree] = record
        elif (record.level, record.gateway) < (known.level, known.gateway):
            self.routes[record.tree] = record

    def tell_records(self) -> None:
        records = [self.routes[tree].fields() for tree in sorted(self.routes)]
        if records != self.records_sent:
            self.records_sent = records
            self.records_version = _next_version(self.records_version)
        elif not self.must_repeat(self.records_known, self.records_version, self.records_sent_us):
            return
        self.records_sent_us = self.host.now()
        self.host.send(self.place.parent, Gateway(self.records_version, records))

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
        if event.publisher == self.host.id:
            return
        for filter in self.subscriptions.values():
            if filter.matches(event):
                self.host.deliver(event)
                return

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
            self.host.send(child, self.frame(passage, DOWN, wanted))

    def climb(self, passage: Passage) -> None:
        if self.place.is_root():
            self.send_down(passage, {}, self.groups_to_tell(passage))
        elif self.place.parent != NOBODY:
            self.host.note(CLIMBED, passage.event.id, self.place.parent)
            self.host.send(self.place.parent, self.frame(passage, UP, []))
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
        peer = self.peer_in(tree)
        if peer is None:
            self.try_another_way(passage, [tree])
            return
        self.host.note(CROSSED, passage.event.id, peer.id)
        self.host.send(peer.id, self.frame(passage, ACROSS, []))

    def peer_in(self, tree: int) -> Member | None:
        """Whom this gateway speaks to in another group: somebody heard just now, and high up there."""
        best: Member | None = None
        for neighbour in self.neighbours.values():
            if neighbour.tree != tree or self.hearing.has_failed(neighbour, self.host.now()):
                continue
            if best is None or self.peer_rank(neighbour) < self.peer_rank(best):
                best = neighbour
        return best

    def peer_rank(self, neighbour: Member) -> tuple[bool, bool, int, int]:
        return (
            self.hearing.is_doubtful(neighbour, self.host.now()),
            self.hearing.is_faint(neighbour),
            neighbour.level,
            neighbour.id,
        )

    def frame(self, passage: Passage, way: int, targets: list[int]) -> GroupEvent:
        reach = passage.reach
        if way == ACROSS and reach != REACH_MAX:
            reach -= 1
        age_us = min(self.host.now() - passage.born_us, FOREVER)
        return GroupEvent(passage.event, way, age_us, reach, passage.groups, targets, passage.masks)

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
        self.host.send(self.place.parent, self.frame(passage, UP, [tree]))

    # ---- merging (§3.1)

    def branch_members(self) -> int:
        members = 1
        for child in self.children.values():
            members += child.members
        return members

    def branch_depth(self) -> int:
        depth = -1
        for child in self.children.values():
            depth = max(depth, child.depth)
        return min(depth + 1, LEVEL_MAX)

    def is_open(self) -> bool:
        """Whether the group, whose leader this is, is not saturated."""
        return self.branch_depth() < self.params.preferred_levels and self.branch_members() < self.params.max_members

    def merge(self, now: int) -> None:
        """The leader proposes to the open group that is nearest, leader to leader."""
        if not self.open or self.is_lone() or now - self.proposed_us < self.merge_us or now < self.busy_until_us:
            return
        best: Record | None = None
        for record in self.routes.values():
            if record.open and (best is None or record.level < best.level):
                best = record
        if best is None:
            return
        self.proposed_us = now
        self.busy_until_us = now + self.heartbeat_us
        self.host.note(PROPOSED, peer=root_of(best.tree))
        depth, members = self.branch_depth(), self.branch_members()
        self.on_propose(Propose(self.place.tree, best.tree, best.gateway, members, depth, best.level, []))

    def on_propose(self, frame: Propose) -> None:
        """Pass it on: down to the gateway, across, and up to the other leader."""
        if self.host.id in frame.route or len(frame.route) >= MAX_ROUTE:
            return
        if self.place.tree == frame.target:
            if self.place.is_root():
                self.decide(frame)
            elif self.place.parent != NOBODY:
                self.host.send(self.place.parent, frame.passed_on(self.host.id, 0))
        elif self.place.tree == frame.source and frame.gateway == self.host.id:
            peer = self.peer_in(frame.target)
            if peer is not None:
                self.host.send(peer.id, frame.passed_on(self.host.id, 1 + peer.level))
        elif self.place.tree == frame.source:
            to = self.towards(frame)
            if to != NOBODY:
                self.host.send(to, frame.passed_on(self.host.id, 0))

    def towards(self, frame: Propose) -> int:
        for child in self.children.values():
            for record in child.records:
                if record.tree == frame.target and record.gateway == frame.gateway:
                    return child.id
        return NOBODY

    def decide(self, frame: Propose) -> None:
        """The other leader's part: agree if neither limit is passed, and choose who leads (R10)."""
        now = self.host.now()
        depth, members = self.branch_depth(), self.branch_members()
        if not self.is_open() or now < self.busy_until_us or frame.gateway not in frame.route:
            return
        if members + frame.members > self.params.max_members:
            return
        if_self = max(depth, frame.reach + frame.depth)
        if_other = max(frame.depth, frame.reach + depth)
        if min(if_self, if_other) > self.params.max_level:
            return
        self.busy_until_us = now + self.merge_us  # until the members are counted
        boundary = frame.gateway
        route = [*frame.route, self.host.id]
        peer = route[route.index(boundary) + 1]
        if (if_self, -members, self.place.tree) <= (if_other, -frame.members, frame.source):
            turner, below = boundary, peer
        else:
            turner, below = peer, boundary
        self.host.note(MERGED, peer=turner, value=min(if_self, if_other))
        self.on_accept(Accept(turner, below, frame.route))

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

    # ---- what is held

    def memory(self) -> tuple[int, int]:
        """Bitmaps (its own and its children's) and gateway records."""
        bitmaps = 1 + len(self.children)
        records = len(self.routes)
        for child in self.children.values():
            records += len(child.records)
        return bitmaps + records, bitmaps * ((self.params.bits + 7) // 8) + records * RECORD_BYTES


RECORD_BYTES: Final = 16
"""Two ids of four bytes, a tree of six, a level and `open`."""


def _unit(value: float) -> float:
    if value != value:
        return NEUTRAL
    return min(max(value, 0.0), 1.0)


def _better(weight: int, id: int, than_weight: int, than_id: int) -> bool:
    """Whether the first of two nodes leads (R6)."""
    return weight > than_weight or (weight == than_weight and id < than_id)


def _next_version(version: int) -> int:
    """0 means that there was none yet."""
    return version % VERSION_MAX + 1
