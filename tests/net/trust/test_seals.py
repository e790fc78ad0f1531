from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.net.durable import MemoryValues
from roamcast.net.limits import TokenBucket
from roamcast.net.refusal import Refused
from roamcast.net.trust.identity import Identity, Roster
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.net.trust.seals import SEAL_BYTES, Trust, Verifier, sealed, unsealed
from roamcast.pubsub.event import Event, event_from_fields, event_id
from tests.conformance.real import RING
from tests.net.members import member, publication
from tests.pubsub.strategies import events

ME, OTHER = member(), member()


def verifier(
    roster: Roster | None = None, verified: int = 100, keys: int = 100, trust: Trust | None = None
) -> Verifier:
    assert ME.identity is not None
    return Verifier(RING.group, ME.identity, ME.number, roster, verified, keys, trust)


def plenty() -> TokenBucket:
    return TokenBucket(1e9, 1e9, 0)


def refusal(event: Event, by: Verifier | None = None, budget: TokenBucket | None = None) -> str:
    try:
        (by or verifier()).check(event, budget or plenty(), 0)
    except Refused as refused:
        return refused.reason
    return ""


def altered(event: Event, **changes: Any) -> Event:
    content = {
        "id": event.id,
        "topic": event.topic,
        "attrs": event.attrs,
        "payload": event.payload,
        "validity_us": event.validity_us,
        "scope": event.scope,
    }
    return Event(**{**content, **changes})


@given(events)
def test_a_sealed_event_is_genuine_and_unsealing_restores_it(event: Event) -> None:
    assert OTHER.identity is not None
    renumbered = altered(event, id=event_id(OTHER.number, event.id & 0xFFFFFFFF | 1))
    travelling = event_from_fields(sealed(renumbered, OTHER.identity, RING.group).fields())
    assert refusal(travelling) == ""
    assert unsealed(travelling) == renumbered
    assert len(travelling.payload) == len(renumbered.payload) + SEAL_BYTES


def test_the_order_of_attributes_does_not_matter() -> None:
    event = publication(OTHER, attrs={"a": 1, "b": 2.5, "c": "x"})
    assert refusal(altered(event, attrs={"c": "x", "b": 2.5, "a": 1})) == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"id": event_id(OTHER.number, 2)},
        {"topic": "other"},
        {"attrs": {"a": 2}},
        {"attrs": {"a": 1.0}},
        {"attrs": {"a": True}},
        {"attrs": {}},
        {"validity_us": 7},
        {"scope": 1},
    ],
    ids=["id", "topic", "value", "whole number for a float", "truth for a number", "no attribute", "validity", "scope"],
)
def test_no_field_of_an_event_can_be_changed(changes: dict[str, Any]) -> None:
    event = publication(OTHER, topic="news", attrs={"a": 1}, payload=b"text", validity_us=1000)
    by = verifier()
    assert refusal(altered(event, **changes), by) == "bad signature"
    assert refusal(event, by) == ""
    assert refusal(altered(event, **changes), by) == "bad signature", "also after the genuine one was heard"


def test_no_bit_of_payload_key_or_signature_can_be_changed() -> None:
    event = publication(OTHER, payload=b"text")
    for bit in range(8 * len(event.payload)):
        payload = bytearray(event.payload)
        payload[bit // 8] ^= 1 << bit % 8
        assert refusal(altered(event, payload=bytes(payload))) in ("bad signature", "not its number")


def test_an_event_without_a_seal_is_refused() -> None:
    event = publication(OTHER, payload=b"")
    for size in range(SEAL_BYTES):
        assert refusal(altered(event, payload=event.payload[:size])) == "unsigned"


def test_no_node_can_publish_under_another_number() -> None:
    other = member()
    assert other.identity is not None
    forged = sealed(Event(event_id(OTHER.number, 1), "news"), other.identity, RING.group)
    assert refusal(forged) == "not its number"


def test_a_seal_of_one_group_is_not_valid_in_another() -> None:
    assert OTHER.identity is not None
    event = sealed(Event(event_id(OTHER.number, 1), "news"), OTHER.identity, KeyRing.new().group)
    assert refusal(event) == "bad signature"


def test_a_second_key_for_a_known_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding such a key takes two thousand million attempts; here the function that gives numbers is weakened."""
    monkeypatch.setattr("roamcast.net.trust.seals.node_number", lambda _: OTHER.number)
    by = verifier()
    assert refusal(publication(OTHER), by) == ""
    double = member()
    double.number = OTHER.number
    assert refusal(publication(double, 2), by) == "identity conflict"
    assert refusal(publication(OTHER, 3), by) == ""


def test_a_second_key_for_the_own_number_is_refused_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roamcast.net.trust.seals.node_number", lambda _: ME.number)
    double = member()
    double.number = ME.number
    assert refusal(publication(double)) == "identity conflict"
    assert refusal(publication(ME)) == "", "its own event may come back"


def test_the_own_number_is_protected_even_when_many_keys_were_received(monkeypatch: pytest.MonkeyPatch) -> None:
    by = verifier(keys=2)
    for _ in range(4):
        assert refusal(publication(member()), by) == ""
    assert len(by._keys) == 2
    monkeypatch.setattr("roamcast.net.trust.seals.node_number", lambda _: ME.number)
    double = member()
    double.number = ME.number
    assert refusal(publication(double), by) == "identity conflict"


def test_with_a_roster_only_listed_nodes_publish_and_only_under_their_numbers() -> None:
    durable = MemoryValues()
    assert OTHER.identity is not None
    roster = Roster({7: Identity.of(durable).public})
    listed = Membership.secure(durable, RING, roster)
    assert refusal(publication(listed), verifier(roster)) == ""
    assert refusal(publication(OTHER), verifier(roster)) == "not on the roster"
    listed.number = 8
    assert refusal(publication(listed), verifier(roster)) == "not on the roster"
    by_its_key = Membership.secure(durable, RING)
    assert refusal(publication(by_its_key), verifier(roster)) == "not on the roster"


def test_an_event_that_was_verified_costs_no_budget_again() -> None:
    by, budget = verifier(), TokenBucket(1.0, 2.0, 0)
    first, second, third = (publication(OTHER, n) for n in (1, 2, 3))
    assert [refusal(e, by, budget) for e in (first, first, first, second)] == [""] * 4
    assert refusal(third, by, budget) == "signature rate"
    assert refusal(first, by, budget) == ""


def test_forgeries_use_up_the_budget_of_their_sender() -> None:
    by, other_budget, own_budget = verifier(), TokenBucket(1.0, 3.0, 0), TokenBucket(1.0, 3.0, 0)
    event = publication(OTHER)
    bad = altered(event, topic="x")
    assert [refusal(bad, by, other_budget) for _ in range(5)] == ["bad signature"] * 3 + ["signature rate"] * 2
    assert refusal(event, by, own_budget) == ""


def test_memory_is_bounded() -> None:
    by = verifier(verified=10, keys=10)
    for n in range(30):
        assert refusal(publication(OTHER, n + 1), by) == ""
    assert len(by._verified) == 10
    for _ in range(20):
        assert refusal(publication(member()), by) == ""
    assert len(by._keys) == 10


def test_an_expired_event_is_refused_only_where_clocks_are_trusted() -> None:
    sealed_s = 1_800_000_000
    assert OTHER.identity is not None
    event = sealed(Event(event_id(OTHER.number, 1), "x", validity_us=60_000_000), OTHER.identity, RING.group, sealed_s)
    for late_s, reason in [(0, ""), (60, ""), (70, ""), (70.5, "expired"), (1e9, "expired"), (-1e9, "")]:
        trust = Trust(10.0, lambda late_s=late_s: sealed_s + late_s)  # type: ignore[misc]
        assert refusal(event, verifier(trust=trust)) == reason, late_s
        assert refusal(event) == ""


def test_an_event_that_came_in_time_does_not_expire_in_the_store() -> None:
    assert OTHER.identity is not None
    event = sealed(Event(event_id(OTHER.number, 1), validity_us=60_000_000), OTHER.identity, RING.group, 1_800_000_000)
    judge = verifier(trust=Trust(10.0, lambda: 1_800_000_000.0 + 1000))
    judge.check(event, plenty(), 0, ago_s=990.0)
    with pytest.raises(Refused, match="expired"):
        judge.check(event, plenty(), 0, ago_s=900.0)


def test_the_time_of_a_clock_that_was_never_set_does_not_count() -> None:
    assert OTHER.identity is not None
    trust = Trust(10.0, lambda: 1_900_000_000.0)
    for unix_s in (0.0, 1000.0, 2.0**32):
        event = sealed(Event(event_id(OTHER.number, 1), validity_us=1), OTHER.identity, RING.group, unix_s)
        assert refusal(event, verifier(trust=trust)) == ""


def test_no_node_can_make_an_event_younger() -> None:
    assert OTHER.identity is not None
    event = sealed(Event(event_id(OTHER.number, 1)), OTHER.identity, RING.group, 1_800_000_000)
    for sealed_s in (0, 1_800_000_001, (1 << 32) - 1):
        payload = sealed_s.to_bytes(4, "big") + event.payload[4:]
        assert refusal(altered(event, payload=payload)) == "bad signature"


@given(st.binary(min_size=SEAL_BYTES, max_size=SEAL_BYTES + 10))
def test_any_seal_is_checked_without_an_exception(payload: bytes) -> None:
    assert refusal(Event(event_id(3, 1), payload=payload)) != ""


def test_an_event_that_was_sealed_here_comes_back_without_being_verified_and_an_altered_one_is_refused() -> None:
    own, nothing = publication(ME, attrs={"a": 1}), TokenBucket(1.0, 0.0, 0)
    assert refusal(own, verifier(), nothing) == "signature rate"
    checking = verifier()
    checking.sealed_here(own)
    assert refusal(own, checking, nothing) == ""
    assert refusal(altered(own, attrs={"a": 2}), checking, nothing) == "signature rate"
    assert refusal(altered(own, attrs={"a": 2}), checking) == "bad signature"
