"""Work of a node in the background: nobody waits for it, so nobody else would see that it failed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from roamcast.errors import NodeClosed, RoamcastError

log: Final = logging.getLogger("roamcast.net")

AGAIN_S: Final = 5.0
"""How long work that failed waits before it is tried again."""


async def supervised(work: Callable[[], Awaitable[None]]) -> None:
    """Returns when the work is done, or when the node has stopped. If it fails, that is logged, and it begins again."""
    while True:
        try:
            await work()
            return
        except NodeClosed:
            return
        except RoamcastError as error:
            log.error("%s; trying again in %g s", error, AGAIN_S)
        except Exception:  # an error in the program: the rest of the node goes on
            log.exception("work in the background failed; trying again in %g s", AGAIN_S)
        await asyncio.sleep(AGAIN_S)
