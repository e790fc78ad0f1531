"""Ten seconds of flood, 50,000 datagrams a second: `python bench/flood.py [--seconds S] [--rate N] [KIND …]`.

A node listens on the loopback interface, a neighbour publishes five events a second, and a third process sends
datagrams of one kind. Every process has the clock of the wall. Prints a JSON object for each kind: datagrams that were
sent and that the node read, a second; how many the system dropped before that; why the node refused the others; what
the node's memory (resident, in kilobytes) was before, in the middle and after; its share of a processor; and how many
of the neighbour's events were delivered. Standard error has the node's messages.

Datagrams are made beforehand. Linux takes up to 64 of one length in one call (UDP_SEGMENT), so that sending costs
little of the processors for which the node competes; elsewhere they are sent one by one, as fast as that goes.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import random
import resource
import socket
import struct
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from roamcast.net.air.medium import Network
from roamcast.net.air.udp import UdpMedium
from roamcast.net.durable import MemoryValues
from roamcast.net.host.runner import Runner
from roamcast.net.limits import Limits
from roamcast.net.refusal import Tally
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.net.wire.codec import FrameCodec, protocol_tag
from roamcast.net.wire.packet import FRAME, FramePart, Header
from roamcast.protocols import registry
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.parameters import build
from roamcast.protocols.kit.wire import encode
from roamcast.pubsub.event import Event, event_id
from roamcast.pubsub.filters import topic

GOSSIP = registry.get("gossip")
TAG = protocol_tag(GOSSIP)
EVERY_S = 0.2
READY = 500
"""Datagrams that are made beforehand, and sent again and again."""
AT_ONCE = 64
MOST_BYTES = 60_000
UDP_SEGMENT = 103


def member(ring: KeyRing) -> FrameCodec:
    return FrameCodec(GOSSIP, Membership.secure(MemoryValues(), ring), Limits(), Tally(), 1372)


def garbage(_: KeyRing) -> list[bytes]:
    return [random.randbytes(random.randrange(1, 200, 10)) for _ in range(2 * READY)]


def forgeries(ring: KeyRing) -> list[bytes]:
    heads = (Header(FRAME, ring.sending.id, random.randrange(1 << 31), random.getrandbits(64), 0) for _ in range(READY))
    return [head.packed() + random.randbytes(80) for head in heads]


def replays(ring: KeyRing) -> list[bytes]:
    one = member(ring)
    return [one.envelope.wrap(FRAME, FramePart(TAG, -1, 0, 0, 1, b"\x01").packed()) for _ in range(READY)]


def identities(ring: KeyRing) -> list[bytes]:
    makers = (member(ring) for _ in range(READY * 4))
    return [one.envelope.wrap(FRAME, FramePart(TAG, -1, 0, 0, 1, b"\x01").packed()) for one in makers]


def publications(ring: KeyRing) -> list[bytes]:
    """By a member, with signatures that are wrong."""
    membership = Membership.secure(MemoryValues(), ring)
    one = FrameCodec(GOSSIP, membership, Limits(), Tally(), 1372)
    assert membership.identity is not None
    seal = bytes(4) + membership.identity.public + bytes(64)
    ids = (event_id(membership.number, n + 1) for n in range(READY * 20))
    frames = (EventFrame(Event(id, "news", payload=seal), 5, 0) for id in ids)
    return [one.envelope.wrap(FRAME, FramePart(TAG, -1, 0, 0, 1, encode(GOSSIP, f)).packed()) for f in frames]


def everything(ring: KeyRing) -> list[bytes]:
    made = [*garbage(ring), *forgeries(ring), *replays(ring), *identities(ring), *publications(ring)[: 2 * READY]]
    random.shuffle(made)
    return made


KINDS: dict[str, Callable[[KeyRing], list[bytes]]] = {
    "garbage": garbage,
    "forgeries": forgeries,
    "replays": replays,
    "identities": identities,
    "publications": publications,
    "everything": everything,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=list(KINDS), help=", ".join(KINDS))
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=50_000.0, help="datagrams a second")
    options = parser.parse_args()
    for number, kind in enumerate(options.kinds):
        print(json.dumps({"flood": kind, **measure(kind, options.seconds, options.rate, number)}), flush=True)


def measure(kind: str, seconds: float, rate: float, number: int) -> dict[str, Any]:
    text = KeyRing.new().text()
    network = Network(f"239.255.200.{1 + number}", 7667, "lo")
    context = multiprocessing.get_context("spawn")
    begin, results = context.Barrier(3), context.Queue()
    parts = [
        context.Process(target=listen, args=(text, network, seconds, begin, results)),
        context.Process(target=speak, args=(text, network, seconds, begin, results)),
        context.Process(target=flood, args=(text, network, seconds, begin, results, kind, rate)),
    ]
    for part in parts:
        part.start()
    measured: dict[str, Any] = {}
    for _ in range(4):
        measured |= results.get(timeout=seconds + 60)
    for part in parts:
        part.join()
    measured["unread"] = measured["why"].pop("unread", 0)
    for name in ("sent", "heard", "unread"):
        measured[f"{name}_per_s"] = round(measured.pop(name) / seconds)
    return {key: measured[key] for key in sorted(measured)}


def host(text: str, network: Network) -> Runner:
    params = build(GOSSIP, {"p": 0.0})
    return Runner(GOSSIP, params, Membership.secure(MemoryValues(), KeyRing.parse(text)), UdpMedium(network))


def listen(text: str, network: Network, seconds: float, begin: Barrier, results: Any) -> None:
    async def go() -> None:
        node = host(text, network)
        node.subscribe(topic("news"))
        node.start()
        begin.wait()
        await asyncio.sleep(2.0)
        before_kb, before_s = resident_kb(), cpu_s()
        await asyncio.sleep(seconds / 2)
        half_kb = resident_kb()
        await asyncio.sleep(seconds / 2)
        results.put(
            {
                "memory_kb": [before_kb, half_kb, resident_kb()],
                "processor_share": round((cpu_s() - before_s) / seconds, 2),
            }
        )
        await asyncio.sleep(1.0)
        counts = node.counters()
        results.put({"heard": counts["datagrams_in"], "delivered": counts["delivered"], "why": counts["dropped"]})
        node.stop()

    asyncio.run(go())


def speak(text: str, network: Network, seconds: float, begin: Barrier, results: Any) -> None:
    async def go() -> None:
        node = host(text, network)
        node.start()
        begin.wait()
        await asyncio.sleep(1.0)
        for _ in range(round((seconds + 1.5) / EVERY_S)):
            node.publish(node.publisher.prepare("news"))
            await asyncio.sleep(EVERY_S)
        results.put({"published": node.tally.published})
        node.stop()

    asyncio.run(go())


def flood(text: str, network: Network, seconds: float, begin: Barrier, results: Any, kind: str, rate: float) -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
    sock.connect((network.group, network.port))
    ready = bundles(KINDS[kind](KeyRing.parse(text)))
    begin.wait()
    time.sleep(2.0)
    sent, began = 0, time.monotonic()
    for bundle in itertools.cycle(ready):
        passed_s = time.monotonic() - began
        if passed_s >= seconds:
            break
        time.sleep(max(0.0, sent / rate - passed_s))
        send(sock, bundle)
        sent += len(bundle)
    results.put({"sent": sent})


def bundles(datagrams: list[bytes]) -> list[list[bytes]]:
    """Each of datagrams of one length, as many as the system takes at once."""
    bundled: list[list[bytes]] = []
    for size, same in itertools.groupby(sorted(datagrams, key=len), len):
        some, most = list(same), min(AT_ONCE, MOST_BYTES // size)
        bundled += [some[at : at + most] for at in range(0, len(some), most)]
    return bundled


def send(sock: socket.socket, bundle: list[bytes]) -> None:
    try:
        sock.sendmsg([b"".join(bundle)], [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("=H", len(bundle[0])))])
    except OSError:  # a system that does not know this
        for datagram in bundle:
            sock.send(datagram)


def resident_kb() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
