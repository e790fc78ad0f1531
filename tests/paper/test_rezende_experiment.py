"""Rezende, Rocha, Loureiro, sentence by sentence: readings of the experiment, and validity (§4)."""

from __future__ import annotations

import math
from statistics import mean, pstdev

import pytest

from roamcast.log.writer import LogSink
from roamcast.papers import presets
from roamcast.pubsub.event import Event, event_id
from roamcast.world import mobility
from roamcast.world.assembly import build
from roamcast.world.mobility.base import Leg
from roamcast.world.mobility.stationary import Speeds
from roamcast.world.streams import Stream
from roamcast.world.workload import NUMBERS, Workload
from tests.paper.rezende_nodes import SECOND, between, buffered, carrying, node, pass_ms, values

# ---- §4: readings of the experiment


PAPER = presets.load("rezende")


def interested_nodes(interested: str) -> tuple[float, set[float]]:
    """The mean number of nodes that a publication interests, and the widths of ranges as shares of R."""
    workload = Workload(PAPER.scenario({"interested": interested}), seed=1)
    widths = {round((filter.high - filter.low) / NUMBERS, 5) for _, filter in workload.filters}
    wanting = []
    for p in workload.publications:
        event = Event(1, p.topic, p.attrs)
        wanting.append(len({node for node, filter in workload.filters if filter.matches(event)}))
    return mean(wanting), widths


def test_r1_a_publication_interests_a_fifth_of_the_nodes_and_needs_ranges_of_about_a_tenth() -> None:
    """§4: a publication should interest a fifth of the nodes."""
    assert PAPER.values["interested"] == 0.2
    nodes, widths = interested_nodes("0.2")
    assert nodes == pytest.approx(0.2 * 200, rel=0.1)
    (width,) = widths
    assert 0.1 < width < 0.125  # 1 - sqrt(0.8), and a little more because a range may begin below the first number


def test_r1_or_ranges_are_a_400th_and_a_publication_interests_one_node() -> None:
    """§4: S_range = R/400, from 200 nodes with two subscriptions each."""
    nodes, widths = interested_nodes("0.005")
    assert nodes == pytest.approx(1.0, rel=0.15)
    (width,) = widths
    assert width == pytest.approx(1 / 400, rel=0.01)


def test_r2_speeds_are_normal_around_the_middle_and_cut_at_both_ends() -> None:
    """Table 2: "[1.5, 4.0] m/s (normally)"; a quarter of the width is our deviation, so the cut is at two
    deviations."""
    s = PAPER.scenario()
    assert (s.speed_min_mps, s.speed_max_mps, s.speed_law) == (1.5, 4.0, "normal")
    speeds, stream = Speeds(s.speed_min_mps, s.speed_max_mps, s.speed_law), Stream(1, 0, "speeds")
    drawn = [speeds.draw(stream) for _ in range(20_000)]
    assert min(drawn) >= 1.5 and max(drawn) <= 4.0
    assert mean(drawn) == pytest.approx(2.75, abs=0.02)
    assert pstdev(drawn) == pytest.approx(
        0.8796 * 0.625, rel=0.02
    )  # the deviation of a normal law that is cut at two deviations
    within_one = sum(abs(v - 2.75) < 0.625 for v in drawn) / len(drawn)
    assert within_one == pytest.approx(0.6827 / 0.9545, abs=0.015)  # 0.5 if they were uniform


def first_legs(start: str = "stationary") -> list[Leg]:
    s = PAPER.scenario({"start": start})
    return [mobility.build(s, seed).first(i, Stream(seed, i, "mobility")) for seed in range(1, 16) for i in range(200)]


def test_r3_the_share_of_walking_nodes_at_the_start_is_the_long_run_share() -> None:
    """The share of walking nodes is E[walk] / (E[walk] + E[pause]), with mean legs of 0.5214 sides and pauses of 300
    s."""
    s = PAPER.scenario()
    speeds, stream = Speeds(1.5, 4.0, "normal"), Stream(1, 0, "speeds")
    slowness = mean(1 / speeds.draw(stream) for _ in range(20_000))
    walk_s = 0.5214 * math.sqrt(s.width_m * s.height_m) * slowness
    legs = first_legs()
    walking = [leg for leg in legs if leg.vx or leg.vy]
    assert len(walking) / len(legs) == pytest.approx(walk_s / (walk_s + 300.0), abs=0.03)


def test_r3_pauses_at_the_start_are_longer_than_most_and_a_uniform_part_has_passed() -> None:
    """At a random instant, a pause from [0, 600] s has 200 s left in the mean: a third of the longest."""
    rests = [leg.end_s for leg in first_legs() if not leg.vx and not leg.vy]
    assert mean(rests) == pytest.approx(200.0, rel=0.05)
    assert max(rests) > 500.0


def test_r3_or_all_nodes_start_to_move_at_once() -> None:
    assert all(leg.start_s == 0.0 and math.hypot(leg.vx, leg.vy) > 1.49 for leg in first_legs("moving"))


def test_r6_the_range_is_50_m_as_in_the_paper_and_the_carrier_sense_range_is_a_field_of_the_preset() -> None:
    """Table 1 gives RXThresh, "(50m)", and no CSThresh; ours is ns-2's usual ratio of 550 m to 250 m."""
    assert PAPER.values["range_m"] == 50.0
    assert PAPER.values["carrier_sense_ratio"] == pytest.approx(550 / 250)
    assert "R6" in PAPER.sources["carrier_sense_ratio"]
    for ratio, sensed_m in (("2.2", 110.0), ("1", 50.0)):
        world = build(PAPER.scenario({"carrier_sense_ratio": ratio}), 1, "summary", LogSink())
        assert world.radio.farthest(50.0) == pytest.approx(50.0)
        assert world.radio.sensed_up_to(50.0) == pytest.approx(sensed_m)


# ---- R12: validity


def test_r12_a_publication_that_arrives_expired_is_neither_delivered_nor_buffered_nor_sent() -> None:
    for age_us, arrives in ((SECOND - 1, True), (SECOND, False)):
        protocol, host = node(own_subscriptions=True)
        protocol.on_subscribe(1, between(1, 9))
        pass_ms(protocol, host, 5)
        host.hear(protocol, carrying(Event(event_id(9, 5), attrs={"v": 5}, validity_us=SECOND), age_us), 2)
        assert bool(host.delivered) is arrives and buffered(protocol) == ([5] if arrives else [])
        assert bool(protocol.answers) is arrives
        assert host.labels("drop") == ([] if arrives else ["expired"])


def test_r12_a_publication_that_expired_in_the_buffer_is_not_chosen() -> None:
    protocol, host = node(pb_max=1)
    for value, validity_us in ((1, SECOND), (2, 2 * SECOND)):
        host.hear(protocol, carrying(Event(event_id(9, value), attrs={"v": value}, validity_us=validity_us)), 2)
    pass_ms(protocol, host, 1000)
    host.draws = [0.0]  # with two events, the first would have been drawn
    protocol.on_motion(False)
    assert values(host) == [2] and host.draws == [0.0]
    assert host.labels("drop") == ["expired"] and buffered(protocol) == [2]


def test_r12_a_publication_that_expires_while_it_waits_is_not_sent() -> None:
    for validity_us, sent in ((500, []), (501, [5])):
        protocol, host = node(own_subscriptions=True)
        protocol.on_subscribe(1, between(1, 9))
        pass_ms(protocol, host, 5)
        host.draws = [0.5]  # of a millisecond
        host.hear(protocol, carrying(Event(event_id(9, 5), attrs={"v": 5}, validity_us=validity_us)), 2)
        pass_ms(protocol, host, 5)
        assert values(host) == sent
        assert host.labels("drop") == (["expired"] if not sent else [])
