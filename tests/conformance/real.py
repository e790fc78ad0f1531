"""The real backend: UDP sockets on the loopback interface, everything authenticated and signed.

All nodes are on one loop whose clock does not wait (tests/support/warp.py). Every node receives everything on the
loopback interface. So each node has a wall that lets through only datagrams of nodes in range, and loses a share `loss`
of them.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
from collections.abc import Callable
from typing import Any

from roamcast.log import schema
from roamcast.net.air.medium import Network, Sent
from roamcast.net.air.udp import UdpMedium
from roamcast.net.durable import MemoryValues
from roamcast.net.host.runner import Runner
from roamcast.net.limits import Limits
from roamcast.net.trust.identity import Identity, Roster
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.net.wire.addresses import Address
from roamcast.protocols.kit.interface import Params, Protocol
from roamcast.pubsub.filters import Filter
from tests.conformance.driver import Driver, Probe
from tests.support.sinks import MemorySink
from tests.support.warp import WarpLoop

RING = KeyRing.new()
PORT = 10_000 + os.getpid() % 10_000  # below the ports that the system hands out
_groups = itertools.count(1)

MULTICAST = "multicast"
BROADCAST = "broadcast"


def network(how: str = MULTICAST) -> Network:
    """A network that no other test uses."""
    n = next(_groups)
    if how == BROADCAST:
        return Network("127.255.255.255", PORT + n % 10_000, "lo")
    return Network(f"239.255.{n >> 8 & 255}.{n & 255}", PORT, "lo")


class Walled(UdpMedium):
    """Receives only datagrams whose source port passes `passes`."""

    def __init__(self, network: Network, loop: WarpLoop, passes: Callable[[int], bool]) -> None:
        super().__init__(network)
        self.loop = loop
        self.passes = passes

    def send(self, datagram: bytes, to: Address | None = None) -> Sent:
        self.loop.stirred = True
        return super().send(datagram, to)

    def open(self, hear: Callable[[bytes, Address], None]) -> None:
        super().open(lambda datagram, address: hear(datagram, address) if self.passes(address[1]) else None)

    def port(self) -> int:
        address = self.address()
        return int(address[1]) if address else -1


class Real(Driver):
    late_us = 1000

    def __init__(
        self,
        how: str,
        places: list[float],
        subscriptions: list[tuple[int, Filter]] | None = None,
        loss: float = 0.0,
        protocol: type[Protocol] = Probe,
        params: Params | None = None,
        limits: Limits | None = None,
        secure: bool = True,
        flooded: bool = False,
    ) -> None:
        """`flooded`: every node also hears senders that are not nodes."""
        super().__init__(places)
        self.loss = loss
        self.flooded = flooded
        self.chance = random.Random(1)
        self.errors: list[Exception] = []
        self.sink = MemorySink()
        self.loop = WarpLoop()
        meeting = network(how)
        self.media = [Walled(meeting, self.loop, self._passes(i)) for i in range(len(places))]
        memberships = members(len(places), secure)

        async def make() -> None:
            self.runners = [
                Runner(
                    protocol,
                    params or Params(),
                    memberships[i],
                    self.media[i],
                    limits=limits,
                    sink=self.sink,
                    on_error=self.errors.append,
                    seed=i,
                )
                for i in range(len(places))
            ]
            for i, filter in subscriptions or []:
                self.runners[i].subscribe(filter)
            for runner in self.runners:
                runner.start()

        self.loop.run_until_complete(make())

    def _passes(self, i: int) -> Callable[[int], bool]:
        def passes(port: int) -> bool:
            sender = next((j for j, medium in enumerate(self.media) if medium.port() == port), -1)
            if self.flooded and sender < 0:
                return True
            return sender in [i, *self.in_range(i)] and self.chance.random() >= self.loss

        return passes

    def probe(self, i: int) -> Probe:
        probe = self.runners[i].protocol
        assert isinstance(probe, Probe)
        return probe

    def publish(self, i: int, deed: int) -> None:
        self.publish_event(i, "deed", {"deed": deed})

    def publish_event(self, i: int, topic: str, attrs: dict[str, Any] | None = None, **more: Any) -> int:
        """Node i publishes; returns the event's id."""

        async def go() -> int:
            event = self.runners[i].publisher.prepare(topic, attrs, **more)
            self.runners[i].publish(event)
            return event.id

        return self.loop.run_until_complete(go())

    def run(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds + 1e-6))

    def crash(self, i: int) -> None:
        self.runners[i].stop()

    def recover(self, i: int, keep_tables: bool) -> None:
        async def go() -> None:
            self.runners[i].start(keep_tables=keep_tables)

        self.loop.run_until_complete(go())

    def delivered(self, i: int) -> list[int]:
        return [row[3] for row in self.sink.rows if row[1] == i and row[2] == schema.DELIVER]

    def notes(self, i: int) -> list[tuple[str, str, int, int, int]]:
        rows = [row for row in self.sink.rows if row[1] == i and row[2] in schema.DECISIONS]
        return [(schema.KINDS[kind], why, event, peer, value) for _, _, kind, event, _, peer, _, value, why in rows]

    def check(self) -> None:
        for runner in self.runners:
            runner.stop()
        self.loop.close()
        if self.errors:
            raise self.errors[0]
        if all(isinstance(runner.protocol, Probe) for runner in self.runners):
            super().check()


def members(n: int, secure: bool) -> list[Membership]:
    """Memberships of nodes 0, 1, …; such small numbers need a roster."""
    if not secure:
        return [Membership.insecure(i) for i in range(n)]
    vaults = [MemoryValues() for _ in range(n)]
    roster = Roster({i: Identity.of(values).public for i, values in enumerate(vaults)})
    return [Membership.secure(values, RING, roster) for values in vaults]
