"""Bloom filters: compact sets for the air. They may claim an item that was not added, and never miss one that was.

Hashing is specified, so that all nodes agree whatever machine or process they run on. An item is its UTF-8 bytes. Its
16-byte BLAKE2b digest (RFC 7693, no key, no salt, digest size 16) is read as two little-endian 64-bit words h1 and h2,
the last bit of h2 is set, and the item's positions are (h1 + i * h2) mod bits for i = 0 … hashes - 1 (double hashing,
Kirsch and Mitzenmacher). An odd step gives as many distinct positions as hashes where the number of bits is a power of
two. Vectors, at 1024 bits and 4 hashes: "" has the positions 714, 25, 360, 695; "news.sport" 190, 551, 912, 249.
"""

from __future__ import annotations

from hashlib import blake2b
from math import exp
from typing import Any, Final, final

from roamcast.errors import InputError, Malformed

MAX_BITS: Final = 1 << 16
"""Ours: 8 KiB on the air."""

MAX_HASHES: Final = 32


def positions(item: str | bytes, bits: int, hashes: int) -> list[int]:
    """The bits that stand for an item."""
    digest = blake2b(item.encode() if isinstance(item, str) else item, digest_size=16).digest()
    first = int.from_bytes(digest[:8], "little")
    step = int.from_bytes(digest[8:], "little") | 1
    return [(first + i * step) % bits for i in range(hashes)]


def false_positive_rate(n: int, m: int, k: int) -> float:
    """The expected rate with n items in m bits and k hashes: (1 − e^(−kn/m))^k."""
    return float((1.0 - exp(-k * n / m)) ** k)


@final
class BloomFilter:
    """A bitmap of `bits` bits, held as an int whose bit i is position i."""

    def __init__(self, bits: int = 1024, hashes: int = 4, bitmap: int = 0) -> None:
        if not 1 <= bits <= MAX_BITS:
            raise InputError(f"a Bloom filter has 1 to {MAX_BITS} bits, not {bits}")
        if not 1 <= hashes <= MAX_HASHES:
            raise InputError(f"a Bloom filter has 1 to {MAX_HASHES} hashes, not {hashes}")
        if not 0 <= bitmap < 1 << bits:
            raise InputError(f"the bitmap does not fit in {bits} bits")
        self.bits: Final = bits
        self.hashes: Final = hashes
        self.bitmap = bitmap

    def add(self, item: str | bytes) -> None:
        for position in positions(item, self.bits, self.hashes):
            self.bitmap |= 1 << position

    def __contains__(self, item: str | bytes) -> bool:
        return all(self.bitmap >> position & 1 for position in positions(item, self.bits, self.hashes))

    def union(self, other: BloomFilter) -> BloomFilter:
        """The items of both. Bitmaps of different shapes have no union."""
        if (self.bits, self.hashes) != (other.bits, other.hashes):
            raise InputError(
                f"Bloom filters must have one shape, not {self.bits} bits and {self.hashes} hashes"
                f" with {other.bits} bits and {other.hashes} hashes"
            )
        return BloomFilter(self.bits, self.hashes, self.bitmap | other.bitmap)

    def __or__(self, other: BloomFilter) -> BloomFilter:
        return self.union(other)

    def copy(self) -> BloomFilter:
        return BloomFilter(self.bits, self.hashes, self.bitmap)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BloomFilter) and self.fields() == other.fields()

    def __hash__(self) -> int:
        raise TypeError("a Bloom filter changes, so it has no hash")

    def __repr__(self) -> str:
        return f"BloomFilter({self.bits}, {self.hashes}, {self.bitmap:#x})"

    def fields(self) -> list[Any]:
        """Its form on the air: bits, hashes, and the bitmap as little-endian bytes."""
        return [self.bits, self.hashes, self.bitmap.to_bytes((self.bits + 7) // 8, "little")]


def bloom_from_fields(fields: object) -> BloomFilter:
    """The inverse of `BloomFilter.fields`, for fields that came from the air: anything else is `Malformed`."""
    if not isinstance(fields, list) or len(fields) != 3:
        raise Malformed("a Bloom filter has three fields")
    bits, hashes, bitmap = fields
    if type(bits) is not int or not 1 <= bits <= MAX_BITS:
        raise Malformed("Bloom filter bits")
    if type(hashes) is not int or not 1 <= hashes <= MAX_HASHES:
        raise Malformed("Bloom filter hashes")
    if type(bitmap) is not bytes or len(bitmap) != (bits + 7) // 8:
        raise Malformed("Bloom filter bitmap")
    value = int.from_bytes(bitmap, "little")
    if value >> bits:
        raise Malformed("Bloom filter bitmap")
    return BloomFilter(bits, hashes, value)
