"""Muted ids are counted, within a bound."""

from __future__ import annotations

from roamcast.net.host.muted import MutedIds


def test_frames_are_counted_from_mute_to_unmute() -> None:
    muted = MutedIds(10)
    assert not muted.count(7)
    muted.mute(7)
    muted.mute(7)
    assert muted.heard(7) == 0
    assert muted.count(7) and muted.count(7)
    muted.mute(7)
    assert muted.heard(7) == 2
    muted.unmute(7)
    muted.unmute(7)
    assert (muted.count(7), muted.heard(7), len(muted)) == (False, 0, 0)


def test_0_is_never_muted() -> None:
    muted = MutedIds(10)
    muted.mute(0)
    assert not muted.count(0)


def test_the_id_that_was_silent_for_longest_makes_room() -> None:
    muted = MutedIds(2)
    muted.mute(1)
    muted.mute(2)
    muted.count(1)
    muted.mute(3)
    assert [id in muted for id in (1, 2, 3)] == [True, False, True]
    muted.clear()
    assert len(muted) == 0
