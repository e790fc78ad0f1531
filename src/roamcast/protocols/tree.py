"""Where a node hangs in a tree, and how it finds another place without ever hanging below itself.

Shared by `treegroup` (many small trees) and `subtree` (one for the whole network).

A tree is named by its root and a random number that the root draws whenever it becomes one, so a root that reboots
starts a new tree and no old rumour fits it. The root counts its heartbeats; the count flows down with everybody's
own heartbeats. So each node has a *label* (count, level) in its tree. The rule that keeps trees free of loops is that
of destination-sequenced distance vectors: a node may hang below a neighbour only if that neighbour's count is newer
than its own, or the same and the neighbour is strictly closer to the root. It holds for every tree the node remembers
having been in, also when it follows its parent. A node's descendants have its count or an older one and are deeper, so
"a node must avoid connecting to its descendants" (Li §3.4) follows, from what frames tell alone.

Two things the rule gives for nothing: below a root that has died, the count stops, so everybody notices; and should
stale news of two trees ever make a ring, its label fails the rule, or else its count stands still, and the ring opens.

Which neighbour to trust is shared as well (`Hearing`), because every frame to a node that has left costs eight attempts
at the MAC, which in a mobile network is more than all other frames together:
  - one that refused or did not acknowledge is left alone for two heartbeats; but one that was heard just now is sent
    the frame a second time first: frames collide, too;
  - where the radio tells the signal's strength, one whose heartbeats weaken so fast that the next but one would be
    weaker than any ever heard is *leaving*, and one within 3 dB of the weakest ever heard is *faint*.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.interface import NOBODY

NO_TREE: Final = 0

TREE_BITS: Final = 16
TREE_MAX: Final = (1 << 47) - 1
NODE_MAX: Final = (1 << 31) - 1
COUNT_MAX: Final = (1 << 48) - 1
LEVEL_MAX: Final = 255

REMEMBERED: Final = 16
"""Ours: trees a node remembers its label in. A node sees only a few in the time that news of them is on the air."""

MAX_NEIGHBOURS: Final = 256
"""Ours: whatever arrives, no more neighbours than this are kept."""

NEVER: Final = -(1 << 62)


def tree_name(root: int, draw: float) -> int:
    """The name of a new tree; `draw` is a random number in [0, 1)."""
    return root << TREE_BITS | 1 + int(draw * ((1 << TREE_BITS) - 1))


def root_of(tree: int) -> int:
    return tree >> TREE_BITS if tree else NOBODY


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

    def __init__(self, heartbeat_us: int) -> None:
        self.heartbeat_us = heartbeat_us
        self.edge_dbm = 1000.0  # the weakest heartbeat ever heard

    def hear(self, neighbour: Neighbour, now_us: int, signal_dbm: float) -> None:
        change = signal_dbm - neighbour.signal_dbm if neighbour.heard_us != NEVER else 0.0
        neighbour.trend_db = 0.0 if change != change else change  # NaN where the radio does not tell
        neighbour.signal_dbm = signal_dbm
        neighbour.heard_us = now_us
        if signal_dbm < self.edge_dbm:
            self.edge_dbm = signal_dbm

    def has_failed(self, neighbour: Neighbour, now_us: int) -> bool:
        return now_us - neighbour.failed_us < 2 * self.heartbeat_us

    def is_leaving(self, neighbour: Neighbour) -> bool:
        return neighbour.trend_db < 0 and neighbour.signal_dbm + 2 * neighbour.trend_db < self.edge_dbm

    def is_faint(self, neighbour: Neighbour) -> bool:
        return neighbour.signal_dbm < self.edge_dbm + FAINT_DB

    def is_doubtful(self, neighbour: Neighbour, now_us: int) -> bool:
        """Whether a frame will hardly reach it: it failed, should have been heard again, or is leaving."""
        is_old = 2 * (now_us - neighbour.heard_us) > 3 * self.heartbeat_us
        return is_old or self.has_failed(neighbour, now_us) or self.is_leaving(neighbour)

    def deserves_another_try(self, neighbour: Neighbour, now_us: int) -> bool:
        """It did not acknowledge a frame. Asked once for each failure: the second in a row means that it is gone."""
        is_gone = self.is_doubtful(neighbour, now_us)
        neighbour.failed_us = now_us
        return not is_gone
