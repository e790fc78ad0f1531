"""The thread that writes to the store.

Everything except writing is done on the loop. Data that arrive while the thread writes share its next commit, so that a
busy node makes few commits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

from roamcast.errors import NodeClosed, RoamcastError
from roamcast.net.keep.received import Received
from roamcast.net.keep.store import Store
from roamcast.net.refusal import APPLICATION, Tally
from roamcast.pubsub.event import Event

log: Final = logging.getLogger("roamcast.net")

PAGE: Final = 64
"""How many events a subscription reads from the store at once."""
WAITING_MAX: Final = 10_000
"""How many received events, and how many carried frames, may wait for the disk."""

Job = Callable[[], None]


class WriteObserver(Protocol):
    """Is informed, on the loop, about received events."""

    def written(self) -> None:
        """There may be something new in the store."""

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

    async def write(self, job: Job) -> None:
        """Returns when the job's changes are on disk."""
        self._check_open()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._jobs.append((job, done))
        self._work.set()
        await done

    async def read(self, position: int) -> tuple[int, list[Received]]:
        """The last position of all received events, and the next page after this position."""
        self._check_open()
        received = self._store.received

        def page() -> tuple[int, list[Received]]:
            return received.end(), received.after(position, PAGE)

        return await asyncio.get_running_loop().run_in_executor(self._thread, page)

    async def close(self) -> None:
        """Write what waits, and end the thread."""
        self._open = False
        self._work.set()
        await self._task
        self._thread.shutdown()

    def _check_open(self) -> None:
        if not self._open:
            raise NodeClosed("the node is not running")

    async def _run(self) -> None:
        while self._open or self._events or self._frames or self._jobs:
            await self._work.wait()
            self._work.clear()
            events, self._events = self._events, []
            frames, self._frames = self._frames, []
            jobs, self._jobs = self._jobs, []
            if events or frames or jobs:
                await self._write(events, frames, jobs)

    async def _write(
        self, events: list[Event], frames: list[Job], jobs: list[tuple[Job, asyncio.Future[None]]]
    ) -> None:
        loop, failure = asyncio.get_running_loop(), None
        try:
            await loop.run_in_executor(self._thread, self._commit, events, [*(job for job, _ in jobs), *frames])
        except RoamcastError as error:
            failure = error
            log.error("%s", error)
            if events:
                self._observer.write_failed(error)
        for _, done in jobs:
            if not done.done():
                _finish(done, failure)
        self._observer.written()

    def _commit(self, events: list[Event], jobs: list[Job]) -> None:
        """Runs in the thread."""
        received = self._store.received
        lost = received.lost
        with self._store.together():
            new = received.add(events) if events else []
            for job in jobs:
                job()
        self.duplicates += len(events) - len(new)
        for _ in range(received.lost - lost):
            self._tally.drop(APPLICATION)


def _finish(done: asyncio.Future[None], failure: RoamcastError | None) -> None:
    if failure is None:
        done.set_result(None)
    else:
        done.set_exception(failure)
