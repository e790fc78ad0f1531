"""What a real node costs: `python bench/net.py`. Prints a JSON object.

Datagrams a second and core (processor time) through all checks, the decoder and the protocol, for those that are good
and for those that are not; the time of one hop over the loopback interface; and what a node holds in memory at rest.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roamcast.net.air.medium import Network
from roamcast.net.air.udp import UdpMedium
from roamcast.net.durable import MemoryValues
from roamcast.net.host.runner import Runner
from roamcast.net.limits import Limits
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.net.trust.seals import sealed
from roamcast.net.wire.packet import FRAME, Header
from roamcast.protocols import registry
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.parameters import build
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import topic

GOSSIP = registry.get("gossip")
RING = KeyRing.new()
MANY = 20_000
FEW = 3_000
HOPS = 2_000
HERE = ("192.0.2.1", 1)
LANE = 0
UNBOUNDED = Limits(
    strangers_per_s=1e12,
    address_per_s=1e12,
    sender_frames_per_s=1e12,
    sender_bytes_per_s=1e15,
    sender_signatures_per_s=1e12,
    airtime_share=1.0,
    rate_bps=1e12,
    queue=100_000,
)


def host(network: Network, limits: Limits | None = None) -> Runner:
    member = Membership.secure(MemoryValues(), RING)
    return Runner(GOSSIP, build(GOSSIP, {"p": 0.0}), member, UdpMedium(network), limits=limits)


def frames(sender: Runner, events: int, copies: int) -> list[bytes]:
    """`events` events, each several times."""
    identity = sender.membership.identity
    assert identity is not None
    made: list[bytes] = []
    sealed_events = [
        sealed(Event(event_id(sender.id, n + 1), "news", {"temperature": 31.5}, bytes(20)), identity, RING.group)
        for n in range(events)
    ]
    for _ in range(copies):
        for event in sealed_events:
            made += sender.codec.outgoing(sender.codec.encode(EventFrame(event, 5, 0)), -1, 0)[1]
    return made


def per_second(receive: Callable[[int, bytes, Any], None], datagrams: list[bytes]) -> int:
    began = time.process_time()
    for datagram in datagrams:
        receive(LANE, datagram, HERE)
    return round(len(datagrams) / (time.process_time() - began))


def rates() -> dict[str, int]:
    network = Network("239.255.201.1", 7667, "lo")
    sender, receiver = host(network, UNBOUNDED), host(network, UNBOUNDED)
    receiver.subscribe(topic("news"))
    receiver.start()
    forged = [Header(FRAME, RING.sending.id, random.getrandbits(31), n, 0).packed() + bytes(150) for n in range(MANY)]
    new = frames(sender, FEW, 1)
    repeated = frames(sender, 100, MANY // 100)
    result = {
        "new publications": per_second(receiver.receive, new),
        "known publications": per_second(receiver.receive, repeated),
        "replays": per_second(receiver.receive, repeated),
        "forgeries": per_second(receiver.receive, forged),
        "garbage": per_second(receiver.receive, [random.randbytes(150) for _ in range(MANY)]),
    }
    receiver.stop()
    return result


async def hops() -> dict[str, float]:
    """From `publish` on one node to `on_deliver` on another, in one process."""
    network = Network("239.255.201.2", 7667, "lo")
    sender, receiver = host(network, UNBOUNDED), host(network, UNBOUNDED)
    times: list[float] = []
    came = asyncio.Event()
    receiver.deliveries.on_deliver = lambda *_: came.set()
    receiver.subscribe(topic("news"))
    receiver.start()
    sender.start()
    for _ in range(HOPS):
        event = sender.publisher.prepare("news")
        came.clear()
        began = time.perf_counter()
        sender.publish(event)
        await came.wait()
        times.append(time.perf_counter() - began)
    sender.stop()
    receiver.stop()
    times.sort()
    return {"p50_ms": round(1000 * times[HOPS // 2], 3), "p99_ms": round(1000 * times[HOPS * 99 // 100], 3)}


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * resource.getpagesize() / 1e6, 1)


async def main() -> None:
    node = host(Network("239.255.201.3", 7667, "lo"))
    node.start()
    await asyncio.sleep(0.1)
    at_rest = resident_mb()
    node.stop()
    print(json.dumps({"memory_at_rest_mb": at_rest, "datagrams_per_s": rates(), "hop": await hops()}))


if __name__ == "__main__":
    asyncio.run(main())
