"""Network namespaces, one for each node: with a cable between any two that can be cut and joined (`Namespaces`), or
with cables of the test's choice (`Rooms`).

Every one of `Namespaces` has a bridge `air`, which has a port for a cable (a veth pair) from each other namespace. The
ports are isolated: a packet from one port goes to the node and to no other port. So a broadcast reaches all nodes whose
cables are joined, once, and no bridge forwards it. A cable is cut by disabling its port on one side, which takes effect
at once; if the interface were taken down, the kernel would notice it later.

Nothing is left behind: the namespaces have no names, only this process has them open, and they end with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from itertools import combinations
from typing import Self

CLONE_NEWNET = 0x40000000
SETTLE_S = 10.0
_libc = ctypes.CDLL(None, use_errno=True)

RTM_SETLINK, NLM_F_REQUEST, NLM_F_ACK, AF_BRIDGE = 19, 1, 4, 7
IFLA_PROTINFO, IFLA_BRPORT_STATE, NESTED = 12, 1, 0x8000
DISABLED, FORWARDING = 0, 3


def _check(result: int) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


class Rooms:
    """Namespaces that have nothing in them except the loopback interface; OSError where that is not permitted."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._home = os.open("/proc/self/ns/net", os.O_RDONLY)
        self._places: list[int] = []
        try:
            self._make_rooms()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for place in [*self._places, self._home]:
            os.close(place)
        self._places = []

    def _make_rooms(self) -> None:
        if shutil.which("ip") is None or shutil.which("bridge") is None:
            raise OSError("iproute2 is not installed")
        for _ in range(self.n):
            try:
                _check(_libc.unshare(CLONE_NEWNET))
                self._places.append(os.open("/proc/self/ns/net", os.O_RDONLY))
            finally:
                _check(_libc.setns(self._home, CLONE_NEWNET))
        for i in range(self.n):
            self.ip(i, ["link set lo up"])

    def cable(self, i: int, one: str, j: int, other: str) -> None:
        """A cable from the interface `one` in room i to the interface `other` in room j; both have an address
        (`left 10.1.0.1/24`)."""
        (here, mine), (there, yours) = one.split(), other.split()
        far = f"/proc/{os.getpid()}/fd/{self._places[j]}"  # through a file descriptor of this process
        self.ip(i, [f"link add {here} type veth peer name {there} netns {far}"])
        self.ip(i, [f"addr add {mine} dev {here}", f"link set {here} up"])
        self.ip(j, [f"addr add {yours} dev {there}", f"link set {there} up"])

    @contextlib.contextmanager
    def inside(self, i: int) -> Iterator[None]:
        """Sockets that are opened in this block belong to namespace i until they are closed."""
        _check(_libc.setns(self._places[i], CLONE_NEWNET))
        try:
            yield
        finally:
            _check(_libc.setns(self._home, CLONE_NEWNET))

    def ip(self, i: int, lines: list[str]) -> None:
        with self.inside(i):
            done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, capture_output=True)
        if done.returncode:
            raise OSError(f"ip: {done.stderr.strip()}")


class Namespaces(Rooms):
    """`with Namespaces(12, loss=0.05) as places:`; OSError or CalledProcessError where that is not permitted."""

    def __init__(self, n: int, loss: float = 0.0) -> None:
        self.lossy = False
        self._talk: list[socket.socket] = []
        self._ports: dict[tuple[int, int], int] = {}
        super().__init__(n)
        try:
            self._make(loss)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for talk in self._talk:
            talk.close()
        self._talk = []
        super().close()

    def join(self, i: int, j: int, joined: bool) -> None:
        """Join or cut the cable between two places."""
        self._set_port(min(i, j), max(i, j), FORWARDING if joined else DISABLED)

    def _set_port(self, i: int, j: int, state: int) -> None:
        """Set the state of the port at i of the cable to j."""
        attribute = struct.pack("=HHB3x", 5, IFLA_BRPORT_STATE, state)
        nested = struct.pack("=HH", 4 + len(attribute), IFLA_PROTINFO | NESTED) + attribute
        about = struct.pack("=BBHiII", AF_BRIDGE, 0, 0, self._ports[i, j], 0, 0)
        length = 16 + len(about) + len(nested)
        header = struct.pack("=IHHII", length, RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0)
        self._talk[i].send(header + about + nested)
        (error,) = struct.unpack_from("=i", self._talk[i].recv(4096), 16)
        if error:
            raise OSError(-error, os.strerror(-error))

    def _make(self, loss: float) -> None:
        for i in range(self.n):
            with self.inside(i):
                self._talk.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
        for i in range(self.n):
            self.ip(i, ["link add air type bridge stp_state 0 mcast_snooping 0"])
        for i in range(self.n):  # the other end moves to the other namespace through a file descriptor of this process
            far = f"/proc/{os.getpid()}/fd/"
            lines = [
                f"link add to{j} type veth peer name to{i} netns {far}{self._places[j]}" for j in range(i + 1, self.n)
            ]
            if lines:
                self.ip(i, lines)
        for i in range(self.n):
            others = [j for j in range(self.n) if j != i]
            self.ip(i, [line for j in others for line in (f"link set to{j} master air", f"link set to{j} up")])
            self.ip(i, [f"link set to{j} type bridge_slave isolated on" for j in others])
            self.ip(i, [f"addr add 10.77.0.{i + 1}/24 dev air", "link set air up"])
            with self.inside(i):
                self._ports |= {(i, j): socket.if_nametoindex(f"to{j}") for j in others}
        for i, j in combinations(range(self.n), 2):
            self._wait_for_port(i, j)
        self.lossy = loss > 0 and self._lose(loss)

    def _wait_for_port(self, i: int, j: int) -> None:
        """Ports can be set when the kernel has noticed their cable: wait for that, then cut."""
        deadline = time.monotonic() + SETTLE_S
        while True:
            try:
                self._set_port(j, i, FORWARDING)
                self.join(i, j, True)
                self.join(i, j, False)
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _lose(self, loss: float) -> bool:
        """Have the kernel lose frames, if it can. `tc` returns 2 if it cannot, and 1 if it does not know the
        command."""
        for i in range(self.n):
            for j in range(self.n):
                if j != i:
                    words = ["tc", "qdisc", "add", "dev", f"to{j}", "root", "netem", "loss", f"{100 * loss:g}%"]
                    with self.inside(i):
                        done = subprocess.run(words, capture_output=True, text=True, check=False)
                    if done.returncode == 2:
                        return False
                    if done.returncode:
                        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
        return True
