"""A subscription: an application iterates over it to get its events."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import Callable
from typing import Self

from roamcast.errors import NodeClosed, RoamcastError
from roamcast.net.keep.received import Received
from roamcast.net.keep.store import Store
from roamcast.net.node.writer import Writer
from roamcast.pubsub.event import Event
from roamcast.pubsub.filters import Filter


class Subscription:
    """An asynchronous iterator over events. `position` is that of the last event it gave, and `lost` counts events that
    were removed from the store before it reached them.

    Usually a subscription with a name has got an event as soon as it was handed over. With `acknowledge`, only as soon
    as the application calls `done`: what is not done then comes again after a restart.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        filter: Filter,
        name: str,
        position: int,
        on_close: Callable[[], None] | None,
        cursor_each: int = 1,
        acknowledge: bool = False,
    ) -> None:
        """`on_close` is called when this is closed, or when the application has dropped it. If the subscription has a
        name, every `cursor_each`th event is handed over when its cursor is on disk; that of others is stored soon."""
        self.filter = filter
        self.name = name
        self.position = position
        self.lost = 0
        self._store = store
        self._writer = writer
        self._read = position  # up to here, all events were handed over or did not match
        self._moved = position  # the cursor in the store
        self._cursor_each = cursor_each
        self._unwaited = 0  # cursors since the last one that was on disk before its event was handed over
        self._waiting = False  # whether the application waits for an event
        self._page: deque[Received] = deque()
        self._acknowledge = acknowledge
        self._undone: deque[int] = deque()  # positions that were handed over and are not done
        self._wake = asyncio.Event()
        self._open = True
        self._failure: RoamcastError | None = None
        self._leave = None if on_close is None else weakref.finalize(self, on_close)
        if self._leave is not None:
            self._leave.atexit = False

    def close(self) -> None:
        """End the iteration. A subscription with a name goes on without this object."""
        self._open = False
        if self._leave is not None:
            self._leave()
        self._wake.set()

    def wake(self) -> None:
        """There may be something new in the store, or the node has stopped."""
        self._wake.set()

    def feed(self, new: list[Received]) -> None:
        """These events were stored just now. An application that waits for them gets them without reading the store."""
        if self._waiting and new and new[0].position == self._read + 1:
            self._page.extend(new)
        self._waiting = False
        self._wake.set()

    def fail(self, error: RoamcastError) -> None:
        """Received events were lost because of this error; it is raised once, then the iteration goes on."""
        self._failure = error

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        try:
            return await self._next()
        except NodeClosed:
            raise StopAsyncIteration from None

    async def _next(self) -> Event:
        while self._open:
            if self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
            self._wake.clear()  # before reading: an event that comes meanwhile sets it again
            more = bool(self._page) or await self._read_page()
            while self._page and not self.filter.matches(self._page[0].event):
                self._drop_first()
            if self._page:
                return await self._hand_over()
            if not more:
                await self._move_on()
                await self._wait()
        raise NodeClosed("the subscription is closed")

    async def _wait(self) -> None:
        self._waiting = not self._wake.is_set()
        try:
            await self._wake.wait()
        finally:
            self._waiting = False

    async def _read_page(self) -> bool:
        """Read the next page, if there is one. A gap in the positions means that events were removed."""
        self._writer.check_open()
        if self._read >= self._writer.end:
            return False
        end, page = await self._writer.read(self._read)
        last = page[-1].position if page else end
        self.lost += last - self._read - len(page)
        self._page.extend(page)
        if not page:
            self._read = end
        return bool(page)

    async def _hand_over(self) -> Event:
        """The event leaves the page only after the last `await`: a cancelled caller gets it the next time."""
        received = self._page[0]
        if self._acknowledge:
            self._undone.append(received.position)
        else:
            await self._move(received.position)
        self._drop_first()
        self.position = received.position
        return received.event

    async def done(self, position: int) -> None:
        """The application is done with all events up to this position."""
        while self._undone and self._undone[0] <= position:
            self._undone.popleft()
        await self._move_on()

    async def _move_on(self) -> None:
        """Move the cursor as far as everything was handed over and is done, or did not match."""
        await self._move(self._undone[0] - 1 if self._undone else self._read)

    async def _move(self, position: int) -> None:
        """Everything up to this position was handed over or did not match."""
        if not self.name or position <= self._moved:
            return
        self._unwaited += 1
        if self._unwaited >= self._cursor_each:
            subscriptions, name = self._store.subscriptions, self.name
            await self._writer.write(lambda: subscriptions.move(name, position))
            self._unwaited = 0
        else:
            self._writer.move_later(self.name, position)
        self._moved = position

    def _drop_first(self) -> None:
        self._read = self._page.popleft().position
