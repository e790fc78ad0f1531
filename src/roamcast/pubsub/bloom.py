"""The bits of a Bloom filter, a compact set for the air, that stand for an item. Such a set may claim an item that was
not added, and never misses one that was.

Hashing is specified, so that all nodes agree whatever machine or process they run on. An item is its UTF-8 bytes. Its
16-byte BLAKE2b digest (RFC 7693, no key, no salt, digest size 16) is read as two little-endian 64-bit words h1 and h2,
the last bit of h2 is set, and the item's positions are (h1 + i * h2) mod bits for i = 0 … hashes - 1 (double hashing,
Kirsch and Mitzenmacher). An odd step gives as many distinct positions as hashes where the number of bits is a power of
two. Vectors, at 1024 bits and 4 hashes: "" has the positions 714, 25, 360, 695; "news.sport" 190, 551, 912, 249.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

MAX_BITS: Final = 1 << 16
"""Ours: 8 KiB on the air."""

MAX_HASHES: Final = 32


def positions(item: str | bytes, bits: int, hashes: int) -> list[int]:
    """The bits that stand for an item."""
    digest = blake2b(item.encode() if isinstance(item, str) else item, digest_size=16).digest()
    first = int.from_bytes(digest[:8], "little") % bits  # here, so that the rest is done with small numbers
    step = (int.from_bytes(digest[8:], "little") | 1) % bits
    return [(first + i * step) % bits for i in range(hashes)]
