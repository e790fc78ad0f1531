"""Members of a group, and links between them without any network."""

from __future__ import annotations

from typing import Any

from roamcast.net.identity import Member
from roamcast.net.limits import Limits
from roamcast.net.link import Arrival, Link
from roamcast.net.publications import sealed
from roamcast.net.refusal import Tally
from roamcast.net.security import KeyRing
from roamcast.net.vault import MemoryVault
from roamcast.protocols.kit.interface import BROADCAST, Frame
from roamcast.pubsub.event import Event, event_id
from tests.conformance.driver import Parcel, Ping, Probe
from tests.conformance.real import RING

HERE = ("192.0.2.1", 1000)
THERE = ("192.0.2.2", 1000)
DATAGRAM_MAX = 1372


def member(ring: KeyRing = RING) -> Member:
    return Member.secure(MemoryVault(), ring)


def link(who: Member | None = None, datagram_max: int = DATAGRAM_MAX, **limits: Any) -> Link:
    return Link(Probe, who or member(), Limits(**limits), Tally(), datagram_max)


def datagrams(sender: Link, frame: Frame, to: int = BROADCAST, number: int = 0) -> list[bytes]:
    return sender.outgoing(frame, to, number)[1]


def datagram(sender: Link, frame: Frame | None = None, to: int = BROADCAST, number: int = 0) -> bytes:
    (one,) = datagrams(sender, frame or Ping(1), to, number)
    return one


def hear(receiver: Link, data: bytes, address: Any = HERE, now_us: int = 0) -> Arrival | None:
    return receiver.incoming(data, address, now_us)


def publication(who: Member, sequence: int = 1, **content: Any) -> Event:
    """An event of this member, sealed."""
    assert who.identity is not None
    assert who.ring is not None
    return sealed(Event(event_id(who.number, sequence), **content), who.identity, who.ring.group)


def parcel(who: Member, sequence: int = 1, **content: Any) -> Parcel:
    return Parcel(publication(who, sequence, **content))


def drops(receiver: Link) -> dict[str, int]:
    return receiver.tally.drops()
