"""Speed from gpsd: from a server that speaks its protocol, and from the real one with a receiver that is a script."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from math import isnan, nan
from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.net.node.gps import WATCH, Gpsd, Place, place, speed_in
from roamcast.net.node.node import Node
from tests.net.node.nodes import config, run, until

VERSION = b'{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}\n'


def report(**fields: Any) -> bytes:
    import json

    return json.dumps({"class": "TPV", "device": "/dev/ttyUSB0", "mode": 3, **fields}).encode() + b"\r\n"


@pytest.mark.parametrize(
    ("line", "speed"),
    [
        (report(speed=1.25, track=77.0), 1.25),
        (report(speed=0), 0.0),
        (report(mode=2, speed=3.5), 3.5),
        (report(mode=1, speed=3.5), nan),
        (report(mode=0), nan),
        (report(), nan),
        (report(speed=-1), nan),
        (b'{"class":"SKY","satellites":[]}', None),
        (VERSION, None),
        (b'{"class":"TPV","mode":"three"}', None),
        (b"not JSON", None),
        (b"[" * 5000, None),
    ],
)
def test_lines_of_gpsd(line: bytes, speed: float | None) -> None:
    got = speed_in(line)
    assert got is None if speed is None else got is not None and (got == speed or (isnan(got) and isnan(speed)))


def test_places() -> None:
    assert place("gpsd://") == Place("localhost", 2947)
    assert place("gpsd://rover:1234") == Place("rover", 1234)
    for wrong in ("rover", "http://rover", "gpsd://rover:x", "gpsd://rover/dev", "/dev/ttyUSB0"):
        with pytest.raises(InputError, match=r"gps '.*': must be gpsd://HOST:PORT"):
            place(wrong)


def test_a_node_moves_as_gpsd_reports_and_survives_its_restart(
    key: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("roamcast.net.node.gps.AGAIN_S", 0.05)
    asked: list[bytes] = []
    lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(VERSION)
        asked.append(await reader.readline())
        while line := await lines.get():
            writer.write(line)
            await writer.drain()
        writer.close()

    async def go() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, Node(config(key, protocol="psamanet", params={}, gps=f"gpsd://127.0.0.1:{port}")) as node:
            assert node.status().speed_mps is None
            lines.put_nowait(report(speed=4.5))
            await until(lambda: node.status().speed_mps == 4.5)
            assert (node.status().moving, node.runner.host.speed()) == (True, 4.5)
            lines.put_nowait(b"")  # it closes the connection
            await until(lambda: node.status().speed_mps is None)
            assert node.status().moving, "until it is known to be at rest"
            lines.put_nowait(report(speed=0.1))
            await until(lambda: node.status().speed_mps == 0.1)
            assert not node.status().moving

    with caplog.at_level(logging.WARNING):
        run(go())
    assert asked == [WATCH, WATCH]
    assert "no speed from gpsd://127.0.0.1" in caplog.text
    assert "must know when its node moves" not in caplog.text


def nmea(knots: float) -> bytes:
    body = f"GPRMC,123519,A,4807.038,N,01131.000,E,{knots:05.1f},084.4,230394,003.1,W"
    return f"${body}*{reduce(lambda a, b: a ^ b, body.encode()):02X}\r\n".encode()


@contextmanager
def receiver(knots: float) -> Iterator[str]:
    """A terminal on which a receiver at this speed reports five times a second."""
    master, slave = os.openpty()
    stop = threading.Event()

    def speak() -> None:
        while not stop.wait(0.2):
            os.write(master, nmea(knots))

    thread = threading.Thread(target=speak)
    thread.start()
    try:
        yield os.ttyname(slave)
    finally:
        stop.set()
        thread.join()
        os.close(master)
        os.close(slave)


@pytest.mark.skipif(shutil.which("gpsd") is None, reason="gpsd is not installed")
def test_the_real_gpsd(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    speeds: list[float] = []
    with receiver(10.0) as terminal:
        words = ["gpsd", "-N", "-n", "-b", "-P", str(tmp_path / "pid"), "-S", str(port), terminal]
        daemon = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        try:

            async def go() -> None:
                gpsd = Gpsd(Place("127.0.0.1", port), speeds.append)
                task = asyncio.create_task(gpsd.run())
                await until(lambda: any(speed > 0 for speed in speeds))
                task.cancel()

            run(go())
        finally:
            daemon.kill()
            daemon.wait()
    assert speeds[-1] == pytest.approx(10 * 1852 / 3600, abs=0.02)
