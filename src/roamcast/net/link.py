"""Frames to datagrams and datagrams to frames, with every check in between; no clock, no socket.

What comes in is looked at in this order, cheapest first, and the first check that fails names the reason:

    1  length, magic, version, kind                        nothing is believed yet
    2  the key's id                                        no downgrade: secured and unsecured never mix
    3  own datagrams that the network brought back         passed over without a word
    4  rate of the address                                 bounds the work that strangers can cause
    5  counter, against the sender's replay window         read only: a forgery must not move it
    6  AEAD                                                from here on the sender is a member of the group
    7  room for a new sender; the replay window moves; the sender's own rate
    8  addressee; repetition of a frame already acknowledged; fragments
    9  the frame itself (`protocols.kit.wire.decode`)
   10  its publications' signatures and numbers            `publications.Verifier`

`incoming` never raises: what is refused is counted.
"""

from __future__ import annotations

import logging
import time
from hashlib import blake2b
from math import inf
from typing import Final, NamedTuple

from roamcast.errors import Malformed
from roamcast.net import packet
from roamcast.net.fragments import Reassembly, split
from roamcast.net.identity import Member
from roamcast.net.limits import Limits, TokenBucket
from roamcast.net.packet import Ack, FramePart, Header
from roamcast.net.peers import Address, Gate, Peer, Peers
from roamcast.net.publications import Trust, Verifier
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
    UNSECURED,
    Refused,
    Tally,
)
from roamcast.net.replay import LEAP_MAX
from roamcast.net.security import Envelope, KeyRing
from roamcast.protocols.kit import wire
from roamcast.protocols.kit.interface import BROADCAST, Frame, Protocol

log: Final = logging.getLogger("roamcast.net")

OUTDO_US: Final = 60_000_000
"""How often, at most, a life is begun to be ahead of somebody who speaks in this node's name …"""
OUTDO_MAX: Final = LEAP_MAX - (1 << 17)
"""… and how far up: for those who did not hear him, the life above his is no leap from any that this node led."""
_SPREAD: Final = 0x9E3779B97F4A7C15
_SERIALS: Final = (1 << 63) - 1
_SAID_ONCE: Final[dict[str, str]] = {
    NEWER_VERSION: "somebody speaks a newer version of the wire than this program knows; it is not understood",
    UNKNOWN_KEY: "somebody sends under a key that this node does not hold: another group's, or one that it missed",
    UNSECURED: "somebody sends without protection; it is not listened to",
    OTHER_PROTOCOL: "somebody in the group runs another protocol; it is not understood",
    OWN_NUMBER: "somebody else in the group uses this node's number, or replays what it said in an earlier life",
    IDENTITY_CONFLICT: "two keys claim the same node number: one of the nodes needs a new identity, or use a roster",
}


def serial(sender: int, boot: int, counter: int) -> int:
    """What the log calls a transmission: 63 bits. Lives begin far from each other, so that none meets another's."""
    return (((sender << 33 ^ boot) * _SPREAD >> 1) + counter) & _SERIALS


def protocol_tag(protocol: type[Protocol]) -> int:
    """A byte that tells protocols apart, so that a node of another one is noticed rather than misunderstood."""
    return blake2b(protocol.__name__.encode(), digest_size=1, person=b"roamcast tag").digest()[0]


class Arrival(NamedTuple):
    """What a datagram brought: a frame, an acknowledgement of one of ours, or a repetition to acknowledge again."""

    sender: int
    address: Address
    serial: int
    size: int  # of its datagrams …
    datagrams: int  # … of which there were so many
    frame: Frame | None
    to: int  # BROADCAST, or this node
    number: int  # of a frame addressed to this node, or of the frame that is acknowledged
    acknowledges: bool


class Link:
    def __init__(
        self, protocol: type[Protocol], member: Member, limits: Limits, tally: Tally, datagram_max: int
    ) -> None:
        self.number = member.number
        self.tally = tally
        self.datagram_max = datagram_max
        self._protocol = protocol
        self._tag = protocol_tag(protocol)
        self.envelope = Envelope(member.ring, member.number, member.take_boot, 2 * limits.senders)
        self.gate = Gate(limits)
        self.peers = Peers(limits, self.envelope.key_ids())
        self.reassembly = Reassembly(limits, tally)
        self._verifier: Verifier | None = None
        if member.identity is not None and member.ring is not None:
            within_s = member.clocks_within_s
            self._verifier = Verifier(
                member.ring.group,
                member.identity,
                member.number,
                member.roster,
                limits.verified,
                limits.identities,
                None if within_s is None else Trust(within_s, time.time),
            )
        self._outdo_us = 0  # when that may be done next
        self._said: dict[str, bool] = {}

    def use(self, ring: KeyRing) -> None:
        """The group's keys have changed; the group has not."""
        self.envelope.use(ring)
        self.peers.keep(ring.by_id)

    def restore(self, heard: bytes) -> None:
        """Where neighbours were in their numbers, from an earlier life."""
        self.peers.restore(heard)
        self.peers.keep(self.envelope.key_ids())

    # ---- out

    def outgoing(self, frame: Frame, to: int, number: int) -> tuple[int, list[bytes]]:
        """The serial of a transmission, and its datagrams."""
        body = wire.encode(self._protocol, frame)
        self.envelope.prepare()
        first = serial(self.number, self.envelope.boot, self.envelope.counter)
        head = self.envelope.overhead + packet.FRAME_BYTES + (0 if to < 0 else packet.ADDRESS_BYTES)
        if head + len(body) <= self.datagram_max:
            return first, [self._sealed(FramePart(self._tag, to, number, 0, 1, body))]
        pieces = split(body, self.datagram_max - head - packet.FRAGMENT_BYTES)
        if len(pieces) > packet.FRAGMENTS_MAX or len(body) > wire.MAX_FRAME:
            raise Refused(TOO_LARGE)
        parts = len(pieces)
        return first, [self._sealed(FramePart(self._tag, to, number, i, parts, p)) for i, p in enumerate(pieces)]

    def _sealed(self, part: FramePart) -> bytes:
        return self.envelope.seal(packet.FRAME, part.packed())

    def acknowledgement(self, to: int, number: int) -> bytes:
        self.envelope.prepare()
        return self.envelope.seal(packet.ACK, Ack(to, number).packed())

    # ---- in

    def incoming(self, datagram: bytes, address: Address, now_us: int) -> Arrival | None:
        try:
            return self._incoming(datagram, address, now_us)
        except Refused as refused:
            self.refused(refused.reason)
        except Malformed:
            self.refused(MALFORMED)
        except Exception:  # a frame of somebody else's protocol may fail in any way on what came from the air
            self.refused(PROTOCOL_ERROR)
            log.debug("a frame could not be read", exc_info=True)
        return None

    def refused(self, reason: str) -> None:
        self.tally.drop(reason)
        if reason in _SAID_ONCE and reason not in self._said:
            self._said[reason] = True
            log.warning("%s", _SAID_ONCE[reason])

    def _incoming(self, datagram: bytes, address: Address, now_us: int) -> Arrival | None:
        header = packet.read_header(datagram)
        envelope = self.envelope
        envelope.check_key(header)
        if (header.sender, header.boot) == (self.number, envelope.boot) and header.counter < envelope.counter:
            self.tally.echoes += 1
            return None
        self.gate.check(address, now_us)
        old = self.peers.refuse(header)
        if old:
            raise Refused(old)
        inner = envelope.open(header, datagram)
        if header.sender == self.number:
            self._outdo(header.boot, now_us)
            raise Refused(OWN_NUMBER)
        peer, forgotten = self.peers.accept(header, address, now_us)
        if forgotten >= 0:
            self.reassembly.forget_sender(forgotten)
        self.gate.proven(address, now_us)
        peer.charge(len(datagram), now_us)
        if header.kind == packet.ACK:
            return self._acknowledged(header, inner, address)
        return self._frame(header, inner, peer, len(datagram), now_us)

    def _outdo(self, boot: int, now_us: int) -> None:
        """Those who hear somebody ahead of us in our name take us for our own past: begin a life above his."""
        if self.envelope.ring is None:  # it may be anybody, and lives with keys have their numbers from the same vault
            return
        if self.envelope.boot <= boot < OUTDO_MAX and now_us >= self._outdo_us:
            self._outdo_us = now_us + OUTDO_US
            self.envelope.begin_life(boot)

    def _acknowledged(self, header: Header, inner: bytes, address: Address) -> Arrival:
        ack = packet.read_ack(inner)
        if ack.to != self.number:
            raise Refused(NOT_FOR_US)
        return Arrival(header.sender, address, 0, 0, 0, None, ack.to, ack.number, True)

    def _frame(self, header: Header, inner: bytes, peer: Peer, size: int, now_us: int) -> Arrival | None:
        part = packet.read_frame_part(inner)
        if part.to not in (BROADCAST, self.number):
            raise Refused(NOT_FOR_US)
        if part.protocol != self._tag:
            raise Refused(OTHER_PROTOCOL)
        first = serial(header.sender, header.boot, header.counter - part.part)
        if part.to >= 0 and part.number == peer.accepted:
            return Arrival(header.sender, peer.address, first, size, 1, None, part.to, part.number, False)
        body: bytes | None = part.body
        if part.parts > 1:
            body = self.reassembly.add(header.sender, header.boot, header.counter, part, now_us)
            if body is None:
                return None
            size = len(body) + part.parts * (self.envelope.overhead + packet.FRAME_BYTES + packet.FRAGMENT_BYTES)
            size += part.parts * packet.ADDRESS_BYTES if part.to >= 0 else 0
        frame = wire.decode(self._protocol, body or b"")
        self._verify(frame, peer, now_us)
        if part.to >= 0:
            peer.accepted = part.number
        peer.frames += 1
        peer.bytes += size
        return Arrival(header.sender, peer.address, first, size, part.parts, frame, part.to, part.number, False)

    def genuine(self, frame: Frame, ago_s: float) -> bool:
        """Whether a frame that was kept, and came so long ago, would be let in by its publications."""
        budget = TokenBucket(1.0, inf, 0)
        try:
            if self._verifier is not None:
                for event in frame.events():
                    self._verifier.check(event, budget, 0, ago_s)
        except Refused:
            return False
        return True

    def _verify(self, frame: Frame, peer: Peer, now_us: int) -> None:
        if self._verifier is not None:
            for event in frame.events():
                self._verifier.check(event, peer.signatures, now_us)
