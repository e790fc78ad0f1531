"""Two nodes, and mosquitto, in one run: `python bench/throughput.py [--events 6000] [--protocol gossip]`.

Two node processes on the loopback interface, signed and encrypted, with their stores on this disk. One application
publishes, with `--in-flight` requests at a time; the other one has a subscription with a name. Then the same through
mosquitto at QoS 1 with its own clients, if it is installed (`apt-get install mosquitto mosquitto-clients`). Mosquitto
neither encrypts nor signs here, and does not wait for the disk: its guarantee is that of durability = "none".

Prints a line for each: events a second from the first publication to the last delivery, how many arrived, the time from
`publish` to the application at a fixed rate, as median and 99th percentile, and the processor time of each node for one
event, which does not depend on what else this machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

from roamcast.net.air.medium import Network
from roamcast.net.config import Config
from roamcast.net.keep.database import Bounds
from roamcast.net.limits import Limits
from roamcast.net.live import DEFAULT_PROTOCOL
from roamcast.net.node.node import Node
from roamcast.net.node.subscription import Subscription
from roamcast.net.trust.keys import KeyRing

QUIET_S = 3.0
"""A receiver that gets nothing for this long has got everything that comes."""
WIRED = Limits(
    rate_bps=1e9,
    airtime_share=1.0,
    queue=500,
    sender_frames_per_s=1e5,
    sender_bytes_per_s=1e9,
    sender_signatures_per_s=1e5,
    address_per_s=1e5,
    strangers_per_s=1e5,
)
PERSON = {"station": "roof", "temperature": 31.5, "humidity": 40}


def config(folder: str, name: str, durability: str, port: int, protocol: str) -> Config:
    return Config(
        state=f"{folder}/{name}",
        key=f"{folder}/group.key",
        protocol=protocol,
        durability=durability,
        network=Network("239.255.201.9", port, "lo"),
        limits=WIRED,
        bounds=Bounds(publications=100_000, received=100_000, known=200_000),
    )


# ---- nodes


def subscriber(config: Config, events: int, pipe: Any) -> None:
    async def go() -> list[tuple[float, float]]:
        times: list[tuple[float, float]] = []
        async with Node(config) as node:
            subscription = node.subscribe("exists sent", name="bench")
            pipe.send("ready")
            watch = asyncio.create_task(close_when_quiet(subscription, times))
            async for event in subscription:
                times.append((float(event.attrs["sent"]), time.monotonic()))
                if len(times) == events:
                    break
            watch.cancel()
        return times

    began = time.process_time()
    times = asyncio.run(go())
    pipe.send((times, time.process_time() - began))


async def close_when_quiet(subscription: Subscription, times: list[tuple[float, float]]) -> None:
    before = -1
    while before != len(times) or not times:
        before = len(times)
        await asyncio.sleep(QUIET_S)
    subscription.close()


def publisher(config: Config, events: int, rate: float, in_flight: int, pipe: Any) -> None:
    async def go() -> None:
        async with Node(config) as node:
            places = asyncio.Semaphore(in_flight)

            async def publish() -> None:
                async with places:
                    await node.publish("weather", {**PERSON, "sent": time.monotonic()}, bytes(32), validity_s=600)

            began, tasks = time.monotonic(), []
            for n in range(events):
                if rate:
                    await asyncio.sleep(max(0.0, began + n / rate - time.monotonic()))
                elif n % in_flight == 0:
                    await asyncio.sleep(0)
                await places.acquire()
                places.release()
                tasks.append(asyncio.create_task(publish()))
            await asyncio.gather(*tasks)
            pipe.send(time.process_time() - spent)
            await asyncio.to_thread(pipe.recv)

    spent = time.process_time()
    asyncio.run(go())


class Measured(NamedTuple):
    times: list[tuple[float, float]]  # of sending and receiving
    publisher_s: float = nan  # of a processor
    subscriber_s: float = nan


def through_nodes(protocol: str, durability: str, events: int, rate: float, in_flight: int) -> Measured:
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        KeyRing.new().save(f"{folder}/group.key")
        port = free_port()
        (mine, its), (ours, others) = context.Pipe(), context.Pipe()
        receiver = context.Process(
            target=subscriber, args=(config(folder, "b", durability, port, protocol), events, its)
        )
        receiver.start()
        mine.recv()
        sender = context.Process(
            target=publisher, args=(config(folder, "a", durability, port, protocol), events, rate, in_flight, others)
        )
        sender.start()
        publisher_s = ours.recv()
        times, subscriber_s = mine.recv()
        ours.send("stop")
        sender.join()
        receiver.join()
    return Measured(times, publisher_s, subscriber_s)


# ---- mosquitto


def through_mosquitto(events: int, rate: float) -> Measured:
    times: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        port = free_port()
        settings = Path(folder) / "mosquitto.conf"
        settings.write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {folder}/\n"
            "max_queued_messages 0\nuser root\n"
        )
        broker = subprocess.Popen(["mosquitto", "-c", str(settings)], stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            common = ["-h", "127.0.0.1", "-p", str(port), "-q", "1", "-t", "weather"]
            listening = subprocess.Popen(
                ["mosquitto_sub", *common, "-i", "bench", "-c", "-C", str(events)], stdout=subprocess.PIPE, text=True
            )
            time.sleep(0.5)
            speaking = subprocess.Popen(["mosquitto_pub", *common, "-l"], stdin=subprocess.PIPE, text=True)
            reader = threading.Thread(target=read_lines, args=(listening.stdout, times))
            reader.start()
            assert speaking.stdin is not None
            began = time.monotonic()
            for n in range(events):
                if rate:
                    time.sleep(max(0.0, began + n / rate - time.monotonic()))
                line = json.dumps({**PERSON, "sent": time.monotonic(), "payload": "0" * 64})
                speaking.stdin.write(line + "\n")
                if rate:
                    speaking.stdin.flush()
            speaking.stdin.close()
            reader.join(60)
            for process in (listening, speaking):
                process.terminate()
                process.wait()
        finally:
            broker.send_signal(signal.SIGTERM)
            broker.wait()
    return Measured(times)


def read_lines(stream: Any, times: list[tuple[float, float]]) -> None:
    for line in stream:
        times.append((json.loads(line)["sent"], time.monotonic()))


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    sys.exit("mosquitto does not answer")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# ---- results


def row(name: str, fast: Measured, slow: Measured, events: int) -> str:
    spent_s = max(came for _, came in fast.times) - min(sent for sent, _ in fast.times)
    delays = sorted(1000 * (came - sent) for sent, came in slow.times)
    p50, p99 = (delays[int(len(delays) * share)] for share in (0.5, 0.99))
    arrived = len(fast.times)
    costs = [f"{1e6 * s / events:>10.0f}" if s == s else f"{'':>10}" for s in (fast.publisher_s, fast.subscriber_s)]
    return f"{name:<18}{arrived / spent_s:>10,.0f}{arrived:>9,} of {events:,}{p50:>9.2f}{p99:>9.2f}{''.join(costs)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=6000)
    parser.add_argument("--rate", type=float, default=200.0, help="events a second when latency is measured")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long latency is measured")
    parser.add_argument("--in-flight", type=int, default=128, help="publications at a time")
    parser.add_argument("--protocol", default=DEFAULT_PROTOCOL)
    parser.add_argument("--durability", default="each,group,none")
    chosen = parser.parse_args()
    few = int(chosen.rate * chosen.seconds)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; latency at {chosen.rate:g} events a second\n")
    print(f"{'':<18}{'events/s':>10}{'arrived':>18}{'p50 ms':>9}{'p99 ms':>9}{'us pub.':>10}{'us sub.':>10}")
    for durability in filter(None, chosen.durability.split(",")):
        fast = through_nodes(chosen.protocol, durability, chosen.events, 0.0, chosen.in_flight)
        slow = through_nodes(chosen.protocol, durability, few, chosen.rate, chosen.in_flight)
        print(row(f"roamcast, {durability}", fast, slow, chosen.events), flush=True)
    if shutil.which("mosquitto") and shutil.which("mosquitto_pub"):
        fast, slow = through_mosquitto(chosen.events, 0.0), through_mosquitto(few, chosen.rate)
        print(row("mosquitto, QoS 1", fast, slow, chosen.events))
    else:
        print("mosquitto is not installed")


if __name__ == "__main__":
    main()
