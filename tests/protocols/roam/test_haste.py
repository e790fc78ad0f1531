"""The shortest validity of known events, beside a simple twin that keeps all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roamcast.protocols.roam.haste import MOST, Haste
from roamcast.pubsub.event import FOREVER

CALM = 1000
times = st.integers(0, 40)
steps = st.lists(st.tuples(times, times, st.booleans()), max_size=30)


@given(steps)
def test_the_shortest_validity_that_is_known_decides(steps: list[tuple[int, int, bool]]) -> None:
    haste, all_of_them, now = Haste(30), [], 0
    for validity, left, looks in steps:
        now += 3
        haste.add(validity, now + left)
        all_of_them.append((validity, now + left))
        if looks:
            known = [v for v, expiry in all_of_them if expiry > now and v < 30]
            assert haste.shortest_us(now) == min(known, default=FOREVER)


def test_an_older_event_that_is_repaired_late_changes_nothing() -> None:
    haste = Haste(CALM)
    haste.add(16, 30)
    haste.add(16, 18)
    assert [haste.shortest_us(now) for now in (17, 18, 29, 30)] == [16, 16, 16, FOREVER]


def test_when_the_shortest_has_expired_the_next_one_decides() -> None:
    haste = Haste(CALM)
    haste.add(20, 30)
    haste.add(5, 10)
    haste.add(CALM, 2000)
    assert [haste.shortest_us(now) for now in (0, 9, 10, 29, 30)] == [5, 5, 20, 20, FOREVER]


def test_it_stays_small() -> None:
    haste = Haste(CALM)
    for k in range(10 * MOST):
        haste.add(100 + k, 100 + k)
    assert len(haste.decisive) == MOST
    assert haste.shortest_us(0) == 100
    for k in range(100):
        haste.add(50, 1000 + k)
    assert len(haste.decisive) == 1
