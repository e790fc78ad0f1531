"""Received datagrams on their way to the protocol."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from roamcast.net.air.lanes import Lane, Outboxes
from roamcast.net.host.copies import Copies
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
        outbox: Outboxes,
        lanes: list[Lane],
        handlers: Handlers,
        muted: MutedIds,
        journal: Journal,
        limits: Limits,
        tally: Tally,
        on_carry: Carry | None,
    ) -> None:
        self.on_carry = on_carry
        self.carried = CarriedEvents(codec.number, limits.carried)
        self._codec = codec
        self._outbox = outbox
        self._handlers = handlers
        self._muted = muted
        self._journal = journal
        self._tally = tally
        self._lanes = lanes
        self._copies = Copies() if len(lanes) > 1 else None

    def receive(self, datagram: bytes, place: Address, now_us: int) -> None:
        """Never raises, whatever the datagram is. `place` is the lane that it came on, and the address there."""
        self._tally.datagrams_in += 1
        self._tally.bytes_in += len(datagram)
        self._lanes[place[0]].received(datagram)
        arrival = self._codec.incoming(datagram, place, now_us)
        if arrival is None:
            return
        self._outbox.heard(arrival.sender, place, now_us)
        if arrival.acknowledges:
            self._outbox.acknowledged(arrival.sender, arrival.number)
            return
        if arrival.to >= 0:
            self._outbox.acknowledge(arrival.address, arrival.sender, arrival.number)
        if arrival.frame is not None:
            self._arrived(arrival, arrival.frame, place[0], now_us)

    def hand_up(self, frame: Frame, sender: int) -> None:
        """Give a frame to the protocol, or only count it if its id is muted."""
        if self._muted.count(frame.id):
            self._tally.muted += 1
            return
        self._handlers.call(lambda protocol: protocol.on_frame(frame, sender))

    def _arrived(self, arrival: Arrival, frame: Frame, at: int, now_us: int) -> None:
        self._tally.frames_in += 1
        lane = self._lanes[at]
        size = lane.size(arrival.size, arrival.datagrams)
        self._journal.arrived(arrival, frame, size, int(lane.limits.airtime_us(size)))
        if arrival.to < 0 and self._is_copy(arrival, at, now_us):
            self._tally.copies += 1
            return
        if self.on_carry is not None and self.carried.add(frame):
            self.on_carry(arrival.sender, arrival.body, frame.events())
        self.hand_up(frame, arrival.sender)

    def _is_copy(self, arrival: Arrival, at: int, now_us: int) -> bool:
        return self._copies is not None and not self._copies.first(arrival.sender, arrival.body, at, now_us)
