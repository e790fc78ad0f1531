"""The events that a node carries, and the summary of their ids."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.epidemic.held import HeldEvents, mixed
from roamcast.pubsub.event import FOREVER, Event, event_id

SETTLE_US = 100


def table(most: int = 100, most_bytes: int = 1 << 20, remembered: int = 100) -> HeldEvents:
    return HeldEvents(most, most_bytes, remembered, SETTLE_US)


def event(publisher: int, n: int, validity_us: int = FOREVER, payload: bytes = b"") -> Event:
    return Event(event_id(publisher, n), "news", {}, payload, validity_us)


@settings(deadline=None)
@given(st.permutations(list(range(1, 9))), st.permutations(list(range(1, 9))))
def test_the_digest_does_not_depend_on_the_order(one: list[int], other: list[int]) -> None:
    tables = []
    for order in (one, other):
        made = table()
        for t, n in enumerate(order):
            made.add(event(1, n), t, False)
            made.settle(t)
        made.settle(1000)
        tables.append(made)
    assert tables[0].digest == tables[1].digest != 0
    assert tables[0].settled_ids() == tables[1].settled_ids() == [event_id(1, n) for n in range(1, 9)]


@settings(deadline=None)
@given(st.sets(st.integers(1, 1 << 40), max_size=30), st.sets(st.integers(1, 1 << 40), max_size=30))
def test_different_ids_have_different_digests(one: set[int], other: set[int]) -> None:
    def digest(ids: set[int]) -> int:
        result = 0
        for id in ids:
            result ^= mixed(id)
        return result

    assert (digest(one) == digest(other)) == (one == other)
    assert all(0 <= mixed(id) < 1 << 63 for id in one)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(0, 200), st.integers(1, 900)), max_size=60))
def test_it_agrees_with_a_simple_twin(steps: list[tuple[int, int, int, int]]) -> None:
    """The twin keeps (born, validity) of every event and computes everything anew."""
    made, now_us = table(), 0
    twin: dict[int, tuple[int, int]] = {}
    for publisher, n, wait_us, validity_us in steps:
        now_us += wait_us
        made.expire(now_us)
        made.settle(now_us)
        twin = {id: (born, validity) for id, (born, validity) in twin.items() if now_us < born + validity}
        settled = [id for id, (born, _) in sorted(twin.items()) if born + SETTLE_US <= now_us]
        assert list(made.known) == list(twin)
        assert made.settled_ids() == settled
        assert made.settled == len(settled)
        digest = 0
        for id in settled:
            digest ^= mixed(id)
        assert made.digest == digest
        assert made.count == len(twin)
        new = event(publisher, n, validity_us)
        if new.id not in twin:
            made.add(new, now_us, False)
            twin[new.id] = (now_us, validity_us)
    assert made.bytes == sum(known.event.size for known in made.known.values() if known.event is not None)


def test_the_publisher_of_most_events_makes_room_with_its_oldest() -> None:
    made = table(most=4)
    for publisher, n in [(1, 1), (2, 1), (2, 2), (1, 2), (2, 3)]:
        made.add(event(publisher, n), 0, False)
    assert made.make_room() == [event_id(2, 1)]
    assert not made.is_held(event_id(2, 1))
    made.settle(SETTLE_US)
    assert event_id(2, 1) in made.settled_ids(), "it stays known: nobody should send it again"
    made.add(event(2, 1), 0, True)
    assert made.is_held(event_id(2, 1))
    assert (made.count, made.settled) == (5, 5)


def test_content_is_bounded_but_the_last_event_stays() -> None:
    made = table(most_bytes=300)
    made.add(event(1, 1, payload=bytes(200)), 0, False)
    made.add(event(1, 2, payload=bytes(200)), 0, False)
    assert made.make_room() == [event_id(1, 1)]
    made.add(event(1, 3, payload=bytes(900)), 0, False)
    assert made.make_room() == [event_id(1, 2)]
    assert made.count == 1


def test_the_oldest_ids_are_forgotten_unless_their_events_are_valid() -> None:
    made = table(remembered=2)
    made.add(event(1, 1), 0, False)
    for n in range(1, 5):
        made.remember(event_id(1, n))
    assert made.take_forgotten() == [event_id(1, 2)]
    assert made.take_forgotten() == [], "they are forgotten once"
    assert [made.has_seen(event_id(1, n)) for n in range(1, 5)] == [True, False, True, True]


def test_an_event_that_is_no_longer_known_is_remembered() -> None:
    made = table(remembered=1)
    for n in (1, 2):
        made.add(event(1, n, validity_us=100 * n), 0, False)
    made.expire(100)
    assert (made.has_seen(event_id(1, 1)), made.take_forgotten()) == (True, [])
    made.expire(200)
    assert (made.has_seen(event_id(1, 1)), made.take_forgotten()) == (False, [event_id(1, 1)])


def test_of_events_that_made_room_those_given_up_first_are_no_longer_known() -> None:
    made = table(most=1, remembered=2)
    for n in range(1, 6):
        made.add(event(1, n), 0, False)
        made.make_room()
    made.settle(SETTLE_US)
    assert made.drop_given_up() and not made.drop_given_up()
    left = [event_id(1, n) for n in (3, 4, 5)]
    assert list(made.known) == made.settled_ids() == left
    assert (made.settled, made.digest) == (3, mixed(left[0]) ^ mixed(left[1]) ^ mixed(left[2]))
    assert made.has_seen(event_id(1, 2)), "it is not taken again"
    made.add(event(1, 3), 0, True)
    made.make_room()
    assert not made.drop_given_up(), "one that is held again does not count"


def test_an_event_that_is_published_again_expires_when_its_new_validity_ends() -> None:
    for validity_us, again_us, expiry_us in [(1000, 300, 900), (1000, 900, 1500), (1000, FOREVER, FOREVER)]:
        made = table(most=1)
        made.add(event(1, 1, validity_us), 0, True)
        made.add(event(1, 2), 0, True)
        assert made.make_room() == [event_id(1, 1)]
        made.add(event(1, 1, again_us), 600, True)
        made.expire(expiry_us - 1)
        assert made.is_held(event_id(1, 1))
        made.expire(expiry_us)
        assert made.is_held(event_id(1, 1)) == (expiry_us == FOREVER)


def test_times_of_events_that_are_no_longer_known_do_not_pile_up() -> None:
    made = table(most=2, remembered=3)
    for n in range(1, 500):
        made.add(event(1, n, validity_us=10_000 + n), 0, False)
        made.make_room()
        made.drop_given_up()
        assert len(made.expiries) <= 2 * (2 + 3)
    made.expire(10_498)
    assert list(made.known) == [event_id(1, 499)]


def test_an_event_expires_also_if_it_made_room_before() -> None:
    made = table(most=1)
    made.add(event(1, 1, validity_us=500), 0, False)
    made.add(event(1, 2, validity_us=900), 0, False)
    made.make_room()
    made.settle(200)
    made.expire(500)
    assert list(made.known) == [event_id(1, 2)]
    made.expire(900)
    assert (made.known, made.count, made.bytes, made.settled, made.digest, made.held) == ({}, 0, 0, 0, 0, {})
