"""Five nodes that are processes, each with other media: events pass through all of them, although media go and return.

    a ---left--- b ---right--- c ---west--- router ---east--- d ~~~serial line~~~ e

`a`, `b` and `c` meet by multicast, and `b` has two interfaces. `c` names `d`, which is behind a router; `d` names
nobody. `d` and `e` have modems.
"""

from __future__ import annotations

import os
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
from tests.support.modems import Modems
from tests.support.namespaces import Rooms

PATIENCE_S = 120.0
A, B, C, ROUTER, D, E = range(6)
NODES = {A: "a", B: "b", C: "c", D: "d", E: "e"}


class Chain:
    def __init__(self, rooms: Rooms, modems: Modems) -> None:
        self.rooms = rooms
        self.modems = modems
        self.running: list[subprocess.Popen[str]] = []
        self.ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.ready.bind("ready")
        self.ready.settimeout(PATIENCE_S)

    def lay_cables(self) -> None:
        self.left()
        self.rooms.cable(B, "right 10.2.0.1/24", C, "right 10.2.0.2/24")
        self.rooms.cable(C, "west 10.3.0.1/24", ROUTER, "west 10.3.0.254/24")
        self.rooms.cable(ROUTER, "east 10.4.0.254/24", D, "east 10.4.0.1/24")
        self.rooms.ip(C, ["route add 10.4.0.0/24 via 10.3.0.254"])
        self.rooms.ip(D, ["route add 10.3.0.0/24 via 10.4.0.254"])
        with self.rooms.inside(ROUTER):
            Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def left(self) -> None:
        self.rooms.cable(A, "left 10.1.0.1/24", B, "left 10.1.0.2/24")

    def start(self, i: int, *options: str) -> None:
        words = ["node", "--key", "group.key", "--state", NODES[i], "--protocol", "gossip", "--set", "p=1"]
        words += [word for option in options for word in ("--option", option)]
        with self.rooms.inside(i):
            node = subprocess.Popen(
                [sys.executable, "-m", "roamcast", *words],
                env={**os.environ, "NOTIFY_SOCKET": str(Path("ready").resolve())},
                stderr=subprocess.PIPE,
                text=True,
            )
        self.running.append(node)

    def start_all(self) -> None:
        line = "network.modem.medium=serial", "network.modem.bps=38400", "network.modem.share=1"
        self.start(A, "network.left.interface=left")
        self.start(B, "network.left.interface=left", "network.right.interface=right")
        self.start(C, "network.right.interface=right", "network.far.medium=unicast", "network.far.peers=10.4.0.1")
        self.start(D, "network.far.medium=unicast", *line, f"network.modem.device={self.modems.devices[0]}")
        self.start(E, *line, f"network.modem.device={self.modems.devices[1]}")
        for _ in NODES:
            assert self.ready.recv(100) == b"READY=1"

    def request(self, i: int, request: Request, expected: type[Any]) -> Any:
        with Connection(NODES[i]) as node:
            return node.request(request, expected)

    def status(self, i: int) -> StatusReply:
        reply: StatusReply = self.request(i, Status(), StatusReply)
        return reply

    def up(self, i: int) -> dict[str, bool]:
        return {medium.name: medium.up for medium in self.status(i).media}

    def send_until_it_comes(self, i: int, j: int) -> None:
        """Gossip sends an event once: repeat it until one has come."""
        before, at = self.status(j).stored.received, 0.0
        deadline = time.monotonic() + PATIENCE_S
        while self.status(j).stored.received == before:
            assert time.monotonic() < deadline
            if time.monotonic() > at:
                self.request(i, Publish("news", validity_s=600), Published)
                at = time.monotonic() + 1.0
            time.sleep(0.05)

    def close(self) -> None:
        for node in self.running:
            node.kill()
            node.communicate()
        self.ready.close()


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chain]:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    try:
        rooms = Rooms(len(NODES) + 1)
    except OSError as error:
        pytest.skip(f"no network namespaces ({error})")
    with rooms, Modems(tmp_path) as modems:
        made = Chain(rooms, modems)
        try:
            made.lay_cables()
            yield made
        except OSError as error:
            pytest.skip(f"no router ({error})")
        finally:
            made.close()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_events_pass_through_all_media_although_they_go_and_return(chain: Chain) -> None:
    chain.start_all()
    for i in (A, E):
        chain.request(i, Subscribe("topic news", "all"), Subscribed)
    chain.send_until_it_comes(A, E)
    chain.send_until_it_comes(E, A)
    numbers = {i: chain.status(i).node for i in NODES}
    heard = {i: {(peer.node, peer.medium) for peer in chain.status(i).neighbours} for i in NODES}
    assert heard == {
        A: {(numbers[B], "left")},
        B: {(numbers[A], "left"), (numbers[C], "right")},
        C: {(numbers[B], "right"), (numbers[D], "far")},
        D: {(numbers[C], "far"), (numbers[E], "modem")},
        E: {(numbers[D], "modem")},
    }

    chain.rooms.ip(B, ["link del left"])
    until(lambda: chain.up(B) == {"left": False, "right": True})
    assert chain.status(B).network, "the other one goes on"
    chain.send_until_it_comes(B, E)
    chain.left()
    chain.send_until_it_comes(A, E)

    chain.modems.unplug(0)
    until(lambda: chain.up(D) == {"far": True, "modem": False})
    chain.modems.plug_in(0)
    until(lambda: chain.up(D)["modem"])
    chain.send_until_it_comes(A, E)
    chain.send_until_it_comes(E, A)
