"""Nodes that stand."""

from __future__ import annotations

from math import inf

from scipy import stats

from roamcast.world.mobility.static import Placed, Static
from tests.world.walkers import Walker, crowd


def test_nodes_stand_uniformly_in_the_rectangle() -> None:
    walkers = crowd(Static(300.0, 100.0), 2000)
    assert all(w.leg.end_s == inf and (w.leg.vx, w.leg.vy) == (0.0, 0.0) for w in walkers)
    assert stats.kstest([w.leg.x for w in walkers], stats.uniform(0, 300).cdf).pvalue > 1e-3
    assert stats.kstest([w.leg.y for w in walkers], stats.uniform(0, 100).cdf).pvalue > 1e-3
    assert abs(stats.pearsonr([w.leg.x for w in walkers], [w.leg.y for w in walkers]).statistic) < 0.08


def test_nodes_stand_where_they_are_told() -> None:
    assert Walker(Placed([(1.0, 2.0), (-3.0, 4.0)]), 1).at(99.0) == (-3.0, 4.0)
