"""The subscriptions that applications hold now. Each of them is informed about received events."""

from __future__ import annotations

import weakref

from roamcast.errors import RoamcastError
from roamcast.net.keep.received import Received
from roamcast.net.node.subscription import Subscription


class Subscribers:
    """The writer's `WriteObserver`. Subscriptions that the application has dropped are removed."""

    def __init__(self) -> None:
        self._subscriptions: weakref.WeakSet[Subscription] = weakref.WeakSet()

    def add(self, subscription: Subscription) -> None:
        self._subscriptions.add(subscription)

    def written(self, new: list[Received]) -> None:
        for subscription in list(self._subscriptions):
            subscription.feed(new)

    def node_stopped(self) -> None:
        for subscription in list(self._subscriptions):
            subscription.wake()

    def write_failed(self, error: RoamcastError) -> None:
        for subscription in list(self._subscriptions):
            subscription.fail(error)
