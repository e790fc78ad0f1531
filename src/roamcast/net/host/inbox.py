"""Received datagrams on their way to the protocol."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from roamcast.net.air.outbox import Outbox
from roamcast.net.host.handlers import Handlers
from roamcast.net.host.journal import Journal
from roamcast.net.host.muted import MutedIds
from roamcast.net.limits import Limits
from roamcast.net.refusal import Tally
from roamcast.net.wire.addresses import Address
from roamcast.net.wire.codec import Arrival, FrameCodec
from roamcast.protocols.kit.interface import Frame
from roamcast.pubsub.event import Event

Carry = Callable[[int, bytes, list[Event]], None]
"""Receives the sender of a frame, the frame's bytes as they came, and the events in it."""


class CarriedEvents:
    """Remembers which events of other nodes are in a frame that was reported to be stored."""

    def __init__(self, own_number: int, most: int) -> None:
        self._own_number = own_number
        self._most = most
        self._ids: OrderedDict[int, None] = OrderedDict()

    def add(self, frame: Frame) -> bool:
        """Whether the frame has an event of another node that is not remembered yet. From now on all its events are
        remembered."""
        new = [
            event.id for event in frame.events() if event.publisher != self._own_number and event.id not in self._ids
        ]
        for id in new:
            self._ids[id] = None
            if len(self._ids) > self._most:
                self._ids.popitem(last=False)
        return bool(new)


class Inbox:
    """`on_carry` gets the frames that bring events of other nodes, so that these survive a restart."""

    def __init__(
        self,
        codec: FrameCodec,
        outbox: Outbox,
        handlers: Handlers,
        muted: MutedIds,
        journal: Journal,
        limits: Limits,
        tally: Tally,
        header_bytes: int,
        on_carry: Carry | None,
    ) -> None:
        self.on_carry = on_carry
        self.carried = CarriedEvents(codec.number, limits.carried)
        self._codec = codec
        self._outbox = outbox
        self._handlers = handlers
        self._muted = muted
        self._journal = journal
        self._limits = limits
        self._tally = tally
        self._header_bytes = header_bytes

    def receive(self, datagram: bytes, address: Address, now_us: int) -> None:
        """Never raises, whatever the datagram is."""
        self._tally.datagrams_in += 1
        self._tally.bytes_in += len(datagram)
        arrival = self._codec.incoming(datagram, address, now_us)
        if arrival is None:
            return
        if arrival.acknowledges:
            self._outbox.acknowledged(arrival.sender, arrival.number)
            return
        if arrival.to >= 0:
            self._outbox.acknowledge(arrival.address, arrival.sender, arrival.number)
        if arrival.frame is not None:
            self._arrived(arrival, arrival.frame)

    def hand_up(self, frame: Frame, sender: int) -> None:
        """Give a frame to the protocol, or only count it if its id is muted."""
        if self._muted.count(frame.id):
            self._tally.muted += 1
            return
        self._handlers.call(lambda protocol: protocol.on_frame(frame, sender))

    def _arrived(self, arrival: Arrival, frame: Frame) -> None:
        self._tally.frames_in += 1
        size = arrival.size + arrival.datagrams * self._header_bytes
        self._journal.arrived(arrival, frame, size, int(self._limits.airtime_us(size)))
        if self.on_carry is not None and self.carried.add(frame):
            self.on_carry(arrival.sender, arrival.body, frame.events())
        self.hand_up(frame, arrival.sender)
