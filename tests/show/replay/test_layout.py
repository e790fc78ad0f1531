"""The graph of which nodes heard each other."""

from __future__ import annotations

import numpy as np

from roamcast.show.replay.layout import STEP_M, laid_out


def distances(places: np.ndarray) -> np.ndarray:
    return np.sqrt(((places[:, None] - places[None]) ** 2).sum(2)) / STEP_M


def test_a_chain_becomes_a_line_of_equal_steps() -> None:
    links = np.array([(k, k + 1) for k in range(7)])
    apart = distances(laid_out(8, links))
    assert np.allclose(apart, np.abs(np.subtract.outer(range(8), range(8))), atol=0.15)


def test_a_grid_unfolds() -> None:
    """Neighbours are near and far nodes far."""
    at = {(x, y): 5 * x + y for x in range(5) for y in range(5)}
    links = [
        (k, at[x + dx, y + dy]) for (x, y), k in at.items() for dx, dy in ((0, 1), (1, 0)) if (x + dx, y + dy) in at
    ]
    apart = distances(laid_out(25, np.array(links)))
    linked = [apart[a, b] for a, b in links]
    assert max(linked) < 1.6 and apart[at[0, 0], at[4, 4]] > 4


def test_the_same_links_give_the_same_places() -> None:
    links = np.array([(0, 1), (1, 2), (0, 3)])
    assert np.array_equal(laid_out(6, links), laid_out(6, links))


def test_nodes_without_links_have_places_too() -> None:
    assert np.isfinite(laid_out(4, np.zeros((0, 2), int))).all()
    assert laid_out(1, np.zeros((0, 2), int)).tolist() == [[0.0, 0.0]]
    apart = distances(laid_out(4, np.array([(0, 1), (2, 3)])))
    assert apart[0, 2] > apart[0, 1]
