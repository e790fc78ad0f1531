"""Random numbers: one named stream for each (run, node, purpose).

A stream depends only on its name, so adding a node, a metric or a model changes no other draws. The generator is
ChaCha8 (from librt), keyed with a BLAKE2b digest of the name: well tested, small (120 bytes; MT19937 takes 2.5 kB),
as fast interpreted as compiled, and the same numbers everywhere. A test checks the first numbers, so that a change in
the library is noticed.
"""

from __future__ import annotations

from hashlib import blake2b
from math import cos, log, sqrt
from typing import Final, final

from librt.random import Random
from mypy_extensions import i64

TURN: Final = 6.283185307179586


@final
class Stream:
    """Random numbers that depend on a seed, a node and a purpose alone."""

    __slots__ = ("rng",)

    def __init__(self, seed: int, node: int, purpose: str) -> None:
        digest = blake2b(f"{seed}/{node}/{purpose}".encode(), digest_size=8).digest()
        self.rng = Random(int.from_bytes(digest, "little") >> 1)

    def random(self) -> float:
        """Uniform in [0, 1)."""
        return self.rng.random()

    def below(self, n: i64) -> i64:
        """Uniform in 0 … n - 1."""
        return self.rng.randrange(n)

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self.rng.random()

    def exponential(self, mean: float) -> float:
        """Rounded, so that two C libraries that differ in a last bit still agree."""
        return round(-mean * log(1.0 - self.rng.random()), 9)

    def normal(self, mean: float, deviation: float) -> float:
        """By Box and Muller; rounded like `exponential`."""
        u = 1.0 - self.rng.random()
        return mean + deviation * round(sqrt(-2.0 * log(u)) * cos(TURN * self.rng.random()), 9)


@final
class Streams:
    """The streams of all nodes for one purpose, each made when it is first used: in a short run many never are."""

    __slots__ = ("made", "purpose", "seed")

    def __init__(self, seed: int, nodes: int, purpose: str) -> None:
        self.seed = seed
        self.purpose = purpose
        self.made: list[Stream | None] = [None] * nodes

    def of(self, node: i64) -> Stream:
        stream = self.made[node]
        if stream is None:
            stream = Stream(self.seed, int(node), self.purpose)
            self.made[node] = stream
        return stream
