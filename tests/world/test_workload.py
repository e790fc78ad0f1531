"""Subscriptions and publications: shares, counts, instants."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from roamcast.log import schema
from roamcast.pubsub.event import FOREVER, GLOBAL, LOCAL, Event
from roamcast.pubsub.filters import Range
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from roamcast.world.streams import Stream
from roamcast.world.workload import NUMBERS, TOPIC, Workload, micros, shuffled, width_within
from tests.support.sinks import MemorySink


def workload(seed: int = 1, **values: Any) -> Workload:
    return Workload(Scenario(**values), seed)


def interested(w: Workload) -> list[int]:
    """How many nodes are interested in each event."""
    counts = []
    for k, p in enumerate(w.publications):
        event = Event(k + 1, p.topic, p.attrs)
        counts.append(len({s.node for s in w.subscriptions if s.filter.matches(event)}))
    return counts


# ---- publishers and subscribers


def test_single_has_the_given_subscribers_and_publishers_and_no_node_is_both() -> None:
    w = workload(nodes=50, publishers=7, subscribers=20)
    subscribers = [s.node for s in w.subscriptions]
    assert len(subscribers) == len(set(subscribers)) == 20
    assert len(set(w.publishers)) == 7
    assert not set(subscribers) & set(w.publishers)
    assert interested(w)[0] == 20
    assert [s.number for s in w.subscriptions] == list(range(20))


def test_a_node_is_both_only_if_it_must_be() -> None:
    w = workload(nodes=10, publishers=6, subscribers=7)
    assert len(set(w.publishers) & {s.node for s in w.subscriptions}) == 3


def test_topics_lets_subscribers_publish() -> None:
    w = workload(workload="topics", nodes=50, publishers=3, subscribers=20)
    assert len(w.subscriptions) == 20
    assert set(w.publishers) <= {s.node for s in w.subscriptions}


def test_bystanders_may_subscribe_to_a_topic_without_publishers() -> None:
    values = {"workload": "topics", "nodes": 50, "publishers": 3, "subscribers": 20, "events": 9}
    silent, subscribed = workload(**values), workload(**values, bystanders="subscribed")
    assert sorted(s.node for s in subscribed.subscriptions) == list(range(50))
    assert [s.number for s in subscribed.subscriptions] == list(range(50))
    assert interested(subscribed) == interested(silent) == [20] * 9
    assert [s.node for s in subscribed.subscriptions[:20]] == [s.node for s in silent.subscriptions]
    assert [(p.t, p.node) for p in subscribed.publications] == [(p.t, p.node) for p in silent.publications]


def test_other_seeds_have_other_publishers_and_subscribers() -> None:
    one, two = (workload(seed, nodes=100, publishers=5, subscribers=10) for seed in (1, 2))
    assert one.publishers != two.publishers
    assert [s.node for s in one.subscriptions] != [s.node for s in two.subscriptions]


def test_every_node_is_equally_likely_to_publish() -> None:
    counts = Counter(workload(seed, nodes=10, publishers=1, subscribers=1).publishers[0] for seed in range(600))
    assert stats.chisquare([counts[node] for node in range(10)]).pvalue > 1e-3


def test_a_scenario_without_publishers_is_silent() -> None:
    assert workload(publishers=0).publications == []
    assert workload(publishers=0, events=5).publications == []
    assert workload(rate_hz=0.0).publications == []


# ---- ranges


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.8])
@pytest.mark.parametrize("per_node", [1, 2, 5])
def test_an_event_interests_the_given_share_of_nodes(share: float, per_node: int) -> None:
    w = workload(
        workload="ranges",
        nodes=200,
        publishers=200,
        subscribers=200,
        events=400,
        subscriptions_per_node=per_node,
        interested=share,
    )
    assert len(w.subscriptions) == 200 * per_node
    counts = np.array(interested(w)) / 200
    deviation = sqrt(share * (1 - share) / 200)  # for one set of filters: more events are not new samples
    assert counts.mean() == pytest.approx(share, abs=4 * deviation / sqrt(10))


def test_every_event_interests_equally_many_nodes() -> None:
    """Also at the ends of the range of numbers."""
    shares: dict[int, list[float]] = {0: [], 1: [], 2: []}
    for seed in range(20):
        w = workload(seed, workload="ranges", nodes=100, publishers=100, subscribers=100, events=300, interested=0.3)
        for p, n in zip(w.publications, interested(w), strict=True):
            value = p.attrs["v"]
            assert isinstance(value, float)
            third = 0 if value < 1e5 else 2 if value > 9e5 else 1
            shares[third].append(n / 100)
    for of_number in shares.values():
        assert np.mean(of_number) == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (1.0, 100)])
def test_shares_of_zero_and_one_are_possible(share: float, expected: int) -> None:
    w = workload(workload="ranges", nodes=100, publishers=100, subscribers=100, events=50, interested=share)
    assert set(interested(w)) == {expected}


@pytest.mark.parametrize(("share", "per_node"), [(0.05, 1), (0.2, 2), (0.5, 1), (0.8, 4)])
def test_ranges_that_begin_within_the_numbers_interest_the_given_share_in_the_mean(share: float, per_node: int) -> None:
    values = {"workload": "ranges", "nodes": 200, "publishers": 200, "subscribers": 200, "events": 400}
    values |= {"subscriptions_per_node": per_node, "interested": share, "ranges_within": True}
    means = [np.mean(interested(workload(seed, **values))) / 200 for seed in range(8)]
    assert np.mean(means) == pytest.approx(share, abs=0.01)


def test_ranges_that_begin_within_the_numbers_begin_anywhere_and_are_equally_wide() -> None:
    w = workload(workload="ranges", nodes=2000, interested=0.2, subscriptions_per_node=2, ranges_within=True)
    filters = [s.filter for s in w.subscriptions]
    lows = [f.low for f in filters if isinstance(f, Range)]
    assert len(lows) == 4000 and min(lows) > 0.0 and max(lows) <= NUMBERS
    assert stats.kstest(lows, stats.uniform(0, NUMBERS).cdf).pvalue > 1e-3
    assert {round(f.high - f.low, 2) for f in filters if isinstance(f, Range)} == {
        round(NUMBERS * width_within(0.2, 2), 2)
    }


def test_with_one_range_per_node_small_numbers_interest_fewer_nodes() -> None:
    width = width_within(0.3, 1)
    shares: dict[bool, list[float]] = {True: [], False: []}
    assert pytest.approx(width - width**2 / 2) == 0.3
    for seed in range(10):
        w = workload(seed, workload="ranges", nodes=200, publishers=200, events=400, interested=0.3, ranges_within=True)
        for p, n in zip(w.publications, interested(w), strict=True):
            value = p.attrs["v"]
            assert isinstance(value, float)
            shares[value < width * NUMBERS].append(n / 200)
    assert np.mean(shares[True]) == pytest.approx(width / 2, abs=0.02)
    assert np.mean(shares[False]) == pytest.approx(width, abs=0.02)


@given(st.floats(0, 1), st.integers(1, 20))
def test_the_width_of_a_range_gives_the_share_back(part: float, k: int) -> None:
    """Up to k / (k + 1), where a range is as wide as all numbers."""
    share = part * k / (k + 1)
    x = width_within(share, k)
    assert 0.0 <= x <= 1.0
    none = integrate.quad(lambda v: (1 - min(v, x)) ** k, 0, 1, points=[x])[0]
    assert 1 - none == pytest.approx(share, abs=1e-6)


# ---- interests


def test_interests_are_conjunctions_of_up_to_the_given_attributes() -> None:
    w = workload(
        workload="interests",
        nodes=300,
        publishers=300,
        subscribers=300,
        interests=30,
        attributes_max=4,
        subscriptions_per_node=3,
        events=500,
    )
    assert len(w.catalogue) == 30
    assert Counter(len(attrs) for attrs in w.catalogue).keys() == {1, 2, 3, 4}
    per_node = Counter(s.node for s in w.subscriptions)
    assert set(per_node) == set(range(300)) and set(per_node.values()) == {1, 2, 3}
    assert np.mean(list(per_node.values())) == pytest.approx(2.0, abs=0.2)
    for node in range(300):
        mine = [str(s.filter) for s in w.subscriptions if s.node == node]
        assert len(set(mine)) == len(mine)
    assert all(1 <= len(p.attrs) <= 4 for p in w.publications)
    # an event has the attributes of an interest, so nodes with that interest want it: 2 of 30 in the mean
    assert np.mean(interested(w)) == pytest.approx(300 * 2 / 30, rel=0.15)


def test_an_event_has_the_attributes_of_an_interest() -> None:
    w = workload(workload="interests", interests=5, attributes_max=3, publishers=100, subscribers=100, events=200)
    for p in w.publications:
        assert any(attrs.items() <= p.attrs.items() for attrs in w.catalogue)
    assert {p.attrs["a"] for p in w.publications} == {f"i{k}" for k in range(5)}


# ---- times


def test_poisson_arrivals_have_exponential_gaps_and_the_given_rate() -> None:
    w = workload(publishers=4, rate_hz=2.0, duration_s=500.0)
    assert len(w.publications) == pytest.approx(4 * 2 * 500, rel=4 / sqrt(4000))
    for node in w.publishers:
        times = [p.t * 1e-6 for p in w.publications if p.node == node]
        assert stats.kstest(np.diff(times), "expon", (0, 0.5)).pvalue > 1e-3


def test_periodic_arrivals_have_equal_gaps_and_different_phases() -> None:
    w = workload(publishers=30, rate_hz=2.0, duration_s=20.0, arrivals="periodic")
    phases = []
    for node in w.publishers:
        times = [p.t for p in w.publications if p.node == node]
        assert len(times) == 40
        assert all(abs(b - a - 500_000) <= 1 for a, b in pairwise(times))
        phases.append(times[0])
    assert len(set(phases)) == 30
    assert stats.kstest(phases, "uniform", (0, 500_000)).pvalue > 1e-3


def test_publications_stay_within_their_window_and_in_order() -> None:
    for values in ({"rate_hz": 5.0}, {"events": 200}, {"rate_hz": 5.0, "arrivals": "periodic"}):
        w = workload(publishers=5, duration_s=100.0, publish_from_s=20.0, publish_until_s=60.0, **values)
        times = [p.t for p in w.publications]
        assert times == sorted(times)
        assert 20e6 <= times[0] < 22e6 and 58e6 < times[-1] <= 60e6


@pytest.mark.parametrize("events", [1, 2, 137])
def test_there_are_exactly_the_given_number_of_events(events: int) -> None:
    w = workload(publishers=10, events=events, rate_hz=99.0)
    assert len(w.publications) == events
    assert {p.node for p in w.publications} <= set(w.publishers)


def test_many_events_are_spread_over_the_publishers_and_the_time() -> None:
    w = workload(publishers=10, events=2000)
    counts = Counter(p.node for p in w.publications)
    assert stats.chisquare([counts[node] for node in w.publishers]).pvalue > 1e-3
    assert stats.kstest([p.t for p in w.publications], "uniform", (0, 100e6)).pvalue > 1e-3


def test_a_single_event_comes_at_the_beginning_of_the_window() -> None:
    assert workload(events=1, publish_from_s=10.0).publications[0].t == 10_000_000


# ---- contents


def test_payload_validity_topic_and_scope() -> None:
    p = workload(payload_bytes=123, validity_s=2.5).publications[0]
    assert (len(p.payload), p.validity_us, p.topic, p.attrs, p.scope) == (123, 2_500_000, TOPIC, {}, GLOBAL)
    assert workload().publications[0].validity_us == FOREVER


def test_the_share_of_local_events_is_the_given_one() -> None:
    scopes = Counter(p.scope for p in workload(events=2000, local_share=0.3).publications)
    assert scopes[LOCAL] / 2000 == pytest.approx(0.3, abs=0.04)


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_the_share_of_local_events_may_be_a_share_of_notifications(share: float) -> None:
    """Counted in the log: pairs of a local event and a node near it, among all pairs."""
    scenario = Scenario(
        nodes=60,
        mobility="static",
        mac="ideal",
        publishers=60,
        subscribers=60,
        events=1500,
        local_share=share,
        local_of="notifications",
        local_range_m=300.0,
        duration_s=5.0,
    )
    sink = MemorySink()
    result = simulate(scenario, "gossip", {"p": 0.0}, level="deliveries", sink=sink, possible=False)
    contents = [json.loads(row[8]) for row in sink.rows if row[2] == schema.PUBLISH]
    local = sum(len(content["near"]) for content in contents if content["scope"] == "local")
    assert local / result.metrics["interested"] == pytest.approx(share, abs=0.04)


def test_a_share_of_zero_or_one_is_the_same_for_notifications_and_publications() -> None:
    for share in (0.0, 1.0):
        scopes = {p.scope for p in workload(events=50, local_share=share, local_of="notifications").publications}
        assert scopes == ({LOCAL} if share else {GLOBAL})


def test_a_local_event_is_for_nodes_near_its_publisher() -> None:
    sink = MemorySink()
    scenario = Scenario(
        nodes=100,
        mobility="static",
        publishers=100,
        subscribers=100,
        events=100,
        local_share=1.0,
        local_range_m=200.0,
        duration_s=10.0,
    )
    result = simulate(scenario, "gossip", level="deliveries", sink=sink)
    # with q = range / side, a disc has pi q^2 - 8/3 q^3 + 1/2 q^4 of the area in the mean: 10.5 %
    assert result.metrics["interested"] == pytest.approx(100 * 99 * 0.105, rel=0.2)


def test_two_protocols_under_one_seed_get_the_same_publications() -> None:
    scenario = Scenario(nodes=40, width_m=500.0, height_m=500.0, publishers=5, duration_s=10.0, local_share=0.5)
    asked = []
    for protocol in ("gossip", "frugal", "proximity"):
        sink = MemorySink()
        simulate(scenario, protocol, level="deliveries", sink=sink)
        asked.append([row for row in sink.rows if row[2] in (schema.PUBLISH, schema.SUBSCRIBE)])
    assert asked[0] == asked[1] == asked[2]
    assert len(asked[0]) > 40


def test_more_nodes_do_not_change_the_times_of_publications() -> None:
    """Times and roles come from different streams."""
    plain, local = workload(events=30), workload(events=30, local_share=0.5)
    assert [(p.t, p.node) for p in plain.publications] == [(p.t, p.node) for p in local.publications]


# ---- helpers


def test_shuffling_gives_every_order_with_equal_probability() -> None:
    stream = Stream(1, 0, "shuffle")
    counts = Counter(tuple(shuffled([0, 1, 2, 3], stream)) for _ in range(4800))
    assert len(counts) == 24
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_seconds_are_rounded_to_microseconds() -> None:
    assert [micros(s) for s in (0.0, 1.0, 0.0000014, 0.0000016, 2.5)] == [0, 1_000_000, 1, 2, 2_500_000]
