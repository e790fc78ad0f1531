"""A member of the group sends in the name of another node, so that others refuse what that node sends. It must fail."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import pytest

from roamcast.net.limits import Limits
from roamcast.net.trust.identity import Identity
from roamcast.net.trust.membership import Membership
from roamcast.net.trust.positions import EVERY, PositionSchedule, sign_position
from roamcast.net.wire.codec import FrameCodec, protocol_tag
from roamcast.net.wire.envelope import Envelope
from roamcast.net.wire.packet import ACK, FRAME, POSITION, FramePart, Proof, read_header
from roamcast.net.wire.replay import AHEAD
from tests.conformance.driver import Ping, Probe
from tests.conformance.real import RING
from tests.net.members import datagram, drops, frame_codec, hear, member

S = 1_000_000
TAG = protocol_tag(Probe)
LAST = (1 << 64) - 1


def in_the_name_of(victim: FrameCodec, boot: int, counter: int = 0, number: int = 1) -> bytes:
    """A datagram that a member of the group can make; nothing distinguishes it from one of the victim."""
    impostor = Envelope(RING, victim.number, lambda: boot, 4)
    impostor.counter = counter
    return impostor.wrap(FRAME, FramePart(TAG, -1, 0, 0, 1, bytes([0x94, 0, number, 0, 0xC4, 0])).packed())


def forged_position(victim: FrameCodec, boot: int, signer: Identity) -> bytes:
    signature = sign_position(signer, RING.group, victim.number, boot, 0)
    return Envelope(RING, victim.number, lambda: boot, 4).wrap(POSITION, Proof(signer.public, signature).packed())


_schedules: WeakKeyDictionary[FrameCodec, PositionSchedule] = WeakKeyDictionary()


def position(codec: FrameCodec, now_us: int) -> bytes | None:
    """The position that this node would send now, if one is due."""
    return codec.position(now_us, _schedules.setdefault(codec, PositionSchedule(Limits().position_s)))


def say(speaker: FrameCodec, *hearers: FrameCodec, now_us: int = 0) -> bool:
    """The speaker sends a frame, as the outbox does: with its position if that is due. Whether all hear the frame."""
    signed = position(speaker, now_us)
    if signed is not None:
        for hearer in hearers:
            hear(hearer, signed, now_us=now_us)
    sent = datagram(speaker, Ping(1))
    arrivals = [hear(hearer, sent, now_us=now_us) for hearer in hearers]
    return None not in arrivals


@pytest.mark.parametrize("ahead", [1 << 20, 1 << 51, 1 << 62])
def test_two_frames_within_a_minute_do_not_silence_a_node(ahead: int) -> None:
    sender = member()
    victim, other = frame_codec(sender), frame_codec()
    assert say(victim, other)
    for n in (1, 2):
        forged = in_the_name_of(victim, victim.envelope.boot + n * ahead)
        hear(other, forged)
        hear(victim, forged)
    assert say(victim, other, now_us=S), "at once"
    again = frame_codec(sender)
    assert say(again, other, now_us=2 * S), "and after a restart"
    restarted = frame_codec()
    restarted.restore(other.peers.export())
    assert say(again, restarted, now_us=20 * S), "and where the other one has restarted"
    assert drops(victim) == {"own number": 2}


def test_a_node_is_heard_where_the_attacker_came_first_once_it_signs_its_position() -> None:
    victim, other = frame_codec(), frame_codec()
    for _ in range(4):
        assert say(victim)
    hear(other, in_the_name_of(victim, LAST))
    assert not say(victim, other, now_us=S), "the position was signed before"
    assert say(victim, other, now_us=10 * S)
    hear(other, in_the_name_of(victim, LAST, 1))
    assert say(victim, other, now_us=11 * S)


def test_forged_counters_of_the_present_boot_do_not_silence_a_node() -> None:
    victim, other = frame_codec(), frame_codec(sender_frames_per_s=1e6)
    assert say(victim, other)
    boot = victim.envelope.boot
    for counter in (*range(AHEAD), (1 << 32) - 1):
        assert hear(other, in_the_name_of(victim, boot, counter, number=2)) is not None
    for _ in range(2 * AHEAD):
        assert say(victim, other)


def test_a_thousand_frames_without_a_lost_position_are_all_heard() -> None:
    victim, other = frame_codec(), frame_codec(sender_frames_per_s=1e6)
    assert all(say(victim, other, now_us=n) for n in range(3000))
    assert drops(other) == {}


def test_lost_positions_cost_nothing_without_an_attacker() -> None:
    victim, other = frame_codec(), frame_codec(sender_frames_per_s=1e6)
    for n in range(3 * AHEAD):
        position(victim, n)  # and nobody hears it
        assert hear(other, datagram(victim)) is not None
    assert drops(other) == {}


def test_a_new_boot_is_heard_even_if_its_first_position_is_lost() -> None:
    sender, other = member(), frame_codec()
    assert say(frame_codec(sender), other)
    later = frame_codec(sender)
    assert position(later, 0) is not None
    assert hear(other, datagram(later)) is not None
    assert say(later, other)


def test_positions_are_due_at_first_often_and_then_now_and_then() -> None:
    victim, due = frame_codec(), []
    for n in range(600):
        if position(victim, 0) is not None:
            due.append(n)
        datagram(victim)
    assert due[:3] == [0, 1, 2]
    assert due[-1] - due[-2] == EVERY - 1, "a position takes a counter itself"
    assert len(due) < 14
    assert position(victim, 10 * S - 1) is None
    assert position(victim, 10 * S) is not None


def test_nobody_else_can_sign_a_position() -> None:
    victim, other, insider = frame_codec(), frame_codec(), member()
    assert insider.identity is not None
    genuine = position(victim, 0)
    assert genuine is not None
    hear(other, genuine)
    assert hear(other, forged_position(victim, LAST, insider.identity)) is None
    copied = Envelope(RING, victim.number, lambda: LAST, 4)
    hear(other, copied.wrap(POSITION, victim.envelope.unwrap(read_header(genuine), genuine)))
    hear(other, copied.wrap(POSITION, b"short"))
    assert drops(other) == {"not its number": 1, "bad signature": 1, "malformed": 1}
    assert say(victim, other)


def test_a_position_is_heard_once() -> None:
    victim, other = frame_codec(), frame_codec()
    signed = position(victim, 0)
    assert signed is not None
    hear(other, signed)
    hear(other, signed)
    assert drops(other) == {"stale": 1}


def test_a_recorded_datagram_of_an_earlier_boot_is_refused_once_a_later_one_is_signed() -> None:
    sender, other = member(), frame_codec()
    earlier = frame_codec(sender)
    recorded = [position(earlier, 0), datagram(earlier), datagram(earlier)]
    assert say(frame_codec(sender), other)
    for data in recorded:
        assert data is not None
        assert hear(other, data) is None
    assert drops(other) == {"stale": 3}


def test_only_a_flood_of_positions_is_slowed_down() -> None:
    victim, other, insider = frame_codec(), frame_codec(sender_frames_per_s=10), member()
    assert insider.identity is not None
    for boot in range(50):
        hear(other, forged_position(victim, LAST - boot, insider.identity))
    assert drops(other) == {"not its number": 50}, "a key that does not belong to the number is not even tried"
    genuine = position(victim, 0)
    assert genuine is not None
    bad = victim.envelope.unwrap(read_header(genuine), genuine)[:-1] + b"x"
    impostor = Envelope(RING, victim.number, lambda: LAST, 4)
    for _ in range(50):
        hear(other, impostor.wrap(POSITION, bad))
    assert drops(other)["bad signature"] == 20
    assert drops(other)["signature rate"] == 30
    assert say(victim, other, now_us=10 * S)


def test_without_keys_nothing_is_signed() -> None:
    plain = frame_codec(Membership.insecure(5))
    assert position(plain, 0) is None
    hear(plain, Envelope(None, 6, lambda: 1, 4).wrap(POSITION, bytes(96)))
    assert drops(plain) == {"unknown kind": 1}


def test_another_node_in_this_node_s_name_is_counted_and_changes_nothing() -> None:
    sender = member()
    recorded, acknowledgement = datagram(frame_codec(sender)), frame_codec(sender).acknowledgement(3, 1)
    one = frame_codec(sender)
    boot = one.envelope.boot
    for data in (recorded, acknowledgement, in_the_name_of(one, LAST), in_the_name_of(one, boot, 1 << 31)):
        assert hear(one, data) is None
    assert (drops(one), one.envelope.boot, one.tally.echoes) == ({"own number": 4}, boot, 0)


@pytest.mark.parametrize("kind", [FRAME, ACK])
def test_a_rotation_changes_no_position(kind: int) -> None:
    victim, other = frame_codec(), frame_codec()
    assert say(victim, other)
    recorded = datagram(victim) if kind == FRAME else victim.acknowledgement(other.number, 1)
    assert hear(other, recorded) is not None
    both = RING.with_next()
    for one in (victim, other):
        one.use(both.promoted())
    assert say(victim, other)
    assert hear(other, recorded) is None
    assert drops(other) == {"replayed": 1}
