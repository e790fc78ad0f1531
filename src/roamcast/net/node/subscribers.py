"""The subscriptions that applications hold now. All of them learn what happened to received events."""

from __future__ import annotations

import weakref

from roamcast.errors import RoamcastError
from roamcast.net.node.subscription import Subscription


class Subscribers:
    """The writer's `WriteObserver`. A subscription that the application has dropped is not here any more."""

    def __init__(self) -> None:
        self._subscriptions: weakref.WeakSet[Subscription] = weakref.WeakSet()

    def add(self, subscription: Subscription) -> None:
        self._subscriptions.add(subscription)

    def written(self) -> None:
        for subscription in list(self._subscriptions):
            subscription.wake()

    def write_failed(self, error: RoamcastError) -> None:
        for subscription in list(self._subscriptions):
            subscription.fail(error)
