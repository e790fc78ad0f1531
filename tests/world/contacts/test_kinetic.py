"""Contacts against brute force: positions at an instant, and the distance of every pair."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from math import cos, hypot, inf, pi, sin
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from roamcast.errors import InputError
from roamcast.world.contacts.kinetic import KineticContacts
from roamcast.world.contacts.rows import SortedRows
from roamcast.world.mobility.base import Leg, Mobility
from roamcast.world.mobility.static import Placed, Static
from roamcast.world.mobility.stationary import Pauses, Speeds
from roamcast.world.mobility.waypoint import RandomWaypoint
from roamcast.world.streams import Stream
from tests.world.contacts.changes import Recorder, rows


class Routes(Mobility):
    """Node i goes through the points (t, x, y) of its route and stays at the last one."""

    def __init__(self, routes: list[list[tuple[float, float, float]]]) -> None:
        self.routes = routes

    def first(self, node: int, stream: Stream) -> Leg:
        return self.leg(node, 0)

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        times = [p[0] for p in self.routes[node]]
        return self.leg(node, times.index(leg.end_s))

    def leg(self, node: int, k: int) -> Leg:
        route = self.routes[node]
        t, x, y = route[k]
        if k + 1 == len(route):
            return Leg(t, x, y, 0.0, 0.0, inf)
        t1, x1, y1 = route[k + 1]
        return Leg(t, x, y, (x1 - x) / (t1 - t), (y1 - y) / (t1 - t), t1)


def contacts(mobility: Mobility, reaches: list[float], seed: int = 1) -> KineticContacts:
    return KineticContacts(mobility, len(reaches), seed, reaches)


def check_against_brute_force(k: KineticContacts, reaches: list[float], t: float) -> None:
    """Every pair must be as computed, except those within a microsecond of a reach."""
    n = len(reaches)
    places = [k.position(i, t) for i in range(n)]
    for i in range(n):
        row = list(k.hearers[i])
        assert row == sorted(set(row)) and i not in row
        members = set(row)
        for j in range(n):
            d = hypot(places[j][0] - places[i][0], places[j][1] - places[i][1])
            if i != j and abs(d - reaches[i]) > 1e-6 * (k.speed(i) + k.speed(j)) + 1e-9:
                assert (j in members) == (d <= reaches[i]), (t, i, j, d, reaches[i])


def check_from(mobility: Mobility, reaches: list[float], from_s: float, until: float) -> None:
    """Contacts that begin later are those that had been there all the time, and change as these do."""
    late = KineticContacts(mobility, len(reaches), 1, reaches, from_s)
    whole = contacts(mobility, reaches)
    whole.advance(from_s)
    assert rows(late) == rows(whole)
    seen = Recorder(), Recorder()
    late.observer, whole.observer = seen
    for k in (late, whole):
        k.advance(until)
    assert [change[1:] for change in seen[0].changes] == [change[1:] for change in seen[1].changes]
    assert [change[0] for change in seen[0].changes] == pytest.approx([change[0] for change in seen[1].changes])


def check_run(mobility: Mobility, reaches: list[float], until: float, instants: int, seed: int = 1) -> Recorder:
    """Brute force at random instants, and the same sets from replaying the changes that the observer got."""
    k = contacts(mobility, reaches, seed)
    k.observer = seen = Recorder()
    replay = [set(row) for row in rows(k)]
    check_against_brute_force(k, reaches, 0.0)
    random = Random(seed)
    done = 0
    for t in sorted(random.uniform(0.0, until) for _ in range(instants)):
        if t >= k.next:
            k.advance(t)
        assert k.next > t
        check_against_brute_force(k, reaches, t)
        for _, i, j, up in seen.changes[done:]:
            assert (j in replay[i]) != up, "reported twice"
            (replay[i].add if up else replay[i].discard)(j)
        done = len(seen.changes)
        assert replay == [set(row) for row in rows(k)]
    assert [c[0] for c in seen.changes] == sorted(c[0] for c in seen.changes)
    return seen


def waypoint(side: float, low: float, high: float, pause: float = 0.0) -> RandomWaypoint:
    return RandomWaypoint(side, side, Speeds(low, high, "uniform"), Pauses(0.0, pause))


# ---- against brute force


@pytest.mark.parametrize("pause", [0.0, 5.0])
@pytest.mark.parametrize("spread", [0.0, 60.0])
def test_random_waypoint_agrees_with_brute_force(pause: float, spread: float) -> None:
    random = Random(3)
    reaches = [80.0 + spread * random.random() for _ in range(40)]
    seen = check_run(waypoint(500.0, 5.0, 20.0, pause), reaches, 120.0, 150)
    assert len(seen.changes) > 500


@pytest.mark.parametrize("from_s", [0.0, 3.25, 60.0])
@pytest.mark.parametrize("spread", [0.0, 60.0])
def test_contacts_may_begin_later(from_s: float, spread: float) -> None:
    random = Random(4)
    reaches = [80.0 + spread * random.random() for _ in range(40)]
    check_from(waypoint(500.0, 5.0, 20.0, 5.0), reaches, from_s, 120.0)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 25),
    reach=st.sampled_from([0.001, 1.0, 30.0, 100.0, 1e4]),
    spread=st.sampled_from([0.0, 0.5, 5.0]),
    offset=st.sampled_from([0.0, -350.0, 1e6]),
)
def test_any_routes_agree_with_brute_force(seed: int, n: int, reach: float, spread: float, offset: float) -> None:
    random = Random(seed)

    def route() -> list[tuple[float, float, float]]:
        times = sorted({0.0, *(random.choice([random.uniform(0, 20), float(random.randrange(20))]) for _ in range(6))})
        # points on a lattice make equal velocities, coinciding nodes, tangents and simultaneous crossings common
        return [(t, offset + 10.0 * random.randrange(12), offset + 10.0 * random.randrange(12)) for t in times]

    reaches = [reach * (1.0 + spread * random.random()) for _ in range(n)]
    check_run(Routes([route() for _ in range(n)]), reaches, 22.0, 25, seed)


def test_contacts_are_exact_for_nodes_that_start_in_one_point_and_spread_far() -> None:
    random = Random(5)
    routes = [
        [(0.0, 0.0, 0.0), (1.0 + i * 0.01, 0.0, 0.0), (60.0, random.uniform(-2e3, 2e3), random.uniform(-2e3, 2e3))]
        for i in range(60)
    ]
    check_run(Routes(routes), [150.0] * 60, 70.0, 60)


def test_one_node_far_away_changes_nothing_for_the_others() -> None:
    random = Random(5)
    places = [(random.uniform(0, 300), random.uniform(0, 300)) for _ in range(30)]
    near = contacts(Placed(places), [60.0] * 30)
    with_stray = contacts(Placed([*places, (1e9, -1e9)]), [60.0] * 31)
    assert rows(with_stray) == [*rows(near), []]
    assert with_stray.cell < 100.0


# ---- the corner cases, one by one


def crossing(reach: float, *routes: list[tuple[float, float, float]]) -> tuple[KineticContacts, Recorder]:
    k = contacts(Routes(list(routes)), [reach] * len(routes))
    k.observer = seen = Recorder()
    return k, seen


def test_contact_is_decided_on_the_closed_disc() -> None:
    k = contacts(Placed([(0.0, 0.0), (30.0, 40.0), (30.0, 40.00001)]), [50.0] * 3)
    assert rows(k) == [[1], [0, 2], [1]]
    assert k.next == inf


def test_static_nodes_never_cause_work() -> None:
    k = contacts(Static(1000.0, 1000.0), [150.0] * 50)
    assert k.next == inf and k.queue.size == 0 and any(rows(k))


def test_entering_and_leaving_happen_at_the_solved_instants() -> None:
    k, seen = crossing(50.0, [(0.0, 0.0, 0.0)], [(0.0, -100.0, 30.0), (20.0, 100.0, 30.0)])
    assert rows(k) == [[], []]
    k.advance(30.0)
    assert [(i, j, up) for _, i, j, up in seen.changes] == [
        (0, 1, True),
        (1, 0, True),
        (0, 1, False),
        (1, 0, False),
    ]
    assert [t for t, *_ in seen.changes] == pytest.approx([6.0, 6.0, 14.0, 14.0], abs=1e-12)


def test_unequal_reaches_make_links_one_way() -> None:
    k = contacts(Routes([[(0.0, 0.0, 0.0)], [(0.0, 200.0, 0.0), (20.0, 0.0, 0.0)]]), [100.0, 50.0])
    k.observer = seen = Recorder()
    k.advance(12.0)
    assert rows(k) == [[1], []]
    k.advance(15.5)
    assert rows(k) == [[1], [0]]
    assert [(round(t, 9), i, j, up) for t, i, j, up in seen.changes] == [(10.0, 0, 1, True), (15.0, 1, 0, True)]


def test_touching_the_circle_is_no_contact_and_a_little_nearer_is() -> None:
    for off, expected in ((50.0, 0), (49.999, 4)):
        k, seen = crossing(50.0, [(0.0, 0.0, 0.0)], [(0.0, -100.0, off), (20.0, 100.0, off)])
        k.advance(30.0)
        assert len(seen.changes) == expected and rows(k) == [[], []]


def test_a_walk_that_starts_along_the_tangent_is_no_contact() -> None:
    k, _ = crossing(50.0, [(0.0, 0.0, 0.0)], [(0.0, 0.0, 50.0), (10.0, 100.0, 50.0)])
    k.advance(1.0)
    assert rows(k) == [[], []]


def test_a_jump_at_an_absurd_speed_is_followed_exactly() -> None:
    jump = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0 + 5.05e-8, 50.5, 0.0), (2.0, 50.5, 0.0), (2.0 + 1e-9, 49.5, 0.0)]
    k, _ = crossing(50.0, [(0.0, 0.0, 0.0)], jump)
    assert rows(k) == [[1], [0]]
    k.advance(1.5)
    assert rows(k) == [[], []]
    k.advance(2.5)
    assert rows(k) == [[1], [0]]


def test_nodes_at_the_same_place_are_in_contact() -> None:
    k, _ = crossing(5.0, [(0.0, 1.0, 1.0)], [(0.0, 1.0, 1.0), (1.0, 1.0, 1.0), (11.0, 101.0, 1.0)])
    assert rows(k) == [[1], [0]]
    k.advance(1.49)
    assert rows(k) == [[1], [0]]
    k.advance(1.51)
    assert rows(k) == [[], []]


def test_a_leg_that_ends_on_the_circle_and_turns_back_makes_no_contact() -> None:
    k, seen = crossing(50.0, [(0.0, 0.0, 0.0)], [(0.0, 100.0, 0.0), (5.0, 50.0, 0.0), (10.0, 100.0, 0.0)])
    k.advance(20.0)
    assert rows(k) == [[], []] and seen.changes == []


def test_a_leg_that_ends_on_the_circle_and_stays_there_is_in_contact() -> None:
    k, seen = crossing(50.0, [(0.0, 0.0, 0.0)], [(0.0, 100.0, 0.0), (5.0, 50.0, 0.0)])
    k.advance(4.999)
    assert rows(k) == [[], []]
    k.advance(5.0)
    assert rows(k) == [[1], [0]] and k.next == inf
    assert seen.changes == [(5.0, 0, 1, True), (5.0, 1, 0, True)]


def test_a_leg_that_ends_on_the_circle_and_goes_on_is_reported_once() -> None:
    k, seen = crossing(50.0, [(0.0, 0.0, 0.0)], [(0.0, 100.0, 0.0), (5.0, 50.0, 0.0), (7.0, 0.0, 0.0)])
    k.advance(10.0)
    assert [(i, j, up) for _, i, j, up in seen.changes] == [(0, 1, True), (1, 0, True)]


def on_the_circle(random: Random, t: float, before: float, then: float) -> tuple[KineticContacts, Recorder]:
    """A node goes from a distance of `before` reaches to the circle, where rounding decides the side, then to `then`
    reaches."""
    reach = random.uniform(10.0, 200.0)
    angle = random.uniform(0.0, 2.0 * pi)
    x, y = reach * cos(angle), reach * sin(angle)
    route = [(0.0, before * x, before * y), (t, x, y), (2.0 * t, then * x, then * y)]
    return crossing(reach, [(0.0, 0.0, 0.0)], route)


@pytest.mark.parametrize(
    ("before", "then", "changes"), [(1.5, 0.5, 2), (0.5, 1.5, 2), (1.5, 1.7, 0), (0.5, 0.3, 0)], ids=str
)
def test_a_leg_that_ends_near_the_circle_makes_no_needless_changes(before: float, then: float, changes: int) -> None:
    random = Random(1)
    for _ in range(300):
        t = random.uniform(1.0, 5000.0)
        k, seen = on_the_circle(random, t, before, then)
        assert rows(k) == ([[1], [0]] if before < 1.0 else [[], []])
        for later in (t + 1e-3, 3.0 * t):
            k.advance(later)
            assert rows(k) == ([[1], [0]] if then < 1.0 else [[], []])
        assert len(seen.changes) == changes


def test_two_nodes_that_turn_at_once_on_the_circle_are_solved_with_their_new_legs() -> None:
    """Node 0 starts to go away, and at the same instant node 1 starts to follow it, faster."""
    away = [(0.0, 0.0, 0.0), (5.0, 0.0, 0.0), (15.0, -100.0, 0.0)]
    after = [(0.0, 50.0, 0.0), (5.0, 50.0, 0.0), (15.0, -150.0, 0.0)]
    k = contacts(Routes([away, after]), [100.0, 50.0])
    k.observer = seen = Recorder()
    k.advance(6.0)
    assert rows(k) == [[1], [0]] and seen.changes == []


def test_time_never_runs_backwards_when_legs_end_on_edges_of_cells() -> None:
    random = Random(2)
    edge = contacts(Placed([(0.0, 0.0)]), [30.0]).cell

    def point() -> tuple[float, float]:
        return edge * random.randrange(-5, 5), edge * random.randrange(-5, 5)

    routes = []
    for _ in range(200):
        t, route = 0.0, [(0.0, *point())]
        for _ in range(4):
            (x, y), (to_x, to_y) = route[-1][1:], point()
            t += random.uniform(0.1, 9.0)
            route.append((t, to_x, to_y))
            t += random.uniform(0.1, 9.0)  # then on in the same direction, across the edge
            route.append((t, to_x + (to_x - x), to_y + (to_y - y)))
        routes.append(route)
    k = contacts(Routes(routes), [30.0] * 200)
    assert k.cell == edge
    while k.next < inf:
        due = k.next
        k.advance(due)
        assert k.next >= due and k.queue.t >= due
    check_run(Routes(routes), [30.0] * 200, 40.0, 5)


def test_equal_velocities_keep_contact_without_an_event() -> None:
    k, seen = crossing(50.0, *[[(0.0, x, 0.0), (100.0, x + 777.0, 333.0)] for x in (0.0, 49.0, 100.0)])
    k.advance(99.0)
    assert rows(k) == [[1], [0], []] and seen.changes == []


def test_all_turn_at_the_same_instant() -> None:
    random = Random(8)
    routes = [[(float(t), random.uniform(0, 200), random.uniform(0, 200)) for t in range(0, 20, 2)] for _ in range(30)]
    check_run(Routes(routes), [40.0] * 30, 25.0, 60)


def test_changes_at_one_instant_are_reported_in_the_order_of_the_nodes() -> None:
    lanes = [[(0.0, -100.0, 1000.0 * lane), (20.0, 100.0, 1000.0 * lane)] for lane in range(6)]
    posts = [[(0.0, 0.0, 1000.0 * lane)] for lane in range(6)]
    k, seen = crossing(50.0, *(route for pair in zip(reversed(lanes), reversed(posts), strict=True) for route in pair))
    k.advance(6.0)
    assert [(i, j) for _, i, j, _ in seen.changes] == [p for i in range(0, 12, 2) for p in ((i, i + 1), (i + 1, i))]


def test_a_row_that_was_returned_never_changes() -> None:
    k = contacts(waypoint(300.0, 10.0, 20.0), [100.0] * 20)
    held = [(row, list(row)) for row in k.hearers]
    k.advance(60.0)
    assert all(list(row) == before for row, before in held)
    assert rows(k) != [before for _, before in held]


def test_nothing_changes_before_next() -> None:
    k = contacts(waypoint(500.0, 5.0, 10.0), [100.0] * 30)
    k.observer = seen = Recorder()
    for _ in range(300):
        due = k.next
        before = len(seen.changes)
        k.advance(due * (1 - 1e-12))
        assert len(seen.changes) == before
        k.advance(due)
        assert k.next >= due


def test_speed_and_end_of_the_current_leg() -> None:
    k, _ = crossing(1.0, [(0.0, 0.0, 0.0), (10.0, 30.0, 40.0)])
    assert k.speed(0) == 5.0 and k.leg_end(0) == 10.0 and k.position(0, 1.0) == (3.0, 4.0)
    k.advance(10.0)
    assert k.speed(0) == 0.0 and k.leg_end(0) == inf and (k.x(0, 99.0), k.y(0, 99.0)) == (30.0, 40.0)


def test_squares_of_distances() -> None:
    k, _ = crossing(1.0, [(0.0, 0.0, 0.0), (10.0, 30.0, 40.0)], [(0.0, 5.0, 1.0), (10.0, 5.0, -7.0)])
    (x, y), (x1, y1) = k.position(0, 1.0), k.position(1, 1.0)
    expected = (x - x1) ** 2 + (y - y1) ** 2
    assert k.square(0, 1, 1.0) == k.square(1, 0, 1.0) == expected
    assert list(k.squares(0, vec[i64]([1, 0]), 1.0)) == [expected, 0.0]


# ---- cost


def test_the_work_is_proportional_to_the_number_of_moving_nodes() -> None:
    """One node moves among many that stand: solved pairs do not grow with the number of nodes, only with their
    density."""

    def solved(side: int) -> int:
        posts = [[(0.0, 100.0 * x, 100.0 * y)] for x in range(side) for y in range(side)]
        k, _ = crossing(50.0, *posts, [(0.0, 10.0, 10.0), (100.0, 910.0, 510.0)])
        before = k.solved
        k.advance(100.0)
        return k.solved - before

    assert solved(40) <= solved(10) + 2


def test_distant_nodes_in_one_entry_of_the_table_are_not_solved() -> None:
    def solved(cells_away: int) -> int:
        posts = [[(0.0, 1.0 + k, 1.0)] for k in range(8)]
        far = 50.0 * (1.0 + 1e-6) * cells_away + 1.0
        k, _ = crossing(50.0, *posts, [(0.0, far, 1.0), (1000.0, -far, 1.0)])
        assert (k.mask_x, k.mask_y) == (3, 3)
        return k.solved

    assert solved(4) == solved(8) == solved(6)


def test_a_tiny_reach_in_a_wide_area_does_not_make_absurdly_many_cells() -> None:
    k = contacts(waypoint(100_000.0, 10.0, 10.0), [0.01] * 50)
    assert k.cell > 5_000.0
    assert (k.mask_x + 1) * (k.mask_y + 1) <= 50 * 64


# ---- wrong models


def test_a_leg_that_jumps_is_refused() -> None:
    class Jumps(Routes):
        def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
            return Leg(leg.end_s, leg.x + 500.0, leg.y, 0.0, 0.0, inf)

    k = contacts(Jumps([[(0.0, 0.0, 0.0), (1.0, 1.0, 0.0)]]), [10.0])
    with pytest.raises(InputError, match=r"node 0 .* does not follow"):
        k.advance(2.0)


@pytest.mark.parametrize("end_s", [0.0, -1.0, float("nan")])
def test_a_leg_that_does_not_last_is_refused(end_s: float) -> None:
    class Instant(Mobility):
        def __init__(self) -> None:
            pass

        def first(self, node: int, stream: Stream) -> Leg:
            return Leg(0.0, 0.0, 0.0, 1.0, 0.0, end_s)

    with pytest.raises(InputError, match="must last"):
        contacts(Instant(), [10.0])


def test_a_position_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(InputError, match="node 1 starts at"):
        contacts(Placed([(0.0, 0.0), (float("nan"), 0.0)]), [10.0, 10.0])


# ---- rows


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.booleans()), max_size=300))
def test_rows_hold_what_was_put_into_them_in_order(changes: list[tuple[int, int, bool]]) -> None:
    """Compared with sets; there are more numbers than a row has room for at first."""
    rows_of_nodes = SortedRows(3)
    twins: list[set[int]] = [set(), set(), set()]
    changes += [(i, j, True) for i, j in [(1, j) for j in range(40, 0, -1)]]
    for i, j, there in changes:
        assert rows_of_nodes.put(i, j, there) == ((j in twins[i]) != there)
        if there:
            twins[i].add(j)
        else:
            twins[i].discard(j)
        assert rows_of_nodes.holds(i, j) == there
        assert [list(row) for row in rows_of_nodes] == [sorted(twin) for twin in twins]


# ---- the same everywhere


def digest() -> str:
    """A digest of every change in a busy run with pauses and unequal reaches, and of all final positions."""
    k = contacts(waypoint(600.0, 1.0, 20.0, 3.0), [60.0 + i for i in range(60)], seed=7)
    k.observer = seen = Recorder()
    k.advance(200.0)
    text = repr(seen.changes) + repr([k.position(i, 200.0) for i in range(60)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_the_sequence_of_changes_is_the_same_compiled_and_pure_and_on_every_machine() -> None:
    assert digest() == "128dae759564bebd"


def test_the_sequence_of_changes_does_not_depend_on_the_hash_seed() -> None:
    code = "from tests.world.contacts.test_kinetic import digest; print(digest())"
    for hash_seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        assert subprocess.check_output([sys.executable, "-c", code], env=env, text=True).strip() == digest()
