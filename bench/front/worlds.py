"""The worlds in which protocols are compared, and the protocols with the parameters that their papers recommend."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from roamcast.papers import experiments

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
"""Maps, traces and measured links, which are not part of this project. Worlds that need them are left out without."""
FIRST_SEED = 101
MANY, SOME = 30, 6
"""Seeds of a world; SOME where a run takes seconds."""
EFFORTS = (0.01, 0.02, 0.05, 0.1, 0.14, 0.17, 0.2, 0.35, 0.7, 2.0)
FLOODINGS = ("flooding-periodic", "flooding-interest", "flooding-neighbors")
Values = Mapping[str, Any]


class World(NamedTuple):
    name: str
    about: str
    preset: str = ""
    world: Values = MappingProxyType({})
    seeds: int = MANY
    own: str = ""
    """The system of the paper whose world this is."""
    without: tuple[str, ...] = ()
    """Protocols whose runs would take minutes."""
    needs: str = ""
    """A folder of DATA."""


def of_league(name: str) -> Values:
    return dict(experiments.load(f"league/{name}").campaign["world"])


SEEN = [
    World("baldoni", "a hundred fast nodes on a square kilometre", "baldoni", own="proximity"),
    World("baehni-city", "fifteen cars on a campus", "baehni-city", own="frugal"),
    World("baehni-waypoint", "150 nodes on 25 square kilometres", "baehni-waypoint", own="frugal"),
    World("costa", "two hundred sensors that do not move", "costa", own="semiprob"),
    World(
        "li", "five hundred nodes with many interests", "li", seeds=SOME, own="treegroup", without=(FLOODINGS[0], "mpl")
    ),
    World(
        "rezende",
        "an hour of two hundred walkers; events never expire",
        "rezende",
        seeds=SOME,
        own="psamanet",
        without=(*FLOODINGS, "frugal", "treegroup", "subtree"),
    ),
    World("common", "nobody's own: a hundred walkers, ten publishers", "baldoni", of_league("common")),
]

UNSEEN = [
    World(
        "dense room",
        "sixty nodes that all hear each other, ten events a second",
        world={
            "nodes": 60,
            "width_m": 100.0,
            "height_m": 100.0,
            "range_m": 150.0,
            "mobility": "static",
            "publishers": 20,
            "subscribers": 30,
            "rate_hz": 0.5,
            "duration_s": 60.0,
        },
    ),
    World(
        "sparse walkers",
        "forty walkers on four square kilometres",
        world={
            "nodes": 40,
            "width_m": 2000.0,
            "height_m": 2000.0,
            "range_m": 120.0,
            "speed_min_mps": 0.5,
            "speed_max_mps": 2.0,
            "publishers": 5,
            "subscribers": 10,
            "rate_hz": 0.01,
            "validity_s": 600.0,
            "duration_s": 900.0,
        },
    ),
    World(
        "fast cars, fading",
        "eighty nodes at up to 40 m/s, and a radio with shadowing",
        world={
            "nodes": 80,
            "width_m": 1500.0,
            "height_m": 1500.0,
            "range_m": 200.0,
            "radio": "log-distance",
            "shadowing_db": 6.0,
            "speed_min_mps": 15.0,
            "speed_max_mps": 40.0,
            "publishers": 10,
            "subscribers": 40,
            "rate_hz": 0.1,
            "validity_s": 60.0,
            "duration_s": 180.0,
        },
    ),
    World(
        "sensors that sleep",
        "a hundred sensors, awake for six of ten seconds",
        world={
            "nodes": 100,
            "width_m": 500.0,
            "height_m": 500.0,
            "range_m": 90.0,
            "mobility": "static",
            "awake_s": 6.0,
            "asleep_s": 4.0,
            "publishers": 30,
            "subscribers": 10,
            "rate_hz": 0.02,
            "validity_s": 120.0,
            "duration_s": 240.0,
        },
    ),
    World(
        "nodes that crash",
        "a hundred nodes that crash once a minute and lose their tables",
        world={
            "nodes": 100,
            "width_m": 1000.0,
            "height_m": 1000.0,
            "range_m": 180.0,
            "crash_mean_s": 60.0,
            "repair_mean_s": 20.0,
            "publishers": 20,
            "subscribers": 50,
            "rate_hz": 0.05,
            "validity_s": 60.0,
            "duration_s": 200.0,
        },
    ),
]

UNTOUCHED = [
    World(
        "streets and blocks",
        "120 walkers between blocks of 150 m, a fifth of them subscribe to ranges",
        world={
            "nodes": 120,
            "width_m": 1500.0,
            "height_m": 1500.0,
            "range_m": 130.0,
            "mobility": "manhattan",
            "block_m": 150.0,
            "speed_min_mps": 0.8,
            "speed_max_mps": 2.0,
            "workload": "ranges",
            "interested": 0.2,
            "publishers": 12,
            "rate_hz": 0.05,
            "validity_s": 180.0,
            "duration_s": 300.0,
            "publish_until_s": 200.0,
        },
    ),
    World(
        "two halves",
        "ninety nodes; for a minute no frame crosses the middle",
        world={
            "nodes": 90,
            "width_m": 900.0,
            "height_m": 900.0,
            "range_m": 150.0,
            "mobility": "gauss-markov",
            "speed_min_mps": 0.5,
            "speed_max_mps": 3.0,
            "partition_from_s": 20.0,
            "partition_until_s": 80.0,
            "publishers": 9,
            "subscribers": 45,
            "rate_hz": 0.1,
            "publish_until_s": 70.0,
            "validity_s": 90.0,
            "duration_s": 160.0,
        },
    ),
    World(
        "an alarm",
        "a thousand events within ten seconds from forty nodes of eighty, a slow radio that loses one frame in five",
        world={
            "nodes": 80,
            "width_m": 800.0,
            "height_m": 800.0,
            "range_m": 140.0,
            "rate_bps": 250_000.0,
            "loss": 0.2,
            "mobility": "static",
            "publishers": 40,
            "subscribers": 80,
            "events": 1000,
            "publish_from_s": 10.0,
            "publish_until_s": 20.0,
            "payload_bytes": 60,
            "validity_s": 120.0,
            "duration_s": 140.0,
        },
    ),
    World(
        "a festival",
        "250 people in a crowd that mills about; publishers subscribe, and so do sixty others",
        world={
            "nodes": 250,
            "width_m": 400.0,
            "height_m": 300.0,
            "range_m": 60.0,
            "radio": "two-ray",
            "mobility": "direction",
            "speed_min_mps": 0.2,
            "speed_max_mps": 1.5,
            "workload": "topics",
            "publishers": 50,
            "subscribers": 60,
            "rate_hz": 0.02,
            "validity_s": 60.0,
            "duration_s": 120.0,
            "publish_until_s": 90.0,
        },
        seeds=SOME,
    ),
    World(
        "boats",
        "thirty boats on a bay of 12 km by 8 km with slow radios; half of them want everything",
        world={
            "nodes": 30,
            "width_m": 12_000.0,
            "height_m": 8_000.0,
            "range_m": 1_500.0,
            "rate_bps": 50_000.0,
            "speed_min_mps": 2.0,
            "speed_max_mps": 9.0,
            "pause_max_s": 60.0,
            "publishers": 30,
            "subscribers": 15,
            "rate_hz": 0.005,
            "payload_bytes": 80,
            "validity_s": 900.0,
            "duration_s": 1800.0,
            "publish_until_s": 1200.0,
        },
    ),
]

REAL = [
    World(
        "conference",
        "who met whom at a conference: the first three hours of 113 people (SocioPatterns, Hypertext 2009)",
        world={
            "mobility": "contacts",
            "trace": str(DATA / "hypertext2009" / "tij_HT09.dat"),
            "nodes": 113,
            "duration_s": 10800.0,
            "publishers": 10,
            "subscribers": 40,
            "rate_hz": 0.001,
            "publish_until_s": 7200.0,
            "validity_s": 3600.0,
        },
        seeds=SOME,
        without=FLOODINGS[:1],
        needs="hypertext2009",
    ),
    World(
        "campus streets",
        "thirty cars on the paths of a real campus (OpenStreetMap)",
        "baehni-city",
        {"street_map": str(DATA / "epfl_map" / "epfl_paths.wkt"), "roads": "all", "nodes": 30, "subscribers": 20},
        needs="epfl_map",
    ),
    World(
        "measured links",
        "fifty sensors with the links that were measured between them (IoT-LAB Grenoble)",
        world={
            "mobility": "static",
            "radio": "table",
            "links": str(DATA / "iotlab_grenoble" / "grenoble.k7.gz"),
            "nodes": 50,
            "rate_bps": 250_000.0,
            "publishers": 10,
            "subscribers": 15,
            "rate_hz": 0.1,
            "validity_s": 30.0,
            "payload_bytes": 40,
            "duration_s": 120.0,
        },
        needs="iotlab_grenoble",
    ),
]

MESHES = [
    World("mesh-hills", "a LoRa mesh of forty nodes, six of them routers", "mesh-hills", seeds=SOME),
    World(
        "mesh-city", "a LoRa mesh of 150 nodes", "mesh-city", {"duration_s": 2400.0, "publish_until_s": 2100.0}, SOME
    ),
]

GROUPS = {
    "Worlds that roam was made in": SEEN,
    "Worlds that were named before roam ran in them": UNSEEN,
    "Worlds that were named when roam was finished": UNTOUCHED,
    "Real contacts, streets and links": REAL,
    "LoRa meshes": MESHES,
}


def entrants(world: World) -> list[Values]:
    """The protocols of a campaign; roam with all efforts."""
    others = [
        {"name": entrant.name, "set": dict(entrant.set)}
        for entrant in experiments.entrants()
        if entrant.name not in (*world.without, "roam")
    ]
    return [*others, *(roam(f"roam, effort {effort:g}", effort=effort) for effort in EFFORTS), roam("roam")]


def roam(label: str, **params: Any) -> Values:
    return {"name": "roam", "label": label, "set": params}


def there(world: World) -> bool:
    return not world.needs or (DATA / world.needs).is_dir()
