"""A node in the world: publications, timers, sleep, crashes, samples, and the energy that it uses."""

from __future__ import annotations

import pytest

from roamcast.protocols import registry
from roamcast.protocols.gossip import Gossip, GossipParams
from roamcast.pubsub.filters import Topic, topic
from roamcast.world.assembly import SAMPLES, build
from roamcast.world.faults import CRASH, RECOVER, SLEEP, WAKE
from roamcast.world.kernel import Subscription
from roamcast.world.published import COPY, HAS
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.support.log_metrics import energy
from tests.support.sinks import MemorySink
from tests.world.stage import AIRTIME_US, DIFS_US, US, Actor, Stage

PAIR = [(0.0, 0.0), (100.0, 0.0)]
LAWS = pytest.mark.parametrize("law", ["disc", "log-distance"])
NEWS = Topic("news")

# ---- sleep


@LAWS
def test_a_sleeping_node_receives_nothing(law: str) -> None:
    stage = Stage(PAIR, law=law)
    stage.switch(0.5, 1, SLEEP)
    stage.switch(1.0, 1, WAKE)
    for t in (0.1, 0.6, 0.9, 1.1):
        stage.send(t, 0)
    stage.run(2.0)
    assert [t for t, _ in stage.heard(1)] == [100_000 + AIRTIME_US, 1_100_000 + AIRTIME_US]
    assert stage.rows("lose") == []


@LAWS
def test_a_node_that_falls_asleep_during_a_frame_does_not_receive_it(law: str) -> None:
    stage = Stage(PAIR, law=law)
    stage.switch(0.102, 1, SLEEP)
    stage.send(0.1, 0)
    stage.run(2.0)
    assert stage.heard(1) == []
    assert int(stage.stations[1].rx_us) == 0


@LAWS
def test_a_node_that_wakes_up_during_a_frame_does_not_receive_it(law: str) -> None:
    stage = Stage(PAIR, law=law)
    stage.switch(0.05, 1, SLEEP)
    stage.switch(0.102, 1, WAKE)
    stage.send(0.1, 0)
    stage.send(0.2, 0)
    stage.run(2.0)
    assert [t for t, _ in stage.heard(1)] == [200_000 + AIRTIME_US]


@LAWS
def test_a_node_that_sleeps_for_a_part_of_a_frame_does_not_receive_it(law: str) -> None:
    stage = Stage(PAIR, law=law)
    stage.switch(0.101, 1, SLEEP)
    stage.switch(0.102, 1, WAKE)
    stage.send(0.1, 0)
    stage.run(2.0)
    assert stage.heard(1) == []


@LAWS
def test_a_sleeping_node_sends_nothing_and_keeps_its_queue(law: str) -> None:
    stage = Stage(PAIR, law=law)
    stage.switch(0.1, 0, SLEEP)
    stage.switch(0.5, 0, WAKE)
    for t in (0.2, 0.3):
        stage.send(t, 0)
    stage.run(2.0)
    (slots,) = stage.draws(0, 32)
    first = 500_000 + DIFS_US
    assert stage.sent(0) == [first, first + AIRTIME_US + DIFS_US + 20 * slots]
    assert [number for _, _, number, _ in stage.happened(1, "frame")] == [1, 2]


@LAWS
def test_a_frame_that_waits_when_its_node_falls_asleep_is_sent_afterwards(law: str) -> None:
    stage = Stage([*PAIR, (50.0, 0.0)], law=law)
    stage.send(0.1, 2)
    stage.send(0.101, 0)  # it has to wait for the frame of 2
    stage.switch(0.102, 0, SLEEP)
    stage.switch(0.5, 0, WAKE)
    stage.run(2.0)
    assert len(stage.sent(0)) == 1
    assert 500_000 < stage.sent(0)[0] < 501_000


@LAWS
@pytest.mark.parametrize("what", [SLEEP, CRASH])
def test_a_frame_on_the_air_is_finished_before_its_sender_goes(law: str, what: int) -> None:
    stage = Stage(PAIR, law=law)
    stage.send(0.1, 0)
    stage.switch(0.102, 0, what)
    stage.run(2.0)
    assert len(stage.heard(1)) == 1
    kind = "sleep" if what == SLEEP else "crash"
    assert [row.t for row in stage.rows(kind, 0)] == [100_000 + AIRTIME_US + 1]


def test_timers_of_a_sleeping_node_go_off() -> None:
    stage = Stage(PAIR)
    stage.wind(0.1, 0, 0.2)
    stage.switch(0.2, 0, SLEEP)
    stage.run(2.0)
    assert stage.happened(0, "timer") == [(300_000,)]


def test_a_node_that_sleeps_while_an_acknowledgement_is_due_repeats_the_frame_afterwards() -> None:
    stage = Stage([(0.0, 0.0), (1000.0, 0.0)], retries=1)
    stage.send(0.1, 0, to=1)
    stage.switch((100_000 + AIRTIME_US + 100) * 1e-6, 0, SLEEP)
    stage.switch(0.5, 0, WAKE)
    stage.run(2.0)
    first, second, *_ = stage.sent(0)
    assert (first, second) == (100_000, 500_000 + DIFS_US)
    assert [row.t for row in stage.rows("repeat", 0)] == stage.sent(0)[1:]


def test_after_a_crash_the_next_frame_repeats_nothing() -> None:
    stage = Stage([(0.0, 0.0), (1000.0, 0.0)], retries=1)
    stage.send(0.1, 0, to=1)
    stage.switch((100_000 + AIRTIME_US + 100) * 1e-6, 0, CRASH)
    stage.switch(0.5, 0, RECOVER)
    stage.send(0.6, 0, to=1)
    stage.run(2.0)
    assert len(stage.sent(0)) == 3
    assert [row.t for row in stage.rows("repeat", 0)] == stage.sent(0)[2:]


# ---- crashes


@LAWS
def test_a_crash_clears_timers_and_queue(law: str) -> None:
    stage = Stage([*PAIR, (50.0, 0.0)], law=law)
    stage.send(0.1, 2)
    stage.send(0.101, 0)
    stage.send(0.101, 0)
    stage.wind(0.1, 0, 0.9)
    stage.switch(0.102, 0, CRASH)
    stage.switch(0.5, 0, RECOVER)
    stage.run(2.0)
    assert stage.sent(0) == []
    assert stage.happened(0, "timer") == []


def test_a_timer_set_again_after_a_crash_goes_off_once_at_its_new_time() -> None:
    stage = Stage(PAIR, keep_tables=True)
    stage.wind(0.1, 0, 0.9)  # would go off at 1.0
    stage.switch(0.2, 0, CRASH)
    stage.switch(0.5, 0, RECOVER)
    stage.wind(0.6, 0, 0.9)
    stage.run(3.0)
    assert stage.happened(0, "timer") == [(1_500_000,)]


def test_a_crashed_node_publishes_nothing_and_receives_nothing() -> None:
    stage = Stage(PAIR)
    stage.switch(0.1, 0, CRASH)
    stage.switch(0.5, 0, RECOVER)
    stage.send(0.2, 0)
    stage.send(0.3, 1)
    stage.send(0.6, 0)
    stage.run(2.0)
    assert stage.sent(0) == [600_000]
    assert stage.heard(0) == []
    assert len(stage.rows("publish", 0)) == 1


@pytest.mark.parametrize("keep_tables", [False, True])
def test_a_node_that_recovers_is_started_again_with_or_without_its_tables(keep_tables: bool) -> None:
    stage = Stage(PAIR, keep_tables=keep_tables)
    stage.subscriptions = [Subscription(0, 0, NEWS), Subscription(1, 1, NEWS), Subscription(1, 2, Topic("sports"))]
    stage.send(0.05, 0)
    stage.switch(0.1, 1, CRASH)
    stage.switch(0.5, 1, RECOVER)
    stage.run(2.0)
    subscribed = [(number, text) for _, number, text in stage.happened(1, "subscribe")]
    assert subscribed == [(1, str(NEWS)), (2, str(Topic("sports")))]
    if keep_tables:
        assert stage.happened(1, "start") == [(0,), (500_000,)]
        assert stage.happened(1, "subscribe")[0][0] == 0
        assert len(stage.happened(1, "frame")) == 1
    else:
        assert stage.happened(1, "start") == [(500_000,)]
        assert stage.happened(1, "subscribe")[0][0] == 500_000
        assert stage.happened(1, "frame") == []


def test_a_node_that_recovers_without_tables_gets_muted_events_again() -> None:
    stage = Stage(PAIR)
    station = stage.stations[1]
    stage.send(0.1, 0)
    stage.switch(0.2, 1, CRASH)
    stage.switch(0.3, 1, RECOVER)
    stage.run(0.15)
    ((published,), _) = stage.recorder.events.by_publisher
    event = published.id
    station.mute(event)
    assert station.heard(event) == 0
    published.flags[1] += 2 * COPY
    assert station.heard(event) == 2
    stage.world.run(1 * US)
    assert station.heard(event) == 0
    assert not published.flags[1] & HAS


def test_copies_are_counted_beyond_what_fits_beside_the_flags() -> None:
    stage = Stage(PAIR)
    station = stage.stations[1]
    stage.send(0.1, 0)
    stage.run(0.15)
    ((published,), _) = stage.recorder.events.by_publisher
    before = published.flags[1]
    station.mute(published.id)
    air = stage.world.air
    for count in range(1, 40):
        air.receivers[0] = 1
        assert air.count_copies(published, 1) == 0
        assert station.heard(published.id) == count
    station.unmute(published.id)
    assert station.heard(published.id) == 0
    assert published.flags[1] == before | HAS


# ---- energy


def joules(stage: Stage, seconds: float) -> float:
    return float(stage.world.energy_j(round(seconds * US)))


def test_energy_of_a_frame_computed_by_hand() -> None:
    stage = Stage(PAIR)
    stage.send(0.1, 0)
    stage.run(1.0)
    s = AIRTIME_US * 1e-6
    assert joules(stage, 1.0) == pytest.approx(1.4 * s + 1.0 * s + 0.83 * (2.0 - 2 * s))


def test_energy_of_sleep_and_crash_computed_by_hand() -> None:
    stage = Stage([*PAIR, (50.0, 0.0)])
    stage.switch(0.25, 0, SLEEP)
    stage.switch(0.75, 0, WAKE)
    stage.switch(0.25, 1, CRASH)
    stage.switch(0.5, 2, SLEEP)  # to the end
    stage.run(1.0)
    sleeper = 0.5 * 0.83 + 0.5 * 0.13
    assert joules(stage, 1.0) == pytest.approx(2 * sleeper + 0.25 * 0.83)


def test_the_duty_cycle_takes_its_share_of_the_time() -> None:
    scenario = Scenario(
        nodes=100, mobility="static", duration_s=200.0, awake_s=3.0, asleep_s=7.0, events=1, subscribers=10
    )
    sink = MemorySink()
    result = simulate(scenario, "gossip", level="deliveries", sink=sink)
    asleep = result.metrics["energy_j"] / (100 * 200.0)  # mean power in watts; frames hardly count
    share = (0.83 - asleep) / (0.83 - 0.13)
    # every node is awake until some instant of the first cycle, 5 s in the mean
    assert share == pytest.approx(0.7 * 195 / 200, abs=0.01)


def test_the_battery_falls_by_the_energy_that_the_node_used() -> None:
    stage = Stage(PAIR)
    stage.send(0.1, 0)
    stage.run(1.0)
    s = AIRTIME_US * 1e-6
    assert stage.stations[0].battery() == pytest.approx(1.0 - (0.83 + (1.4 - 0.83) * s) / 1000.0)
    assert stage.stations[1].battery() == pytest.approx(1.0 - (0.83 + (1.0 - 0.83) * s) / 1000.0)


def test_subscriptions_keep_their_numbers_whatever_order_nodes_lie_in() -> None:
    stage = Stage(PAIR, level="summary")
    stage.world.by_place = stage.stations[::-1]
    stage.subscriptions = [Subscription(0, 5, NEWS), Subscription(1, 7, NEWS), Subscription(0, 9, Topic("sports"))]
    stage.run(1.0)
    assert [number for _, number, _ in stage.happened(0, "subscribe")] == [5, 9]
    assert [number for _, number, _ in stage.happened(1, "subscribe")] == [7]


class Careful(Actor):
    """Reads its battery."""

    wants_battery = True


@LAWS
def test_a_protocol_that_reads_its_battery_finds_its_own_listening_there(law: str) -> None:
    stage = Stage(PAIR, law=law, level="deliveries")  # at this level frames end everywhere at once
    stage.send(0.1, 0)
    stage.run(1.0, Careful)
    assert stage.world.air.at_once
    assert stage.stations[1].received_us(US) == AIRTIME_US
    assert stage.world.energy_j(US) == pytest.approx(2 * 0.83 + (1.4 - 0.83 + 1.0 - 0.83) * AIRTIME_US * 1e-6)


def test_an_empty_battery_is_empty() -> None:
    stage = Stage(PAIR)
    stage.run(2000.0)
    assert stage.stations[0].battery() == 0.0


@LAWS
def test_energy_from_the_log_is_the_run_s_own(law: str) -> None:
    places = [(0.0, 0.0), (100.0, 0.0), (200.0, 0.0), (100.0, 90.0)]
    stage = Stage(places, law=law, loss=0.2)
    for k in range(60):
        stage.send(0.005 * (k // 3) + 0.0007 * (k % 3), (0, 2, 3)[k % 3])
    stage.switch(0.1, 1, SLEEP)
    stage.switch(0.15, 1, WAKE)
    stage.switch(0.2, 3, CRASH)
    stage.run(1.0)
    by_node = energy(stage.sink.table(), 4, 1.0, 1.4, 1.0, 0.83, 0.13)
    assert sum(by_node) == pytest.approx(joules(stage, 1.0), rel=1e-12)
    for station, used in zip(stage.stations, by_node, strict=True):
        own = stage.recorder.energy.joules(US, station.tx_us, station.rx_us, station.asleep_us, station.off_us)
        assert used == pytest.approx(own, rel=1e-12)
    assert {"collision", "loss"} <= {row.reason for row in stage.rows("lose")}


# ---- publications and samples


def test_only_other_nodes_that_are_up_and_interested_count() -> None:
    """0 publishes; 1 is awake, 2 sleeps, 3 is down, 4 is not interested; 0 itself does not count."""
    stage = Stage([(10.0 * i, 0.0) for i in range(5)])
    stage.subscriptions = [Subscription(i, i, topic("")) for i in range(4)]
    stage.subscriptions.append(Subscription(4, 4, NEWS))
    stage.switch(0.05, 2, SLEEP)
    stage.switch(0.05, 3, CRASH)
    stage.send(0.1, 0)
    stage.run(1.0)
    assert (int(stage.recorder.tally.interested), int(stage.recorder.tally.own)) == (1, 1)


def test_an_event_counts_as_own_if_its_publisher_subscribed_and_is_awake() -> None:
    """0 publishes awake, asleep and awake again; 1 subscribes to another topic."""
    stage = Stage(PAIR)
    stage.subscriptions = [Subscription(0, 0, topic("")), Subscription(1, 1, NEWS)]
    stage.switch(0.2, 0, SLEEP)
    stage.switch(0.4, 0, WAKE)
    for t, node in ((0.1, 0), (0.3, 0), (0.5, 0), (0.6, 1)):
        stage.send(t, node)
    stage.run(1.0)
    assert len(stage.rows("publish")) == 4
    assert (int(stage.recorder.tally.own), int(stage.recorder.tally.interested)) == (2, 1)


def test_an_event_is_numbered_by_its_publisher() -> None:
    stage = Stage(PAIR)
    for t, node in ((0.1, 1), (0.2, 0), (0.3, 1)):
        stage.send(t, node)
    stage.run(1.0)
    assert [row.event for row in stage.rows("publish")] == [1 << 32 | 1, 1, 1 << 32 | 2]


def test_routing_state_is_sampled_twenty_times_a_run() -> None:
    sink = MemorySink()
    simulate(Scenario(nodes=3, subscribers=2, duration_s=10.0), "proximity", level="deliveries", sink=sink)
    samples = [row for row in sink.rows if row[2] == 17]
    assert len(samples) == 3 * SAMPLES
    assert sorted({row[0] for row in samples}) == [k * 500_000 for k in range(1, SAMPLES + 1)]


@pytest.mark.parametrize("protocol", ["gossip", "proximity"])
def test_samples_are_the_same_whether_rows_are_written_or_not(protocol: str) -> None:
    """A protocol without state is sampled only if there are rows to write; nodes that are down do not count."""
    scenario = Scenario(nodes=12, subscribers=6, duration_s=10.0, awake_s=1.0, asleep_s=2.0)
    logged = simulate(scenario, protocol, level="deliveries", sink=MemorySink())
    quiet = simulate(scenario, protocol)
    for name in ("memory_entries", "memory_bytes"):
        assert quiet.metrics[name] == logged.metrics[name]

    def samples(level: str) -> int:
        world = build(scenario, 1, level, MemorySink())
        world.populate(registry.get(protocol), registry.get(protocol).params_class(), [])
        world.start()
        world.run(10 * US)
        return int(world.recorder.tally.samples)

    assert 0 < samples("summary") == samples("deliveries") < 12 * SAMPLES


@pytest.mark.parametrize("repair", [False, True])
def test_gossip_is_asked_for_its_state_only_if_it_has_any(repair: bool) -> None:
    scenario = Scenario(nodes=12, subscribers=6, duration_s=10.0)
    logged = simulate(scenario, "gossip", {"repair": repair}, level="deliveries", sink=MemorySink())
    quiet = simulate(scenario, "gossip", {"repair": repair})
    assert quiet.metrics["memory_bytes"] == logged.metrics["memory_bytes"]
    assert (logged.metrics["memory_bytes"] > 0) == repair
    assert Gossip.holds_state(GossipParams(repair=repair)) == repair


def test_a_gossip_with_a_memory_of_its_own_is_asked() -> None:
    class Remembering(Gossip):
        def memory(self) -> tuple[int, int]:
            return (1, 8)

    assert Remembering.holds_state(GossipParams())


def test_nodes_with_equal_subscriptions_share_one_filter() -> None:
    stage = Stage(PAIR)
    stage.subscriptions = [Subscription(i, i, topic("news")) for i in range(2)]
    stage.subscriptions.append(Subscription(0, 2, topic("weather")))
    stage.run(0.1)
    first, second, other = (s.filter for s in stage.world.subscriptions)
    assert first is second
    assert other == topic("weather")


def test_a_run_in_several_pieces_equals_one_run() -> None:
    def stage() -> Stage:
        made = Stage([(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)])
        for k in range(40):
            made.send(0.004 * k, k % 3)
        return made

    whole, pieces = stage().run(0.5), stage().run(0.0)
    for k in range(1, 51):
        pieces.world.run(k * 10_000)
    assert pieces.sink.rows == whole.sink.rows
    assert pieces.recorder.fingerprint.digest() == whole.recorder.fingerprint.digest()
