"""Seals: the publisher's key and signature, which travel with an event.

A sealed event has `time (4 bytes) ‖ public key (32 bytes) ‖ signature (64 bytes)` behind its payload. The signature
covers what the application published and nothing that changes on the way: hops, age and credit are fields of frames,
not of events.

    signed = "roamcast event 1" ‖ msgpack [group, id, topic, attributes by name, payload, validity, scope, time]

`group` is the id in the key file, so that a node that is in two groups cannot bring an event from one into the other.
`time` is the publisher's clock in Unix seconds, 0 if the clock was never set. It is used only where the operator
guarantees all clocks (`Trust`): then no node can bring back an expired event with a false age.

An event is sealed when it is published, once. Every node that forwards or stores it keeps the seal as it is: it is part
of the payload, so it passes through every protocol without a table of its own.

Verifying a signature takes about a hundred microseconds. The verifier remembers the digests of verified events, because
in a flood every event arrives many times, and own events come back from every neighbour that forwards them.
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
from roamcast.net.trust.identity import PUBLIC_BYTES, SIGNATURE_BYTES, Identity, Roster, node_number
from roamcast.net.trust.positions import signed_position
from roamcast.pubsub.event import Event

SEAL_BYTES: Final = 4 + PUBLIC_BYTES + SIGNATURE_BYTES
"""How many bytes longer a sealed event is than an unsealed one (one more where its payload's length passes 255 bytes,
and two where it passes 65,535)."""
_CONTEXT: Final = b"roamcast event 1"
_TIME: Final = Struct("!I")
_SIGNATURE: Final = -SIGNATURE_BYTES
_PUBLIC: Final = _SIGNATURE - PUBLIC_BYTES
UNKNOWN_TIME: Final = 0
PLAUSIBLE_S: Final = 1_700_000_000
"""A clock that shows an earlier time was never set."""
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
    """The event as the application published it, from a sealed one that was verified."""
    return _with_payload(event, event.payload[:-SEAL_BYTES])


def sealed_by(event: Event, public: bytes) -> bool:
    """Whether the event ends in a seal with this public key. The signature is not verified."""
    return event.payload[_PUBLIC:_SIGNATURE] == public


def _with_payload(event: Event, payload: bytes) -> Event:
    return Event(event.id, event.topic, event.attrs, payload, event.validity_us, event.scope)


class Trust(NamedTuple):
    """The operator guarantees that all clocks are right within `tolerance_s`; `unix_s` reads this node's clock."""

    tolerance_s: float
    unix_s: Callable[[], float]

    def expired(self, sealed_s: int, event: Event, ago_s: float) -> bool:
        """Whether an event sealed at `sealed_s` had expired when it arrived, `ago_s` seconds ago."""
        arrived_s = self.unix_s() - ago_s
        return sealed_s != UNKNOWN_TIME and arrived_s > sealed_s + event.validity_us * 1e-6 + self.tolerance_s


class Verifier:
    """Checks the seals of events, and remembers which key has which number."""

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
        """Refuse an event that its publisher did not seal. `budget` bounds how many signatures are computed.

        `ago_s`: how many seconds ago the event arrived, if it was stored since.
        """
        if len(event.payload) < SEAL_BYTES:
            raise Refused(UNSIGNED)
        public, signature, sealed_s, message = self._parts(event)
        self._check_number(event.publisher, public)
        if self._trust is not None and self._trust.expired(sealed_s, event, ago_s):
            raise Refused(EXPIRED)
        digest = _digest(public, signature, message)
        if self._verified.get(event.id) == digest:
            self._verified.move_to_end(event.id)
            if event.publisher in self._keys:
                self._keys.move_to_end(event.publisher)
            return
        _check_signature(public, signature, message, budget, now_us)
        _remember(self._verified, event.id, digest, self._verified_max)
        _remember(self._keys, event.publisher, public, self._keys_max)

    def sealed_here(self, event: Event) -> None:
        """This node has sealed the event: copies that neighbours send back need not be verified."""
        public, signature, _, message = self._parts(event)
        _remember(self._verified, event.id, _digest(public, signature, message), self._verified_max)

    def check_position(
        self, sender: int, boot: int, counter: int, public: bytes, signature: bytes, budget: TokenBucket, now_us: int
    ) -> None:
        """Refuse a position that its sender did not sign."""
        self._check_number(sender, public)
        _check_signature(public, signature, signed_position(self._group, sender, boot, counter), budget, now_us)
        _remember(self._keys, sender, public, self._keys_max)

    def _parts(self, event: Event) -> tuple[bytes, bytes, int, bytes]:
        """Of a sealed event: public key, signature, time and what was signed."""
        payload = event.payload
        (sealed_s,) = _TIME.unpack(payload[-SEAL_BYTES:_PUBLIC])
        message = signed_bytes(self._group, event, payload[:-SEAL_BYTES], sealed_s)
        return payload[_PUBLIC:_SIGNATURE], payload[_SIGNATURE:], sealed_s, message

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


def _digest(public: bytes, signature: bytes, message: bytes) -> bytes:
    return blake2b(public + signature + message, digest_size=16).digest()


def _check_signature(public: bytes, signature: bytes, message: bytes, budget: TokenBucket, now_us: int) -> None:
    if not budget.take(1.0, now_us):
        raise Refused(SIGNATURE_RATE)
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise Refused(BAD_SIGNATURE) from None


def _remember(table: OrderedDict[int, bytes], key: int, value: bytes, most: int) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > most:
        table.popitem(last=False)
