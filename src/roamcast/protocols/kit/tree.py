"""Where a node hangs in a tree, and how it finds another place without ever hanging below itself.

Shared by `treegroup` (many small trees) and `subtree` (one for the whole network).

A tree is named by its root and a random number that the root draws whenever it becomes one, so a root that reboots
starts a new tree and no old rumour fits it. The root counts its heartbeats; the count flows down with everybody's
own heartbeats. So each node has a *label* (count, level) in its tree. The rule that keeps trees free of loops is that
of destination-sequenced distance vectors: a node may hang below a neighbour only if that neighbour's count is newer
than its own, or the same and the neighbour is strictly closer to the root. It holds for every tree the node remembers
having been in, also when it follows its parent. A node's descendants have its count or an older one and are deeper, so
that no node hangs below one of its own descendants (Li §3.4) follows, from what frames tell alone.

Two things the rule gives for nothing: below a root that has died, the count stops, so everybody notices; and should
stale news of two trees ever make a ring, its label fails the rule, or else its count stands still, and the ring opens.

What else the two protocols share: the part of a heartbeat that tells a place (`PlaceBeat`), when heartbeats are sent
(`Heart`), and which neighbour to trust (`Hearing`). For every frame to a node that has left costs eight attempts at the
MAC, which in a mobile network is more than all other frames together:
  - one that refused or did not acknowledge is left alone for two heartbeats; but one that was heard just now is sent
    the frame a second time first: frames collide, too;
  - where the radio tells the signal's strength, one whose heartbeats weaken so fast that the next but one would be
    weaker than any ever heard is *leaving*, and one within 3 dB of the weakest ever heard is *faint*.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, final

from roamcast.protocols.kit.interface import NOBODY, Frame, Host
from roamcast.protocols.kit.wire import as_int, counted

NO_TREE: Final = 0

TICK: Final = 1
"""The timer of the next heartbeat."""

HURRY_US: Final = 30_000
"""Ours: news of another tree go out within this time, spread so that neighbours do not speak all at once."""

TREE_BITS: Final = 16
TREE_MAX: Final = (1 << 47) - 1
NODE_MAX: Final = (1 << 31) - 1
COUNT_MAX: Final = (1 << 48) - 1
LEVEL_MAX: Final = 255
VERSION_MAX: Final = 65_535

REMEMBERED: Final = 16
"""Ours: trees a node remembers its label in. A node sees only a few in the time that news of them is on the air."""

MAX_NEIGHBOURS: Final = 256
"""Ours: whatever arrives, no more neighbours than this are kept."""

NEVER: Final = -(1 << 60)
"""Long before any clock starts, and near enough that the time since then is a small int when compiled."""


# ------------------------------------------------------------------------------------------------ trees and places


def tree_name(root: int, draw: float) -> int:
    """The name of a new tree; `draw` is a random number in [0, 1)."""
    return root << TREE_BITS | 1 + int(draw * ((1 << TREE_BITS) - 1))


def root_of(tree: int) -> int:
    return tree >> TREE_BITS if tree else NOBODY


def next_version(version: int) -> int:
    """The version of what a tree neighbour is told next; 0 means that there was none yet."""
    return version % VERSION_MAX + 1


@final
class Place:
    """A node's tree, its label there, and its parent. The root of a tree has no parent and level 0."""

    def __init__(self, node: int) -> None:
        self.node = node
        self.tree = NO_TREE
        self.count = 0
        self.level = 0
        self.parent = NOBODY
        self.fresh_us = 0
        self.labels: dict[int, tuple[int, int]] = {}

    def is_root(self) -> bool:
        return self.tree != NO_TREE and root_of(self.tree) == self.node

    def is_settled(self) -> bool:
        """Whether it is a root or hangs below somebody."""
        return self.parent != NOBODY or self.is_root()

    def may_hang_below(self, tree: int, count: int, level: int) -> bool:
        """Whether hanging below a node with this label can make no loop."""
        if tree == NO_TREE or root_of(tree) == self.node:
            return False
        label = self.labels.get(tree)
        return label is None or count > label[0] or (count == label[0] and level < label[1])

    def hang(self, parent: int, tree: int, count: int, level: int, now_us: int) -> None:
        """Take a place below `parent`, whose label this is."""
        if tree != self.tree or count > self.count:
            self.fresh_us = now_us
        self.parent = parent
        self.tree = tree
        self.count = count
        self.level = level + 1
        self._remember()

    def lead(self, tree: int) -> None:
        self.tree = tree
        self.count = 0
        self.level = 0
        self.parent = NOBODY

    def is_far_below(self, neighbour: Neighbour) -> bool:
        """Whether this neighbour of the tree would put the node at least two levels higher; one is not worth it."""
        return neighbour.tree == self.tree and neighbour.level + 3 <= self.level

    def is_stale(self, now_us: int, gone_us: int, heartbeat_us: int) -> bool:
        """Whether the root's count stands still. In a new tree the first count takes a heartbeat for each level."""
        return self.parent != NOBODY and now_us - self.fresh_us > gone_us + (self.level + 1) * heartbeat_us

    def bury(self) -> None:
        """The root is dead: nobody of this tree is believed before its count has gone on."""
        self.labels[self.tree] = (self.count, 0)

    def let_go(self) -> None:
        """The parent is lost; the tree and the label stay, until there is another."""
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


class PlaceBeat(Frame):
    """What every heartbeat begins with: the sender's place. A protocol adds what else it tells, and sets the size."""

    __slots__ = ("count", "level", "parent", "tree")

    def __init__(self, tree: int, count: int, level: int, parent: int) -> None:
        super().__init__("heartbeat", 0, 0)
        self.tree = tree
        self.count = count
        self.level = level
        self.parent = parent


def as_place(fields: list[Any]) -> tuple[int, int, int, int]:
    """Tree, count, level and parent, as they came from the air."""
    tree, count, level, parent = counted(fields, 4)
    return (
        as_int(tree, 0, TREE_MAX),
        as_int(count, 0, COUNT_MAX),
        as_int(level, 0, LEVEL_MAX),
        as_int(parent, NOBODY, NODE_MAX),
    )


@final
class Heart:
    """When a node sends its heartbeats.

    The period varies by a tenth either way, so that neighbours whose heartbeats collide once do not collide for ever.
    """

    def __init__(self, host: Host, period_us: int) -> None:
        self.host = host
        self.period_us = period_us
        self.beat_us = 0

    def start(self) -> None:
        self.host.set_timer(TICK, int(self.host.random() * self.period_us))

    def beat(self, frame: PlaceBeat) -> None:
        self.beat_us = self.host.now()
        self.host.broadcast(frame)

    def rest(self) -> None:
        """Until the next heartbeat is due."""
        self.host.set_timer(TICK, int(self.period_us * (0.9 + 0.2 * self.host.random())))

    def hurry(self) -> None:
        """The tree is another one: neighbours should know before a second has passed."""
        wait = int(self.host.random() * HURRY_US) + max(0, self.beat_us + HURRY_US - self.host.now())
        self.host.set_timer(TICK, wait)


# ----------------------------------------------------------------------------------------------------- neighbours


class Neighbour:
    """Somebody heard lately, and the place that the last heartbeat told."""

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

    def is_settled(self) -> bool:
        """Whether it is a root or hangs below somebody."""
        return self.tree != NO_TREE and (self.parent != NOBODY or root_of(self.tree) == self.id)


FAINT_DB: Final = 3.0


@final
class Hearing:
    """How well a node hears its neighbours, and what that says about reaching them."""

    def __init__(self, host: Host, heartbeat_us: int, gone_us: int) -> None:
        self.host = host
        self.heartbeat_us = heartbeat_us
        self.gone_us = gone_us
        self.edge_dbm = 1000.0  # the weakest heartbeat ever heard

    def hear(self, neighbour: Neighbour, beat: PlaceBeat) -> None:
        """The heartbeat that is being handled is this neighbour's."""
        signal_dbm = self.host.signal()
        change = signal_dbm - neighbour.signal_dbm if neighbour.heard_us != NEVER else 0.0
        neighbour.trend_db = 0.0 if change != change else change  # NaN where the radio does not tell
        neighbour.signal_dbm = signal_dbm
        neighbour.heard_us = self.host.now()
        neighbour.tree = beat.tree
        neighbour.count = beat.count
        neighbour.level = beat.level
        neighbour.parent = beat.parent
        if signal_dbm < self.edge_dbm:
            self.edge_dbm = signal_dbm

    def silent(self, neighbours: Iterable[Neighbour]) -> list[int]:
        """Those that have not been heard for so long that they are gone."""
        now = self.host.now()
        return [neighbour.id for neighbour in neighbours if now - neighbour.heard_us > self.gone_us]

    def fails(self, neighbour: Neighbour | None) -> None:
        """It refused, did not answer or did not acknowledge, or is no good parent; None if it is not heard at all."""
        if neighbour is not None:
            neighbour.failed_us = self.host.now()

    def has_failed(self, neighbour: Neighbour) -> bool:
        return self.host.now() - neighbour.failed_us < 2 * self.heartbeat_us

    def is_leaving(self, neighbour: Neighbour) -> bool:
        return neighbour.trend_db < 0 and neighbour.signal_dbm + 2 * neighbour.trend_db < self.edge_dbm

    def is_faint(self, neighbour: Neighbour) -> bool:
        return neighbour.signal_dbm < self.edge_dbm + FAINT_DB

    def is_doubtful(self, neighbour: Neighbour) -> bool:
        """Whether a frame will hardly reach it: it failed, should have been heard again, or is leaving."""
        is_old = 2 * (self.host.now() - neighbour.heard_us) > 3 * self.heartbeat_us
        return is_old or self.has_failed(neighbour) or self.is_leaving(neighbour)

    def deserves_another_try(self, neighbour: Neighbour | None) -> bool:
        """It did not acknowledge a frame. Asked once for each failure: the second in a row means that it is gone."""
        if neighbour is None:
            return False
        is_gone = self.is_doubtful(neighbour)
        self.fails(neighbour)
        return not is_gone
