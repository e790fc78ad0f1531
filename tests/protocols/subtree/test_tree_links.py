"""What tree neighbours want and are told, by itself: two ends of a link, and tables that overflow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.subtree.cover_table import key_of
from roamcast.protocols.subtree.filter_table import IDLE_HEARTBEATS, MAX_FILTERS, OWN
from roamcast.protocols.subtree.frames import MAX_LINKS, PER_FRAME, REMOVED_PER_FRAME, Subscribe
from roamcast.protocols.subtree.tree_links import MAX_EARLY, NOT_ADVERTISED, WANTED, TreeLink, TreeLinks
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import EVERYTHING, Filter, topic
from roamcast.testing import ScriptHost
from tests.protocols.subtree.test_cover_table import FILTERS
from tests.protocols.subtree.test_filter_table import Plain, worth_telling

SOURCES = st.sampled_from([OWN, 6, 7])


def links(room: int = 1024, *peers: int, owner: object = None) -> tuple[TreeLinks, ScriptHost]:
    host = ScriptHost(9)
    result = TreeLinks(host, room, True, owner)
    for peer in peers:
        assert result.add(peer)
    return result, host


def got(link: TreeLink) -> list[str]:
    return sorted(key_of(filter) for filter in link.wanted.values())


def subscribes(host: ScriptHost) -> list[Subscribe]:
    return [frame for frame in host.frames("subscribe") if isinstance(frame, Subscribe)]


# ------------------------------------------------------------------------------------------------- two ends of a link

STEPS = st.one_of(
    st.tuples(st.just("want"), SOURCES, FILTERS),
    st.tuples(st.just("want"), SOURCES, FILTERS),
    st.tuples(st.just("unwant"), st.integers(0, 9), st.none()),
    st.tuples(st.just("soon"), st.none(), st.none()),
    st.tuples(st.just("beat"), st.none(), st.none()),
    st.tuples(st.just("again"), st.none(), st.none()),
)


@settings(max_examples=120, deadline=None)
@given(st.lists(STEPS, max_size=40), st.sampled_from([1, 3, 8, 1024]), st.sampled_from([1, 4, MAX_FILTERS]))
def test_the_other_end_always_knows_what_is_wanted(steps: list[tuple[str, Any, Any]], room: int, total: int) -> None:
    """After a heartbeat just that, or everything if that is too much; before one, perhaps more, and never less."""
    teller, host = links(1024, 5)
    hearer, _ = links(room, 9)
    hearer.filters.room = total
    plain, heard = Plain(), 0
    link = hearer.by_peer[9]
    for what, a, b in steps:
        if what == "want":
            teller.filters.add(b, teller.filters.sets_of(a))
            plain.wants.append((a, b))
            continue
        if what == "unwant":
            if a < len(plain.wants):
                source, filter = plain.wants.pop(a)
                teller.filters.remove(filter, teller.filters.sets_of(source))
            continue
        if what == "again":
            teller.by_peer[5].from_scratch = True
            continue
        if what == "beat":
            hearer.tidy()
            teller.acknowledge(teller.by_peer[5], link.received_version, host.clock_us)
            teller.tidy()
        teller.advertise_all(removals=what == "beat")
        for frame in subscribes(host)[heard:]:
            assert hearer.receive(frame, 9)
        heard = len(subscribes(host))
        host.clock_us += 1
        if what == "beat":
            hearer.tidy()
        wanted = plain.worth_telling(5)
        if what == "beat" and not link.gets_everything:
            assert got(link) == wanted and link.overflow == 0
        if what == "beat":
            assert sorted(teller.by_peer[5].advertised) == wanted
        if what == "beat" and len(wanted) > min(room, total):
            assert link.gets_everything
        check_nothing_is_missed(hearer, link, [filter for source, filter in plain.wants])


def check_nothing_is_missed(hearer: TreeLinks, link: TreeLink, wants: list[Filter]) -> None:
    for value in range(10):
        for name in ("a", "a.b", "c"):
            event = Event(1, name, {"v": value})
            if any(filter.matches(event) for filter in wants):
                assert hearer.reason_to_send(link, event) in (WANTED, NOT_ADVERTISED)
                told = worth_telling(hearer.filters, 77)
                assert any(interest.filter.matches(event) for interest in told) or link.received_version == 0


def test_long_news_takes_several_frames_each_building_on_the_one_before() -> None:
    teller, host = links(1024, 5)
    filters = [topic(f"t{n}") for n in range(REMOVED_PER_FRAME + 1)]
    for filter in filters:
        teller.filters.add(filter, teller.filters.sets_of(OWN))
    teller.advertise_all(removals=False)
    frames = subscribes(host)
    assert [len(frame.added) for frame in frames] == [PER_FRAME] * (REMOVED_PER_FRAME // PER_FRAME) + [1]
    assert [(frame.base, frame.version) for frame in frames] == [(n, n + 1) for n in range(len(frames))]
    host.sent.clear()
    for filter in filters[::-1]:
        teller.filters.remove(filter, teller.filters.sets_of(OWN))
    teller.filters.add(topic("new"), teller.filters.sets_of(OWN))
    teller.advertise_all(removals=True)
    assert [(len(frame.added), len(frame.removed)) for frame in subscribes(host)] == [(1, REMOVED_PER_FRAME), (0, 1)]
    assert [n for frame in subscribes(host) for n in frame.removed] == list(range(REMOVED_PER_FRAME + 1))


def test_what_is_taken_back_is_named_in_the_order_it_was_told_whatever_others_knew_before() -> None:
    owner, filters = object(), [topic(f"t{n}") for n in range(9)]
    other, _ = links(1024, 5, owner=owner)
    for filter in reversed(filters):
        other.filters.add(filter, other.filters.sets_of(OWN))
    teller, host = links(1024, 5, owner=owner)
    for filter in filters:
        teller.filters.add(filter, teller.filters.sets_of(OWN))
    teller.advertise_all(removals=True)
    for filter in filters:
        teller.filters.remove(filter, teller.filters.sets_of(OWN))
    teller.advertise_all(removals=True)
    assert [filter for _, filter in subscribes(host)[0].added] == filters
    assert subscribes(host)[1].removed == list(range(9))


def test_what_is_told_comes_in_the_order_it_became_known_whatever_brought_it_up() -> None:
    teller, host = links(1024, 5)
    for name in ("a", "a.1", "a.2", "b"):
        teller.filters.add(topic(name), teller.filters.sets_of(6))
    teller.advertise_all(removals=False)
    teller.filters.add(topic("c"), teller.filters.sets_of(6))
    teller.filters.remove(topic("a"), teller.filters.sets_of(6))
    teller.advertise_all(removals=False)
    told = [[str(filter) for _, filter in frame.added] for frame in subscribes(host)]
    assert told == [["topic a", "topic b"], ["topic a.1", "topic a.2", "topic c"]]


def test_a_neighbour_without_anything_to_be_told_is_told_so_once() -> None:
    teller, host = links(1024, 5)
    for _ in range(3):
        teller.advertise_all(removals=True)
    assert [frame.fields() for frame in subscribes(host)] == [[0, 1, [], []]]


# ------------------------------------------------------------------------------------------------------------ overflow


def named(*numbers: int) -> list[tuple[int, Filter]]:
    return [(n, topic(f"t{n}")) for n in numbers]


def overflown(room: int = 4) -> tuple[TreeLinks, TreeLink, ScriptHost]:
    hearer, host = links(room, 5, 6)
    hearer.receive(Subscribe(0, 1, named(*range(room)), []), 5)
    assert not hearer.by_peer[5].gets_everything
    hearer.receive(Subscribe(1, 2, named(room), []), 5)
    return hearer, hearer.by_peer[5], host


def test_an_overflow_makes_a_neighbour_want_everything_here_and_beyond() -> None:
    hearer, link, host = overflown()
    assert hearer.reason_to_send(link, Event(1, "whatever")) == WANTED
    assert [interest.filter for interest in worth_telling(hearer.filters, 6)] == [EVERYTHING]
    assert hearer.memory() == (5, 4 * len("topic t1") + len(EVERYTHING.text))
    hearer.receive(Subscribe(2, 3, named(5), []), 5)
    assert host.labels("note") == ["overflow"] and (len(link.wanted), link.overflow) == (4, 2)


@pytest.mark.parametrize("removed", [0, 3, 4])
def test_whatever_is_taken_back_the_rest_is_still_served(removed: int) -> None:
    hearer, link, _ = overflown()
    hearer.receive(Subscribe(2, 3, [], [removed]), 5)
    for _ in range(3):
        hearer.tidy()
        for n in range(5):
            assert n == removed or hearer.reason_to_send(link, Event(1, f"t{n}")) in (WANTED, NOT_ADVERTISED)


def test_without_those_beyond_the_table_is_exact_with_the_next_heartbeat() -> None:
    hearer, link, _ = overflown()
    hearer.receive(Subscribe(2, 3, [], [4]), 5)
    hearer.tidy()
    assert not link.gets_everything and link.received_version == 3
    assert hearer.reason_to_send(link, Event(1, "t4")) == 0 and hearer.reason_to_send(link, Event(1, "t3")) == WANTED
    assert len(worth_telling(hearer.filters, 6)) == 4


def test_a_table_that_would_fit_again_is_asked_for_with_an_eighth_to_spare() -> None:
    hearer, link, _ = overflown(room=16)
    hearer.receive(Subscribe(2, 3, [], [0, 1]), 5)
    hearer.tidy()
    assert link.received_version == 3, "15 of 16"
    hearer.receive(Subscribe(3, 4, [], [2]), 5)
    hearer.tidy()
    assert link.received_version == 0, "14 of 16"
    assert link.gets_everything
    hearer.receive(Subscribe(0, 5, named(*range(3, 17)), []), 5)
    assert link.gets_everything, "more of it may be on its way"
    hearer.tidy()
    assert not link.gets_everything and got(link) == sorted(f"topic t{n}" for n in range(3, 17))


def test_a_full_table_that_overflows_again_leaves_no_gap() -> None:
    hearer, link, host = overflown()
    hearer.receive(Subscribe(0, 3, named(0, 1), []), 5)
    assert hearer.reason_to_send(link, Event(1, "t4")) == WANTED
    hearer.receive(Subscribe(3, 4, named(2, 3, 4), []), 5)
    hearer.tidy()
    assert hearer.reason_to_send(link, Event(1, "t4")) == WANTED and link.overflow == 1
    assert host.labels("note") == ["overflow"]


def test_what_had_two_numbers_before_all_was_told_again_has_one() -> None:
    hearer, _ = links(1024, 5, 6)
    hearer.receive(Subscribe(0, 1, [(0, topic("a")), (1, topic("a"))], []), 5)
    hearer.receive(Subscribe(0, 2, [(0, topic("a"))], []), 5)
    hearer.receive(Subscribe(2, 3, [], [0]), 5)
    assert worth_telling(hearer.filters, 6) == [] and hearer.by_peer[5].wanted == {}


# ---- in total


def crowded() -> tuple[TreeLinks, TreeLink]:
    """12 of 16 filters that there is room for are of one neighbour; another one wants five."""
    hearer, _ = links(1024, 5, 6, 7)
    hearer.filters.room = 16
    hearer.receive(Subscribe(0, 1, named(*range(12)), []), 5)
    hearer.receive(Subscribe(0, 1, named(*range(12, 17)), []), 6)
    return hearer, hearer.by_peer[6]


def test_what_there_is_no_room_for_in_total_is_beyond_for_the_neighbour_that_wants_it_last() -> None:
    hearer, link = crowded()
    assert (len(link.wanted), link.overflow, link.gets_everything) == (4, 1, True)
    assert not hearer.by_peer[5].gets_everything
    assert hearer.reason_to_send(link, Event(1, "t16")) == WANTED
    assert [interest.filter for interest in worth_telling(hearer.filters, 7)] == [EVERYTHING]


def test_what_is_known_already_needs_no_room_and_the_application_always_has_some() -> None:
    hearer, _ = crowded()
    hearer.receive(Subscribe(0, 1, named(0, 12), []), 7)
    assert got(hearer.by_peer[7]) == ["topic t0", "topic t12"] and not hearer.by_peer[7].gets_everything
    known = len(hearer.filters.order)
    hearer.filters.add(topic("own"), hearer.filters.sets_of(OWN))
    assert len(hearer.filters.order) == known + 1
    hearer.receive(Subscribe(1, 2, [(1, topic("own")), (2, topic("new"))], []), 7)
    assert got(hearer.by_peer[7]) == ["topic own", "topic t0", "topic t12"] and hearer.by_peer[7].overflow == 1


def test_a_table_that_would_fit_in_total_is_asked_for_with_an_eighth_to_spare() -> None:
    hearer, link = crowded()
    hearer.tidy()
    assert link.received_version == 1, "18 of 16, with the one beyond, and with everything"
    hearer.receive(Subscribe(1, 2, [], [0, 1, 2]), 5)
    for _ in range(IDLE_HEARTBEATS + 2):
        hearer.tidy()
        assert link.received_version == 1, "15 of 16"
    hearer.receive(Subscribe(2, 3, [], [3]), 5)
    hearer.tidy()
    assert link.received_version == 1, "what nobody wants is known for a while"
    for _ in range(IDLE_HEARTBEATS):
        hearer.tidy()
    assert link.received_version == 0, "14 of 16"
    hearer.receive(Subscribe(0, 2, named(*range(12, 17)), []), 6)
    hearer.tidy()
    assert not link.gets_everything and (len(link.wanted), link.received_version) == (5, 2)


def test_a_neighbour_that_is_dropped_wants_nothing_any_more() -> None:
    hearer, _, _ = overflown()
    hearer.advertise_all(removals=False)
    assert set(hearer.filters.sources) == {5, 6}
    hearer.drop(5)
    assert worth_telling(hearer.filters, 6) == [] and 5 not in hearer.filters.sources


# -------------------------------------------------------------------------------------------------------------- limits


def test_only_so_many_frames_wait_for_the_one_they_build_on() -> None:
    hearer, _ = links(1024, 5)
    for n in range(MAX_EARLY + 5):
        assert not hearer.receive(Subscribe(n + 10, n + 11, [], []), 5)
    assert len(hearer.by_peer[5].early) == MAX_EARLY
    hearer.tidy()
    assert hearer.by_peer[5].early == {}


def test_however_many_neighbours_want_much_only_so_many_filters_are_known() -> None:
    hearer, _ = links(10, *range(MAX_LINKS))
    assert hearer.filters.room == MAX_FILTERS
    hearer.filters.room = 99
    for peer in range(MAX_LINKS):
        hearer.receive(Subscribe(0, 1, named(*range(10 * peer, 10 * peer + 10)), []), peer)
    assert len(hearer.filters.order) == 99 + 1, "and everything"


def test_only_so_many_neighbours_are_taken() -> None:
    host = ScriptHost(9)
    taken = TreeLinks(host, 5, True)
    assert [taken.add(n) for n in range(MAX_LINKS + 2)] == [True] * MAX_LINKS + [False, False]
    assert not taken.add(0)
    taken.clear()
    assert taken.by_peer == {} and taken.add(0)


def test_nothing_is_told_where_messages_travel() -> None:
    host = ScriptHost(9)
    silent = TreeLinks(host, 5, False)
    silent.add(5)
    assert not silent.receive(Subscribe(0, 1, named(1), []), 5)
    silent.advertise_all(removals=True)
    assert host.sent == [] and silent.memory() == (0, 0)
