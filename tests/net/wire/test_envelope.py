"""Datagrams under the group's key."""

from __future__ import annotations

import subprocess
import sys

import pytest

from roamcast.net.refusal import Refused
from roamcast.net.trust.keys import KeyRing
from roamcast.net.wire import packet
from roamcast.net.wire.costs import OVERHEAD_BYTES
from roamcast.net.wire.envelope import TAG_BYTES, Envelope, session_key
from roamcast.net.wire.packet import ACK, FRAME, Header, read_header

RING = KeyRing.new()


def envelope(ring: KeyRing | None = RING, number: int = 1, boot: int = 10) -> Envelope:
    boots = iter(range(boot, boot + 9))
    return Envelope(ring, number, lambda: next(boots), 4)


def opened(receiver: Envelope, datagram: bytes) -> bytes:
    header = read_header(datagram)
    receiver.check_key(header)
    return receiver.unwrap(header, datagram)


def refusal(receiver: Envelope, datagram: bytes) -> str:
    with pytest.raises(Refused) as refused:
        opened(receiver, datagram)
    return refused.value.reason


@pytest.mark.parametrize("ring", [RING, None])
@pytest.mark.parametrize("kind", [FRAME, ACK])
def test_unwrap_returns_what_was_wrapped(ring: KeyRing | None, kind: int) -> None:
    sender, receiver = envelope(ring), envelope(ring, 2)
    for inner in (b"x", b"", bytes(500)):
        datagram = sender.wrap(kind, inner)
        assert len(datagram) == len(inner) + sender.overhead
        assert opened(receiver, datagram) == inner
        assert read_header(datagram).kind == kind


def test_the_overhead_is_the_documented_one() -> None:
    part = packet.FramePart(7, -1, 0, 0, 1, b"frame").packed()
    assert len(envelope().wrap(FRAME, part)) == len(b"frame") + OVERHEAD_BYTES == 5 + 38


def test_no_content_is_readable() -> None:
    assert b"attack at dawn" not in envelope().wrap(FRAME, b"attack at dawn")
    assert b"attack at dawn" in envelope(None).wrap(FRAME, b"attack at dawn")


def test_any_changed_bit_is_noticed() -> None:
    datagram = envelope().wrap(FRAME, b"content")
    for bit in range(8 * len(datagram)):
        changed = bytearray(datagram)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Refused):
            opened(envelope(number=2), bytes(changed))


def test_any_truncation_and_any_addition_is_noticed() -> None:
    datagram = envelope().wrap(FRAME, b"content")
    for size in range(len(datagram)):
        with pytest.raises(Refused):
            opened(envelope(number=2), datagram[:size])
    assert refusal(envelope(number=2), datagram + b"\0") == "forged"
    assert refusal(envelope(number=2), datagram[: packet.HEADER_BYTES + TAG_BYTES - 1]) == "too short"


def test_no_nonce_is_used_twice_under_a_key_and_every_boot_has_its_own_key() -> None:
    one = envelope()
    counters = [read_header(one.wrap(FRAME, b"x")).counter for _ in range(50)]
    assert counters == list(range(50))
    keys = {session_key(RING.sending.secret, sender, boot) for sender in range(5) for boot in range(5)}
    assert len(keys) == 25
    assert session_key(RING.with_next().keys[1].secret, 0, 0) not in keys


def test_the_same_content_never_looks_the_same() -> None:
    one = envelope()
    assert one.wrap(FRAME, bytes(16))[20:] != one.wrap(FRAME, bytes(16))[20:]
    assert envelope(boot=11).wrap(FRAME, bytes(16))[20:] != envelope(boot=12).wrap(FRAME, bytes(16))[20:]


def test_a_boot_whose_counters_are_used_up_is_followed_by_another() -> None:
    one, receiver = envelope(boot=10), envelope(number=2)
    one.counter = packet.COUNTER_MAX - packet.FRAGMENTS_MAX
    one.prepare()
    assert (one.boot, one.counter) == (10, packet.COUNTER_MAX - packet.FRAGMENTS_MAX)
    one.wrap(FRAME, b"x")
    one.prepare()
    assert (one.boot, one.counter) == (11, 0)
    datagram = one.wrap(FRAME, b"y")
    assert read_header(datagram).boot == 11
    assert opened(receiver, datagram) == b"y"


def test_secured_and_unsecured_never_mix() -> None:
    assert refusal(envelope(RING, 2), envelope(None).wrap(FRAME, b"x")) == "unsecured"
    assert refusal(envelope(None, 2), envelope(RING).wrap(FRAME, b"x")) == "unknown key"
    forged = Header(FRAME, RING.sending.id, 1, 10, 0).packed() + b"x"
    assert refusal(envelope(RING, 2), forged) == "too short"


def test_datagrams_of_another_group_are_refused() -> None:
    other = KeyRing.new()
    while other.sending.id == RING.sending.id:
        other = KeyRing.new()
    assert refusal(envelope(number=2), envelope(other).wrap(FRAME, b"x")) == "unknown key"
    same_id = bytearray(envelope(other).wrap(FRAME, b"x"))
    same_id[2:4] = RING.sending.id.to_bytes(2, "big")
    assert refusal(envelope(number=2), bytes(same_id)) == "forged"


def test_forgeries_do_not_remove_members_from_the_table_of_sessions() -> None:
    sender, receiver = envelope(), envelope(number=2)
    opened(receiver, sender.wrap(FRAME, b"x"))
    for boot in range(100):
        assert refusal(receiver, Header(FRAME, RING.sending.id, 5, boot, 0).packed() + bytes(30)) == "forged"
    session = receiver._sessions[RING.sending.id, 1, 10]
    for number in range(10, 20):
        opened(receiver, envelope(number=number).wrap(FRAME, b"x"))
        opened(receiver, sender.wrap(FRAME, b"x"))
    assert len(receiver._sessions) == 4
    assert receiver._sessions[RING.sending.id, 1, 10] is session, "an active sender stays"


def test_during_a_rotation_all_nodes_accept_each_other() -> None:
    """In each of three steps some nodes are a step ahead of others."""
    steps = [RING, RING.with_next()]
    steps += [steps[1].promoted()]
    steps += [steps[2].retired()]
    for a, b in [(0, 1), (1, 2), (2, 3)]:
        for sender, receiver in [(a, b), (b, a), (a, a), (b, b)]:
            datagram = envelope(steps[sender]).wrap(FRAME, b"x")
            assert opened(envelope(steps[receiver], 2), datagram) == b"x", (sender, receiver)
    assert refusal(envelope(steps[3], 2), envelope(steps[0]).wrap(FRAME, b"x")) == "unknown key"
    assert {ring.group for ring in steps} == {RING.group}
    assert len(steps[3].keys) == 1


def test_a_running_node_accepts_new_keys() -> None:
    sender, receiver = envelope(), envelope(number=2)
    opened(receiver, sender.wrap(FRAME, b"x"))
    after = RING.with_next().promoted()
    receiver.use(after)
    assert opened(receiver, sender.wrap(FRAME, b"old key")) == b"old key"
    sender.use(after)
    datagram = sender.wrap(FRAME, b"new key")
    assert read_header(datagram).key_id == after.keys[1].id
    assert opened(receiver, datagram) == b"new key"
    receiver.use(after.retired())
    assert refusal(receiver, envelope().wrap(FRAME, b"x")) == "unknown key"


def test_the_costs_of_security_can_be_imported_without_a_network() -> None:
    program = "import sys, roamcast.net.wire.costs; print([m for m in ('asyncio', 'socket') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
