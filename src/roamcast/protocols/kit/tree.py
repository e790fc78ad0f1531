"""A node's place in a tree, and how the node finds another place without ever becoming its own descendant.

Shared by `treegroup` (many small trees) and `subtree` (one for the whole network).

The name of a tree is made of its root and of a random number that the root draws whenever it becomes one. So a root
that restarts begins a new tree, and old frames about the earlier tree do not match it. The root counts its heartbeats,
and all nodes pass this count down the tree in their own heartbeats. So each node has a *label* (count, level) in its
tree. The rule that keeps trees free of loops is that of destination-sequenced distance vectors: a node may attach to a
neighbour only if that neighbour's count is newer than its own, or if the counts are the same and the neighbour is
strictly closer to the root. The rule holds for every tree in which the node remembers its label, also when the node
follows its parent into another tree. The descendants of a node have its count or an older one and are deeper. So no
node attaches to one of its own descendants (Li et al. §3.4), and frames are enough to know that.

The rule has two more effects. Below a root that has died the count stops, so all nodes notice it. And if old heartbeats
of two trees ever make a ring, then the label of the ring fails the rule or its count stops, and the ring opens.

The two protocols also share the part of a heartbeat that describes a place (`PlaceHeartbeat`), the times of heartbeats
(`HeartbeatTimer`), and the judgement which neighbours can be reached (`LinkQuality`). A frame to a node that has left
costs eight attempts at the MAC, and in a mobile network these are more than all other frames together. Therefore:
  - a neighbour that refused or did not acknowledge a frame gets none for two heartbeats. If it was heard just now, it
    first gets the frame a second time, because frames collide, too;
  - where the radio measures the signal, a neighbour is *leaving* if its heartbeats weaken so fast that two heartbeats
    later they would be weaker than any heard before, and it is *faint* within 3 dB of the weakest heard before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, final

from roamcast.protocols.kit.interface import NOBODY, Frame, Host
from roamcast.protocols.kit.wire import as_int, counted

NO_TREE: Final = 0
NO_COUNT: Final = -1

TICK: Final = 1
"""The timer of the next heartbeat."""

HURRY_US: Final = 30_000
"""Ours: a heartbeat about another tree is sent within this time, at random so that neighbours do not collide."""

TREE_BITS: Final = 16
TREE_MAX: Final = (1 << 47) - 1
NODE_MAX: Final = (1 << 31) - 1
COUNT_MAX: Final = (1 << 48) - 1
LEVEL_MAX: Final = 255
VERSION_MAX: Final = 65_535

REMEMBERED: Final = 16
"""Ours: trees in which a node remembers its label. Only few trees occur while old frames about them are on the way."""

MAX_NEIGHBOURS: Final = 256
"""Ours: the most neighbours that a node keeps."""

NEVER: Final = -(1 << 60)
"""Long before any clock starts, and near enough that the time since then is a small int when compiled."""


# ------------------------------------------------------------------------------------------------ trees and places


def tree_name(root: int, draw: float) -> int:
    """The name of a new tree; `draw` is a random number in [0, 1)."""
    return root << TREE_BITS | 1 + int(draw * ((1 << TREE_BITS) - 1))


def root_of(tree: int) -> int:
    return tree >> TREE_BITS if tree else NOBODY


def next_version(version: int) -> int:
    """The version of what is advertised next; 0 means that there was none yet."""
    return version % VERSION_MAX + 1


@final
class Place:
    """A node's tree, its label there, and its parent. The root of a tree has no parent and level 0."""

    def __init__(self, node: int, doubts: bool = False) -> None:
        """`doubts`: a count that the parent itself does not reach is given up."""
        self.node = node
        self.tree = NO_TREE
        self.count = 0
        self.level = 0
        self.parent = NOBODY
        self.fresh_us = 0
        self.doubts = doubts
        self.behind = NO_COUNT  # the last count of the parent that was older than this node's
        self.labels: dict[int, tuple[int, int]] = {}

    def is_root(self) -> bool:
        return self.tree != NO_TREE and root_of(self.tree) == self.node

    def is_attached(self) -> bool:
        """Whether the node is a root or has a parent."""
        return self.parent != NOBODY or self.is_root()

    def may_attach_below(self, tree: int, count: int, level: int) -> bool:
        """Whether attaching to a node with this label can make no loop."""
        if tree == NO_TREE or root_of(tree) == self.node:
            return False
        label = self.labels.get(tree)
        return label is None or count > label[0] or (count == label[0] and level < label[1])

    def attach(self, parent: int, tree: int, count: int, level: int, now_us: int) -> None:
        """Take a place below `parent`, which has this label."""
        if tree != self.tree or count > self.count:
            self.fresh_us = now_us
        self.parent = parent
        self.tree = tree
        self.count = count
        self.level = level + 1
        self._remember()

    def is_overtaken(self, tree: int, count: int) -> bool:
        """Whether a heartbeat of the parent is older than what this node knows, so that it does not count.

        Only one can be on the way. If a second one comes, with a higher count, then the parent goes on counting from
        there, and what this node knew was never true: somebody sent it in the parent's name. It is forgotten.
        """
        if tree != self.tree or count >= self.count:
            self.behind = NO_COUNT
            return False
        if self.doubts and NO_COUNT < self.behind < count:
            self.behind = NO_COUNT
            self.count = 0
            self.labels.pop(tree, None)
            return False
        self.behind = count
        return True

    def lead(self, tree: int) -> None:
        self.tree = tree
        self.count = 0
        self.level = 0
        self.parent = NOBODY

    def is_far_below(self, neighbour: Neighbour) -> bool:
        """Whether the node would be at least two levels higher below this neighbour; one is not worth the frames."""
        return neighbour.tree == self.tree and neighbour.level + 3 <= self.level

    def is_stale(self, now_us: int, gone_us: int, heartbeat_us: int) -> bool:
        """Whether the root's count has stopped. In a new tree the first count takes a heartbeat for each level."""
        return self.parent != NOBODY and now_us - self.fresh_us > gone_us + (self.level + 1) * heartbeat_us

    def mark_root_dead(self) -> None:
        """From now on no node of this tree may be the parent until its count has risen."""
        self.labels[self.tree] = (self.count, 0)

    def lose_parent(self) -> None:
        """The tree and the label stay until there is another parent."""
        self.parent = NOBODY

    def leave(self) -> None:
        self.parent = NOBODY
        self.tree = NO_TREE
        self.count = 0
        self.level = 0

    def _remember(self) -> None:
        self.labels.pop(self.tree, None)
        self.labels[self.tree] = (self.count, self.level)
        if len(self.labels) > REMEMBERED:
            del self.labels[next(iter(self.labels))]


# ----------------------------------------------------------------------------------------------------- heartbeats


class PlaceHeartbeat(Frame):
    """What every heartbeat begins with: the sender's place. A protocol adds more fields and sets the size."""

    __slots__ = ("count", "level", "parent", "tree")

    def __init__(self, tree: int, count: int, level: int, parent: int) -> None:
        super().__init__("heartbeat", 0, 0)
        self.tree = tree
        self.count = count
        self.level = level
        self.parent = parent


def as_place(fields: list[Any]) -> tuple[int, int, int, int]:
    """Tree, count, level and parent, checked."""
    tree, count, level, parent = counted(fields, 4)
    return (
        as_int(tree, 0, TREE_MAX),
        as_int(count, 0, COUNT_MAX),
        as_int(level, 0, LEVEL_MAX),
        as_int(parent, NOBODY, NODE_MAX),
    )


@final
class HeartbeatTimer:
    """When a node sends its heartbeats.

    The period varies by a tenth either way. Otherwise neighbours whose heartbeats collide once would always collide.
    """

    def __init__(self, host: Host, period_us: int) -> None:
        self.host = host
        self.period_us = period_us
        self.sent_us = 0

    def start(self) -> None:
        self.host.set_timer(TICK, int(self.host.random() * self.period_us))

    def send(self, frame: PlaceHeartbeat) -> None:
        self.sent_us = self.host.now()
        self.host.broadcast(frame)

    def schedule_next(self) -> None:
        """After a heartbeat: set the timer for the next one."""
        self.host.set_timer(TICK, int(self.period_us * (0.9 + 0.2 * self.host.random())))

    def send_soon(self) -> None:
        """The node is in another tree, which neighbours should know in less than a period."""
        wait = int(self.host.random() * HURRY_US) + max(0, self.sent_us + HURRY_US - self.host.now())
        self.host.set_timer(TICK, wait)


# ----------------------------------------------------------------------------------------------------- neighbours


class Neighbour:
    """A node that was heard lately, and its place by its last heartbeat."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.heard_us = NEVER
        self.signal_dbm = 0.0
        self.trend_db = 0.0  # change of the signal since the heartbeat before
        self.tree = NO_TREE
        self.count = 0
        self.level = 0
        self.parent = NOBODY
        self.failed_us = NEVER  # when it last refused, or did not acknowledge

    def is_attached(self) -> bool:
        """Whether the node is a root or has a parent."""
        return self.tree != NO_TREE and (self.parent != NOBODY or root_of(self.tree) == self.id)


FAINT_DB: Final = 3.0


@final
class LinkQuality:
    """How well a node receives its neighbours, and how likely it is to reach them."""

    def __init__(self, host: Host, heartbeat_us: int, gone_us: int) -> None:
        self.host = host
        self.heartbeat_us = heartbeat_us
        self.gone_us = gone_us
        self.weakest_dbm = 1000.0  # of the weakest heartbeat so far

    def record(self, neighbour: Neighbour, heartbeat: PlaceHeartbeat) -> None:
        """The host is handling this heartbeat of the neighbour now."""
        signal_dbm = self.host.signal()
        change = signal_dbm - neighbour.signal_dbm if neighbour.heard_us != NEVER else 0.0
        neighbour.trend_db = 0.0 if change != change else change  # NaN where the radio does not measure it
        neighbour.signal_dbm = signal_dbm
        neighbour.heard_us = self.host.now()
        neighbour.tree = heartbeat.tree
        neighbour.count = heartbeat.count
        neighbour.level = heartbeat.level
        neighbour.parent = heartbeat.parent
        if signal_dbm < self.weakest_dbm:
            self.weakest_dbm = signal_dbm

    def silent(self, neighbours: Iterable[Neighbour]) -> list[int]:
        """The neighbours that have been silent for so long that they count as gone."""
        now = self.host.now()
        return [neighbour.id for neighbour in neighbours if now - neighbour.heard_us > self.gone_us]

    def mark_failed(self, neighbour: Neighbour | None) -> None:
        """It refused, did not answer or did not acknowledge, or is not a good parent; None if it is no neighbour."""
        if neighbour is not None:
            neighbour.failed_us = self.host.now()

    def has_failed(self, neighbour: Neighbour) -> bool:
        return self.host.now() - neighbour.failed_us < 2 * self.heartbeat_us

    def is_leaving(self, neighbour: Neighbour) -> bool:
        return neighbour.trend_db < 0 and neighbour.signal_dbm + 2 * neighbour.trend_db < self.weakest_dbm

    def is_faint(self, neighbour: Neighbour) -> bool:
        return neighbour.signal_dbm < self.weakest_dbm + FAINT_DB

    def is_doubtful(self, neighbour: Neighbour) -> bool:
        """Whether a frame will hardly reach it: it failed, its heartbeat is late, or it is leaving."""
        is_old = 2 * (self.host.now() - neighbour.heard_us) > 3 * self.heartbeat_us
        return is_old or self.has_failed(neighbour) or self.is_leaving(neighbour)

    def should_retry(self, neighbour: Neighbour | None) -> bool:
        """Whether to send a frame again that it did not acknowledge.

        Called once for each failure: after a second one in a row the neighbour counts as gone.
        """
        if neighbour is None:
            return False
        is_gone = self.is_doubtful(neighbour)
        self.mark_failed(neighbour)
        return not is_gone
