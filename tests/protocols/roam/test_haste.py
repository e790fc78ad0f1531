"""The shortest validity of known events, beside a simple twin that keeps all of them."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from roamcast.protocols.roam.haste import MOST, Haste
from roamcast.pubsub.event import FOREVER

LEAST, CALM = 4, 1000
times = st.integers(0, 60)
steps = st.lists(st.tuples(times, times, st.booleans()), max_size=40)


@given(steps)
@example([(n, 0, False) for n in range(5, 5 + MOST)] + [(30, 10, True)])
def test_the_shortest_validity_that_is_known_decides(steps: list[tuple[int, int, bool]]) -> None:
    """With more validities than there is room for, one that is too short may decide, and none that is too long."""
    haste, all_of_them, now = Haste(LEAST, 50), [], 0
    for validity, left, looks in steps:
        now += 3
        haste.add(validity, now + left, now)
        all_of_them.append((validity, now + left))
        if looks:
            known = [v for v, expiry in all_of_them if expiry > now and LEAST < v < 50]
            shortest = haste.shortest_us(now)
            if len({v for v, _ in all_of_them}) <= MOST or not known:
                assert shortest == min(known, default=FOREVER)
            else:
                assert shortest <= min(known)


def test_expired_events_take_no_room_from_others() -> None:
    haste = Haste(0, CALM)
    for n in range(1, 10 * MOST):
        haste.add(n, n, n - 1)
    assert haste.add(500, 900, 10 * MOST)
    assert haste.shortest_us(10 * MOST) == 500


def test_an_event_that_no_summary_is_about_does_not_count() -> None:
    haste = Haste(LEAST, CALM)
    assert [haste.add(validity, 5000, 0) for validity in (LEAST, CALM, LEAST + 1)] == [False, False, True]
    assert haste.shortest_us(0) == LEAST + 1


def test_an_older_event_that_is_repaired_late_changes_nothing() -> None:
    haste = Haste(LEAST, CALM)
    assert haste.add(16, 30, 0)
    assert not haste.add(16, 18, 0)
    assert [haste.shortest_us(now) for now in (17, 18, 29, 30)] == [16, 16, 16, FOREVER]


def test_when_the_shortest_has_expired_the_next_one_decides() -> None:
    haste = Haste(LEAST, CALM)
    haste.add(20, 30, 0)
    haste.add(5, 10, 0)
    haste.add(CALM, 2000, 0)
    assert [haste.shortest_us(now) for now in (0, 9, 10, 29, 30)] == [5, 5, 20, 20, FOREVER]


def test_it_stays_small() -> None:
    haste = Haste(LEAST, CALM)
    for k in range(10 * MOST):
        haste.add(100 + k, 100 + k, 0)
    assert len(haste.decisive) == MOST
    assert haste.shortest_us(0) == 100
    last = 100 + 10 * MOST - 1
    assert haste.shortest_us(last - 1) <= last, "the last one is remembered, as one that is rather too short"
    for k in range(100):
        haste.add(50, 1000 + k, 0)
    assert len(haste.decisive) == 1
