"""Own events: checked, numbered, sealed."""

from __future__ import annotations

from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.net.durable import MemoryValues
from roamcast.net.host.publisher import Publisher
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.net.trust.seals import SEAL_BYTES, sealed_by
from roamcast.pubsub.event import FOREVER, Event

RING = KeyRing.new()


def publisher(membership: Membership | None = None) -> Publisher:
    return Publisher(membership or Membership.secure(MemoryValues(), RING), 1372)


def test_events_have_rising_numbers_and_the_seal_of_their_publisher() -> None:
    membership = Membership.secure(MemoryValues(), RING)
    one = publisher(membership)
    first, second = one.prepare("a", {"n": 1}, b"x"), one.prepare("b")
    assert (first.publisher, second.id - first.id) == (membership.number, 1)
    assert membership.identity is not None
    assert sealed_by(first, membership.identity.public)
    assert one.unsealed(first) == Event(first.id, "a", {"n": 1}, b"x")
    assert one.group == RING.group


def test_without_keys_nothing_is_sealed() -> None:
    one = publisher(Membership.insecure(7))
    event = one.prepare("a", payload=b"x")
    assert (event.payload, one.unsealed(event), one.group) == (b"x", event, b"")
    assert one.renew(event, b"", FOREVER) is event


def test_an_event_that_is_not_allowed_uses_up_no_number() -> None:
    one = publisher()
    first = one.prepare().id
    for wrong in ({"attrs": {"a": float("nan")}}, {"payload": bytes(70_000)}, {"scope": 7}):
        with pytest.raises(InputError, match="cannot publish"):
            one.prepare(**wrong)  # type: ignore[arg-type]
    assert one.prepare().id == first + 1


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"topic": 5}, "cannot publish this: the topic 5 must be a text"),
        ({"attrs": "t=1"}, "cannot publish this: attributes must be a dictionary from names to values"),
        ({"attrs": {"t": [1]}}, "cannot publish t=[1]: must be a number, a text, or true or false"),
        ({"attrs": {1: 2}}, "cannot publish 1=2: the name of an attribute must be a text"),
        ({"payload": "x"}, "cannot publish this: the payload must be bytes"),
    ],
)
def test_what_is_no_event_is_one_clear_line(wrong: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as error:
        publisher().prepare(**wrong)
    assert str(error.value) == line


def test_an_event_of_an_earlier_boot_keeps_its_seal_if_that_is_still_right() -> None:
    durable = MemoryValues()
    one, again = (publisher(Membership.secure(durable, RING)) for _ in range(2))
    event = one.prepare("a", payload=b"x", validity_us=1000)
    assert again.renew(event, one.group, 1000) is event
    older = again.renew(event, one.group, 400)
    assert (older.validity_us, again.unsealed(older).payload, len(older.payload)) == (400, b"x", 1 + SEAL_BYTES)


def test_an_event_with_the_seal_of_a_lost_key_is_sealed_again() -> None:
    one, other = publisher(), publisher()
    event = one.prepare("a", payload=b"x")
    renewed = other.renew(event, one.group, FOREVER)
    assert renewed.payload != event.payload
    assert other.unsealed(renewed).payload == b"x"


@pytest.mark.parametrize("before", ["insecure", "another group"])
def test_an_event_from_another_group_is_sealed_for_this_one(before: str) -> None:
    durable = MemoryValues()
    if before == "insecure":
        one = publisher(Membership.insecure(7, durable))
    else:
        one = publisher(Membership.secure(durable, KeyRing.new()))
    event = one.prepare("a", payload=b"x")
    now = publisher(Membership.secure(durable, RING))
    renewed = now.renew(event, one.group, FOREVER)
    assert renewed.payload != event.payload
    assert now.unsealed(renewed).payload == b"x"


def test_a_node_that_has_left_its_group_publishes_without_a_seal() -> None:
    durable = MemoryValues()
    one = publisher(Membership.secure(durable, RING))
    event = one.prepare("a", payload=b"x")
    now = publisher(Membership.insecure(7, durable))
    assert now.renew(event, one.group, FOREVER).payload == b"x"
