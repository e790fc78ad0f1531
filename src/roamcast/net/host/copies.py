"""Frames that come over several media: a neighbour that is heard on two sends every broadcast on both.

The protocol gets such a frame once, from the medium that brings it first. For a while, the same bytes from the same
sender then pass on that medium alone. A protocol may send the same bytes again, for example a beacon, and the medium on
which they came may go away: then they pass on another one, after that while.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import Final

WHILE_US: Final = 2_000_000
REMEMBERED: Final = 1024


class Copies:
    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._passed: OrderedDict[bytes, tuple[int, int]] = OrderedDict()  # the lane and the time, by digest

    def first(self, sender: int, body: bytes, lane: int, now_us: int) -> bool:
        """Whether no other medium has brought these bytes just now."""
        key = blake2b(body, digest_size=16, salt=sender.to_bytes(8, "big")).digest()
        before, at_us = self._passed.get(key, (lane, now_us))
        if before != lane and now_us - at_us < WHILE_US:
            return False
        self._passed[key] = (lane, now_us)
        self._passed.move_to_end(key)
        if len(self._passed) > self._most:
            self._passed.popitem(last=False)
        return True
