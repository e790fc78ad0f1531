"""Random numbers: one named stream for each (run, node, purpose).

A stream depends on nothing but its name, so adding a node, a metric or a model changes nobody else's draws. The
generator is xoshiro128++ 1.0 (Blackman and Vigna): proven, four 32-bit words, and made of operations that give the same
numbers in unboxed 64-bit arithmetic and in Python's own ints. Draws have 32 bits, which resolves a kilometre to a
quarter of a micrometre and an hour to a microsecond.
"""

from __future__ import annotations

from hashlib import blake2b
from math import cos, log, sqrt
from typing import Final, final

from mypy_extensions import i64

WORD: Final = 0xFFFFFFFF
UNIT: Final = 1.0 / 4294967296.0
TURN: Final = 6.283185307179586


@final
class Stream:
    """xoshiro128++, seeded with the BLAKE2b digest of its name."""

    __slots__ = ("a", "b", "c", "d")

    def __init__(self, seed: int, node: int, purpose: str) -> None:
        digest = blake2b(f"{seed}/{node}/{purpose}".encode(), digest_size=16).digest()
        self.a: i64 = int.from_bytes(digest[0:4], "little")
        self.b: i64 = int.from_bytes(digest[4:8], "little")
        self.c: i64 = int.from_bytes(digest[8:12], "little")
        self.d: i64 = int.from_bytes(digest[12:16], "little") | 1  # the one state it must not have is all zeros

    def word(self) -> i64:
        """The next 32 bits."""
        a = self.a
        b = self.b
        c = self.c ^ a
        s = (a + self.d) & WORD
        d = self.d ^ b
        self.c = c ^ ((b << 9) & WORD)
        self.b = b ^ c
        self.a = a ^ d
        self.d = ((d << 11) | (d >> 21)) & WORD
        return (((s << 7) | (s >> 25)) + a) & WORD

    def random(self) -> float:
        """Uniform in [0, 1)."""
        return float(self.word()) * UNIT

    def below(self, n: i64) -> i64:
        """Uniform in 0 … n - 1, for n far below 2**31."""
        return (self.word() * n) >> 32

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()

    def exponential(self, mean: float) -> float:
        """Rounded, so that two C libraries that differ in a last bit still agree."""
        return round(-mean * log(1.0 - self.random()), 9)

    def normal(self, mean: float, deviation: float) -> float:
        """By Box and Muller; rounded like `exponential`."""
        u = 1.0 - self.random()
        return mean + deviation * round(sqrt(-2.0 * log(u)) * cos(TURN * self.random()), 9)
