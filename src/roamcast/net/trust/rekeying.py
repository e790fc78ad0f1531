"""A new group key over the air: sealed for each member on the roster, in the three steps of every rotation.

The steps are events, signed like all others, and spread by the protocol like all others. The node that rotates waits
until every member has taken a step before it begins the next, so that nobody is cut off:

    KEYS   the new key, in a box for each member      a member accepts it from now on
    SEND   its id                                     a member sends under it, and still accepts the older ones
    ONLY   its id                                     a member forgets the older ones

A member answers each step with an event that says so (`TAKEN`). A box is made for the member's identity: the Ed25519
key of the roster as an X25519 key (RFC 7748, 4.1), a new key pair for each rotation, and ChaCha20-Poly1305. Whoever
is not on the roster of the rotating node finds no box, and reads nothing that is sent after the second step.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from hashlib import blake2b, sha512
from typing import Final

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from roamcast.errors import InputError, Malformed
from roamcast.net.trust.keys import SECRET_BYTES, GroupKey, KeyRing

TOPIC: Final = "roamcast.key"
KEYS: Final = 0
SEND: Final = 1
ONLY: Final = 2
STEPS: Final = ("accept the new key", "send under the new key", "forget the old keys")
MEMBERS_MAX: Final = 1000
_PRIME: Final = 2**255 - 19
_NONCE: Final = bytes(12)


class Step(msgspec.Struct, frozen=True, array_like=True, tag_field="is", tag=True, forbid_unknown_fields=True):
    """What a member has to do."""

    step: int
    key: int  # its id
    ephemeral: bytes = b""  # with KEYS: the public key of this rotation
    boxes: dict[int, bytes] = {}  # by node number


class Taken(msgspec.Struct, frozen=True, array_like=True, tag_field="is", tag=True, forbid_unknown_fields=True):
    """A member has taken a step."""

    step: int
    key: int


_decoder: Final[msgspec.msgpack.Decoder[Step | Taken]] = msgspec.msgpack.Decoder(Step | Taken)


def encoded(message: Step | Taken) -> bytes:
    return msgspec.msgpack.encode(message)


def decoded(payload: bytes) -> Step | Taken:
    try:
        message = _decoder.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        raise Malformed("not a step of a rotation") from None
    if message.step not in (KEYS, SEND, ONLY):
        raise Malformed("an unknown step of a rotation")
    return message


# ---- boxes


def exchange_public(public: bytes) -> X25519PublicKey:
    """The X25519 key of an Ed25519 public key: u = (1 + y) / (1 - y)."""
    y = int.from_bytes(public, "little") & (1 << 255) - 1
    if y >= _PRIME or y == 1:
        raise InputError(f"roster: {public.hex()} is not a public key")
    u = (1 + y) * pow(1 - y, -1, _PRIME) % _PRIME
    return X25519PublicKey.from_public_bytes(u.to_bytes(32, "little"))


def exchange_private(seed: bytes) -> X25519PrivateKey:
    """The X25519 key of an Ed25519 seed."""
    return X25519PrivateKey.from_private_bytes(sha512(seed).digest()[:32])


def _box_key(shared: bytes, ephemeral: bytes, number: int) -> bytes:
    about = ephemeral + number.to_bytes(4, "big")
    return blake2b(about, key=shared, digest_size=32, person=b"roamcast rekey 1").digest()


def boxes(secret: bytes, group: bytes, members: Mapping[int, bytes]) -> tuple[bytes, dict[int, bytes]]:
    """A new public key, and the secret sealed for each member by number."""
    if len(members) > MEMBERS_MAX:
        raise InputError(f"a rotation over the air is for at most {MEMBERS_MAX} members")
    own = X25519PrivateKey.generate()
    ephemeral = own.public_key().public_bytes_raw()
    sealed = {
        number: ChaCha20Poly1305(_box_key(own.exchange(exchange_public(public)), ephemeral, number)).encrypt(
            _NONCE, secret, group
        )
        for number, public in members.items()
    }
    return ephemeral, sealed


def opened(step: Step, number: int, seed: bytes, group: bytes) -> GroupKey | None:
    """The key in this member's box; None if there is no box for it, or it holds something else."""
    box = step.boxes.get(number)
    if box is None:
        return None
    try:
        shared = exchange_private(seed).exchange(X25519PublicKey.from_public_bytes(step.ephemeral))
        secret = ChaCha20Poly1305(_box_key(shared, step.ephemeral, number)).decrypt(_NONCE, box, group)
    except (InvalidTag, ValueError):
        return None
    key = GroupKey(secret) if len(secret) == SECRET_BYTES else None
    return key if key is not None and key.id == step.key else None


# ---- key rings


def new_key(ring: KeyRing) -> GroupKey:
    while True:
        key = GroupKey(secrets.token_bytes(SECRET_BYTES))
        if key.id not in ring.by_id:
            return key


def digest(key: GroupKey) -> bytes:
    """By which a key is known when it is gone."""
    return blake2b(key.secret, digest_size=16, person=b"roamcast dropped").digest()


def after_step(ring: KeyRing, step: int, key: int, new: GroupKey | None = None) -> KeyRing:
    """The ring after a step; the same ring if the step is an old one, or was taken already."""
    if step == KEYS:
        if new is None or new.id in ring.by_id:
            return ring
        return KeyRing(ring.group, (*ring.keys, new), ring.sending.id)
    if key not in ring.by_id:
        return ring
    ids = [known.id for known in ring.keys]
    if step == SEND:
        forward = ids.index(key) > ids.index(ring.sending.id)
        return KeyRing(ring.group, ring.keys, key) if forward else ring
    return ring.retired() if ring.sending.id == key else ring


def has_taken(ring: KeyRing, step: int, key: int) -> bool:
    if step == KEYS:
        return key in ring.by_id
    return ring.sending.id == key and (step == SEND or len(ring.keys) == 1)
