"""Degrees to metres: the east-north tangent plane of the WGS 84 ellipsoid at an origin. Heights are ignored.

x points east, y north. Lengths come out too short by half the square of (distance from the origin / radius of the
earth): 0.01 % at 90 km, 1.2 % at 1,000 km. Positions beyond that are refused.
"""

from __future__ import annotations

from math import cos, radians, sin, sqrt
from typing import Final

SEMI_MAJOR_M: Final = 6378137.0
ECCENTRICITY_2: Final = 6.69437999014e-3
REACH_M: Final = 1_000_000.0


class TangentPlane:
    def __init__(self, lat: float, lon: float) -> None:
        self.lat, self.lon = radians(lat), radians(lon)
        self.centre = _cartesian(self.lat, self.lon)

    def metres(self, lat: float, lon: float) -> tuple[float, float]:
        """ValueError beyond REACH_M."""
        x, y, z = (a - b for a, b in zip(_cartesian(radians(lat), radians(lon)), self.centre, strict=True))
        if x * x + y * y + z * z > REACH_M * REACH_M:
            raise ValueError(f"{lat} {lon}")
        away = cos(self.lon) * x + sin(self.lon) * y  # from the axis of the earth
        return cos(self.lon) * y - sin(self.lon) * x, cos(self.lat) * z - sin(self.lat) * away


def _cartesian(lat: float, lon: float) -> tuple[float, float, float]:
    """Relative to the centre of the earth."""
    across = SEMI_MAJOR_M / sqrt(1.0 - ECCENTRICITY_2 * sin(lat) ** 2)
    return (
        across * cos(lat) * cos(lon),
        across * cos(lat) * sin(lon),
        across * (1.0 - ECCENTRICITY_2) * sin(lat),
    )
