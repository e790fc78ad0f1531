"""Gateways (Li §3.3): which way leads to each adjacent group, and to whom of it a gateway speaks.

A node that hears another group is a gateway to it. Of its own links and of the records its children have sent up, each
node keeps for every adjacent group the gateway closest to the leader, and sends these records up; so the leader has one
for each group, and every node on the way down knows by which child to go on.
"""

from __future__ import annotations

from typing import Final

from roamcast.protocols.kit.tree import NO_TREE, Hearing, Place
from roamcast.protocols.treegroup.frames import MAX_GROUPS
from roamcast.protocols.treegroup.tables import Child, Member, Record

FAINT_LEVELS: Final = 16
"""Ours (R18): more levels than a group has, so that a gateway with a good link is closer than any without."""


def closest_gateways(
    place: Place, hearing: Hearing, neighbours: dict[int, Member], children: dict[int, Child]
) -> dict[int, Record]:
    """To each adjacent group the gateway that is closest to the leader: this node, or one in a child's branch."""
    routes: dict[int, Record] = {}
    tree = place.tree
    if tree == NO_TREE:
        return routes
    for neighbour in neighbours.values():
        if neighbour.tree != NO_TREE and neighbour.tree != tree and not hearing.is_doubtful(neighbour):
            level = place.level + (FAINT_LEVELS if hearing.is_faint(neighbour) else 0)
            if _is_closer(level, place.node, routes.get(neighbour.tree), len(routes)):
                routes[neighbour.tree] = Record(neighbour.tree, place.node, level, neighbour.open)
    for child in children.values():
        for record in child.records:
            if record.tree != tree and _is_closer(record.level, record.gateway, routes.get(record.tree), len(routes)):
                routes[record.tree] = record
    return routes


def _is_closer(level: int, gateway: int, known: Record | None, groups: int) -> bool:
    """Whether this gateway is to be recorded instead of the known one, or as the first if there is room."""
    if known is None:
        return groups < MAX_GROUPS
    return level < known.level or (level == known.level and gateway < known.gateway)


def peer_in(tree: int, hearing: Hearing, neighbours: dict[int, Member]) -> Member | None:
    """Whom this gateway speaks to in another group: somebody heard just now, and high up there."""
    best: Member | None = None
    for neighbour in neighbours.values():
        if neighbour.tree != tree or hearing.has_failed(neighbour):
            continue
        if best is None or _peer_rank(neighbour, hearing) < _peer_rank(best, hearing):
            best = neighbour
    return best


def _peer_rank(neighbour: Member, hearing: Hearing) -> tuple[bool, bool, int, int]:
    return hearing.is_doubtful(neighbour), hearing.is_faint(neighbour), neighbour.level, neighbour.id
