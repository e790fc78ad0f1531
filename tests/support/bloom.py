"""A Bloom filter by the book, on the positions that `roamcast.pubsub.bloom` specifies."""

from __future__ import annotations

from math import exp

from roamcast.pubsub.bloom import positions


class BloomFilter:
    def __init__(self, bits: int = 1024, hashes: int = 4) -> None:
        self.bits = bits
        self.hashes = hashes
        self.bitmap = 0

    def add(self, item: str | bytes) -> None:
        for position in positions(item, self.bits, self.hashes):
            self.bitmap |= 1 << position

    def __contains__(self, item: str | bytes) -> bool:
        return all(self.bitmap >> position & 1 for position in positions(item, self.bits, self.hashes))


def false_positive_rate(n: int, m: int, k: int) -> float:
    """The expected rate with n items in m bits and k hashes: (1 − e^(−kn/m))^k."""
    return float((1.0 - exp(-k * n / m)) ** k)
