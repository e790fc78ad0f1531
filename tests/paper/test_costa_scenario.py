"""Costa, Picco, Rossetto, sentence by sentence: implementation and scenario (§III, §IV)."""

from __future__ import annotations

from math import hypot

import pytest

from roamcast.papers import presets
from roamcast.protocols.semiprob.protocol import PublicationFrame, SemiProb
from roamcast.pubsub.filters import topic
from roamcast.testing import make
from roamcast.world import mac, mobility
from roamcast.world.assembly import spec_of
from roamcast.world.density import mean_neighbours
from roamcast.world.scenario import with_values
from roamcast.world.simulate import simulate
from roamcast.world.streams import Stream
from tests.paper.costa_nodes import HOT, SECOND, delaying, event, node, subscription, travelled

# ---- §III: implementation


def test_a_received_event_is_delivered_before_it_is_routed() -> None:
    """§III: the node's own subscriptions are checked first, then those of others."""
    protocol, host = node(tau=1.0)
    protocol.on_subscribe(1, HOT)
    host.take()
    host.hear(protocol, travelled(event()), 2)
    assert [effect.split()[0] for effect in host.take()] == ["deliver", "note", "broadcast"]


def test_an_event_that_matches_two_local_subscriptions_is_delivered_once() -> None:
    protocol, host = node()
    protocol.on_subscribe(1, HOT)
    protocol.on_subscribe(2, topic("hot"))
    host.hear(protocol, travelled(event()), 2)
    assert host.delivered == [event()]


def test_r11_the_list_of_recent_events_has_a_size() -> None:
    """§III: a node remembers only the last events it got."""
    protocol, host = node(recent=3)
    for n in range(10):
        host.hear(protocol, travelled(event(n)), 2)
    assert list(protocol.recent_events) == [event(n).id for n in (7, 8, 9)]


@pytest.mark.parametrize("technique", ["none", "delay", "delay-drop"])
def test_r11_a_forgotten_event_that_is_heard_again_is_a_new_one(technique: str) -> None:
    protocol, host = make(SemiProb, technique=technique, recent=2, tau=1.0)
    protocol.on_start()
    protocol.on_subscribe(1, HOT)
    for n in (1, 2, 1, 3, 1):  # 1 is a duplicate while it is one of the last two
        host.hear(protocol, travelled(event(n)), 2)
        host.advance(protocol, host.clock_us + 2 * SECOND)
    assert [e.id for e in host.delivered] == [event(n).id for n in (1, 2, 3, 1)]
    assert [frame.event.id for frame in host.frames("event")] == [event(n).id for n in (1, 2, 3, 1)]


def test_r11_an_event_forgotten_while_it_waits_can_be_heard_again() -> None:
    protocol, host = delaying(technique="delay-drop", recent=1)
    for n in (1, 2):
        host.hear(protocol, travelled(event(n)), 2)
    host.advance(protocol, SECOND)
    host.hear(protocol, travelled(event(1)), 2)
    host.advance(protocol, 2 * SECOND)
    assert [frame.event.id for frame in host.frames("event")] == [event(n).id for n in (1, 2, 1)]


def test_r11_with_fewer_remembered_events_than_are_on_their_way_nodes_flood_again_and_again() -> None:
    world = {"nodes": 100, "placement": "grid", "mobility": "static", "neighbours": 5.0, "mac": "tinyos"}
    load = {"rate_bps": 19_200.0, "publishers": 12, "subscribers": 10, "rate_hz": 0.5, "duration_s": 15.0}
    motes = with_values(world | load | {"payload_bytes": 2}, {})
    runs = {n: simulate(motes, "semiprob", {"tau": 1.0, "recent": n}, 1) for n in (12, 64, 4096)}
    assert runs[64].fingerprint == runs[4096].fingerprint, "no more than 64 events are on their way"
    assert runs[12].metrics["frames_sent"] > 1.1 * runs[4096].metrics["frames_sent"]


def test_r11_a_full_table_loses_the_lease_that_ends_first() -> None:
    protocol, host = node(table=2)
    for n, lease_s in enumerate((50, 20, 90)):
        host.hear(protocol, subscription(msgid=n, lease_s=lease_s, filter=topic(f"t{n}")), 5)
    assert list(protocol.nonlocal_) == [topic("t0"), topic("t2")]


def test_r11_a_full_queue_accepts_nothing() -> None:
    protocol, host = delaying(queue=2)
    for n in range(4):
        host.hear(protocol, travelled(event(n)), 2)
    host.advance(protocol, SECOND)
    assert [frame.event.id for frame in host.frames("event")] == [event(0).id, event(1).id]
    assert host.labels("drop") == ["queue full"] * 2


def test_r12_an_expired_event_is_neither_delivered_nor_sent() -> None:
    """The messages of Fig. 2 have no lifetime; events of this project may have one."""
    protocol, host = delaying()
    protocol.on_subscribe(1, HOT)
    old = event(1, validity_us=300_000)
    host.hear(protocol, travelled(old, 300_000), 2)
    assert host.delivered == [] and host.labels("drop") == ["expired"]
    host.hear(protocol, travelled(old, 299_999), 2)
    assert host.delivered == [old]
    host.advance(protocol, SECOND)
    assert host.frames("event") == [] and host.labels("drop") == ["expired"] * 2


# ---- §IV: the scenario


@pytest.mark.parametrize("reading, airtime_ms", [("", 11.8), ("mica2", 19.2)])
def test_r13_a_packet_has_the_airtime_of_the_first_mica_or_of_the_mica2(reading: str, airtime_ms: float) -> None:
    """Abstract and §IV: MICA2 motes, simulated by TOSSIM."""
    s = presets.load("costa", reading).scenario()
    assert s.mac == "tinyos"
    radio = mac.build(spec_of(s).mac)
    packet = radio.bytes_on_air(PublicationFrame(event(), True, 0).size)
    assert packet == 36 and radio.airtime(packet) / 1000 == pytest.approx(airtime_ms, abs=0.05)


def largest_share(reading: str, seed: int) -> float:
    """The share of nodes in the largest connected part of an area of the preset."""
    s = presets.load("costa", reading).scenario()
    model = mobility.build(s, seed)
    legs = [model.first(i, Stream(seed, i, "mobility")) for i in range(s.nodes)]
    left, largest = set(range(s.nodes)), 0
    while left:
        part = [left.pop()]
        for i in part:
            near = [j for j in left if hypot(legs[i].x - legs[j].x, legs[i].y - legs[j].y) <= s.range_m]
            part += near
            left.difference_update(near)
        largest = max(largest, len(part))
    return largest / s.nodes


def test_r14_flooding_can_deliver_nearly_all_on_lattices_but_not_with_uniform_placement() -> None:
    """§IV: flooding "delivers all the events" at η = 5; tests/papers/test_presets.py counts η for all placements."""
    shares = {name: [largest_share(name, seed) for seed in range(10)] for name in ("", "grid-cells", "uniform-fields")}
    assert shares[""] == [1.0] * 10
    assert min(shares["grid-cells"]) > 0.95 and sum(share == 1.0 for share in shares["grid-cells"]) >= 3
    assert sum(shares["uniform-fields"]) / 10 < 0.9 and max(shares["uniform-fields"]) < 1.0


def test_r14_the_papers_numbers_of_neighbours_are_rings_of_a_triangular_lattice() -> None:
    """Table I and Fig. 6: η = 5, 10 and 15 with 200 nodes. No square grid of any size has 5 or 15."""

    def possible(placement: str, nodes: int) -> set[float]:
        sides = [60.0 * 1.01**k for k in range(320)]
        return {mean_neighbours(nodes, side, 50.0, placement, 0.0) for side in sides}

    assert {int(eta) for eta in possible("triangle", 200) if 1 <= eta < 18} == {5, 10, 15}
    assert not {round(eta) for eta in possible("grid", 196) if 1 <= eta < 18} & {5, 15}
