"""Publications signed by their publisher.

A sealed event is the event with `time (4 bytes) ‖ public key (32 bytes) ‖ signature (64 bytes)` behind its payload. The
signature covers what the publisher said and nothing that changes on the way: hops, age and credit are fields of frames,
not of events.

    signed = "roamcast event 1" ‖ msgpack [group, id, topic, attributes by name, payload, validity, scope, time]

`group` is the id in the key file, so that nothing said in one group can be brought to another by a member of both.
`time` is the publisher's clock in Unix seconds, 0 if that was never set. It is believed only where somebody vouches for
all clocks (`Trust`): then nobody can bring back, with a lie about its age, an event whose validity is over.

Verifying costs a hundred microseconds; what was verified once is remembered by its digest, because in a flood every
event comes many times.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from struct import Struct
from typing import Final, NamedTuple

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from roamcast.net.identity import PUBLIC_BYTES, Identity, Roster, node_number
from roamcast.net.limits import TokenBucket
from roamcast.net.refusal import (
    BAD_SIGNATURE,
    EXPIRED,
    IDENTITY_CONFLICT,
    NOT_ITS_NUMBER,
    NOT_ON_ROSTER,
    SIGNATURE_RATE,
    UNSIGNED,
    Refused,
)
from roamcast.net.security import SEAL_BYTES
from roamcast.pubsub.event import Event

_CONTEXT: Final = b"roamcast event 1"
_TIME: Final = Struct("!I")
_SIGNATURE: Final = -64
_PUBLIC: Final = _SIGNATURE - PUBLIC_BYTES
UNKNOWN_TIME: Final = 0
PLAUSIBLE_S: Final = 1_700_000_000
"""Clocks that show an earlier time were never set."""
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


def signed_bytes(group: bytes, event: Event, payload: bytes, unix_s: int) -> bytes:
    id, topic, attrs, _, validity_us, scope = event.fields()
    return _CONTEXT + _encode([group, id, topic, attrs, payload, validity_us, scope, unix_s])


def sealed(event: Event, identity: Identity, group: bytes, unix_s: float = UNKNOWN_TIME) -> Event:
    """The event as it travels."""
    known_s = int(unix_s) if PLAUSIBLE_S <= unix_s < 1 << 32 else UNKNOWN_TIME
    signature = identity.sign(signed_bytes(group, event, event.payload, known_s))
    return _with_payload(event, event.payload + _TIME.pack(known_s) + identity.public + signature)


def unsealed(event: Event) -> Event:
    """The event as it was published, from one that was verified."""
    return _with_payload(event, event.payload[:-SEAL_BYTES])


def sealed_by(event: Event, public: bytes) -> bool:
    """Whether it looks as if this key's owner had sealed it; nothing is verified."""
    return event.payload[_PUBLIC:_SIGNATURE] == public


def _with_payload(event: Event, payload: bytes) -> Event:
    return Event(event.id, event.topic, event.attrs, payload, event.validity_us, event.scope)


class Trust(NamedTuple):
    """Somebody vouches that all clocks are right within `tolerance_s`; `unix_s` asks this node's."""

    tolerance_s: float
    unix_s: Callable[[], float]

    def over(self, said_s: int, event: Event, ago_s: float) -> bool:
        now_s = self.unix_s() - ago_s
        return said_s != UNKNOWN_TIME and now_s > said_s + event.validity_us * 1e-6 + self.tolerance_s


class Verifier:
    """Tells genuine publications from others, and remembers which key has which number."""

    def __init__(
        self,
        group: bytes,
        own: Identity,
        own_number: int,
        roster: Roster | None,
        verified_max: int,
        keys_max: int,
        trust: Trust | None = None,
    ) -> None:
        self._trust = trust
        self._group = group
        self._roster = roster
        self._own_number = own_number
        self._own_public = own.public
        self._verified: OrderedDict[int, bytes] = OrderedDict()
        self._verified_max = verified_max
        self._keys: OrderedDict[int, bytes] = OrderedDict()
        self._keys_max = keys_max

    def check(self, event: Event, budget: TokenBucket, now_us: int, ago_s: float = 0.0) -> None:
        """Refuses what its publisher did not say; `budget` is for signatures that must be computed.

        `ago_s`: it came so long before.
        """
        if len(event.payload) < SEAL_BYTES:
            raise Refused(UNSIGNED)
        public, signature = event.payload[_PUBLIC:_SIGNATURE], event.payload[_SIGNATURE:]
        (said_s,) = _TIME.unpack(event.payload[-SEAL_BYTES:_PUBLIC])
        self._check_number(event.publisher, public)
        if self._trust is not None and self._trust.over(said_s, event, ago_s):
            raise Refused(EXPIRED)
        message = signed_bytes(self._group, event, event.payload[:-SEAL_BYTES], said_s)
        digest = blake2b(public + signature + message, digest_size=16).digest()
        if self._verified.get(event.id) == digest:
            self._verified.move_to_end(event.id)
            if event.publisher in self._keys:
                self._keys.move_to_end(event.publisher)
            return
        if not budget.take(1.0, now_us):
            raise Refused(SIGNATURE_RATE)
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
        except (InvalidSignature, ValueError):
            raise Refused(BAD_SIGNATURE) from None
        _remember(self._verified, event.id, digest, self._verified_max)
        _remember(self._keys, event.publisher, public, self._keys_max)

    def _check_number(self, number: int, public: bytes) -> None:
        if self._roster is not None:
            if self._roster.members.get(number) != public:
                raise Refused(NOT_ON_ROSTER)
            return
        if node_number(public) != number:
            raise Refused(NOT_ITS_NUMBER)
        known = self._own_public if number == self._own_number else self._keys.get(number)
        if known is not None and known != public:
            raise Refused(IDENTITY_CONFLICT)


def _remember(table: OrderedDict[int, bytes], key: int, value: bytes, most: int) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > most:
        table.popitem(last=False)
