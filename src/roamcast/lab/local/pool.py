"""A function of many items, in worker processes of this machine.

Where processes can be forked, workers inherit function and items, which then need not be picklable: a protocol may be a
class that a person has just typed. Elsewhere they are pickled. A worker gets places of items, and sends back results.

A worker that dies takes nothing with it except the item it was at; another one takes its place.

Workers end with the process that started them, however it ends: otherwise they would go on in a folder that the next
process believes to have for itself, and hold its lock, which forked processes share.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from roamcast.errors import WorkerDied, one_line

Item = TypeVar("Item")
Result = TypeVar("Result")

START = "fork" if sys.platform == "linux" else "spawn"
"""How workers are started. Other systems' libraries do not bear to be forked."""
PR_SET_PDEATHSIG = 1
"""Linux: which signal a process gets when its parent ends (prctl(2))."""
LOOK_S = 1.0
"""How often to look after workers whose end went unnoticed, because a process that they started holds their pipe."""


def processes() -> int:
    """How many workers can work at a time: as many as there are processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def in_worker() -> bool:
    """Whether this process is itself a worker: it should not start workers of its own."""
    return multiprocessing.parent_process() is not None


def spread(
    function: Callable[[Item], Result], items: Sequence[Item], processes: int, start: str = START
) -> Iterator[tuple[int, Result]]:
    """(place of the item, result) of all items, in the order in which they are done.

    What the function raises is raised here, and WorkerDied if a worker ends on its own. After an error, after Ctrl-C,
    or when the caller stops asking, the workers are killed at once.
    """
    for place, outcome in outcomes(function, items, processes, start):
        if isinstance(outcome, WorkerDied):
            raise outcome
        yield place, outcome


def outcomes(
    function: Callable[[Item], Result], items: Sequence[Item], processes: int, start: str = START
) -> Iterator[tuple[int, Result | WorkerDied]]:
    """The same, but an item during which its worker ended has WorkerDied for a result, and the others go on."""
    places = iter(range(len(items)))
    busy: list[_Worker] = []
    try:
        for place in places:
            worker = _Worker(function, items, start)
            busy.append(worker)
            worker.give(place)
            if len(busy) == processes:
                break
        while busy:
            for worker in _heard_from(busy):
                place, outcome = worker.place, worker.outcome()
                busy.remove(worker)
                following = next(places, None)
                if following is None:
                    worker.dismiss()
                else:
                    busy.append(worker if worker.lives else _Worker(function, items, start))
                    busy[-1].give(following)
                yield place, outcome
    finally:
        for worker in busy:
            worker.kill()


def _heard_from(workers: list[_Worker]) -> list[_Worker]:
    """Those that have something to say, or have died."""
    ready = wait([worker.connection for worker in workers], LOOK_S)
    return [worker for worker in workers if worker.connection in ready or not worker.process.is_alive()]


class _Worker:
    """A process, and the place of the item that it is at."""

    def __init__(self, function: Callable[[Any], Any], items: Sequence[Any], start: str) -> None:
        context = multiprocessing.get_context(start)
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_work, args=(function, items, other), daemon=True)  # type: ignore[attr-defined]
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until the worker ignores it
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        other.close()
        self.place = -1
        self.lives = True

    def give(self, place: int) -> None:
        self.place = place
        self._send(place)

    def _send(self, place: int | None) -> None:
        with suppress(OSError):  # it has died, which is noticed when its answer is read
            self.connection.send(place)

    def outcome(self) -> Any:
        """The result, or WorkerDied; what the function raised is raised."""
        try:
            raised, outcome = self.connection.recv()
        except (EOFError, OSError):
            self.lives = False
            self.kill()
            return WorkerDied("a worker process died")
        if raised:
            raise outcome
        return outcome

    def dismiss(self) -> None:
        if self.lives:
            self._send(None)
            self.process.join()
        self.connection.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


# ---- in a worker


def _work(function: Callable[[Any], Any], items: Sequence[Any], connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us; it kills us then
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    _end_with_parent()
    while True:
        place = connection.recv()
        if place is None:
            return
        _answer(connection, *_outcome(function, items[place]))


def _outcome(function: Callable[[Any], Any], item: Any) -> tuple[bool, Any]:
    """Whether the function raised; its result, or its error."""
    try:
        return False, function(item)
    except Exception as error:
        error.add_note("".join(traceback.format_exception(error)))
        return True, error


def _answer(connection: Connection, raised: bool, outcome: Any) -> None:
    try:
        if raised:
            pickle.loads(pickle.dumps(outcome))  # an error may forget what it was made of
        connection.send((raised, outcome))
    except OSError:  # nobody waits for it any more
        raise
    except Exception as error:  # whatever cannot be pickled can fail with
        text = one_line(outcome) if raised else one_line(error)
        connection.send((True, RuntimeError(f"{type(outcome).__name__}: {text}")))


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
