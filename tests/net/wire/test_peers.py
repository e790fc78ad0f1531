"""What is remembered about peers, within limits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from roamcast.net.limits import Limits
from roamcast.net.refusal import Refused
from roamcast.net.wire.packet import FRAME, POSITION, Header
from roamcast.net.wire.peers import Peers

S = 1_000_000


HERE = ("192.0.2.1", 1)


def header(sender: int, counter: int = 0, boot: int = 7, kind: int = FRAME) -> Header:
    return Header(kind, 1, sender, boot, counter)


def accept(peers: Peers, sender: int, counter: int = 0, now_us: int = 0, boot: int = 7) -> str:
    """The reason why it was refused; empty if it was not."""
    head = header(sender, counter, boot)
    old = peers.refuse(head, head.packed())
    if old:
        return old
    try:
        peer, _ = peers.admit(head, HERE, now_us)
    except Refused as refused:
        return refused.reason
    peer.history.accept(boot, counter, head.packed())
    return ""


def peers(**limits: Any) -> Peers:
    return Peers(Limits(**limits))


def test_replays_are_refused_and_a_check_changes_nothing() -> None:
    some = peers()
    assert accept(some, 1, 5) == ""
    assert accept(some, 1, 5) == "replayed"
    assert some.refuse(header(1, 10_000), b"") == ""
    assert accept(some, 1, 4) == "", "a forged counter would not have moved the window"
    assert accept(some, 1, 6, boot=6) == "stale"
    assert accept(some, 1, 5, boot=8) == ""
    assert accept(some, 1, 6, boot=7) == "stale"


def test_a_full_table_keeps_active_peers() -> None:
    some = peers(senders=3, sender_idle_s=100)
    for number in (1, 2, 3):
        assert accept(some, number) == ""
    assert accept(some, 2, 1, 50 * S) == ""
    assert accept(some, 4, 0, 99 * S) == "table full"
    assert accept(some, 4, 0, 100 * S) == ""
    assert sorted(some.known) == [2, 3, 4], "1 was silent for longest"
    assert accept(some, 5, 0, 100 * S) == ""
    assert accept(some, 6, 0, 100 * S) == "table full"


def test_datagrams_of_removed_peers_cannot_be_replayed() -> None:
    some = peers(senders=1, sender_idle_s=1)
    assert accept(some, 1, 50) == ""
    assert accept(some, 2, 0, 10 * S) == ""
    assert [accept(some, 1, n, 20 * S) for n in (0, 49, 50)] == ["stale"] * 3
    assert accept(some, 1, 0, 20 * S, boot=6) == "stale"
    assert accept(some, 1, 51, 20 * S) == ""
    assert [accept(some, 1, n, 20 * S) for n in (0, 50, 51)] == ["stale", "stale", "replayed"]


def test_the_positions_of_removed_peers_are_limited() -> None:
    some = peers(senders=1, senders_forgotten=5, sender_idle_s=1e-6, newcomers_per_s=1e6)
    for number in range(100):
        assert accept(some, number, 0, number * S) == ""
    assert (len(some.known), len(some._removed)) == (1, 5)


def test_a_peer_that_comes_back_does_not_replace_stored_positions() -> None:
    some = peers(senders=1, senders_forgotten=2, sender_idle_s=1)
    for number in (1, 2, 3):
        assert accept(some, number, 50, 10 * number * S) == ""
    assert list(some._removed) == [1, 2]
    assert accept(some, 1, 51, 40 * S) == ""
    assert [accept(some, 1, n, 40 * S) for n in (50, 51)] == ["stale", "replayed"]
    assert list(some._removed) == [2, 3]
    assert accept(some, 2, 51, 40 * S) == "table full"
    assert some.refuse(header(2, 50), b"") == "stale", "the positions of a refused peer are kept"


def test_the_rate_of_new_peers_is_limited() -> None:
    some = peers(newcomers_per_s=5)
    came = [accept(some, number) for number in range(100)]
    assert came.count("") == 10
    assert set(came[10:]) == {"too many newcomers"}
    assert accept(some, 3, 1) == "", "known peers do not wait"
    assert accept(some, 200, 0, S) == ""


def test_a_sender_s_rate_and_bytes_are_bounded() -> None:
    some = peers(sender_frames_per_s=5, sender_bytes_per_s=1000)
    peer, _ = some.admit(header(1), HERE, 0)
    for _ in range(10):
        peer.charge(100, 0)
    with pytest.raises(Refused, match="sender rate"):
        peer.charge(100, 0)
    other, _ = some.admit(header(2), HERE, 0)
    other.charge(2000, 0)
    with pytest.raises(Refused, match="sender rate"):
        other.charge(1, 0)
    peer.charge(100, S)


def test_a_restart_does_not_open_the_window() -> None:
    before = peers()
    for number in (1, 2, 3):
        assert accept(before, number, 40 + number) == ""
    after = peers()
    after.restore(before.export())
    assert [accept(after, 1, n) for n in (0, 41, 42)] == ["stale", "stale", ""]
    assert accept(after, 2, 0, boot=6) == "stale"
    assert accept(after, 9, 0) == ""


def test_a_signed_position_survives_a_restart_and_no_frame_moves_it() -> None:
    before = peers()
    assert accept(before, 1, 5) == ""
    before.known[1].history.move(7, 6)
    assert accept(before, 1, 9) == ""
    assert accept(before, 1, 0, boot=1 << 60) == "", "a forged frame"
    after = peers()
    after.restore(before.export())
    assert [accept(after, 1, n) for n in (5, 9, 10)] == ["stale", "stale", ""]
    positions = [header(1, 6, kind=POSITION), header(1, 7, kind=POSITION), header(1, 0, 8, kind=POSITION)]
    assert [after.refuse(position, b"") for position in positions] == ["stale", "", ""]


def test_positions_of_an_earlier_version_of_the_wire_are_ignored() -> None:
    some = peers()
    some.restore(msgspec.msgpack.encode([(5, {1: (900, 3)})]))
    assert accept(some, 5, 0, boot=7) == ""


@pytest.mark.parametrize("rubbish", [b"", b"\xff", b"\x91\x01", b"\x91\x93\xa1x\x00\x00", bytes(50)])
def test_damaged_stored_positions_do_no_harm(rubbish: bytes) -> None:
    some = peers()
    some.restore(rubbish)
    assert accept(some, 1) == ""


def test_a_new_boot_of_a_sender_numbers_its_frames_from_the_start() -> None:
    some = peers()
    peer, _ = some.admit(header(1, 0), HERE, 0)
    peer.accepted = 5
    some.admit(header(1, 1), HERE, 0)
    assert peer.accepted == 5
    some.admit(header(1, 0, boot=8), HERE, 0)
    assert peer.accepted == -1
