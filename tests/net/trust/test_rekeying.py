"""A new group key for each member on the roster, and for nobody else; the steps of a rotation go forward only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import InputError, Malformed
from roamcast.net.durable import MemoryValues
from roamcast.net.trust import rekeying
from roamcast.net.trust.identity import Identity
from roamcast.net.trust.keys import GroupKey, KeyRing
from roamcast.net.trust.rekeying import KEYS, ONLY, SEND, Step, Taken, after_step, decoded, encoded, has_taken

GROUP = b"8 bytes!"
SEEDS = [bytes([n]) * 32 for n in range(4)]
PUBLICS = [Identity(seed).public for seed in SEEDS]
SECRET = b"s" * 32


def step(members: list[int]) -> Step:
    ephemeral, boxes = rekeying.boxes(SECRET, GROUP, {n: PUBLICS[n] for n in members})
    return Step(KEYS, GroupKey(SECRET).id, ephemeral, boxes)


def test_every_member_opens_its_own_box_and_no_other() -> None:
    sealed = step([0, 1, 2])
    for n in (0, 1, 2):
        assert rekeying.opened(sealed, n, SEEDS[n], GROUP) == GroupKey(SECRET)
        assert rekeying.opened(sealed, n, SEEDS[3], GROUP) is None
        assert rekeying.opened(sealed, n, SEEDS[n], b"another.") is None
    assert rekeying.opened(sealed, 3, SEEDS[3], GROUP) is None
    moved = Step(KEYS, sealed.key, sealed.ephemeral, {1: sealed.boxes[0]})
    assert rekeying.opened(moved, 1, SEEDS[0], GROUP) is None, "a box belongs to a number"


def test_two_rotations_have_nothing_in_common() -> None:
    one, other = step([0]), step([0])
    assert one.ephemeral != other.ephemeral
    assert one.boxes != other.boxes


@given(st.binary(min_size=32, max_size=32))
def test_both_halves_of_an_identity_make_the_same_exchange_key(seed: bytes) -> None:
    private = rekeying.exchange_private(seed)
    assert private.public_key() == rekeying.exchange_public(Identity(seed).public)


@pytest.mark.parametrize("public", [b"\x01" + bytes(31), b"\xff" * 32])
def test_what_is_no_point_is_refused(public: bytes) -> None:
    with pytest.raises(InputError, match="is not a public key"):
        rekeying.exchange_public(public)


def test_the_steps_in_order() -> None:
    ring, new = KeyRing.new(), GroupKey(SECRET)
    old = ring.sending
    accepted = after_step(ring, KEYS, new.id, new)
    assert (accepted.keys, accepted.sending) == ((old, new), old)
    sending = after_step(accepted, SEND, new.id)
    assert (sending.keys, sending.sending) == ((old, new), new)
    alone = after_step(sending, ONLY, new.id)
    assert (alone.keys, alone.sending) == ((new,), new)
    taken = [[has_taken(r, s, new.id) for s in (KEYS, SEND, ONLY)] for r in (ring, accepted, sending, alone)]
    assert taken == [[False] * 3, [True, False, False], [True, True, False], [True] * 3]


def test_old_steps_and_steps_of_other_keys_change_nothing() -> None:
    ring, new = KeyRing.new(), GroupKey(SECRET)
    sending = after_step(after_step(ring, KEYS, new.id, new), SEND, new.id)
    assert after_step(sending, KEYS, new.id, new) is sending
    assert after_step(sending, SEND, ring.sending.id) is sending, "never back to an older key"
    assert after_step(sending, ONLY, ring.sending.id) is sending
    for step in (SEND, ONLY):
        assert after_step(ring, step, new.id) is ring, "a key that this node does not have"
    assert after_step(after_step(ring, KEYS, new.id, new), ONLY, new.id).sending == ring.sending


def test_messages_survive_their_encoding() -> None:
    for message in (step([0, 1]), Step(SEND, 7), Taken(ONLY, 7)):
        assert decoded(encoded(message)) == message


@given(st.binary(max_size=60))
def test_anything_else_is_malformed(payload: bytes) -> None:
    try:
        message = decoded(payload)
    except Malformed:
        return
    assert message.step in (KEYS, SEND, ONLY)


def test_an_unknown_step_is_malformed() -> None:
    with pytest.raises(Malformed):
        decoded(encoded(Step(7, 1)))


def test_the_seed_of_a_node_is_where_it_is_looked_for() -> None:
    values = MemoryValues()
    assert Identity.of(values).public == Identity(values.values["identity"]).public
