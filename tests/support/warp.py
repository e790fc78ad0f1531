"""An asyncio loop over real sockets whose clock does not wait: if there is nothing to read, it jumps to the next timer.

Datagrams on the loopback interface are usually in the receiver's buffer when `sendto` returns, so almost nothing is
missed by jumping. For the rare other case, the loop waits a little real time whenever something was sent (`stirred`).

What is there to read at one moment is read in the order in which the sockets were opened, as the simulator hands out a
frame in the order of its stations. The kernel's own order is about the reverse, and it matters where nodes decide at
the same moment: which of several nodes that lost their parent at once is asked first, and so leads the new group.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from typing import Any

GRACE_S = 0.0003


class _Selector(selectors.DefaultSelector):
    loop: WarpLoop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout <= 0:
            return self._ready(timeout)
        ready = self._ready(0)
        if not ready and self.loop.stirred:
            self.loop.stirred = False
            time.sleep(GRACE_S)
            ready = self._ready(0)
        if not ready:
            self.loop.clock += timeout
        return ready

    def _ready(self, timeout: float | None) -> list[Any]:
        return sorted(super().select(timeout), key=lambda one: one[0].fd)


class WarpLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.clock = 0.0
        self.stirred = False
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.clock
