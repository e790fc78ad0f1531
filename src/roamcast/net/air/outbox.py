"""The queue of own frames on one medium: they leave one after the other, as the simulator's MAC sends them.

A broadcast is sent once. A frame for one neighbour is sent to the address that the neighbour was heard from. If
the neighbour does not acknowledge it, it is repeated after growing pauses; the later attempts go to every node in
range, because addresses change. Frames leave in the order in which they were added, with one exception: after the first
attempt in vain, only frames for the same neighbour wait for the further ones. Otherwise a member of the group that
claims to be many neighbours could stop a node for many seconds.

A frame is encoded once, when it becomes the head of the queue. Every attempt sends these bytes in new datagrams,
because no two datagrams may have the same counter.

Two things slow a node down without losing frames: a full buffer of the system, and the limit on airtime, which keeps
own transmissions (with their acknowledgements) to a share of the time. The queue is bounded. A frame that does not fit
into it is lost, and counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from roamcast.net.air.medium import Sent
from roamcast.net.air.timers import Timer, Timers
from roamcast.net.limits import TokenBucket
from roamcast.net.refusal import ACK_AIRTIME, NO_ACK, NO_NETWORK, QUEUE_FULL, TOO_LARGE, Refused, Tally
from roamcast.net.trust.positions import PositionSchedule
from roamcast.net.wire.addresses import Address
from roamcast.net.wire.codec import FrameCodec
from roamcast.net.wire.packet import POSITION_BYTES
from roamcast.protocols.kit.interface import Frame

if TYPE_CHECKING:
    from roamcast.net.air.lanes import Lane

ACK_SHARE: Final = 0.5
"""The largest share of a node's airtime that acknowledgements may use."""
ACK_BYTES: Final = 42
"""The length of an acknowledgement."""
FULL_US: Final = 2_000
FULL_MAX_US: Final = 100_000
"""Pauses while the system's buffer is full: the first one, and the longest one."""


Undelivered: TypeAlias = Callable[[], None] | None
"""What to do if the neighbour is not reached; None: the observer is informed."""


class SendObserver(Protocol):
    """Is informed of what happens to own frames."""

    def frame_sent(self, frame: Frame, to: int, serial: int, size: int, repeated: bool) -> None:
        """`repeated`: it was sent before and was not acknowledged."""

    def frame_lost(self, frame: Frame, to: int, serial: int, size: int, why: str) -> None:
        """It was never sent (`why`: queue), or never acknowledged (`why`: no-ack)."""

    def frame_undelivered(self, frame: Frame, to: int) -> None:
        """The neighbour could not be reached."""


class _Head:
    """A frame that is being sent, or that waits for its acknowledgement."""

    __slots__ = (
        "attempt",
        "body",
        "datagrams",
        "frame",
        "number",
        "sent",
        "serial",
        "size",
        "to",
        "undelivered",
        "waiting",
    )

    def __init__(self, frame: Frame, to: int, undelivered: Undelivered, number: int, body: bytes) -> None:
        self.frame = frame
        self.to = to
        self.undelivered = undelivered
        self.number = number
        self.body = body  # the encoded frame, the same in every attempt
        self.attempt = 0
        self.datagrams: list[bytes] = []  # the datagrams of this attempt that are not sent yet
        self.serial = 0
        self.size = 0
        self.sent = False  # completely, at least once
        self.waiting: Timer | None = None  # for an acknowledgement


class Outbox:
    def __init__(
        self,
        codec: FrameCodec,
        lane: Lane,
        timers: Timers,
        tally: Tally,
        observer: SendObserver,
        address_of: Callable[[int], Address | None],
        numbers: Iterator[int],
    ) -> None:
        """`address_of` returns where a neighbour is on this medium, and `numbers` gives frames for one neighbour
        different numbers."""
        limits = lane.limits
        self._codec = codec
        self._lane = lane
        self._timers = timers
        self._limits = limits
        self._tally = tally
        self._observer = observer
        self._address_of = address_of
        self._numbers = numbers
        self._queue: deque[tuple[Frame, int, Undelivered]] = deque()
        self._head: _Head | None = None
        self._unanswered: dict[int, _Head] = {}  # frames that were not acknowledged in time once, by neighbour
        self._again: deque[_Head] = deque()  # those of them that are to be sent again now
        self._airtime = TokenBucket(limits.airtime_share * 1e6, limits.airtime_burst_s * 1e6, timers.now_us())
        ack_us = limits.airtime_us(self._size([bytes(ACK_BYTES)]))  # on a slow medium, more than a burst
        self._ack_airtime = TokenBucket(  # so that no neighbour can make this node spend all its airtime on them
            ACK_SHARE * limits.airtime_share * 1e6,
            max(ACK_SHARE * limits.airtime_burst_s * 1e6, ack_us),
            timers.now_us(),
        )
        self._pausing: Timer | None = None  # for airtime, or for room in the system's buffer
        self._full_us = FULL_US
        self._positions = PositionSchedule(limits.position_s)
        self.airtime_us = 0

    def __len__(self) -> int:
        head = self._head
        return len(self._queue) + len(self._unanswered) + (head is not None and head.to not in self._unanswered)

    def add(self, frame: Frame, to: int, undelivered: Undelivered = None) -> None:
        if len(self) >= self._limits.queue:
            self._tally.drop(QUEUE_FULL)
            self._lane.queue_full += 1
            self._observer.frame_lost(frame, to, 0, frame.size, "queue")
            return
        self._queue.append((frame, to, undelivered))
        self._pump()

    def clear(self) -> None:
        """Drop all waiting frames. The owner of the timers clears the timers."""
        self._queue.clear()
        self._again.clear()
        self._unanswered.clear()
        self._head = self._pausing = None

    def acknowledge(self, address: Address, sender: int, number: int) -> None:
        """Acknowledge at once, ahead of the queue. If that cannot be sent, it counts as lost on the way."""
        self._send_position()
        datagram = self._codec.acknowledgement(sender, number)
        if not self._ack_airtime.take(self._limits.airtime_us(self._size([datagram])), self._timers.now_us()):
            self._tally.drop(ACK_AIRTIME)
            return
        if self._lane.send(datagram, address) is Sent.SENT:
            self._tally.acks_out += 1
            self._spend(self._size([datagram]))

    def acknowledged(self, sender: int, number: int) -> None:
        head = self._unanswered.get(sender, self._head)
        if head is None or not head.sent or (head.to, head.number) != (sender, number):
            return
        self._tally.acks_in += 1
        self._remove(head)
        self._pump()

    # ---- one frame after the other

    def _pump(self) -> None:
        while self._pausing is None and (self._head is None or self._head.waiting is None):
            if self._head is None:
                self._head = self._next()
            if self._head is None:
                return
            if self._head.datagrams or self._begin_attempt(self._head):
                self._send(self._head)

    def _next(self) -> _Head | None:
        """The next frame. Those for a neighbour that has not answered wait for it, and others do not wait for them."""
        if self._again:
            return self._again.popleft()
        for index, (frame, to, undelivered) in enumerate(self._queue):
            if to not in self._unanswered:
                del self._queue[index]
                return self._next_head(frame, to, undelivered)
        return None

    def _next_head(self, frame: Frame, to: int, undelivered: Undelivered) -> _Head:
        number = next(self._numbers) if to >= 0 else 0
        return _Head(frame, to, undelivered, number, self._codec.encode(frame))

    def _begin_attempt(self, head: _Head) -> bool:
        try:
            room = self._lane.medium.datagram_max
            head.serial, head.datagrams = self._codec.outgoing(head.body, head.to, head.number, room)
        except Refused:
            self._give_up(head, TOO_LARGE)
            return False
        head.size = self._size(head.datagrams)
        return True

    def _send(self, head: _Head) -> None:
        pause_us = self._airtime.wait_us(self._limits.airtime_us(head.size), self._timers.now_us())
        if pause_us > 0:
            self._pause(pause_us)
            return
        self._send_position()
        if not self._send_datagrams(head):
            return
        self._spend(head.size)
        self._tally.frames_out += 1
        self._observer.frame_sent(head.frame, head.to, head.serial, head.size, head.sent)
        head.sent = True
        self._await_acknowledgement(head)

    def _send_datagrams(self, head: _Head) -> bool:
        """Whether all datagrams of this attempt have left."""
        address = self._address(head)
        while head.datagrams:
            sent = self._lane.send(head.datagrams[0], address)
            if sent is Sent.FULL:
                self._pause(self._full_us)
                self._full_us = min(2 * self._full_us, FULL_MAX_US)
                return False
            if sent is Sent.TOO_LARGE:
                self._give_up(head, TOO_LARGE)
                return False
            if sent is Sent.DOWN:
                self._tally.drop(NO_NETWORK)
                self._lost_here(head)
                return False
            self._full_us = FULL_US
            self._tally.datagrams_out += 1
            self._tally.bytes_out += len(head.datagrams.pop(0))
        return True

    def _send_position(self) -> None:
        """Before other datagrams, if it is due. If it cannot be sent, it counts as lost on the way."""
        if self._lane.medium.datagram_max < POSITION_BYTES:
            return
        datagram = self._codec.position(self._timers.now_us(), self._positions)
        if datagram is not None and self._lane.send(datagram, None) is Sent.SENT:
            self._tally.positions_out += 1
            self._spend(self._size([datagram]))

    def _await_acknowledgement(self, head: _Head) -> None:
        if head.to < 0:
            self._remove(head)
            return
        timeout_s = min(self._limits.ack_timeout_s * 2**head.attempt, self._limits.ack_timeout_max_s)
        delay_s = self._lane.medium.delay_s(head.size) + self._lane.medium.delay_s(self._size([bytes(ACK_BYTES)]))
        head.waiting = self._timers.after(int((timeout_s + delay_s) * 1e6), partial(self._unacknowledged, head))
        if head.to in self._unanswered:
            self._head = None  # the other frames have waited for the first attempt, and do not for the others

    def _unacknowledged(self, head: _Head) -> None:
        head.waiting = None
        head.attempt += 1
        if self._head is head:
            self._head = None
        if head.attempt < self._limits.attempts:
            self._tally.retries += 1
            self._unanswered[head.to] = head
            self._again.append(head)
            self._pump()
            return
        self._observer.frame_lost(head.frame, head.to, head.serial, head.size, "no-ack")
        self._give_up(head, NO_ACK)
        self._pump()

    def _lost_here(self, head: _Head) -> None:
        """There is no network: a broadcast is lost, and one attempt to reach a neighbour has failed."""
        head.datagrams.clear()
        if head.to >= 0:
            self._await_acknowledgement(head)
            return
        self._observer.frame_lost(head.frame, head.to, 0, head.size, "queue")
        self._remove(head)

    def _give_up(self, head: _Head, reason: str) -> None:
        self._tally.drop(reason)
        if reason != NO_ACK:
            self._observer.frame_lost(head.frame, head.to, 0, head.frame.size, "queue")
        self._remove(head)
        if head.undelivered is not None:
            head.undelivered()
        elif head.to >= 0:
            self._observer.frame_undelivered(head.frame, head.to)

    def _remove(self, head: _Head) -> None:
        """It needs no further attempt."""
        if head.waiting is not None:
            self._timers.cancel(head.waiting)
            head.waiting = None
        if self._head is head:
            self._head = None
        if self._unanswered.get(head.to) is head:
            del self._unanswered[head.to]
            if head in self._again:
                self._again.remove(head)

    # ---- airtime and pauses

    def _address(self, head: _Head) -> Address | None:
        late = head.attempt >= (self._limits.attempts + 1) // 2
        return None if head.to < 0 or late else self._address_of(head.to)

    def _size(self, datagrams: list[bytes]) -> int:
        return self._lane.size(sum(map(len, datagrams)), len(datagrams))

    def _spend(self, size: int) -> None:
        airtime_us = self._limits.airtime_us(size)
        self.airtime_us += int(airtime_us)
        self._airtime.spend(airtime_us, self._timers.now_us())

    def _pause(self, delay_us: int) -> None:
        self._pausing = self._timers.after(delay_us, self._resume)

    def _resume(self) -> None:
        self._pausing = None
        self._pump()
