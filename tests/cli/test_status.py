from __future__ import annotations

import contextlib
import os
import pty
import select
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roamcast.cli.status import page
from roamcast.net.keep.store import StoreCounts
from roamcast.net.node.status import NamedStatus, NodeStatus
from roamcast.net.refusal import Tally
from roamcast.net.trust.keys import KeyRing
from tests.cli.conftest import PATIENCE_S, OneLine, Started, Typed, command, stopped


class Terminal:
    """A command at a terminal, as somebody sees it who types it."""

    def __init__(self, *words: str, cwd: Path) -> None:
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(cwd)
            os.environ |= {"TERM": "xterm", "COLUMNS": "100", "LINES": "60"}
            os.execv(sys.executable, command(*words))
        self.pid = pid
        self.seen = ""

    def wait_for(self, text: str) -> None:
        """Until it shows this, after all that was waited for before."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            assert select.select([self.fd], [], [], max(0.0, deadline - time.monotonic()))[0], (text, self.seen[-3000:])
            self.seen += os.read(self.fd, 65_536).decode(errors="replace")
        self.seen = self.seen.partition(text)[2]

    def press(self, key: bytes) -> None:
        os.write(self.fd, key)

    def left(self) -> int:
        """Its exit status."""
        with contextlib.suppress(OSError):  # which is how a terminal says that nobody is there any more
            while data := os.read(self.fd, 65_536):
                self.seen += data.decode(errors="replace")
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_status_is_live_at_a_terminal(start: Started, tmp_path: Path, roamcast: Typed, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    node = start("a")
    watched, other = (Terminal("status", "--state", "a", "--every", "0.1", cwd=tmp_path) for _ in range(2))
    for terminal in (watched, other):
        terminal.wait_for("rates since the start")
        terminal.wait_for("rates ")
    for n in range(3):
        assert roamcast("publish", "news", f"n={n}", "--state", "a")[0] == 0
    watched.wait_for("publications")
    watched.wait_for("│ 3 ")
    watched.wait_for("published")
    watched.press(b"\x03")
    assert watched.left() == 0
    assert "\x1b[?1049l" in watched.seen, "the terminal is as it was before"
    assert "Traceback" not in watched.seen
    assert stopped(node) == ""
    assert other.left() == 75
    assert other.seen.endswith("roamcast: the node has stopped\r\n")


def test_after_a_node_was_killed_status_says_that_none_runs(
    start: Started, tmp_path: Path, roamcast: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    node = start("a")
    node.kill()
    node.wait()
    assert (tmp_path / "a" / "control").exists()
    message = "roamcast: no node runs on the state a (`roamcast node --state a`)\n"
    assert roamcast("status", "--state", "a") == (2, "", message)
    assert stopped(start("a")) == "", "what was left is in nobody's way"


def test_rates_are_of_the_time_between_two_looks() -> None:
    from rich.console import Console

    now = NodeStatus(
        node=7,
        protocol="gossip",
        secure=True,
        keys=["00aa"],
        sending_key="00aa",
        network=True,
        media=[],
        up_s=12.0,
        neighbours=[],
        subscriptions={1: 'name = "[/x]"'},
        queue=0,
        timers=0,
        airtime_s=0.5,
        routing_entries=0,
        routing_bytes=0,
        decisions={},
        **{**Tally().as_dict(), "delivered": 30, "dropped": {"forged": 3}},  # type: ignore[arg-type]
        pid=1,
        speed_mps=None,
        moving=False,
        public="",
        stored=StoreCounts(0, 0, 0, 0, 0, 0, 0),
        delivered_before=0,
        rotation="",
        named=[NamedStatus("[/y]", 'name = "[/z]"', 0)],
    )
    before = msgspec.structs.replace(now, delivered=10, up_s=10.0, airtime_s=0.4)
    console = Console(width=100, record=True, quiet=False, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(page(now, before))
    text = console.export_text()
    (delivered,) = (row for row in text.splitlines() if "delivered" in row)
    assert "10.0" in delivered
    assert "5.00 %" in text
    assert "forged" in text
    assert all(mark in text for mark in ("[/x]", "[/y]", "[/z]"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["status"], "no node runs on the state state"),
        (["status", "--every", "0"], "--every 0: must be above 0"),
    ],
)
def test_wrong_input_is_one_line(one_line: OneLine, words: list[str], message: str) -> None:
    one_line(words, message)
