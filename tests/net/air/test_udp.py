from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.net.air.medium import Network, Sent
from roamcast.net.air.udp import AT_ONCE, UdpMedium
from tests.conformance.real import network
from tests.support.warp import WarpLoop

ROOT = Path(__file__).parents[3]


def namespace() -> list[str]:
    """The words in front of a command that run it in its own network namespace."""
    words = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("needs unshare and ip (util-linux, iproute2)")
    if subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        pytest.skip("network namespaces are not permitted here")
    return words


@pytest.mark.parametrize(
    ("group", "first", "second"),
    [
        ("239.255.7.7", "192.0.2.1/24", "198.51.100.1/24"),
        ("ff02::7c:61", "fd00::1/64", "fd01::1/64"),
        ("255.255.255.255", "192.0.2.1/24", "198.51.100.1/24"),
    ],
    ids=["IPv4 multicast", "IPv6 multicast", "broadcast"],
)
def test_nodes_survive_interfaces_that_come_and_go(group: str, first: str, second: str) -> None:
    command = [*namespace(), sys.executable, "-m", "tests.net.flapping", group, first, second]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results.pop("no network") > 0
    assert results == {
        "before there is an interface": False,
        "the interface appears": True,
        "while it is up": True,
        "while it is down": False,
        "down and up again": True,
        "another address": True,
        "another interface of that name": True,
        "both ways": True,
        "heard while there was no network": [],
        "errors": [0, 0],
    }


def test_a_broadcast_reaches_all_and_an_answer_reaches_its_sender_alone() -> None:
    async def go() -> None:
        meeting = network()
        media = [UdpMedium(meeting) for _ in range(3)]
        heard: list[tuple[int, bytes]] = []
        for i, medium in enumerate(media):
            medium.open(lambda data, address, i=i: answer(i, data, address))  # type: ignore[misc]

        def answer(i: int, data: bytes, address: tuple[object, ...]) -> None:
            heard.append((i, data))
            if data == b"hello" and i > 0:
                assert media[i].send(b"answer", address) is Sent.SENT

        assert media[0].send(b"hello") is Sent.SENT
        await asyncio.sleep(0.2)
        assert sorted(heard) == [(0, b"answer"), (0, b"answer"), (0, b"hello"), (1, b"hello"), (2, b"hello")]
        for medium in media:
            medium.close()

    asyncio.run(go())


def test_a_node_waits_for_a_port_that_another_program_does_not_share(caplog: pytest.LogCaptureFixture) -> None:
    meeting = network()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("", meeting.port))
        loop, medium = WarpLoop(), UdpMedium(meeting)

        async def wait() -> bool:
            if medium._loop is None:
                medium.open(lambda *_: None)
            await asyncio.sleep(5.0)
            return medium.up()

        assert not loop.run_until_complete(wait())
        taken.close()
        assert loop.run_until_complete(wait())
    medium.close()
    loop.close()
    messages = [record.message for record in caplog.records]
    busy = f"port {meeting.port} is used by another program that does not share it; waiting"
    assert messages == [busy, "the network is available now"]


def test_a_burst_is_read_in_portions_and_completely() -> None:
    async def go() -> None:
        meeting, heard = network(), list[bytes]()
        one, other = UdpMedium(meeting), UdpMedium(meeting)
        one.open(lambda *_: None)
        other.open(lambda data, _: heard.append(data))
        sent = [n.to_bytes(2, "big") for n in range(3 * AT_ONCE)]
        for data in sent:
            assert one.send(data) is Sent.SENT
        await asyncio.sleep(0.3)
        assert heard == sent
        one.close()
        other.close()

    asyncio.run(go())


def test_the_receiver_may_close_the_medium() -> None:
    async def go() -> None:
        meeting, heard = network(), list[bytes]()
        one, other = UdpMedium(meeting), UdpMedium(meeting)

        def hear(data: bytes, _: object) -> None:
            heard.append(data)
            other.close()

        one.open(lambda *_: None)
        other.open(hear)
        for _ in range(5):
            one.send(b"x")
        await asyncio.sleep(0.2)
        assert heard == [b"x"]
        assert other.send(b"y") is Sent.DOWN
        one.close()

    asyncio.run(go())


@pytest.mark.parametrize(
    ("number", "result"),
    [
        (errno.EAGAIN, Sent.FULL),
        (errno.ENOBUFS, Sent.FULL),
        (errno.ENETUNREACH, Sent.DOWN),
        (errno.ENETDOWN, Sent.DOWN),
        (errno.ENODEV, Sent.DOWN),
        (errno.EADDRNOTAVAIL, Sent.DOWN),
        (errno.EPERM, Sent.DOWN),
        (errno.EMSGSIZE, Sent.TOO_LARGE),
    ],
    ids=lambda x: errno.errorcode.get(x, "") if isinstance(x, int) else "",
)
def test_errors_of_the_system_are_mapped_to_results(number: int, result: Sent) -> None:
    assert UdpMedium(network())._failed(OSError(number, "")) is result


def test_a_datagram_that_is_too_large_is_reported() -> None:
    async def go() -> None:
        medium = UdpMedium(network())
        medium.open(lambda *_: None)
        assert medium.send(bytes(70_000)) is Sent.TOO_LARGE
        medium.close()

    asyncio.run(go())


def test_a_full_buffer_is_reported(tmp_path: Path) -> None:
    """On a slow link (a token bucket filter) datagrams stay in the socket's buffer until there is no room."""
    program = """
import asyncio, subprocess, socket
from roamcast.net.air.medium import Network, Sent
from roamcast.net.air.udp import UdpMedium
def sh(line): subprocess.run(line.split(), check=True, capture_output=True)
sh("ip link add air0 type veth peer name air1"); sh("ip link set air1 up"); sh("ip link set air0 up")
sh("ip addr add 192.0.2.1/24 dev air0")
try: sh("tc qdisc add dev air0 root tbf rate 20kbit burst 2kb limit 10mb")
except (subprocess.CalledProcessError, FileNotFoundError): print("no tc"); raise SystemExit
async def go():
    medium = UdpMedium(Network("239.255.7.7", 7667, "air0")); medium.open(lambda *_: None)
    medium._own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    sent = [medium.send(bytes(1000)) for _ in range(50)]
    print(sent[0], Sent.FULL in sent, medium.up(), set(sent) == {Sent.SENT, Sent.FULL})
asyncio.run(go())
"""
    done = subprocess.run([*namespace(), sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    if done.stdout == "no tc\n":
        pytest.skip("this kernel has no token bucket filter")
    assert done.stdout == "Sent.SENT True True True\n", done.stderr


def test_for_ipv6_on_loopback_the_missing_route_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    async def go() -> None:
        medium = UdpMedium(Network("ff02::7", interface="lo"))
        medium.open(lambda *_: None)
        assert (medium.up(), medium.send(b"x")) == (False, Sent.DOWN)
        medium.close()

    asyncio.run(go())
    (message,) = (record.message for record in caplog.records)
    assert message.startswith("no network on lo: no route for IPv6 multicast (loopback never has one;")


@pytest.mark.parametrize("group", ["fd00::1", "nonsense", ""])
def test_a_wrong_group_gets_one_line(group: str) -> None:
    with pytest.raises(InputError, match="group"):
        UdpMedium(Network(group))


def test_the_headers_of_the_network_are_counted() -> None:
    assert UdpMedium(Network("239.1.2.3", mtu=1500)).datagram_max == 1500 - 28
    assert UdpMedium(Network("ff02::1", interface="lo", mtu=1500)).datagram_max == 1500 - 48


def test_the_group_s_port_is_shared_with_other_nodes_of_this_machine_only_for_listening() -> None:
    async def go() -> None:
        meeting = network()
        media = [UdpMedium(meeting) for _ in range(4)]
        for medium in media:
            medium.open(lambda *_: None)
        assert len({medium.address()[1] for medium in media}) == 4
        assert all(medium.address()[1] != meeting.port for medium in media)
        for medium in media:
            medium.close()
            assert not medium.up()

    asyncio.run(go())
