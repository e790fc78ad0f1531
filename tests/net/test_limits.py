from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.net.limits import Limits, TokenBucket
from roamcast.net.trust.seals import SEAL_BYTES
from roamcast.net.wire.addresses import bucket

S = 1_000_000


def test_a_bucket_is_full_at_first_and_fills_at_its_rate() -> None:
    bucket = TokenBucket(10.0, 5.0, 0)
    assert [bucket.take(1, 0) for _ in range(6)] == [True] * 5 + [False]
    assert bucket.take(1, 99_999) is False
    assert bucket.take(1, 100_001) is True
    assert [bucket.take(1, 100 * S) for _ in range(6)] == [True] * 5 + [False], "at most the burst is saved up"


def test_a_refused_amount_costs_nothing() -> None:
    bucket = TokenBucket(10.0, 5.0, 0)
    assert bucket.take(5.5, 0) is False
    assert bucket.take(5, 0) is True


def test_after_spending_too_much_the_bucket_waits() -> None:
    bucket = TokenBucket(10.0, 5.0, 0)
    bucket.spend(7.0, 0)
    wait_us = bucket.wait_us(1.0, 0)
    assert wait_us == pytest.approx(300_000, abs=2)
    assert bucket.wait_us(1.0, wait_us) == 0
    assert bucket.wait_us(100.0, 700_001) == 0, "more than the burst waits for a full bucket, no longer"


@given(st.lists(st.tuples(st.integers(0, S), st.floats(0.1, 10)), max_size=50))
def test_over_any_time_at_most_the_rate_and_the_burst_are_taken(requests: list[tuple[int, float]]) -> None:
    bucket, now, given_out = TokenBucket(3.0, 6.0, 0), 0, 0.0
    for pause_us, amount in requests:
        now += pause_us
        given_out += amount if bucket.take(amount, now) else 0.0
    assert given_out <= 6.0 + 3.0 * now / S + 1e-6


def test_a_clock_that_stands_still_or_goes_back_gives_nothing() -> None:
    bucket = TokenBucket(10.0, 1.0, S)
    assert bucket.take(1, S)
    assert not bucket.take(1, 0)
    assert not bucket.take(1, S)


def test_events_of_a_sender_within_its_airtime_are_always_verified() -> None:
    limits = Limits()
    smallest_us = SEAL_BYTES * 8e6 / limits.rate_bps  # airtime of an event that consists of its seal only
    assert bucket(limits.sender_signatures_per_s, 0).burst > limits.airtime_burst_s * S / smallest_us
    assert limits.sender_signatures_per_s > limits.airtime_share * S / smallest_us


@pytest.mark.parametrize("field", [f.name for f in msgspec.structs.fields(Limits)])
def test_no_limit_can_be_switched_off(field: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({field: 0}, Limits)
