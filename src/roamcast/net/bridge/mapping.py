"""Messages of MQTT as events, and events as messages.

Topics have `/` between their levels in MQTT and `.` in roamcast: `weather/roof` is `weather.roof`. A character that
means something else on the other side is written as `%2F`, as in web addresses. Topics of events get a prefix in MQTT,
and topics that have the prefix lose it.

A message whose payload is a JSON object becomes an event with its texts, numbers and truth values as attributes; if the
object has other fields as well, the event's payload is the whole object. A single JSON value becomes the attribute
`value`, and any other payload stays one. An event becomes a JSON object of its attributes, with its payload in base64
in the field `payload_base64`; one that has only a payload becomes that payload.

`mqtt_via` (an attribute of events, a user property of messages) lists the groups and brokers that something has passed.
A bridge brings nothing to where it has been: that ends every loop, also one through several brokers and groups.
"""

from __future__ import annotations

import base64
import json
from math import isfinite
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from roamcast.net.control.messages import ReceivedEvent
from roamcast.pubsub.event import MAX_ATTRIBUTES, Value

VIA: Final = "mqtt_via"
EVENT: Final = "roamcast_event"
"""The user property with the event's id."""
ONLY: Final = "value"
PAYLOAD: Final = "payload_base64"
_INTEGERS: Final = range(-(1 << 63), 1 << 64)


class Content(NamedTuple):
    """What an event holds."""

    topic: str
    attrs: dict[str, Value]
    payload: bytes


# ---- topics


def mqtt_topic(topic: str, prefix: str) -> str:
    levels = "/".join(_quoted(unquote(level), "/+#\0") for level in topic.split(".")) if topic else ""
    return f"{prefix}{levels}" if levels else prefix.rstrip("/") or "/"


def event_topic(topic: str, prefix: str) -> str:
    if prefix and topic in (prefix, prefix.rstrip("/")):
        return ""
    return ".".join(_quoted(unquote(level), ".") for level in topic.removeprefix(prefix).split("/"))


def _quoted(level: str, special: str) -> str:
    return "".join(f"%{ord(letter):02X}" if letter in special or letter == "%" else letter for letter in level)


# ---- contents


def event_content(topic: str, payload: bytes, prefix: str) -> Content:
    """The event that a message becomes."""
    attrs, rest = _attributes(payload)
    return Content(event_topic(topic, prefix), attrs, rest)


def _attributes(payload: bytes) -> tuple[dict[str, Value], bytes]:
    try:
        value: Any = json.loads(payload)
    except (ValueError, RecursionError):
        return {}, payload
    if _plain(value):
        return {ONLY: value}, b""
    if not isinstance(value, dict) or len(value) >= MAX_ATTRIBUTES:
        return {}, payload
    attrs = {
        name: entry for name, entry in value.items() if _plain(name) and _plain(entry) and name not in (VIA, PAYLOAD)
    }
    if set(value) - set(attrs) == {PAYLOAD}:
        try:
            return attrs, base64.b64decode(value[PAYLOAD], validate=True)
        except (ValueError, TypeError):
            return attrs, payload
    return attrs, b"" if len(attrs) == len(value) else payload


def _plain(value: object) -> bool:
    """Whether an event can have it as an attribute."""
    if isinstance(value, str):
        return _encodable(value)
    if isinstance(value, bool):
        return True
    return (isinstance(value, int) and value in _INTEGERS) or (isinstance(value, float) and isfinite(value))


def _encodable(text: str) -> bool:
    """JSON can write half of a character (`\\ud800`), which is no text in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def message_payload(event: ReceivedEvent) -> bytes:
    """The payload of the message that an event becomes."""
    attrs = {name: value for name, value in event.attrs.items() if name != VIA}
    if event.payload and not attrs:
        return event.payload
    if event.payload:
        if _has_all(event.payload, attrs):
            return event.payload
        attrs[PAYLOAD] = base64.b64encode(event.payload).decode()
    return json.dumps(attrs, ensure_ascii=False).encode()


def _has_all(payload: bytes, attrs: dict[str, Value | None]) -> bool:
    """Whether the payload is a JSON object that has these attributes and more: such a message came from MQTT."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and attrs.items() <= {k: v for k, v in value.items() if _plain(v)}.items()


# ---- the way so far


def passed(via: object, place: str) -> bool:
    return isinstance(via, str) and place in via.split()


def extended(via: object, place: str) -> str:
    return f"{via} {place}" if isinstance(via, str) and via else place
