"""A node's log has a row for everything that happens, by a clock that never goes back."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

from roamcast.log import schema
from roamcast.log.reader import rows, summary
from roamcast.log.writer import ParquetSink
from roamcast.net.air.udp import UdpMedium
from roamcast.net.host.runner import Runner
from roamcast.net.limits import Limits
from roamcast.net.trust.membership import Membership
from roamcast.protocols import registry
from roamcast.protocols.kit.interface import Params
from roamcast.protocols.kit.parameters import build
from roamcast.pubsub.event import LOCAL, Event
from roamcast.pubsub.filters import topic
from tests.conformance.driver import WHY, Ping, Probe
from tests.conformance.real import Walled, network
from tests.net.conftest import rows_of
from tests.support.log_metrics import metrics
from tests.support.sinks import MemorySink
from tests.support.warp import WarpLoop


def test_a_transmission_is_the_same_in_every_log(real: Any) -> None:
    driver = real([0.0, 0.3, 0.6])
    driver.do(0, lambda probe, _: probe.host.broadcast(Ping(1, content=bytes(3000))))
    driver.do(0, lambda probe, _: probe.host.send(1, Ping(2)))
    big, small = rows_of(driver, schema.SEND)
    received = rows_of(driver, schema.RECEIVE)
    assert [(row[1], row[4]) for row in received] == [(1, big[4]), (2, big[4]), (1, small[4])]
    assert all(row[5] == 0 for row in received)
    assert {row[6] for row in received} == {big[6], small[6]}, "as many bytes received as sent"
    assert {row[7] for row in received} == {big[7], small[7]}
    assert big[6] > 3000 + 3 * 28
    assert big[7] == big[6] * 8, "microseconds at one megabit a second"
    assert (big[5], small[5]) == (-1, 1)
    driver.runners[0].codec.envelope._take_boot = lambda: driver.runners[0].codec.envelope.boot + 1
    driver.runners[0].codec.envelope.counter = 1 << 32  # used up: the next boot begins
    driver.do(0, lambda probe, _: probe.host.broadcast(Ping(3)))
    serials = {row[4] for row in rows_of(driver, schema.SEND)}
    assert len(serials) == 3, "serials of different boots differ"
    assert all(0 < serial < 1 << 63 for serial in serials)


def test_rows_never_go_back_and_begin_at_the_time_of_day(real: Any) -> None:
    driver = real()
    for n in range(5):
        driver.do(n % 2, lambda probe, _: probe.host.broadcast(Ping(1)))
    times = [row[0] for row in driver.sink.rows if row[1] == 0]
    assert all(a <= b for a, b in pairwise(times))
    assert driver.runners[0].journal.epoch_us <= times[0] < driver.runners[0].journal.epoch_us + 1_000_000
    assert 1.7e15 < driver.runners[0].journal.epoch_us < 4e15


def test_everything_a_node_does_has_its_row(real: Any) -> None:
    driver = real(limits=Limits(attempts=2))
    number = driver.runners[0].subscribe(topic("news"))
    driver.runners[0].unsubscribe(number)

    def deed(probe: Probe, event: Event) -> None:
        probe.host.deliver(event)
        probe.host.note(WHY, event.id, 1, 3)
        probe.host.send(9, Ping(1, event.id))

    driver.do(0, deed)
    driver.crash(0)
    driver.recover(0, keep_tables=True)
    mine = [
        (schema.KINDS[kind], event, peer, why) for _, n, kind, event, _, peer, _, _, why in driver.sink.rows if n == 0
    ]
    content = '{"topic":"deed","scope":"global","attrs":{"deed":0}}'
    assert mine == [
        ("subscribe", 1, -1, str(topic("news"))),
        ("unsubscribe", 1, -1, str(topic("news"))),
        ("publish", 1, -1, content),
        ("deliver", 1, -1, ""),
        ("forward", 1, 1, "probe"),
        ("send", 1, 9, "ping"),
        ("send", 1, 9, "ping"),
        ("repeat", 1, 9, ""),
        ("lose", 1, 9, "no-ack"),
        ("crash", 0, -1, ""),
        ("recover", 0, -1, ""),
    ]


def test_the_row_of_a_local_event_names_the_nodes_in_range(real: Any) -> None:
    driver = real([0.0, 0.5, 5.0])
    for i in (1, 2):
        driver.do(i, lambda probe, _: probe.host.broadcast(Ping(1)))
    driver.probe(0).deeds = driver.deeds = [lambda *_: None]
    driver.publish_event(0, "deed", {"deed": 0}, scope=LOCAL)
    (row,) = [row for row in rows_of(driver, schema.PUBLISH) if row[1] == 0]
    assert json.loads(row[8])["near"] == [1]


def test_logs_of_real_nodes_are_measured_like_logs_of_simulated_nodes(real: Any) -> None:
    gossip = registry.get("gossip")
    subscriptions = [(i, topic("news")) for i in (1, 3)]
    driver = real([0.0, 0.4, 0.8, 1.2], subscriptions=subscriptions, protocol=gossip, params=build(gossip, {"p": 1.0}))
    driver.run(5.0)  # their clocks differ by the time it took to make them
    for _ in range(5):
        driver.publish_event(0, "news")
        driver.publish_event(1, "sport")
        driver.run(1.0)
    driver.sink.rows.sort(key=lambda row: row[0])
    measured = metrics(driver.sink.table("field"))
    counted: dict[str, Any] = {"interested": 10, "deliveries": 10, "delivery": 1.0, "frames_sent": 40, "losses": 0}
    assert {name: measured[name] for name in counted} == counted
    assert measured["receptions"] == 5 * 2 * (2 + 3 + 3 + 2)
    assert (
        measured["parasites"]
        == sum(runner.tally.frames_in for runner in (driver.runners[0], driver.runners[2])) + 5 * (3 + 2) - 0
    )
    assert measured["bytes_sent"] == sum(
        runner.tally.bytes_out + 28 * runner.tally.datagrams_out for runner in driver.runners
    )


def test_routing_state_is_logged_only_if_requested() -> None:
    loop, sink = WarpLoop(), MemorySink()

    async def go() -> None:
        frugal = registry.get("frugal")
        medium = Walled(network(), loop, lambda _: True)
        runner = Runner(frugal, frugal.params_class(), Membership.insecure(3), medium, sink=sink, sample_s=2.0)
        runner.start()
        await asyncio.sleep(7.0)
        runner.stop()

    loop.run_until_complete(go())
    loop.close()
    assert len([row for row in sink.rows if row[2] == schema.STATE]) == 3


def test_a_lower_level_leaves_out_rows_and_the_file_has_the_counters(tmp_path: Any) -> None:
    async def go() -> None:
        sink = ParquetSink(tmp_path / "node.parquet", "run")
        runner = Runner(Probe, Params(), Membership.insecure(5), UdpMedium(network()), sink=sink, level="deliveries")
        runner.start()
        runner.subscribe(topic("x"))
        runner.host.broadcast(Ping(1))
        runner.stop()
        runner.summarise()
        sink.close()

    asyncio.run(go())
    assert [row.kind for row in rows(tmp_path / "node.parquet")] == ["subscribe", "crash"]
    counters = summary(tmp_path / "node.parquet")
    assert (counters["node"], counters["frames_out"], counters["dropped"]) == (5, 1, {})
