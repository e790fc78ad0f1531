"""The worlds in which protocols are compared, and the protocols with the parameters that their papers recommend."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from roamcast.papers import experiments

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
"""Maps, traces and measured links, which are not part of this project. Worlds that need them are left out without."""
FIRST_SEED = 101
MANY, SOME, FEW = 30, 6, 3
"""Seeds of a world; SOME where roam with little effort takes ten seconds a run, FEW for protocols that take minutes."""
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
    slow: tuple[str, ...] = ()
    """Protocols whose runs take minutes."""
    without: tuple[str, ...] = ()
    """Protocols whose runs take longer than that."""
    needs: str = ""
    """A folder of DATA."""


def of_league(name: str) -> Values:
    return dict(experiments.load(f"league/{name}").campaign["world"])


SEEN = [
    World("baldoni", "a hundred fast nodes on a square kilometre", "baldoni", own="proximity"),
    World("baehni-city", "fifteen cars on a campus", "baehni-city", own="frugal"),
    World("baehni-waypoint", "150 nodes on 25 square kilometres", "baehni-waypoint", own="frugal"),
    World("costa", "two hundred sensors that do not move", "costa", own="semiprob"),
    World("li", "five hundred nodes with many interests", "li", own="treegroup", slow=(FLOODINGS[0], "mpl")),
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

AFTER_TURNS = [
    World(
        "news at once",
        "120 walkers, half of whom publish 1,500 events within fifteen seconds for all; a slow radio",
        world={
            "nodes": 120,
            "width_m": 1200.0,
            "height_m": 1200.0,
            "range_m": 150.0,
            "rate_bps": 500_000.0,
            "loss": 0.1,
            "speed_min_mps": 0.5,
            "speed_max_mps": 2.0,
            "publishers": 60,
            "subscribers": 120,
            "events": 1500,
            "publish_from_s": 5.0,
            "publish_until_s": 20.0,
            "payload_bytes": 80,
            "validity_s": 90.0,
            "duration_s": 110.0,
        },
    ),
    World(
        "a quake",
        "sixty people on the move, a very slow radio, 400 events within ten seconds, which half of them want",
        world={
            "nodes": 60,
            "width_m": 600.0,
            "height_m": 600.0,
            "range_m": 120.0,
            "rate_bps": 100_000.0,
            "mobility": "direction",
            "speed_min_mps": 0.5,
            "speed_max_mps": 1.5,
            "publishers": 30,
            "subscribers": 30,
            "events": 400,
            "publish_from_s": 10.0,
            "publish_until_s": 20.0,
            "payload_bytes": 60,
            "validity_s": 180.0,
            "duration_s": 200.0,
        },
    ),
]

BEFORE_FIXED_EDGES = [
    World(
        "a convoy",
        "sixty cars on eight kilometres of a road, in both directions; what is said is worth twenty seconds",
        world={
            "nodes": 60,
            "width_m": 8000.0,
            "height_m": 20.0,
            "range_m": 300.0,
            "radio": "two-ray",
            "mobility": "direction",
            "speed_min_mps": 15.0,
            "speed_max_mps": 30.0,
            "publishers": 12,
            "subscribers": 30,
            "rate_hz": 0.1,
            "publish_until_s": 100.0,
            "validity_s": 20.0,
            "duration_s": 120.0,
        },
    ),
    World(
        "drones",
        "twenty-four drones that hear each other at 300 to 700 m, but not always in both directions; large events",
        world={
            "nodes": 24,
            "width_m": 2500.0,
            "height_m": 2500.0,
            "range_m": 300.0,
            "range_max_m": 700.0,
            "radio": "free-space",
            "loss": 0.05,
            "mobility": "gauss-markov",
            "speed_min_mps": 8.0,
            "speed_max_mps": 20.0,
            "publishers": 24,
            "subscribers": 12,
            "rate_hz": 0.2,
            "payload_bytes": 600,
            "publish_until_s": 100.0,
            "validity_s": 15.0,
            "duration_s": 120.0,
        },
    ),
    World(
        "a hall",
        "180 people who sit in a hall and all want what half of them publish; one frame in ten is lost",
        world={
            "nodes": 180,
            "width_m": 70.0,
            "height_m": 50.0,
            "range_m": 35.0,
            "loss": 0.1,
            "mobility": "static",
            "publishers": 90,
            "subscribers": 180,
            "rate_hz": 0.05,
            "publish_until_s": 50.0,
            "validity_s": 40.0,
            "duration_s": 80.0,
        },
    ),
    World(
        "shepherds",
        "twenty-five shepherds on six by six kilometres, who rest for up to twenty minutes; three hours",
        world={
            "nodes": 25,
            "width_m": 6000.0,
            "height_m": 6000.0,
            "range_m": 250.0,
            "speed_min_mps": 0.5,
            "speed_max_mps": 1.5,
            "pause_max_s": 1200.0,
            "publishers": 25,
            "subscribers": 8,
            "rate_hz": 0.0005,
            "publish_until_s": 5400.0,
            "validity_s": 7200.0,
            "duration_s": 10_800.0,
        },
    ),
]

BEFORE_SHORT_VALIDITIES = [
    World(
        "a slope",
        "sixty skiers on three square kilometres; one frame in ten is lost, and what is said is worth half a minute",
        world={
            "nodes": 60,
            "width_m": 1000.0,
            "height_m": 3000.0,
            "range_m": 180.0,
            "loss": 0.1,
            "speed_min_mps": 2.0,
            "speed_max_mps": 15.0,
            "pause_max_s": 30.0,
            "publishers": 15,
            "subscribers": 30,
            "rate_hz": 0.05,
            "publish_until_s": 150.0,
            "validity_s": 30.0,
            "duration_s": 180.0,
        },
    ),
    World(
        "fire brigade",
        "twenty-five people in and around a burning house, with fading radios; all want all, for eight seconds",
        world={
            "nodes": 25,
            "width_m": 250.0,
            "height_m": 250.0,
            "range_m": 70.0,
            "radio": "log-distance",
            "shadowing_db": 8.0,
            "mobility": "gauss-markov",
            "speed_min_mps": 0.5,
            "speed_max_mps": 3.0,
            "publishers": 25,
            "subscribers": 25,
            "rate_hz": 0.2,
            "publish_until_s": 80.0,
            "validity_s": 8.0,
            "duration_s": 90.0,
        },
    ),
    World(
        "a pipeline",
        "sixty sensors along six kilometres, with slow radios that lose one frame in five",
        world={
            "nodes": 60,
            "width_m": 6000.0,
            "height_m": 40.0,
            "range_m": 400.0,
            "rate_bps": 50_000.0,
            "loss": 0.2,
            "mobility": "static",
            "publishers": 60,
            "subscribers": 6,
            "rate_hz": 0.01,
            "payload_bytes": 40,
            "publish_until_s": 300.0,
            "validity_s": 120.0,
            "duration_s": 400.0,
        },
    ),
    World(
        "buses",
        "forty buses between blocks of 300 m on nine square kilometres; news last for ten minutes",
        world={
            "nodes": 40,
            "width_m": 3000.0,
            "height_m": 3000.0,
            "range_m": 150.0,
            "mobility": "manhattan",
            "block_m": 300.0,
            "speed_min_mps": 5.0,
            "speed_max_mps": 14.0,
            "publishers": 10,
            "subscribers": 20,
            "rate_hz": 0.01,
            "publish_until_s": 600.0,
            "validity_s": 600.0,
            "duration_s": 1200.0,
        },
    ),
    World(
        "a stadium",
        "three hundred people in their seats; ten of them publish a lot for all others, worth fifteen seconds",
        world={
            "nodes": 300,
            "width_m": 160.0,
            "height_m": 120.0,
            "range_m": 25.0,
            "radio": "two-ray",
            "mobility": "static",
            "publishers": 10,
            "subscribers": 300,
            "rate_hz": 0.5,
            "publish_until_s": 30.0,
            "validity_s": 15.0,
            "duration_s": 45.0,
        },
    ),
    World(
        "robots",
        "forty robots in a warehouse that doze for a fifth of the time; orders are worth five seconds",
        world={
            "nodes": 40,
            "width_m": 200.0,
            "height_m": 120.0,
            "range_m": 40.0,
            "awake_s": 4.0,
            "asleep_s": 1.0,
            "mobility": "direction",
            "speed_min_mps": 1.0,
            "speed_max_mps": 4.0,
            "publishers": 40,
            "subscribers": 10,
            "rate_hz": 0.1,
            "publish_until_s": 54.0,
            "validity_s": 5.0,
            "duration_s": 60.0,
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
        slow=FLOODINGS[:1],
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
    World("mesh-hills", "a LoRa mesh of forty nodes, six of them routers", "mesh-hills"),
    World("mesh-city", "a LoRa mesh of 150 nodes", "mesh-city", {"duration_s": 2400.0, "publish_until_s": 2100.0}),
]

GROUPS = {
    "Worlds that roam was made in": SEEN,
    "Worlds that were named before roam ran in them": UNSEEN,
    "Worlds that were named when roam was finished": UNTOUCHED,
    "Worlds that were named when repairs took turns": AFTER_TURNS,
    "Worlds that were named before windows had fixed edges": BEFORE_FIXED_EDGES,
    "Worlds that were named before short validities counted": BEFORE_SHORT_VALIDITIES,
    "Real contacts, streets and links": REAL,
    "LoRa meshes": MESHES,
}


def entrants(world: World) -> list[Values]:
    """The protocols of a campaign; roam with all efforts."""
    others = named([e.name for e in experiments.entrants() if e.name not in (*world.slow, *world.without, "roam")])
    return [*others, *(roam(f"roam, effort {effort:g}", effort=effort) for effort in EFFORTS), roam("roam")]


def named(protocols: Collection[str]) -> list[Values]:
    """Protocols with the parameters of the league."""
    return [{"name": e.name, "set": dict(e.set)} for e in experiments.entrants() if e.name in protocols]


def roam(label: str, **params: Any) -> Values:
    return {"name": "roam", "label": label, "set": params}


def there(world: World) -> bool:
    return not world.needs or (DATA / world.needs).is_dir()
