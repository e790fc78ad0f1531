"""Degrees to metres, compared with known distances on the ellipsoid."""

from __future__ import annotations

from math import hypot

import pytest

from roamcast.world.traces.projection import TangentPlane


def test_a_degree_has_its_known_length() -> None:
    """Lengths of a minute of arc at 45° on WGS 84: 1852.2 m north, 1314.2 m east (111,132 m and 78,847 m a degree)."""
    plane = TangentPlane(45.0, 7.0)
    x, y = plane.metres(45.0 + 1 / 60, 7.0)
    assert abs(x) < 1e-9 and y == pytest.approx(111_131.7 / 60, rel=2e-4)
    x, y = plane.metres(45.0, 7.0 + 1 / 60)
    assert x == pytest.approx(78_846.8 / 60, rel=1e-5) and abs(y) < 0.3


def test_distances_far_from_the_origin_shrink_as_documented() -> None:
    plane = TangentPlane(47.0, 8.0)
    for away_deg, most in ((0.8, 1e-4), (4.0, 3e-3)):
        near, far = plane.metres(47.0 + away_deg, 8.0), plane.metres(47.0 + away_deg + 1e-3, 8.0)
        assert hypot(far[0] - near[0], far[1] - near[1]) == pytest.approx(111.2, rel=most + 1e-3)


def test_distances_across_the_date_line_are_right() -> None:
    x, _ = TangentPlane(0.0, 179.999).metres(0.0, -179.999)
    assert x == pytest.approx(222.6, rel=1e-3)


def test_a_position_too_far_away_is_refused() -> None:
    with pytest.raises(ValueError, match="0"):
        TangentPlane(47.0, 8.0).metres(0.0, 0.0)
