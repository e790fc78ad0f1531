"""Keys of publications: a program that does not know whether it has published something asks again with the same key.

This happens when the program or the node was killed between storing the event and the program's own note that it is
stored. The keys are stored in the same commit as the event, so one of both alone is never on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from hashlib import blake2b
from struct import Struct
from typing import Any, Final

from roamcast.errors import RoamcastError
from roamcast.net.durable import DurableValues

MOST: Final = 256
_ENTRY: Final = Struct("!8sQ")
_NAME: Final = "keys"


class PublicationKeys:
    """The last `MOST` keys, and the ids of their events."""

    def __init__(self, values: DurableValues) -> None:
        self._values = values
        self._under_way: dict[str, asyncio.Future[int]] = {}

    async def once(self, key: str, repeated: bool, publish: Callable[[], Coroutine[Any, Any, int]]) -> int:
        """Publish, and return the event's id. `repeated`: not if a publication had this key, or one that has it is
        still under way. If the caller gives up, the publication is still completed, so that the next one finds it."""
        while repeated and key in self._under_way:
            try:
                return await asyncio.shield(self._under_way[key])
            except RoamcastError:  # it failed, so this one is the first
                await asyncio.sleep(0)
        known = self.find(key) if repeated else None
        if known is not None:
            return known
        coming = self._under_way[key] = asyncio.ensure_future(publish())
        coming.add_done_callback(partial(self._ended, key))
        return await asyncio.shield(coming)

    def find(self, key: str) -> int | None:
        """The id of the event that was published with this key; None if there is none, or it was long ago."""
        wanted = _digest(key)
        ids = [id for digest, id in _ENTRY.iter_unpack(self._stored()) if digest == wanted]
        return ids[-1] if ids else None

    def add(self, key: str, id: int) -> None:
        """Remember a key; call it in the transaction that stores the event."""
        self._values.store(_NAME, (self._stored() + _ENTRY.pack(_digest(key), id))[-MOST * _ENTRY.size :])

    def _ended(self, key: str, coming: asyncio.Future[int]) -> None:
        if self._under_way.get(key) is coming:
            del self._under_way[key]
        if not coming.cancelled():
            coming.exception()  # the caller, who may have given up, is the one who handles it

    def _stored(self) -> bytes:
        return self._values.load(_NAME) or b""


def _digest(key: str) -> bytes:
    return blake2b(key.encode(), digest_size=8).digest()
