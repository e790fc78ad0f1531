"""The frames of MPL: data messages and control messages (RFC 7731, §6).

Numbers are those of our events: a seed is a publisher, in at most 31 bits, and its sequence numbers have 32 bits and
never begin again. So nothing here needs the arithmetic of numbers that wrap around (R1).
"""

from __future__ import annotations

from typing import Any, Final, final

from roamcast.errors import Malformed
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.wire import as_bytes, as_int, as_list, counted, uint_size
from roamcast.pubsub.event import FOREVER, Event, event_from_fields

SEED_MAX: Final = (1 << 31) - 1
SEQUENCE_MAX: Final = (1 << 32) - 1
VECTOR_MAX: Final = 63
"""Bytes of a bit vector: its length has six bits (§6.3)."""
WINDOW_MAX: Final = 8 * VECTOR_MAX
SEEDS_MAX: Final = 16_384


@final
class DataMessage(Frame):
    """An event, whether its sequence number is the greatest that the sender knows of its seed (the M flag, §6.1), and
    its age when it was handed to the MAC."""

    __slots__ = ("age_us", "event", "newest")

    def __init__(self, event: Event, newest: int, age_us: int) -> None:
        self.kind = "event"  # not by super().__init__: this is made for every transmission
        self.id = event.id
        self.size = 3 + uint_size(age_us) + event.size
        self.cargo = event
        self.event = event
        self.newest = newest
        self.age_us = age_us

    def events(self) -> list[Event]:
        return [self.event]

    def fields(self) -> list[Any]:
        return [self.newest, self.age_us, self.event.fields()]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> DataMessage:
        newest, age_us, event = counted(fields, 3)
        return DataMessage(event_from_fields(event), as_int(newest, 0, 1), as_int(age_us, 0, FOREVER))


@final
class SeedInfo:
    """What the sender of a control message has of one seed (§6.3): bit k of `vector` says that it buffers the message
    with the number `min_sequence` + k."""

    __slots__ = ("min_sequence", "seed", "size", "vector")

    def __init__(self, seed: int, min_sequence: int, vector: int) -> None:
        self.seed = seed
        self.min_sequence = min_sequence
        self.vector = vector
        self.size = uint_size(seed) + uint_size(min_sequence) + 2 + vector_bytes(vector)  # in a frame


def vector_bytes(vector: int) -> int:
    return (vector.bit_length() + 7) // 8


@final
class ControlMessage(Frame):
    """What the sender has of all seeds from `low` to `high` (§6.2). Seeds between these that it does not mention are
    not in its Seed Set (R6)."""

    __slots__ = ("high", "low", "seeds")

    def __init__(self, low: int, high: int, seeds: list[SeedInfo]) -> None:
        size = 2 + uint_size(low) + uint_size(high) + (1 if 3 * len(seeds) < 16 else 3)
        for info in seeds:
            size += info.size
        super().__init__("control", 0, size)
        self.low = low
        self.high = high
        self.seeds = seeds  # by number

    def fields(self) -> list[Any]:
        flat: list[Any] = []
        for info in self.seeds:
            vector = info.vector.to_bytes(vector_bytes(info.vector), "little")
            flat += [info.seed, info.min_sequence, vector]
        return [self.low, self.high, flat]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> ControlMessage:
        low, high, flat = counted(fields, 3)
        triples = as_list(flat, 3 * SEEDS_MAX)
        if len(triples) % 3:
            raise Malformed("a seed without its number or its messages")
        ids = [as_int(seed, 0, SEED_MAX) for seed in triples[0::3]]
        least = [as_int(sequence, 0, SEQUENCE_MAX) for sequence in triples[1::3]]
        vectors = [as_bytes(vector) for vector in triples[2::3]]
        seeds = [_info(ids[k], least[k], vector) for k, vector in enumerate(vectors)]
        message = ControlMessage(as_int(low, 0, SEED_MAX), as_int(high, 0, SEED_MAX), seeds)
        before = low - 1
        for seed in ids:
            if not before < seed <= high:
                raise Malformed("seeds are not in their order")
            before = seed
        return message


def _info(seed: int, min_sequence: int, vector: bytes) -> SeedInfo:
    if len(vector) > VECTOR_MAX or vector[-1:] == b"\0":
        raise Malformed("a vector that is too long, or has bytes without bits at its end")
    return SeedInfo(seed, min_sequence, int.from_bytes(vector, "little"))


def control_messages(seeds: list[SeedInfo], limit: int) -> list[ControlMessage]:
    """Seeds in ascending order as messages of at most about `limit` bytes, which together cover all seeds (R6)."""
    messages: list[ControlMessage] = []
    part: list[SeedInfo] = []
    low = 0
    size = 0
    for info in seeds:
        if part and (size + info.size > limit or len(part) >= SEEDS_MAX):
            messages.append(ControlMessage(low, info.seed - 1, part))
            part, low, size = [], info.seed, 0
        part.append(info)
        size += info.size
    messages.append(ControlMessage(low, SEED_MAX, part))
    return messages
