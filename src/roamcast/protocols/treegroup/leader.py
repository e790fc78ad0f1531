"""Which node leads a group (Li et al. §3.1): the weight of a node, and which of two nodes is the better leader.

W = wf1 · P_A + wf2 · s + wf3 · C_L + wf4 · Δdd, every term in [0, 1] (R3 of `protocol.py`).
"""

from __future__ import annotations

from typing import Final, final

from roamcast.protocols.kit.tree import NO_TREE
from roamcast.protocols.treegroup.frames import MAX_LISTED, WEIGHT_MAX
from roamcast.protocols.treegroup.tables import GroupNeighbour, Part, Tables

WEAK_DBM: Final = -95.0
STRONG_DBM: Final = -45.0
NEUTRAL: Final = 0.5

WEIGHT_UNIT: Final = 1000


@final
class Candidacy(Part):
    """How good a leader this node would be. The last two terms depend on all pairs of neighbours, so they are computed
    only after the protocol has reported that neighbours or their lists have changed."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self.is_stale = True
        self.is_listed = False
        self.listed: list[int] = []
        self.clustering = 0.0
        self.dissemination = 0.0

    def neighbours_changed(self) -> None:
        self.is_listed = False
        self.is_stale = True

    def lists_changed(self) -> None:
        """A neighbour lists other nodes than before."""
        self.is_stale = True

    def listed_neighbours(self) -> list[int]:
        """The neighbours that a heartbeat lists."""
        if not self.is_listed:
            self.listed = sorted(self.neighbours)[:MAX_LISTED]
            self.is_listed = True
        return self.listed

    def weight(self) -> int:
        """W in thousandths."""
        if self.is_stale:
            self.clustering = clustering(self.neighbours)
            self.dissemination = dissemination(self.neighbours)
            self.is_stale = False
        p = self.params
        w = p.wf1 * _unit(self.host.battery()) + p.wf2 * signal_strength(self.neighbours)
        w += p.wf3 * self.clustering + p.wf4 * self.dissemination
        return min(round(w * WEIGHT_UNIT), WEIGHT_MAX)

    def is_capable(self) -> bool:
        """Whether no neighbour without a group would be a better leader (R7)."""
        weight = self.weight()
        for neighbour in self.neighbours.values():
            if neighbour.tree == NO_TREE and is_better(neighbour.weight, neighbour.id, weight, self.host.id):
                return False
        return True


def signal_strength(neighbours: dict[int, GroupNeighbour]) -> float:
    """s: the mean strength of the neighbours' heartbeats."""
    total = 0.0
    for neighbour in neighbours.values():
        dbm = neighbour.signal_dbm
        total += NEUTRAL if dbm != dbm else _unit((dbm - WEAK_DBM) / (STRONG_DBM - WEAK_DBM))
    return total / len(neighbours) if neighbours else NEUTRAL


def clustering(neighbours: dict[int, GroupNeighbour]) -> float:
    """C_L, the local clustering coefficient: the share of pairs of neighbours in which one lists the other."""
    pairs = len(neighbours) * (len(neighbours) - 1) // 2
    linked = 0
    lists = {id: set(neighbour.neighbours) for id, neighbour in neighbours.items()}
    for own, neighbour in neighbours.items():
        for id in neighbour.neighbours:
            list_ = lists.get(id)
            if list_ is not None and (own < id or own not in list_):  # each pair once
                linked += 1
    return linked / pairs if pairs else 0.0


def dissemination(neighbours: dict[int, GroupNeighbour]) -> float:
    """Δdd: how many nodes one transmission reaches, divided by the largest such number among the neighbours."""
    most = own = len(neighbours)
    for neighbour in neighbours.values():
        most = max(most, len(neighbour.neighbours))
    return own / most if most else 0.0


def is_better(weight: int, id: int, than_weight: int, than_id: int) -> bool:
    """Whether the first of two nodes leads (R6)."""
    return weight > than_weight or (weight == than_weight and id < than_id)


def _unit(value: float) -> float:
    if value != value:
        return NEUTRAL
    return min(max(value, 0.0), 1.0)
