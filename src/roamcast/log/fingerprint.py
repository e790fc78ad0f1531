"""A run's fingerprint: a BLAKE2b digest over every publication, every transmission with its number of receivers, and
every delivery, in order. It does not depend on the log's level."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final, final

from librt.strings import BytesWriter, write_i64_le
from mypy_extensions import i64

BLOCK: Final = 1 << 12
NODE_BITS: Final = 20
MIX: Final = (1 << 40) - 1


@final
class Fingerprint:
    __slots__ = ("block", "hash", "mix")

    def __init__(self) -> None:
        self.hash: Any = blake2b(digest_size=16)
        self.mix: i64 = 0  # deliveries, since there are many of them
        self.block = BytesWriter()

    def published(self, t: i64, node: i64, event: int, pairs: i64) -> None:
        self.stamp(t, node, 0, event)
        self.stamp(t, node, 0, pairs)

    def delivered(self, node: i64, event: i64) -> None:
        self.mix = (self.mix * 1_000_003 + (node << NODE_BITS) + event) & MIX

    def stamp(self, t: i64, node: i64, serial: i64, number: i64) -> None:
        """Add a publication or transmission, and with it the deliveries so far."""
        block = self.block
        write_i64_le(block, t << NODE_BITS | node)
        write_i64_le(block, serial << NODE_BITS | number)
        write_i64_le(block, self.mix)
        if len(block) >= BLOCK:
            self.hash.update(block.getvalue())
            self.block = BytesWriter()

    def digest(self) -> str:
        last = BytesWriter()
        write_i64_le(last, self.mix)
        whole = self.hash.copy()
        whole.update(self.block.getvalue() + last.getvalue())
        digest: str = whole.hexdigest()
        return digest
