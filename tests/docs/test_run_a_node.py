"""The commands of docs/how-to/run-a-node.md do what the page says, with a real node, one application each."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.net.control.client import Connection
from roamcast.net.control.messages import Status, StatusReply
from roamcast.net.trust.keys import KeyRing
from tests.conformance.real import PORT
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "how-to" / "run-a-node.md").read_text()
PATIENCE_S = 60.0


def words(verb: str) -> list[str]:
    """The first command with this verb, as it is printed."""
    command, *_ = re.findall(rf"^\$ roamcast ({verb} .*--state ~/node)$", PAGE, re.MULTILINE)
    return shlex.split(command)


class Machine:
    """Its home is a folder; it has a loopback interface instead of a radio."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT / "src")}
        self.environment["ROAMCAST_NETWORK_PORT"] = str(PORT)
        self.running: list[subprocess.Popen[str]] = []

    def start(self, verb: str) -> subprocess.Popen[str]:
        typed = [word.replace("wlan0", "lo").replace("~", str(self.home)) for word in words(verb)]
        process = subprocess.Popen(
            [sys.executable, "-m", "roamcast", *typed],
            cwd=self.home,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(process)
        return process

    def status(self) -> StatusReply | None:
        try:
            with Connection(self.home / "node") as node:
                reply: StatusReply = node.request(Status(), StatusReply)
                return reply
        except InputError:
            return None

    def wait_for_subscriptions(self, count: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while (status := self.status()) is None or len(status.subscriptions) != count:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    KeyRing.new().save(tmp_path / "group.key")
    made = Machine(tmp_path)
    yield made
    for process in made.running:
        process.kill()
        process.communicate()


def test_what_one_terminal_publishes_another_one_prints(machine: Machine) -> None:
    node = machine.start("node")
    machine.wait_for_subscriptions(0)
    subscriber = machine.start("subscribe")
    machine.wait_for_subscriptions(1)
    published = machine.start("publish")
    assert published.communicate(timeout=PATIENCE_S) == ("", "")
    assert subscriber.stdout is not None
    (shown,) = re.findall(r"^(weather\.roof .* from )\d+$", PAGE, re.MULTILINE)
    status = machine.status()
    assert status is not None
    assert subscriber.stdout.readline() == f"{shown}{status.node}\n"
    assert (status.own, status.published, status.delivered) == (1, 1, 0)
    node.terminate()
    out, errors = node.communicate(timeout=PATIENCE_S)
    assert (out, errors.count("\n")) == ("", 1)
    assert errors.startswith("roamcast: by default this node sends at most")
