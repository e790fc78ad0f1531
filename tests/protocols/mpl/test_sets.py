"""The Seed Set and the Buffered Message Set, compared with a plain model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roamcast.protocols.kit.trickle import TrickleTimer
from roamcast.protocols.mpl.frames import SEQUENCE_MAX, SeedInfo
from roamcast.protocols.mpl.sets import BufferedMessage, InformationBase, Seed, sequence_of, set_bits
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.testing import ScriptHost

LIFETIME_US = 1000


def base(seeds: int = 10, messages: int = 100, most_bytes: int = 1 << 20, window: int = 8) -> InformationBase:
    return InformationBase(seeds, messages, most_bytes, window, LIFETIME_US)


def buffered(publisher: int, n: int, since_us: int = 0, validity_us: int = FOREVER) -> BufferedMessage:
    event = Event(event_id(publisher, n), "news", validity_us=validity_us)
    return BufferedMessage(event, since_us, False, TrickleTimer(ScriptHost(), event.id, 10, 10, 1))


def seed_with(table: InformationBase, publisher: int, *numbers: int) -> Seed:
    seed = table.add_seed(publisher, 0)
    for n in numbers:
        table.add(seed, buffered(publisher, n), 0)
    return seed


def numbers(messages: list[BufferedMessage]) -> list[int]:
    return [sequence_of(message.event) for message in messages]


@given(st.integers(0, 1 << 80))
def test_the_places_of_bits(vector: int) -> None:
    assert sum(1 << place for place in set_bits(vector)) == vector


numbered = st.sets(st.integers(0, 20))


@given(st.integers(0, 20), numbered, numbered, st.integers(0, 40), numbered)
def test_what_two_nodes_lack_is_what_the_sets_of_numbers_say(
    least: int, held: set[int], expired: set[int], their_least: int, theirs: set[int]
) -> None:
    held = {n for n in held if n >= least}
    known = held | {n for n in expired if n >= least}
    theirs = {n for n in theirs if n >= their_least}
    seed = Seed(1, least)
    seed.held = sum(1 << n - least for n in held)
    seed.known = sum(1 << n - least for n in known)
    info = SeedInfo(1, their_least, sum(1 << n - their_least for n in theirs))
    assert seed.lacks(info) == bool({n for n in theirs if n >= least} - known)
    assert seed.lacked_by(info) == sorted({n for n in held if n >= their_least} - theirs)
    assert seed.after(7) == sorted(n for n in held if n > 7)
    assert all(seed.knows(n) == (n < least or n in known) for n in range(25))


def test_a_number_that_is_far_away_takes_no_memory() -> None:
    table = base()
    seed = seed_with(table, 1, 1)
    far = SeedInfo(1, SEQUENCE_MAX, 1)
    assert seed.lacks(far)
    assert seed.lacked_by(far) == []
    removed = table.add(seed, buffered(1, SEQUENCE_MAX), 0)
    assert numbers(removed) == [1]
    assert (seed.min_sequence, seed.known) == (SEQUENCE_MAX - 7, 1 << 7)
    assert not seed.lacks(SeedInfo(1, 0, (1 << 504) - 1))


def test_the_window_moves_with_the_newest_number() -> None:
    table = base(window=4)
    seed = seed_with(table, 1, 1, 2, 4)
    assert seed.min_sequence == 1
    assert numbers(table.add(seed, buffered(1, 6), 0)) == [1, 2]
    assert (seed.min_sequence, sorted(seed.messages), table.count) == (3, [4, 6], 2)


def test_r4_an_expired_message_leaves_the_buffer_and_its_number_stays_known() -> None:
    table = base()
    seed = table.add_seed(1, 1)
    for n, validity_us in ((1, 300), (2, 100), (3, 200), (5, 250)):
        table.add(seed, buffered(1, n, 0, validity_us), 0)
    assert numbers(table.expire(99)) == []
    assert numbers(table.expire(100)) == [2]
    assert (seed.min_sequence, seed.held, seed.known) == (1, 0b10101, 0b10111)
    assert numbers(table.expire(250)) == [3, 5]
    assert numbers(table.expire(300)) == [1]
    assert (seed.min_sequence, seed.known) == (4, 0b10), "number 4 is outstanding"
    assert (table.count, table.bytes) == (0, 0)


def test_r7_the_seed_with_most_messages_gives_up_its_oldest_one() -> None:
    table = base(messages=4)
    rich, poor = seed_with(table, 1, 3, 2, 5), seed_with(table, 2, 1, 2)
    assert [message.event.id for message in table.make_room()] == [event_id(1, 2)]
    assert (rich.min_sequence, poor.min_sequence, table.count) == (3, 0, 4)
    table.most_bytes = 1
    table.make_room()
    assert table.count == 1, "one message always has room"


def test_seeds_end_when_nothing_new_was_heard_for_their_lifetime() -> None:
    table = base(seeds=2)
    first, second = table.add_seed(1, 0), table.add_seed(2, 0)
    table.add(first, buffered(1, 1), 0)
    table.add(second, buffered(2, 1), 100)
    assert table.is_full()
    table.add(first, buffered(1, 2), 200)
    assert table.due_us <= 1100
    assert table.end_seeds(1099) == []
    assert [message.event.id for message in table.end_seeds(1100)] == [event_id(2, 1)]
    assert not table.is_full()
    assert [info.seed for info in table.infos()] == [1]
    assert table.due_us == 1200


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 30), st.integers(1, 50), st.integers(0, 5)), max_size=60),
    st.integers(1, 10),
)
def test_counts_and_vectors_agree_whatever_comes(arrivals: list[tuple[int, int, int, int]], most: int) -> None:
    table, now_us = base(messages=most), 0
    for publisher, n, validity_us, pause_us in arrivals:
        now_us += pause_us
        table.expire(now_us)
        table.end_seeds(now_us)
        seed = table.seeds.get(publisher) or table.add_seed(publisher, n)
        if not seed.knows(n):
            table.add(seed, buffered(publisher, n, now_us, validity_us), now_us)
            table.make_room()
        messages = [message for seed in table.seeds.values() for message in seed.messages.values()]
        assert table.count == len(messages) <= most
        assert table.bytes == sum(message.event.size for message in messages)
        for each in table.seeds.values():
            assert each.held & ~each.known == 0
            assert [each.min_sequence + place for place in set_bits(each.held)] == sorted(each.messages)
            assert each.known.bit_length() <= table.window
            assert each.info().vector == each.held
        assert [seed.id for seed in table.by_number] == sorted(table.seeds)
