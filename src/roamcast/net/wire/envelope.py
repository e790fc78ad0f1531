"""Datagrams under the group's key: encrypted and authenticated, each with a nonce of its own.

The cipher is ChaCha20-Poly1305 (RFC 8439). It is as fast as AES on processors that have instructions for AES, and it is
neither slow nor open to timing attacks on the small processors that do not. A nonce must never repeat under a key. No
node can rely on its clock, or knows what others send, so every boot of every node has its own key:

    session key = BLAKE2b-256(key = group secret, person = "roamcast frame 1", sender (4 bytes) ‖ boot (8 bytes))
    nonce       = counter of the datagram in that boot, in 12 bytes

The boot number rises with every start of a node. `membership.take_boot` writes it to disk before the first datagram, so
that nothing needs to be written for each datagram. The header is authenticated with the rest. A node with keys accepts
no unsecured datagram, and a node without keys accepts no secured one: neither falls back to the other.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from struct import Struct
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from roamcast.net.refusal import FORGED, TOO_SHORT, UNKNOWN_KEY, UNSECURED, Refused
from roamcast.net.trust.keys import SECRET_BYTES, GroupKey, KeyRing
from roamcast.net.wire import packet
from roamcast.net.wire.packet import COUNTER_MAX, FRAGMENTS_MAX, NO_KEY, Header

TAG_BYTES: Final = 16
_SESSION: Final = Struct("!IQ")
_NONCE_PREFIX: Final = bytes(8)


def session_key(secret: bytes, sender: int, boot: int) -> bytes:
    return blake2b(
        _SESSION.pack(sender, boot), key=secret, digest_size=SECRET_BYTES, person=b"roamcast frame 1"
    ).digest()


class Envelope:
    """Puts inner parts into datagrams of this boot of this node, and takes them out of received datagrams.

    `take_boot` gives a boot number that is higher than all earlier ones of this node, and that is on disk. Without keys
    nothing is protected.
    """

    def __init__(self, ring: KeyRing | None, number: int, take_boot: Callable[[], int], sessions_max: int) -> None:
        self.number = number
        self._take_boot = take_boot
        self._sessions: OrderedDict[tuple[int, int, int], ChaCha20Poly1305] = OrderedDict()
        self._sessions_max = sessions_max
        self.boot = take_boot()
        self.counter = 0  # of the next datagram
        self.use(ring)

    def use(self, ring: KeyRing | None) -> None:
        """Use these keys from now on."""
        self.ring = ring
        self._sessions.clear()
        self._key_id = NO_KEY if ring is None else ring.sending.id
        self._own = None if ring is None else self._session(ring.sending, self.number, self.boot)

    @property
    def overhead(self) -> int:
        """How many bytes longer a datagram is than its inner part."""
        return packet.HEADER_BYTES + (0 if self.ring is None else TAG_BYTES)

    def wrap(self, kind: int, inner: bytes) -> bytes:
        header = Header(kind, self._key_id, self.number, self.boot, self.counter).packed()
        self.counter += 1
        if self._own is None:
            return header + inner
        return header + self._own.encrypt(_NONCE_PREFIX + header[-4:], inner, header)

    def prepare(self) -> None:
        """Begin a new boot if too few counters are left to give the fragments of a frame consecutive ones."""
        if self.counter > COUNTER_MAX - FRAGMENTS_MAX:
            self.begin_boot()

    def begin_boot(self) -> None:
        self.boot = self._take_boot()
        self.counter = 0
        self.use(self.ring)

    def check_key(self, header: Header) -> None:
        """Refuse a datagram under a key that this node does not have. This costs nothing, so it comes first."""
        if self.ring is None:
            if header.key_id != NO_KEY:
                raise Refused(UNKNOWN_KEY)
        elif header.key_id not in self.ring.by_id:
            raise Refused(UNSECURED if header.key_id == NO_KEY else UNKNOWN_KEY)

    def unwrap(self, header: Header, datagram: bytes) -> bytes:
        """The inner part of a datagram, exactly as a node with the key made it."""
        if self.ring is None:
            return datagram[packet.HEADER_BYTES :]
        if len(datagram) < packet.HEADER_BYTES + TAG_BYTES:
            raise Refused(TOO_SHORT)
        name = (header.key_id, header.sender, header.boot)
        known = self._sessions.get(name)
        session = known or self._session(self.ring.by_id[header.key_id], header.sender, header.boot)
        clear = datagram[: packet.HEADER_BYTES]
        try:
            inner = session.decrypt(_NONCE_PREFIX + clear[-4:], datagram[packet.HEADER_BYTES :], clear)
        except InvalidTag:
            raise Refused(FORGED) from None
        if known is None:
            self._remember(name, session)
        else:
            self._sessions.move_to_end(name)
        return inner

    def _remember(self, name: tuple[int, int, int], session: ChaCha20Poly1305) -> None:
        """Called only for senders that have proved to have the key: others cannot push these out of the table."""
        self._sessions[name] = session
        if len(self._sessions) > self._sessions_max:
            self._sessions.popitem(last=False)

    @staticmethod
    def _session(key: GroupKey, sender: int, boot: int) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(session_key(key.secret, sender, boot))
