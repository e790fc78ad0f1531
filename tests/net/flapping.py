"""What happens to a node when its interface comes and goes; run in its own network namespace (air/test_udp.py).

Two nodes on one interface send by multicast. Prints a JSON object: for each stage, whether frames arrived in both
directions.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

from roamcast.net.air.medium import Network
from roamcast.net.air.udp import UdpMedium
from roamcast.net.durable import MemoryValues
from roamcast.net.host.runner import Runner
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.protocols.kit.interface import Params
from tests.conformance.driver import Ping, Probe

WAIT_S = 6.0


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def make_interface(address: str) -> None:
    ip("link", "add", "air0", "type", "veth", "peer", "name", "air1")
    ip("link", "set", "air1", "up")
    ip("link", "set", "air0", "up")
    ip("addr", "add", address, "dev", "air0", *(["nodad"] if ":" in address else []))


def broadcast(runner: Runner, number: int) -> None:
    runner.host.broadcast(Ping(number))


def numbers(runner: Runner) -> list[int]:
    assert isinstance(runner.protocol, Probe)
    return [number for number, _ in runner.protocol.numbers()]


async def talk(runners: list[Runner], number: int) -> bool:
    """Whether they hear each other soon; frames are repeated like a protocol's beacons."""
    deadline = asyncio.get_running_loop().time() + WAIT_S
    while asyncio.get_running_loop().time() < deadline:
        for runner in runners:
            broadcast(runner, number)
        await asyncio.sleep(0.1)
        if all(number in numbers(runner) for runner in runners):
            return True
    return False


async def listen(runners: list[Runner], number: int) -> bool:
    """The same, but only the first sends: the other must recover although no send of its own failed."""
    deadline = asyncio.get_running_loop().time() + WAIT_S
    while asyncio.get_running_loop().time() < deadline:
        broadcast(runners[0], number)
        await asyncio.sleep(0.1)
        if number in numbers(runners[1]):
            return True
    return False


async def main(group: str, first: str, second: str) -> dict[str, object]:
    ring = KeyRing.new()
    runners = [
        Runner(Probe, Params(), Membership.secure(MemoryValues(), ring), UdpMedium(Network(group, 7667, "air0")))
        for _ in range(2)
    ]
    for runner in runners:
        runner.start()
    results: dict[str, object] = {"before there is an interface": runners[0].lanes[0].medium.up()}
    broadcast(runners[0], 1)
    make_interface(first)
    results["the interface appears"] = await talk(runners, 2)
    results["while it is up"] = runners[0].status().network
    ip("link", "set", "air0", "down")
    await asyncio.sleep(0.5)
    results["while it is down"] = runners[0].status().network
    broadcast(runners[0], 3)
    ip("link", "set", "air0", "up")
    ip("addr", "replace", first, "dev", "air0", *(["nodad"] if ":" in first else []))
    results["down and up again"] = await talk(runners, 4)
    ip("addr", "flush", "dev", "air0", "scope", "global")
    ip("addr", "add", second, "dev", "air0", *(["nodad"] if ":" in second else []))
    results["another address"] = await talk(runners, 5)
    ip("link", "del", "air0")
    await asyncio.sleep(0.5)
    make_interface(first)
    results["another interface of that name"] = await listen(runners, 6)
    results["both ways"] = await talk(runners, 7)
    results["heard while there was no network"] = sorted({n for h in runners for n in numbers(h)} & {1, 3})
    results["errors"] = [runner.tally.dropped["protocol error"] for runner in runners]
    results["no network"] = runners[0].tally.dropped["no network"]
    for runner in runners:
        runner.stop()
    return results


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
