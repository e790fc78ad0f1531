"""Every bound of a node, with its default, and the token bucket that limits a rate.

Whatever a node receives, its memory stays below the sum of these tables, and its work per second below the sum of
these rates. The defaults are ours: generous for some dozens of neighbours on a shared radio channel, small for a
computer.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1)]
Rate = Annotated[float, msgspec.Meta(gt=0)]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    # before cryptography
    strangers_per_s: Rate = 1000.0  # datagrams that are checked, from all addresses that never sent anything genuine
    address_per_s: Rate = 2000.0  # the same, from one address that sent something genuine
    addresses: Count = 1024  # that are remembered as genuine
    # a neighbour
    sender_frames_per_s: Rate = 500.0
    sender_bytes_per_s: Rate = 1_000_000.0
    # Events that were never seen before; to verify one takes 100 us. The airtime of a sender (below) allows 312 a
    # second if they consist of their seals only, so events of an honest sender are never refused for this.
    sender_signatures_per_s: Rate = 500.0
    sender_partial_frames: Count = 4  # that wait for fragments
    # all neighbours
    senders: Count = 512
    senders_forgotten: Count = 8192  # senders whose boot and counter alone are kept
    newcomers_per_s: Rate = 50.0
    sender_idle_s: Rate = 120.0  # after which a silent sender may be removed for a new one
    partial_bytes: Count = 1 << 20  # in unfinished frames
    partial_s: Rate = 5.0  # how long a frame waits for its fragments
    # events
    verified: Count = 8192  # whose seals are known to be genuine
    identities: Count = 4096  # keys of publishers
    muted: Count = 16_384  # ids
    carried: Count = 8192  # events of other nodes that are known to be stored in a carried frame
    # own frames
    position_s: Rate = 10.0  # a node that sends signs its position at least this often
    queue: Count = 50
    rate_bps: Rate = 1e6  # the rate of broadcasts on this radio, for computing airtime
    airtime_share: Share = 0.25  # of all time, for own transmissions
    airtime_burst_s: Rate = 0.5  # how much of that can be saved up
    attempts: Count = 6  # to reach one neighbour
    ack_timeout_s: Rate = 0.02  # for the first; doubles for each further one
    ack_timeout_max_s: Rate = 0.1

    def governor(self) -> str:
        """How much a node may send, in words."""
        rate = self.airtime_share * self.rate_bps
        return (
            f"sends at most {100 * self.airtime_share:g} % of the time at {self.rate_bps / 1e6:g} Mbit/s, "
            f"{rate / 8e3:,.0f} kB a second (limits.airtime_share, limits.rate_bps)"
        )

    def airtime_us(self, size: int) -> float:
        """How long this many bytes take on the air."""
        return size * 8e6 / self.rate_bps


class TokenBucket:
    """Gets `rate` units a second, and holds at most `burst` of them; it is full at first."""

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
        """Take this amount if it is there; otherwise take nothing and return False."""
        self.refill(now_us)
        if self.tokens < amount:
            return False
        self.tokens -= amount
        return True

    def wait_us(self, amount: float, now_us: int) -> int:
        """How long until this amount is there. More than `burst` counts as `burst`."""
        self.refill(now_us)
        missing = min(amount, self.burst) - self.tokens
        return 0 if missing <= 0 else int(missing / self.rate_per_us) + 1

    def spend(self, amount: float, now_us: int) -> None:
        """Take this amount in any case; the next one then waits longer."""
        self.refill(now_us)
        self.tokens -= amount
