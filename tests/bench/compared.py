"""A row of the comparison with ns-3, from figures as both programs report them."""

from __future__ import annotations

from typing import Any

from bench.ns3 import compare

OURS: dict[str, Any] = {
    "frames": 100,
    "receptions": 600,
    "losses": 200,
    "deliveries": 45,
    "interested": 50,
    "run_s": 0.006,
    "whole_s": 0.01,
}
THEIRS: dict[str, Any] = {
    "frames": 101,
    "receptions": 500,
    "hearers": 800,
    "deliveries": 40,
    "run_s": 1.5,
    "whole_s": 2.0,
}


def compared() -> list[dict[str, Any]]:
    return [compare.row("li", 500, 400, OURS, THEIRS, {**THEIRS, "run_s": 1.8})]
