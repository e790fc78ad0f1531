"""MPL forwards unasked, counts copies, and lets neighbours compare what they buffer. R1 to R10 are its readings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.mpl.frames import SEED_MAX, ControlMessage, DataMessage, SeedInfo
from roamcast.protocols.mpl.protocol import CONTROL, Mpl, MplParams
from roamcast.pubsub.event import FOREVER, LOCAL, Event, event_id
from roamcast.pubsub.filters import topic
from roamcast.testing import ScriptHost, make
from tests.support.net import TinyNet
from tests.support.storm import Plan, plans, weather

NEWS = topic("news")
SECOND = 1_000_000
SEED = 99
IMIN_US = 10_000
"""Of short messages and frames of at most 125 bytes: ten times the least latency."""


def node(**params: Any) -> tuple[Mpl, ScriptHost]:
    """Nothing is sent except what a test is about: the control timer is as good as stopped."""
    protocol, host = make(Mpl, **{"control_imin": 1e6, **params})
    assert isinstance(protocol, Mpl)
    protocol.on_start()
    return protocol, host


def news(n: int, validity_us: int = FOREVER, publisher: int = SEED) -> Event:
    return Event(event_id(publisher, n), "news", validity_us=validity_us)


def hear(protocol: Mpl, host: ScriptHost, *numbers: int, newest: int = 0, sender: int = 3) -> None:
    for n in numbers:
        host.hear(protocol, DataMessage(news(n), newest, 0), sender)


def control(*seeds: tuple[int, int, int]) -> ControlMessage:
    return ControlMessage(0, SEED_MAX, [SeedInfo(*seed) for seed in seeds])


def numbers(host: ScriptHost) -> list[int]:
    """Of the data messages that were sent."""
    return [frame.id & 0xFFFF for frame in host.frames("event")]


def rows(host: ScriptHost) -> list[tuple[int, int, int]]:
    """Of the last control message."""
    frame = host.frames("control")[-1]
    assert isinstance(frame, ControlMessage)
    return [(info.seed, info.min_sequence, info.vector) for info in frame.seeds]


def row(n: int, **more: Any) -> TinyNet:
    net = TinyNet(Mpl, n, [(i, i + 1) for i in range(n - 1)], **more)
    net.start()
    return net


# ------------------------------------------------------------------------------------------------------------ the whole


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 1000))
def test_every_event_crosses_relays_that_do_not_subscribe_and_arrives_once(seed: int) -> None:
    net = row(5, seed=seed)
    net.subscribe(4, NEWS)
    sent = []
    for _ in range(20):
        sent.append(net.publish(0, topic="news").id)
        net.run(0.2)
    net.run(60)
    assert sorted(net.delivered(4)) == sent
    assert [net.delivered(i) for i in range(4)] == [[], [], [], []]


def test_what_was_lost_comes_by_control_messages() -> None:
    """Once all have heard of the seed, every message arrives, although each frame is lost with probability 0.4."""
    for seed in range(5):
        net = row(3, seed=seed, loss=0.4, backlog=100)
        net.subscribe(2, NEWS)
        sent = []
        for _ in range(30):
            sent.append(net.publish(0, topic="news").id)
            net.run(0.3)
        net.run(100)
        assert sorted(net.delivered(2)) == sent


def test_in_a_room_most_nodes_hear_the_message_first_and_stay_silent() -> None:
    net = TinyNet(Mpl, 20, [(i, j) for i in range(20) for j in range(i)], latency_ms=20.0)
    net.start()
    net.publish(0, topic="news")
    net.run(60)
    assert len(net.sends("event")) < 20
    assert sum(host.labels("suppress").count("heard in interval") for host in net.hosts) > 40


def test_neighbours_that_agree_fall_silent() -> None:
    net = row(4)
    net.publish(0, topic="news")
    net.run(600)
    net.log.clear()
    net.run(600)
    assert net.log == []


@settings(deadline=None, max_examples=25)
@given(plans(), st.sampled_from([{}, {"window": 3, "buffered": 4, "seeds": 2, "seed_lifetime_s": 1.0, "backlog": 2}]))
def test_whatever_happens_events_arrive_once_in_time_and_where_wanted(plan: Plan, small: dict[str, Any]) -> None:
    weather(Mpl, plan, **small)


# ------------------------------------------------------------------------------------------------------ data messages


def test_a_new_message_is_sent_once_in_each_of_three_intervals() -> None:
    protocol, host = node()
    hear(protocol, host, 1)
    for end_us in (IMIN_US, 2 * IMIN_US, 3 * IMIN_US):
        host.advance(protocol, end_us - IMIN_US // 2 - 1)
        before = len(host.frames("event"))
        host.advance(protocol, end_us)
        assert len(host.frames("event")) == before + 1, "in the second half"
    host.advance(protocol, SECOND)
    assert numbers(host) == [1, 1, 1]
    assert host.labels("forward") == ["unheard"] * 3


def test_a_copy_heard_in_an_interval_suppresses_the_message_in_this_one_only() -> None:
    protocol, host = node()
    hear(protocol, host, 1)
    hear(protocol, host, 1, sender=4)
    host.advance(protocol, IMIN_US)
    assert numbers(host) == []
    assert host.notes[-1] == ("suppress", "heard in interval", news(1).id, -1, 1)
    host.advance(protocol, 2 * IMIN_US)
    assert numbers(host) == [1]


def test_copies_of_messages_that_are_not_the_newest_count_as_well() -> None:
    protocol, host = node()
    hear(protocol, host, 1)
    hear(protocol, host, 1)
    hear(protocol, host, 2)
    hear(protocol, host, 2)
    host.advance(protocol, IMIN_US)
    assert numbers(host) == [], "the copy of 1 came before 2"
    hear(protocol, host, 1)
    host.advance(protocol, 2 * IMIN_US)
    assert numbers(host) == [2]


def test_with_k_of_two_it_takes_two_copies() -> None:
    protocol, host = node(data_k=2)
    hear(protocol, host, 1, 1)
    host.advance(protocol, IMIN_US)
    assert numbers(host) == [1]


def test_without_proactive_forwarding_a_message_waits_until_a_neighbour_lacks_it() -> None:
    protocol, host = node(proactive=False)
    hear(protocol, host, 1)
    host.advance(protocol, SECOND)
    assert numbers(host) == []
    host.hear(protocol, control(), 4)
    host.advance(protocol, 2 * SECOND)
    assert numbers(host) == [1, 1, 1]


def test_the_m_flag_is_set_on_the_newest_message_only() -> None:
    protocol, host = node()
    hear(protocol, host, 1, 2)
    host.advance(protocol, SECOND)
    flags = {frame.id & 0xFFFF: frame.fields()[0] for frame in host.frames("event")}
    assert flags == {1: 0, 2: 1}


def test_a_sender_whose_newest_message_is_older_lacks_the_newer_ones() -> None:
    protocol, host = node()
    hear(protocol, host, 1, 2, 3)
    host.advance(protocol, SECOND)
    host.sent.clear()
    hear(protocol, host, 1, newest=0)
    host.advance(protocol, 2 * SECOND)
    assert numbers(host) == []
    hear(protocol, host, 1, newest=1, sender=7)
    assert [note for note in host.notes if note[1] == "needed"] == [
        ("delay", "needed", news(n).id, 7, 0) for n in (2, 3)
    ]
    host.advance(protocol, 3 * SECOND)
    assert sorted(numbers(host)) == [2, 2, 2, 3, 3, 3]


# --------------------------------------------------------------------------------------------------- control messages


def quick(**params: Any) -> tuple[Mpl, ScriptHost]:
    """Control messages come at once and the timer of a message is as good as stopped."""
    protocol, host = make(Mpl, **{"frame_limit": 125, "data_imin": 1e6, **params})
    assert isinstance(protocol, Mpl)
    protocol.on_start()
    return protocol, host


def test_a_control_message_has_the_least_number_and_the_messages_of_each_seed() -> None:
    protocol, host = quick()
    hear(protocol, host, 5, 6, 8)
    host.hear(protocol, DataMessage(news(3, publisher=7), 0, 0), 3)
    host.advance(protocol, IMIN_US)
    assert rows(host) == [(7, 3, 0b1), (SEED, 5, 0b1011)]


def test_control_messages_come_in_ten_intervals_that_double_and_then_no_more() -> None:
    protocol, host = quick()
    host.advance(protocol, 1023 * IMIN_US)
    assert len(host.frames("control")) == 10
    host.advance(protocol, 100_000 * IMIN_US)
    assert len(host.frames("control")) == 10
    hear(protocol, host, 1)
    assert host.timers[CONTROL] - host.clock_us <= IMIN_US, "something new starts them again"


def test_the_longest_interval_is_imax() -> None:
    protocol, host = quick(control_imax_s=0.02, control_expirations=100)
    host.advance(protocol, SECOND)
    assert len(host.frames("control")) == 50


def test_an_equal_control_message_suppresses_ones_own() -> None:
    protocol, host = quick()
    hear(protocol, host, 5)
    host.hear(protocol, control((SEED, 5, 1)), 4)
    host.advance(protocol, IMIN_US)
    assert host.frames("control") == []


@pytest.mark.parametrize(
    ("theirs", "needed", "soon"),
    [
        (control((SEED, 5, 0b11)), [], False),
        (control((SEED, 5, 0b01)), [6], True),
        (control((SEED, 5, 0b00)), [5, 6], True),
        (control((SEED, 6, 0b1)), [], False),
        (control((SEED, 7, 0b0)), [], False),
        (control((SEED, 4, 0b111)), [], False),
        (control((SEED, 4, 0b101)), [5], True),
        (control((SEED, 5, 0b111)), [], True),
        (control((SEED, 900, 0b1)), [], True),
        (control((SEED, 5, 0b11), (100, 1, 0b1)), [], True),
        (control((100, 1, 0b0)), [5, 6], True),
        (control(), [5, 6], True),
    ],
)
def test_what_differs_restarts_the_control_timer_and_the_timers_of_messages_that_the_sender_lacks(
    theirs: ControlMessage, needed: list[int], soon: bool
) -> None:
    protocol, host = quick(proactive=False)
    hear(protocol, host, 5, 6)
    host.advance(protocol, 2 * SECOND)
    host.hear(protocol, theirs, 4)
    assert [note[2] & 0xFFFF for note in host.notes if note[1] == "needed"] == needed
    assert (protocol.control.interval_us == IMIN_US) == soon
    assert protocol.control.same == (0 if soon else 1)


# --------------------------------------------------------------------------------------------------------- the readings


def test_r1_publisher_and_number_of_an_event_are_seed_and_sequence_number() -> None:
    protocol, host = quick(window=4)
    host.hear(protocol, DataMessage(Event(event_id(1 << 30, (1 << 32) - 4), "news"), 0, 0), 3)
    host.advance(protocol, IMIN_US)
    assert rows(host) == [(1 << 30, (1 << 32) - 4, 1)]
    host.hear(protocol, DataMessage(Event(event_id(1 << 30, (1 << 32) - 1), "news"), 0, 0), 3)
    host.advance(protocol, 3 * IMIN_US)
    assert rows(host) == [(1 << 30, (1 << 32) - 4, 0b1001)]
    assert MplParams().window == 128


def test_r1_a_message_before_the_window_is_neither_taken_nor_kept() -> None:
    protocol, host = node(window=4)
    protocol.on_subscribe(1, NEWS)
    hear(protocol, host, 1, 6, 2)
    assert [event.id for event in host.delivered] == [news(1).id, news(6).id]
    assert host.labels("drop") == ["window passed", "below MinSequence"]
    assert sorted(protocol.base.seeds[SEED].messages) == [6]


@pytest.mark.parametrize("us_per_byte", [0, 1, 8, 1000])
def test_r2_intervals_follow_the_airtime_of_the_medium(us_per_byte: int) -> None:
    class Radio(ScriptHost):
        def airtime(self, size: int) -> int:
            return us_per_byte * size

    protocol, _ = make(Mpl, Radio())
    assert isinstance(protocol, Mpl)
    event = news(1)
    timer = protocol.timer_of(event)
    assert DataMessage(event, 0, 0).size == event.size + 4
    assert timer.shortest_us == timer.longest_us == max(10_000, 10 * us_per_byte * (event.size + 4))
    assert protocol.control.shortest_us == max(10_000, 10 * us_per_byte * 1200)
    assert protocol.control.longest_us == 300 * SECOND


def test_r3_the_publisher_sends_at_once_and_then_forwards_like_others() -> None:
    protocol, host = node()
    protocol.on_publish(news(1, publisher=0))
    assert numbers(host) == [1]
    assert host.frames("event")[0].fields()[0] == 1, "the newest of its seed"
    host.advance(protocol, SECOND)
    assert numbers(host) == [1, 1, 1, 1]
    assert host.labels("forward") == ["source", "unheard", "unheard", "unheard"]


def test_r4_an_expired_message_is_no_longer_sent_or_mentioned_and_not_taken_again() -> None:
    protocol, host = quick(data_imin=10.0)
    protocol.on_subscribe(1, NEWS)
    brief = news(1, 12_000)
    host.hear(protocol, DataMessage(brief, 0, 4_000), 3)
    host.hear(protocol, DataMessage(news(3), 0, 0), 3)
    host.advance(protocol, SECOND)
    assert numbers(host).count(1) == 1
    assert host.labels("drop") == ["expired"], "its timer was running"
    assert rows(host) == [(SEED, 2, 0b10)], "number 2 may still come"
    host.hear(protocol, DataMessage(brief, 0, 4_000), 4)
    assert (len(host.delivered), protocol.base.count) == (2, 1)


def test_r4_a_message_that_arrives_too_late_is_dropped_and_stays_unknown() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, NEWS)
    host.hear(protocol, DataMessage(news(1, 5_000), 0, 5_000), 3)
    assert (host.labels("drop"), host.delivered, protocol.base.seeds) == (["expired"], [], {})
    host.hear(protocol, DataMessage(news(1, 5_000), 0, 4_999), 3)
    assert len(host.delivered) == 1


def test_r5_an_event_is_delivered_once_even_if_its_seed_was_forgotten() -> None:
    protocol, host = node(seed_lifetime_s=10.0)
    protocol.on_subscribe(1, NEWS)
    hear(protocol, host, 1)
    host.advance(protocol, 11 * SECOND)
    host.hear(protocol, control(), 4)
    assert host.labels("drop") == ["seed ended"]
    hear(protocol, host, 1)
    assert (protocol.base.count, len(host.delivered)) == (1, 1)
    protocol.on_subscribe(2, NEWS)
    assert len(host.delivered) == 1


def test_r5_a_late_subscription_gets_the_valid_events_of_others_once() -> None:
    protocol, host = node()
    hear(protocol, host, 1, 3)
    host.hear(protocol, DataMessage(news(4, 1000), 0, 0), 3)
    protocol.on_publish(news(1, publisher=0))
    host.advance(protocol, 1000)
    protocol.on_subscribe(1, NEWS)
    protocol.on_subscribe(2, NEWS)
    assert [event.id for event in host.delivered] == [news(1).id, news(3).id]
    protocol.on_unsubscribe(1)
    protocol.on_unsubscribe(2)
    hear(protocol, host, 5)
    assert len(host.delivered) == 2


def test_r6_a_control_message_in_parts_is_compared_part_by_part() -> None:
    protocol, host = quick(frame_limit=64, control_imin=1e6)
    for publisher in range(1, 21):
        host.hear(protocol, DataMessage(news(1, publisher=publisher), 0, 0), 3)
    protocol.control.start()
    due_us = host.timers[CONTROL]
    host.advance(protocol, due_us)
    parts = host.frames("control")
    assert len(parts) > 1
    for part in parts:
        host.hear(protocol, part, 4)
    assert protocol.control.same == 1, "together they are one"
    host.hear(protocol, parts[0], 4)
    assert protocol.control.same == 1


def test_r6_a_part_says_nothing_of_other_seeds() -> None:
    protocol, host = quick(proactive=False)
    for publisher in (4, 5, 6, 9, 10):
        host.hear(protocol, DataMessage(news(1, publisher=publisher), 0, 0), 3)
    host.hear(protocol, ControlMessage(5, 9, [SeedInfo(6, 1, 1)]), 4)
    assert [note[2] >> 32 for note in host.notes if note[1] == "needed"] == [5, 9]


def test_r7_too_many_messages_the_richest_seed_gives_up_its_oldest() -> None:
    protocol, host = node(buffered=3)
    hear(protocol, host, 1, 2)
    host.hear(protocol, DataMessage(news(1, publisher=7), 0, 0), 3)
    hear(protocol, host, 3)
    assert [note for note in host.notes if note[0] == "drop"] == [("drop", "messages full", news(1).id, -1, 0)]
    assert protocol.memory()[0] == 2 + 3
    assert news(1).id not in host.timers
    assert news(1).id not in host.muted


def test_r7_a_full_seed_set_takes_no_new_seed_except_the_node_itself() -> None:
    protocol, host = node(seeds=2, seed_lifetime_s=10.0)
    protocol.on_subscribe(1, NEWS)
    for publisher in (5, 6, 7):
        host.hear(protocol, DataMessage(news(1, publisher=publisher), 0, 0), 3)
    assert host.labels("drop") == ["seed set full"]
    protocol.on_publish(news(1, publisher=0))
    assert (list(protocol.base.seeds), len(host.delivered)) == ([5, 6, 0], 2)
    host.advance(protocol, 10 * SECOND)
    host.hear(protocol, DataMessage(news(1, publisher=7), 0, 0), 3)
    assert len(host.delivered) == 3, "their lifetime is over"


def test_r8_a_seed_begins_with_the_first_number_that_is_heard_or_some_before_it() -> None:
    for backlog, taken in ((0, [5, 6]), (2, [5, 6, 3])):
        protocol, host = node(backlog=backlog)
        protocol.on_subscribe(1, NEWS)
        hear(protocol, host, 5, 6, 3, 2)
        assert [event.id & 0xFFFF for event in host.delivered] == taken


def test_r8_a_publisher_takes_its_own_older_events_again_after_a_restart() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, NEWS)
    protocol.on_publish(news(200, publisher=0))
    protocol.on_publish_again(news(73, publisher=0))
    protocol.on_publish_again(news(72, publisher=0))
    assert sorted(protocol.base.seeds[0].messages) == [73, 200]
    assert host.labels("drop") == ["below MinSequence"]
    assert numbers(host) == [200], "control messages offer the other"
    hear_own = DataMessage(news(100, publisher=0), 0, 0)
    host.hear(protocol, hear_own, 3)
    assert host.delivered == []


def test_r9_what_no_message_can_resolve_is_no_difference() -> None:
    protocol, host = quick(seeds=1)
    hear(protocol, host, 1)
    for theirs in (control((SEED, 1, 1), (100, 1, 1)), control((98, 5, 0), (SEED, 1, 1))):
        same = protocol.control.same
        host.hear(protocol, theirs, 4)
        assert protocol.control.same == same + 1
    protocol, host = quick()
    host.hear(protocol, control((98, 5, 0)), 4)
    assert protocol.control.same == 1


def test_r10_local_events_go_as_far_as_others() -> None:
    net = row(6)
    net.subscribe(5, NEWS)
    sent = net.publish(0, topic="news", scope=LOCAL).id
    net.run(5)
    assert net.delivered(5) == [sent]


# ------------------------------------------------------------------------------------------------------------- the rest


def test_after_a_crash_with_its_tables_a_node_goes_on() -> None:
    protocol, host = node()
    hear(protocol, host, 1)
    hear(protocol, host, 1)
    host.timers.clear()
    host.muted.clear()
    protocol.on_start()
    host.advance(protocol, SECOND)
    assert numbers(host) == [1, 1, 1]
    assert CONTROL in host.timers


def test_the_defaults_are_those_of_the_rfc() -> None:
    defaults = MplParams()
    assert (defaults.proactive, defaults.seed_lifetime_s) == (True, 1800.0)
    assert (defaults.data_imin, defaults.data_doublings, defaults.data_k, defaults.data_expirations) == (10.0, 0, 1, 3)
    assert (defaults.control_imin, defaults.control_imax_s) == (10.0, 300.0)
    assert (defaults.control_k, defaults.control_expirations) == (1, 10)
