"""The cases of the benchmark, in seconds of processor time: each runs in its own process and prints a JSON object.

python bench/cases.py NAME
"""

from __future__ import annotations

import importlib.util
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from ns3 import worlds

from roamcast.papers import presets
from roamcast.world.queue import COMPILED
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate

SIDE_M = 2000.0
NODES = 500


def field(nodes: int = NODES, seconds: float = 10.0, **more: Any) -> Scenario:
    """The world of the yardstick: 500 nodes on 2 km x 2 km, 150 m, 2 m/s, 25 events a second; more nodes have a larger
    area.

    Nodes move by random direction, which keeps their density even, as in the yardstick; with random waypoint they are
    denser in the middle.
    """
    side = SIDE_M * (nodes / NODES) ** 0.5
    return Scenario(
        **{
            "nodes": nodes,
            "width_m": side,
            "height_m": side,
            "duration_s": seconds,
            "mobility": "direction",
            "speed_min_mps": 2.0,
            "speed_max_mps": 2.0,
            "range_m": 150.0,
            "publishers": nodes,
            "subscribers": nodes,
            "rate_hz": 25.0 / nodes,
            "payload_bytes": 76,
            **more,
        }
    )


def flood(
    scenario: Scenario, protocol: str = "gossip", seed: int = 1, possible: bool = True, **params: Any
) -> dict[str, Any]:
    if protocol == "gossip":
        params = {"p": 1.0, "ttl": 10, **params}
    began = time.process_time()
    result = simulate(scenario, protocol, params, seed=seed, possible=possible)
    return {
        "frames": result.metrics["frames_sent"],
        "deliveries": result.metrics["deliveries"],
        "interested": result.metrics["interested"],
        "receptions": result.metrics["receptions"],
        "overheard": result.metrics["overheard"],
        "losses": result.metrics["losses"],
        "run_s": result.cpu_s,
        "whole_s": time.process_time() - began,  # with building the world and computing what was possible
        "per_s": result.metrics["receptions"] / result.cpu_s,
        "fingerprint": result.fingerprint,
    }


def yardstick(path: str) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("yardstick", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    began = time.process_time()
    result = module.flood(NODES, SIDE_M, 150.0, 25.0, 20.0, 1)
    cpu_s = time.process_time() - began
    return {"receptions": result["received"], "run_s": cpu_s, "whole_s": cpu_s, "per_s": result["received"] / cpu_s}


def small_runs() -> dict[str, Any]:
    """Two hundred runs of about 20 ms, and what each costs beside its events (small.py)."""
    import small

    return small.small_runs()


def bare(protocol: str) -> dict[str, Any]:
    """Only frames, by a protocol of bare.py: no events, no movement."""
    return flood(field(mobility="static", seconds=20.0, rate_hz=0.0005), f"bare:{protocol}")


def preset(name: str, protocol: str, params: dict[str, Any]) -> dict[str, Any]:
    return flood(presets.load(name).scenario(), protocol, **params)


def mesh() -> dict[str, Any]:
    """A LoRa mesh of 100 nodes on 15 km x 15 km for 600 s, a message from each node in that time."""
    return flood(
        Scenario(
            nodes=100,
            width_m=15_000.0,
            height_m=15_000.0,
            duration_s=600.0,
            mobility="static",
            radio="lora",
            mac="lora",
            workload="topics",
            publishers=100,
            subscribers=100,
            rate_hz=1 / 600,
            payload_bytes=40,
        ),
        "managed",
    )


PROTOCOLS: dict[str, dict[str, Any]] = {
    "flooding-interest": {},
    "counter": {},
    "managed": {},
    "roam": {},
    "proximity": {},
    "frugal": {},
    "mpl": {},
    "semiprob": {"tau": 1.0},
    "semiprob-links": {"tau": 1.0},
    "psamanet": {},
    "treegroup": {},
    "subtree": {},
}

HOMES = {
    "proximity": "baldoni",
    "frugal": "baehni-waypoint",
    "semiprob": "costa",
    "semiprob-links": "costa",
    "psamanet": "rezende",
    "treegroup": "li",
    "subtree": "li",
}
"""The scenario of each system's own paper."""

CASES: dict[str, Any] = {
    "field-100": lambda: flood(field(100, 60.0)),
    "field-1000": lambda: flood(field(1_000, 20.0)),
    # without the ideal flood, which takes far longer than the run and is no part of it
    "field-100000": lambda: flood(field(100_000, 20.0), possible=False),
    "field-500": lambda: flood(field(500, 20.0)),
    "field-10000": lambda: flood(field(10_000, 20.0)),
    "field-500-waypoint": lambda: flood(field(500, 20.0, mobility="waypoint")),
    "field-500-two-ray": lambda: flood(field(500, 20.0, radio="two-ray")),
    "field-500-two-ray-sensing": lambda: flood(field(500, 10.0, radio="two-ray", carrier_sense_ratio=2.2)),
    "small-runs": small_runs,
    "mesh-100": mesh,
    "bare-broadcast": lambda: bare("Broadcast"),
    "bare-unicast": lambda: bare("Unicast"),
    **{
        f"ns3-{name}": (lambda case=case: flood(case.scenario(), "gossip", **case.params()))
        for name, case in worlds.CASES.items()
    },
    **{f"{home}-gossip": (lambda home=home: preset(home, "gossip", {"ttl": 0})) for home in HOMES.values()},
    **{f"{home}-{name}": (lambda home=home, name=name: preset(home, name, {})) for name, home in HOMES.items()},
    **{
        f"protocol-{name}": (lambda name=name, params=params: flood(field(500, 20.0), name, **params))
        for name, params in PROTOCOLS.items()
    },
}


def memory_mib() -> float:
    """The most that this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    name = sys.argv[1]
    before_mib = memory_mib()
    if name == "yardstick":
        result = yardstick(sys.argv[2])
    else:
        result = CASES[name]()
    result["memory_mib"] = memory_mib()
    result["memory_of_run_mib"] = memory_mib() - before_mib
    result["compiled"] = COMPILED
    print(json.dumps(result))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
