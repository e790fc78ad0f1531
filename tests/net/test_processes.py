"""Twelve nodes that are processes, as people start them, each in its own network namespace, in real time.

They stand in a row, and each hears the nodes next to it. One event goes from node to node to the other end. Another one
is carried across a gap by a node that is killed meanwhile.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roamcast.net.control.client import Connection
from roamcast.net.control.messages import Publish, Published, Request, Status, StatusReply, Subscribe, Subscribed
from roamcast.net.trust.keys import KeyRing
from tests.support.namespaces import Namespaces

NODES = 12
PATIENCE_S = 120.0
GAP = 5
"""The gap is between this node and the next."""


class Row:
    def __init__(self, places: Namespaces) -> None:
        self.places = places
        self.running: dict[int, subprocess.Popen[str]] = {}
        self.ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.ready.bind("ready")
        self.ready.settimeout(PATIENCE_S)

    def start(self, i: int) -> None:
        words = ["node", "--key", "group.key", "--state", f"n{i}", "--interface", "air"]
        words += ["--option", "limits.rate_bps=2e6"]  # with the default, a node says how much it sends
        with self.places.inside(i):
            self.running[i] = subprocess.Popen(
                [sys.executable, "-m", "roamcast", *words],
                env={**os.environ, "NOTIFY_SOCKET": str(Path("ready").resolve())},
                stderr=subprocess.PIPE,
                text=True,
            )

    def wait_until_ready(self, how_many: int) -> None:
        for _ in range(how_many):
            assert self.ready.recv(100) == b"READY=1"

    def request(self, i: int, request: Request, expected: type[Any]) -> Any:
        with Connection(f"n{i}") as node:
            return node.request(request, expected)

    def status(self, i: int) -> StatusReply:
        reply: StatusReply = self.request(i, Status(), StatusReply)
        return reply

    def received(self, i: int) -> int:
        return self.status(i).stored.received

    def close(self) -> None:
        for node in self.running.values():
            node.kill()
            node.communicate()
        self.ready.close()


@pytest.fixture
def row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Row]:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    try:
        places = Namespaces(NODES)
    except OSError as error:
        pytest.skip(f"no network namespaces ({error})")
    with places:
        made = Row(places)
        yield made
        made.close()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_events_cross_the_row_and_a_gap_although_the_carrier_is_killed(row: Row) -> None:
    for i in range(NODES):
        row.start(i)
    row.wait_until_ready(NODES)
    for i in range(NODES):
        row.request(i, Subscribe("topic news", "all"), Subscribed)
    for i in range(NODES - 1):
        row.places.join(i, i + 1, True)
    row.request(0, Publish("news", validity_s=600), Published)
    until(lambda: all(row.received(i) == 1 for i in range(1, NODES)))
    assert [peer.node for peer in row.status(0).neighbours] == [row.status(1).node]

    row.places.join(GAP, GAP + 1, False)
    row.request(0, Publish("news", validity_s=600), Published)
    until(lambda: all(row.received(i) == 2 for i in range(1, GAP + 1)))
    until(lambda: row.status(GAP).stored.held == 2)
    row.places.join(GAP - 1, GAP, False)
    row.running[GAP].kill()
    row.running[GAP].communicate()
    row.start(GAP)
    row.wait_until_ready(1)
    assert [row.received(i) for i in range(GAP + 1, NODES)] == [1] * (NODES - GAP - 1)
    row.places.join(GAP, GAP + 1, True)
    until(lambda: all(row.received(i) == 2 for i in range(GAP + 1, NODES)))
    assert row.received(GAP) == 2, "no event comes twice"

    for i, node in row.running.items():
        node.send_signal(signal.SIGTERM)
        _, errors = node.communicate(timeout=PATIENCE_S)
        assert (i, node.returncode, errors) == (i, 0, "")
