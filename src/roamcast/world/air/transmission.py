"""A frame on the air."""

from __future__ import annotations

from typing import Final, final

from librt.vecs import vec
from mypy_extensions import i64

from roamcast.protocols.kit.interface import BROADCAST, Frame
from roamcast.world.published import NO_EVENTS, PublishedEvent
from roamcast.world.station import Station

NO_HEARERS: Final[vec[i64]] = vec[i64]()


@final
class Transmission:
    """Objects are used again and again; `serial` tells transmissions apart."""

    __slots__ = (
        "airtime",
        "collisions",
        "deaf",
        "event",
        "events",
        "fates",
        "frame",
        "hearers",
        "locked",
        "number",
        "sender",
        "serial",
        "size",
        "start",
        "strengths",
        "to",
        "visits",
    )

    def __init__(self, sender: Station, strengths: vec[float]) -> None:
        self.sender = sender
        self.frame: Frame | None = None  # None: an acknowledgement, or the transmission is over
        self.to: i64 = BROADCAST
        self.serial: i64 = 0
        self.number: i64 = 0  # the sender's own number of the frame: a repetition has the same
        self.size: i64 = 0
        self.start: i64 = 0
        self.airtime: i64 = 0
        self.hearers: vec[i64] = NO_HEARERS  # the stations that it reaches, …
        self.visits: i64 = 0  # … of which so many, the first, may have received it when it ends
        self.locked: i64 = 0  # how many receivers locked on to it, …
        self.collisions: i64 = 0  # … how many of these lost it to another frame …
        self.deaf: i64 = 0  # … and how many began to send
        self.strengths = strengths  # at each of the hearers, relative to the sensitivity
        self.fates = vec[i64]()  # what becomes of it at each of the hearers, in the air of LoRa radios
        self.event: PublishedEvent | None = None  # the one event it carries
        self.events: list[PublishedEvent] = NO_EVENTS  # the events of a frame that carries several
