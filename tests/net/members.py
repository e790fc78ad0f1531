"""Members of a group, and frame codecs that work without a network."""

from __future__ import annotations

from typing import Any

from roamcast.net.durable import MemoryValues
from roamcast.net.limits import Limits
from roamcast.net.refusal import Tally
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.net.trust.seals import sealed
from roamcast.net.wire.codec import Arrival, FrameCodec
from roamcast.protocols.kit.interface import BROADCAST, Frame
from roamcast.pubsub.event import Event, event_id
from tests.conformance.driver import Parcel, Ping, Probe
from tests.conformance.real import RING

HERE = ("192.0.2.1", 1000)
THERE = ("192.0.2.2", 1000)
DATAGRAM_MAX = 1372


def member(ring: KeyRing = RING) -> Membership:
    return Membership.secure(MemoryValues(), ring)


def frame_codec(membership: Membership | None = None, datagram_max: int = DATAGRAM_MAX, **limits: Any) -> FrameCodec:
    return FrameCodec(Probe, membership or member(), Limits(**limits), Tally(), datagram_max)


def datagrams(sender: FrameCodec, frame: Frame, to: int = BROADCAST, number: int = 0) -> list[bytes]:
    return sender.outgoing(sender.encode(frame), to, number)[1]


def datagram(sender: FrameCodec, frame: Frame | None = None, to: int = BROADCAST, number: int = 0) -> bytes:
    (one,) = datagrams(sender, frame or Ping(1), to, number)
    return one


def hear(receiver: FrameCodec, data: bytes, address: Any = HERE, now_us: int = 0) -> Arrival | None:
    return receiver.incoming(data, address, now_us)


def publication(membership: Membership, sequence: int = 1, **content: Any) -> Event:
    """An event of this member, sealed."""
    assert membership.identity is not None
    assert membership.ring is not None
    return sealed(Event(event_id(membership.number, sequence), **content), membership.identity, membership.ring.group)


def parcel(membership: Membership, sequence: int = 1, **content: Any) -> Parcel:
    return Parcel(publication(membership, sequence, **content))


def drops(receiver: FrameCodec) -> dict[str, int]:
    return receiver.tally.drops()
