"""A function of many items, in worker processes of this machine.

Where processes can be forked, workers inherit function and items, which then need not be picklable: a protocol may be a
class that somebody has just typed. Elsewhere they are pickled. A worker gets places of items, and sends back results.

Workers end with the process that started them, however it ends: otherwise they would go on in a folder that the next
process believes to have for itself, and hold its lock, which forked processes share.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any, TypeVar

from roamcast.errors import WorkerDied

Item = TypeVar("Item")
Result = TypeVar("Result")

START = "fork" if sys.platform == "linux" else "spawn"
"""How workers are started. Other systems' libraries do not bear to be forked."""
PR_SET_PDEATHSIG = 1
"""Linux: which signal a process gets when its parent ends (prctl(2))."""

_given: tuple[Callable[[Any], Any], Sequence[Any]]
"""In a worker: the function and the items."""


def processes() -> int:
    """How many workers can work at a time: as many as this process may use processors."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def in_worker() -> bool:
    """Whether this process is itself somebody's worker, which had better not start workers of its own."""
    return multiprocessing.parent_process() is not None


def spread(
    function: Callable[[Item], Result], items: Sequence[Item], processes: int, start: str = START
) -> Iterator[tuple[int, Result]]:
    """(place of the item, result) of all items, in the order in which they are done.

    What the function raises is raised here, and WorkerDied if a worker ends on its own. After an error, after Ctrl-C,
    or when the caller stops asking, the workers are killed at once.
    """
    if not items:
        return
    pool = ProcessPoolExecutor(
        min(processes, len(items)), multiprocessing.get_context(start), _begin, (function, items)
    )
    try:
        places = {pool.submit(_do, place): place for place in range(len(items))}
        for done in as_completed(places):
            yield places[done], done.result()
    except BaseException as error:
        for worker in list((pool._processes or {}).values()):
            worker.kill()
        if isinstance(error, BrokenProcessPool):
            raise WorkerDied("a worker process died") from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)


# ---- in a worker


def _begin(function: Callable[[Any], Any], items: Sequence[Any]) -> None:
    global _given
    _given = (function, items)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us; it kills us then
    _end_with_parent()


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_watch_parent, daemon=True).start()


def _watch_parent() -> None:
    """For systems without that signal, and for a parent that ended before it was asked for. It comes to nothing while
    compiled code runs."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _do(place: int) -> Any:
    function, items = _given
    return function(items[place])
