"""Nodes are killed again and again while they publish and receive: no acknowledged event is lost, and none comes twice.

They are killed a hundred times, subscribers alone ten times with each protocol that repairs losses; ROAMCAST_CRASHES in
the environment sets another number. In a line of three each is killed three times, or ROAMCAST_KILLS times.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from roamcast.net.keep.store import Store
from roamcast.net.trust.identity import Identity, Roster
from roamcast.net.trust.keys import KeyRing
from tests.conformance.real import network
from tests.net.crashing import LineFile, publish, publish_at_the_end, receive, receive_at_the_end, relay

CRASHES = int(os.environ.get("ROAMCAST_CRASHES", "100"))
LIFE_S = 0.12
PATIENCE_S = 60.0
KILLS = int(os.environ.get("ROAMCAST_KILLS", "3"))
"""How often each of publisher, relay and subscriber is killed in a line of three."""
PAUSE_S = 0.01
EACH = 30
"""Events that one process publishes, unless it is killed before."""


class Processes:
    """Starts and kills processes, which are forked from a server that has imported everything."""

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


REPAIRING: dict[str, dict[str, Any]] = {
    "roam": {"protocol": "roam"},
    "frugal": {"protocol": "frugal", "params": {"hb_upper_s": 0.3, "hb_initial_s": 0.3}},
}


@pytest.mark.parametrize("protocol", REPAIRING)
def test_a_subscriber_that_is_killed_again_and_again_misses_nothing(tmp_path: Path, protocol: str) -> None:
    """Its publisher goes on meanwhile, and takes it for a neighbour that hears everything."""
    KeyRing.new().save(tmp_path / "group.key")
    processes, dice, how = Processes(tmp_path), random.Random(1), REPAIRING[protocol]
    acknowledged, careful = LineFile(str(tmp_path / "acknowledged")), LineFile(str(tmp_path / "careful"))
    kills = CRASHES // 10
    count = 20 * kills
    try:
        receiver = processes.start(receive, how)
        processes.start(publish, 0, count, how, 0.01)
        for _ in range(kills):
            time.sleep(dice.random() * LIFE_S)
            processes.kill(receiver)
            receiver = processes.start(receive, how)
        deadline = time.monotonic() + PATIENCE_S
        while len(careful.lines()) < count and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        processes.kill(*(process for process in processes.all if process.is_alive()))
    assert [n for n, _ in acknowledged.lines()] == list(range(count))
    assert sorted(n for n, _ in careful.lines()) == list(range(count)), "each once"


def test_no_acknowledged_event_is_lost_and_none_comes_twice(tmp_path: Path) -> None:
    KeyRing.new().save(tmp_path / "group.key")
    processes, dice = Processes(tmp_path), random.Random(1)
    acknowledged, careful, trusting = (
        LineFile(str(tmp_path / name)) for name in ("acknowledged", "careful", "trusting")
    )
    try:
        publisher, receiver = processes.start(publish, 0, EACH), processes.start(receive)
        crashes = 0
        while crashes < CRASHES:
            time.sleep(dice.random() * LIFE_S)
            crashes += 1
            if dice.random() < 0.5:
                processes.kill(publisher)
                publisher = processes.start(publish, crashes * EACH, EACH)
            else:
                processes.kill(receiver)
                receiver = processes.start(receive)
        processes.kill(publisher)
        processes.start(publish, 0, 0)  # it publishes its earlier events again, and no new ones
        published = {n for n, _ in acknowledged.lines()}
        deadline = time.monotonic() + PATIENCE_S
        while not published <= {n for n, _ in careful.lines()} and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        processes.kill(*(process for process in processes.all if process.is_alive()))
    had = [n for n, _ in careful.lines()]
    assert published, "nothing was ever published"
    assert published <= set(had), f"{len(published - set(had))} of {len(published)} acknowledged publications are lost"
    assert len(had) == len(set(had)), "an event came twice to the application that keeps its position"
    positions = [position for _, position in careful.lines()]
    assert positions == sorted(set(positions))
    trusted = [n for (n,) in trusting.lines()]
    assert len(trusted) == len(set(trusted)), "an event came twice to the application that trusts the node"
    events = [event for _, event in acknowledged.lines()]
    assert len(events) == len(set(events)), "a number was used for two events"
    print(
        f"{crashes} crashes, {len(published)} acknowledged, {len(had)} received, {len(published - set(trusted))} dying"
    )


def test_publisher_relay_and_subscriber_are_killed_again_and_again(tmp_path: Path) -> None:
    """A line of three: events reach the subscriber only through a relay that subscribes to nothing. Each of the three
    is killed `KILLS` times, in any order, while events are published."""
    KeyRing.new().save(tmp_path / "group.key")
    (tmp_path / "roster.toml").write_text(Roster(dict(zip((1, 2, 3), identities(tmp_path), strict=True))).text())
    processes, dice = Processes(tmp_path), random.Random(1)
    acknowledged, careful, trusting = (
        LineFile(str(tmp_path / name)) for name in ("acknowledged", "careful", "trusting")
    )
    turns = dice.sample([1, 2, 3] * KILLS, 3 * KILLS)
    nodes = {3: processes.start(receive_at_the_end), 2: processes.start(relay)}
    try:
        nodes[1] = processes.start(publish_at_the_end, 0, EACH, PAUSE_S)
        for n, place in enumerate(turns, 1):
            time.sleep(dice.random() * 2 * LIFE_S)
            processes.kill(nodes[place])
            more = {1: (publish_at_the_end, n * EACH, EACH, PAUSE_S), 2: (relay,), 3: (receive_at_the_end,)}
            nodes[place] = processes.start(*more[place])
        processes.kill(nodes[1])
        processes.start(publish_at_the_end, 0, 0, PAUSE_S)  # it publishes its earlier events again, and no new ones
        published = [n for n, _ in acknowledged.lines()]
        deadline = time.monotonic() + PATIENCE_S * (1 + KILLS / 50)
        while not set(published) <= {n for n, _ in careful.lines()} and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        processes.kill(*(process for process in processes.all if process.is_alive()))
    had, trusted = [n for n, _ in careful.lines()], [n for (n,) in trusting.lines()]
    print(
        f"{KILLS} kills each: {len(published)} acknowledged, {len(had)} received, {len(set(published) - set(had))} lost"
    )
    assert len(published) > 3 * KILLS
    assert set(published) <= set(had), f"{len(set(published) - set(had))} of {len(published)} acknowledged are lost"
    assert len(had) == len(set(had)), "an event came twice to the application that keeps its position"
    assert len(trusted) == len(set(trusted)), "an event came twice to the application that trusts the node"


def identities(folder: Path) -> list[bytes]:
    """The public keys of nodes 1 to 3, made before they start."""
    publics = []
    for place in (1, 2, 3):
        with Store(folder / str(place)) as store:
            publics.append(Identity.of(store.values).public)
    return publics
