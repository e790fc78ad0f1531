"""One campaign at a time in a place, also where nothing can be locked.

On this machine the system keeps the lock, and takes it away when the process ends, however it ends. An object store has
none. There a process puts a claim, waits until everybody's claim from the same moment can be seen, and looks: the
oldest claim that is alive has the place. It lives while its process puts a sign of life beside it. Ages are differences
of times by the store's own clock, so the clocks of the machines need not agree. The claim of a process that was killed
ends after `STALE_S`, or at once if this machine can see that the process is gone.

The claim is there on all storages, because workers look for it: one that does not see it writes somewhere else.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from roamcast.errors import InputError, Interrupted
from roamcast.storage import Storage

CLAIMS = "claims"
BEAT_S = 3.0
STALE_S = 20.0
SETTLE_S = 1.5
"""Longer than it takes to put a claim, and than a second: stores say to the second when an object was put."""
Say = Callable[[str], None]


@contextmanager
def held(storage: Storage, say: Say = lambda _: None) -> Iterator[str]:
    """Keep others from writing to the storage; gives the name of the claim. InputError if another one has it."""
    with ExitStack() as stack:
        if storage.path is not None:
            stack.enter_context(_locked(storage.path, storage))
            for name in storage.names(CLAIMS):
                storage.delete(f"{CLAIMS}/{name}")  # of processes that were killed: they have no lock any more
        claim = f"{CLAIMS}/{uuid.uuid4().hex}"
        stack.callback(_release, storage, claim)
        began_s = time.monotonic()
        storage.put(claim, json.dumps(_own()).encode())
        if storage.path is None and time.monotonic() - began_s > SETTLE_S / 2:
            raise Interrupted(f"{storage}: takes too long to answer, so others may not see this campaign; try again")
        if storage.path is None:
            storage.put(f"{claim}.beat", b"")
            stack.enter_context(_beating(storage, claim))
            _wait_for_turn(storage, claim, say)
        yield claim


def check(storage: Storage, claim: str) -> None:
    """Interrupted if the claim is gone: it was taken for dead, and somebody else may be at work."""
    if not storage.exists(claim):
        raise Interrupted(f"{storage}: lost to another campaign while this process did not answer")


def _release(storage: Storage, claim: str) -> None:
    with suppress(Interrupted):
        storage.delete(claim)
        if storage.path is None:
            storage.delete(f"{claim}.beat")


@contextmanager
def _locked(path: Path, storage: Storage) -> Iterator[None]:
    with (path / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{storage}: another campaign is writing to this folder right now") from None
        yield


# ---- without locks


@contextmanager
def _beating(storage: Storage, claim: str) -> Iterator[None]:
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT_S):
            with suppress(Interrupted):  # others take the place if this goes on
                storage.put(f"{claim}.beat", b"")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _wait_for_turn(storage: Storage, claim: str, say: Say) -> None:
    """Until no older claim is alive. One that shows a sign of life while we look is refused to."""
    time.sleep(SETTLE_S)
    before: dict[str, float] = {}
    while True:
        older = _older(storage, claim)
        if not older:
            return
        for name, beat_s in older.items():
            if before.get(name, beat_s) != beat_s:
                raise InputError(f"{storage}: another campaign is writing here right now ({_whose(storage, name)})")
        if not before:
            say(f"waiting up to {STALE_S:.0f} s: {storage} was claimed before, maybe by a process that was killed")
        before = older
        time.sleep(BEAT_S / 2)


def _older(storage: Storage, claim: str) -> dict[str, float]:
    """Claims that are older than ours and not dead, with the time of their last sign of life."""
    listed = storage.names(CLAIMS)
    own = claim.partition("/")[2]
    if own not in listed:
        raise Interrupted(f"{storage}: its claim was not seen again; try again")
    now_s = listed.get(f"{own}.beat", listed[own]).at_s
    alive: dict[str, float] = {}
    for name, entry in listed.items():
        if name == own or name.endswith(".beat") or (entry.at_s, name) > (listed[own].at_s, own):
            continue
        beat_s = listed.get(f"{name}.beat", entry).at_s
        if now_s - beat_s > STALE_S or _is_gone(storage, name):
            storage.delete(f"{CLAIMS}/{name}")
            storage.delete(f"{CLAIMS}/{name}.beat")
        else:
            alive[name] = beat_s
    return alive


def _own() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "process": os.getpid(),
        "machine": _machine(),
        "started": _started(os.getpid()),
    }


def _read(storage: Storage, name: str) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads(storage.read(f"{CLAIMS}/{name}"))
    except (FileNotFoundError, ValueError):
        return {}
    return about


def _whose(storage: Storage, name: str) -> str:
    about = _read(storage, name)
    return f"process {about.get('process', '?')} on {about.get('host', '?')}"


def _is_gone(storage: Storage, name: str) -> bool:
    """Whether its process was one of this machine, and has ended."""
    about = _read(storage, name)
    here = bool(about) and about.get("machine") == _machine() != ""
    return here and _started(int(about["process"])) != about["started"]


def _machine() -> str:
    """This machine since its start, and this list of processes; empty where that cannot be said."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    except OSError:
        return ""


def _started(process: int) -> str:
    """When a process of this machine was started; empty if there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
