"""Messages of MQTT as events, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.net.bridge.mapping import (
    Content,
    event_content,
    event_topic,
    extended,
    message_payload,
    mqtt_topic,
    passed,
)
from roamcast.net.control.messages import ReceivedEvent

PREFIX = "roamcast/"


def event(attrs: dict[str, Any] | None = None, payload: bytes = b"", topic: str = "t") -> ReceivedEvent:
    return ReceivedEvent(1, 1, topic, attrs or {}, payload, None, 1)


@pytest.mark.parametrize(
    ("topic", "mqtt"),
    [
        ("weather.roof", "roamcast/weather/roof"),
        ("", "roamcast"),
        ("a/b.c", "roamcast/a%2Fb/c"),
        ("50%25.x", "roamcast/50%25/x"),
        ("a+#", "roamcast/a%2B%23"),
        ("a%2Eb.c", "roamcast/a.b/c"),
    ],
)
def test_topics_and_back(topic: str, mqtt: str) -> None:
    assert mqtt_topic(topic, PREFIX) == mqtt
    assert event_topic(mqtt, PREFIX) == topic


def test_topics_without_the_prefix_stay_whole() -> None:
    assert event_topic("sensors/roof", PREFIX) == "sensors.roof"
    assert event_topic("sensors/v1.2", PREFIX) == "sensors.v1%2E2"
    assert mqtt_topic("a", "") == "a"


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_any_topic_of_mqtt_comes_back(levels: list[str]) -> None:
    topic = mqtt_topic(event_topic("/".join(levels), PREFIX), PREFIX)
    assert event_topic(topic, PREFIX) == event_topic("/".join(levels), PREFIX)


@pytest.mark.parametrize(
    ("payload", "attrs", "rest"),
    [
        (
            b'{"t": 31.5, "open": true, "room": "hall", "n": 3}',
            {"t": 31.5, "open": True, "room": "hall", "n": 3},
            False,
        ),
        (b'{"t": 1, "more": {"a": 1}}', {"t": 1}, True),
        (b'{"t": null, "n": 1e999, "big": 36893488147419103232}', {}, True),
        (b"31.5", {"value": 31.5}, False),
        (b'"text"', {"value": "text"}, False),
        (b"true", {"value": True}, False),
        (b'"\\ud800"', {}, True),
        (b'{"n": 1, "half": "\\ud800"}', {"n": 1}, True),
        (b'{"n": 1, "\\udfff": 2}', {"n": 1}, True),
        (b'"\\ud83d\\ude00"', {"value": "\U0001f600"}, False),
        (b"[1, 2]", {}, True),
        (b"", {}, True),
        (b"\xff\xfe", {}, True),
        (b"hello", {}, True),
        (b"[" * 100_000, {}, True),
        (json.dumps({f"a{n}": n for n in range(70)}).encode(), {}, True),
    ],
)
def test_contents_of_messages(payload: bytes, attrs: dict[str, Any], rest: bool) -> None:
    assert event_content("x/y", payload, PREFIX) == Content("x.y", attrs, payload if rest else b"")


@pytest.mark.parametrize(
    ("attrs", "payload", "message"),
    [
        ({"t": 31.5}, b"", b'{"t": 31.5}'),
        ({}, b"raw", b"raw"),
        ({}, b"", b"{}"),
        ({"t": 1}, b"raw", b'{"t": 1, "payload_base64": "cmF3"}'),
        ({"t": 1}, b'{"t": 1, "more": [1]}', b'{"t": 1, "more": [1]}'),
        ({"t": 1}, b'{"t": 2, "more": [1]}', b'{"t": 1, "payload_base64": "eyJ0IjogMiwgIm1vcmUiOiBbMV19"}'),
        ({"t": None}, b"", b'{"t": null}'),
        ({"t": 1, "mqtt_via": "somewhere"}, b"", b'{"t": 1}'),
    ],
)
def test_contents_of_events(attrs: dict[str, Any], payload: bytes, message: bytes) -> None:
    assert message_payload(event(attrs, payload)) == message


values = st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False, allow_infinity=False)
names = st.text(max_size=5)


@given(st.dictionaries(names, values | st.text(max_size=10), max_size=5), st.binary(max_size=20))
def test_an_event_crosses_a_broker_unchanged(attrs: dict[str, Any], payload: bytes) -> None:
    message = message_payload(event(attrs, payload))
    back = event_content("t", message, PREFIX)
    if attrs:
        assert (back.attrs, back.payload) == (attrs, payload)
    elif payload:
        assert back == event_content("t", payload, PREFIX)


def test_the_way_so_far() -> None:
    assert extended(None, "a") == "a"
    assert extended("a", "b") == "a b"
    assert passed("a b", "b")
    assert not passed("ab", "a")
    assert not passed(7, "a")
