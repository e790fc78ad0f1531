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
from roamcast.net.trust.membership import Membership
from roamcast.net.trust.seals import sealed
from roamcast.net.wire import packet
from roamcast.net.wire.codec import FrameCodec, protocol_tag
from roamcast.net.wire.packet import ACK, FRAME, FramePart, Header
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
