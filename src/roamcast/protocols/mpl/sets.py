"""The Information Base of MPL (RFC 7731, §7): the Seed Set and the Buffered Message Set.

A seed's entry has its MinSequence: messages with smaller numbers are neither taken nor sent any more. Two bit vectors
say which numbers from there on were received (`known`) and which of these messages are still buffered (`held`); bit k
stands for the number MinSequence + k. A message leaves the buffer when its event expires. Its number stays known, so
that the event is not taken again, until MinSequence can move up behind it: when no smaller number is buffered or
outstanding (R4).

MinSequence also moves up when a number arrives that would be outside of the window, and when there is no more room:
then the seed with most buffered messages gives up the one with its smallest number (R7).
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from typing import Final, final

from mypy_extensions import i64

from roamcast.protocols.kit.trickle import TrickleTimer
from roamcast.protocols.mpl.frames import SEQUENCE_MAX, SeedInfo
from roamcast.pubsub.event import FOREVER, Event

NEVER: Final = 1 << 60  # a small int when compiled, and so compared at once
SEED_BYTES: Final = 16
MESSAGE_BYTES: Final = 24
"""Of an entry, beside the event: what a node in C would need."""


def sequence_of(event: Event) -> int:
    return event.id & SEQUENCE_MAX


def set_bits(vector: int) -> list[int]:
    """The places of the bits that are set, smallest first."""
    places: list[int] = []
    while vector:
        lowest = vector & -vector
        places.append(lowest.bit_length() - 1)
        vector ^= lowest
    return places


@final
class BufferedMessage:
    """An entry of the Buffered Message Set (§7.4)."""

    __slots__ = ("delivered", "event", "heard", "own", "since_us", "timer")

    def __init__(self, event: Event, since_us: int, own: bool, timer: TrickleTimer) -> None:
        self.event = event
        self.since_us = since_us  # when its validity began, by this node's clock
        self.own = own
        self.timer = timer
        self.delivered = False
        self.heard = 0  # copies that the host has counted and the timer has, too


@final
class Seed:
    """An entry of the Seed Set (§7.3)."""

    __slots__ = ("end_us", "held", "id", "known", "latest_info", "messages", "min_sequence", "newest")

    def __init__(self, id: int, min_sequence: int) -> None:
        self.id = id
        self.min_sequence = min_sequence
        self.end_us = 0  # when its lifetime ends
        self.newest = -1  # the greatest number that was received
        self.known = 0
        self.held = 0
        self.messages: dict[int, BufferedMessage] = {}  # by number
        self.latest_info = SeedInfo(id, min_sequence, 0)

    def knows(self, sequence: int) -> bool:
        return sequence < self.min_sequence or bool(self.known >> (sequence - self.min_sequence) & 1)

    def info(self) -> SeedInfo:
        latest = self.latest_info
        if latest.vector != self.held or latest.min_sequence != self.min_sequence:
            latest = SeedInfo(self.id, self.min_sequence, self.held)
            self.latest_info = latest
        return latest

    def lacks(self, info: SeedInfo) -> bool:
        """Whether a neighbour buffers messages that were not received here, and that may still be taken."""
        ahead = info.min_sequence - self.min_sequence
        if ahead >= self.known.bit_length():
            return info.vector != 0
        vector = info.vector << ahead if ahead >= 0 else info.vector >> -ahead
        return vector & ~self.known != 0

    def lacked_by(self, info: SeedInfo) -> list[int]:
        """The numbers of the messages that are buffered here, and that a neighbour lacks and may still take."""
        ahead = info.min_sequence - self.min_sequence
        if ahead >= self.held.bit_length():
            return []
        if ahead >= 0:
            missing = (self.held >> ahead & ~info.vector) << ahead
        else:
            missing = self.held & ~(info.vector >> -ahead)
        return [self.min_sequence + place for place in set_bits(missing)]

    def after(self, sequence: int) -> list[int]:
        """The numbers of the buffered messages behind this one."""
        skipped = max(0, sequence + 1 - self.min_sequence)
        return [self.min_sequence + skipped + place for place in set_bits(self.held >> skipped)]


@final
class InformationBase:
    """Methods that remove messages return them, so that their timers can be stopped."""

    def __init__(self, seeds: int, messages: int, most_bytes: int, window: int, lifetime_us: int) -> None:
        self.most_seeds = seeds
        self.most = messages
        self.most_bytes = most_bytes
        self.window = window
        self.lifetime_us = lifetime_us
        self.seeds: OrderedDict[int, Seed] = OrderedDict()  # that whose lifetime ends first comes first
        self.by_number: list[Seed] = []  # the same
        self.count = 0  # of buffered messages
        self.bytes = 0
        self.due_us = NEVER  # when an event may have expired, or a lifetime may be over
        self.expiries: list[tuple[int, int]] = []  # a heap of (time, event id)

    def message(self, id: int) -> BufferedMessage | None:
        seed = self.seeds.get(id >> 32)
        return None if seed is None else seed.messages.get(id & SEQUENCE_MAX)

    def is_full(self) -> bool:
        return len(self.seeds) >= self.most_seeds

    def add_seed(self, id: int, min_sequence: int) -> Seed:
        seed = Seed(id, min_sequence)
        self.seeds[id] = seed
        self.by_number.insert(self._place(id), seed)
        return seed

    def _place(self, id: int) -> i64:
        """Where the seed with this number is in `by_number`, or would be."""
        low: i64 = 0
        high: i64 = len(self.by_number)
        while low < high:
            middle = (low + high) >> 1
            if self.by_number[middle].id < id:
                low = middle + 1
            else:
                high = middle
        return low

    def add(self, seed: Seed, message: BufferedMessage, now_us: int) -> list[BufferedMessage]:
        """A new message within or beyond the seed's window; returns those that leave the window."""
        event = message.event
        sequence = sequence_of(event)
        removed = self.raise_min(seed, sequence - self.window + 1)
        bit = 1 << (sequence - seed.min_sequence)
        seed.known |= bit
        seed.held |= bit
        seed.newest = max(seed.newest, sequence)
        seed.messages[sequence] = message
        seed.end_us = now_us + self.lifetime_us
        self.due_us = min(self.due_us, seed.end_us)
        self.seeds.move_to_end(seed.id)
        self.count += 1
        self.bytes += event.size
        if event.validity_us < FOREVER:
            self._await_expiry(message)
        return removed

    def raise_min(self, seed: Seed, min_sequence: int) -> list[BufferedMessage]:
        """MinSequence becomes at least this; returns the messages with smaller numbers."""
        removed: list[BufferedMessage] = []
        passed = min_sequence - seed.min_sequence
        if passed <= 0:
            return removed
        lost = seed.held & ((1 << min(passed, seed.held.bit_length())) - 1)
        for place in set_bits(lost):
            removed.append(self._remove(seed, seed.min_sequence + place))
        seed.known >>= passed
        seed.held >>= passed
        seed.min_sequence = min_sequence
        return removed

    def make_room(self) -> list[BufferedMessage]:
        """The messages that must go because there are too many (R7)."""
        removed: list[BufferedMessage] = []
        while self.count > self.most or (self.bytes > self.most_bytes and self.count > 1):
            richest: Seed | None = None
            for seed in self.seeds.values():
                if richest is None or len(seed.messages) > len(richest.messages):
                    richest = seed
            assert richest is not None
            removed += self.raise_min(richest, richest.min_sequence + set_bits(richest.held)[0] + 1)
        return removed

    def expire(self, now_us: int) -> list[BufferedMessage]:
        """The messages whose events are no longer valid (R4)."""
        removed: list[BufferedMessage] = []
        while self.expiries and self.expiries[0][0] <= now_us:
            _, id = heapq.heappop(self.expiries)
            message = self.message(id)
            if message is not None and message.since_us + message.event.validity_us <= now_us:
                removed.append(self._expire(self.seeds[id >> 32], id & SEQUENCE_MAX))
        self._update_due()
        return removed

    def end_seeds(self, now_us: int) -> list[BufferedMessage]:
        """Frees the entries of seeds whose lifetime is over; returns their messages."""
        removed: list[BufferedMessage] = []
        while self.seeds:
            seed = next(iter(self.seeds.values()))
            if seed.end_us > now_us:
                break
            for sequence in list(seed.messages):
                removed.append(self._remove(seed, sequence))
            del self.seeds[seed.id]
            del self.by_number[self._place(seed.id)]
        self._update_due()
        return removed

    def infos(self) -> list[SeedInfo]:
        """By number."""
        return [seed.info() for seed in self.by_number]

    def _expire(self, seed: Seed, sequence: int) -> BufferedMessage:
        message = self._remove(seed, sequence)
        seed.held &= ~(1 << (sequence - seed.min_sequence))
        gone = seed.known & ~seed.held
        passed = (~gone & (gone + 1)).bit_length() - 1  # up to the first number that is buffered or outstanding
        self.raise_min(seed, seed.min_sequence + passed)
        return message

    def _remove(self, seed: Seed, sequence: int) -> BufferedMessage:
        message = seed.messages.pop(sequence)
        self.count -= 1
        self.bytes -= message.event.size
        return message

    def _update_due(self) -> None:
        self.due_us = NEVER
        if self.seeds:
            self.due_us = next(iter(self.seeds.values())).end_us
        if self.expiries:
            self.due_us = min(self.due_us, self.expiries[0][0])

    def _await_expiry(self, message: BufferedMessage) -> None:
        event = message.event
        expiry_us = message.since_us + event.validity_us
        heapq.heappush(self.expiries, (expiry_us, event.id))
        self.due_us = min(self.due_us, expiry_us)
        if len(self.expiries) > 4 * self.most:  # most belong to messages that are gone
            self.expiries = [
                (kept.since_us + kept.event.validity_us, kept.event.id)
                for seed in self.seeds.values()
                for kept in seed.messages.values()
                if kept.event.validity_us < FOREVER
            ]
            heapq.heapify(self.expiries)
