"""What could have been delivered: small worlds computed by hand, and no protocol delivers more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from roamcast.protocols import registry
from roamcast.pubsub.event import FOREVER
from roamcast.world.contacts.kinetic import KineticContacts
from roamcast.world.contacts.scheduled import ScheduledContacts
from roamcast.world.mobility.static import Placed
from roamcast.world.possible import possible_pairs
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from roamcast.world.workload import Workload

S = 1_000_000
CONTACTS = "20 0 1\n100 1 2\n120 1 2\n"
"""0 and 1 meet on [0, 20], 1 and 2 on [80, 120]."""


def scenario(tmp_path: Path, publish_at_s: float, **values: Any) -> Scenario:
    path = tmp_path / "contacts"
    path.write_text(CONTACTS)
    asked = {"duration_s": 150.0, **values}
    return Scenario(
        nodes=3,
        mobility="contacts",
        trace=str(path),
        workload="topics",
        subscribers=3,
        events=1,
        publish_from_s=publish_at_s,
        publish_until_s=publish_at_s,
        **asked,
    )


def possible(s: Scenario, publisher: int, protocol: str = "flooding-periodic") -> dict[str, Any]:
    seed = next(seed for seed in range(100) if Workload(s, seed).publishers == [publisher])
    return simulate(s, protocol, {}, seed).metrics


@pytest.mark.parametrize(
    ("publisher", "publish_at_s", "values", "expected"),
    [
        (0, 5.0, {}, 2),  # to 1 at once, and 1 takes it to 2
        (0, 20.0, {}, 2),  # the last instant of the contact
        (0, 20.1, {}, 0),  # too late
        (0, 50.0, {}, 0),
        (1, 5.0, {}, 2),
        (1, 50.0, {}, 1),  # only the contact with 2 is still to come
        (1, 121.0, {}, 0),
        (2, 5.0, {}, 1),  # 1 gets it when its contact with 0 is over
        (0, 5.0, {"validity_s": 74.0}, 1),  # expires at 79
        (0, 5.0, {"validity_s": 75.0}, 2),  # expires when 1 and 2 meet
        (0, 5.0, {"duration_s": 79.0}, 1),
        (0, 5.0, {"duration_s": 80.0}, 2),
    ],
)
def test_possible_pairs_of_small_worlds_agree_with_those_found_by_hand(
    tmp_path: Path, publisher: int, publish_at_s: float, values: dict[str, Any], expected: int
) -> None:
    metrics = possible(scenario(tmp_path, publish_at_s, **values), publisher)
    assert metrics["possible"] == expected
    assert metrics["deliveries"] <= expected
    assert metrics["of_possible"] == (metrics["deliveries"] / expected if expected else None)


def test_a_protocol_that_carries_events_delivers_all_that_is_possible(tmp_path: Path) -> None:
    s = scenario(tmp_path, 5.0)
    assert possible(s, 0)["of_possible"] == 1.0
    assert possible(s, 0, "gossip")["of_possible"] in (0.0, 0.5)


def test_nodes_that_are_down_neither_receive_nor_send() -> None:
    """A row 0 – 1 – 2; 1 is down when 0 publishes, and comes back later."""
    motion = KineticContacts(Placed([(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)]), 3, 1, [150.0] * 3)
    publications = [(2 * S, 0, FOREVER, [1, 2]), (2 * S, 2, 7 * S, [0])]
    down = (1 * S, 1, False)
    up = (10 * S, 1, True)  # the second event has expired by then
    assert possible_pairs(motion, 3, publications, [down], 9 * S) == 0
    assert possible_pairs(motion, 3, publications, [down, up], 11 * S) == 2


def test_links_that_go_one_way_are_used_one_way() -> None:
    motion = KineticContacts(Placed([(0.0, 0.0), (100.0, 0.0)]), 2, 1, [120.0, 80.0])
    publications = [(1 * S, 0, FOREVER, [1]), (1 * S, 1, FOREVER, [0])]
    assert possible_pairs(motion, 2, publications, [], 2 * S) == 1


def test_only_interested_nodes_count() -> None:
    motion = ScheduledContacts(4, [(0.0, 0, 1, True), (0.0, 0, 2, True)])
    assert possible_pairs(motion, 4, [(1 * S, 0, FOREVER, [2, 3])], [], 2 * S) == 1


def test_each_event_counts_for_itself_and_not_for_its_publisher() -> None:
    """Nodes 0 to 2 meet, node 3 is alone. Every fifth event interests all of them, the others only node 3."""
    motion = ScheduledContacts(4, [(0.0, 0, 1, True), (0.0, 1, 2, True)])
    publications = [(k * S, k % 4, FOREVER, [0, 1, 2, 3] if k % 5 == 0 else [3]) for k in range(40)]
    to_all = [publisher for _, publisher, _, interested in publications if len(interested) == 4]
    assert possible_pairs(motion, 4, publications, [], 41 * S) == sum(2 for publisher in to_all if publisher != 3)


def test_carrier_sense_does_not_make_a_link() -> None:
    def reached(ratio: float) -> list[Any]:
        s = Scenario(nodes=20, mobility="static", range_m=120.0, carrier_sense_ratio=ratio, subscribers=19, events=5)
        return [simulate(s, "gossip", seed=seed).metrics["possible"] for seed in range(3)]

    assert reached(2.5) == reached(1.0)
    assert max(reached(1.0)) < 5 * 19


ROUGH: dict[str, Any] = {
    "nodes": 20,
    "width_m": 600.0,
    "height_m": 600.0,
    "duration_s": 12.0,
    "publishers": 5,
    "subscribers": 15,
    "rate_hz": 0.5,
    "speed_max_mps": 15.0,
    "validity_s": 2.0,
}
WORLDS: dict[str, dict[str, Any]] = {
    "crashes": {"crash_mean_s": 6.0, "repair_mean_s": 2.0},
    "sleepers, own ranges, two rays": {"awake_s": 3.0, "asleep_s": 2.0, "radio": "two-ray", "range_max_m": 250.0},
    "ranges of frames, tables kept": {
        "range_max_m": 250.0,
        "range_per": "frame",
        "crash_mean_s": 6.0,
        "keep_tables": True,
        "mac": "ideal",
    },
}


@pytest.mark.parametrize("protocol", registry.BUILT_IN)
@pytest.mark.parametrize("world", WORLDS)
def test_no_protocol_delivers_more_than_was_possible(protocol: str, world: str) -> None:
    result = simulate(Scenario(**ROUGH, **WORLDS[world]), protocol)
    in_time = sum(latency <= ROUGH["validity_s"] * S for latency in result.latencies_us)
    assert 0 < in_time <= result.metrics["possible"] <= result.metrics["interested"]


def test_a_frame_that_waits_for_its_sender_to_wake_can_deliver_an_event_that_has_expired() -> None:
    """Why `of_possible` can pass 1 where nodes sleep: a frame says how old its event was when the MAC took it."""
    s = Scenario(**ROUGH, **WORLDS["sleepers, own ranges, two rays"])
    asleep, awake = (simulate(msgspec.structs.replace(s, asleep_s=x), "roam", seed=2) for x in (2.0, 0.0))
    late = [sum(latency > ROUGH["validity_s"] * S for latency in result.latencies_us) for result in (asleep, awake)]
    assert late[0] > 0 == late[1]


def test_no_protocol_delivers_more_than_was_possible_with_a_partition() -> None:
    s = Scenario(**ROUGH)
    s = msgspec.structs.replace(s, radio="log-distance", shadowing_db=8.0, mobility="static", validity_s=0.0)
    for seed in range(1, 6):
        metrics = simulate(s, "flooding-periodic", seed=seed).metrics
        assert metrics["deliveries"] <= metrics["possible"]
