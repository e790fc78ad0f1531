"""The deadlines of a node: one heap behind one `loop.call_at`, so that a node at rest costs nothing."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from typing import Final

_COMPACT: Final = 64
"""Up to this many cancelled entries may stay in the heap."""


class Timer:
    """An action at a time, unless it is cancelled before."""

    __slots__ = ("action", "due_us", "serial")

    def __init__(self, due_us: int, serial: int, action: Callable[[], None] | None) -> None:
        self.due_us = due_us
        self.serial = serial
        self.action = action

    def __lt__(self, other: Timer) -> bool:
        return (self.due_us, self.serial) < (other.due_us, other.serial)


class Timers:
    """A clock that shows `now_us` when this object is made, and the actions that are due by it, in order."""

    def __init__(self, loop: asyncio.AbstractEventLoop, now_us: int = 0) -> None:
        self._loop = loop
        self._began = loop.time() - now_us * 1e-6
        self._stopped_us: int | None = None
        self._heap: list[Timer] = []
        self._serial = 0
        self._cancelled = 0
        self._wake: asyncio.TimerHandle | None = None
        self._wake_us = 0

    def now_us(self) -> int:
        if self._stopped_us is not None:
            return self._stopped_us
        return int((self._loop.time() - self._began) * 1e6)

    def jump(self, to_us: int | None) -> None:
        """Stop the clock at a time, or let it run again (None). Timers that are due at that time fire now, however
        late."""
        self._stopped_us = to_us
        self._disarm()
        self._fire()

    def after(self, delay_us: int, action: Callable[[], None]) -> Timer:
        self._serial += 1
        timer = Timer(self.now_us() + delay_us, self._serial, action)
        heapq.heappush(self._heap, timer)
        self._arm()
        return timer

    def cancel(self, timer: Timer) -> None:
        """A cancelled timer never fires; it may have fired already."""
        if timer.action is None:
            return
        timer.action = None
        self._cancelled += 1
        if self._cancelled > _COMPACT and self._cancelled > len(self._heap) // 2:
            self._heap = [t for t in self._heap if t.action is not None]
            heapq.heapify(self._heap)
            self._cancelled = 0

    def clear(self) -> None:
        for timer in self._heap:
            timer.action = None
        self._heap.clear()
        self._cancelled = 0
        self._disarm()

    def __len__(self) -> int:
        return len(self._heap)

    def _arm(self) -> None:
        """Wake up for the first entry, unless that is planned already."""
        if not self._heap:
            return
        due_us = self._heap[0].due_us
        if self._wake is not None:
            if self._wake_us <= due_us:
                return
            self._wake.cancel()
        self._wake_us = due_us
        self._wake = self._loop.call_at(self._began + (due_us + 0.5) * 1e-6, self._fire)

    def _disarm(self) -> None:
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None

    def _fire(self) -> None:
        """Fire the timers that are due now, except those set meanwhile: sockets get their turn before them."""
        self._wake = None
        now_us = self.now_us()
        newest = self._serial
        try:
            while self._heap and self._heap[0].due_us <= now_us and self._heap[0].serial <= newest:
                timer = heapq.heappop(self._heap)
                action, timer.action = timer.action, None
                if action is None:
                    self._cancelled -= 1
                else:
                    action()
        finally:  # if an action fails, the later ones still fire
            self._arm()
