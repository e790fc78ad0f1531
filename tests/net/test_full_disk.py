"""A node on a disk that is really full: a small file system in memory."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roamcast.errors import StoreError
from roamcast.net.config import Config
from roamcast.net.control.server import Control
from roamcast.net.node.node import Node
from roamcast.net.trust.keys import KeyRing
from tests.conformance.real import network

MEGABYTE = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={2 * MEGABYTE}", "roamcast-test", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a file system is not permitted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """A file that takes all the room there is."""
    path = folder / "full"
    with path.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return path


def config(folder: Path, key: Path) -> Config:
    return Config(state=str(folder / "state"), key=str(key), protocol="gossip", network=network())


def test_a_start_on_a_full_disk_may_be_tried_again_and_a_wrong_setting_not(disk: Path, tmp_path: Path) -> None:
    """The documented unit starts a node again after every exit status except 2."""
    key = tmp_path / "group.key"
    KeyRing.new().save(key)

    async def go() -> None:
        async with Node(config(disk, key)) as node:
            await node.publish("news", {"n": 1})

    asyncio.run(go())
    full = fill(disk)
    words = [sys.executable, "-m", "roamcast", "node", "--key", str(key), "--interface", "lo"]
    for state in (disk / "state", disk / "another"):
        left = subprocess.run([*words, "--state", str(state)], capture_output=True, text=True, timeout=60, check=False)
        assert left.returncode == 75, left.stderr
        assert left.stderr.count("\n") == 1
        assert "full" in left.stderr or "no space" in left.stderr
    full.unlink()
    asyncio.run(go())


def test_a_running_node_survives_a_full_disk_and_goes_on_when_there_is_room(disk: Path, tmp_path: Path) -> None:
    key = tmp_path / "group.key"
    KeyRing.new().save(key)

    async def go() -> None:
        async with Node(config(disk, key)) as node:
            await node.publish("news", {"n": 1})
            full = fill(disk)
            with pytest.raises(StoreError, match="full"):
                for n in range(100):  # a page of the file may have had room
                    await node.publish("news", {"n": n}, os.urandom(8192))
            full.unlink()
            await node.publish("news", {"n": 2})

    asyncio.run(go())


def test_a_command_that_may_succeed_later_says_so_by_its_exit_status(disk: Path, tmp_path: Path) -> None:
    key = tmp_path / "group.key"
    KeyRing.new().save(key)
    words = [sys.executable, "-m", "roamcast", "publish", "news", "--payload", "-", "--state", str(disk / "state")]

    def published() -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(words, input=os.urandom(30_000), capture_output=True, timeout=60, check=False)

    async def go() -> None:
        async with Node(config(disk, key)) as node, Control(node):
            full = fill(disk)
            left = await asyncio.to_thread(published)
            for _ in range(100):  # a page of the file may have had room
                if left.returncode:
                    break
                left = await asyncio.to_thread(published)
            assert (left.returncode, left.stderr.count(b"\n")) == (75, 1)
            full.unlink()
            assert (await asyncio.to_thread(published)).returncode == 0

    asyncio.run(go())
