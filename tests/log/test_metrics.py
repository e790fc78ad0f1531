"""Metrics from a log: one small run counted by hand, the limits of each definition, and counting row by row."""

from __future__ import annotations

import json
from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import roamcast.log.schema as schema
from roamcast.errors import InputError
from roamcast.pubsub.event import Event
from roamcast.pubsub.text import parse
from tests.support.log_metrics import energy, metrics
from tests.support.sinks import MemorySink

S = 1_000_000


class Log:
    """A log, with short methods for its rows."""

    def __init__(self) -> None:
        self.sink = MemorySink()
        self.t = 0

    def at(self, t_s: float) -> Log:
        self.t = round(t_s * S)
        return self

    def row(
        self,
        node: int,
        kind: int,
        event: int = 0,
        frame: int = 0,
        peer: int = -1,
        size: int = 0,
        value: int = 0,
        reason: str = "",
    ) -> Log:
        self.sink.row(self.t, node, kind, event, frame, peer, size, value, reason)
        return self

    def publish(self, node: int, event: int, topic: str = "news", near: list[int] | None = None, **attrs: Any) -> Log:
        content: dict[str, object] = {"topic": topic, "scope": "global", "attrs": attrs}
        if near is not None:
            content.update(scope="local", near=near)
        return self.row(node, schema.PUBLISH, event, size=50, value=10 * S, reason=json.dumps(content))

    def subscribe(self, node: int, number: int = 1, text: str = "topic news") -> Log:
        return self.row(node, schema.SUBSCRIBE, number, reason=text)

    def unsubscribe(self, node: int, number: int = 1, text: str = "topic news") -> Log:
        return self.row(node, schema.UNSUBSCRIBE, number, reason=text)

    def send(self, node: int, frame: int, event: int = 0, kind: str = "event", size: int = 100) -> Log:
        return self.row(node, schema.SEND, event, frame, size=size, value=size * 8, reason=kind)

    def repeat(self, node: int, frame: int, event: int = 0, size: int = 100) -> Log:
        return self.send(node, frame, event, size=size).row(node, schema.REPEAT, event, frame, peer=9)

    def receive(self, node: int, frame: int, event: int = 0, peer: int = 0, size: int = 100) -> Log:
        return self.row(node, schema.RECEIVE, event, frame, peer, size, 800, "event")

    def lose(self, node: int, frame: int, why: str) -> Log:
        return self.row(node, schema.LOSE, 0, frame, 0, 100, 800, why)

    def overhear(self, node: int, frame: int, why: str) -> Log:
        return self.row(node, schema.OVERHEAR, 0, frame, 0, 100, 800, why)

    def deliver(self, node: int, event: int) -> Log:
        return self.row(node, schema.DELIVER, event)

    def metrics(self) -> dict[str, Any]:
        return metrics(self.sink.table("r"))

    def energy(self, nodes: int, duration_s: float = 10.0) -> list[float]:
        return energy(self.sink.table("r"), nodes, duration_s, tx_w=1000.0, rx_w=100.0, idle_w=1.0, sleep_w=0.01)


def a_small_run() -> Log:
    log = Log()
    for node in (0, 1, 2, 3):
        log.subscribe(node)
    log.send(3, 9, kind="beacon", size=40)
    log.at(1).publish(0, 101)
    log.send(0, 1, 101).receive(1, 1, 101).receive(4, 1, 101).lose(2, 1, "collision").lose(3, 1, "loss")
    log.at(1.5).deliver(1, 101)
    log.row(1, schema.FORWARD, 101, reason="deterministic").row(4, schema.FORWARD, 101, reason="probabilistic")
    log.row(4, schema.FORWARD, 101, reason="deterministic").row(4, schema.FORWARD, 101, reason="first hop")
    log.row(4, schema.SUPPRESS, 101, reason="deterministic")
    log.at(2).send(1, 2, 101).receive(0, 2, 101).receive(2, 2, 101).deliver(2, 101).deliver(2, 101)
    log.at(3).send(4, 3, kind="beacon", size=30).receive(0, 3).receive(1, 3).lose(2, 3, "collision")
    log.at(4).repeat(2, 4, 101).receive(1, 4, 101).overhear(0, 4, "for another").overhear(3, 4, "repetition")
    log.row(1, schema.ACKNOWLEDGE, peer=2, size=14, value=304).overhear(2, 0, "acknowledgement")
    log.row(1, schema.STATE, size=100, value=4).row(2, schema.STATE, size=200, value=7)
    return log


def test_a_small_run_counted_by_hand() -> None:
    assert a_small_run().metrics() == {
        "interested": 3,  # nodes 1, 2 and 3
        "deliveries": 2,
        "delivery": 2 / 3,
        "own": 1,  # node 0
        "reception": 3 / 4,
        "frames_sent": 5,
        "frames_by_kind": {"beacon": 2, "event": 3},
        "bytes_sent": 370,
        "warmup_frames": 1,
        "warmup_bytes": 40,
        "repeats": 1,
        "overhead": 2.5,
        "receptions": 7,
        "overheard": 1,
        "losses": 3,
        "losses_by_reason": {"collision": 2, "loss": 1},
        "collisions": 2,
        "duplicates": 2,  # at the publisher, and the second at node 1
        "duplicates_wanted": 2,
        "parasites": 1,  # at node 4
        "latency_mean_s": 0.75,
        "latency_p50_s": 0.5,
        "latency_p95_s": 1.0,
        "reasons": {
            "forward: deterministic": 2,
            "forward: first hop": 1,
            "forward: probabilistic": 1,
            "suppress: deterministic": 1,
        },
        "deterministic_hops": 2 / 3,
        "events_published": 1,
        "news": 3,  # nodes 1, 2 and 4
        "usefulness": 3 / 5,  # of the receptions of an event
        "frames_per_event": 5.0,
        "retransmissions": 1.0,
        "memory_entries": 5.5,
        "memory_bytes": 150.0,
    }


def test_a_log_without_rows_has_zero_counts_and_no_quotients() -> None:
    measured = Log().metrics()
    assert {name for name, value in measured.items() if value is None} == {
        "delivery",
        "reception",
        "overhead",
        "usefulness",
        "frames_per_event",
        "retransmissions",
        "latency_mean_s",
        "latency_p50_s",
        "latency_p95_s",
        "deterministic_hops",
        "memory_entries",
        "memory_bytes",
    }
    assert not any(measured.values())


def test_a_log_of_several_runs_is_refused() -> None:
    import pyarrow as pa

    tables = [a_small_run().sink.table(run) for run in ("a", "b")]
    with pytest.raises(InputError, match="one run"):
        metrics(pa.concat_tables(tables))


# ------------------------------------------------------------------------------------------------------- interested


def test_interest_is_a_subscription_that_matches_content() -> None:
    log = Log().subscribe(1, text="topic news and heat > 30").subscribe(2, text="heat > 40").subscribe(3, text="x = 1")
    assert log.publish(0, 1, heat=35).metrics()["interested"] == 1
    assert log.publish(0, 2, "news.local", heat=50).metrics()["interested"] == 3


def test_interest_is_decided_at_the_publication() -> None:
    log = Log().subscribe(1).publish(0, 1).unsubscribe(1).publish(0, 2).subscribe(2).publish(0, 3)
    log.deliver(1, 1).deliver(1, 2).deliver(2, 2).deliver(2, 3)
    measured = log.metrics()
    assert (measured["interested"], measured["deliveries"]) == (2, 2)


def test_a_node_with_two_matching_subscriptions_is_one_pair_until_both_are_gone() -> None:
    log = Log().subscribe(1, 1).subscribe(1, 2).subscribe(1, 3, "true").publish(0, 1)
    assert log.metrics()["interested"] == 1
    log.unsubscribe(1, 1).unsubscribe(1, 3, "true").publish(0, 2)
    assert log.metrics()["interested"] == 2
    log.unsubscribe(1, 2).publish(0, 3)
    assert log.metrics()["interested"] == 2


def test_a_subscription_number_used_again_replaces_the_filter() -> None:
    log = Log().subscribe(1, 1).subscribe(1, 1, "topic sports").publish(0, 1)
    assert log.metrics()["interested"] == 0


def test_the_publisher_is_not_interested_and_its_own_delivery_does_not_count() -> None:
    measured = Log().subscribe(0).publish(0, 1).deliver(0, 1).metrics()
    assert (measured["interested"], measured["deliveries"], measured["delivery"]) == (0, 0, None)


@pytest.mark.parametrize(("leave", "come"), [(schema.SLEEP, schema.WAKE), (schema.CRASH, schema.RECOVER)])
def test_a_subscriber_that_is_not_up_does_not_count(leave: int, come: int) -> None:
    log = Log().subscribe(1).row(1, leave).publish(0, 1).row(1, come).publish(0, 2)
    log.deliver(1, 1).deliver(1, 2)
    measured = log.metrics()
    assert (measured["interested"], measured["deliveries"]) == (1, 1)


def test_sleep_and_crash_are_independent_of_each_other() -> None:
    log = Log().subscribe(1).row(1, schema.SLEEP).row(1, schema.CRASH).row(1, schema.RECOVER).publish(0, 1)
    assert log.metrics()["interested"] == 0
    log.row(1, schema.CRASH).row(1, schema.WAKE).publish(0, 2)
    assert log.metrics()["interested"] == 0
    log.row(1, schema.RECOVER).publish(0, 3)
    assert log.metrics()["interested"] == 1


def test_after_a_new_boot_only_new_subscriptions_count() -> None:
    log = Log().subscribe(1, 1).subscribe(1, 2).subscribe(2, 1).row(1, schema.RECOVER, reason="anew")
    assert log.publish(0, 7).metrics()["interested"] == 1
    assert log.subscribe(1, 1).publish(0, 8).metrics()["interested"] == 1 + 2


def test_only_nodes_in_range_count_for_a_local_event() -> None:
    log = Log().subscribe(0).subscribe(1).subscribe(2).publish(0, 1, near=[0, 2, 3])
    log.deliver(1, 1).deliver(2, 1)
    measured = log.metrics()
    assert (measured["interested"], measured["deliveries"]) == (1, 1)


# -------------------------------------------------------------------------------------------- the publisher's own


def test_a_publisher_counts_for_reception_if_it_is_subscribed_when_it_publishes() -> None:
    log = Log().subscribe(0).subscribe(1).subscribe(2, text="topic sports").subscribe(3)
    log.publish(0, 1).publish(1, 2).publish(2, 3).unsubscribe(1).publish(1, 4).publish(4, 5)
    log.deliver(0, 1).deliver(1, 1).deliver(3, 2).deliver(3, 3)
    measured = log.metrics()
    assert (measured["own"], measured["interested"], measured["deliveries"]) == (2, 2 + 2 + 3 + 2 + 2, 3)
    assert (measured["delivery"], measured["reception"]) == (3 / 11, 5 / 13)


@pytest.mark.parametrize(("leave", "come"), [(schema.SLEEP, schema.WAKE), (schema.CRASH, schema.RECOVER)])
def test_a_publisher_that_is_not_up_does_not_count(leave: int, come: int) -> None:
    log = Log().subscribe(0).row(0, leave).publish(0, 1)
    assert (log.metrics()["own"], log.metrics()["reception"]) == (0, None)
    assert log.row(0, come).publish(0, 2).metrics()["own"] == 1


def test_a_publisher_is_in_range_of_its_own_local_event() -> None:
    measured = Log().subscribe(0).subscribe(1).subscribe(2).publish(0, 1, near=[2]).metrics()
    assert (measured["own"], measured["interested"], measured["reception"]) == (1, 1, 1 / 2)


# ---------------------------------------------------------------------------------------------------------- warm-up


def test_frames_before_the_first_publication_are_warm_up() -> None:
    log = Log().send(0, 1, size=10).at(1).send(1, 2, size=20).publish(0, 1).send(0, 3, size=40)
    measured = log.at(2).publish(1, 2).send(1, 4, size=80).metrics()
    assert (measured["warmup_frames"], measured["warmup_bytes"]) == (2, 30)


def test_without_a_publication_all_frames_are_warm_up() -> None:
    measured = Log().send(0, 1, size=10).at(9).send(1, 2, size=20).metrics()
    assert (measured["warmup_frames"], measured["warmup_bytes"]) == (2, 30)


def test_a_run_that_publishes_at_once_has_no_warm_up() -> None:
    measured = Log().publish(0, 1).send(0, 1, size=10).metrics()
    assert (measured["warmup_frames"], measured["warmup_bytes"]) == (0, 0)


# ------------------------------------------------------------------------------------------- duplicates and parasites


def test_a_frame_with_several_events_is_one_reception_and_a_row_for_each_event() -> None:
    log = Log().subscribe(1).publish(0, 1).publish(0, 2)
    log.send(0, 1, 1).receive(1, 1, 1).receive(1, 1, 2, size=0)
    log.send(0, 2, 1).receive(1, 2, 1).receive(1, 2, 2, size=0)
    measured = log.metrics()
    assert (measured["receptions"], measured["duplicates"], measured["parasites"]) == (2, 2, 0)
    assert measured["duplicates_wanted"] == 2


def test_a_duplicate_is_wanted_if_the_node_has_a_matching_subscription() -> None:
    log = Log().subscribe(0).subscribe(1).publish(0, 1)
    log.receive(0, 1, 1)  # the publisher subscribed to it, and has it
    log.receive(1, 2, 1).receive(1, 3, 1).receive(1, 4, 1)
    log.receive(2, 2, 1).receive(2, 3, 1)
    measured = log.metrics()
    assert (measured["duplicates"], measured["duplicates_wanted"], measured["parasites"]) == (1 + 2 + 1, 1 + 2, 2)


def test_a_publisher_hearing_its_own_event_has_a_duplicate_and_a_parasite_unless_it_subscribed() -> None:
    log = Log().publish(0, 1).receive(0, 1, 1).receive(0, 2, 1)
    measured = log.metrics()
    assert (measured["duplicates"], measured["parasites"]) == (2, 2)
    log = Log().subscribe(0).publish(0, 1).receive(0, 1, 1)
    measured = log.metrics()
    assert (measured["duplicates"], measured["parasites"]) == (1, 0)


def test_subscriptions_alone_decide_what_a_parasite_is() -> None:
    log = Log().subscribe(1).subscribe(2).row(1, schema.CRASH).publish(0, 1, near=[1]).row(1, schema.RECOVER)
    measured = log.receive(1, 1, 1).receive(2, 1, 1).metrics()
    assert (measured["interested"], measured["parasites"]) == (0, 0)


def test_control_frames_are_neither_duplicates_nor_parasites() -> None:
    measured = Log().send(0, 1).receive(1, 1).send(0, 2).receive(1, 2).metrics()
    assert (measured["receptions"], measured["duplicates"], measured["parasites"]) == (2, 0, 0)


def test_an_event_without_a_publish_row_is_no_parasite() -> None:
    measured = Log().subscribe(1).receive(1, 1, 9).receive(1, 2, 9).receive(2, 2, 9).deliver(1, 9).metrics()
    assert (measured["duplicates"], measured["parasites"], measured["deliveries"]) == (1, 0, 0)
    assert measured["duplicates_wanted"] == 0


# ------------------------------------------------------------------------------------------------------ percentiles


@given(st.lists(st.integers(0, 50), min_size=1, max_size=45, unique=True))
@settings(max_examples=25, deadline=None)
def test_percentiles_are_by_nearest_rank(latencies: list[int]) -> None:
    log = Log()
    for node in range(1, len(latencies) + 1):
        log.subscribe(node)
    log.publish(0, 1)
    for node, latency in enumerate(sorted(latencies), 1):
        log.at(latency).deliver(node, 1)
    measured = log.metrics()
    for percent, name in ((50, "latency_p50_s"), (95, "latency_p95_s")):
        value = measured[name]
        assert value in latencies
        assert sum(latency <= value for latency in latencies) == ceil(percent * len(latencies) / 100)


def test_latency_is_that_of_the_first_delivery() -> None:
    log = Log().subscribe(1).at(1).publish(0, 1).at(3).deliver(1, 1).at(9).deliver(1, 1)
    assert log.metrics()["latency_p95_s"] == 2.0


# ----------------------------------------------------------------------------------------------------------- energy


def test_a_node_idles_except_while_it_sends_and_receives() -> None:
    log = Log().send(0, 1, size=125_000)  # a second on the air
    log.at(1).row(1, schema.RECEIVE, 5, 1, 0, 1, 1 * S)
    log.row(1, schema.RECEIVE, 6, 1, 0, 0, 1 * S)  # another event in the same frame
    log.row(2, schema.LOSE, 5, 1, 0, 1, 1 * S, "collision").at(3).row(2, schema.LOSE, 5, 2, 0, 1, 2 * S, "loss")
    log.row(3, schema.LOSE, 5, 2, 0, 1, 0, "collision")  # its radio never locked on to it
    assert log.energy(4) == pytest.approx([1000 + 9, 100 + 9, 300 + 7, 10])


def test_acknowledgements_and_overheard_frames_cost_as_much_as_frames() -> None:
    log = Log().row(0, schema.ACKNOWLEDGE, peer=1, size=14, value=1 * S).at(2)
    for node, why in enumerate(schema.OVERHEARD):
        log.row(node, schema.OVERHEAR, 0, 1, 3, 14, 1 * S, why)
    assert log.energy(4) == pytest.approx([1000 + 100 + 8, 100 + 9, 100 + 9, 10])


def test_overlapping_frames_at_a_receiver_count_once() -> None:
    log = Log().at(4).row(0, schema.RECEIVE, 5, 1, 1, 1, 2 * S).at(5).row(0, schema.RECEIVE, 5, 2, 1, 1, 3 * S)
    assert log.energy(1) == pytest.approx([300 + 7])


def test_airtime_after_the_end_of_the_run_does_not_count() -> None:
    log = Log().at(9).send(0, 1, size=375_000)  # three seconds of airtime, one second before the end
    assert log.energy(1) == pytest.approx([1000 + 9])


def test_a_sleeping_node_uses_less_and_a_crashed_node_nothing() -> None:
    log = Log().at(2).row(0, schema.SLEEP).row(1, schema.CRASH).row(2, schema.SLEEP).row(3, schema.CRASH)
    log.at(3).row(2, schema.CRASH).row(3, schema.SLEEP)
    log.at(5).row(0, schema.WAKE).row(2, schema.RECOVER).row(3, schema.RECOVER)
    log.at(6).row(2, schema.WAKE).row(3, schema.WAKE)
    assert log.energy(4) == pytest.approx([7 + 0.03, 2, 2 + 0.01 + 0.01 + 4, 2 + 0.01 + 4])


def test_repeated_rows_of_one_state_change_nothing() -> None:
    log = Log().at(2).row(0, schema.SLEEP).at(3).row(0, schema.SLEEP).at(4).row(0, schema.WAKE).at(5)
    assert log.row(0, schema.WAKE).energy(1) == pytest.approx([8 + 0.02])


# -------------------------------------------------------------------------------------------------------- row by row


def counted_row_by_row(rows: list[tuple[int, int, int, int, int, int, int, int, str]]) -> dict[str, int]:
    """The same counts as `metrics`, by going through all earlier rows for every row."""
    counts = {"interested": 0, "own": 0, "deliveries": 0, "duplicates": 0, "duplicates_wanted": 0, "parasites": 0}
    for at, (_, node, kind, event, *_) in enumerate(rows):
        before = rows[:at]
        if kind == schema.PUBLISH:
            counts["interested"] += sum(is_pair(rows, at, other) for other in range(5))
            counts["own"] += is_up(rows, at, node) and wants(rows, at, node)
        published = [k for k, row in enumerate(before) if (row[2], row[3]) == (schema.PUBLISH, event)]
        if kind == schema.DELIVER and published and is_pair(rows, published[0], node):
            counts["deliveries"] += not any(row[1:4] == (node, schema.DELIVER, event) for row in before)
        if kind == schema.RECEIVE and event:
            has = [(node, schema.PUBLISH, event), (node, schema.RECEIVE, event)]
            wanted = bool(published) and wants(rows, published[0], node)
            again = any(row[1:4] in has for row in before)
            counts["duplicates"] += again
            counts["duplicates_wanted"] += again and wanted
            counts["parasites"] += bool(published) and not wanted
    return counts


def wants(rows: list[Any], publication: int, node: int) -> bool:
    content = json.loads(rows[publication][8])
    event = Event(rows[publication][3], content["topic"], content["attrs"])
    filters: dict[int, str] = {}
    for _, row_node, kind, number, *_, text in rows[:publication]:
        if row_node == node and kind == schema.SUBSCRIBE:
            filters[number] = text
        if row_node == node and kind == schema.UNSUBSCRIBE:
            filters.pop(number, None)
        if row_node == node and kind == schema.RECOVER and text == "anew":
            filters.clear()
    return any(parse(text).matches(event) for text in filters.values())


def is_up(rows: list[Any], publication: int, node: int) -> bool:
    last = {schema.SLEEP: 0, schema.WAKE: 0, schema.CRASH: 0, schema.RECOVER: 0}
    for at, (_, row_node, kind, *_) in enumerate(rows[:publication], 1):
        if row_node == node and kind in last:
            last[kind] = at
    return last[schema.SLEEP] <= last[schema.WAKE] and last[schema.CRASH] <= last[schema.RECOVER]


def is_pair(rows: list[Any], publication: int, node: int) -> bool:
    near = json.loads(rows[publication][8]).get("near", [node])
    other = node != rows[publication][1]
    return other and node in near and is_up(rows, publication, node) and wants(rows, publication, node)


NODE = st.integers(0, 4)
WHAT = st.sampled_from(["publish", "subscribe", "subscribe", "unsubscribe", "deliver", "deliver", "receive", "receive"])
FAULT = st.sampled_from(["sleep", "wake", "crash", "recover"])
STEPS = st.lists(st.tuples(WHAT | WHAT | FAULT, NODE, st.integers(1, 3), NODE), max_size=60)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_pairs_duplicates_and_parasites_agree_with_counting_row_by_row(steps: list[tuple[str, int, int, int]]) -> None:
    log, events = Log(), 0
    for frame, (what, node, number, extra) in enumerate(steps, 1):
        if what == "publish":
            events += 1
            log.publish(node, events, near=[0, 1, extra] if extra < 2 else None, x=number)
        elif what == "subscribe":
            log.subscribe(node, number, ["topic news", "x > 1", "x = 3", "topic sports", "true"][extra])
        elif what == "unsubscribe":
            log.unsubscribe(node, number)
        elif what == "deliver" and events:
            log.deliver(node, max(1, events - extra))
        elif what == "receive":
            log.receive(node, frame, max(0, events - extra))
        elif what != "deliver":
            log.row(node, schema.kind_code(what), reason="anew" if what == "recover" and number == 1 else "")
    measured = log.metrics()
    expected = counted_row_by_row(log.sink.rows)
    assert {name: measured[name] for name in expected} == expected
