"""Frames with events of other nodes, until these expire."""

from __future__ import annotations

from pathlib import Path

from roamcast.net.keep.database import Bounds
from roamcast.net.keep.store import Store
from roamcast.pubsub.event import FOREVER
from tests.net.keep.stores import HERE, Clock


def test_frames_are_stored_as_long_as_their_events_may_be_valid(tmp_path: Path) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.carried.add("Gossip", HERE, 7, b"short", 10_000_000)
        store.carried.add("Gossip", HERE, 8, b"long", FOREVER)
        store.carried.add("Gossip", "elsewhere", 8, b"another group's", FOREVER)
        store.carried.add("Frugal", HERE, 9, b"another's", FOREVER)
    clock.s += 4
    with clock.store(tmp_path) as store:
        assert store.carried.valid("Gossip", HERE) == [(4_000_000, 7, b"short"), (4_000_000, 8, b"long")]
        clock.s += 6
        assert store.carried.valid("Gossip", HERE) == [(10_000_000, 8, b"long")]
        store.carried.add("Gossip", HERE, 7, b"new", FOREVER)
        assert store.counts().held == 4


def test_the_oldest_frames_are_removed() -> None:
    store = Store(None, Bounds(held=3, held_bytes=10))
    for n in range(5):
        store.carried.add("Gossip", HERE, n, bytes(2), FOREVER)
    assert [held.sender for held in store.carried.valid("Gossip", HERE)] == [2, 3, 4]
    store.carried.add("Gossip", HERE, 5, bytes(7), FOREVER)
    assert [held.sender for held in store.carried.valid("Gossip", HERE)] == [4, 5]
    store.carried.add("Gossip", HERE, 6, bytes(11), FOREVER)  # a frame that does not fit alone is not kept
    assert store.carried.valid("Gossip", HERE) == []
