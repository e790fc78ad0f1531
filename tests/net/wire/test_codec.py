"""Attacks on a node that has the group key, by those who do not and by those who do; no network needed."""

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
from tests.net.members import HERE, THERE, datagram, datagrams, drops, hear, link, member, parcel

S = 1_000_000
TAG = protocol_tag(Probe)


def body(sender: FrameCodec, inner: bytes, kind: int = FRAME) -> bytes:
    """A genuine datagram with any content: what a member of the group can send if he wants to."""
    return sender.envelope.wrap(kind, inner)


# ------------------------------------------------------------------------------------------------------ good company


def test_a_frame_comes_out_as_it_went_in() -> None:
    one, other = link(), link()
    arrival = hear(other, datagram(one, Ping(5, 6, b"abc")))
    assert arrival is not None
    assert isinstance(arrival.frame, Ping)
    assert arrival.frame.fields() == [5, 6, b"abc"]
    assert (arrival.sender, arrival.to, arrival.address) == (one.number, -1, HERE)
    assert drops(other) == {}


def test_a_transmission_has_one_serial_at_both_ends() -> None:
    one, other = link(datagram_max=200), link(datagram_max=200)
    for frame in (Ping(1), Ping(2, content=bytes(900)), Ping(3)):
        serial, sent = one.outgoing(one.encode(frame), -1, 0)
        arrivals = [a for a in (hear(other, d) for d in sent) if a is not None]
        assert [a.serial for a in arrivals] == [serial]
        assert (arrivals[0].size, arrivals[0].datagrams) == (sum(map(len, sent)), len(sent))


@pytest.mark.parametrize("to_other", [False, True])
@given(st.integers(0, 9000), st.integers(100, 1400))
@settings(max_examples=30)
def test_frames_of_any_size_pass_through_datagrams_of_any_size(to_other: bool, size: int, datagram_max: int) -> None:
    one, other = link(datagram_max=datagram_max), link(datagram_max=datagram_max)
    to = other.number if to_other else -1
    sent = datagrams(one, Ping(1, 0, bytes(size)), to, 9)
    assert all(len(d) <= datagram_max for d in sent)
    arrivals = [a for a in (hear(other, d) for d in sent) if a is not None]
    assert [a.frame.fields() for a in arrivals if a.frame is not None] == [[1, 0, bytes(size)]]
    assert (arrivals[0].to, arrivals[0].size) == (to, sum(map(len, sent)))


def test_a_frame_that_no_number_of_fragments_can_carry_is_refused_here() -> None:
    with pytest.raises(Refused, match="too large"):
        datagrams(link(datagram_max=100), Ping(1, 0, bytes(20_000)))
    with pytest.raises(Refused, match="too large"):
        datagrams(link(datagram_max=1372), Ping(1, 0, bytes(MAX_FRAME)))


def test_own_datagrams_that_come_back_are_passed_over() -> None:
    one = link()
    assert hear(one, datagram(one)) is None
    assert drops(one) == {}
    assert one.tally.echoes == 1


def test_a_frame_for_another_is_not_for_us() -> None:
    one, other = link(), link()
    assert hear(other, datagram(one, to=other.number + 1)) is None
    assert drops(other) == {"not for us": 1}


def test_a_repeated_frame_is_acknowledged_again_and_not_handed_up_again() -> None:
    one, other = link(), link()
    first = hear(other, datagram(one, Ping(1), other.number, 7))
    again = hear(other, datagram(one, Ping(1), other.number, 7))
    after = hear(other, datagram(one, Ping(2), other.number, 8))
    assert first is not None and again is not None and after is not None
    assert (first.frame is None, again.frame is None, after.frame is None) == (False, True, False)
    assert (first.number, again.number, after.number) == (7, 7, 8)


def test_an_acknowledgement_arrives() -> None:
    one, other = link(), link()
    arrival = hear(one, other.acknowledgement(one.number, 7))
    assert arrival is not None
    assert (arrival.acknowledges, arrival.sender, arrival.number) == (True, other.number, 7)
    assert hear(link(), other.acknowledgement(one.number, 8)) is None


def test_publications_pass_with_their_seal() -> None:
    who = member()
    one, relay, other = link(who), link(), link()
    arrival = hear(relay, datagram(one, parcel(who, topic="news", payload=b"text")))
    assert arrival is not None and arrival.frame is not None
    onward = hear(other, datagram(relay, arrival.frame))
    assert onward is not None and onward.frame is not None
    assert onward.frame.events() == arrival.frame.events()
    assert onward.sender == relay.number


# ----------------------------------------------------------------------------------------------- without the group key


@given(st.binary(max_size=100))
def test_garbage_is_counted_and_nothing_else(data: bytes) -> None:
    one = link()
    assert hear(one, data) is None
    assert sum(drops(one).values()) == 1


def test_garbage_that_begins_well_is_counted_and_nothing_else() -> None:
    one, dice = link(strangers_per_s=1e9), random.Random(1)
    for _ in range(2000):
        head = Header(dice.randrange(2), RING.sending.id, dice.randrange(1 << 31), dice.getrandbits(64), 0).packed()
        assert hear(one, head + dice.randbytes(dice.randrange(100))) is None
    assert set(drops(one)) == {"forged", "too short"}
    assert len(one.peers.known) == len(one.addresses) == 0


def test_a_datagram_cut_at_any_byte_or_with_any_bit_flipped_is_refused_and_the_whole_one_is_not() -> None:
    one, other = link(), link(strangers_per_s=1e9)
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
    one, other = link(), link()
    heard = [datagram(one, Ping(n)) for n in range(5)]
    assert all(hear(other, data) is not None for data in heard)
    for data in heard:
        assert hear(other, data) is None
        assert hear(other, data, THERE) is None
    assert drops(other) == {"replayed": 10}


def test_what_was_recorded_in_an_earlier_life_is_refused_in_a_later_one() -> None:
    who = member()
    recorded = [datagram(link(who), Ping(n)) for n in range(3)]
    other = link()
    assert hear(other, datagram(link(who), Ping(9))) is not None
    assert all(hear(other, data) is None for data in recorded)
    assert drops(other) == {"stale": 3}


def test_a_forgery_does_not_move_the_window() -> None:
    one, other = link(), link()
    first = datagram(one)
    ahead = Header(FRAME, RING.sending.id, one.number, one.envelope.boot, 1 << 31).packed() + bytes(40)
    later = Header(FRAME, RING.sending.id, one.number, one.envelope.boot + 1, 0).packed() + bytes(40)
    assert hear(other, first) is not None
    assert hear(other, ahead) is None
    assert hear(other, later) is None
    assert hear(other, datagram(one)) is not None
    assert drops(other) == {"forged": 2}


def test_a_stranger_cannot_make_a_neighbour_wait() -> None:
    one, other = link(), link(strangers_per_s=10, address_per_s=10)
    assert hear(other, datagram(one), HERE) is not None
    flood = Header(FRAME, RING.sending.id, 1, 1, 1).packed() + bytes(40)
    for port in range(5000):
        hear(other, flood, ("203.0.113.9", port))
    assert drops(other)["too many strangers"] > 4900
    assert hear(other, datagram(one), HERE) is not None


def test_a_node_with_keys_takes_nothing_without_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    plain, other = link(Membership.insecure(5)), link()
    for n in range(3):
        assert hear(other, datagram(plain, Ping(n))) is None
    assert drops(other) == {"unsecured": 3}
    assert len([r for r in caplog.records if "without protection" in r.message]) == 1
    for _ in range(3):
        assert hear(plain, datagram(other)) is None
    assert drops(plain) == {"unknown key": 3}
    assert len([r for r in caplog.records if "a key that this node does not have" in r.message]) == 1


def test_a_newer_version_is_counted_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    other = link()
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
    one, other = link(), link()
    arrival = hear(other, body(one, inner, kind))
    assert sum(drops(other).values()) + (arrival is not None) == 1


@given(st.binary(max_size=60), st.sampled_from(registry.names()))
def test_no_protocol_s_frames_can_be_broken_by_a_member(content: bytes, name: str) -> None:
    protocol = registry.get(name)
    one = link()
    other = FrameCodec(protocol, member(), Limits(), Tally(), 1372)
    inner = FramePart(protocol_tag(protocol), -1, 0, 0, 1, content or b"x").packed()
    hear(other, body(one, inner))
    assert other.tally.dropped["protocol error"] == 0
    assert set(drops(other)) <= set(REASONS)


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_nesting_is_malformed(depth: int) -> None:
    one, other = link(), link(sender_bytes_per_s=1e9)
    nested = FramePart(TAG, -1, 0, 0, 1, b"\x91" * depth + b"\x01").packed()
    assert hear(other, body(one, nested)) is None
    assert drops(other) == {"malformed": 1}


def test_forged_publications_are_refused_with_their_reason() -> None:
    thief, victim = member(), member()
    one, other = link(thief), link()
    assert thief.identity is not None
    in_his_name = sealed(Event(event_id(victim.number, 1), "news"), thief.identity, RING.group)
    cases = {
        "unsigned": Parcel(Event(event_id(victim.number, 1), "news", payload=b"x")),
        "not its number": Parcel(in_his_name),
        "bad signature": Parcel(Event(event_id(thief.number, 1), payload=bytes(4) + thief.identity.public + bytes(64))),
    }
    for reason, frame in cases.items():
        assert hear(other, datagram(one, frame)) is None, reason
        assert drops(other) == {reason: 1}
        other.tally.dropped[reason] = 0
    assert hear(other, datagram(one, parcel(thief))) is not None, "what he says himself is heard"


def test_a_frame_that_is_refused_is_not_acknowledged_and_may_come_again() -> None:
    thief = member()
    one, other = link(thief), link()
    assert hear(other, datagram(one, Parcel(Event(5)), other.number, 1)) is None
    assert hear(other, datagram(one, parcel(thief), other.number, 1)) is not None


def test_another_protocol_is_noticed() -> None:
    other = link()
    one = FrameCodec(registry.get("gossip"), member(), Limits(), Tally(), 1372)
    foreign = FramePart(protocol_tag(registry.get("gossip")), -1, 0, 0, 1, b"\x91\x00").packed()
    assert hear(other, body(one, foreign)) is None
    assert drops(other) == {"other protocol": 1}


def test_protocols_have_different_tags() -> None:
    tags = [protocol_tag(registry.get(name)) for name in registry.BUILT_IN]
    assert len(set(tags)) == len(tags)


def test_somebody_with_our_number_is_noticed_and_not_heard() -> None:
    who = member()
    one, double = link(who), link(who)
    assert hear(one, datagram(double)) is None
    assert drops(one) == {"own number": 1}


def in_the_name_of(victim: FrameCodec, boot: int, counter: int = 0, ring: KeyRing = RING) -> bytes:
    """What a member of the group can make: nothing in it says that it is not the victim's."""
    impostor = Envelope(ring, victim.number, lambda _: boot, 4)
    impostor.counter = counter
    return impostor.wrap(FRAME, FramePart(TAG, -1, 0, 0, 1, b"\x94\x00\x01\x00\xc4\x00").packed())


@pytest.mark.parametrize("most", [False, True])
def test_who_hears_somebody_ahead_of_it_in_its_name_begins_a_life_above(most: bool) -> None:
    victim, other = link(), link()
    forged = in_the_name_of(victim, OUTDO_MAX - 1 if most else victim.envelope.boot + (1 << 20))
    assert hear(other, datagram(victim)) is not None
    assert hear(other, forged) is not None
    assert hear(other, datagram(victim)) is None, "taken for its own past"
    assert hear(victim, forged) is None
    assert drops(victim) == {"own number": 1}
    assert hear(other, datagram(victim)) is not None
    assert drops(other) == {"stale": 1}
    assert hear(other, forged) is None


def test_who_hears_a_number_that_it_has_not_used_yet_begins_a_new_life() -> None:
    victim, other = link(), link()
    forged = in_the_name_of(victim, victim.envelope.boot, (1 << 32) - 1)
    assert hear(other, forged) is not None
    assert hear(other, datagram(victim)) is None
    assert hear(victim, forged) is None
    assert (drops(victim), victim.tally.echoes) == ({"own number": 1}, 0)
    assert hear(other, datagram(victim)) is not None


def test_a_known_sender_is_not_silenced_by_a_life_that_no_clock_explains() -> None:
    victim, other = link(), link()
    assert hear(other, datagram(victim)) is not None
    for boot in (victim.envelope.boot + LEAP_MAX + 1, (1 << 64) - 1):
        before = victim.envelope.boot
        assert hear(other, in_the_name_of(victim, boot)) is None
        assert hear(victim, in_the_name_of(victim, boot)) is None
        assert victim.envelope.boot == before, "others would not follow"
    assert drops(other) == {"leap": 2}
    assert hear(other, datagram(victim)) is not None


@pytest.mark.parametrize("boot", [OUTDO_MAX - 1, OUTDO_MAX, LEAP_MAX, 1 << 62, 0])
def test_nobody_brings_a_node_to_a_life_that_others_do_not_believe(boot: int) -> None:
    """A frame to the victim alone. One of the others knew it before, one when its clock had not been set."""
    who = member()
    victim, other, early = link(who), link(), link()
    assert hear(other, datagram(victim)) is not None
    assert hear(early, in_the_name_of(victim, 1 << 30)) is not None
    assert hear(victim, in_the_name_of(victim, boot or victim.envelope.boot + LEAP_MAX)) is None
    for life in (victim, link(who)):  # what it was brought to outlasts it
        for one in (other, early):
            assert hear(one, datagram(life)) is not None
            assert drops(one) == {}


def test_lives_are_not_used_up_by_somebody_else() -> None:
    victim, now_us = link(), 0
    for _ in range(10):
        hear(victim, in_the_name_of(victim, min(victim.envelope.boot + (1 << 51), OUTDO_MAX - 1)), now_us=now_us)
        hear(victim, in_the_name_of(victim, OUTDO_MAX), now_us=now_us + OUTDO_US - 1)
        now_us += OUTDO_US
    assert OUTDO_MAX < victim.envelope.boot < LEAP_MAX


def test_whoever_has_no_key_brings_a_node_to_no_life() -> None:
    """An insecure life shares its numbers with those that have keys."""
    victim = link(Membership.insecure(5))
    before = victim.envelope.boot
    plain = Header(FRAME, packet.NO_KEY, 5, before + (1 << 20), 0).packed()
    assert hear(victim, plain + FramePart(TAG, -1, 0, 0, 1, b"x").packed()) is None
    assert (drops(victim), victim.envelope.boot) == ({"own number": 1}, before)


def test_a_life_is_begun_for_that_once_a_minute() -> None:
    victim, lives = link(), []
    for now_us in (0, OUTDO_US - 1, OUTDO_US):
        hear(victim, in_the_name_of(victim, victim.envelope.boot + (1 << 20)), now_us=now_us)
        lives.append(victim.envelope.boot)
    assert lives[0] == lives[1] < lives[2]


def test_an_earlier_life_that_is_played_back_changes_nothing() -> None:
    who = member()
    recorded = datagram(link(who))
    one = link(who)
    boot = one.envelope.boot
    assert hear(one, recorded) is None
    assert (drops(one), one.envelope.boot) == ({"own number": 1}, boot)


def test_whoever_was_silenced_is_heard_again_under_a_key_that_the_impostor_does_not_have() -> None:
    victim, other = link(), link()
    assert hear(other, in_the_name_of(victim, (1 << 64) - 1)) is not None
    assert hear(other, datagram(victim)) is None
    both = RING.with_next()
    for one in (victim, other):
        one.use(both)
    assert hear(other, datagram(victim)) is None
    victim.use(both.promoted())
    under_new = datagram(victim)
    assert hear(other, under_new) is not None, "before the old key is gone"
    for one in (victim, other):
        one.use(both.promoted().retired())
    assert hear(other, datagram(victim)) is not None
    assert hear(other, under_new) is None
    assert hear(other, in_the_name_of(victim, (1 << 64) - 2)) is None
    assert drops(other) == {"stale": 2, "replayed": 1, "unknown key": 1}
    assert list(other.peers.known[victim.number].windows) == [both.keys[1].id]


def test_an_earlier_life_is_over_under_the_older_key_as_well() -> None:
    who, other = member(), link()
    earlier = [datagram(link(who), Ping(n)) for n in range(2)]
    both = RING.with_next()
    other.use(both)
    one = link(who)
    under_old = datagram(one)
    one.use(both.promoted())
    assert hear(other, earlier[0]) is not None
    assert hear(other, datagram(one)) is not None
    assert hear(other, earlier[1]) is None
    assert drops(other) == {"stale": 1}
    assert hear(other, under_old) is not None, "said in this life, before it changed keys"


def test_what_was_heard_under_a_key_that_went_while_a_node_was_away_is_forgotten() -> None:
    victim, before = link(), link()
    assert hear(before, in_the_name_of(victim, (1 << 64) - 1)) is not None
    heard = before.peers.export()
    for ring, refused in ((RING, "stale"), (RING.with_next().promoted().retired(), "")):
        after = link(member(ring))
        after.restore(heard)
        assert after.peers.refuse(Header(FRAME, RING.sending.id, victim.number, 5, 0)) == refused


def test_a_member_who_floods_is_slowed_down_and_nobody_else() -> None:
    flooder, one = link(), link()
    other = link(sender_frames_per_s=10, address_per_s=1e6, strangers_per_s=1e6)
    for n in range(500):
        hear(other, datagram(flooder, Ping(n)), HERE)
    assert drops(other) == {"sender rate": 480}
    assert hear(other, datagram(one), THERE) is not None
    assert hear(other, datagram(flooder), HERE, S) is not None


def test_a_member_with_many_identities_fills_no_more_than_the_table() -> None:
    other = link(senders=20, newcomers_per_s=1e6, strangers_per_s=1e6, address_per_s=1e6)
    one = link()
    assert hear(other, datagram(one), THERE) is not None
    for n in range(300):
        assert (hear(other, datagram(link()), HERE) is not None) == (n < 19)
    assert drops(other) == {"table full": 281}
    assert len(other.peers.known) == 20
    assert hear(other, datagram(one), THERE) is not None


def test_oversize_and_endless_fragments_fill_no_more_than_their_budget() -> None:
    other = link(sender_frames_per_s=1e6, sender_bytes_per_s=1e9, address_per_s=1e6, partial_bytes=200_000)
    for _ in range(10):
        one = link()
        for _ in range(400):
            hear(other, body(one, FramePart(TAG, -1, 0, 3, 255, bytes(1300)).packed()))
            assert other.reassembly.bytes <= 200_000
    honest, whole = link(), Ping(1, 0, bytes(5000))
    sent = datagrams(honest, whole)
    arrivals = [hear(other, data, THERE) for data in sent]
    assert arrivals[-1] is not None


def test_a_signature_flood_is_slowed_down_and_nobody_else() -> None:
    thief, honest = member(), member()
    one, two = link(thief), link(honest)
    other = link(sender_signatures_per_s=5, sender_frames_per_s=1e6, address_per_s=1e6)
    for n in range(50):
        hear(other, datagram(one, Parcel(Event(event_id(thief.number, n), payload=thief_seal(thief)))), HERE)
    assert drops(other) == {"bad signature": 10, "signature rate": 40}
    assert hear(other, datagram(two, parcel(honest)), THERE) is not None


def thief_seal(thief: Membership) -> bytes:
    assert thief.identity is not None
    return bytes(4) + thief.identity.public + bytes(64)


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
