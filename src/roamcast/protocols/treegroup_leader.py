"""Who leads a group (Li §3.1): the weight of a node, and which of two nodes is the better leader.

W = wf1 · P_A + wf2 · s + wf3 · C_L + wf4 · Δdd, every term in [0, 1] (R3 of `treegroup.py`).
"""

from __future__ import annotations

from typing import Final

from roamcast.protocols.tree import NO_TREE
from roamcast.protocols.treegroup_frames import WEIGHT_MAX
from roamcast.protocols.treegroup_params import TreeGroupParams
from roamcast.protocols.treegroup_tables import Member

WEAK_DBM: Final = -95.0
STRONG_DBM: Final = -45.0
NEUTRAL: Final = 0.5

WEIGHT_UNIT: Final = 1000


def leader_weight(params: TreeGroupParams, battery: float, neighbours: dict[int, Member]) -> int:
    """W in thousandths."""
    w = params.wf1 * _unit(battery) + params.wf2 * signal_strength(neighbours)
    w += params.wf3 * clustering(neighbours) + params.wf4 * dissemination(neighbours)
    return min(round(w * WEIGHT_UNIT), WEIGHT_MAX)


def signal_strength(neighbours: dict[int, Member]) -> float:
    """s: how strong the neighbours' heartbeats are on the average."""
    total = 0.0
    for neighbour in neighbours.values():
        dbm = neighbour.signal_dbm
        total += NEUTRAL if dbm != dbm else _unit((dbm - WEAK_DBM) / (STRONG_DBM - WEAK_DBM))
    return total / len(neighbours) if neighbours else NEUTRAL


def clustering(neighbours: dict[int, Member]) -> float:
    """C_L, the local clustering coefficient: pairs of neighbours of which one lists the other, over all pairs."""
    ids = sorted(neighbours)
    pairs = len(ids) * (len(ids) - 1) // 2
    linked = 0
    for at, id in enumerate(ids):
        listed = neighbours[id].neighbours
        for other in ids[at + 1 :]:
            if other in listed or id in neighbours[other].neighbours:
                linked += 1
    return linked / pairs if pairs else 0.0


def dissemination(neighbours: dict[int, Member]) -> float:
    """Δdd: how many one transmission reaches, over the most that one of the neighbours reaches with its own."""
    most = own = len(neighbours)
    for neighbour in neighbours.values():
        most = max(most, len(neighbour.neighbours))
    return own / most if most else 0.0


def is_better(weight: int, id: int, than_weight: int, than_id: int) -> bool:
    """Whether the first of two nodes leads (R6)."""
    return weight > than_weight or (weight == than_weight and id < than_id)


def is_capable(weight: int, id: int, neighbours: dict[int, Member]) -> bool:
    """No neighbour without a group would be the better leader (R7)."""
    for neighbour in neighbours.values():
        if neighbour.tree == NO_TREE and is_better(neighbour.weight, neighbour.id, weight, id):
            return False
    return True


def _unit(value: float) -> float:
    if value != value:
        return NEUTRAL
    return min(max(value, 0.0), 1.0)
