"""What a node records about its present boot for the next one: that it runs, and the positions of its peers."""

from __future__ import annotations

import logging
import time
from typing import Final

from roamcast.errors import RoamcastError
from roamcast.net.air.timers import Timers
from roamcast.net.durable import DurableValues
from roamcast.net.wire.codec import FrameCodec

log: Final = logging.getLogger("roamcast.net")

KEEP_S: Final = 300.0
"""How often this is written. Datagrams since the last time can be replayed to a node that was killed."""


class BootRecord:
    def __init__(self, durable: DurableValues, codec: FrameCodec, timers: Timers) -> None:
        self._durable = durable
        self._codec = codec
        self._timers = timers

    def restore(self) -> None:
        """Continue with the positions of peers that the last boot recorded."""
        heard = self._durable.load("heard")
        if heard is not None:
            self._codec.restore(heard)

    def last_alive_us(self) -> int | None:
        """When the last boot was known to run, in Unix time; None if that is not known."""
        alive = self._durable.load("alive")
        return None if alive is None else int.from_bytes(alive, "big")

    def write(self) -> None:
        try:
            self._durable.store("heard", self._codec.peers.export())
            self._durable.store("alive", (time.time_ns() // 1000).to_bytes(8, "big"))
        except (RoamcastError, OSError) as error:  # a node whose disk fails still has its radio
            log.error("%s", error)

    def begin_writing(self) -> None:
        """Write every `KEEP_S` seconds from now on, until the timers are cleared."""
        self._timers.after(int(KEEP_S * 1e6), self._write_again)

    def _write_again(self) -> None:
        self.write()
        self.begin_writing()
