"""Rate limits by address."""

from __future__ import annotations

from typing import Any

from roamcast.net.limits import Limits
from roamcast.net.refusal import Refused
from roamcast.net.wire.addresses import EXCESS_US, AddressLimits

S = 1_000_000
HERE = ("192.0.2.1", 1)


def passes(limits: AddressLimits, address: Any, now_us: int = 0) -> str:
    try:
        limits.check(address, now_us)
    except Refused as refused:
        return refused.reason
    return ""


def test_unknown_addresses_share_one_limit_and_genuine_ones_have_their_own() -> None:
    limits = AddressLimits(Limits(strangers_per_s=10, address_per_s=5))
    limits.proven(HERE, 0)
    flood = [passes(limits, ("203.0.113.1", port)) for port in range(1000)]
    assert flood.count("") == 20
    assert set(flood[20:]) == {"too many strangers"}
    assert [passes(limits, HERE) for _ in range(11)] == [""] * 10 + ["address rate"]
    assert passes(limits, ("203.0.113.1", 1), S) == ""
    assert passes(limits, HERE, S) == ""


def test_an_address_that_sent_too_much_is_not_a_known_address_for_a_while() -> None:
    limits, there = AddressLimits(Limits(address_per_s=5, addresses=2)), ("192.0.2.2", 1)
    limits.proven(HERE, 0)
    limits.proven(there, 0)
    assert limits.known(0) == [there, HERE]
    assert [passes(limits, there) for _ in range(6)] == [""] * 6  # more than half of what it has saved up
    assert limits.known(0) == [HERE]
    assert limits.known(S) == [there, HERE]
    flood = [passes(limits, HERE) for _ in range(11)]
    assert flood[-1] == "address rate"
    limits.proven(HERE, 0)
    assert limits.known(EXCESS_US - 1) == [there]
    assert limits.known(EXCESS_US) == [HERE, there]
    for port in (2, 3):
        limits.proven(("192.0.2.2", port), 0)
    limits.proven(HERE, 0)  # it was forgotten meanwhile, and so was its excess
    assert limits.known(0) == [HERE, ("192.0.2.2", 3)]


def test_a_limited_number_of_addresses_is_remembered_those_heard_last() -> None:
    limits = AddressLimits(Limits(addresses=10))
    for port in range(100):
        limits.proven(HERE, 0)
        limits.proven(("203.0.113.1", port), 0)
    assert len(limits) == 10
    assert HERE in limits._genuine
