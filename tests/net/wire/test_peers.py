"""What is remembered about peers, and how much of it."""

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
    """Why it was refused; empty if it was not."""
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


def test_replays_are_refused_and_asking_changes_nothing() -> None:
    some = peers()
    assert accept(some, 1, 5) == ""
    assert accept(some, 1, 5) == "replayed"
    assert some.refuse(header(1, 10_000)) == ""
    assert accept(some, 1, 4) == "", "a forged counter would not have moved the window"
    assert accept(some, 1, 6, boot=6) == "stale"
    assert accept(some, 1, 5, boot=8) == ""
    assert accept(some, 1, 6, boot=7) == "stale"


def test_a_full_table_keeps_those_who_are_active() -> None:
    some = peers(senders=3, sender_idle_s=100)
    for number in (1, 2, 3):
        assert accept(some, number) == ""
    assert accept(some, 2, 1, 50 * S) == ""
    assert accept(some, 4, 0, 99 * S) == "table full"
    assert accept(some, 4, 0, 100 * S) == ""
    assert sorted(some.known) == [2, 3, 4], "1 was silent for longest"
    assert accept(some, 5, 0, 100 * S) == ""
    assert accept(some, 6, 0, 100 * S) == "table full"


def test_of_those_forgotten_nothing_can_be_replayed() -> None:
    some = peers(senders=1, sender_idle_s=1)
    assert accept(some, 1, 50) == ""
    assert accept(some, 2, 0, 10 * S) == ""
    assert [accept(some, 1, n, 20 * S) for n in (0, 49, 50)] == ["replayed"] * 3
    assert accept(some, 1, 0, 20 * S, boot=6) == "stale"
    assert accept(some, 1, 51, 20 * S) == ""
    assert [accept(some, 1, n, 20 * S) for n in (0, 50, 51)] == ["replayed"] * 3


def test_what_is_kept_of_those_forgotten_is_bounded() -> None:
    some = peers(senders=1, senders_forgotten=5, sender_idle_s=1e-6, newcomers_per_s=1e6)
    for number in range(100):
        assert accept(some, number, 0, number * S) == ""
    assert (len(some.known), len(some._removed)) == (1, 5)


def test_whoever_comes_back_does_not_push_out_its_own_past_nor_another_s() -> None:
    some = peers(senders=1, senders_forgotten=2, sender_idle_s=1)
    for number in (1, 2, 3):
        assert accept(some, number, 50, 10 * number * S) == ""
    assert list(some._removed) == [1, 2]
    assert accept(some, 1, 51, 40 * S) == ""
    assert [accept(some, 1, n, 40 * S) for n in (50, 51)] == ["replayed"] * 2
    assert list(some._removed) == [2, 3]
    assert accept(some, 2, 51, 40 * S) == "table full"
    assert some.refuse(header(2, 50)) == "replayed", "who is not let in is not forgotten"


def test_newcomers_come_in_one_after_the_other() -> None:
    some = peers(newcomers_per_s=5)
    came = [accept(some, number) for number in range(100)]
    assert came.count("") == 10
    assert set(came[10:]) == {"too many newcomers"}
    assert accept(some, 3, 1) == "", "those known are not kept waiting"
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


def test_a_window_belongs_to_a_key_and_goes_with_it() -> None:
    some = peers(senders=2, sender_idle_s=1)
    for number in (1, 2):
        assert accept(some, number, 5, boot=900) == ""
        assert accept(some, number, 3, key=2) == "", "what was said under another key moved another window"
        assert [accept(some, number, n, key=2) for n in (3, 4)] == ["replayed", ""]
    assert accept(some, 3, 0, 10 * S) == "", "in the place of 1"
    again = peers(senders=2, sender_idle_s=1)
    again.restore(some.export())
    for kept in (some, again):
        assert [accept(kept, n, 5, 10 * S, boot=900) for n in (1, 2)] == ["replayed", "replayed"]
        kept.keep([2])
        assert [kept.refuse(header(n, 5, boot=900)) for n in (1, 2)] == ["", ""]
        assert [kept.refuse(header(n, 4, key=2)) for n in (1, 2)] == ["replayed", "replayed"]
        kept.keep([7])
        assert not kept._removed, "nothing is kept of a sender who spoke under none of the keys"


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_life_below_one_under_a_newer_key_is_over(forgotten: bool) -> None:
    some = peers(senders=1, sender_idle_s=1)
    some.keep([1, 2])
    assert accept(some, 1, 0, boot=7, key=1) == ""
    assert accept(some, 1, 0, boot=8, key=2) == ""
    if forgotten:
        assert accept(some, 9, 0, 10 * S) == ""
    assert some.refuse(header(1, 5, boot=7, key=1)) == "stale"
    assert some.refuse(header(1, 5, boot=8, key=1)) == ""
    some.keep([2, 1])
    assert some.refuse(header(1, 5, boot=7, key=1)) == "", "an older key says nothing about a newer one"


def test_what_an_earlier_version_kept_holds_for_every_key() -> None:
    some = peers()
    some.keep([1, 2])
    some.restore(msgspec.msgpack.encode([[5, 900, 3], [6, 7, 1]]))
    assert [some.refuse(header(5, 9, boot=7, key=key)) for key in (1, 2)] == ["stale"] * 2
    assert [some.refuse(header(6, n, key=2)) for n in (1, 2)] == ["replayed", ""]


@pytest.mark.parametrize("rubbish", [b"", b"\xff", b"\x91\x01", b"\x91\x93\xa1x\x00\x00", bytes(50)])
def test_a_vault_with_rubbish_in_it_does_no_harm(rubbish: bytes) -> None:
    some = peers()
    some.restore(rubbish)
    assert accept(some, 1) == ""


def test_a_new_life_of_a_sender_has_new_numbers_for_its_frames() -> None:
    some = peers()
    peer, _ = some.accept(header(1, 0), HERE, 0)
    peer.accepted = 5
    some.accept(header(1, 1), HERE, 0)
    assert peer.accepted == 5
    some.accept(header(1, 0, boot=8), HERE, 0)
    assert peer.accepted == -1
