"""All media of a node, each with its own queue: a slow modem must not slow down a cable.

A *lane* is a medium with its name, its share of airtime and its counts. A frame for every node in range leaves on every
lane. A frame for one neighbour leaves on one lane: the first one, in the order of the settings, on which the neighbour
was heard lately. If the neighbour does not acknowledge it there, the next such lane is tried, each at most once for a
frame: a neighbour may be heard all the time and hear nothing itself. A neighbour that was never heard is tried on all
lanes, one after the other.

Addresses of different media can be equal. So everything above a medium calls the place where a datagram came from
`(lane, address)`, and only this module looks into it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from roamcast.net.air.medium import Medium, Sent
from roamcast.net.air.outbox import Outbox, SendObserver
from roamcast.net.air.timers import Timers
from roamcast.net.limits import Limits
from roamcast.net.refusal import Tally
from roamcast.net.wire import costs
from roamcast.net.wire.addresses import Address
from roamcast.net.wire.codec import FrameCodec
from roamcast.net.wire.packet import NUMBERS
from roamcast.protocols.kit.interface import Frame

LATELY_US: Final = 30_000_000
"""A lane counts for a neighbour if it was heard there at most this long before it was last heard at all."""


class Lane:
    """One medium of a node, its limits, and what was sent and received on it."""

    def __init__(self, name: str, medium: Medium, limits: Limits) -> None:
        settings = medium.settings
        self.name = name
        self.medium = medium
        self.limits = msgspec.structs.replace(
            limits,
            rate_bps=settings.bps or limits.rate_bps,
            airtime_share=settings.share or limits.airtime_share,
        )
        self.datagrams_in = self.bytes_in = self.datagrams_out = self.bytes_out = 0
        self.queue_full = 0  # frames for which its queue had no room

    def send(self, datagram: bytes, to: Address | None) -> Sent:
        sent = self.medium.send(datagram, to)
        if sent is Sent.SENT:
            self.datagrams_out += 1
            self.bytes_out += len(datagram)
        return sent

    def received(self, datagram: bytes) -> None:
        self.datagrams_in += 1
        self.bytes_in += len(datagram)

    def size(self, length: int, datagrams: int) -> int:
        """The bytes on the medium of datagrams with this length in all."""
        return length + datagrams * self.medium.header_bytes


def lanes_of(media: Medium | Mapping[str, Medium], limits: Limits) -> list[Lane]:
    named = {"udp": media} if isinstance(media, Medium) else media
    return [Lane(name, medium, limits) for name, medium in named.items()]


class Places:
    """On which lanes, and at which addresses, each neighbour was heard."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heard: OrderedDict[int, dict[int, tuple[Address, int]]] = OrderedDict()

    def heard(self, sender: int, lane: int, address: Address, now_us: int) -> None:
        self._heard.setdefault(sender, {})[lane] = (address, now_us)
        self._heard.move_to_end(sender)
        if len(self._heard) > self._most:
            self._heard.popitem(last=False)

    def forget(self, sender: int, lane: int) -> None:
        """The neighbour does not answer there. The last lane that is known is kept."""
        heard = self._heard.get(sender, {})
        if len(heard) > 1:
            heard.pop(lane, None)

    def of(self, sender: int, tried: frozenset[int] = frozenset()) -> tuple[int, Address] | None:
        """The lane to reach a neighbour on, except those that were tried, and its address there; None if there is none,
        or if it was never heard."""
        heard = self._heard.get(sender)
        if not heard:
            return None
        last_us = max(at_us for _, at_us in heard.values())
        lately = [lane for lane, (_, at_us) in heard.items() if at_us >= last_us - LATELY_US and lane not in tried]
        return (min(lately), heard[min(lately)][0]) if lately else None


class Outboxes:
    """The queues of own frames, one for each lane. `observers` has an observer for each."""

    def __init__(
        self, codec: FrameCodec, lanes: list[Lane], timers: Timers, tally: Tally, observers: list[SendObserver]
    ) -> None:
        self._lanes = lanes
        self._observers = observers
        self._places = Places(lanes[0].limits.senders)
        numbers = _numbers()
        self._outboxes = [
            Outbox(codec, lane, timers, tally, observers[i], self._at(i), numbers) for i, lane in enumerate(lanes)
        ]

    def __len__(self) -> int:
        """How many frames wait where fewest do: a medium that is slower than others does not hold back publishers, and
        what does not fit into its queue is counted as lost there."""
        up = [len(outbox) for outbox, lane in zip(self._outboxes, self._lanes, strict=True) if lane.medium.up()]
        return min(up, default=0)

    @property
    def airtime_us(self) -> int:
        return sum(outbox.airtime_us for outbox in self._outboxes)

    def airtime(self, size: int) -> int:
        """How long a frame of this size takes where it takes longest, in microseconds; in one datagram."""
        return max(round(lane.limits.airtime_us(lane.size(size + costs.OVERHEAD_BYTES, 1))) for lane in self._lanes)

    def of_lane(self, lane: int) -> Outbox:
        return self._outboxes[lane]

    def add(self, frame: Frame, to: int) -> None:
        if to < 0:
            for outbox in self._outboxes:
                outbox.add(frame, to)
            return
        place = self._places.of(to)
        self._try(0 if place is None else place[0], frozenset(), frame, to)

    def clear(self) -> None:
        for outbox in self._outboxes:
            outbox.clear()

    def heard(self, sender: int, place: Address, now_us: int) -> None:
        """Something genuine came from this neighbour."""
        self._places.heard(sender, place[0], place[1], now_us)

    def place_of(self, sender: int) -> tuple[int, Address] | None:
        return self._places.of(sender)

    def acknowledge(self, place: Address, sender: int, number: int) -> None:
        """Acknowledge a frame where it came from."""
        self._outboxes[place[0]].acknowledge(place[1], sender, number)

    def acknowledged(self, sender: int, number: int) -> None:
        for outbox in self._outboxes:
            outbox.acknowledged(sender, number)

    def _at(self, lane: int) -> Callable[[int], Address | None]:
        """Where a neighbour is on this lane; None if that is not known."""

        def address(to: int) -> Address | None:
            place = self._places.of(to)
            return place[1] if place is not None and place[0] == lane else None

        return address

    def _try(self, lane: int, tried: frozenset[int], frame: Frame, to: int) -> None:
        """Send a frame to one neighbour on this lane, after it was sent in vain on others."""
        self._outboxes[lane].add(frame, to, lambda: self._undelivered(lane, tried | {lane}, frame, to))

    def _undelivered(self, lane: int, tried: frozenset[int], frame: Frame, to: int) -> None:
        next = self._next_lane(lane, tried, to)
        if next < 0:
            self._observers[lane].frame_undelivered(frame, to)
        else:
            self._try(next, tried, frame, to)

    def _next_lane(self, lane: int, tried: frozenset[int], to: int) -> int:
        """The lane to try after this one; negative if there is none."""
        if self._places.of(to) is None:
            return min(set(range(len(self._lanes))) - tried, default=-1)
        self._places.forget(to, lane)
        place = self._places.of(to, tried)
        return -1 if place is None else place[0]


def _numbers() -> Iterator[int]:
    """Numbers of frames for one neighbour: the same for all lanes, because a neighbour is heard on several."""
    number = 0
    while True:
        number = (number + 1) % NUMBERS
        yield number
