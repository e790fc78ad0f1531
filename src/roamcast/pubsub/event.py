"""Events: what applications publish.

An event is an immutable value, shared by all nodes that have it. So it does not contain what changes on its way (hops,
age, credit): frames carry these. Time in it is relative (`validity_us`), because no two nodes share a clock.
"""

from __future__ import annotations

from typing import Any, Final, final

import msgspec

from roamcast.errors import Malformed

Value = int | float | str | bool

LOCAL: Final = 1
GLOBAL: Final = 0
SCOPES: Final = ("global", "local")

FOREVER: Final = 1 << 52
"""Validity of an event that does not expire, in microseconds (about 142 years)."""

MAX_ATTRIBUTES: Final = 64


@final
class Event:
    """`id` is unique in the network: publisher << 32 | the publisher's own sequence number."""

    __slots__ = ("attrs", "id", "payload", "scope", "size", "topic", "validity_us")

    def __init__(
        self,
        id: int,
        topic: str = "",
        attrs: dict[str, Value] | None = None,
        payload: bytes = b"",
        validity_us: int = FOREVER,
        scope: int = GLOBAL,
    ) -> None:
        self.id = id
        self.topic = topic
        self.attrs: dict[str, Value] = {} if attrs is None else attrs
        self.payload = payload
        self.validity_us = validity_us
        self.scope = scope
        self.size = len(msgspec.msgpack.encode(self.fields()))

    @property
    def publisher(self) -> int:
        return self.id >> 32

    def fields(self) -> list[Any]:
        """Its form on the air, where a validity of 0 means for ever, which saves eight bytes."""
        validity_us = 0 if self.validity_us == FOREVER else self.validity_us
        return [self.id, self.topic, self.attrs, self.payload, validity_us, self.scope]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"Event({self.id:#x}, {self.topic!r}, {self.attrs})"


def event_id(publisher: int, sequence: int) -> int:
    """The id of a publisher's event with this sequence number."""
    return publisher << 32 | sequence


def event_from_fields(fields: object) -> Event:
    """The inverse of `Event.fields`, for fields that came from the air: anything else is `Malformed`."""
    if not isinstance(fields, list) or len(fields) != 6:
        raise Malformed("an event has six fields")
    id, topic, attrs, payload, validity_us, scope = fields
    if type(id) is not int or not 0 < id < 1 << 63:  # 0 is the id of frames that are never muted
        raise Malformed("event id")
    if type(topic) is not str:
        raise Malformed("event topic")
    if type(attrs) is not dict or len(attrs) > MAX_ATTRIBUTES:
        raise Malformed("event attributes")
    for name, value in attrs.items():
        if type(name) is not str or type(value) not in (int, float, str, bool):
            raise Malformed("event attribute")
    if type(payload) is not bytes:
        raise Malformed("event payload")
    if type(validity_us) is not int or not 0 <= validity_us <= FOREVER:
        raise Malformed("event validity")
    if scope not in (GLOBAL, LOCAL) or type(scope) is not int:
        raise Malformed("event scope")
    return Event(id, topic, attrs, payload, validity_us or FOREVER, scope)
