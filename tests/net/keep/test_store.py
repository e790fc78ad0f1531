"""The parts of a store together: values that survive, and changes that happen completely or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from roamcast.errors import StoreError
from roamcast.net.keep.store import Store
from roamcast.net.trust.identity import Identity
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership, Sequence
from tests.net.keep.stores import event, ids


def test_a_store_keeps_identity_and_numbers(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        public = Identity.of(store.values).public
        numbers = [Sequence(store.values).next()]
    with Store(tmp_path) as store:
        assert Identity.of(store.values).public == public
        numbers.append(Sequence(store.values).next())
        assert Membership.secure(store.values, KeyRing.new()).identity is not None
        assert store.values.load("nothing") is None
    assert len(set(numbers)) == 2


def test_a_failed_write_changes_nothing() -> None:
    store = Store(None)
    store.received.add([event(1)])
    held = store.counts()
    third = f"when new.event = {event(3).id}"
    fail = "begin select raise(abort, 'disk full'); end"
    store.db.run(f"create trigger full before insert on received {third} {fail}")
    with pytest.raises(StoreError, match="disk full"):
        store.received.add([event(2), event(3)])
    store.db.run("drop trigger full")
    assert store.counts() == held
    assert ids(store.received.add([event(2), event(1)])) == [2]


WRITER = """
import sys
from roamcast.net.keep.store import Store
from roamcast.pubsub.event import Event
store = Store(sys.argv[1])
for n in range(int(sys.argv[2]), 1 << 30):
    store.own.add([Event(7 << 32 | n)])
    print(n, flush=True)
"""


def test_acknowledged_writes_survive_kill_9(tmp_path: Path) -> None:
    acknowledged = 0
    for turn in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(acknowledged + 1)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        for _ in range(20 + turn):
            acknowledged = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged = max([acknowledged, *(int(line) for line in writer.stdout if line.endswith("\n"))])
        writer.wait()
        writer.stdout.close()
        with Store(tmp_path) as store:
            stored = [e.id & 0xFFFFFF for e, _, _ in store.own.valid()]
            assert stored[:acknowledged] == list(range(1, acknowledged + 1))
            assert len(stored) <= acknowledged + 1  # the write during which it was killed
