"""Subscriptions that outlive their application."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.net.keep.database import Bounds
from roamcast.net.keep.store import Store
from tests.net.keep.stores import event


def test_a_named_subscription_begins_now_and_goes_on_where_it_was(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.received.add([event(1)])
        assert store.subscriptions.set("alarm", "n > 0").cursor == 1
        store.received.add([event(2), event(3)])
        store.subscriptions.move("alarm", 2)
        store.subscriptions.move("alarm", 1)  # never back
    with Store(tmp_path) as store:
        assert store.subscriptions.set("alarm", "n > 0").cursor == 2
        assert store.subscriptions.set("alarm", "n > 1") == ("alarm", "n > 1", 2)
        assert store.subscriptions.all() == [("alarm", "n > 1", 2)]
        store.subscriptions.remove("alarm")
        assert store.subscriptions.all() == []


def test_named_subscriptions_are_bounded() -> None:
    store = Store(None, Bounds(subscriptions=1))
    store.subscriptions.set("one", "n > 0")
    with pytest.raises(InputError, match="forget one"):
        store.subscriptions.set("two", "n > 0")
    store.subscriptions.set("one", "n > 1")
