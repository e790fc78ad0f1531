"""The neighbourhood table beside a twin that keeps nothing up to date: it goes through everything every time."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.event_table import EventTable, StoredEvent
from roamcast.protocols.frugal import DELAYED, Frugal
from roamcast.protocols.frugal_frames import Events, EventsIds, Heartbeat, each_once
from roamcast.protocols.frugal_neighbors import NeighborhoodTable, Presumed, matches_any, share_topics
from roamcast.protocols.interface import Frame
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import EVERYTHING, Filter, attr, topic
from tests.support.host import ScriptHost

NEWS = topic("news")
SECOND = 1_000_000


def news(k: int) -> Event:
    return Event(event_id(9, k), "news")


# ---------------------------------------------------------------------------------------------- what a neighbour has


def recall(has: dict[int, None], ids: list[int], limit: int) -> None:
    """The twin of `Presumed`: one id after the other."""
    for id in ids:
        has.pop(id, None)
        has[id] = None
        if len(has) > limit:
            del has[next(iter(has))]


lists = st.lists(st.integers(1, 30), max_size=14)
"""Some repeat themselves, and some are longer than the limit."""
changes = st.tuples(st.lists(st.integers(0, 9), max_size=4), st.lists(st.integers(1, 30), max_size=4))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.just("ids"), lists) | st.tuples(st.just("list"), lists) | st.tuples(st.just("next"), changes)
    ),
    st.sampled_from([1, 5, 12, 40]),
)
def test_the_ids_mentioned_last_are_presumed(mentions: list[Any], limit: int) -> None:
    """`next` is a list as neighbours send them: that before without some, and some more at its end."""
    presumed, twin = Presumed(limit), dict[int, None]()
    last: list[int] = []
    for what, more in mentions:
        if what == "next":
            gone = [last[k % len(last)] for k in more[0]] if last else []
            ids = [id for id in last if id not in gone]
            ids.extend(id for id in dict.fromkeys(more[1]) if id not in ids)
        else:
            ids = more
        if what == "ids":
            presumed.mention(each_once(ids))
        else:
            last = ids
            presumed.mention_list(EventsIds(ids))
        presumed.forget()
        recall(twin, ids, limit)
        assert [id for id in range(31) if id in presumed] == sorted(twin)
        assert len(presumed) == len(twin)
        assert presumed.in_order() == list(twin)
        assert len(presumed.newer) <= limit


@settings(max_examples=100, deadline=None)
@given(lists, st.lists(st.lists(st.integers(1, 30), max_size=14), min_size=1, max_size=3))
def test_what_is_forgotten_is_told(first: list[int], more: list[list[int]]) -> None:
    presumed, twin = Presumed(6), dict[int, None]()
    for ids in [first, *more]:
        mentioned = {*twin, *ids}
        presumed.mention_list(EventsIds(ids))
        told = presumed.forget()
        recall(twin, ids, 6)
        assert sorted(told) == sorted(mentioned - set(twin))


@given(st.lists(st.integers(1, 20), unique=True), st.lists(st.integers(1, 20), unique=True))
def test_lists_are_compared_in_any_order(earlier: list[int], later: list[int]) -> None:
    one, two = EventsIds(earlier), EventsIds(later)
    for _ in range(2):
        assert two.added(one) == [id for id in later if id not in earlier]
        assert two.dropped(one) == [id for id in earlier if id not in later]
        assert (one.added(two), one.dropped(two)) == (two.dropped(one), two.added(one))


def test_lists_with_the_same_objects_are_compared_by_where_they_differ() -> None:
    ids = [event_id(9, k) for k in range(1, 9)]
    before = EventsIds(ids[:6])
    after = EventsIds([*ids[:2], *ids[3:]])
    assert (after.added(before), after.dropped(before)) == (ids[6:], [ids[2]])
    again = EventsIds([ids[2], *after.ids])
    assert (again.added(after), again.dropped(after)) == ([ids[2]], [])
    assert (again.added(before), again.dropped(before)) == (ids[6:], [])


# ------------------------------------------------------------------------------------------------------ what they need

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
    """A host that knows what each neighbour asks for and has, and finds out what they need as Fig. 7 does."""

    def __init__(self, **params: Any) -> None:
        super().__init__(0)
        self.frugal = Frugal(self, Frugal.params_class(**params))
        self.limit = self.frugal.params.ids_limit
        self.asks: dict[int, list[Filter]] = {}
        self.has: dict[int, dict[int, None]] = {}
        self.published = 0
        self.told_in_time = True

    def needed(self) -> dict[int, int]:
        needed: dict[int, int] = {}
        for j in self.frugal.neighborhood_table.rows:
            shares = share_topics(self.frugal.topics, self.asks[j])
            for id, row in self.frugal.events_table.rows.items():
                if id in self.has[j] or self.clock_us >= row.expiry_us or id in needed:
                    continue
                if (shares or row.own) and matches_any(self.asks[j], row.event):
                    needed[id] = j
        return needed

    def mention(self, j: int, events: list[Event]) -> None:
        recall(self.has[j], [event.id for event in events], self.limit)

    def presume(self, neighbors: list[int], events: list[Event]) -> None:
        for j in neighbors:
            if j in self.has:
                self.mention(j, [event for event in events if matches_any(self.asks[j], event)])

    def forget_who_left(self) -> None:
        for j in list(self.has):
            if j not in self.frugal.neighborhood_table.rows:
                del self.has[j]

    # ---- what the protocol does

    def broadcast(self, frame: Frame) -> None:
        self.forget_who_left()
        if isinstance(frame, Events):
            self.presume(list(self.frugal.neighborhood_table.rows), frame.carried)
        super().broadcast(frame)

    def note(self, reason: int, event: int = 0, peer: int = -1, value: int = 0) -> None:
        if reason == DELAYED and self.told_in_time:
            assert (event, peer) == next(iter(self.needed().items()))
        super().note(reason, event, peer, value)

    # ---- what happens to it

    def do(self, what: str, *more: Any) -> None:
        getattr(self, f"do_{what}")(*more)
        self.frugal.expire_events()
        self.forget_who_left()

    def do_heartbeat(self, j: int, subscriptions: list[Filter], speed_mps: float) -> None:
        early = self.frugal.early_ids.get(j)
        self.asks[j] = subscriptions
        self.told_in_time = False
        self.frugal.on_frame(Heartbeat(list(subscriptions), speed_mps), j)
        self.told_in_time = True
        if j in self.frugal.neighborhood_table.rows:
            self.has.setdefault(j, {})
            if early is not None and j not in self.frugal.early_ids:
                recall(self.has[j], early[1].ids, self.limit)

    def do_ids(self, j: int, events: list[Event]) -> None:
        if j in self.has:
            self.mention(j, events)
        self.frugal.on_frame(EventsIds([event.id for event in events]), j)

    def do_events(self, j: int, events: list[Event], named: list[int]) -> None:
        if j in self.has:
            self.mention(j, events)
        self.presume(named, events)
        self.frugal.on_frame(Events(events, [0] * len(events), named), j)

    def do_publish(self, like: Event) -> None:
        self.published += 1
        id = event_id(0, self.published)
        self.frugal.on_publish(Event(id, like.topic, like.attrs, validity_us=like.validity_us))

    def do_subscribe(self, subscription: int, filter: Filter) -> None:
        self.frugal.on_subscribe(subscription, filter)

    def do_unsubscribe(self, subscription: int) -> None:
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
)
def test_what_is_needed_is_what_a_look_at_everything_finds(
    steps: list[Any], ids_on: str, sizes: tuple[int, int], neighbors_limit: int
) -> None:
    twin = Twin(ids_on=ids_on, events_table_size=sizes[0], ids_limit=sizes[1], neighbors_limit=neighbors_limit)
    frugal, table = twin.frugal, twin.frugal.neighborhood_table
    frugal.on_start()
    twin.do("subscribe", 0, FILTERS[0])
    for step in steps:
        twin.do(*step)
        needed = twin.needed()
        assert list(frugal.events_to_send().items()) == list(needed.items())
        assert sorted(table.needed) == sorted(needed)
        assert {j: neighbor.events_ids.in_order() for j, neighbor in table.rows.items()} == {
            j: list(has) for j, has in twin.has.items()
        }
        for j, neighbor in table.rows.items():
            assert neighbor.interest.shares == share_topics(frugal.topics, twin.asks[j])
        assert sorted(j for interest in table.interests.values() for j in interest.members) == sorted(table.rows)
        if frugal.backing_off:
            assert set(needed) <= {*frugal.awaited, *table.fresh}


def table_of(*subscriptions: Filter, ids_limit: int = 8) -> NeighborhoodTable:
    """Neighbours 1, 2, … of a node that asks for everything."""
    table = NeighborhoodTable(8, ids_limit, EventTable(8))
    table.share_again([EVERYTHING])
    for j, filter in enumerate(subscriptions, 1):
        table.join(j, table.interest([filter]))
    return table


def store(table: NeighborhoodTable, event: Event, own: bool = False) -> StoredEvent:
    row = StoredEvent(event, FOREVER, own)
    table.events.add(row)
    table.stored(row)
    return row


def test_fresh_needs_come_once_by_neighbors_and_then_by_events() -> None:
    """Neighbour 1 lacks the third event, neighbour 2 all of them."""
    table = table_of(topic("news.now"), NEWS)
    for k in (1, 2):
        store(table, news(k))
    store(table, Event(event_id(9, 3), "news.now"))
    ids = [event_id(9, k) for k in (3, 1, 2)]
    assert list(table.in_need().items()) == list(zip(ids, (1, 2, 2), strict=True))
    assert table.first_in_need() == (ids[0], 1)
    assert (table.take_fresh(), table.take_fresh()) == (ids, [])
    store(table, news(4))
    assert table.take_fresh() == [news(4).id]
    table.all_fresh()
    assert table.take_fresh() == [*ids, news(4).id]


def test_what_is_no_longer_needed_is_not_fresh() -> None:
    table = table_of(NEWS)
    store(table, news(1))
    table.mention(table.rows[1], each_once([news(1).id]))
    assert (table.take_fresh(), table.needed) == ([], {})


def test_an_own_event_is_for_neighbors_that_share_no_topic_too() -> None:
    """It is needed again when they are no longer presumed to have it."""
    table = table_of(NEWS, ids_limit=2)
    table.share_again([topic("sport")])
    store(table, news(1), own=True)
    store(table, news(2))
    assert table.in_need() == {news(1).id: 1}
    table.mention(table.rows[1], each_once([news(1).id]))
    assert table.in_need() == {}
    table.mention(table.rows[1], each_once([77, 78]))
    assert table.in_need() == {news(1).id: 1}


def test_what_is_needed_again_takes_its_old_place() -> None:
    table = table_of(NEWS, ids_limit=2)
    store(table, news(1))
    table.mention(table.rows[1], each_once([news(1).id]))
    store(table, news(2))
    table.mention(table.rows[1], each_once([77, 78]))
    assert list(table.in_need()) == [news(1).id, news(2).id]
    assert table.first_in_need() == (news(1).id, 1)


def test_neighbors_that_ask_for_the_same_have_one_interest() -> None:
    table = table_of(NEWS, topic("news"), EVERYTHING)
    assert table.rows[1].interest is table.rows[2].interest
    assert len(table.interests) == 2
    table.leave(1)
    table.leave(2)
    assert [interest.subscriptions for interest in table.interests.values()] == [[EVERYTHING]]


def test_a_list_is_made_anew_only_when_the_events_have_changed() -> None:
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
def test_a_stranger_is_looked_at_again_after_a_publication(published: bool) -> None:
    frugal = Frugal(ScriptHost(0), Frugal.params_class())
    frugal.on_subscribe(1, NEWS)
    sport: list[Filter] = [topic("sport")]
    frugal.on_frame(Heartbeat(sport, nan), 4)
    assert frugal.neighborhood_table.is_stranger(4, [topic("sport")])
    assert not frugal.neighborhood_table.is_stranger(4, [NEWS])
    if published:
        frugal.on_publish(Event(event_id(0, 1), "sport"))
    frugal.on_frame(Heartbeat(sport, nan), 4)
    assert list(frugal.neighborhood_table.rows) == ([4] if published else [])


def test_a_stranger_is_looked_at_again_after_a_subscription() -> None:
    frugal = Frugal(ScriptHost(0), Frugal.params_class())
    frugal.on_subscribe(1, NEWS)
    frugal.on_frame(Heartbeat([topic("sport")], nan), 4)
    frugal.on_subscribe(2, topic("sport"))
    frugal.on_frame(Heartbeat([topic("sport")], nan), 4)
    assert list(frugal.neighborhood_table.rows) == [4]


def test_strangers_that_are_remembered_are_as_many_as_neighbors_can_be() -> None:
    table = table_of()
    for j in range(20):
        table.remember_stranger(j, [NEWS])
    assert list(table.strangers) == list(range(12, 20))


def test_the_average_speed_follows_whoever_comes_and_goes() -> None:
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
