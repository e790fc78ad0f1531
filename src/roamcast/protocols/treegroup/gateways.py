"""Gateways (Li et al. §3.3): which way leads to each adjacent group, and which node there a gateway sends to.

A node that hears another group is a gateway to it. For every adjacent group, each node compares its own links and the
records of its children, keeps the gateway that is closest to the leader, and sends that record to its parent. So the
leader has one record for each group, and every node on the way down knows which child leads to the gateway.
"""

from __future__ import annotations

from typing import Final

from roamcast.protocols.kit.tree import NO_TREE, LinkQuality, Place
from roamcast.protocols.treegroup.frames import MAX_GROUPS
from roamcast.protocols.treegroup.tables import Child, GatewayRecord, GroupNeighbour

FAINT_LEVELS: Final = 16
"""Ours (R18): more levels than a group has, so that a gateway with a good link counts as closer than one without."""


def closest_gateways(
    place: Place, link_quality: LinkQuality, neighbours: dict[int, GroupNeighbour], children: dict[int, Child]
) -> dict[int, GatewayRecord]:
    """For each adjacent group the gateway that is closest to the leader: this node, or one in a child's branch."""
    routes: dict[int, GatewayRecord] = {}
    tree = place.tree
    if tree == NO_TREE:
        return routes
    for neighbour in neighbours.values():
        if neighbour.tree != NO_TREE and neighbour.tree != tree and not link_quality.is_doubtful(neighbour):
            level = place.level + (FAINT_LEVELS if link_quality.is_faint(neighbour) else 0)
            if _is_closer(level, place.node, routes.get(neighbour.tree), len(routes)):
                routes[neighbour.tree] = GatewayRecord(neighbour.tree, place.node, level, neighbour.open)
    for child in children.values():
        for record in child.records:
            if record.tree != tree and _is_closer(record.level, record.gateway, routes.get(record.tree), len(routes)):
                routes[record.tree] = record
    return routes


def _is_closer(level: int, gateway: int, known: GatewayRecord | None, groups: int) -> bool:
    """Whether to record this gateway instead of the known one, or as the first one if there is room."""
    if known is None:
        return groups < MAX_GROUPS
    return level < known.level or (level == known.level and gateway < known.gateway)


def peer_in(tree: int, link_quality: LinkQuality, neighbours: dict[int, GroupNeighbour]) -> GroupNeighbour | None:
    """The neighbour in another group that this gateway sends to: well received, and high in its tree."""
    best: GroupNeighbour | None = None
    for neighbour in neighbours.values():
        if neighbour.tree != tree or link_quality.has_failed(neighbour):
            continue
        if best is None or _peer_rank(neighbour, link_quality) < _peer_rank(best, link_quality):
            best = neighbour
    return best


def _peer_rank(neighbour: GroupNeighbour, link_quality: LinkQuality) -> tuple[bool, bool, int, int]:
    return link_quality.is_doubtful(neighbour), link_quality.is_faint(neighbour), neighbour.level, neighbour.id
