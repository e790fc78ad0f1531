"""What is remembered about peers, within limits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from roamcast.net.limits import Limits
from roamcast.net.refusal import Refused
from roamcast.net.wire.packet import FRAME, Header
from roamcast.net.wire.peers import Peers

S = 1_000_000


HERE = ("192.0.2.1", 1)


def header(sender: int, counter: int = 0, boot: int = 7, key: int = 1) -> Header:
    return Header(FRAME, key, sender, boot, counter)


def accept(peers: Peers, sender: int, counter: int = 0, now_us: int = 0, boot: int = 7, key: int = 1) -> str:
    """The reason why it was refused; empty if it was not."""
    old = peers.refuse(header(sender, counter, boot, key))
    if old:
        return old
    try:
        peers.accept(header(sender, counter, boot, key), HERE, now_us)
    except Refused as refused:
        return refused.reason
    return ""


def peers(**limits: Any) -> Peers:
    return Peers(Limits(**limits))


def test_replays_are_refused_and_a_check_changes_nothing() -> None:
    some = peers()
    assert accept(some, 1, 5) == ""
    assert accept(some, 1, 5) == "replayed"
    assert some.refuse(header(1, 10_000)) == ""
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
    assert [accept(some, 1, n, 20 * S) for n in (0, 49, 50)] == ["replayed"] * 3
    assert accept(some, 1, 0, 20 * S, boot=6) == "stale"
    assert accept(some, 1, 51, 20 * S) == ""
    assert [accept(some, 1, n, 20 * S) for n in (0, 50, 51)] == ["replayed"] * 3


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
    assert [accept(some, 1, n, 40 * S) for n in (50, 51)] == ["replayed"] * 2
    assert list(some._removed) == [2, 3]
    assert accept(some, 2, 51, 40 * S) == "table full"
    assert some.refuse(header(2, 50)) == "replayed", "the positions of a refused peer are kept"


def test_the_rate_of_new_peers_is_limited() -> None:
    some = peers(newcomers_per_s=5)
    came = [accept(some, number) for number in range(100)]
    assert came.count("") == 10
    assert set(came[10:]) == {"too many newcomers"}
    assert accept(some, 3, 1) == "", "known peers do not wait"
    assert accept(some, 200, 0, S) == ""


def test_a_sender_s_rate_and_bytes_are_bounded() -> None:
    some = peers(sender_frames_per_s=5, sender_bytes_per_s=1000)
    peer, _ = some.accept(header(1), HERE, 0)
    for _ in range(10):
        peer.charge(100, 0)
    with pytest.raises(Refused, match="sender rate"):
        peer.charge(100, 0)
    other, _ = some.accept(header(2), HERE, 0)
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
    assert [accept(after, 1, n) for n in (0, 41, 42)] == ["replayed", "replayed", ""]
    assert accept(after, 2, 0, boot=6) == "stale"
    assert accept(after, 9, 0) == ""


def test_a_window_belongs_to_a_key_and_is_removed_with_it() -> None:
    some = peers(senders=2, sender_idle_s=1)
    for number in (1, 2):
        assert accept(some, number, 5, boot=900) == ""
        assert accept(some, number, 3, key=2) == "", "datagrams under another key moved another window"
        assert [accept(some, number, n, key=2) for n in (3, 4)] == ["replayed", ""]
    assert accept(some, 3, 0, 10 * S) == "", "in the place of 1"
    again = peers(senders=2, sender_idle_s=1)
    again.restore(some.export())
    for restored in (some, again):
        assert [accept(restored, n, 5, 10 * S, boot=900) for n in (1, 2)] == ["replayed", "replayed"]
        restored.keep([2])
        assert [restored.refuse(header(n, 5, boot=900)) for n in (1, 2)] == ["", ""]
        assert [restored.refuse(header(n, 4, key=2)) for n in (1, 2)] == ["replayed", "replayed"]
        restored.keep([7])
        assert not restored._removed, "nothing is kept of a sender that used none of the keys"


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_boot_below_one_under_a_newer_key_is_stale(forgotten: bool) -> None:
    some = peers(senders=1, sender_idle_s=1)
    some.keep([1, 2])
    assert accept(some, 1, 0, boot=7, key=1) == ""
    assert accept(some, 1, 0, boot=8, key=2) == ""
    if forgotten:
        assert accept(some, 9, 0, 10 * S) == ""
    assert some.refuse(header(1, 5, boot=7, key=1)) == "stale"
    assert some.refuse(header(1, 5, boot=8, key=1)) == ""
    some.keep([2, 1])
    assert some.refuse(header(1, 5, boot=7, key=1)) == "", "a boot under an older key does not affect a newer key"


def test_positions_of_an_earlier_version_count_under_every_key() -> None:
    some = peers()
    some.keep([1, 2])
    some.restore(msgspec.msgpack.encode([[5, 900, 3], [6, 7, 1]]))
    assert [some.refuse(header(5, 9, boot=7, key=key)) for key in (1, 2)] == ["stale"] * 2
    assert [some.refuse(header(6, n, key=2)) for n in (1, 2)] == ["replayed", ""]


@pytest.mark.parametrize("rubbish", [b"", b"\xff", b"\x91\x01", b"\x91\x93\xa1x\x00\x00", bytes(50)])
def test_damaged_stored_positions_do_no_harm(rubbish: bytes) -> None:
    some = peers()
    some.restore(rubbish)
    assert accept(some, 1) == ""


def test_a_new_boot_of_a_sender_numbers_its_frames_from_the_start() -> None:
    some = peers()
    peer, _ = some.accept(header(1, 0), HERE, 0)
    peer.accepted = 5
    some.accept(header(1, 1), HERE, 0)
    assert peer.accepted == 5
    some.accept(header(1, 0, boot=8), HERE, 0)
    assert peer.accepted == -1
