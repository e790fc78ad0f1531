"""Groups changes of the store into commits, and waits for the disk in a thread.

The statements of a group run on the loop: they take some microseconds each, and to hand each of them to a thread would
take longer. The commit waits for the disk, so it runs in the thread. Data that arrive meanwhile share the next commit:
the busier a node is, the more changes share one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, Protocol

from roamcast.errors import NodeClosed, RoamcastError, StoreError
from roamcast.net.keep.received import Received
from roamcast.net.keep.store import Store
from roamcast.net.refusal import APPLICATION, Tally
from roamcast.pubsub.event import Event

log: Final = logging.getLogger("roamcast.net")

PAGE: Final = 64
"""How many events a subscription reads from the store at once."""
WAITING_MAX: Final = 10_000
"""How many received events, and how many carried frames, may wait for the disk."""
GROUP_MAX: Final = 256
"""How many received events, carried frames and other changes share a commit at most, each: the loop does nothing else
meanwhile."""

Job = Callable[[], None]


class WriteObserver(Protocol):
    """Is informed, on the loop, about received events."""

    def written(self, new: list[Received]) -> None:
        """There may be something new in the store. `new`: received events that are on disk since just now."""

    def write_failed(self, error: RoamcastError) -> None:
        """Received events could not be stored, and are lost."""


class Writer:
    def __init__(self, store: Store, tally: Tally, observer: WriteObserver) -> None:
        self._store = store
        self._tally = tally
        self._observer = observer
        self._thread = ThreadPoolExecutor(1, "roamcast-store")
        self._work = asyncio.Event()
        self._open = True
        self._events: list[Event] = []
        self._frames: list[Job] = []
        self._jobs: list[tuple[Job, asyncio.Future[None]]] = []
        self._cursors: dict[str, int] = {}
        self.end = store.received.end()  # the last position of all received events that are on disk
        self._task = asyncio.create_task(self._run())
        self.duplicates = 0  # received events that the application has had already

    def add_event(self, event: Event) -> None:
        """Store a received event soon."""
        if len(self._events) >= WAITING_MAX:
            self._tally.drop(APPLICATION)
            return
        self._events.append(event)
        self._work.set()

    def add_frame(self, job: Job) -> None:
        """Store a carried frame soon. If too many wait, it is not stored: for these frames there is no promise."""
        if len(self._frames) < WAITING_MAX:
            self._frames.append(job)
            self._work.set()

    def move_later(self, name: str, cursor: int) -> None:
        """Store the cursor of a subscription soon."""
        self._cursors[name] = cursor
        self._work.set()

    async def write(self, job: Job) -> None:
        """Returns when the job's changes are on disk."""
        self.check_open()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._jobs.append((job, done))
        self._work.set()
        await done

    async def read(self, position: int) -> tuple[int, list[Received]]:
        """The last position of all received events that are on disk, and the next page after this position.

        The store's connection also shows events whose commit has yet to come. If it fails, others get their positions.
        """
        self.check_open()
        received = self._store.received

        def page() -> tuple[int, list[Received]]:
            end = self.end
            return end, [one for one in received.after(position, PAGE) if one.position <= end]

        return await asyncio.get_running_loop().run_in_executor(self._thread, page)

    async def close(self) -> None:
        """Write what waits, and end the thread."""
        self._open = False
        self._work.set()
        await self._task
        self._thread.shutdown()

    def check_open(self) -> None:
        if not self._open:
            raise NodeClosed("the node is not running")

    async def _run(self) -> None:
        while self._open or self._waiting():
            await self._work.wait()
            if not self._waiting():
                self._work.clear()
                continue
            events, self._events = self._events[:GROUP_MAX], self._events[GROUP_MAX:]
            frames, self._frames = self._frames[:GROUP_MAX], self._frames[GROUP_MAX:]
            jobs, self._jobs = self._jobs[:GROUP_MAX], self._jobs[GROUP_MAX:]
            cursors, self._cursors = self._cursors, {}
            await self._write(events, [*frames, *self._moves(cursors)], jobs)

    def _waiting(self) -> bool:
        return bool(self._events or self._frames or self._jobs or self._cursors)

    def _moves(self, cursors: dict[str, int]) -> list[Job]:
        return [partial(self._store.subscriptions.move, name, cursor) for name, cursor in cursors.items()]

    async def _write(
        self, events: list[Event], others: list[Job], jobs: list[tuple[Job, asyncio.Future[None]]]
    ) -> None:
        """`others`: changes that nobody waits for."""
        failure: RoamcastError | None = None
        new: list[Received] = []
        try:
            new = self._prepare(events, [*(job for job, _ in jobs), *others])
            await asyncio.get_running_loop().run_in_executor(self._thread, self._store.commit)
            self.end = self._store.received.end()
        except Exception as error:  # also one in the program: whoever waits must not wait for ever
            failure, new = _as_failure(error), []
            if events:
                self._observer.write_failed(failure)
        for _, done in jobs:
            if not done.done():
                _finish(done, failure)
        self._observer.written(new)

    def _prepare(self, events: list[Event], jobs: list[Job]) -> list[Received]:
        """Everything except the commit. Returns the received events that are new."""
        received = self._store.received
        lost = received.lost
        with self._store.together():
            new = received.add(events) if events else []
            for job in jobs:
                job()
        self.duplicates += len(events) - len(new)
        for _ in range(received.lost - lost):
            self._tally.drop(APPLICATION)
        return new


def _as_failure(error: Exception) -> RoamcastError:
    if isinstance(error, RoamcastError):
        log.error("%s", error)
        return error
    log.exception("a change of the store failed")
    return StoreError(f"the node's store failed: {error!r}")


def _finish(done: asyncio.Future[None], failure: RoamcastError | None) -> None:
    if failure is None:
        done.set_result(None)
    else:
        done.set_exception(failure)
