"""Killed again and again, in the middle of publishing and of receiving: nothing acknowledged is lost, nothing comes
twice.

A hundred times; ROAMCAST_CRASHES in the environment asks for another number.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from roamcast.net.trust.keys import KeyRing
from tests.conformance.real import network
from tests.net.crashing import Diary, publish, receive

CRASHES = int(os.environ.get("ROAMCAST_CRASHES", "100"))
LIFE_S = 0.12
PATIENCE_S = 60.0
EACH = 30
"""Publications of one life, if it lasts."""


class Lives:
    """Processes that are started, and killed; forked from a server that has imported everything before."""

    def __init__(self, folder: Path) -> None:
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["tests.net.crashing"])
        self.folder = str(folder)
        self.network = network()
        self.all: list[BaseProcess] = []

    def start(self, target: Any, *arguments: Any) -> BaseProcess:
        ready = self.context.Event()
        process = self.context.Process(target=target, args=(self.folder, self.network, ready, *arguments))
        process.start()
        self.all.append(process)
        assert ready.wait(PATIENCE_S)
        return process

    def kill(self, *processes: BaseProcess) -> None:
        for process in processes:
            process.kill()
        for process in processes:
            process.join()


def test_nothing_acknowledged_is_lost_and_nothing_comes_twice(tmp_path: Path) -> None:
    KeyRing.new().save(tmp_path / "group.key")
    lives, dice = Lives(tmp_path), random.Random(1)
    acknowledged, careful, trusting = (Diary(str(tmp_path / name)) for name in ("acknowledged", "careful", "trusting"))
    try:
        publisher, receiver = lives.start(publish, 0, EACH), lives.start(receive)
        crashes = 0
        while crashes < CRASHES:
            time.sleep(dice.random() * LIFE_S)
            crashes += 1
            if dice.random() < 0.5:
                lives.kill(publisher)
                publisher = lives.start(publish, crashes * EACH, EACH)
            else:
                lives.kill(receiver)
                receiver = lives.start(receive)
        lives.kill(publisher)
        lives.start(publish, 0, 0)  # says again what it has said before, and no more
        said = {n for n, _ in acknowledged.lines()}
        deadline = time.monotonic() + PATIENCE_S
        while not said <= {n for n, _ in careful.lines()} and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        lives.kill(*(life for life in lives.all if life.is_alive()))
    had = [n for n, _ in careful.lines()]
    assert said, "nothing was ever published"
    assert said <= set(had), f"{len(said - set(had))} of {len(said)} acknowledged publications are lost"
    assert len(had) == len(set(had)), "an event came twice to the application that keeps its position"
    positions = [position for _, position in careful.lines()]
    assert positions == sorted(set(positions))
    trusted = [n for (n,) in trusting.lines()]
    assert len(trusted) == len(set(trusted)), "an event came twice to the application that trusts the node"
    events = [event for _, event in acknowledged.lines()]
    assert len(events) == len(set(events)), "a number was used for two events"
    print(f"{crashes} crashes, {len(said)} acknowledged, {len(had)} received, {len(said - set(trusted))} while dying")
