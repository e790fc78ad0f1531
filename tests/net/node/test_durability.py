"""What each choice of durability promises when a node is killed, and what it gives up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.net.config import configured
from roamcast.net.keep.durability import CURSOR_GROUP
from roamcast.net.node.node import Node
from tests.net.node.nodes import config, run, take

COUNT = 2 * CURSOR_GROUP + 40


async def publish(state: Path, key: str, durability: str) -> None:
    async with Node(config(key, state=str(state), durability=durability)) as node:
        node.subscribe("exists n", name="app")
        for n in range(COUNT):
            await node.publish("news", {"n": n})


KILLED = """
import asyncio, os, signal, sys
from roamcast.net.config import Config
from roamcast.net.node.node import Node
from tests.net.node.nodes import config

async def go():
    state, key, durability, count = sys.argv[1:]
    node = Node(config(key, state=state, durability=durability))
    await node.start()
    subscription = node.subscribe("exists n", name="app")
    for _ in range(int(count)):
        print((await anext(subscription)).attrs["n"], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(go())
"""


@pytest.mark.parametrize(("durability", "again"), [("each", 0), ("group", CURSOR_GROUP), ("none", CURSOR_GROUP)])
def test_a_killed_node_loses_nothing_and_hands_over_again_only_what_it_may(
    tmp_path: Path, key: str, durability: str, again: int
) -> None:
    run(publish(tmp_path / "state", key, durability))
    words = [sys.executable, "-c", KILLED, str(tmp_path / "state"), key, durability, str(CURSOR_GROUP + 30)]
    killed = subprocess.run(words, capture_output=True, text=True, timeout=60, env=os.environ, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    before = [int(line) for line in killed.stdout.split()]
    assert before == list(range(CURSOR_GROUP + 30))

    async def go() -> None:
        async with Node(config(key, state=str(tmp_path / "state"), durability=durability)) as node:
            subscription = node.subscribe("exists n", name="app")
            (first,) = await take(subscription, 1)
            assert len(before) - again <= first <= len(before)
            assert await take(subscription, COUNT - first - 1) == list(range(first + 1, COUNT))
        async with Node(config(key, state=str(tmp_path / "state"), durability=durability)) as node:
            await node.publish("news", {"n": -1})
            assert await take(node.subscribe("exists n", name="app"), 1) == [-1], "an orderly stop repeats nothing"

    run(go())


def test_a_wrong_choice_gets_one_line() -> None:
    with pytest.raises(InputError, match="durability: invalid enum value 'some'"):
        configured({"insecure": True, "durability": "some"})
