"""A bridge to MQTT, with a real broker: nothing is lost and nothing comes twice, whoever is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roamcast.net.control.client import Connection
from roamcast.net.control.messages import Publish, Published, ReceivedEvent, Status, StatusReply, Subscribe, Subscribed
from roamcast.net.trust.keys import KeyRing
from tests.cli.conftest import PATIENCE_S, OneLine, Started, stopped
from tests.support.mosquitto import Client, Mosquitto

ALL = "true"
TEN = set(range(10))


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mosquitto]:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    made = Mosquitto(tmp_path)
    yield made
    made.kill()


@pytest.fixture
def start_bridge(broker: Mosquitto, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    running: list[subprocess.Popen[str]] = []

    def go(state: str, *more: str) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "roamcast", "bridge", broker.url, "--state", state, "-v", *more]
        running.append(subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True))
        return running[-1]

    yield go
    for bridge in running:
        if bridge.poll() is None:
            bridge.kill()
        bridge.wait()
        if bridge.stderr is not None:
            bridge.stderr.close()


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def subscribe(state: str) -> None:
    with Connection(state) as node:
        node.request(Subscribe(ALL, "listener"), Subscribed)


def received(state: str, n: int) -> list[ReceivedEvent]:
    """The first n events that the listener got, from the beginning, and that it got no more."""
    with Connection(state) as node:
        until(lambda: node.request(Status(), StatusReply).stored.received >= n)
        node.request(Subscribe(ALL, "", 0), Subscribed)
        return list(node.events(0.5))


def publish(state: str, numbers: range, topic: str = "news") -> None:
    with Connection(state) as node:
        for n in numbers:
            node.request(Publish(topic, {"n": n}, validity_s=600), Published)


def numbers(messages: list[Any]) -> list[int]:
    return [json.loads(message.payload)["n"] for message in messages]


def test_messages_become_events_and_events_become_messages(
    start: Started, broker: Mosquitto, start_bridge: Callable[..., Any]
) -> None:
    start("a")
    start("b")
    subscribe("b")
    bridge = start_bridge("a", "--in", "sensors/#", "--in-filter", "n < 100", "--out", "topic alarm or topic sensors")
    app = Client(broker, "app", "roamcast/#")
    until(lambda: "bridge-mqtt" in {named.name for named in status("a").named})
    until(app.client.is_connected)
    until(lambda: retained(broker))
    app.publish("sensors/roof", json.dumps({"n": 1, "open": True, "more": [1]}))
    app.publish("sensors/roof", json.dumps({"n": 1000}))
    app.publish("other/roof", json.dumps({"n": 2}))
    app.publish("sensors/raw", "7.5")
    events = received("b", 1)
    assert [(e.topic, e.attrs["n"], e.attrs["open"], json.loads(e.payload)) for e in events] == [
        ("sensors.roof", 1, True, {"n": 1, "open": True, "more": [1]})
    ]
    assert events[0].attrs["mqtt_via"] == f"127.0.0.1:{broker.port}"
    with Connection("b") as node:
        node.request(Publish("alarm.hall", {"n": 5}, validity_s=60), Published)
        node.request(Publish("other", {"n": 6}), Published)
    until(lambda: app.messages)
    (message,) = app.messages
    assert (message.topic, json.loads(message.payload)) == ("roamcast/alarm/hall", {"n": 5})
    assert 0 < message.properties.MessageExpiryInterval <= 60
    assert "1 messages became events, 1 events became messages" in stopped(bridge)
    app.close()


def test_no_message_stops_the_bridge(start: Started, broker: Mosquitto, start_bridge: Callable[..., Any]) -> None:
    start("a")
    subscribe("a")
    bridge = start_bridge("a", "--in", "#", "--in-filter", "true", "--out", "topic alarm")
    app = Client(broker, "app")
    until(lambda: app.client.is_connected() and retained(broker))
    meeting = retained(broker)[0].topic.rpartition("/")[0]
    for payload in (
        b'"\\ud800"',
        b'{"\\udfff": 1, "half": "\\ud800"}',
        bytes(100_000),
        bytes(800_000),
        bytes(3_000_000),
    ):
        app.publish("in/x", payload)
    for n in range(20):  # as many as may be unacknowledged
        app.publish(f"{meeting}/{n}²", "here")
        app.publish(f"{meeting}/{'1' * 5000}{n}", "here")
        app.publish(f"{meeting}/done", "1" * 5000)
    app.publish("in/y", json.dumps({"n": 8}))
    until(lambda: status("a").stored.received >= 3)
    events = received("a", 3)
    assert [event.payload for event in events[:2]] == [b'"\\ud800"', b'{"\\udfff": 1, "half": "\\ud800"}']
    assert [(event.topic, event.attrs["n"]) for event in events[2:]] == [("in.y", 8)]
    lines = stopped(bridge)
    assert "3 messages became events" in lines
    assert lines.count("refused: a message on in/x") == 3
    app.close()


def status(state: str) -> StatusReply:
    with Connection(state) as node:
        return node.request(Status(), StatusReply)


def retained(broker: Mosquitto) -> list[Any]:
    """The bridges that are there."""
    look = Client(broker, f"look{time.monotonic_ns()}", "roamcast-bridges/#")
    try:
        time.sleep(0.3)
        return [message for message in look.messages if message.payload]
    finally:
        look.close()


def test_a_broker_that_is_killed_is_one_line(
    start: Started, broker: Mosquitto, start_bridge: Callable[..., Any]
) -> None:
    start("a")
    bridge = start_bridge("a", "--in", "sensors/#", "--out", "topic alarm")
    until(lambda: retained(broker))
    broker.kill()
    lines = iter(bridge.stderr.readline, "")
    assert next(line for line in lines if "broker" in line and "waiting" in line).endswith(
        f"broker 127.0.0.1:{broker.port}: the connection ended; waiting\n"
    )


def test_nothing_is_lost_or_comes_twice_although_broker_bridge_and_node_are_killed(
    start: Started, broker: Mosquitto, start_bridge: Callable[..., Any]
) -> None:
    one, _ = start("a"), start("b")
    subscribe("b")
    crossing = ("--in", "in/#", "--out", "topic news")
    bridge = start_bridge("a", *crossing)
    app = Client(broker, "app", "roamcast/#")
    until(lambda: retained(broker) and app.client.is_connected())

    for n in range(10):
        app.publish("in/x", json.dumps({"n": n}))
    bridge.kill()  # in the middle
    bridge.wait()
    for n in range(10, 20):
        app.publish("in/x", json.dumps({"n": n})).wait_for_publish(PATIENCE_S)
    publish("b", range(10))
    time.sleep(1.5)  # the broker stores its messages every second
    broker.kill()
    bridge = start_bridge("a", *crossing)
    publish("b", range(10, 20))
    broker.start()
    until(lambda: set(numbers(app.messages)) == set(range(20)))
    one.kill()
    one.wait()
    for n in range(20, 30):
        app.publish("in/x", json.dumps({"n": n}))
    start("a")
    publish("b", range(20, 30))
    until(lambda: set(numbers(app.messages)) == set(range(30)))
    events = received("b", 30)
    got = [event.attrs["n"] for event in events if event.topic == "in.x"]
    assert sorted(got) == list(range(30)), "each once"
    assert {event.topic for event in events} <= {"in.x", "news"}
    ids = {dict(message.properties.UserProperty)["roamcast_event"] for message in app.messages}
    assert len(ids) == 30, "what comes twice says that it does"
    assert bridge.poll() is None
    app.close()


def test_two_bridges_to_one_broker_do_not_multiply_and_each_replaces_the_other(
    start: Started, broker: Mosquitto, start_bridge: Callable[..., Any]
) -> None:
    for state in "abc":
        start(state)
    subscribe("c")
    crossing = ("--in", "#", "--out", "topic news")  # also what the bridges themselves send
    bridges = {state: start_bridge(state, *crossing) for state in "ab"}
    app = Client(broker, "app", "roamcast/#")
    until(lambda: len(retained(broker)) == 2 and app.client.is_connected())
    for n in range(10):
        app.publish("in/x", json.dumps({"n": n}))
    publish("c", range(10))
    until(lambda: set(numbers(app.messages)) == TEN)
    events = received("c", 10)
    assert sorted(e.attrs["n"] for e in events if e.topic == "in.x") == list(range(10))
    assert sorted(numbers(app.messages)) == list(range(10))

    first = min("ab", key=lambda state: status(state).node)
    bridges[first].kill()
    publish("c", range(10, 20))
    until(lambda: set(numbers(app.messages)) == set(range(20)))
    assert sorted(numbers(app.messages)) == list(range(20)), "the other one knew what was done"
    for n in range(10, 16):  # the broker keeps some of them for the bridge that was killed
        app.publish("in/x", json.dumps({"n": n}))
    until(lambda: any(e.attrs.get("n", 0) >= 10 for e in received("c", 10) if e.topic == "in.x"))  # type: ignore[operator]
    own, events = status("c").node, received("c", 11)
    assert {e.topic for e in events if e.publisher != own} == {"in.x"}, "nothing came back, and no talk of the bridges"
    app.close()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bridge", "http://x", "--out", "true"], "'http://x': must be mqtt://"),
        (["bridge", "mqtt://", "--out", "true"], "'mqtt://': must be mqtt://"),
        (["bridge", "mqtt://x:y", "--out", "true"], "'mqtt://x:y': must be mqtt://"),
        (["bridge", "mqtt://x"], "what crosses the bridge? --in TOPIC, --out FILTER, or both"),
        (["bridge", "mqtt://x", "--out", "n >"], "expected"),
        (["bridge", "mqtt://x", "--in", "#", "--in-filter", "n >"], "expected"),
        (["bridge", "mqtt://x", "--in", "#", "--validity", "0"], "--validity 0: must be above 0"),
        (["bridge", "mqtt://x", "--in", "#", "--name", "a b"], "--name 'a b': must be a word"),
        (["bridge", "mqtt://x", "--in", "#", "--prefix", "a/#"], "--prefix 'a/#': must have no + and no #"),
        (["bridge", "mqtt://x", "--in", "#"], "no node runs on the state state"),
    ],
)
def test_wrong_input_is_one_line(one_line: OneLine, words: list[str], message: str) -> None:
    one_line(words, message)
