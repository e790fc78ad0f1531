"""The outer datagram, byte by byte. docs/reference/wire.md is the specification; its test vectors run against this.

    header   magic, version and kind, key id, sender, boot, counter     20 bytes, in clear, authenticated
    inner    the contents of this kind                                  encrypted
    tag      16 bytes; none in an unsecured datagram

Numbers are unsigned and big-endian. The readers check every byte: anything that is not exactly as written here is
refused.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from roamcast.net.refusal import MALFORMED, NEWER_VERSION, NOT_OURS, OLDER_VERSION, TOO_SHORT, UNKNOWN_KIND, Refused
from roamcast.net.trust.identity import NODE_MAX, PUBLIC_BYTES, SIGNATURE_BYTES

MAGIC: Final = 0xA7
VERSION: Final = 2

FRAME: Final = 0
ACK: Final = 1
POSITION: Final = 2

NO_KEY: Final = 0
"""The key id of a datagram without protection."""

COUNTER_MAX: Final = (1 << 32) - 1
NUMBERS: Final = 1 << 16
FRAGMENTS_MAX: Final = 255

ADDRESSED: Final = 1
FRAGMENT: Final = 2

_HEADER: Final = Struct("!BBHIQI")
_FRAME: Final = Struct("!BB")
_ADDRESS: Final = Struct("!IH")
_FRAGMENT: Final = Struct("!BB")

HEADER_BYTES: Final = _HEADER.size
FRAME_BYTES: Final = _FRAME.size
ADDRESS_BYTES: Final = _ADDRESS.size
FRAGMENT_BYTES: Final = _FRAGMENT.size
PROOF_BYTES: Final = PUBLIC_BYTES + SIGNATURE_BYTES

POSITION_BYTES: Final = HEADER_BYTES + PROOF_BYTES + 16
"""Of a datagram with a position; the last 16 are the tag."""

_CURRENT: Final = VERSION << 4


class Header(NamedTuple):
    kind: int
    key_id: int
    sender: int
    boot: int
    counter: int

    def packed(self) -> bytes:
        return _HEADER.pack(MAGIC, _CURRENT | self.kind, self.key_id, self.sender, self.boot, self.counter)


def read_header(datagram: bytes) -> Header:
    """The header, or `Refused`."""
    if len(datagram) < 2:
        raise Refused(TOO_SHORT)
    if datagram[0] != MAGIC:
        raise Refused(NOT_OURS)
    version, kind = datagram[1] >> 4, datagram[1] & 15
    if version != VERSION:
        raise Refused(NEWER_VERSION if version > VERSION else OLDER_VERSION)
    if kind > POSITION:
        raise Refused(UNKNOWN_KIND)
    if len(datagram) < HEADER_BYTES:
        raise Refused(TOO_SHORT)
    _, _, key_id, sender, boot, counter = _HEADER.unpack_from(datagram)
    if sender > NODE_MAX:
        raise Refused(NOT_OURS)
    return Header(kind, key_id, sender, boot, counter)


class FramePart(NamedTuple):
    """The inner part of a frame's datagram: a frame, or one of `parts` fragments of it.

    `to` is -1 for all nodes, and then `number` is 0; a repetition of a frame has the number of the first attempt.
    """

    protocol: int
    to: int
    number: int
    part: int
    parts: int
    body: bytes

    def packed(self) -> bytes:
        flags, more = 0, b""
        if self.to >= 0:
            flags |= ADDRESSED
            more += _ADDRESS.pack(self.to, self.number)
        if self.parts > 1:
            flags |= FRAGMENT
            more += _FRAGMENT.pack(self.part, self.parts)
        return _FRAME.pack(flags, self.protocol) + more + self.body


def read_frame_part(inner: bytes) -> FramePart:
    if len(inner) < FRAME_BYTES:
        raise Refused(MALFORMED)
    flags, protocol = _FRAME.unpack_from(inner)
    at = FRAME_BYTES
    to, number, part, parts = -1, 0, 0, 1
    if flags & ~(ADDRESSED | FRAGMENT):
        raise Refused(MALFORMED)
    if flags & ADDRESSED:
        if len(inner) < at + ADDRESS_BYTES:
            raise Refused(MALFORMED)
        to, number = _ADDRESS.unpack_from(inner, at)
        at += ADDRESS_BYTES
        if to > NODE_MAX:
            raise Refused(MALFORMED)
    if flags & FRAGMENT:
        if len(inner) < at + FRAGMENT_BYTES:
            raise Refused(MALFORMED)
        part, parts = _FRAGMENT.unpack_from(inner, at)
        at += FRAGMENT_BYTES
        if parts < 2 or part >= parts:
            raise Refused(MALFORMED)
    if len(inner) == at:
        raise Refused(MALFORMED)
    return FramePart(protocol, to, number, part, parts, inner[at:])


class Ack(NamedTuple):
    """The frame `number` of node `to` has arrived complete."""

    to: int
    number: int

    def packed(self) -> bytes:
        return _ADDRESS.pack(self.to, self.number)


def read_ack(inner: bytes) -> Ack:
    if len(inner) != ADDRESS_BYTES:
        raise Refused(MALFORMED)
    to, number = _ADDRESS.unpack(inner)
    if to > NODE_MAX:
        raise Refused(MALFORMED)
    return Ack(to, number)


class Proof(NamedTuple):
    """The inner part of a position: the sender's key, and its signature of the boot and the counter in the header."""

    public: bytes
    signature: bytes

    def packed(self) -> bytes:
        return self.public + self.signature


def read_proof(inner: bytes) -> Proof:
    if len(inner) != PROOF_BYTES:
        raise Refused(MALFORMED)
    return Proof(inner[:PUBLIC_BYTES], inner[PUBLIC_BYTES:])
