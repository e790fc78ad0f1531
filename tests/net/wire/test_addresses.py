"""Rate limits by address."""

from __future__ import annotations

from typing import Any

from roamcast.net.limits import Limits
from roamcast.net.refusal import Refused
from roamcast.net.wire.addresses import EXCESS_US, AddressLimits

S = 1_000_000
HERE = ("192.0.2.1", 1)


def passes(gate: AddressLimits, address: Any, now_us: int = 0) -> str:
    try:
        gate.check(address, now_us)
    except Refused as refused:
        return refused.reason
    return ""


def test_strangers_share_one_door_and_neighbours_have_their_own() -> None:
    gate = AddressLimits(Limits(strangers_per_s=10, address_per_s=5))
    gate.proven(HERE, 0)
    flood = [passes(gate, ("203.0.113.1", port)) for port in range(1000)]
    assert flood.count("") == 20
    assert set(flood[20:]) == {"too many strangers"}
    assert [passes(gate, HERE) for _ in range(11)] == [""] * 10 + ["address rate"]
    assert passes(gate, ("203.0.113.1", 1), S) == ""
    assert passes(gate, HERE, S) == ""


def test_who_sent_too_much_is_out_of_favour_for_a_while() -> None:
    gate, there = AddressLimits(Limits(address_per_s=5, addresses=2)), ("192.0.2.2", 1)
    gate.proven(HERE, 0)
    gate.proven(there, 0)
    assert gate.known(0) == [there, HERE]
    assert [passes(gate, there) for _ in range(6)] == [""] * 6  # more than half of what he has saved up
    assert gate.known(0) == [HERE]
    assert gate.known(S) == [there, HERE]
    flood = [passes(gate, HERE) for _ in range(11)]
    assert flood[-1] == "address rate"
    gate.proven(HERE, 0)
    assert gate.known(EXCESS_US - 1) == [there]
    assert gate.known(EXCESS_US) == [HERE, there]
    for port in (2, 3):
        gate.proven(("192.0.2.2", port), 0)
    gate.proven(HERE, 0)  # forgotten meanwhile, and so is what he did
    assert gate.known(0) == [HERE, ("192.0.2.2", 3)]


def test_the_gate_remembers_so_many_and_those_heard_last() -> None:
    gate = AddressLimits(Limits(addresses=10))
    for port in range(100):
        gate.proven(HERE, 0)
        gate.proven(("203.0.113.1", port), 0)
    assert len(gate) == 10
    assert HERE in gate._genuine
