"""Logs of real nodes are explained as those of simulated ones are."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import roamcast as rc
from roamcast.log.explanation.answers import Answers
from roamcast.log.explanation.pair import Explanation
from roamcast.log.opened import Log
from roamcast.log.writer import ParquetSink
from roamcast.net.trust.keys import KeyRing
from roamcast.protocols.registry import get
from roamcast.pubsub.filters import topic
from tests.conformance.real import MULTICAST, Real
from tests.log.explanation.logs import pair
from tests.net.node.nodes import PATIENCE_S, network, run

SUBSCRIPTIONS = [(3, topic("news"))]


def real(places: list[float], protocol: str, params: dict[str, Any]) -> Real:
    chosen = get(protocol)
    return Real(MULTICAST, places, SUBSCRIPTIONS, protocol=chosen, params=chosen.params_class(**params))


def explained(driver: Real, node: int, event: int) -> Explanation:
    driver.check()
    return pair(Answers(driver.sink.table("field"), "field", False), node, event)


def test_an_event_that_came_over_three_hops() -> None:
    driver = real([0, 1, 2, 3], "gossip", {"p": 1.0})
    event = driver.publish_event(0, "news")
    driver.run(2)
    answer = explained(driver, 3, event)
    assert (answer.status, answer.way) == ("got", [0, 1, 2, 3])
    assert answer.summary.startswith("n3 got event 0:1 from n2")
    assert "[frame" not in str(answer)


def test_an_event_that_a_neighbour_kept_back() -> None:
    driver = real([0, 1, 2, 3], "gossip", {"p": 0.0})
    driver.publish_event(2, "sport")  # so that nodes 1 and 3 have heard node 2
    event = driver.publish_event(0, "news")
    driver.run(2)
    answer = explained(driver, 3, event)
    assert (answer.status, answer.cause, answer.path) == ("missed", "not reached", [3, 2, 1])
    assert [(holder.node, holder.conduct, holder.reason) for holder in answer.neighbours] == [
        (1, "suppressed", "not drawn")
    ]


def test_an_event_for_a_node_that_is_out_of_range() -> None:
    driver = real([0, 1, 2, 9], "gossip", {"p": 1.0})
    event = driver.publish_event(0, "news")
    driver.run(2)
    assert explained(driver, 3, event).cause == "alone"


def test_a_node_that_was_down() -> None:
    driver = real([0, 1, 2, 3], "gossip", {"p": 1.0})
    driver.run(1)
    driver.crash(3)
    driver.run(1)
    event = driver.publish_event(0, "news")
    driver.run(2)
    answer = explained(driver, 3, event)
    assert (answer.status, answer.cause) == ("not counted", "down")


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What three nodes over loopback have logged, each in a folder of its own."""
    folder = tmp_path_factory.mktemp("field")
    KeyRing.new().save(folder / "group.key")
    where = network()

    def node(name: str) -> rc.Node:
        return rc.Node(
            key=folder / "group.key",
            protocol="gossip",
            params={"p": 1.0},
            interface="lo",
            group=where.group,
            log=str(folder / "logs" / name),
        )

    async def go() -> None:
        async with node("one") as one, node("two") as two, node("three"):
            wanted = two.subscribe("t > 30")
            await one.publish("weather", {"t": 20})
            await one.publish("weather", {"t": 31})
            await asyncio.wait_for(anext(wanted), PATIENCE_S)

    run(go())
    return folder / "logs"


def number(folder: Path) -> int:
    return int(next(folder.glob("*.parquet")).name.split("-")[0])


def test_a_folder_with_the_logs_of_several_nodes_is_one_log(field: Path) -> None:
    log = Log(field)
    cold, warm = log.events
    two, three = number(field / "two"), number(field / "three")
    got = log.why(two, warm)
    assert isinstance(got, Explanation)
    assert (got.status, got.way[-1]) == ("got", two)
    assert got.interest == f"n{two} was interested: t > 30"
    unwanted = log.why(two, cold)
    assert isinstance(unwanted, Explanation) and unwanted.status == "received"
    relayed = log.why(three, warm)
    assert isinstance(relayed, Explanation) and relayed.interest.endswith("it had no subscription at the publication")
    assert "Times are those of each node's own clock" in str(log.why())


def test_the_log_of_one_node_explains_what_this_node_knows(field: Path) -> None:
    two = number(field / "two")
    warm = Log(field).events[1]
    answer = Log(field / "two").why(two, warm)
    assert isinstance(answer, Explanation)
    assert (answer.status, answer.latency_us, answer.is_published) == ("got", None, False)
    assert answer.timeline[0].text.startswith("received it from n")
    assert answer.remarks == []


def test_a_field_test_by_one_clock_is_a_folder_with_one_log(field: Path, tmp_path: Path) -> None:
    """As `roamcast lab field` leaves it: tables beside the log (the laboratory's own test asks for more)."""
    (tmp_path / "log").mkdir()
    for name in ("campaign.json", "field.json"):
        (tmp_path / name).write_text("[]")
    sink = ParquetSink(tmp_path / "log" / "field.parquet", "field")
    for row in Log(field).rows():
        sink.row(row.t, row.node, 0, row.event, row.frame, row.peer, row.size, row.value, row.reason)
    sink.close()
    assert len(list(Log(tmp_path).rows())) == len(list(Log(field).rows()))
