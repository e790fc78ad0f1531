"""The neighbourhood table against a twin that goes through all neighbours and events every time."""

from __future__ import annotations

import gc
import weakref
from math import nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.frugal.event_table import COLLECTED, EventTable, StoredEvent
from roamcast.protocols.frugal.frames import Events, EventsIds, Heartbeat, ids_frame_bytes, table_id
from roamcast.protocols.frugal.neighbors import NeighborhoodTable, matches_any, share_topics
from roamcast.protocols.frugal.protocol import DELAYED, Frugal
from roamcast.protocols.kit.interface import Frame
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import EVERYTHING, Filter, attr, topic
from roamcast.testing import ScriptHost
from tests.protocols.frugal.nodes import ids_of

NEWS = topic("news")
SECOND = 1_000_000


def news(k: int) -> Event:
    return Event(event_id(9, k), "news")


# ------------------------------------------------------------------------------------------------------ lists of ids


@given(st.integers(0, (1 << 63) - 1))
def test_the_inverse_of_a_table_id_is_the_id_and_both_have_the_same_size(id: int) -> None:
    assert table_id(table_id(id)) == id
    assert EventsIds([table_id(id)]).fields() == [[id]]
    assert EventsIds([table_id(id)]).size == EventsIds([id]).size


def test_table_ids_of_many_publishers_or_many_events_of_one_have_different_last_bits() -> None:
    for ids in ([event_id(k, 1) for k in range(512)], [event_id(7, k) for k in range(512)]):
        assert len({hash(table_id(id)) % 512 for id in ids}) == 512


@given(st.lists(st.integers(1, 20), unique=True), st.lists(st.integers(1, 20), unique=True))
def test_lists_are_compared_in_any_order(earlier: list[int], later: list[int]) -> None:
    one, two = EventsIds(earlier), EventsIds(later)
    for _ in range(2):
        assert two.added(one) == [id for id in later if id not in earlier]
        assert one.added(two) == [id for id in earlier if id not in later]


def test_of_lists_with_the_same_objects_only_the_parts_that_differ_are_compared() -> None:
    ids = [event_id(9, k) for k in range(1, 9)]
    before = EventsIds(ids[:6])
    after = EventsIds([*ids[:2], *ids[3:]])
    assert after.added(before) == ids[6:]
    again = EventsIds([*after.ids, ids[2]])
    assert again.added(after) == [ids[2]]
    assert again.added(before) == ids[6:]


class Mark:
    """Stands for an id, and can be watched."""


def test_a_list_keeps_only_the_one_it_was_compared_with() -> None:
    marks: list[weakref.ref[Mark]] = []
    last = EventsIds([], 1)
    for _ in range(6):
        mark = Mark()
        marks.append(weakref.ref(mark))
        later = EventsIds([mark], 1)
        assert later.added(last) == later.added(last) == [mark]
        last = later
    del mark, later
    gc.collect()
    assert [mark() is not None for mark in marks] == [False] * 4 + [True] * 2


@given(st.lists(st.integers(1, 9)), st.lists(st.integers(1, 9)))
def test_no_new_id_is_missed_in_lists_with_repeated_ids(earlier: list[int], later: list[int]) -> None:
    assert {*later} - {*earlier} <= {*EventsIds(later).added(EventsIds(earlier))} <= {*later}


# ------------------------------------------------------------------------------------------------------- needed events

FILTERS: list[Filter] = [topic("a"), topic("a.b"), topic("d"), EVERYTHING, attr("v") > 3, attr("v") < 2]
EVENTS = [
    Event(
        event_id(9, k),
        ("a", "a.b", "a.b.c", "d")[k % 4],
        {"v": k % 6},
        validity_us=(FOREVER, SECOND, 3 * SECOND, SECOND // 5)[k // 4 % 4],
    )
    for k in range(1, 25)
]

nodes = st.integers(1, 5)
some = st.lists(st.sampled_from(EVENTS), max_size=12)
asked = st.lists(st.sampled_from(FILTERS), min_size=1, max_size=2)
heard = st.one_of(
    st.tuples(st.just("heartbeat"), nodes, asked, st.sampled_from([nan, 0.0, 3.0, 20.0])),
    st.tuples(st.just("heartbeat"), nodes, st.just(FILTERS[:1]), st.just(3.0)),
    st.tuples(st.just("ids"), nodes, some),
    st.tuples(st.just("events"), nodes, st.lists(st.sampled_from(EVENTS), min_size=1, max_size=6), st.lists(nodes)),
)
done = st.one_of(
    st.tuples(st.just("publish"), st.sampled_from(EVENTS)),
    st.tuples(st.just("subscribe"), st.integers(0, 2), st.sampled_from(FILTERS)),
    st.tuples(st.just("unsubscribe"), st.integers(0, 2)),
    st.tuples(st.just("wait"), st.sampled_from([1, 50, 400, 900, 3000])),
    st.tuples(st.just("wait"), st.sampled_from([1, 50, 400])),
    st.tuples(st.just("restart")),
)


class Twin(ScriptHost):
    """A host that knows what each neighbour subscribes to and has, and computes what it needs as in Fig. 7."""

    def __init__(self, **params: Any) -> None:
        super().__init__(0)
        self.frugal = Frugal(self, Frugal.params_class(**params))
        self.limit = self.frugal.params.ids_limit
        self.subscriptions_of: dict[int, list[Filter]] = {}
        self.last: dict[int, list[int]] = {}  # the neighbours, and the list that each sent last
        self.listed: dict[int, None] = {}  # the neighbours whose list is about the present topics
        self.holders: dict[int, set[int]] = {}  # event -> its holders, in the order events were first mentioned
        self.published = 0
        self.explains = True

    def needed(self) -> dict[int, int]:
        needed: dict[int, int] = {}
        for j in self.frugal.neighborhood_table.rows:
            shares = share_topics(self.frugal.topics, self.subscriptions_of[j])
            unknown = shares and self.frugal.params.need == "listed" and j not in self.listed
            for row in self.frugal.events_table.rows:
                id = row.event.id
                if j in self.holders.get(id, ()) or self.clock_us >= row.expiry_us or id in needed:
                    continue
                if (shares or row.own) and not unknown and matches_any(self.subscriptions_of[j], row.event):
                    needed[id] = j
        return needed

    def mention(self, id: int, holders: set[int]) -> None:
        known = self.frugal.events_table.known
        if holders:
            self.holders.setdefault(id, set()).update(holders)
            elsewhere = [other for other in self.holders if table_id(other) not in known]
            if id in elsewhere and len(elsewhere) > self.limit:
                del self.holders[elsewhere[0]]

    def wanting(self, neighbors: list[int], event: Event) -> set[int]:
        return {j for j in neighbors if j in self.last and matches_any(self.subscriptions_of[j], event)}

    def record_list(self, j: int, ids: list[int]) -> None:
        """An id that the last list had, too, is not mentioned again, even if it was forgotten since."""
        for id in EventsIds(ids).added(EventsIds(self.last[j])):
            self.mention(id, {j})
        self.last[j] = ids
        self.listed[j] = None

    def forget(self) -> None:
        """Forget neighbours that have left, and holders of events that were collected."""
        table = self.frugal.events_table
        for j in list(self.last):
            if j not in self.frugal.neighborhood_table.rows:
                del self.last[j]
                self.listed.pop(j, None)
        for id, holders in list(self.holders.items()):
            holders &= {*self.last}
            if not holders or (table.known.get(table_id(id)) is COLLECTED):
                del self.holders[id]

    # ---- effects of the protocol

    def broadcast(self, frame: Frame) -> None:
        self.forget()
        if isinstance(frame, Events):
            for event in frame.carried:
                holders = self.wanting(list(self.last), event)
                if holders:
                    self.holders.setdefault(event.id, set()).update(holders)
        super().broadcast(frame)

    def note(self, reason: int, event: int = 0, peer: int = -1, value: int = 0) -> None:
        if reason == DELAYED and self.explains:
            assert (event, peer) == next(iter(self.needed().items()))
        super().note(reason, event, peer, value)

    # ---- inputs of the protocol

    def do(self, what: str, *more: Any) -> None:
        getattr(self, f"do_{what}")(*more)
        self.frugal.expire_events()
        self.forget()

    def do_heartbeat(self, j: int, subscriptions: list[Filter], speed_mps: float) -> None:
        early = self.frugal.early_ids.get(j)
        self.subscriptions_of[j] = subscriptions
        self.explains = False
        self.frugal.on_frame(Heartbeat(list(subscriptions), speed_mps), j)
        self.explains = True
        if j in self.frugal.neighborhood_table.rows:
            self.last.setdefault(j, [])
            if early is not None and j not in self.frugal.early_ids:
                self.record_list(j, early[1].fields()[0])

    def do_ids(self, j: int, events: list[Event]) -> None:
        if j in self.last:
            self.record_list(j, [event.id for event in events])
        self.frugal.on_frame(EventsIds([table_id(event.id) for event in events]), j)

    def do_events(self, j: int, events: list[Event], named: list[int]) -> None:
        taken: dict[int, set[int]] = {}
        for event in events:
            holders = self.wanting(named, event) | ({j} & {*self.last})
            if event.id in taken:
                taken[event.id] |= holders
                continue
            self.mention(event.id, holders)
            if table_id(event.id) not in self.frugal.events_table.known and matches_any(self.frugal.topics, event):
                taken[event.id] = self.holders.pop(event.id, set())  # it is stored before the next one is handled
        self.holders.update(taken)
        self.frugal.on_frame(Events(events, [0] * len(events), named), j)

    def do_publish(self, like: Event) -> None:
        self.published += 1
        id = event_id(0, self.published)
        self.frugal.on_publish(Event(id, like.topic, like.attrs, validity_us=like.validity_us))

    def do_subscribe(self, subscription: int, filter: Filter) -> None:
        self.listed.clear()
        self.frugal.on_subscribe(subscription, filter)

    def do_unsubscribe(self, subscription: int) -> None:
        self.listed.clear()
        self.frugal.on_unsubscribe(subscription)

    def do_wait(self, ms: int) -> None:
        self.advance(self.frugal, self.clock_us + 1000 * ms)

    def do_restart(self) -> None:
        self.timers.clear()
        self.frugal.on_start()


@settings(max_examples=250, deadline=None)
@given(
    st.lists(heard | heard | done, max_size=50),
    st.sampled_from(["new", "heartbeat"]),
    st.sampled_from([(3, 3), (3, 5), (8, 12), (100, 512)]),
    st.sampled_from([2, 256]),
    st.sampled_from(["presumed", "listed"]),
)
def test_needed_events_are_those_that_a_search_through_all_finds(
    steps: list[Any], ids_on: str, sizes: tuple[int, int], neighbors_limit: int, need: str
) -> None:
    limits = {"events_table_size": sizes[0], "ids_limit": sizes[1], "neighbors_limit": neighbors_limit}
    twin = Twin(ids_on=ids_on, need=need, **limits)
    frugal, table = twin.frugal, twin.frugal.neighborhood_table
    frugal.on_start()
    twin.do("subscribe", 0, FILTERS[0])
    for step in steps:
        twin.do(*step)
        needed = twin.needed()
        held = frugal.events_table.rows
        assert in_need(table) == list(needed.items())
        assert [row.event.id for row in table.needed] == [row.event.id for row in held if row.event.id in needed]
        for row in held:
            assert {*table.named(row.wanting)} == {
                j for j in twin.last if matches_any(twin.subscriptions_of[j], row.event)
            }
        assert {j: sorted(ids_of(table, neighbor)) for j, neighbor in table.rows.items()} == {
            j: sorted(id for id, holders in twin.holders.items() if j in holders) for j in twin.last
        }
        assert table.presumed == sum(len(holders) for holders in twin.holders.values())
        for j, neighbor in table.rows.items():
            assert neighbor.subscription_set.shares == share_topics(frugal.topics, twin.subscriptions_of[j])
        for subscription_set in table.subscription_sets.values():
            assert subscription_set.ids == [
                row.id for row in held if not row.expired and subscription_set.wants(row.event)
            ]
            assert (
                ids_frame_bytes(len(subscription_set.ids), subscription_set.ids_bytes)
                == EventsIds(subscription_set.ids).size
            )
            assert table.named(subscription_set.bits) == [
                j for j, row in table.rows.items() if row.subscription_set is subscription_set
            ]
        assert table.awaited == [row for row in table.awaited if row.awaited]
        if frugal.backing_off and not table.fresh:
            assert set(needed) <= {row.event.id for row in table.awaited}


def in_need(table: NeighborhoodTable) -> list[tuple[int, int]]:
    return [(row.event.id, j) for row, j in table.in_need()]


def awaited(table: NeighborhoodTable) -> list[int]:
    """The awaited ids after all needed rows have become awaited."""
    table.await_needed()
    return [row.event.id for row in table.awaited]


def table_of(*subscriptions: Filter) -> NeighborhoodTable:
    """The table of a node that subscribes to everything, with neighbours 1, 2, …"""
    table = NeighborhoodTable(8, 8, EventTable(8, 100))
    table.share_again([EVERYTHING])
    for j, filter in enumerate(subscriptions, 1):
        table.join(j, table.set_for([filter]))
    return table


def store(table: NeighborhoodTable, event: Event, own: bool = False) -> StoredEvent:
    row = StoredEvent(event, FOREVER, own)
    table.events.add(row)
    table.stored(row)
    return row


def test_needed_events_are_awaited_once_ordered_by_neighbor_and_then_by_event() -> None:
    """Neighbour 1 lacks the third event, neighbour 2 all of them."""
    table = table_of(topic("news.now"), NEWS)
    for k in (1, 2):
        store(table, news(k))
    store(table, Event(event_id(9, 3), "news.now"))
    ids = [event_id(9, k) for k in (3, 1, 2)]
    assert in_need(table) == list(zip(ids, (1, 2, 2), strict=True))
    assert table.first_in_need() == (ids[0], 1)
    assert (awaited(table), awaited(table)) == (ids, ids)
    store(table, Event(event_id(9, 4), "news.now"))
    assert awaited(table) == [*ids, news(4).id]
    table.await_nothing()
    assert table.awaited == []
    assert awaited(table) == [ids[0], news(4).id, *ids[1:]]


def test_an_event_that_is_no_longer_needed_is_not_awaited() -> None:
    table = table_of(NEWS)
    store(table, news(1))
    table.record_list(table.rows[1], EventsIds([table_id(news(1).id)]))
    assert (awaited(table), table.needed) == ([], [])


def test_a_neighbor_that_no_longer_shares_topics_needs_nothing_and_its_bit_is_reset() -> None:
    table = table_of(topic("sport"))
    table.share_again([topic("sport")])
    store(table, news(1))
    table.change_set(table.rows[1], table.set_for([NEWS]))
    assert in_need(table) == []
    table.change_set(table.rows[1], table.set_for([topic("sport")]))
    table.leave(1)
    table.join(5, table.set_for([NEWS]))
    assert (in_need(table), table.sharing) == ([], 0)


def test_needed_events_change_with_the_topics_of_this_node() -> None:
    table = table_of(NEWS)
    store(table, news(1))
    table.share_again([topic("sport")])
    assert in_need(table) == []
    table.share_again([NEWS])
    assert in_need(table) == [(news(1).id, 1)]


def test_neighbors_that_share_no_topic_can_need_an_own_event() -> None:
    table = table_of(NEWS)
    table.share_again([topic("sport")])
    store(table, news(1), own=True)
    store(table, news(2))
    assert in_need(table) == [(news(1).id, 1)]
    table.record_list(table.rows[1], EventsIds([table_id(news(1).id)]))
    assert in_need(table) == []


def test_an_event_that_a_neighbor_has_is_not_needed_when_it_subscribes_later() -> None:
    table = table_of(topic("sport"), NEWS)
    store(table, news(1))
    table.record_list(table.rows[1], EventsIds([table_id(news(1).id)]))
    table.change_set(table.rows[1], table.set_for([NEWS]))
    assert in_need(table) == [(news(1).id, 2)]


def test_holders_of_an_id_that_was_listed_before_its_publication_are_kept() -> None:
    """Neighbours 1 and 3 listed it, and 1 and 2 are presumed to have it when it is sent and then stored."""
    table = table_of(NEWS, NEWS, topic("news.now"))
    for j in (1, 3):
        table.record_list(table.rows[j], EventsIds([table_id(news(1).id)]))
    row = StoredEvent(news(1), FOREVER, own=True)
    row.wanting = table.interested(row.event)
    assert table.presume_sent([row]) == [1, 2]
    table.events.add(row)
    table.stored(row)
    assert [ids_of(table, table.rows[j]) for j in (1, 2, 3)] == 3 * [[news(1).id]]
    assert (table.presumed, table.unknown_holders) == (3, {})


def test_only_the_new_ids_of_a_list_are_recorded() -> None:
    table = table_of(NEWS)
    table.record_list(table.rows[1], EventsIds(list(range(1, 11))))
    assert ids_of(table, table.rows[1]) == list(range(3, 11))
    table.record_list(table.rows[1], EventsIds([11, *range(1, 11)]))
    assert ids_of(table, table.rows[1]) == list(range(4, 12))


def test_a_new_neighbor_does_not_inherit_the_events_of_one_that_has_left() -> None:
    """Although it gets its bit; and the bits of two more neighbours are not mixed up."""
    table = table_of(NEWS, NEWS, NEWS)
    for k in (1, 2):
        store(table, news(k))
    for j in (1, 2, 3):
        table.record_list(table.rows[j], EventsIds([table_id(news(1).id), table_id(news(2).id), 77, 70 + j]))
    table.leave(2)
    for j in (4, 5):
        table.join(j, table.set_for([NEWS]))
    assert in_need(table) == [(news(1).id, 4), (news(2).id, 4)]
    assert [len(ids_of(table, table.rows[j])) for j in (1, 3, 4, 5)] == [4, 4, 0, 0]
    assert sorted(neighbor.bit for neighbor in table.rows.values()) == [1, 2, 4, 8]
    assert (table.presumed, list(table.unknown_holders)) == (8, [77, 71, 73])


def test_neighbors_with_the_same_subscriptions_share_one_set() -> None:
    table = table_of(NEWS, topic("news"), EVERYTHING)
    assert table.rows[1].subscription_set is table.rows[2].subscription_set
    assert len(table.subscription_sets) == 2
    table.leave(1)
    table.leave(2)
    assert [subscription_set.subscriptions for subscription_set in table.subscription_sets.values()] == [[EVERYTHING]]


def test_a_new_list_is_made_only_when_the_events_have_changed() -> None:
    frugal = Twin(jitter_ms=0.0).frugal
    frugal.on_subscribe(1, NEWS)
    host: Any = frugal.host
    for k in (1, 1, 2):
        host.do("events", 7, [news(k)], [])
        host.do("heartbeat", 4, [NEWS], nan)
        host.do("wait", 1)
    host.do("events", 7, [Event(news(3).id, "news", validity_us=2000)], [])
    for _ in range(2):
        host.do("heartbeat", 4, [NEWS], nan)
        host.do("wait", 1)
    lists = [frame.fields()[0] for frame in host.frames("ids")]
    assert host.frames("ids")[0] is host.frames("ids")[1]
    assert lists == [[news(k).id for k in held] for held in ((1,), (1,), (1, 2), (1, 2, 3), (1, 2, 3))]
    host.do("heartbeat", 4, [NEWS], nan)
    host.do("wait", 1)
    assert host.frames("ids")[-1].fields() == [[news(1).id, news(2).id]]


@pytest.mark.parametrize("published", [False, True])
def test_an_irrelevant_node_is_checked_again_after_a_publication(published: bool) -> None:
    frugal = Frugal(ScriptHost(0), Frugal.params_class())
    frugal.on_subscribe(1, NEWS)
    sport: list[Filter] = [topic("sport")]
    frugal.on_frame(Heartbeat(sport, nan), 4)
    assert frugal.neighborhood_table.is_known_irrelevant(4, [topic("sport")])
    assert not frugal.neighborhood_table.is_known_irrelevant(4, [NEWS])
    if published:
        frugal.on_publish(Event(event_id(0, 1), "sport"))
    frugal.on_frame(Heartbeat(sport, nan), 4)
    assert list(frugal.neighborhood_table.rows) == ([4] if published else [])


def test_an_irrelevant_node_is_checked_again_after_a_subscription() -> None:
    frugal = Frugal(ScriptHost(0), Frugal.params_class())
    frugal.on_subscribe(1, NEWS)
    frugal.on_frame(Heartbeat([topic("sport")], nan), 4)
    frugal.on_subscribe(2, topic("sport"))
    frugal.on_frame(Heartbeat([topic("sport")], nan), 4)
    assert list(frugal.neighborhood_table.rows) == [4]


def test_the_limit_of_neighbors_is_also_that_of_irrelevant_nodes() -> None:
    table = table_of()
    for j in range(20):
        table.remember_irrelevant(j, [NEWS])
    assert list(table.irrelevant) == list(range(12, 20))


def test_the_average_speed_follows_joining_and_leaving_neighbors() -> None:
    table = table_of(NEWS, NEWS, NEWS)
    for j, speed_mps in ((1, 2.0), (2, 4.0)):
        table.set_speed(table.rows[j], speed_mps)
    assert table.average_speed() == 3.0
    table.set_speed(table.rows[2], 8.0)
    assert table.average_speed() == 5.0
    table.set_speed(table.rows[2], nan)
    assert table.average_speed() == 2.0
    table.leave(1)
    assert not table.average_speed() >= 0.0
