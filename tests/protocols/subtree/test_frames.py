"""The frames of the subscription tree."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import Malformed
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import NOBODY, Frame
from roamcast.protocols.kit.tree import REMEMBERED, TICK
from roamcast.protocols.kit.wire import decode, encode
from roamcast.protocols.subtree.frames import PER_FRAME, Heartbeat, Subscribe
from roamcast.protocols.subtree.protocol import SYNC, SYNC_US, SubTree
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import EVERYTHING, topic
from roamcast.testing import ScriptHost, make
from tests.protocols.subtree.nodes import ME, MODES, ROOT, TREE, child, frames, hung
from tests.protocols.subtree.test_filter_table import keys, to_advertise
from tests.support.storm import VALUES, check_encoding


@given(frames)
def test_frames_state_their_size_and_are_decoded_unchanged(frame: Frame) -> None:
    check_encoding(SubTree, frame)


@pytest.mark.parametrize("n", [0, 15, 16])
@pytest.mark.parametrize("gone", [0, 15, 16, 256])
def test_sizes_are_right_for_lists_of_every_length(n: int, gone: int) -> None:
    check_encoding(SubTree, Subscribe(1, 2, [(300 * k, topic(f"t{k}")) for k in range(n)], [70_000] * gone))


@given(st.binary(max_size=80))
def test_hostile_bytes_are_malformed_and_nothing_else(data: bytes) -> None:
    with pytest.raises(Malformed):
        decode(SubTree, b"\xc1" + data)
    try:
        frame = decode(SubTree, data)
    except Malformed:
        return
    check_encoding(SubTree, frame)


@given(st.integers(-1, 4), st.lists(VALUES, max_size=6))
def test_hostile_fields_are_malformed_and_nothing_else(tag: int, fields: list[object]) -> None:
    try:
        decode(SubTree, msgspec.msgpack.encode([tag, *fields]))
    except Malformed:
        return


@pytest.mark.parametrize(
    "fields",
    [
        [0, 0, 0, 0, -2, []],
        [0, 0, 0, 0, -1, [1]],
        [0, 0, 0, 256, -1, []],
        [1, 0],
        [2, 0, 0, [], []],
        [2, 0, 1, [[0]], []],
        [2, 0, 1, [[0, [99]]], []],
        [2, 0, 1, [[0, [0]]] * (PER_FRAME + 1), []],
        [2, 0, 1, [], [-1]],
        [4],
    ],
)
def test_fields_out_of_range_are_malformed(fields: list[object]) -> None:
    with pytest.raises(Malformed):
        decode(SubTree, msgspec.msgpack.encode(fields))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(frames, st.integers(0, 5), st.sampled_from([0, 50, 700, 3000])), max_size=12), MODES)
def test_no_sequence_of_frames_raises_or_grows_without_bound(script: list[tuple[Frame, int, int]], mode: str) -> None:
    protocol, host = make(SubTree, ScriptHost(3), mode=mode)
    protocol.on_start()
    protocol.on_subscribe(1, topic("a"))
    for frame, sender, ms in script:
        host.hear(protocol, decode(SubTree, encode(SubTree, frame)), sender + 4)
        host.advance(protocol, host.clock_us + ms * 1000)
        for to, sent in host.sent[-3:]:
            if to >= 0:
                protocol.on_undelivered(sent, to)
        assert set(host.timers) <= {TICK, SYNC} and TICK in host.timers
        assert len(protocol.place.labels) <= REMEMBERED


def test_a_copy_that_the_host_hands_up_is_neither_delivered_nor_forwarded() -> None:
    """A restarted host has forgotten which ids are muted."""
    protocol, host = hung()
    protocol.on_subscribe(1, topic("a"))
    for sender in (20, 20, 21):
        protocol.on_frame(EventFrame(Event(event_id(1, 1), "a"), 0, 0), sender)
    assert len(host.delivered) == 1 and len(host.frames("event")) == 1


def test_a_publisher_that_forgot_its_own_event_forwards_it_but_does_not_deliver_it() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, topic("a"))
    host.hear(protocol, EventFrame(Event(event_id(ME, 1), "a"), 0, 0), 20)
    assert host.delivered == [] and len(host.frames("event")) == 1


def test_hops_are_not_counted_on_a_tree() -> None:
    protocol, host = hung()
    host.hear(protocol, EventFrame(Event(event_id(1, 1), "a"), 5, 700), 20)
    assert [(frame.ttl, frame.age_us) for frame in host.frames("event")] == [(0, 700)]


def test_a_restarted_node_has_no_neighbours_and_no_parent() -> None:
    protocol, host = hung()
    child(protocol, host, 20, topic("a"))
    protocol.on_subscribe(1, topic("b"))
    host.timers.clear()
    protocol.on_start()
    assert protocol.neighbours == {} and protocol.links.by_peer == {} and protocol.place.is_root()
    assert keys(to_advertise(protocol.links.filters, 5)) == ["topic b"]
    host.hear(protocol, Heartbeat(TREE, 2, 0, NOBODY, []), ROOT)
    host.advance(protocol, host.clock_us + SYNC_US)
    assert [frame.fields()[:2] for frame in host.frames("subscribe")][-1] == [0, 1], "advertised from scratch, and soon"


def test_an_event_with_id_0_is_ignored() -> None:
    protocol, host = hung()
    protocol.on_subscribe(1, EVERYTHING)
    host.hear(protocol, EventFrame(Event(0), 0, 0), 20)
    assert host.delivered == [] and host.muted == {}, "it would mute every heartbeat"
