"""The events that this node publishes: checked, numbered and sealed, once each.

A sealed event ends in the publisher's clock, public key and signature (100 bytes). It is stored and sent as it was
sealed. A later boot of the node publishes it again as it is, if it can: the seal is valid in one group, and it covers
the validity. If the node is in another group now, or a part of the validity has passed, the event needs a new seal.
"""

from __future__ import annotations

import time
from math import isfinite
from typing import Final

from roamcast.errors import InputError, Malformed
from roamcast.net.trust.membership import Membership
from roamcast.net.trust.seals import SEAL_BYTES, sealed, sealed_by, unsealed
from roamcast.net.wire.packet import FRAGMENTS_MAX
from roamcast.protocols.kit import wire
from roamcast.pubsub.event import FOREVER, GLOBAL, Event, Value, event_from_fields, event_id

EVENT_ROOM: Final = 4096
"""The bytes of a frame that a protocol may need in addition to the event; of a short frame, half at most."""
FRAGMENT_OVERHEAD: Final = 46
"""The bytes of a fragment's datagram that are not a part of the frame."""


class Publisher:
    def __init__(self, membership: Membership, datagram_max: int) -> None:
        self._membership = membership
        whole = min(wire.MAX_FRAME, FRAGMENTS_MAX * (datagram_max - FRAGMENT_OVERHEAD))
        self._largest = whole - min(EVENT_ROOM, whole // 2) - SEAL_BYTES

    def prepare(
        self,
        topic: str = "",
        attrs: dict[str, Value] | None = None,
        payload: bytes = b"",
        validity_us: int = FOREVER,
        scope: int = GLOBAL,
    ) -> Event:
        """A new event of this node, numbered and sealed. An event that is not allowed uses up no number."""
        _check(topic, attrs, payload)
        try:
            event = event_from_fields([1, topic, dict(attrs or {}), payload, validity_us, scope])
        except (Malformed, ValueError, OverflowError, TypeError) as error:
            raise InputError(f"cannot publish this: {error}") from None
        for name, value in event.attrs.items():
            if isinstance(value, float) and not isfinite(value):
                raise InputError(f"cannot publish {name}={value}: must be finite")
        if event.size > self._largest:
            raise InputError(f"cannot publish {event.size} bytes in one event: at most {self._largest}")
        id = event_id(self._membership.number, self._membership.sequence.next())
        return self._sealed(Event(id, event.topic, event.attrs, payload, event.validity_us, scope))

    def renew(self, event: Event, group: bytes, left_us: int) -> Event:
        """An event of an earlier boot as this boot publishes it, with `left_us` of its validity left.

        `group` is the group in which it was sealed; empty if it is not sealed.
        """
        if left_us == event.validity_us and group == self.group and self._own_seal(event):
            return event
        plain = unsealed(event) if group else event
        return self._sealed(Event(plain.id, plain.topic, plain.attrs, plain.payload, left_us, plain.scope))

    def unsealed(self, event: Event) -> Event:
        """The event as the application published it, from one that `prepare` made or the protocol delivered."""
        return event if self._membership.ring is None else unsealed(event)

    @property
    def group(self) -> bytes:
        """The group in which events are sealed now; empty if they are not sealed."""
        return b"" if self._membership.ring is None else self._membership.ring.group

    def _own_seal(self, event: Event) -> bool:
        """Whether the seal is by the key that this node has now; without keys there is no seal."""
        identity = self._membership.identity
        return identity is None or sealed_by(event, identity.public)

    def _sealed(self, event: Event) -> Event:
        identity, ring = self._membership.identity, self._membership.ring
        return event if identity is None or ring is None else sealed(event, identity, ring.group, time.time())


def _check(topic: str, attrs: dict[str, Value] | None, payload: bytes) -> None:
    """What a program may have passed by mistake, in clear words: `Malformed` is for what comes from the air."""
    if not isinstance(topic, str):
        raise InputError(f"cannot publish this: the topic {topic!r} must be a text")
    if not isinstance(attrs, dict | None):
        raise InputError("cannot publish this: attributes must be a dictionary from names to values")
    if not isinstance(payload, bytes):
        raise InputError("cannot publish this: the payload must be bytes")
    for name, value in (attrs or {}).items():
        if type(name) is not str:
            raise InputError(f"cannot publish {name!r}={value}: the name of an attribute must be a text")
        if type(value) not in (bool, int, float, str):
            raise InputError(f"cannot publish {name}={value}: must be a number, a text, or true or false")
