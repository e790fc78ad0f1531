"""Events as bytes in the store: msgpack of `Event.fields`, followed by the group if the event is sealed."""

from __future__ import annotations

from typing import Final

import msgspec

from roamcast.errors import Malformed, StoreError
from roamcast.pubsub.event import FOREVER, Event, event_from_fields

FOREVER_S: Final = 1e12
_FIELDS: Final = 6


def encoded(event: Event, group: bytes = b"") -> bytes:
    """`group`: in which the event was sealed; empty if it is not sealed."""
    return msgspec.msgpack.encode([*event.fields(), group] if group else event.fields())


def decoded(content: bytes) -> tuple[Event, bytes]:
    """The event, and the group in which it was sealed."""
    try:
        fields = msgspec.msgpack.decode(content, type=list)
        event = event_from_fields(fields[:_FIELDS])
    except (Malformed, msgspec.DecodeError) as error:
        raise StoreError(f"the node's store is damaged: {error}") from error
    return event, fields[_FIELDS] if len(fields) > _FIELDS else b""


def expiry_s(validity_us: int, now_s: float) -> float:
    """When something expires that came now."""
    return FOREVER_S if validity_us == FOREVER else now_s + validity_us / 1e6
