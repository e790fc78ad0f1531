"""What happens to frames on the air: overlaps, capture, interference, ranges, random losses, links from tables."""

from __future__ import annotations

from collections import Counter
from math import cos, isnan, pi, sin, sqrt
from pathlib import Path

import msgspec
import pytest

from roamcast.log import schema
from roamcast.log.schema import LOSS
from roamcast.log.writer import LogSink
from roamcast.world.assembly import build
from roamcast.world.links import neighbourhood, read_table
from roamcast.world.radio import SENSITIVITY_DBM, Table
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.support.data import data
from tests.support.sinks import MemorySink
from tests.world.stage import AIRTIME_US, RANGE_M, Stage

ROW = [(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)]
LAWS = pytest.mark.parametrize("law", ["disc", "log-distance"])


def at_strength(strength: float, angle: float = 0.0, exponent: float = 3.0) -> tuple[float, float]:
    """Where a frame from here arrives at the origin with this strength."""
    d = RANGE_M * strength ** (-1.0 / exponent)
    return d * cos(angle), d * sin(angle)


def db(decibels: float) -> float:
    return 10.0 ** (decibels / 10.0)


# ---- overlaps


@LAWS
def test_frames_of_hidden_terminals_collide_between_them(law: str) -> None:
    stage = Stage(ROW, law=law)
    stage.send(0.001, 0)
    stage.send(0.002, 2)
    stage.run(1.0)
    assert stage.sent(0) + stage.sent(2) == [1000, 2000]
    assert stage.heard(1) == []
    assert Counter(why for _, why in stage.lost(1)) == {"collision": 2}


@LAWS
def test_frames_that_follow_without_a_gap_do_not_overlap(law: str) -> None:
    stage = Stage(ROW, law=law)
    stage.send(0.001, 0)
    stage.send((1000 + AIRTIME_US) * 1e-6, 2)
    stage.run(1.0)
    assert [sender for _, sender in stage.heard(1)] == [0, 2]


@LAWS
def test_an_overlap_in_the_last_microsecond_of_a_frame_garbles_it(law: str) -> None:
    stage = Stage(ROW, law=law)
    stage.send(0.001, 0)
    stage.send((1000 + AIRTIME_US - 1) * 1e-6, 2)
    stage.run(1.0)
    assert stage.heard(1) == []


@LAWS
def test_a_third_frame_that_begins_during_a_collision_is_lost_as_well(law: str) -> None:
    star = [(0.0, 0.0), *((140.0 * cos(a), 140.0 * sin(a)) for a in (0.0, 2 * pi / 3, 4 * pi / 3))]
    stage = Stage(star, law=law)
    stage.send(0.001, 1)
    stage.send(0.002, 2)
    stage.send(0.005, 3)  # the first is over, the second is not
    stage.run(1.0)
    assert stage.heard(0) == []
    assert Counter(why for _, why in stage.lost(0)) == {"collision": 3}


@LAWS
def test_a_node_does_not_hear_while_it_sends(law: str) -> None:
    """Both begin in the same microsecond."""
    stage = Stage(ROW[:2], law=law)
    stage.send(0.001, 0)
    stage.send(0.001, 1)
    stage.run(1.0)
    assert stage.sent(0) == stage.sent(1) == [1000]
    assert stage.heard(0) == stage.heard(1) == []
    assert len(stage.rows("lose")) == 2


@LAWS
def test_rows_of_stations_that_lose_a_frame_are_in_the_order_of_nodes(law: str) -> None:
    stage = Stage([(-140.0, 0.0), (140.0, 0.0), (0.0, 140.0), (0.0, 0.0)], law=law)
    for node in (0, 1, 3):
        stage.send(0.1, node)
    stage.run(1.0)
    assert [row.node for row in stage.rows("lose") if row.peer == 3] == [0, 1]
    assert stage.heard(2) != []


@LAWS
def test_time_spent_on_frames_is_counted(law: str) -> None:
    stage = Stage(ROW, law=law, level="frames")
    stage.send(0.001, 0)
    stage.send(0.002, 2)
    stage.send(0.1, 1)
    stage.run(1.0)
    spent = [(int(s.tx_us), int(s.rx_us)) for s in stage.stations]
    assert spent[0] == spent[2] == (AIRTIME_US, AIRTIME_US)
    assert spent[1][0] == AIRTIME_US
    rows = stage.rows("lose", 1)
    assert spent[1][1] == sum(row.value for row in rows)
    # the receiver was locked on to the first frame and never to the second, which began during the first
    assert sorted((row.peer, row.value) for row in rows) == [(0, AIRTIME_US), (2, 0)]


# ---- capture and interference


@pytest.mark.parametrize(("margin_db", "survives"), [(10.01, True), (12.0, True), (9.99, False), (9.0, False)])
def test_a_frame_ten_decibels_stronger_survives(margin_db: float, survives: bool) -> None:
    stage = Stage([(0.0, 0.0), at_strength(db(margin_db)), at_strength(1.0001, pi)], law="log-distance")
    stage.send(0.001, 1)
    stage.send(0.002, 2)
    stage.run(1.0)
    assert [sender for _, sender in stage.heard(0)] == [1] * survives
    assert len(stage.lost(0)) == 2 - survives


def test_a_stronger_frame_that_comes_second_is_received_unless_the_receiver_was_locked_on_to_the_first() -> None:
    """The first is sensed and cannot be decoded, so the receiver is free for the second."""
    positions = [(0.0, 0.0), at_strength(db(12.0)), at_strength(0.5, pi)]
    stage = Stage(positions, law="log-distance", carrier_sense_ratio=1.3)
    stage.send(0.001, 2)
    stage.send(0.002, 1)
    stage.run(1.0)
    assert stage.sent(1) == [2000], "1 must not sense 2"
    assert [sender for _, sender in stage.heard(0)] == [1]


def test_a_receiver_that_is_locked_on_to_a_weak_frame_loses_the_strong_one_as_well() -> None:
    """The strength of the second does not matter: a receiver does not synchronise again within a frame."""
    stage = Stage([(0.0, 0.0), at_strength(db(30.0)), at_strength(1.0001, pi)], law="log-distance")
    stage.send(0.001, 2)
    stage.send(0.002, 1)
    stage.run(1.0)
    assert stage.heard(0) == []
    assert Counter(why for _, why in stage.lost(0)) == {"collision": 2}


def test_interference_adds_up() -> None:
    """Each interferer is 12 dB weaker than the frame, both together are 9 dB weaker."""
    places = [(0.0, 0.0), at_strength(db(12.0)), at_strength(1.0001, 0.7 * pi), at_strength(1.0001, 1.3 * pi)]
    outcomes = []
    for interferers in ((2,), (3,), (2, 3)):
        stage = Stage(places, law="log-distance")
        stage.send(0.001, 1)
        for node in interferers:
            stage.send(0.002, node)
        stage.run(1.0)
        assert all(stage.sent(node) == [2000] for node in interferers)
        outcomes.append([sender for _, sender in stage.heard(0)])
    assert outcomes == [[1], [1], []]


def test_interference_that_has_ended_does_not_count() -> None:
    places = [(0.0, 0.0), at_strength(db(12.0)), at_strength(1.0001, 0.7 * pi), at_strength(1.0001, 1.3 * pi)]
    stage = Stage(places, law="log-distance")
    stage.send(0.001, 1)
    stage.send(0.0015, 2, size=50)  # 880 us
    stage.send(0.0030, 3, size=50)
    stage.run(1.0)
    assert [sender for _, sender in stage.heard(0)] == [1]


def test_on_a_disc_nothing_survives_an_overlap_however_near_its_sender() -> None:
    stage = Stage([(0.0, 0.0), (1.0, 0.0), (-149.9, 0.0)], carrier_sense_ratio=1.0)
    stage.send(0.001, 1)
    stage.send(0.002, 2)
    stage.run(1.0)
    assert stage.heard(0) == []


# ---- carrier sense


@pytest.mark.parametrize("law", ["disc", "free-space", "two-ray", "log-distance"])
def test_a_frame_is_sensed_beyond_the_range_at_which_it_can_be_decoded(law: str) -> None:
    stage = Stage([(0.0, 0.0), (250.0, 0.0)], law=law, carrier_sense_ratio=2.0)
    stage.send(0.001, 0)
    stage.send(0.002, 1)
    stage.run(1.0)
    (slots,) = stage.draws(1, 32)
    assert stage.sent(1) == [1000 + AIRTIME_US + 50 + 20 * slots]
    assert stage.rows("receive") == stage.rows("lose") == []


@pytest.mark.parametrize("law", ["disc", "free-space", "two-ray", "log-distance"])
def test_beyond_the_carrier_sense_range_nothing_is_sensed(law: str) -> None:
    stage = Stage([(0.0, 0.0), (301.0, 0.0)], law=law, carrier_sense_ratio=2.0)
    stage.send(0.001, 0)
    stage.send(0.002, 1)
    stage.run(1.0)
    assert stage.sent(1) == [2000]


def test_on_a_disc_a_frame_that_is_only_sensed_disturbs_others() -> None:
    """2 is 200 m from 1: out of its range of 150 m, within its carrier-sense range of 300 m."""
    stage = Stage([(0.0, 0.0), (140.0, 0.0), (340.0, 0.0)], carrier_sense_ratio=2.0)
    stage.send(0.001, 0)
    stage.send(0.002, 2)
    stage.run(1.0)
    assert stage.sent(2) == [2000]
    assert stage.heard(1) == []
    assert [(why, row.peer) for row in stage.rows("lose", 1) for why in [row.reason]] == [("collision", 0)]


# ---- ranges


@LAWS
def test_different_ranges_make_links_one_way(law: str) -> None:
    stage = Stage([(0.0, 0.0), (100.0, 0.0)], law=law, range_m=80.0, ranges=[120.0, 80.0])
    stage.send(0.001, 0)
    stage.send(0.1, 1)
    stage.run(1.0)
    assert [sender for _, sender in stage.heard(1)] == [0]
    assert stage.heard(0) == []


@LAWS
def test_a_node_that_does_not_hear_a_neighbour_sends_during_its_frames(law: str) -> None:
    """1 does not reach 0, so 0 does not wait for it."""
    stage = Stage([(0.0, 0.0), (100.0, 0.0)], law=law, range_m=80.0, ranges=[120.0, 80.0])
    stage.send(0.001, 1)
    stage.send(0.002, 0)
    stage.run(1.0)
    assert stage.sent(0) == [2000]


@pytest.mark.parametrize("law", ["disc", "log-distance", "two-ray"])
def test_ranges_drawn_for_every_frame_have_their_distribution(law: str) -> None:
    """Uniform between 100 and 200 m: a node 130 m away gets 70 % of the frames, one 90 m away all, one 201 m none."""
    places = [(0.0, 0.0), (130.0, 0.0), (-90.0, 0.0), (0.0, 201.0)]
    stage = Stage(places, law=law, range_m=100.0, range_max_m=200.0, per_frame=True)
    for k in range(1000):
        stage.send(0.01 * (k + 1), 0, size=20)
    stage.run(20.0)
    assert len(stage.sent(0)) == len(stage.heard(2)) == 1000
    assert len(stage.heard(1)) / 1000 == pytest.approx(0.7, abs=0.05)
    assert stage.heard(3) == []


def test_a_frame_of_short_range_is_not_sensed_by_nodes_it_does_not_reach() -> None:
    """The range that counts is the one drawn for the frame, not the longest possible one."""
    places = [(0.0, 0.0), (150.0, 0.0)]
    stage = Stage(places, range_m=100.0, range_max_m=200.0, per_frame=True)
    for k in range(200):
        stage.send(0.01 * (k + 1), 0)
        stage.send(0.01 * (k + 1) + 0.001, 1)
    stage.run(4.0)
    arrived = {row.frame for row in stage.rows("receive", 1)}
    waited = [
        mine - (row.t + 1000) > 0 for row, mine in zip(stage.rows("send", 0), stage.sent(1), strict=True)
    ]  # 1 wants to send a millisecond after 0
    heard = [row.frame in arrived for row in stage.rows("send", 0)]
    assert waited == heard
    assert 60 < sum(heard) < 140


# ---- losses by chance


@LAWS
@pytest.mark.parametrize("level", ["summary", "frames"])
def test_the_share_of_receptions_lost_by_chance_is_the_given_one(law: str, level: str) -> None:
    stage = Stage([(0.0, 0.0), (10.0, 0.0), (0.0, 10.0)], law=law, loss=0.3, level=level)
    for k in range(1500):
        stage.send(0.01 * (k + 1), 0, size=20)
    stage.run(20.0)
    assert int(stage.recorder.tally.receptions) / 3000 == pytest.approx(0.7, abs=0.03)
    assert int(stage.recorder.tally.receptions) + int(stage.recorder.tally.losses[LOSS]) == 3000
    if level == "frames":
        one, two = ({row.frame for row in stage.rows("receive", node)} for node in (1, 2))
        assert len(one & two) / 1500 == pytest.approx(0.49, abs=0.05), "receivers lose independently"


def test_with_loss_1_nothing_is_received() -> None:
    stage = Stage([(0.0, 0.0), (10.0, 0.0)], loss=1.0)
    stage.send(0.001, 0)
    stage.run(1.0)
    assert stage.heard(1) == []
    assert stage.lost(1) == [(1000 + AIRTIME_US, "loss")]


def test_a_frame_lost_by_chance_is_not_acknowledged() -> None:
    stage = Stage([(0.0, 0.0), (10.0, 0.0)], loss=1.0, retries=2)
    stage.send(0.001, 0, to=1)
    stage.run(1.0)
    assert len(stage.sent(0)) == 3
    assert len(stage.happened(0, "undelivered")) == 1


# ---- partition


@LAWS
def test_nothing_crosses_a_partition_while_it_lasts(law: str) -> None:
    stage = Stage([(40.0, 0.0), (60.0, 0.0), (20.0, 0.0)], law=law, partition_us=(500_000, 1_000_000), wall_m=50.0)
    for t in (0.1, 0.5, 0.9, 1.0):
        stage.send(t, 0)
    stage.run(2.0)
    assert [t for t, _ in stage.heard(2)] == [t + AIRTIME_US for t in stage.sent(0)]
    assert [t for t, _ in stage.heard(1)] == [100_000 + AIRTIME_US, 1_000_000 + AIRTIME_US]


def test_a_partition_also_blocks_carrier_sense() -> None:
    stage = Stage([(40.0, 0.0), (60.0, 0.0)], partition_us=(0, 1_000_000), wall_m=50.0)
    stage.send(0.001, 0)
    stage.send(0.002, 1)
    stage.run(1.0)
    assert stage.sent(1) == [2000]


# ---- strength


def test_a_graded_radio_reports_the_strength_of_a_frame() -> None:
    stage = Stage([(0.0, 0.0), at_strength(1000.0)], law="log-distance")
    stage.send(0.001, 1)
    stage.run(1.0)
    ((_, _, _, signal),) = stage.happened(0, "frame")
    assert signal == pytest.approx(SENSITIVITY_DBM + 30.0)


def test_a_disc_reports_a_nominal_strength_that_falls_with_the_cube_of_distance() -> None:
    stage = Stage([(0.0, 0.0), (15.0, 0.0), (150.0, 0.0)])
    stage.send(0.001, 0)
    stage.run(1.0)
    near, far = (stage.happened(node, "frame")[0][3] for node in (1, 2))
    assert far == pytest.approx(SENSITIVITY_DBM)
    assert near == pytest.approx(SENSITIVITY_DBM + 30.0)


# ---- tables


TABLE = """src,dst,pdr,mean_rssi
0,1,0.5,-80
0,2,1.0,-60.5
0,3,0,-95
1,0,0.9,
"""


def table(tmp_path: Path, text: str) -> Scenario:
    path = tmp_path / "links.csv"
    path.write_text(text)
    return Scenario(
        nodes=4,
        radio="table",
        links=str(path),
        publishers=4,
        subscribers=4,
        rate_hz=20.0,
        arrivals="periodic",
        duration_s=50.0,
        mobility="static",
        payload_bytes=1,
    )


def link_shares(scenario: Scenario) -> dict[tuple[int, int], float]:
    """(sender, hearer) -> share of the sender's frames that arrived, of those that did not collide."""
    sink = MemorySink()
    simulate(scenario, "gossip", {"p": 0.0}, level="frames", sink=sink)
    arrived: Counter[tuple[int, int]] = Counter()
    tried: Counter[tuple[int, int]] = Counter()
    for _, node, kind, _, _, peer, _, _, reason in sink.rows:
        if kind == schema.RECEIVE or (kind == schema.LOSE and reason == "loss"):
            tried[peer, node] += 1
            arrived[peer, node] += kind == schema.RECEIVE
    return {pair: arrived[pair] / n for pair, n in tried.items()}


def test_a_table_of_links_is_respected(tmp_path: Path) -> None:
    shares = link_shares(table(tmp_path, TABLE))
    assert sorted(shares) == [(0, 1), (0, 2), (1, 0)]
    assert shares[0, 1] == pytest.approx(0.5, abs=0.06)
    assert shares[0, 2] == 1.0
    assert shares[1, 0] == pytest.approx(0.9, abs=0.04)


def test_losses_of_a_link_and_of_the_scenario_multiply(tmp_path: Path) -> None:
    scenario = table(tmp_path, TABLE)
    shares = link_shares(msgspec.structs.replace(scenario, loss=0.2))
    assert shares[0, 1] == pytest.approx(0.4, abs=0.06)
    assert shares[0, 2] == pytest.approx(0.8, abs=0.05)


def test_the_measured_links_of_a_testbed_are_respected() -> None:
    path = str(data("iotlab_grenoble/grenoble.k7.gz"))
    links = read_table(path)
    assert {node for pair in links for node in pair} <= set(range(50))
    assert all(0.0 < pdr <= 1.0 and -100.0 < rssi < -20.0 for pdr, rssi in links.values())
    scenario = Scenario(
        nodes=50,
        radio="table",
        links=path,
        mac="tinyos",
        rate_bps=250_000.0,
        publishers=50,
        subscribers=50,
        rate_hz=1.0,
        duration_s=40.0,
        mobility="static",
        payload_bytes=10,
    )
    shares = link_shares(scenario)
    assert set(shares) <= set(links)
    assert len(shares) > 0.9 * len(links)
    error = [shares[pair] - links[pair][0] for pair in shares]
    assert abs(sum(error) / len(error)) < 0.02
    assert sqrt(sum(e * e for e in error) / len(error)) < 0.1


def test_a_table_reports_the_measured_strength(tmp_path: Path) -> None:
    scenario = table(tmp_path, TABLE)
    world = build(scenario, 1, "summary", LogSink())
    assert isinstance(world.radio, Table)
    assert world.radio.links[0 << 20 | 2] == -60.5
    assert isnan(world.radio.links[1 << 20 | 0])
    assert world.faults.loss_of(0, 1) == pytest.approx(0.5)
    assert [list(row) for row in neighbourhood(scenario).hearers] == [[1, 2], [0], [], []]
