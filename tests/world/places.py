"""Places of stations."""

from __future__ import annotations

CELL = [(0.0, 0.0), (10.0, 0.0), (20.0, 0.0), (30.0, 0.0)]
"""All nodes hear each other."""
ROW = [(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)]
"""Neighbours hear each other; 0 and 2 do not."""
