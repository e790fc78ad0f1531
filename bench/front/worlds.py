"""The worlds in which protocols are compared, and the protocols with the parameters that their papers recommend."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from bench.front.unseen import AFTER_TURNS, BEFORE_FIXED_EDGES, BEFORE_SHORT_VALIDITIES, UNSEEN, UNTOUCHED
from bench.front.world import SOME, Values, World

from roamcast.papers import experiments

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
"""Maps, traces and measured links, which are not part of this project. Worlds that need them are left out without."""
EFFORTS = (0.01, 0.02, 0.05, 0.1, 0.14, 0.17, 0.2, 0.35, 0.7, 2.0)
FLOODINGS = ("flooding-periodic", "flooding-interest", "flooding-neighbors")


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
        slow=FLOODINGS[1:],
        without=FLOODINGS[:1],  # nodes have more to send than fits into their time, and their queues no limit
    ),
    World("common", "nobody's own: a hundred walkers, ten publishers", "baldoni", of_league("common")),
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
