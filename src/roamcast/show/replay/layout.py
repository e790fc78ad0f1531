"""A graph of which nodes heard each other, drawn so that distances on the page are like numbers of hops.

Stress majorisation (Gansner, Koren, North 2004): every step moves all nodes to the weighted mean of the places that the
others would like them to have, and never makes the drawing worse. It begins with classical scaling, the two directions
in which numbers of hops differ most, and draws no random numbers, so the same log gives the same picture.
"""

from __future__ import annotations

from typing import Any, Final

STEPS: Final = 200
ENOUGH: Final = 1e-4
"""Stops when no step improves the drawing by more than this share."""
STEP_M: Final = 100.0
"""Of the drawing: one hop. A drawing has no metres, but everything else on the page has."""


def laid_out(nodes: int, links: Any) -> Any:
    """Places (nodes, 2) for nodes 0 to n-1; `links` is an array of pairs."""
    import numpy as np

    if nodes == 1:
        return np.zeros((1, 2))
    hops = _hops(nodes, links)
    weights = 1.0 / np.maximum(hops, 1.0) ** 2
    np.fill_diagonal(weights, 0.0)
    totals = weights.sum(1, keepdims=True)
    places = _scaled(hops)
    before = float("inf")
    for _ in range(STEPS):
        apart = places[:, None, :] - places[None, :, :]
        lengths = np.sqrt((apart**2).sum(2))
        stress = float((weights * (lengths - hops) ** 2).sum())
        if before < float("inf") and before - stress <= ENOUGH * before:
            break
        before = stress
        pull = weights * np.divide(hops, lengths, out=np.zeros_like(hops), where=lengths > 0)
        places = (weights @ places + (pull[:, :, None] * apart).sum(1)) / totals
    return places * STEP_M


def _scaled(hops: Any) -> Any:
    """Classical scaling, and a small circle over it, because two nodes at one place would never part."""
    import numpy as np

    squares = hops**2
    centred = -0.5 * (squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean())
    values, vectors = np.linalg.eigh(centred)
    directions = vectors[:, -2:]
    largest = directions[np.abs(directions).argmax(0), range(directions.shape[1])]
    directions = directions * np.where(largest < 0, -1.0, 1.0)  # which sign eigh gives depends on the machine
    angles = 2 * np.pi * np.arange(len(hops)) / len(hops)
    circle = np.stack([np.cos(angles), np.sin(angles)], 1)
    return directions * np.sqrt(np.maximum(values[-2:], 0.0)) + 0.01 * circle


def _hops(nodes: int, links: Any) -> Any:
    """Between all pairs; nodes that nothing connects are a little farther apart than the farthest connected ones."""
    import numpy as np

    linked = np.zeros((nodes, nodes), bool)
    if len(links):
        linked[links[:, 0], links[:, 1]] = linked[links[:, 1], links[:, 0]] = True
    hops = np.full((nodes, nodes), np.inf)
    np.fill_diagonal(hops, 0.0)
    reached = np.eye(nodes, dtype=bool)
    edge = reached
    steps = linked.astype(np.float32)
    for distance in range(1, nodes):
        edge = (edge.astype(np.float32) @ steps > 0) & ~reached
        if not edge.any():
            break
        hops[edge] = distance
        reached = reached | edge
    far = hops[np.isfinite(hops)].max()
    hops[~np.isfinite(hops)] = far + 1.5
    return hops
