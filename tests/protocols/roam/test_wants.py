"""Little effort: who wants events asks for them (M15)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from roamcast.errors import Malformed
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.wire import measure
from roamcast.protocols.roam.frames import CONDITIONS, Missing, Summary, Wanted, conditions, id_lists
from roamcast.protocols.roam.protocol import LIST, PUSH, SUMMARY, Roam
from roamcast.protocols.roam.wants import fitting
from roamcast.pubsub.event import LOCAL, Event, event_id
from roamcast.pubsub.filters import EVERYTHING, Filter, Or, Range, topic
from roamcast.testing import ScriptHost
from tests.protocols.roam.nodes import DIFFERENT, NEWS, SECOND, news, node
from tests.support.net import TinyNet
from tests.support.storm import check_encoding

LITTLE = 0.05
WANT_S = 10


def sport(n: int) -> Event:
    return Event(event_id(98, n), "sport")


def wanted(predicate: Filter, *ids: int, age_ms: int = 600, left_ms: int = 300) -> Wanted:
    """What a neighbour wants that knows these events."""
    (only,) = id_lists(vec[i64](sorted(ids)), Summary(0, 0, age_ms, left_ms), 1200)
    return Wanted(predicate, only)


def subscriber(**params: float) -> tuple[Roam, ScriptHost]:
    protocol, host = node(effort=LITTLE, **params)
    protocol.on_subscribe(1, NEWS)
    return protocol, host


def asked(host: ScriptHost) -> list[Wanted]:
    return [frame for frame in host.frames("wanted") if isinstance(frame, Wanted)]


def listed(frame: Wanted) -> list[int]:
    return [id for first, end in frame.list.spans() for id in range(first, end)]


def sent_events(host: ScriptHost) -> list[int]:
    return [event.id for frame in host.frames("event") if isinstance(frame, Missing) for event in frame.events()]


def test_a_node_says_what_it_wants_and_which_of_it_it_knows() -> None:
    protocol, host = subscriber()
    for event in (news(1), news(3), sport(1)):
        host.hear(protocol, EventFrame(event, 0, 0), 2)
    host.advance(protocol, 2 * WANT_S * SECOND)
    last = asked(host)[-1]
    assert last.predicate == NEWS
    assert listed(last) == [news(1).id, news(3).id]
    assert host.frames("summary") == host.frames("ids") == []


def test_neighbours_send_what_is_wanted_and_not_known_and_nothing_else() -> None:
    protocol, host = node()
    for event in (news(1), news(2), news(3), sport(1)):
        host.hear(protocol, EventFrame(event, 0, 0), 2)
    host.advance(protocol, 2 * SECOND)
    host.hear(protocol, wanted(NEWS, news(2).id), 5)
    host.advance(protocol, 3 * SECOND)
    assert sent_events(host) == [news(1).id, news(3).id]


def test_events_that_the_flood_may_still_bring_are_not_sent() -> None:
    protocol, host = node()
    host.hear(protocol, EventFrame(news(1), 0, 0), 2)
    host.hear(protocol, wanted(NEWS), 5)
    assert PUSH not in host.timers


@pytest.mark.parametrize("knows", [True, False])
def test_who_knows_no_event_asks_when_it_hears_of_one(knows: bool) -> None:
    protocol, host = subscriber()
    host.advance(protocol, 50 * WANT_S * SECOND)
    assert len(asked(host)) == 1, "once at the start"
    host.hear(protocol, wanted(NEWS, *([news(1).id] if knows else [])), 5)
    host.advance(protocol, host.clock_us + SECOND)
    assert len(asked(host)) == (2 if knows else 1)
    host.advance(protocol, host.clock_us + 50 * WANT_S * SECOND)
    assert len(asked(host)) == (2 if knows else 1), "once, because that brought nothing"


def test_news_that_come_while_the_medium_is_busy_are_not_forgotten() -> None:
    protocol, host = subscriber()
    host.busy_share = 0.9
    host.advance(protocol, 50 * WANT_S * SECOND)
    assert asked(host) == []
    host.busy_share = 0.0
    host.advance(protocol, host.clock_us + 2 * WANT_S * SECOND)
    assert len(asked(host)) == 1


def test_who_subscribes_to_nothing_never_asks() -> None:
    protocol, host = node(effort=LITTLE)
    host.hear(protocol, EventFrame(news(1), 0, 0), 2)
    host.hear(protocol, wanted(NEWS, news(2).id), 5)
    host.advance(protocol, 20 * WANT_S * SECOND)
    assert asked(host) == []
    protocol.on_subscribe(1, NEWS)
    host.advance(protocol, host.clock_us + WANT_S * SECOND)
    assert len(asked(host)) == 1 and listed(asked(host)[0]) == [news(1).id], "soon after it has subscribed"
    protocol.on_unsubscribe(1)
    before = len(asked(host))
    host.advance(protocol, host.clock_us + 20 * WANT_S * SECOND)
    assert len(asked(host)) == before


def test_intervals_double_up_to_four_times_while_nothing_comes() -> None:
    protocol, host = subscriber()
    host.hear(protocol, EventFrame(news(1), 0, 0), 2)
    host.advance(protocol, 1000 * WANT_S * SECOND)
    assert 180 < len(asked(host)) < 320, "once in four intervals"
    assert protocol.wants.interval_us == 4 * WANT_S * SECOND
    host.hear(protocol, EventFrame(news(2), 0, 0), 5)
    host.advance(protocol, host.timers[SUMMARY])
    assert protocol.wants.interval_us == 4 * WANT_S * SECOND, "that came with the flood"
    host.hear(protocol, Missing([EventFrame(news(3), 0, 0)]), 5)
    host.advance(protocol, host.timers[SUMMARY])
    assert protocol.wants.interval_us == WANT_S * SECOND, "it was worth asking"
    host.advance(protocol, host.timers[SUMMARY])
    assert protocol.wants.interval_us == 2 * WANT_S * SECOND


def test_intervals_are_random() -> None:
    protocol, host = subscriber()
    host.hear(protocol, EventFrame(news(1), 0, 0), 2)
    host.advance(protocol, 100 * WANT_S * SECOND)
    host.advance(protocol, host.timers[SUMMARY])
    waits = set()
    for _ in range(20):
        waits.add(host.timers[SUMMARY] - host.clock_us)
        host.advance(protocol, host.timers[SUMMARY])
    assert len(waits) == 20 and min(waits) >= 2 * WANT_S * SECOND and max(waits) <= 6 * WANT_S * SECOND


def test_a_summary_that_differs_makes_a_node_ask_once_and_send_no_list() -> None:
    protocol, host = subscriber()
    host.hear(protocol, EventFrame(news(1), 0, 0), 2)
    host.advance(protocol, 7 * WANT_S * SECOND)
    host.clock_us = max(host.clock_us, protocol.wants.asked_us + 4 * WANT_S * SECOND)
    before = len(asked(host))
    for _ in range(5):
        host.hear(protocol, DIFFERENT, 3)
        host.advance(protocol, host.clock_us + SECOND // 5)
    assert len(asked(host)) == before + 1
    assert host.frames("ids") == []


def test_what_a_neighbour_wants_is_remembered_through_its_longest_interval() -> None:
    protocol, host = subscriber()
    host.hear(protocol, wanted(topic("sport")), 5)
    now_us = 6 * WANT_S * SECOND
    protocol.neighbours.forget(now_us)
    assert protocol.neighbours.want(sport(1), now_us) and not protocol.neighbours.want(news(1), now_us)
    protocol.neighbours.meet(5, now_us)
    now_us = 8 * WANT_S * SECOND
    protocol.neighbours.forget(now_us)
    assert 5 in protocol.neighbours.nodes and not protocol.neighbours.want(sport(1), now_us), (
        "it may want other events now"
    )


def test_a_late_event_is_not_flooded_on() -> None:
    protocol, host = subscriber()
    host.hear(protocol, Missing([EventFrame(news(1), 0, 1000)]), 2)
    assert host.delivered == [news(1)]
    assert news(1).id not in host.timers


def test_an_event_that_only_the_predicate_matches_is_not_asked_for_again() -> None:
    """A predicate may be wider than the subscriptions of which it is made."""
    protocol, host = node(effort=LITTLE)
    for k in range(40):
        protocol.on_subscribe(k, topic("news") & Range("x", 10 * k, 10 * k + 1))
    event = Event(event_id(7, 1), "news", {"x": 5})
    assert not protocol.subscriptions.match(event)
    host.hear(protocol, Missing([EventFrame(event, 0, 0)]), 2)
    host.advance(protocol, 5 * WANT_S * SECOND)
    assert asked(host)[-1].predicate.matches(event) and listed(asked(host)[-1]) == [event.id]


def test_an_event_that_made_room_is_not_asked_for_again() -> None:
    protocol, host = node(effort=LITTLE, store=1)
    for n in (1, 2):
        host.hear(protocol, EventFrame(news(n), 0, 0), 2)
    protocol.on_subscribe(1, NEWS)
    host.advance(protocol, 5 * WANT_S * SECOND)
    assert listed(asked(host)[-1]) == [news(1).id, news(2).id]


def test_a_predicate_has_few_conditions_and_fits_into_half_of_a_frame() -> None:
    many: list[Filter] = [topic("news") & Range("x", 10 * k, 10 * k + 1) for k in range(60)]
    long: list[Filter] = [topic(f"{k}" * 300) for k in range(8)]
    assert conditions(fitting(many, 600)) <= CONDITIONS
    assert measure(fitting(long, 600).fields()) <= 600
    assert fitting([topic("x" * 900)], 600) == EVERYTHING
    assert fitting([NEWS], 600) == NEWS
    event = Event(event_id(7, 1), "news", {"x": 405})
    assert fitting(many, 600).matches(event)


def test_many_frames_leave_in_bursts_and_all_have_their_turn() -> None:
    protocol, host = node(effort=LITTLE, frame_limit=100, burst=2)
    protocol.on_subscribe(1, NEWS)
    for n in range(1, 200, 2):
        host.hear(protocol, EventFrame(news(n), 0, 0), 2)
    host.advance(protocol, 200 * WANT_S * SECOND)
    frames = asked(host)
    host.advance(protocol, host.timers[SUMMARY])
    assert len(asked(host)) == len(frames) + 2, "one burst"
    assert all(frame.size <= 130 for frame in frames)
    assert {id for frame in frames for id in listed(frame)} == {news(n).id for n in range(1, 200, 2)}


def test_pushes_to_who_cannot_take_an_event_get_longer_pauses() -> None:
    protocol, host = node(effort=LITTLE)
    protocol.on_publish(news(1))
    host.advance(protocol, 5 * SECOND)
    for _ in range(30):
        host.hear(protocol, wanted(NEWS), 5)
        host.advance(protocol, host.clock_us + WANT_S * SECOND)
    assert len(sent_events(host)) < 12


@pytest.mark.parametrize("lacking", [1, 2, 10])
@pytest.mark.parametrize("little_asks", [True, False])
def test_nodes_with_different_efforts_get_events_from_each_other(lacking: int, little_asks: bool) -> None:
    nodes = [node(effort=0.1), node()]
    asks, holds = nodes if little_asks else reversed(nodes)
    for protocol, host in nodes:  # one that both know, so that both speak
        host.hear(protocol, EventFrame(sport(1), 0, 0), 7)
    asks[0].on_subscribe(1, NEWS)
    for n in range(lacking):
        holds[1].hear(holds[0], EventFrame(news(n + 1), 0, 0), 7)
    for _, host in nodes:
        host.draws = [0.9] * 40  # nothing comes with the flood
    for _ in range(300):
        for (protocol, host), (other, other_host), name in ((asks, holds, 3), (holds, asks, 4)):
            host.sent.clear()
            host.advance(protocol, host.clock_us + SECOND // 5)
            for _, frame in list(host.sent):
                other_host.hear(other, frame, name)
    assert len(asks[1].delivered) == lacking


def test_local_events_are_thinned_as_well_and_go_less_far() -> None:
    protocol, host = node(effort=0.01)
    for n in range(1, 201):
        host.hear(protocol, EventFrame(news(n, scope=LOCAL), 7, 0), 2)
    host.advance(protocol, SECOND)
    assert 1 <= len(host.frames("event")) <= 25


def test_what_a_neighbour_wants_costs_memory_and_only_with_little_effort() -> None:
    for effort, more in ((1.0, 0), (LITTLE, wanted(NEWS).size)):
        protocol, host = node(effort=effort)
        host.hear(protocol, wanted(NEWS), 5)
        assert protocol.memory() == (1, 8 + more)


def test_nothing_is_sent_while_the_medium_is_busy() -> None:
    protocol, host = node()
    protocol.on_publish(news(1))
    host.advance(protocol, 5 * SECOND)
    host.busy_share = 0.9
    host.hear(protocol, wanted(NEWS), 5)
    assert PUSH not in host.timers


def test_a_node_with_full_effort_keeps_its_own_pace_when_neighbours_ask() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, NEWS)
    before = host.timers[SUMMARY]
    host.hear(protocol, wanted(NEWS, news(5).id), 5)
    assert host.timers[SUMMARY] == before
    assert LIST in host.timers, "its list says what it lacks"


@pytest.mark.parametrize(
    ("draws", "neighbour_wants", "sends"),
    [([0.2], False, True), ([0.3], False, False), ([0.3, 0.2], True, True), ([0.3, 0.3], True, False)],
)
def test_the_flood_is_thin_and_less_so_where_a_neighbour_wants_the_event(
    draws: list[float], neighbour_wants: bool, sends: bool
) -> None:
    protocol, host = node(effort=LITTLE)
    host.hear(protocol, wanted(NEWS if neighbour_wants else topic("sport")), 5)
    host.draws = [0.5]
    host.hear(protocol, EventFrame(news(1), 0, 0), 2)
    host.draws = draws
    host.advance(protocol, SECOND)
    assert bool(host.frames("event")) is sends
    assert (host.labels("suppress") == ["little effort"]) is not sends


def test_work_for_a_neighbour_counts_the_conditions_of_its_predicate() -> None:
    many = Or([topic(f"t{k}") for k in range(30)])
    assert (conditions(many), conditions(NEWS), conditions(Filter())) == (30, 1, 1)
    protocol, host = node(compared=8 * 60)
    for n in range(1, 6):
        protocol.on_publish(news(n))
    host.advance(protocol, 10 * SECOND)
    host.hear(protocol, wanted(many), 5)
    host.hear(protocol, wanted(NEWS), 5)
    assert PUSH not in host.timers, "its share of this second is used up"
    host.hear(protocol, wanted(NEWS), 6)
    assert PUSH in host.timers, "and that of others is not"


MANY = Or([NEWS, *(topic(f"t{k}") for k in range(29))])
"""A predicate of thirty conditions."""


def test_events_that_are_listed_are_not_matched() -> None:
    protocol, host = node(compared=8 * 600)
    for n in range(1, 101):
        protocol.on_publish(news(n))
    host.advance(protocol, 10 * SECOND)
    for _ in range(5):
        host.hear(protocol, wanted(MANY, *[news(n).id for n in range(1, 100)]), 5)
    assert list(protocol.offers.waiting) == [news(100).id]
    assert protocol.neighbours.compared == 5 * (1 + 100 + 3 + 30)


def test_a_node_that_knows_more_than_a_neighbours_share_serves_it() -> None:
    protocol, host = node(compared=8 * 40)
    for n in range(1, 101):
        protocol.on_publish(news(n))
    host.advance(protocol, 10 * SECOND)
    host.hear(protocol, wanted(NEWS), 5)
    assert len(protocol.offers.waiting) == 40
    assert protocol.neighbours.compared == 2 * 40, "and no more for the work of a whole table"


def test_only_so_many_events_are_matched_for_one_frame() -> None:
    protocol, host = node(compared=8 * 300)
    for n in range(1, 101):
        protocol.on_publish(news(n))
    host.advance(protocol, 10 * SECOND)
    host.hear(protocol, wanted(MANY, news(50).id), 5)
    assert len(protocol.offers.waiting) == 300 // 30


def test_a_predicate_of_too_many_conditions_is_malformed() -> None:
    fields = wanted(Or([topic(f"t{k}") for k in range(CONDITIONS + 1)])).fields()
    with pytest.raises(Malformed, match="too many conditions"):
        Wanted.from_fields(fields)


def test_subscribers_get_what_the_thin_flood_did_not_bring_them() -> None:
    """A star: the hub does not subscribe and hears all; whatever it does not forward, the others ask for."""
    net = TinyNet(Roam, 12, [(0, k) for k in range(1, 12)], effort=LITTLE)
    net.start()
    for k in range(2, 12):
        net.subscribe(k, NEWS)
    ids = []
    for _ in range(30):
        ids.append(net.publish(1, topic="news").id)
        net.run(1)
    net.run(120)
    for k in range(2, 12):
        assert sorted(net.delivered(k)) == ids


FILTERS = st.sampled_from([EVERYTHING, NEWS, topic("sport"), topic("news") & Range("x", 1, 5)])


@given(FILTERS, st.lists(st.integers(1, 500), unique=True, max_size=40), st.integers(0, 10**7), st.integers(0, 10**7))
def test_what_is_wanted_survives_the_wire(predicate: Filter, ns: list[int], age_ms: int, left_ms: int) -> None:
    check_encoding(Roam, wanted(predicate, *ns, age_ms=age_ms, left_ms=left_ms))


@pytest.mark.parametrize(
    "fields", [[], [1, 2, 3, 4, 5, 6], [["?"], 1, 1, 0, 9, []], [NEWS.fields(), 1, 1, 0, 9, [0, 0]]], ids=str
)
def test_anything_else_is_malformed(fields: list[object]) -> None:
    with pytest.raises(Malformed):
        Wanted.from_fields(fields)


@given(st.lists(st.tuples(st.integers(1, 60), st.booleans()), unique_by=lambda e: e[0], max_size=40), st.data())
def test_a_neighbour_is_sent_what_a_dumb_twin_would_send(held: list[tuple[int, bool]], data: st.DataObject) -> None:
    protocol, host = node()
    for n, is_news in held:
        host.hear(protocol, EventFrame(news(n) if is_news else sport(n), 0, 0), 2)
    host.advance(protocol, 5 * SECOND)
    known = data.draw(st.lists(st.sampled_from([n for n, _ in held]), unique=True)) if held else []
    ids = [news(n).id for n in known]
    frame = wanted(NEWS, *ids)
    host.hear(protocol, frame, 5)
    assert sorted(protocol.offers.waiting) == sorted(news(n).id for n, is_news in held if is_news and n not in known)
