"""Events that this node published, until they expire."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.errors import StoreError
from roamcast.net.keep.database import Bounds
from roamcast.net.keep.store import Store
from roamcast.net.trust.membership import Membership
from roamcast.pubsub.event import FOREVER
from tests.conformance.real import RING
from tests.net.keep.stores import Clock, event
from tests.net.members import publication


def test_own_events_come_back_with_the_rest_of_their_validity(tmp_path: Path) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.own.add([event(2, 10_000_000), event(1), event(3, 5_000_000)])
    clock.s += 6
    with clock.store(tmp_path) as store:
        assert [(e.id & 15, left) for e, _, left in store.own.valid()] == [(1, FOREVER), (2, 4_000_000)]
    clock.s += 4
    with clock.store(tmp_path) as store:
        assert [e.id & 15 for e, _, _ in store.own.valid()] == [1]


def test_the_oldest_own_events_are_removed() -> None:
    store = Store(None, Bounds(publications=3))
    for n in range(1, 6):
        store.own.add([event(n)])
    assert [e.id & 15 for e, _, _ in store.own.valid()] == [3, 4, 5]
    assert store.own.lost == 2


def test_expired_own_events_make_room_first_and_are_not_lost() -> None:
    clock = Clock()
    with clock.store(None, Bounds(publications=3)) as store:
        store.own.add([event(1), event(2, 5_000_000), event(3)])
        clock.s += 6
        store.own.add([event(4)])
        assert [e.id & 15 for e, _, _ in store.own.valid()] == [1, 3, 4]
        assert store.own.lost == 0


def test_one_own_event_can_be_read_until_it_expires() -> None:
    clock = Clock()
    with clock.store(None) as store:
        store.own.add([event(1, 5_000_000)], b"group")
        clock.s += 2
        own = store.own.get(event(1).id)
        assert own is not None
        assert (own.event, own.group, own.left_us) == (event(1, 5_000_000), b"group", 3_000_000)
        clock.s += 3
        assert store.own.get(event(1).id) is None


def test_what_is_stored_is_counted_again_after_a_transaction_that_was_undone() -> None:
    store = Store(None, Bounds(publications=2))
    with pytest.raises(StoreError), store.together():
        store.own.add([event(1), event(2)])
        raise StoreError("the disk is full")
    store.own.add([event(3), event(4)])
    assert [e.id & 15 for e, _, _ in store.own.valid()] == [3, 4]
    assert store.own.lost == 0


def test_events_come_back_as_they_were_sealed_with_their_group(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        sealed = publication(Membership.secure(store.values, RING), 1, payload=b"x")
        store.own.add([sealed], RING.group)
        store.own.add([event(2)])
    with Store(tmp_path) as store:
        both = {own.event.id: (own.event, own.group) for own in store.own.valid()}
    assert both == {sealed.id: (sealed, RING.group), event(2).id: (event(2), b"")}
