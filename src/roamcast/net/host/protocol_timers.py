"""The protocol's timers, by key."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from roamcast.net.air.timers import Timer, Timers


class ProtocolTimers:
    """Setting a live timer replaces it, a cancelled timer never fires, and a timer fires once."""

    def __init__(self, timers: Timers, fire: Callable[[int], None]) -> None:
        self._timers = timers
        self._fire = fire
        self._live: dict[int, Timer] = {}

    def __len__(self) -> int:
        return len(self._live)

    def set(self, key: int, delay_us: int) -> None:
        self.cancel(key)
        self._live[key] = self._timers.after(delay_us, partial(self._fired, key))

    def cancel(self, key: int) -> None:
        timer = self._live.pop(key, None)
        if timer is not None:
            self._timers.cancel(timer)

    def clear(self) -> None:
        for key in list(self._live):
            self.cancel(key)

    def _fired(self, key: int) -> None:
        del self._live[key]
        self._fire(key)
