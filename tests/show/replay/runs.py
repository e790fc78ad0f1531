"""Runs that the tests of replays look at, and the simple twin of the browser's unpacking."""

from __future__ import annotations

import json
import struct
import zlib
from itertools import accumulate
from pathlib import Path
from typing import Any

from roamcast.log.reader import LogRow
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate

SMALL = {"nodes": 30, "width_m": 700.0, "height_m": 700.0, "duration_s": 20.0, "publishers": 2, "subscribers": 8}


def run(path: Path, protocol: str = "gossip", level: str = "full", seed: int = 1, **fields: Any) -> Path:
    scenario = Scenario(**{**SMALL, **fields})
    params = {"p": 0.6} if protocol == "gossip" else {}
    simulate(scenario, protocol, params, seed, level=level, log=path, possible=False, preset="small")
    return path


def of_kind(rows: list[LogRow], *kinds: str) -> list[LogRow]:
    return [row for row in rows if row.kind in kinds]


def unpacked(packed: bytes) -> tuple[dict[str, Any], dict[str, dict[str, list[int]]]]:
    """What replay-data.js does, number by number."""
    content = zlib.decompress(packed)
    (length,) = struct.unpack("<I", content[:4])
    texts = json.loads(content[4 : 4 + length])
    place = 4 + length
    tables: dict[str, dict[str, list[int]]] = {}
    for name, about in texts["tables"].items():
        tables[name] = {}
        for column, width, rises, signed in about["columns"]:
            rows = about["rows"]
            planes = content[place : place + rows * width]
            values = [sum(planes[k + rows * plane] << 8 * plane for plane in range(width)) for k in range(rows)]
            if signed:
                values = [-(value + 1) // 2 if value % 2 else value // 2 for value in values]
            tables[name][column] = list(accumulate(values)) if rises else values
            place += rows * width
    assert place == len(content)
    return texts, tables
