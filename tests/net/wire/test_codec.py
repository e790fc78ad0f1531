"""Attacks on a node by senders without the group key and by members of the group; no network needed."""

from __future__ import annotations

import logging
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.net.limits import Limits
from roamcast.net.refusal import REASONS, Refused, Tally
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.net.trust.seals import sealed
from roamcast.net.wire import packet
from roamcast.net.wire.codec import OUTDO_MAX, OUTDO_US, FrameCodec, protocol_tag
from roamcast.net.wire.envelope import Envelope
from roamcast.net.wire.packet import ACK, FRAME, FramePart, Header
from roamcast.net.wire.replay import LEAP_MAX
from roamcast.protocols import registry
from roamcast.protocols.kit.interface import Protocol
from roamcast.protocols.kit.wire import MAX_FRAME
from roamcast.pubsub.event import Event, event_id
from tests.conformance.driver import Parcel, Ping, Probe
from tests.conformance.real import RING
from tests.net.members import HERE, THERE, datagram, datagrams, drops, frame_codec, hear, member, parcel

S = 1_000_000
TAG = protocol_tag(Probe)


def body(sender: FrameCodec, inner: bytes, kind: int = FRAME) -> bytes:
    """A genuine datagram with any content, such as any member of the group can send."""
    return sender.envelope.wrap(kind, inner)


# --------------------------------------------------------------------------------------------------- without attackers


def test_a_frame_is_decoded_unchanged() -> None:
    one, other = frame_codec(), frame_codec()
    arrival = hear(other, datagram(one, Ping(5, 6, b"abc")))
    assert arrival is not None
    assert isinstance(arrival.frame, Ping)
    assert arrival.frame.fields() == [5, 6, b"abc"]
    assert (arrival.sender, arrival.to, arrival.address) == (one.number, -1, HERE)
    assert drops(other) == {}


def test_a_transmission_has_one_serial_at_both_ends() -> None:
    one, other = frame_codec(datagram_max=200), frame_codec(datagram_max=200)
    for frame in (Ping(1), Ping(2, content=bytes(900)), Ping(3)):
        serial, sent = one.outgoing(one.encode(frame), -1, 0)
        arrivals = [a for a in (hear(other, d) for d in sent) if a is not None]
        assert [a.serial for a in arrivals] == [serial]
        assert (arrivals[0].size, arrivals[0].datagrams) == (sum(map(len, sent)), len(sent))


@pytest.mark.parametrize("to_other", [False, True])
@given(st.integers(0, 9000), st.integers(100, 1400))
@settings(max_examples=30)
def test_frames_of_any_size_pass_through_datagrams_of_any_size(to_other: bool, size: int, datagram_max: int) -> None:
    one, other = frame_codec(datagram_max=datagram_max), frame_codec(datagram_max=datagram_max)
    to = other.number if to_other else -1
    sent = datagrams(one, Ping(1, 0, bytes(size)), to, 9)
    assert all(len(d) <= datagram_max for d in sent)
    arrivals = [a for a in (hear(other, d) for d in sent) if a is not None]
    assert [a.frame.fields() for a in arrivals if a.frame is not None] == [[1, 0, bytes(size)]]
    assert (arrivals[0].to, arrivals[0].size) == (to, sum(map(len, sent)))


def test_a_frame_too_large_for_fragments_is_refused_by_the_sender() -> None:
    with pytest.raises(Refused, match="too large"):
        datagrams(frame_codec(datagram_max=100), Ping(1, 0, bytes(20_000)))
    with pytest.raises(Refused, match="too large"):
        datagrams(frame_codec(datagram_max=1372), Ping(1, 0, bytes(MAX_FRAME)))


def test_own_datagrams_that_come_back_are_ignored() -> None:
    one = frame_codec()
    assert hear(one, datagram(one)) is None
    assert drops(one) == {}
    assert one.tally.echoes == 1


def test_a_frame_for_another_node_is_dropped() -> None:
    one, other = frame_codec(), frame_codec()
    assert hear(other, datagram(one, to=other.number + 1)) is None
    assert drops(other) == {"not for us": 1}


def test_a_repeated_frame_is_acknowledged_again_and_not_handed_up_again() -> None:
    one, other = frame_codec(), frame_codec()
    first = hear(other, datagram(one, Ping(1), other.number, 7))
    again = hear(other, datagram(one, Ping(1), other.number, 7))
    after = hear(other, datagram(one, Ping(2), other.number, 8))
    assert first is not None and again is not None and after is not None
    assert (first.frame is None, again.frame is None, after.frame is None) == (False, True, False)
    assert (first.number, again.number, after.number) == (7, 7, 8)


def test_an_acknowledgement_arrives() -> None:
    one, other = frame_codec(), frame_codec()
    arrival = hear(one, other.acknowledgement(one.number, 7))
    assert arrival is not None
    assert (arrival.acknowledges, arrival.sender, arrival.number) == (True, other.number, 7)
    assert hear(frame_codec(), other.acknowledgement(one.number, 8)) is None


def test_events_keep_their_seal_on_the_way() -> None:
    sender = member()
    one, relay, other = frame_codec(sender), frame_codec(), frame_codec()
    arrival = hear(relay, datagram(one, parcel(sender, topic="news", payload=b"text")))
    assert arrival is not None and arrival.frame is not None
    onward = hear(other, datagram(relay, arrival.frame))
    assert onward is not None and onward.frame is not None
    assert onward.frame.events() == arrival.frame.events()
    assert onward.sender == relay.number


# ----------------------------------------------------------------------------------------------- without the group key


@given(st.binary(max_size=100))
def test_garbage_is_counted_and_nothing_else(data: bytes) -> None:
    one = frame_codec()
    assert hear(one, data) is None
    assert sum(drops(one).values()) == 1


def test_garbage_with_a_valid_header_is_counted_and_nothing_else() -> None:
    one, dice = frame_codec(strangers_per_s=1e9), random.Random(1)
    for _ in range(2000):
        head = Header(dice.randrange(2), RING.sending.id, dice.randrange(1 << 31), dice.getrandbits(64), 0).packed()
        assert hear(one, head + dice.randbytes(dice.randrange(100))) is None
    assert set(drops(one)) == {"forged", "too short"}
    assert len(one.peers.known) == len(one.addresses) == 0


def test_a_datagram_cut_at_any_byte_or_with_any_bit_flipped_is_refused_and_the_whole_one_is_not() -> None:
    one, other = frame_codec(), frame_codec(strangers_per_s=1e9)
    genuine = datagram(one, Ping(1, 0, b"abcdefgh"))
    bad = [genuine[:size] for size in range(len(genuine))]
    for bit in range(8 * len(genuine)):
        flipped = bytearray(genuine)
        flipped[bit // 8] ^= 1 << bit % 8
        bad.append(bytes(flipped))
    assert all(hear(other, data) is None for data in bad)
    assert sum(drops(other).values()) == len(bad)
    assert hear(other, genuine) is not None


def test_a_replay_is_refused_from_wherever_it_comes() -> None:
    one, other = frame_codec(), frame_codec()
    heard = [datagram(one, Ping(n)) for n in range(5)]
    assert all(hear(other, data) is not None for data in heard)
    for data in heard:
        assert hear(other, data) is None
        assert hear(other, data, THERE) is None
    assert drops(other) == {"replayed": 10}


def test_a_datagram_recorded_in_an_earlier_boot_is_refused_in_a_later_one() -> None:
    sender = member()
    recorded = [datagram(frame_codec(sender), Ping(n)) for n in range(3)]
    other = frame_codec()
    assert hear(other, datagram(frame_codec(sender), Ping(9))) is not None
    assert all(hear(other, data) is None for data in recorded)
    assert drops(other) == {"stale": 3}


def test_a_forgery_does_not_move_the_window() -> None:
    one, other = frame_codec(), frame_codec()
    first = datagram(one)
    ahead = Header(FRAME, RING.sending.id, one.number, one.envelope.boot, 1 << 31).packed() + bytes(40)
    later = Header(FRAME, RING.sending.id, one.number, one.envelope.boot + 1, 0).packed() + bytes(40)
    assert hear(other, first) is not None
    assert hear(other, ahead) is None
    assert hear(other, later) is None
    assert hear(other, datagram(one)) is not None
    assert drops(other) == {"forged": 2}


def test_a_flood_from_unknown_addresses_does_not_delay_a_neighbour() -> None:
    one, other = frame_codec(), frame_codec(strangers_per_s=10, address_per_s=10)
    assert hear(other, datagram(one), HERE) is not None
    flood = Header(FRAME, RING.sending.id, 1, 1, 1).packed() + bytes(40)
    for port in range(5000):
        hear(other, flood, ("203.0.113.9", port))
    assert drops(other)["too many strangers"] > 4900
    assert hear(other, datagram(one), HERE) is not None


def test_a_node_with_keys_refuses_unsecured_datagrams_and_logs_that_once(caplog: pytest.LogCaptureFixture) -> None:
    plain, other = frame_codec(Membership.insecure(5)), frame_codec()
    for n in range(3):
        assert hear(other, datagram(plain, Ping(n))) is None
    assert drops(other) == {"unsecured": 3}
    assert len([r for r in caplog.records if "without protection" in r.message]) == 1
    for _ in range(3):
        assert hear(plain, datagram(other)) is None
    assert drops(plain) == {"unknown key": 3}
    assert len([r for r in caplog.records if "a key that this node does not have" in r.message]) == 1


def test_a_newer_version_is_counted_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    other = frame_codec()
    newer = bytes([packet.MAGIC, (packet.VERSION + 1) << 4]) + bytes(50)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            assert hear(other, newer) is None
    assert drops(other) == {"newer version": 5}
    assert [r.message for r in caplog.records if "newer version" in r.message] == [
        "a node sends a newer version of the wire format than this program knows; it is ignored"
    ]


# ------------------------------------------------------------------------------------------------- with the group key


@given(st.binary(max_size=60), st.sampled_from([FRAME, ACK]))
def test_a_member_s_garbage_is_counted_and_nothing_else(inner: bytes, kind: int) -> None:
    one, other = frame_codec(), frame_codec()
    arrival = hear(other, body(one, inner, kind))
    assert sum(drops(other).values()) + (arrival is not None) == 1


@given(st.binary(max_size=60), st.sampled_from(registry.names()))
def test_no_content_from_a_member_makes_a_protocol_s_decoder_fail(content: bytes, name: str) -> None:
    protocol = registry.get(name)
    one = frame_codec()
    other = FrameCodec(protocol, member(), Limits(), Tally(), 1372)
    inner = FramePart(protocol_tag(protocol), -1, 0, 0, 1, content or b"x").packed()
    hear(other, body(one, inner))
    assert other.tally.dropped["protocol error"] == 0
    assert set(drops(other)) <= set(REASONS)


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_nesting_is_malformed(depth: int) -> None:
    one, other = frame_codec(), frame_codec(sender_bytes_per_s=1e9)
    nested = FramePart(TAG, -1, 0, 0, 1, b"\x91" * depth + b"\x01").packed()
    assert hear(other, body(one, nested)) is None
    assert drops(other) == {"malformed": 1}


def test_forged_events_are_refused_with_their_reason() -> None:
    attacker, victim = member(), member()
    one, other = frame_codec(attacker), frame_codec()
    assert attacker.identity is not None
    under_its_number = sealed(Event(event_id(victim.number, 1), "news"), attacker.identity, RING.group)
    cases = {
        "unsigned": Parcel(Event(event_id(victim.number, 1), "news", payload=b"x")),
        "not its number": Parcel(under_its_number),
        "bad signature": Parcel(
            Event(event_id(attacker.number, 1), payload=bytes(4) + attacker.identity.public + bytes(64))
        ),
    }
    for reason, frame in cases.items():
        assert hear(other, datagram(one, frame)) is None, reason
        assert drops(other) == {reason: 1}
        other.tally.dropped[reason] = 0
    assert hear(other, datagram(one, parcel(attacker))) is not None, "an event under its own number is accepted"


def test_a_refused_frame_is_not_acknowledged_and_may_come_again() -> None:
    attacker = member()
    one, other = frame_codec(attacker), frame_codec()
    assert hear(other, datagram(one, Parcel(Event(5)), other.number, 1)) is None
    assert hear(other, datagram(one, parcel(attacker), other.number, 1)) is not None


def test_another_protocol_is_noticed() -> None:
    other = frame_codec()
    one = FrameCodec(registry.get("gossip"), member(), Limits(), Tally(), 1372)
    foreign = FramePart(protocol_tag(registry.get("gossip")), -1, 0, 0, 1, b"\x91\x00").packed()
    assert hear(other, body(one, foreign)) is None
    assert drops(other) == {"other protocol": 1}


def test_protocols_have_different_tags() -> None:
    tags = [protocol_tag(registry.get(name)) for name in registry.BUILT_IN]
    assert len(set(tags)) == len(tags)


def test_another_node_with_this_number_is_counted_and_ignored() -> None:
    sender = member()
    one, double = frame_codec(sender), frame_codec(sender)
    assert hear(one, datagram(double)) is None
    assert drops(one) == {"own number": 1}


def under_the_number_of(victim: FrameCodec, boot: int, counter: int = 0, ring: KeyRing = RING) -> bytes:
    """A datagram that a member of the group can make; nothing distinguishes it from one of the victim."""
    impostor = Envelope(ring, victim.number, lambda _: boot, 4)
    impostor.counter = counter
    return impostor.wrap(FRAME, FramePart(TAG, -1, 0, 0, 1, b"\x94\x00\x01\x00\xc4\x00").packed())


@pytest.mark.parametrize("most", [False, True])
def test_a_node_that_hears_a_higher_boot_under_its_number_begins_a_boot_above(most: bool) -> None:
    victim, other = frame_codec(), frame_codec()
    forged = under_the_number_of(victim, OUTDO_MAX - 1 if most else victim.envelope.boot + (1 << 20))
    assert hear(other, datagram(victim)) is not None
    assert hear(other, forged) is not None
    assert hear(other, datagram(victim)) is None, "taken for a datagram of an earlier boot"
    assert hear(victim, forged) is None
    assert drops(victim) == {"own number": 1}
    assert hear(other, datagram(victim)) is not None
    assert drops(other) == {"stale": 1}
    assert hear(other, forged) is None


def test_a_node_that_hears_an_unused_counter_of_its_boot_begins_a_new_boot() -> None:
    victim, other = frame_codec(), frame_codec()
    forged = under_the_number_of(victim, victim.envelope.boot, (1 << 32) - 1)
    assert hear(other, forged) is not None
    assert hear(other, datagram(victim)) is None
    assert hear(victim, forged) is None
    assert (drops(victim), victim.tally.echoes) == ({"own number": 1}, 0)
    assert hear(other, datagram(victim)) is not None


def test_a_forged_boot_that_no_clock_explains_does_not_silence_a_known_sender() -> None:
    victim, other = frame_codec(), frame_codec()
    assert hear(other, datagram(victim)) is not None
    for boot in (victim.envelope.boot + LEAP_MAX + 1, (1 << 64) - 1):
        before = victim.envelope.boot
        assert hear(other, under_the_number_of(victim, boot)) is None
        assert hear(victim, under_the_number_of(victim, boot)) is None
        assert victim.envelope.boot == before, "peers would refuse a boot above"
    assert drops(other) == {"leap": 2}
    assert hear(other, datagram(victim)) is not None


@pytest.mark.parametrize("boot", [OUTDO_MAX - 1, OUTDO_MAX, LEAP_MAX, 1 << 62, 0])
def test_no_attacker_makes_a_node_begin_a_boot_that_its_peers_refuse(boot: int) -> None:
    """Only the victim gets the forged frame. One peer knows the victim's boot, the other one a boot from before its
    clock was set."""
    sender = member()
    victim, other, early = frame_codec(sender), frame_codec(), frame_codec()
    assert hear(other, datagram(victim)) is not None
    assert hear(early, under_the_number_of(victim, 1 << 30)) is not None
    assert hear(victim, under_the_number_of(victim, boot or victim.envelope.boot + LEAP_MAX)) is None
    for codec in (victim, frame_codec(sender)):  # also after a restart
        for one in (other, early):
            assert hear(one, datagram(codec)) is not None
            assert drops(one) == {}


def test_an_attacker_cannot_use_up_boot_numbers() -> None:
    victim, now_us = frame_codec(), 0
    for _ in range(10):
        hear(victim, under_the_number_of(victim, min(victim.envelope.boot + (1 << 51), OUTDO_MAX - 1)), now_us=now_us)
        hear(victim, under_the_number_of(victim, OUTDO_MAX), now_us=now_us + OUTDO_US - 1)
        now_us += OUTDO_US
    assert OUTDO_MAX < victim.envelope.boot < LEAP_MAX


def test_without_a_key_no_node_begins_a_boot_because_of_another() -> None:
    """An insecure boot uses the same numbers as boots with keys."""
    victim = frame_codec(Membership.insecure(5))
    before = victim.envelope.boot
    plain = Header(FRAME, packet.NO_KEY, 5, before + (1 << 20), 0).packed()
    assert hear(victim, plain + FramePart(TAG, -1, 0, 0, 1, b"x").packed()) is None
    assert (drops(victim), victim.envelope.boot) == ({"own number": 1}, before)


def test_such_a_boot_begins_at_most_once_a_minute() -> None:
    victim, boots = frame_codec(), []
    for now_us in (0, OUTDO_US - 1, OUTDO_US):
        hear(victim, under_the_number_of(victim, victim.envelope.boot + (1 << 20)), now_us=now_us)
        boots.append(victim.envelope.boot)
    assert boots[0] == boots[1] < boots[2]


def test_replaying_an_earlier_boot_changes_nothing() -> None:
    sender = member()
    recorded = datagram(frame_codec(sender))
    one = frame_codec(sender)
    boot = one.envelope.boot
    assert hear(one, recorded) is None
    assert (drops(one), one.envelope.boot) == ({"own number": 1}, boot)


def test_a_silenced_node_is_heard_again_under_a_key_that_the_attacker_does_not_have() -> None:
    victim, other = frame_codec(), frame_codec()
    assert hear(other, under_the_number_of(victim, (1 << 64) - 1)) is not None
    assert hear(other, datagram(victim)) is None
    both = RING.with_next()
    for one in (victim, other):
        one.use(both)
    assert hear(other, datagram(victim)) is None
    victim.use(both.promoted())
    under_new = datagram(victim)
    assert hear(other, under_new) is not None, "before the old key is removed"
    for one in (victim, other):
        one.use(both.promoted().retired())
    assert hear(other, datagram(victim)) is not None
    assert hear(other, under_new) is None
    assert hear(other, under_the_number_of(victim, (1 << 64) - 2)) is None
    assert drops(other) == {"stale": 2, "replayed": 1, "unknown key": 1}
    assert list(other.peers.known[victim.number].windows) == [both.keys[1].id]


def test_an_earlier_boot_is_stale_under_the_older_key_as_well() -> None:
    sender, other = member(), frame_codec()
    earlier = [datagram(frame_codec(sender), Ping(n)) for n in range(2)]
    both = RING.with_next()
    other.use(both)
    one = frame_codec(sender)
    under_old = datagram(one)
    one.use(both.promoted())
    assert hear(other, earlier[0]) is not None
    assert hear(other, datagram(one)) is not None
    assert hear(other, earlier[1]) is None
    assert drops(other) == {"stale": 1}
    assert hear(other, under_old) is not None, "sent in this boot, before it changed keys"


def test_positions_under_a_key_removed_while_a_node_was_away_are_forgotten() -> None:
    victim, before = frame_codec(), frame_codec()
    assert hear(before, under_the_number_of(victim, (1 << 64) - 1)) is not None
    heard = before.peers.export()
    for ring, refused in ((RING, "stale"), (RING.with_next().promoted().retired(), "")):
        after = frame_codec(member(ring))
        after.restore(heard)
        assert after.peers.refuse(Header(FRAME, RING.sending.id, victim.number, 5, 0)) == refused


def test_only_the_member_that_floods_is_slowed_down() -> None:
    flooder, one = frame_codec(), frame_codec()
    other = frame_codec(sender_frames_per_s=10, address_per_s=1e6, strangers_per_s=1e6)
    for n in range(500):
        hear(other, datagram(flooder, Ping(n)), HERE)
    assert drops(other) == {"sender rate": 480}
    assert hear(other, datagram(one), THERE) is not None
    assert hear(other, datagram(flooder), HERE, S) is not None


def test_a_member_with_many_identities_fills_only_the_table() -> None:
    other = frame_codec(senders=20, newcomers_per_s=1e6, strangers_per_s=1e6, address_per_s=1e6)
    one = frame_codec()
    assert hear(other, datagram(one), THERE) is not None
    for n in range(300):
        assert (hear(other, datagram(frame_codec()), HERE) is not None) == (n < 19)
    assert drops(other) == {"table full": 281}
    assert len(other.peers.known) == 20
    assert hear(other, datagram(one), THERE) is not None


def test_oversize_and_endless_fragments_fill_only_their_budget() -> None:
    other = frame_codec(sender_frames_per_s=1e6, sender_bytes_per_s=1e9, address_per_s=1e6, partial_bytes=200_000)
    for _ in range(10):
        one = frame_codec()
        for _ in range(400):
            hear(other, body(one, FramePart(TAG, -1, 0, 3, 255, bytes(1300)).packed()))
            assert other.reassembly.bytes <= 200_000
    honest, whole = frame_codec(), Ping(1, 0, bytes(5000))
    sent = datagrams(honest, whole)
    arrivals = [hear(other, data, THERE) for data in sent]
    assert arrivals[-1] is not None


def test_only_the_sender_of_a_signature_flood_is_slowed_down() -> None:
    attacker, honest = member(), member()
    one, two = frame_codec(attacker), frame_codec(honest)
    other = frame_codec(sender_signatures_per_s=5, sender_frames_per_s=1e6, address_per_s=1e6)
    for n in range(50):
        hear(other, datagram(one, Parcel(Event(event_id(attacker.number, n), payload=attacker_seal(attacker)))), HERE)
    assert drops(other) == {"bad signature": 10, "signature rate": 40}
    assert hear(other, datagram(two, parcel(honest)), THERE) is not None


def attacker_seal(attacker: Membership) -> bytes:
    assert attacker.identity is not None
    return bytes(4) + attacker.identity.public + bytes(64)


def test_a_protocol_whose_frames_fail_in_any_way_does_not_stop_the_node() -> None:
    class Fragile(Ping):
        @classmethod
        def from_fields(cls, fields: list[Any]) -> Ping:
            raise ZeroDivisionError

    class Brittle(Protocol):
        frames = (Fragile,)

    one = FrameCodec(Brittle, member(), Limits(), Tally(), 1372)
    other = FrameCodec(Brittle, member(), Limits(), Tally(), 1372)
    assert hear(other, one.outgoing(one.encode(Fragile(1)), -1, 0)[1][0]) is None
    assert drops(other) == {"protocol error": 1}
