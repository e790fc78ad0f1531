"""Every bound of a node, with its default, and the bucket that keeps to a rate.

Whatever arrives, memory stays below what the tables here add up to, and work per second below what the rates do. The
defaults are ours: generous for a neighbourhood of some dozens on a shared radio channel, small for a computer.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1)]
Rate = Annotated[float, msgspec.Meta(gt=0)]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    # before cryptography
    strangers_per_s: Rate = 1000.0  # datagrams looked at from all addresses that never sent anything genuine
    address_per_s: Rate = 2000.0  # … and from one that did
    addresses: Count = 1024  # that are remembered as genuine
    # a neighbour
    sender_frames_per_s: Rate = 500.0
    sender_bytes_per_s: Rate = 1_000_000.0
    # Publications never seen before, to be verified at 100 us each. Above what a sender's airtime (below) allows, which
    # is 312 of them if they are nothing but their seals: what an honest sender says is never refused for this.
    sender_signatures_per_s: Rate = 500.0
    sender_partial_frames: Count = 4  # that wait for fragments
    # all neighbours
    senders: Count = 512
    senders_forgotten: Count = 8192  # of whom no more is kept than where they were in their numbers
    newcomers_per_s: Rate = 50.0
    sender_idle_s: Rate = 120.0  # after which a sender may be forgotten for a newcomer
    partial_bytes: Count = 1 << 20  # in unfinished frames
    partial_s: Rate = 5.0  # how long a frame waits for its fragments
    # publications
    verified: Count = 8192  # that are known to be genuine
    identities: Count = 4096  # keys of publishers
    muted: Count = 16_384
    carried: Count = 8192  # of others, that are known to be kept
    # own frames
    queue: Count = 50
    rate_bps: Rate = 1e6  # what airtime is reckoned with: the rate of broadcasts on this radio
    airtime_share: Share = 0.25  # of all time, for own transmissions …
    airtime_burst_s: Rate = 0.5  # … which may be saved up so far
    attempts: Count = 6  # to reach one neighbour
    ack_timeout_s: Rate = 0.02  # for the first; doubles for each further one
    ack_timeout_max_s: Rate = 0.1

    def airtime_us(self, size: int) -> float:
        """How long this many bytes take on the air."""
        return size * 8e6 / self.rate_bps


class TokenBucket:
    """`rate` units a second, of which at most `burst` are saved up; full at first."""

    __slots__ = ("burst", "rate_per_us", "tokens", "updated_us")

    def __init__(self, rate_per_s: float, burst: float, now_us: int) -> None:
        self.rate_per_us = rate_per_s * 1e-6
        self.burst = burst
        self.tokens = burst
        self.updated_us = now_us

    def refill(self, now_us: int) -> None:
        if now_us > self.updated_us:
            self.tokens = min(self.burst, self.tokens + (now_us - self.updated_us) * self.rate_per_us)
            self.updated_us = now_us

    def take(self, amount: float, now_us: int) -> bool:
        """Whether there were so many; none are taken if not."""
        self.refill(now_us)
        if self.tokens < amount:
            return False
        self.tokens -= amount
        return True

    def wait_us(self, amount: float, now_us: int) -> int:
        """How long until there are so many. More than `burst` are waited for as if they were `burst`."""
        self.refill(now_us)
        missing = min(amount, self.burst) - self.tokens
        return 0 if missing <= 0 else int(missing / self.rate_per_us) + 1

    def spend(self, amount: float, now_us: int) -> None:
        """Take so many in any case; what is owed is waited for next time."""
        self.refill(now_us)
        self.tokens -= amount
