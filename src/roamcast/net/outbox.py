"""Own frames on their way out: one after the other, as the MAC of the simulator sends them.

A broadcast is sent once. A frame for one neighbour is sent to the address it was heard from last, acknowledged by it,
and repeated with growing pauses if it is not; the later attempts go to everybody, because addresses change. What comes
behind it waits: frames leave in the order they were handed over.

Two things slow a node down and lose nothing: a full buffer of the system, and the governor, which keeps own
transmissions (with their acknowledgements) to a share of airtime. Behind both is a bounded queue; what finds it full
is lost, and counted.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

from roamcast.net.limits import Limits, TokenBucket
from roamcast.net.link import Link
from roamcast.net.medium import Medium, Sent
from roamcast.net.packet import NUMBERS
from roamcast.net.peers import Address
from roamcast.net.refusal import ACK_AIRTIME, NO_ACK, NO_NETWORK, QUEUE_FULL, TOO_LARGE, Refused, Tally
from roamcast.net.timers import Timer, Timers
from roamcast.protocols.kit.interface import Frame

ACK_SHARE: Final = 0.5
"""Of the airtime that is ours, for acknowledgements at most."""
FULL_US: Final = 2_000
FULL_MAX_US: Final = 100_000
"""Pauses while the system's buffer is full."""


class Sending(Protocol):
    """Whoever wants to know what becomes of frames."""

    def frame_sent(self, frame: Frame, to: int, serial: int, size: int, again: bool) -> None:
        """`again`: it had been sent before, and was not acknowledged."""

    def frame_lost(self, frame: Frame, to: int, serial: int, size: int, why: str) -> None:
        """It never left (`why`: queue), or was never acknowledged (`why`: no-ack)."""

    def frame_undelivered(self, frame: Frame, to: int) -> None: ...


class Outbox:
    def __init__(
        self, link: Link, medium: Medium, timers: Timers, limits: Limits, tally: Tally, sending: Sending
    ) -> None:
        self._link = link
        self._medium = medium
        self._timers = timers
        self._limits = limits
        self._tally = tally
        self._sending = sending
        self._queue: deque[tuple[Frame, int]] = deque()
        self._number = 0  # of frames for one neighbour
        self._airtime = TokenBucket(limits.airtime_share * 1e6, limits.airtime_burst_s * 1e6, timers.now_us())
        self._ack_airtime = TokenBucket(  # so that nobody can make this node spend everything on answers
            ACK_SHARE * limits.airtime_share * 1e6, ACK_SHARE * limits.airtime_burst_s * 1e6, timers.now_us()
        )
        # the frame in front
        self._datagrams: list[bytes] = []  # still to be sent of it
        self._size = 0
        self._serial = 0
        self._attempt = 0
        self._sent = False  # at least once
        self._waiting: Timer | None = None  # for an acknowledgement
        self._pausing: Timer | None = None  # for airtime, or for room in the system's buffer
        self._full_us = FULL_US
        self.airtime_us = 0

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, frame: Frame, to: int) -> None:
        if len(self._queue) >= self._limits.queue:
            self._tally.drop(QUEUE_FULL)
            self._sending.frame_lost(frame, to, 0, frame.size, "queue")
            return
        self._queue.append((frame, to))
        self._pump()

    def clear(self) -> None:
        """Forget everything that waits. Its timers are cleared by whoever owns them."""
        self._queue.clear()
        self._datagrams.clear()
        self._waiting = self._pausing = None
        self._attempt = 0
        self._sent = False

    def acknowledge(self, address: Address, sender: int, number: int) -> None:
        """At once, past the queue; one that cannot be sent is as good as lost on the way."""
        datagram = self._link.acknowledgement(sender, number)
        if not self._ack_airtime.take(self._airtime_us(self._weigh([datagram])), self._timers.now_us()):
            self._tally.drop(ACK_AIRTIME)
            return
        if self._medium.send(datagram, address) is Sent.SENT:
            self._tally.acks_out += 1
            self._spend(self._weigh([datagram]))

    def acknowledged(self, sender: int, number: int) -> None:
        if self._waiting is None or self._queue[0][1] != sender or number != self._number:
            return
        self._tally.acks_in += 1
        self._timers.cancel(self._waiting)
        self._drop_front()
        self._pump()

    # ---- the frame in front

    def _pump(self) -> None:
        while self._queue and self._waiting is None and self._pausing is None:
            frame, to = self._queue[0]
            if not self._datagrams and not self._begin(frame, to):
                continue
            self._go(frame, to)

    def _begin(self, frame: Frame, to: int) -> bool:
        if to >= 0 and self._attempt == 0:
            self._number = (self._number + 1) % NUMBERS
        try:
            self._serial, self._datagrams = self._link.outgoing(frame, to, self._number)
        except Refused:
            self._give_up(frame, to, TOO_LARGE)
            return False
        self._size = self._weigh(self._datagrams)
        return True

    def _go(self, frame: Frame, to: int) -> None:
        pause_us = self._airtime.wait_us(self._airtime_us(self._size), self._timers.now_us())
        if pause_us > 0:
            self._pause(pause_us)
            return
        address = self._address(to)
        while self._datagrams:
            sent = self._medium.send(self._datagrams[0], address)
            if sent is Sent.FULL:
                self._pause(self._full_us)
                self._full_us = min(2 * self._full_us, FULL_MAX_US)
                return
            if sent is Sent.TOO_LARGE:
                self._give_up(frame, to, TOO_LARGE)
                return
            if sent is Sent.DOWN:
                self._tally.drop(NO_NETWORK)
                self._lost_here(frame, to)
                return
            self._full_us = FULL_US
            self._tally.datagrams_out += 1
            self._tally.bytes_out += len(self._datagrams.pop(0))
        self._spend(self._size)
        self._tally.frames_out += 1
        self._sending.frame_sent(frame, to, self._serial, self._size, self._sent)
        self._sent = True
        self._await(to)

    def _await(self, to: int) -> None:
        if to < 0:
            self._drop_front()
            return
        timeout_s = min(self._limits.ack_timeout_s * 2**self._attempt, self._limits.ack_timeout_max_s)
        self._waiting = self._timers.after(int(timeout_s * 1e6), self._unacknowledged)

    def _unacknowledged(self) -> None:
        self._waiting = None
        self._attempt += 1
        frame, to = self._queue[0]
        if self._attempt < self._limits.attempts:
            self._tally.retries += 1
            self._pump()
            return
        self._sending.frame_lost(frame, to, self._serial, self._size, "no-ack")
        self._give_up(frame, to, NO_ACK)
        self._pump()

    def _lost_here(self, frame: Frame, to: int) -> None:
        """There is no network: a broadcast is heard by nobody, and an attempt to reach a neighbour was in vain."""
        self._datagrams.clear()
        if to >= 0:
            self._await(to)
            return
        self._sending.frame_lost(frame, to, 0, self._size, "queue")
        self._drop_front()

    def _give_up(self, frame: Frame, to: int, reason: str) -> None:
        self._tally.drop(reason)
        if reason != NO_ACK:
            self._sending.frame_lost(frame, to, 0, frame.size, "queue")
        self._drop_front()
        if to >= 0:
            self._sending.frame_undelivered(frame, to)

    def _drop_front(self) -> None:
        self._queue.popleft()
        self._datagrams = []
        self._attempt = 0
        self._sent = False
        self._waiting = None

    # ---- airtime and pauses

    def _address(self, to: int) -> Address | None:
        peer = self._link.peers.get(to) if to >= 0 else None
        late = self._attempt >= (self._limits.attempts + 1) // 2
        return None if peer is None or late else peer.address

    def _weigh(self, datagrams: list[bytes]) -> int:
        return sum(len(datagram) + self._medium.header_bytes for datagram in datagrams)

    def _airtime_us(self, size: int) -> float:
        return size * 8e6 / self._limits.rate_bps

    def _spend(self, size: int) -> None:
        airtime_us = self._airtime_us(size)
        self.airtime_us += int(airtime_us)
        self._airtime.spend(airtime_us, self._timers.now_us())

    def _pause(self, delay_us: int) -> None:
        self._pausing = self._timers.after(delay_us, self._resume)

    def _resume(self) -> None:
        self._pausing = None
        self._pump()
