"""Events for the application: once each, in order, within bounds."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import StoreError
from roamcast.net.keep.database import Bounds
from roamcast.net.keep.received import Received
from roamcast.net.keep.store import Store
from tests.net.keep.stores import Clock, event, ids


def test_nothing_is_received_twice(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        assert ids(store.received.add([event(1), event(2), event(1)])) == [1, 2]
        assert store.received.add([event(2)]) == []
    with Store(tmp_path) as store:
        assert ids(store.received.add([event(1), event(3)])) == [3]
        assert [(r.position, r.event) for r in store.received.after(0, 10)] == [(n, event(n)) for n in (1, 2, 3)]
        assert ids(store.received.after(1, 1)) == [2]


def test_no_position_is_used_twice(tmp_path: Path) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.received.add([event(1, 1_000_000)])
        clock.s += 2
        store.received.add([event(2, 1_000_000)])
        clock.s += 2
        assert store.received.after(0, 10) == []
    with clock.store(tmp_path) as store:
        assert store.received.end() == 2
        assert [r.position for r in store.received.add([event(3)])] == [3]


def test_removed_events_stay_known_and_count_as_lost_if_they_were_not_handed_over() -> None:
    store = Store(None, Bounds(received=3, known=100))
    store.subscriptions.set("slow", "topic news")
    store.received.add([event(1)])
    store.subscriptions.move("slow", 1)
    store.received.add([event(n) for n in range(2, 8)])
    assert ids(store.received.after(0, 10)) == [5, 6, 7]
    assert store.received.lost == 3  # 2, 3 and 4: event 1 had been handed over
    assert store.received.add([event(2)]) == []


def test_bytes_are_bounded_too() -> None:
    store = Store(None, Bounds(received_bytes=5000))
    for n in range(1, 30):
        store.received.add([event(n, payload=bytes(500))])
        assert store.counts().received_bytes <= 5000
    assert ids(store.received.after(0, 100))[-1] == 29
    stored_bytes = sum(len(r.event.payload) for r in store.received.after(0, 100))
    assert 3000 < stored_bytes <= store.counts().received_bytes


def test_ids_are_remembered_up_to_their_bound() -> None:
    store = Store(None, Bounds(known=10))
    for n in range(1, 31):
        store.received.add([event(n)])
    assert store.counts().known == 10
    assert store.received.add([event(21)]) == []
    assert ids(store.received.add([event(20)])) == [20]


def test_unchecked_events_are_removed_when_events_are_checked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Store(tmp_path) as store:
        store.received.begin(authenticated=True)
        store.subscriptions.set("x", "n > 0")
        store.received.add([event(1), event(2)])
    for n in (3, 4):
        with Store(tmp_path) as store:
            store.received.begin(authenticated=False)
            store.received.add([event(n)])
            assert ids(store.received.after(0, 9)) == list(range(1, n + 1))
            held = store.counts().received_bytes
    assert not caplog.records
    for n in (3, 5):
        with Store(tmp_path) as store:
            store.received.begin(authenticated=True)
            assert store.counts().received_bytes == held // 2
            assert store.received.add([event(1)]) == [], "a checked event is still known"
            assert ids(store.received.add([event(n)])) == [n], "an unchecked event does not keep a genuine one out"
            held += held // 2
    assert [r.position for r in store_of(tmp_path)] == [1, 2, 5, 6]
    assert [record.message for record in caplog.records] == [
        "2 stored events are removed: this node was insecure when it received them"
    ]


@pytest.mark.parametrize("bounds", [Bounds(received=3, known=3), Bounds(received_bytes=90, known=3)])
def test_unchecked_events_do_not_replace_checked_ones(bounds: Bounds) -> None:
    store = Store(None, bounds)
    store.subscriptions.set("x", "n > 0")
    store.received.begin(authenticated=True)
    store.received.add([event(n) for n in (1, 2, 3)])
    before = store.counts()
    assert ids(store.received.after(0, 99)) == [1, 2, 3]
    store.received.begin(authenticated=False)
    for n in range(4, 20):
        assert ids(store.received.add([event(n)])) == [n]
        assert store.received.add([event(n), event(1)]) == []
    assert (ids(store.received.after(0, 99)), store.counts().lost) == ([1, 2, 3, 17, 18, 19], 13)
    assert (store.counts().known, store.counts().received_bytes) == (6, 2 * before.received_bytes)
    store.received.begin(authenticated=True)
    assert msgspec.structs.replace(store.counts(), lost=0) == before
    assert store.received.add([event(n) for n in (1, 2, 3)]) == []


def store_of(folder: Path) -> list[Received]:
    with Store(folder) as store:
        return store.received.after(0, 99)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(1, 20), max_size=5), max_size=12))
def test_received_events_are_the_first_copies_in_order(batches: list[list[int]]) -> None:
    store = Store(None)
    for batch in batches:
        store.received.add([event(n) for n in batch])
    assert ids(store.received.after(0, 1000)) == list(dict.fromkeys(n for batch in batches for n in batch))


def test_a_page_does_not_lack_events_whose_removal_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path, Bounds(received=2)) as store:
        store.received.add([event(1), event(2)])
        with store.together():
            store.received.add([event(3)])
        control = store.db._control

        def fail(statement: str) -> None:
            if statement == "commit":
                store.db._roll_back()
                raise StoreError("the disk is full")
            control(statement)

        monkeypatch.setattr(store.db, "_control", fail)
        assert ids(store.received.after(0, 10)) == [1, 2]
        with pytest.raises(StoreError):
            store.commit()
