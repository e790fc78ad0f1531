"""The events that a node carries, and summaries of their ids."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from roamcast.protocols.roam.held import HeldEvents, Publishers
from roamcast.protocols.roam.known import OWN, Window, mixed, unmixed
from roamcast.pubsub.event import FOREVER, Event, event_id
from tests.protocols.roam.nodes import SECOND, listing, news, node

YOUNG_US = 100
LEFT_US = 60
ALL = Window(1 << 60, 0)


def table(most: int = 100, most_bytes: int = 1 << 20, remembered: int = 100) -> HeldEvents:
    return HeldEvents(most, most_bytes, remembered, YOUNG_US, LEFT_US)


def event(publisher: int, n: int, validity_us: int = FOREVER, payload: bytes = b"") -> Event:
    return Event(event_id(publisher, n), "news", {}, payload, validity_us)


def listed(table: HeldEvents, window: Window) -> list[int]:
    return [int(id) for id in table.known.within(window)]


def digest_of(ids: list[int]) -> int:
    result = 0
    for id in ids:
        result ^= mixed(id)
    return result


@settings(deadline=None)
@given(st.permutations(list(range(1, 9))), st.permutations(list(range(1, 9))))
def test_the_digest_does_not_depend_on_the_order(one: list[int], other: list[int]) -> None:
    tables = []
    for order in (one, other):
        made = table()
        for t, n in enumerate(order):
            made.add(event(1, n), 90 * t, 0)
            made.advance(90 * t)
        tables.append(made)
    assert tables[0].summary(ALL) == tables[1].summary(ALL) == (8, digest_of(listed(tables[0], ALL)))
    assert listed(tables[0], ALL) == listed(tables[1], ALL) == [event_id(1, n) for n in range(1, 9)]


@settings(deadline=None)
@given(st.sets(st.integers(1, 1 << 40), max_size=30), st.sets(st.integers(1, 1 << 40), max_size=30))
def test_different_ids_have_different_digests(one: set[int], other: set[int]) -> None:
    assert (digest_of(sorted(one)) == digest_of(sorted(other))) == (one == other)
    assert all(0 <= mixed(id) < 1 << 63 for id in one)


STEPS = st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(0, 200), st.integers(1, 900) | st.just(FOREVER))


@settings(deadline=None, max_examples=300)
@given(st.lists(STEPS, max_size=60), st.integers(-50, 900), st.integers(-50, 900))
def test_it_agrees_with_a_simple_twin(
    steps: list[tuple[int, int, int, int]], born_before_us: int, expires_after_us: int
) -> None:
    """The twin keeps (born, expiry) of every event and computes everything anew."""
    made, now_us = table(), 0
    twin: dict[int, tuple[int, int]] = {}
    for publisher, n, wait_us, validity_us in steps:
        now_us += wait_us
        made.advance(now_us)
        twin = {id: (born, expiry) for id, (born, expiry) in twin.items() if now_us < expiry}
        window = made.window(now_us)
        within = [id for id, (a, b) in sorted(twin.items()) if a <= window.born_us and b >= window.expiry_us]
        assert made.known.all() == sorted(twin)
        assert listed(made, window) == within
        assert made.summary(window) == (len(within), digest_of(within))
        any_window = Window(now_us - born_before_us, now_us + expires_after_us)
        within_any = listed(made, any_window)
        assert made.summary(any_window) == (len(within_any), digest_of(within_any))
        assert made.count == len(twin)
        new = event(publisher, n, validity_us)
        if new.id not in twin:
            made.add(new, now_us, 0)
            twin[new.id] = (now_us, now_us + validity_us)
    assert made.bytes == sum(each.size for each in made.known.events if each is not None)


def test_a_window_has_what_is_neither_young_nor_about_to_expire() -> None:
    made = table()
    for n, (age_us, left_us) in enumerate([(YOUNG_US - 1, 900), (YOUNG_US, LEFT_US), (900, LEFT_US - 1)], 1):
        made.add(event(1, n, validity_us=age_us + left_us), 1000 - age_us, 0)
    made.advance(1000)
    assert listed(made, made.window(1000)) == [event_id(1, 2)]


def test_an_event_that_is_published_again_keeps_its_place_in_windows() -> None:
    made = table(most=1)
    made.add(event(1, 1, 5000), 0, OWN)
    made.add(event(1, 2), 0, OWN)
    made.make_room()
    made.advance(1000)
    before = made.summary(made.window(1000))
    made.add(event(1, 1, 4000), 1000, OWN)
    made.advance(1000)
    assert made.summary(made.window(1000)) == before
    place = made.known.place(event_id(1, 1))
    assert (made.known.born_us(place), made.known.expiry_us(place)) == (0, 5000)


def test_the_publisher_of_most_events_makes_room_with_its_oldest() -> None:
    made = table(most=4)
    for publisher, n in [(1, 1), (2, 1), (2, 2), (1, 2), (2, 3)]:
        made.add(event(publisher, n), 0, 0)
    assert made.make_room() == [event_id(2, 1)]
    assert not made.is_held(event_id(2, 1))
    made.advance(2 * YOUNG_US)
    assert event_id(2, 1) in listed(made, ALL), "it stays known: nobody should send it again"
    made.add(event(2, 1), 0, OWN)
    assert made.is_held(event_id(2, 1))
    assert (made.count, made.summary(ALL)[0]) == (5, 5)


def test_content_is_bounded_but_the_last_event_stays() -> None:
    made = table(most_bytes=300)
    made.add(event(1, 1, payload=bytes(200)), 0, 0)
    made.add(event(1, 2, payload=bytes(200)), 0, 0)
    assert made.make_room() == [event_id(1, 1)]
    made.add(event(1, 3, payload=bytes(900)), 0, 0)
    assert made.make_room() == [event_id(1, 2)]
    assert made.count == 1


def test_the_oldest_ids_are_forgotten_unless_their_events_are_valid() -> None:
    made = table(remembered=2)
    made.add(event(1, 1), 0, 0)
    for n in range(1, 5):
        made.remember(event_id(1, n))
    assert made.take_forgotten() == [event_id(1, 2)]
    assert made.take_forgotten() == [], "they are forgotten once"
    assert [made.has_seen(event_id(1, n)) for n in range(1, 5)] == [True, False, True, True]


def test_an_event_that_is_no_longer_known_is_remembered() -> None:
    made = table(remembered=1)
    for n in (1, 2):
        made.add(event(1, n, validity_us=100 * n), 0, 0)
    made.advance(100)
    assert (made.has_seen(event_id(1, 1)), made.take_forgotten()) == (True, [])
    made.advance(200)
    assert (made.has_seen(event_id(1, 1)), made.take_forgotten()) == (False, [event_id(1, 1)])


def test_of_events_that_made_room_those_given_up_first_are_no_longer_known() -> None:
    made = table(most=1, remembered=2)
    for n in range(1, 6):
        made.add(event(1, n), 0, 0)
        made.make_room()
    made.advance(2 * YOUNG_US)
    left = [event_id(1, n) for n in (3, 4, 5)]
    assert made.known.all() == listed(made, ALL) == left
    assert made.summary(ALL) == (3, digest_of(left))
    assert made.has_seen(event_id(1, 2)), "it is not taken again"


def test_an_event_that_is_published_again_expires_when_its_new_validity_ends() -> None:
    for validity_us, again_us, expiry_us in [(1000, 300, 900), (1000, 900, 1500), (1000, FOREVER, FOREVER)]:
        made = table(most=1)
        made.add(event(1, 1, validity_us), 0, OWN)
        made.add(event(1, 2), 0, OWN)
        assert made.make_room() == [event_id(1, 1)]
        made.advance(600)
        made.add(event(1, 1, again_us), 600, OWN)
        made.advance(expiry_us - 1)
        assert made.is_held(event_id(1, 1))
        made.advance(expiry_us)
        assert made.is_held(event_id(1, 1)) == (expiry_us == FOREVER)


def test_times_of_events_that_are_no_longer_known_do_not_pile_up() -> None:
    made = table(most=2, remembered=3)
    for n in range(1, 500):
        made.add(event(1, n, validity_us=10_000 + n), 0, 0)
        made.make_room()
        assert len(made.changes) <= 4 * (2 + 3)
    made.advance(10_498)
    assert made.known.all() == [event_id(1, 499)]


def test_a_list_of_changes_that_is_made_anew_has_the_same_changes() -> None:
    made = table(most=3, remembered=3)
    made.add(event(2, 1, validity_us=900), 0, 0)  # of another publisher: it stays
    made.advance(2 * YOUNG_US)
    rebuilt, before = 0, made.changes
    for n in range(1, 60):
        made.add(event(1, n, validity_us=1_000 + n), 200, 0)
        made.make_room()
        made.advance(200 + 5 * n)
        rebuilt += made.changes is not before
        before = made.changes
    assert rebuilt and made.is_held(event_id(2, 1)) and made.in_core > 0
    for now_us in range(500, 1_300):
        made.advance(now_us)
        window = made.window(now_us)
        assert made.summary(window) == made.known.summary(window)


def test_an_event_expires_also_if_it_made_room_before() -> None:
    made = table(most=1)
    made.add(event(1, 1, validity_us=500), 0, 0)
    made.add(event(1, 2, validity_us=900), 0, 0)
    made.make_room()
    made.advance(200)
    made.advance(500)
    assert made.known.all() == [event_id(1, 2)]
    made.advance(900)
    assert (made.known.events, made.known.all(), len(made.young), len(made.leaving)) == ([], [], 0, 0)
    assert made.publishers is not None and (made.publishers.ids, made.publishers.bytes) == ({}, {})
    assert (made.count, made.bytes, made.core, made.in_core) == (0, 0, 0, 0)


@given(st.integers(0, (1 << 63) - 1))
def test_an_id_is_found_by_its_digest(id: int) -> None:
    assert unmixed(mixed(id)) == id
    assert 0 <= mixed(id) < 1 << 63


SMALL_IDS = st.lists(st.integers(1, 40), unique=True).map(sorted)


def ranges_of(ids: list[int]) -> vec[i64]:
    """First and last id of each run of consecutive ids."""
    bounds = [id for id in ids if id - 1 not in ids], [id for id in ids if id + 1 not in ids]
    return vec[i64]([bound for pair in zip(*bounds, strict=True) for bound in pair])


def pairs(ranges: vec[i64]) -> list[tuple[int, int]]:
    bounds = [int(bound) for bound in ranges]
    return list(zip(bounds[0::2], bounds[1::2], strict=True))


@given(SMALL_IDS, SMALL_IDS, st.integers(0, 41), st.integers(0, 41))
def test_what_a_list_lacks_is_what_sets_say(known: list[int], listed: list[int], low: int, high: int) -> None:
    made = table()
    for id in known:
        made.add(Event(id, "news"), 0, 0)
    if known:
        made.known.events[made.known.place(known[0])] = None  # it had to make room
    held = {id for id in known if made.is_held(id)}
    listed = [id for id in listed if low <= id <= high]
    lacking = sorted(id for id in held - set(listed) if low <= id <= high)
    all_known = set(listed) <= set(known)
    assert made.known.lacking(ranges_of(listed), low, high, ALL) == (lacking, all_known)
    assert made.known.lacking(ranges_of(listed), low, high, Window(-1, 0)) == ([], all_known)


@given(SMALL_IDS, SMALL_IDS)
def test_runs_of_which_not_all_is_known_are_what_sets_say(known: list[int], listed: list[int]) -> None:
    made = table()
    for id in known:
        made.add(Event(id, "news"), 0, 0)
    assert pairs(made.known.incomplete(ranges_of(listed))) == [
        (first, last) for first, last in pairs(ranges_of(listed)) if not set(range(first, last + 1)) <= set(known)
    ]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 50)), min_size=1, max_size=30))
def test_publishers_that_are_looked_at_late_are_those_of_all_events(events: list[tuple[int, int]]) -> None:
    """Whoever kept them from the start knows the same, and gives up the same events."""
    late, eager = table(most=5, most_bytes=400), table(most=5, most_bytes=400)
    eager.publishers = Publishers()
    for n, (publisher, size) in enumerate(events, 1):
        for made in (late, eager):
            made.add(event(publisher, n, payload=bytes(size)), 0, 0)
        assert late.make_room() == eager.make_room()


def test_how_often_an_event_was_sent_is_forgotten_with_it() -> None:
    protocol, host = node()
    for n in range(5):
        protocol.on_publish(news(n, validity_us=4 * SECOND))
    host.advance(protocol, 2 * SECOND)
    host.hear(protocol, listing(7), 2)
    host.advance(protocol, 3 * SECOND)
    assert len(protocol.table.sendings) == 5
    host.advance(protocol, 9 * SECOND)
    protocol.catch_up()
    assert not protocol.table.sendings
