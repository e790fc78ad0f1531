"""The frame codec: frames to datagrams and datagrams to frames, with every check in between.

A received datagram is checked in this order, the cheapest check first. The first check that fails gives the reason:

    1  length, magic, version, kind
    2  the key's id                                   no downgrade: secured and unsecured datagrams never mix
    3  own datagrams that the network brought back    ignored silently
    4  rate of the address                            bounds the work that strangers can cause
    5  boot and counter, against the sender's history only read: a forgery must not change it
    6  AEAD                                           from here on the sender is a member of the group
    7  room for a new peer; the history grows; the sender's own rate; of a position: its signature
    8  addressee; repetition of a frame that was already acknowledged; fragments
    9  the frame itself (`protocols.kit.wire.decode`)
   10  the seals of its events                        `seals.Verifier`

`incoming` never raises: whatever is refused is counted.
"""

from __future__ import annotations

import logging
import time
from hashlib import blake2b
from math import inf
from typing import Final, NamedTuple

from roamcast.errors import Malformed
from roamcast.net.limits import Limits, TokenBucket
from roamcast.net.refusal import (
    IDENTITY_CONFLICT,
    MALFORMED,
    NEWER_VERSION,
    NOT_FOR_US,
    OTHER_PROTOCOL,
    OWN_NUMBER,
    PROTOCOL_ERROR,
    TOO_LARGE,
    UNKNOWN_KEY,
    UNKNOWN_KIND,
    UNSECURED,
    Refused,
    Tally,
)
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.net.trust.positions import PositionSchedule, sign_position
from roamcast.net.trust.seals import Trust, Verifier
from roamcast.net.wire import packet
from roamcast.net.wire.addresses import Address, AddressLimits
from roamcast.net.wire.envelope import Envelope
from roamcast.net.wire.fragments import Reassembly, split
from roamcast.net.wire.packet import Ack, FramePart, Header, Proof
from roamcast.net.wire.peers import Peer, Peers
from roamcast.protocols.kit import wire
from roamcast.protocols.kit.interface import BROADCAST, Frame, Protocol
from roamcast.pubsub.event import Event

log: Final = logging.getLogger("roamcast.net")

_SPREAD: Final = 0x9E3779B97F4A7C15
_SERIALS: Final = (1 << 63) - 1
_WARN_ONCE: Final[dict[str, str]] = {
    NEWER_VERSION: "a node sends a newer version of the wire format than this program knows; it is ignored",
    UNKNOWN_KEY: "a node sends under a key that this node does not have: that of another group, or one that it missed",
    UNSECURED: "a node sends without protection; it is ignored",
    OTHER_PROTOCOL: "a node of the group runs another protocol; its frames are ignored",
    OWN_NUMBER: "another node of the group sends in this node's name, or replays datagrams of an earlier boot",
    IDENTITY_CONFLICT: "two keys claim the same node number: one of the nodes needs a new identity, or use a roster",
}


def serial(sender: int, boot: int, counter: int) -> int:
    """The serial of a transmission in the log: 63 bits. Serials of different boots are far apart, so none repeats."""
    return (((sender << 33 ^ boot) * _SPREAD >> 1) + counter) & _SERIALS


def protocol_tag(protocol: type[Protocol]) -> int:
    """A byte that differs between protocols, so that frames of another protocol are noticed and not misread."""
    return blake2b(protocol.__name__.encode(), digest_size=1, person=b"roamcast tag").digest()[0]


class Arrival(NamedTuple):
    """What a datagram completed: a frame, an acknowledgement of an own frame, or a repetition to acknowledge again."""

    sender: int
    address: Address
    serial: int
    size: int  # of all its datagrams
    datagrams: int  # how many there were
    frame: Frame | None
    body: bytes  # the frame's bytes as they came
    to: int  # BROADCAST, or this node
    number: int  # of a frame addressed to this node, or of the frame that is acknowledged
    acknowledges: bool


class FrameCodec:
    def __init__(
        self, protocol: type[Protocol], membership: Membership, limits: Limits, tally: Tally, datagram_max: int
    ) -> None:
        self.number = membership.number
        self.tally = tally
        self.datagram_max = datagram_max
        self._protocol = protocol
        self._tag = protocol_tag(protocol)
        self.envelope = Envelope(membership.ring, membership.number, membership.take_boot, 2 * limits.senders)
        self.addresses = AddressLimits(limits)
        self.peers = Peers(limits)
        self._identity = membership.identity
        self.reassembly = Reassembly(limits, tally)
        self._verifier: Verifier | None = None
        if membership.identity is not None and membership.ring is not None:
            within_s = membership.clocks_within_s
            self._verifier = Verifier(
                membership.ring.group,
                membership.identity,
                membership.number,
                membership.roster,
                limits.verified,
                limits.identities,
                None if within_s is None else Trust(within_s, time.time),
            )
        self._warned: set[str] = set()

    def use(self, ring: KeyRing) -> None:
        """The group's keys have changed; the group has not."""
        self.envelope.use(ring)

    def restore(self, heard: bytes) -> None:
        """The positions of peers that an earlier boot exported."""
        self.peers.restore(heard)

    # ---- out

    def encode(self, frame: Frame) -> bytes:
        """The bytes of a frame, to be made once and given to `outgoing` for every attempt."""
        return wire.encode(self._protocol, frame)

    def decode(self, body: bytes) -> Frame:
        """The inverse of `encode`; `Malformed` if the bytes are not a frame of this protocol."""
        return wire.decode(self._protocol, body)

    def outgoing(self, body: bytes, to: int, number: int, datagram_max: int = 0) -> tuple[int, list[bytes]]:
        """The serial of one attempt to send an encoded frame, and its datagrams, of at most this many bytes each."""
        room = datagram_max or self.datagram_max
        self.envelope.prepare()
        first = serial(self.number, self.envelope.boot, self.envelope.counter)
        head = self.envelope.overhead + packet.FRAME_BYTES + (0 if to < 0 else packet.ADDRESS_BYTES)
        if head + len(body) <= room:
            return first, [self._wrapped(FramePart(self._tag, to, number, 0, 1, body))]
        pieces = split(body, room - head - packet.FRAGMENT_BYTES)
        if len(pieces) > packet.FRAGMENTS_MAX or len(body) > wire.MAX_FRAME:
            raise Refused(TOO_LARGE)
        parts = len(pieces)
        return first, [self._wrapped(FramePart(self._tag, to, number, i, parts, p)) for i, p in enumerate(pieces)]

    def _wrapped(self, part: FramePart) -> bytes:
        return self.envelope.wrap(packet.FRAME, part.packed())

    def acknowledgement(self, to: int, number: int) -> bytes:
        self.envelope.prepare()
        return self.envelope.wrap(packet.ACK, Ack(to, number).packed())

    def position(self, now_us: int, schedule: PositionSchedule) -> bytes | None:
        """A datagram with this node's signed position, if one is due before the next datagram on a medium.

        `schedule`: of that medium.
        """
        envelope, ring = self.envelope, self.envelope.ring
        envelope.prepare()
        boot, counter = envelope.boot, envelope.counter
        if self._identity is None or ring is None or not schedule.due(boot, counter, now_us):
            return None
        schedule.signed(boot, counter, now_us)
        signature = sign_position(self._identity, ring.group, self.number, boot, counter)
        return envelope.wrap(packet.POSITION, Proof(self._identity.public, signature).packed())

    # ---- in

    def incoming(self, datagram: bytes, address: Address, now_us: int) -> Arrival | None:
        try:
            return self._incoming(datagram, address, now_us)
        except Refused as refused:
            self.refused(refused.reason)
        except Malformed:
            self.refused(MALFORMED)
        except Exception:  # the decoder of a protocol from outside may fail in any way
            self.refused(PROTOCOL_ERROR)
            log.debug("a frame could not be read", exc_info=True)
        return None

    def refused(self, reason: str) -> None:
        self.tally.drop(reason)
        if reason in _WARN_ONCE and reason not in self._warned:
            self._warned.add(reason)
            log.warning("%s", _WARN_ONCE[reason])

    def _incoming(self, datagram: bytes, address: Address, now_us: int) -> Arrival | None:
        header = packet.read_header(datagram)
        envelope = self.envelope
        envelope.check_key(header)
        if (header.sender, header.boot) == (self.number, envelope.boot) and header.counter < envelope.counter:
            self.tally.echoes += 1
            return None
        self.addresses.check(address, now_us)
        old = self.peers.refuse(header, datagram)
        if old:
            raise Refused(old)
        inner = envelope.unwrap(header, datagram)
        if header.sender == self.number:
            raise Refused(OWN_NUMBER)
        peer, removed = self.peers.admit(header, address, now_us)
        if removed >= 0:
            self.reassembly.forget_sender(removed)
        if header.kind == packet.POSITION:
            self._prove(header, inner, peer, now_us)
        else:
            peer.history.accept(header.boot, header.counter, datagram)
        self.addresses.proven(address, now_us)
        peer.charge(len(datagram), now_us)
        if header.kind == packet.FRAME:
            return self._frame(header, inner, peer, len(datagram), now_us)
        return self._acknowledged(header, inner, address) if header.kind == packet.ACK else None

    def _prove(self, header: Header, inner: bytes, peer: Peer, now_us: int) -> None:
        """The sender has signed its position. It need not be the one that sent this datagram."""
        if self._verifier is None:
            raise Refused(UNKNOWN_KIND)
        public, signature = packet.read_proof(inner)
        sender, boot, counter = header.sender, header.boot, header.counter
        self._verifier.check_position(sender, boot, counter, public, signature, peer.positions_rate, now_us)
        peer.history.move(boot, counter)
        self.tally.positions_in += 1

    def _acknowledged(self, header: Header, inner: bytes, address: Address) -> Arrival:
        ack = packet.read_ack(inner)
        if ack.to != self.number:
            raise Refused(NOT_FOR_US)
        return Arrival(header.sender, address, 0, 0, 0, None, b"", ack.to, ack.number, True)

    def _frame(self, header: Header, inner: bytes, peer: Peer, size: int, now_us: int) -> Arrival | None:
        part = packet.read_frame_part(inner)
        if part.to not in (BROADCAST, self.number):
            raise Refused(NOT_FOR_US)
        if part.protocol != self._tag:
            raise Refused(OTHER_PROTOCOL)
        first = serial(header.sender, header.boot, header.counter - part.part)
        if part.to >= 0 and part.number == peer.accepted:
            return Arrival(header.sender, peer.address, first, size, 1, None, b"", part.to, part.number, False)
        body = part.body
        if part.parts > 1:
            whole = self.reassembly.add(header.sender, header.boot, header.counter, part, now_us)
            if whole is None:
                return None
            body = whole
            size = len(body) + part.parts * (self.envelope.overhead + packet.FRAME_BYTES + packet.FRAGMENT_BYTES)
            size += part.parts * packet.ADDRESS_BYTES if part.to >= 0 else 0
        frame = self.decode(body)
        self._verify(frame, peer, now_us)
        if part.to >= 0:
            peer.accepted = part.number
        peer.frames += 1
        peer.bytes += size
        return Arrival(header.sender, peer.address, first, size, part.parts, frame, body, part.to, part.number, False)

    def genuine(self, frame: Frame, ago_s: float) -> bool:
        """Whether the seals of all events in a carried frame are genuine; it arrived `ago_s` seconds ago."""
        budget = TokenBucket(1.0, inf, 0)
        try:
            if self._verifier is not None:
                for event in frame.events():
                    self._verifier.check(event, budget, 0, ago_s)
        except Refused:
            return False
        return True

    def sealed_here(self, event: Event) -> None:
        """An own event, which neighbours will send back."""
        if self._verifier is not None:
            self._verifier.sealed_here(event)

    def _verify(self, frame: Frame, peer: Peer, now_us: int) -> None:
        if self._verifier is not None:
            for event in frame.events():
                self._verifier.check(event, peer.signatures, now_us)
