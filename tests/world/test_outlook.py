"""The ideal flood that looks who is in reach: small worlds by hand, and random ones against contacts that are foreseen
(test_journeys.py compares these with a simple model)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.pubsub.event import FOREVER
from roamcast.world import assembly, mobility, simulate
from roamcast.world.assembly import decodable, outlook
from roamcast.world.contacts.kinetic import KineticContacts
from roamcast.world.contacts.neighbourhood import Neighbourhood
from roamcast.world.outlook import MOST_LEGS, PAIR, Outlook
from roamcast.world.possible import possible_pairs, possible_pairs_at_once
from roamcast.world.scenario import Scenario
from tests.world.contacts.test_kinetic import Routes

S = 1_000_000
Publication = tuple[int, int, int, list[int]]
Route = list[tuple[float, float, float]]

STANDS: Route = [(0.0, 0.0, 0.0)]
PASSES: Route = [(0.0, 300.0, 0.0), (30.0, 0.0, 0.0), (60.0, 300.0, 0.0)]
"""Gets within 100 m of the origin after 20 s, and is gone after 40 s."""
BEYOND: Route = [(0.0, 390.0, 0.0)]
"""In reach of the one that passes up to 1 s, and again from 59 s on."""


def delivered(routes: list[Route], publication: Publication, reaches: list[float] | None = None) -> int:
    ahead = Outlook(Routes(routes), len(routes), 1, reaches or [100.0] * len(routes))
    t, publisher, until, interested = publication
    return ahead.delivered(t, publisher, until, interested)


@pytest.mark.parametrize(
    ("t_s", "until_s", "expected"),
    [
        (0.0, 19.9, 0),
        (0.0, 20.0, 1),  # up to and including the instant at which it expires
        (25.0, 25.0, 1),  # at once
        (40.0, 99.0, 2),  # at the last instant of the contact, and from there to the third one
        (40.1, 99.0, 0),
        (0.0, 58.9, 1),
        (0.0, 59.1, 2),
        (5.0, 4.0, 0),  # it has expired before
    ],
)
def test_an_event_gets_to_those_that_it_meets_in_time(t_s: float, until_s: float, expected: int) -> None:
    publication = (int(t_s * S), 0, int(until_s * S), [0, 1, 2])
    assert delivered([STANDS, PASSES, BEYOND], publication) == expected


def test_only_interested_nodes_count_and_others_pass_it_on() -> None:
    row: list[Route] = [[(0.0, 90.0 * i, 0.0)] for i in range(4)]
    assert delivered(row, (0, 0, FOREVER, [0, 3])) == 1
    assert delivered([STANDS, PASSES, BEYOND], (0, 0, 99 * S, [2])) == 1
    assert delivered(row, (0, 0, FOREVER, [])) == 0


def test_links_that_go_one_way_are_used_one_way() -> None:
    pair: list[Route] = [STANDS, [(0.0, 300.0, 0.0), (30.0, 0.0, 0.0)]]
    for publisher, until_s, expected in ((0, 17, 0), (0, 19, 1), (1, 24, 0), (1, 26, 1)):
        assert delivered(pair, (0, publisher, until_s * S, [0, 1]), [120.0, 50.0]) == expected


ROUTE = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), min_size=1, max_size=4)
EVENT = st.tuples(st.integers(0, 4000), st.integers(0, 5), st.integers(-1, 4000), st.sets(st.integers(0, 5)))


@given(st.lists(ROUTE, min_size=2, max_size=6), st.lists(EVENT, min_size=1, max_size=12))
def test_it_is_the_flood_over_contacts_that_are_foreseen(
    routes: list[list[tuple[int, int]]], events: list[tuple[int, int, int, set[int]]]
) -> None:
    n = len(routes)
    reaches = [60.3 + 50.0 * i for i in range(n)]
    places = Routes([[(10.0 * k, float(x), float(y)) for k, (x, y) in enumerate(route)] for route in routes])
    publications = [
        (10_000 * t, node % n, 10_000 * t + 10_007 * valid, sorted(i for i in interested if i < n))
        for t, node, valid, interested in sorted(events, key=lambda event: event[0])
    ]
    foreseen = possible_pairs(KineticContacts(places, n, 1, reaches), n, publications, [], 40 * S)
    ahead = Outlook(places, n, 1, reaches)
    assert sum(ahead.delivered(t, i, min(end, 40 * S), some) for t, i, end, some in publications) == foreseen


def random_world(rng: Random) -> Scenario:
    nodes = rng.randint(2, 40)
    return Scenario(
        nodes=nodes,
        subscribers=nodes - 1,
        width_m=rng.choice([300.0, 800.0, 2000.0]),
        height_m=rng.choice([200.0, 900.0]),
        duration_s=40.0,
        speed_max_mps=rng.choice([2.0, 20.0, 60.0]),
        pause_max_s=rng.choice([0.0, 5.0]),
        mobility=rng.choice(["waypoint", "direction", "gauss-markov"]),
        radio=rng.choice(["disc", "two-ray"]),
        range_m=rng.choice([60.0, 150.0]),
        range_max_m=rng.choice([0.0, 250.0]),
        range_per=rng.choice(["node", "frame"]),
    )


def random_publications(rng: Random, nodes: int) -> list[Publication]:
    """Also local events, which interest few nodes, and events that expire at once."""
    times = sorted(rng.randint(0, 40 * S) for _ in range(rng.randint(1, 20)))
    lasting = [0, 1, S // 2, 5 * S, FOREVER]
    return [
        (t, rng.randrange(nodes), t + rng.choice(lasting), sorted(rng.sample(range(nodes), rng.randint(0, nodes))))
        for t in times
    ]


@pytest.mark.parametrize("seed", range(60))
def test_random_worlds_have_as_many_possible_pairs_either_way(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Whether contacts are needed never, from some event on, or from the first one on."""
    rng = Random(seed)
    s = random_world(rng)
    publications = random_publications(rng, s.nodes)
    begin_s = publications[0][0] / S
    expected = possible_pairs(decodable(s, seed, begin_s), s.nodes, publications, [], 40 * S)
    monkeypatch.setattr(assembly, "CHANGE", 1e9)
    ahead = outlook(s, seed, begin_s, len(publications))
    assert ahead is not None
    for work in (1e18, 100.0 * s.nodes, -1.0):
        fresh = outlook(s, seed, begin_s, len(publications))
        assert fresh is not None
        began: list[float] = []

        def contacts(t: float, began: list[float] = began) -> Neighbourhood:
            began.append(t)
            return decodable(s, seed, t)

        assert possible_pairs_at_once(fresh[0], work, contacts, s.nodes, publications, 40 * S) == expected
        assert began == ([] if work > 1e9 else [begin_s] if work < 0.0 else began[:1])


BALDONI: dict[str, Any] = {"subscribers": 99, "speed_min_mps": 10.0, "speed_max_mps": 20.0, "range_m": 200.0}


@pytest.mark.parametrize(
    ("values", "events", "chosen"),
    [
        ({}, 80, True),
        ({}, 8000, False),  # so many that contacts need not be foreseen anew for each
        ({"range_m": 20.0}, 80, False),  # one flood looks at nearly all pairs
        ({"mobility": "static"}, 1, False),
        ({"mobility": "manhattan"}, 1, False),
    ],
)
def test_contacts_are_foreseen_where_that_is_less_work(values: dict[str, Any], events: int, chosen: bool) -> None:
    assert (outlook(Scenario(**{**BALDONI, **values}), 1, 0.0, events) is not None) == chosen


def test_a_single_event_that_takes_more_work_than_all_contacts_is_given_up() -> None:
    """Legs of a second, few nodes in reach of each other, and one event: each pair of nodes takes many legs."""
    s = Scenario(nodes=60, width_m=3000.0, height_m=3000.0, range_m=60.0, mobility="gauss-markov", step_s=0.5)
    publications: list[Publication] = [(S, 0, FOREVER, list(range(60)))]
    begun: list[float] = []

    def contacts(t: float) -> Neighbourhood:
        begun.append(t)
        return decodable(s, 1, t)

    endless, given_up = (Outlook(mobility.build(s, 1), 60, 1, [60.0] * 60, 1.0) for _ in range(2))
    expected = possible_pairs_at_once(endless, 1e15, contacts, 60, publications, 300 * S)
    assert not begun and endless.looked > 200_000
    assert possible_pairs_at_once(given_up, 20_000.0, contacts, 60, publications, 300 * S) == expected
    assert begun == [1.0] and given_up.looked < 21_000 + PAIR and not given_up.later


def test_no_more_legs_are_kept_than_fit_however_much_work_is_allowed() -> None:
    """Nodes that hardly ever meet, and legs of half a second: most pairs are followed up to the end."""
    s = Scenario(nodes=60, width_m=3000.0, height_m=3000.0, range_m=20.0, mobility="gauss-markov", step_s=0.5)
    publications: list[Publication] = [(S, 0, FOREVER, list(range(60)))]
    begun: list[float] = []

    def contacts(t: float) -> Neighbourhood:
        begun.append(t)
        return decodable(s, 1, t)

    ahead = Outlook(mobility.build(s, 1), 60, 1, [20.0] * 60, 1.0)
    count = possible_pairs_at_once(ahead, 1e30, contacts, 60, publications, 1500 * S)
    assert begun == [1.0] and MOST_LEGS < ahead.kept < 1.1 * MOST_LEGS and not ahead.later
    assert count == possible_pairs(decodable(s, 1, 1.0), 60, publications, [], 1500 * S)


WORLDS: dict[str, dict[str, Any]] = {
    "ranges of nodes": {"range_m": 120.0, "range_max_m": 250.0},
    "local events": {"local_share": 0.7, "local_range_m": 300.0},
    "a partition": {"partition_from_s": 3.0, "partition_until_s": 9.0},
    "crashes": {"crash_mean_s": 20.0},
    "events that expire": {"validity_s": 1.0, "range_m": 100.0},
}


@pytest.mark.parametrize("world", WORLDS)
def test_a_run_counts_what_contacts_that_are_foreseen_make_possible(
    monkeypatch: pytest.MonkeyPatch, world: str
) -> None:
    seen: list[int] = []

    def foreseen(s: Scenario, seed: int, publications: list[Publication], switches: list[tuple[int, int, bool]]) -> int:
        contacts = decodable(s, seed, publications[0][0] / S)
        seen.append(possible_pairs(contacts, s.nodes, publications, switches, int(s.duration_s * S)))
        return counted(s, seed, publications, switches)

    counted = simulate.what_was_possible
    monkeypatch.setattr(simulate, "what_was_possible", foreseen)
    s = Scenario(**{**BALDONI, "duration_s": 20.0, **WORLDS[world]})
    assert [simulate.simulate(s, "gossip", seed=seed).metrics["possible"] for seed in range(1, 4)] == seen
