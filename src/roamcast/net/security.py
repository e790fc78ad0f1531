"""Frames under the group's key: authenticated, secret, each with a nonce of its own.

ChaCha20-Poly1305 (RFC 8439): as fast as AES on processors with instructions for that, and neither slow nor leaky on the
small ones without, which is where these nodes live. A nonce must never repeat under a key, and no node is sure of its
clock or knows what others send, so every life of every node has a key of its own:

    session key = BLAKE2b-256(key = group secret, person = "roamcast frame 1", sender (4 bytes) ‖ boot (8 bytes))
    nonce       = counter of the datagram in that life, in 12 bytes

`boot` rises with every life of a node (`identity.take_boot` makes it durable before the first frame), so nothing need
be written per frame. The header is authenticated with the rest. A node with keys takes nothing unsecured, and a node
without takes nothing secured: there is no falling back from one to the other.

This module imports neither asyncio nor sockets: the simulator asks it what security costs.
"""

from __future__ import annotations

import base64
import binascii
import secrets
import tomllib
from collections import OrderedDict
from collections.abc import Callable, Collection
from hashlib import blake2b
from pathlib import Path
from struct import Struct
from typing import Any, Final, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from roamcast import files
from roamcast.errors import InputError, error_text
from roamcast.net import packet
from roamcast.net.packet import COUNTER_MAX, FRAGMENTS_MAX, NO_KEY, Header
from roamcast.net.refusal import FORGED, TOO_SHORT, UNKNOWN_KEY, UNSECURED, Refused

SECRET_BYTES: Final = 32
GROUP_BYTES: Final = 8
TAG_BYTES: Final = 16

OVERHEAD_BYTES: Final = packet.HEADER_BYTES + packet.FRAME_BYTES + TAG_BYTES
"""What a datagram adds to the frame in it (to one addressed to a neighbour: ADDRESS_BYTES more)."""
ADDRESS_BYTES: Final = packet.ADDRESS_BYTES
ACK_BYTES: Final = packet.HEADER_BYTES + packet.ADDRESS_BYTES + TAG_BYTES
"""A whole acknowledgement."""
SEAL_BYTES: Final = 4 + 32 + 64
"""What a signed event is longer than an unsigned one: time, public key and signature (one more where its payload's
length passes 255 bytes, and two where it passes 65,535)."""

_SESSION: Final = Struct("!IQ")
_NO_NONCE: Final = bytes(8)


def session_key(secret: bytes, sender: int, boot: int) -> bytes:
    return blake2b(
        _SESSION.pack(sender, boot), key=secret, digest_size=SECRET_BYTES, person=b"roamcast frame 1"
    ).digest()


# -------------------------------------------------------------------------------------------------------------- keys


class GroupKey:
    """32 secret bytes. Its id says which key a datagram is under, and nothing about the secret."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) != SECRET_BYTES:
            raise InputError(f"a group key has {SECRET_BYTES} bytes, not {len(secret)}")
        self.secret = secret
        self.id = int.from_bytes(blake2b(secret, digest_size=2, person=b"roamcast key id1").digest(), "big") or 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupKey) and secrets.compare_digest(self.secret, other.secret)

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"GroupKey({self.id:04x})"  # never the secret


class KeyRing:
    """The keys of a group, oldest first: all are accepted, one sends.

    A rotation has three steps, each taken on every node before the next: `with_next` adds a key that is accepted but
    does not send yet, `promoted` lets it send, `retired` drops the older ones. `group` stays the same: signatures of
    publications hold in this group and no other.
    """

    def __init__(self, group: bytes, keys: tuple[GroupKey, ...], sending: int) -> None:
        if len(group) != GROUP_BYTES:
            raise InputError(f"a group's id has {GROUP_BYTES} bytes, not {len(group)}")
        self.group = group
        self.keys = keys
        self.by_id = {key.id: key for key in keys}
        if len(self.by_id) != len(keys):
            raise InputError("two keys of the group have the same id: make one of them anew")
        if sending not in self.by_id:
            raise InputError(f"the group has no key {sending:04x} to send with")
        self.sending = self.by_id[sending]

    @classmethod
    def new(cls) -> Self:
        key = GroupKey(secrets.token_bytes(SECRET_BYTES))
        return cls(secrets.token_bytes(GROUP_BYTES), (key,), key.id)

    def with_next(self) -> KeyRing:
        key = GroupKey(secrets.token_bytes(SECRET_BYTES))
        while key.id in self.by_id:
            key = GroupKey(secrets.token_bytes(SECRET_BYTES))
        return KeyRing(self.group, (*self.keys, key), self.sending.id)

    def promoted(self) -> KeyRing:
        return KeyRing(self.group, self.keys, self.keys[-1].id)

    def retired(self) -> KeyRing:
        at = self.keys.index(self.sending)
        return KeyRing(self.group, self.keys[at:], self.sending.id)

    # ---- the file

    def text(self) -> str:
        keys = "".join(f'  "{base64.b64encode(key.secret).decode()}",  # {key.id:04x}\n' for key in self.keys)
        return (
            "# roamcast group keys. Whoever has this file can read and speak in the group.\n"
            f'group = "{self.group.hex()}"\n'
            f'sending = "{self.sending.id:04x}"\n'
            f"keys = [\n{keys}]\n"
        )

    def save(self, path: str | Path, *, replace: bool = False) -> None:
        """Readable by its owner alone. Without `replace`, a file that exists is left alone."""
        target = Path(path)
        try:
            files.write(target, self.text().encode(), mode=files.PRIVATE, durable=True, overwrite=replace)
        except FileExistsError:
            raise InputError(f"{path} exists; a group key is not overwritten") from None
        except OSError as error:
            raise InputError(f"cannot write the key {path}: {error_text(error)}") from None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        try:
            mode = Path(path).stat().st_mode
            text = Path(path).read_text()
        except FileNotFoundError:
            raise InputError(f"there is no group key {path}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the group key {path}: {error_text(error)}") from None
        if mode & 0o077:
            raise InputError(f"the group key {path} can be read by others: chmod 600 {path}")
        try:
            return cls.parse(text)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    @classmethod
    def parse(cls, text: str) -> Self:
        try:
            found: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"no group key: {error}") from None
        group, sending, keys = (found.get(name) for name in ("group", "sending", "keys"))
        if not isinstance(group, str) or not isinstance(sending, str) or not isinstance(keys, list) or not keys:
            raise InputError('a group key file has group = "…", sending = "…" and keys = ["…"]')
        try:
            decoded = [GroupKey(base64.b64decode(key, validate=True)) for key in keys]
            return cls(bytes.fromhex(group), tuple(decoded), int(sending, 16))
        except (binascii.Error, TypeError, ValueError):
            raise InputError("group and sending are hexadecimal, keys are base64") from None


# ---------------------------------------------------------------------------------------------------------- datagrams


class Envelope:
    """Puts inner parts into datagrams of this life of this node, and takes them out of others'.

    `take_boot` gives a number above all earlier ones of this node and the one it is told, durably. Without keys nothing
    is protected.
    """

    def __init__(self, ring: KeyRing | None, number: int, take_boot: Callable[[int], int], sessions_max: int) -> None:
        self.number = number
        self._take_boot = take_boot
        self._sessions: OrderedDict[tuple[int, int, int], ChaCha20Poly1305] = OrderedDict()
        self._sessions_max = sessions_max
        self.boot = take_boot(0)
        self.counter = 0  # of the next datagram
        self.use(ring)

    def use(self, ring: KeyRing | None) -> None:
        """From now on these are the keys."""
        self.ring = ring
        self._sessions.clear()
        self._key_id = NO_KEY if ring is None else ring.sending.id
        self._own = None if ring is None else self._session(ring.sending, self.number, self.boot)

    @property
    def overhead(self) -> int:
        """Bytes that a datagram is longer than its inner part."""
        return packet.HEADER_BYTES + (0 if self.ring is None else TAG_BYTES)

    def seal(self, kind: int, inner: bytes) -> bytes:
        header = Header(kind, self._key_id, self.number, self.boot, self.counter).packed()
        self.counter += 1
        if self._own is None:
            return header + inner
        return header + self._own.encrypt(_NO_NONCE + header[-4:], inner, header)

    def prepare(self) -> None:
        """Make sure that a frame's fragments can have numbers in a row: a used-up life is followed by the next."""
        if self.counter > COUNTER_MAX - FRAGMENTS_MAX:
            self.begin_life()

    def begin_life(self, above: int = 0) -> None:
        self.boot = self._take_boot(above)
        self.counter = 0
        self.use(self.ring)

    def key_ids(self) -> Collection[int]:
        return (NO_KEY,) if self.ring is None else self.ring.by_id

    def check_key(self, header: Header) -> None:
        """Whether a datagram can be one of the group's at all: what costs nothing comes first."""
        if self.ring is None:
            if header.key_id != NO_KEY:
                raise Refused(UNKNOWN_KEY)
        elif header.key_id not in self.ring.by_id:
            raise Refused(UNSECURED if header.key_id == NO_KEY else UNKNOWN_KEY)

    def open(self, header: Header, datagram: bytes) -> bytes:
        """The inner part of a datagram that somebody with the key made, exactly as it was made."""
        if self.ring is None:
            return datagram[packet.HEADER_BYTES :]
        if len(datagram) < packet.HEADER_BYTES + TAG_BYTES:
            raise Refused(TOO_SHORT)
        name = (header.key_id, header.sender, header.boot)
        known = self._sessions.get(name)
        session = known or self._session(self.ring.by_id[header.key_id], header.sender, header.boot)
        clear = datagram[: packet.HEADER_BYTES]
        try:
            inner = session.decrypt(_NO_NONCE + clear[-4:], datagram[packet.HEADER_BYTES :], clear)
        except InvalidTag:
            raise Refused(FORGED) from None
        if known is None:
            self._keep(name, session)
        else:
            self._sessions.move_to_end(name)
        return inner

    def _keep(self, name: tuple[int, int, int], session: ChaCha20Poly1305) -> None:
        """Only of senders who have the key, so that nobody else can push them out."""
        self._sessions[name] = session
        if len(self._sessions) > self._sessions_max:
            self._sessions.popitem(last=False)

    @staticmethod
    def _session(key: GroupKey, sender: int, boot: int) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(session_key(key.secret, sender, boot))
