"""The filters of tree neighbours: two ends of a link, and tables that overflow."""

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
from tests.protocols.subtree.test_filter_table import Plain, to_advertise

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
def test_the_other_end_always_knows_which_filters_are_wanted(
    steps: list[tuple[str, Any, Any]], room: int, total: int
) -> None:
    """After a heartbeat it knows exactly these, or wants everything if there is no room. Before, it may know more,
    never less."""
    advertiser, host = links(1024, 5)
    receiver, _ = links(room, 9)
    receiver.filters.room = total
    plain, heard = Plain(), 0
    link = receiver.by_peer[9]
    for what, a, b in steps:
        if what == "want":
            advertiser.filters.add(b, advertiser.filters.sets_of(a))
            plain.wants.append((a, b))
            continue
        if what == "unwant":
            if a < len(plain.wants):
                source, filter = plain.wants.pop(a)
                advertiser.filters.remove(filter, advertiser.filters.sets_of(source))
            continue
        if what == "again":
            advertiser.by_peer[5].from_scratch = True
            continue
        if what == "beat":
            receiver.tidy()
            advertiser.acknowledge(advertiser.by_peer[5], link.received_version, host.clock_us)
            advertiser.tidy()
        advertiser.advertise_all(removals=what == "beat")
        for frame in subscribes(host)[heard:]:
            assert receiver.receive(frame, 9)
        heard = len(subscribes(host))
        host.clock_us += 1
        if what == "beat":
            receiver.tidy()
        wanted = plain.to_advertise(5)
        if what == "beat" and not link.gets_everything:
            assert got(link) == wanted and link.overflow == 0
        if what == "beat":
            assert sorted(advertiser.by_peer[5].advertised) == wanted
        if what == "beat" and len(wanted) > min(room, total):
            assert link.gets_everything
        check_nothing_is_missed(receiver, link, [filter for source, filter in plain.wants])


def check_nothing_is_missed(receiver: TreeLinks, link: TreeLink, wants: list[Filter]) -> None:
    for value in range(10):
        for name in ("a", "a.b", "c"):
            event = Event(1, name, {"v": value})
            if any(filter.matches(event) for filter in wants):
                assert receiver.reason_to_send(link, event) in (WANTED, NOT_ADVERTISED)
                advertised = to_advertise(receiver.filters, 77)
                assert any(known.filter.matches(event) for known in advertised) or link.received_version == 0


def test_many_changes_take_several_frames_each_building_on_the_one_before() -> None:
    advertiser, host = links(1024, 5)
    filters = [topic(f"t{n}") for n in range(REMOVED_PER_FRAME + 1)]
    for filter in filters:
        advertiser.filters.add(filter, advertiser.filters.sets_of(OWN))
    advertiser.advertise_all(removals=False)
    frames = subscribes(host)
    assert [len(frame.added) for frame in frames] == [PER_FRAME] * (REMOVED_PER_FRAME // PER_FRAME) + [1]
    assert [(frame.base, frame.version) for frame in frames] == [(n, n + 1) for n in range(len(frames))]
    host.sent.clear()
    for filter in filters[::-1]:
        advertiser.filters.remove(filter, advertiser.filters.sets_of(OWN))
    advertiser.filters.add(topic("new"), advertiser.filters.sets_of(OWN))
    advertiser.advertise_all(removals=True)
    assert [(len(frame.added), len(frame.removed)) for frame in subscribes(host)] == [(1, REMOVED_PER_FRAME), (0, 1)]
    assert [n for frame in subscribes(host) for n in frame.removed] == list(range(REMOVED_PER_FRAME + 1))


def test_removals_are_in_the_order_of_the_advertisement_whatever_the_shared_table_knew_before() -> None:
    owner, filters = object(), [topic(f"t{n}") for n in range(9)]
    other, _ = links(1024, 5, owner=owner)
    for filter in reversed(filters):
        other.filters.add(filter, other.filters.sets_of(OWN))
    advertiser, host = links(1024, 5, owner=owner)
    for filter in filters:
        advertiser.filters.add(filter, advertiser.filters.sets_of(OWN))
    advertiser.advertise_all(removals=True)
    for filter in filters:
        advertiser.filters.remove(filter, advertiser.filters.sets_of(OWN))
    advertiser.advertise_all(removals=True)
    assert [filter for _, filter in subscribes(host)[0].added] == filters
    assert subscribes(host)[1].removed == list(range(9))


def test_filters_are_advertised_in_the_order_they_became_known() -> None:
    advertiser, host = links(1024, 5)
    for name in ("a", "a.1", "a.2", "b"):
        advertiser.filters.add(topic(name), advertiser.filters.sets_of(6))
    advertiser.advertise_all(removals=False)
    advertiser.filters.add(topic("c"), advertiser.filters.sets_of(6))
    advertiser.filters.remove(topic("a"), advertiser.filters.sets_of(6))
    advertiser.advertise_all(removals=False)
    advertised = [[str(filter) for _, filter in frame.added] for frame in subscribes(host)]
    assert advertised == [["topic a", "topic b"], ["topic a.1", "topic a.2", "topic c"]]


def test_an_empty_advertisement_is_sent_once() -> None:
    advertiser, host = links(1024, 5)
    for _ in range(3):
        advertiser.advertise_all(removals=True)
    assert [frame.fields() for frame in subscribes(host)] == [[0, 1, [], []]]


# ------------------------------------------------------------------------------------------------------------ overflow


def named(*numbers: int) -> list[tuple[int, Filter]]:
    return [(n, topic(f"t{n}")) for n in numbers]


def overflown(room: int = 4) -> tuple[TreeLinks, TreeLink, ScriptHost]:
    receiver, host = links(room, 5, 6)
    receiver.receive(Subscribe(0, 1, named(*range(room)), []), 5)
    assert not receiver.by_peer[5].gets_everything
    receiver.receive(Subscribe(1, 2, named(room), []), 5)
    return receiver, receiver.by_peer[5], host


def test_an_overflow_makes_a_neighbour_want_everything_here_and_beyond() -> None:
    receiver, link, host = overflown()
    assert receiver.reason_to_send(link, Event(1, "whatever")) == WANTED
    assert [known.filter for known in to_advertise(receiver.filters, 6)] == [EVERYTHING]
    assert receiver.memory() == (5, 4 * len("topic t1") + len(EVERYTHING.text))
    receiver.receive(Subscribe(2, 3, named(5), []), 5)
    assert host.labels("note") == ["overflow"] and (len(link.wanted), link.overflow) == (4, 2)


@pytest.mark.parametrize("removed", [0, 3, 4])
def test_after_any_removal_the_other_filters_are_still_served(removed: int) -> None:
    receiver, link, _ = overflown()
    receiver.receive(Subscribe(2, 3, [], [removed]), 5)
    for _ in range(3):
        receiver.tidy()
        for n in range(5):
            assert n == removed or receiver.reason_to_send(link, Event(1, f"t{n}")) in (WANTED, NOT_ADVERTISED)


def test_when_the_overflow_is_gone_the_table_is_exact_after_the_next_heartbeat() -> None:
    receiver, link, _ = overflown()
    receiver.receive(Subscribe(2, 3, [], [4]), 5)
    receiver.tidy()
    assert not link.gets_everything and link.received_version == 3
    assert (
        receiver.reason_to_send(link, Event(1, "t4")) == 0 and receiver.reason_to_send(link, Event(1, "t3")) == WANTED
    )
    assert len(to_advertise(receiver.filters, 6)) == 4


def test_a_table_is_requested_again_when_it_fits_with_an_eighth_to_spare() -> None:
    receiver, link, _ = overflown(room=16)
    receiver.receive(Subscribe(2, 3, [], [0, 1]), 5)
    receiver.tidy()
    assert link.received_version == 3, "15 of 16"
    receiver.receive(Subscribe(3, 4, [], [2]), 5)
    receiver.tidy()
    assert link.received_version == 0, "14 of 16"
    assert link.gets_everything
    receiver.receive(Subscribe(0, 5, named(*range(3, 17)), []), 5)
    assert link.gets_everything, "more filters may be on their way"
    receiver.tidy()
    assert not link.gets_everything and got(link) == sorted(f"topic t{n}" for n in range(3, 17))


def test_a_full_table_that_overflows_again_leaves_no_gap() -> None:
    receiver, link, host = overflown()
    receiver.receive(Subscribe(0, 3, named(0, 1), []), 5)
    assert receiver.reason_to_send(link, Event(1, "t4")) == WANTED
    receiver.receive(Subscribe(3, 4, named(2, 3, 4), []), 5)
    receiver.tidy()
    assert receiver.reason_to_send(link, Event(1, "t4")) == WANTED and link.overflow == 1
    assert host.labels("note") == ["overflow"]


def test_a_filter_with_two_numbers_has_one_after_everything_is_advertised_again() -> None:
    receiver, _ = links(1024, 5, 6)
    receiver.receive(Subscribe(0, 1, [(0, topic("a")), (1, topic("a"))], []), 5)
    receiver.receive(Subscribe(0, 2, [(0, topic("a"))], []), 5)
    receiver.receive(Subscribe(2, 3, [], [0]), 5)
    assert to_advertise(receiver.filters, 6) == [] and receiver.by_peer[5].wanted == {}


# ---- in total


def crowded() -> tuple[TreeLinks, TreeLink]:
    """There is room for 16 filters. One neighbour wants 12, and another one wants five others."""
    receiver, _ = links(1024, 5, 6, 7)
    receiver.filters.room = 16
    receiver.receive(Subscribe(0, 1, named(*range(12)), []), 5)
    receiver.receive(Subscribe(0, 1, named(*range(12, 17)), []), 6)
    return receiver, receiver.by_peer[6]


def test_without_room_in_total_the_neighbour_that_comes_last_overflows() -> None:
    receiver, link = crowded()
    assert (len(link.wanted), link.overflow, link.gets_everything) == (4, 1, True)
    assert not receiver.by_peer[5].gets_everything
    assert receiver.reason_to_send(link, Event(1, "t16")) == WANTED
    assert [known.filter for known in to_advertise(receiver.filters, 7)] == [EVERYTHING]


def test_a_known_filter_needs_no_room_and_the_application_always_has_room() -> None:
    receiver, _ = crowded()
    receiver.receive(Subscribe(0, 1, named(0, 12), []), 7)
    assert got(receiver.by_peer[7]) == ["topic t0", "topic t12"] and not receiver.by_peer[7].gets_everything
    known = len(receiver.filters.order)
    receiver.filters.add(topic("own"), receiver.filters.sets_of(OWN))
    assert len(receiver.filters.order) == known + 1
    receiver.receive(Subscribe(1, 2, [(1, topic("own")), (2, topic("new"))], []), 7)
    assert got(receiver.by_peer[7]) == ["topic own", "topic t0", "topic t12"] and receiver.by_peer[7].overflow == 1


def test_a_table_is_requested_again_when_it_fits_in_total_with_an_eighth_to_spare() -> None:
    receiver, link = crowded()
    receiver.tidy()
    assert link.received_version == 1, "18 of 16: the filter without room and EVERYTHING count, too"
    receiver.receive(Subscribe(1, 2, [], [0, 1, 2]), 5)
    for _ in range(IDLE_HEARTBEATS + 2):
        receiver.tidy()
        assert link.received_version == 1, "15 of 16"
    receiver.receive(Subscribe(2, 3, [], [3]), 5)
    receiver.tidy()
    assert link.received_version == 1, "an unwanted filter is known for a while"
    for _ in range(IDLE_HEARTBEATS):
        receiver.tidy()
    assert link.received_version == 0, "14 of 16"
    receiver.receive(Subscribe(0, 2, named(*range(12, 17)), []), 6)
    receiver.tidy()
    assert not link.gets_everything and (len(link.wanted), link.received_version) == (5, 2)


def test_a_neighbour_that_is_dropped_wants_nothing_any_more() -> None:
    receiver, _, _ = overflown()
    receiver.advertise_all(removals=False)
    assert set(receiver.filters.sources) == {5, 6}
    receiver.drop(5)
    assert to_advertise(receiver.filters, 6) == [] and 5 not in receiver.filters.sources


# -------------------------------------------------------------------------------------------------------------- limits


def test_a_limited_number_of_frames_wait_for_the_one_they_build_on() -> None:
    receiver, _ = links(1024, 5)
    for n in range(MAX_EARLY + 5):
        assert not receiver.receive(Subscribe(n + 10, n + 11, [], []), 5)
    assert len(receiver.by_peer[5].early) == MAX_EARLY
    receiver.tidy()
    assert receiver.by_peer[5].early == {}


def test_the_number_of_known_filters_is_limited_however_many_neighbours_there_are() -> None:
    receiver, _ = links(10, *range(MAX_LINKS))
    assert receiver.filters.room == MAX_FILTERS
    receiver.filters.room = 99
    for peer in range(MAX_LINKS):
        receiver.receive(Subscribe(0, 1, named(*range(10 * peer, 10 * peer + 10)), []), peer)
    assert len(receiver.filters.order) == 99 + 1, "and EVERYTHING"


def test_the_number_of_tree_neighbours_is_limited() -> None:
    host = ScriptHost(9)
    taken = TreeLinks(host, 5, True)
    assert [taken.add(n) for n in range(MAX_LINKS + 2)] == [True] * MAX_LINKS + [False, False]
    assert not taken.add(0)
    taken.clear()
    assert taken.by_peer == {} and taken.add(0)


def test_no_filters_are_advertised_in_message_mode() -> None:
    host = ScriptHost(9)
    silent = TreeLinks(host, 5, False)
    silent.add(5)
    assert not silent.receive(Subscribe(0, 1, named(1), []), 5)
    silent.advertise_all(removals=True)
    assert host.sent == [] and silent.memory() == (0, 0)
