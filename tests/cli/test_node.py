"""Real nodes on the command line: processes that talk to each other, and one line for what is wrong."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roamcast.cli.publish import value
from roamcast.cli.status import page
from roamcast.cli.subscribe import line
from roamcast.errors import InputError
from roamcast.net import control
from roamcast.net.control import Connection
from roamcast.net.security import KeyRing
from tests.cli.conftest import Typed
from tests.conformance.real import PORT

PATIENCE_S = 60.0
Started = Callable[..., Any]


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "roamcast", *words]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Started]:
    """Start a node and wait until it says that it is ready, as systemd does."""
    running: list[subprocess.Popen[str]] = []

    def go(name: str, *more: str, key: bool = True) -> subprocess.Popen[str]:
        ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        ready.bind(f"\0roamcast-test-{os.getpid()}-{name}")
        ready.settimeout(PATIENCE_S)
        words = ["node", "--state", name, "--interface", "lo", "--port", str(PORT), "--group", "239.255.250.7"]
        words += ["--protocol", "gossip", "--set", "p=1", *(["--key", "group.key"] if key else []), *more]
        environment = {**os.environ, "NOTIFY_SOCKET": f"@roamcast-test-{os.getpid()}-{name}"}
        node = subprocess.Popen(command(*words), cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
        running.append(node)
        assert ready.recv(100) == b"READY=1"
        ready.close()
        return node

    yield go
    for node in running:
        if node.poll() is None:
            node.kill()
        node.wait()
        if node.stderr is not None:
            node.stderr.close()


def stopped(node: subprocess.Popen[str]) -> str:
    """What it said, after it was told to stop."""
    node.send_signal(signal.SIGTERM)
    _, said = node.communicate(timeout=PATIENCE_S)
    assert node.returncode == 0, said
    return said


def test_two_nodes_talk(start: Started, tmp_path: Path, roamcast: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, _ = roamcast("key", "new", "group.key")
    assert status == 0
    assert "copy it to every node" in out
    one, other = start("a"), start("b", "--log", "log")
    listener = subprocess.Popen(
        command("subscribe", "temperature > 30", "--state", "b", "--count", "2", "--json"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    with Connection("b") as node:
        deadline = time.monotonic() + PATIENCE_S
        while not node.ask("status")["subscriptions"]:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    assert roamcast("publish", "weather.roof", "temperature=31.5", "--payload", "hi", "--state", "a")[0] == 0
    assert roamcast("publish", "weather.roof", "temperature=12", "--state", "a")[0] == 0
    status, out, _ = roamcast("publish", "", "temperature=40", "room=lab", "--validity", "60", "--state", "a", "--json")
    id = json.loads(out)["id"]
    out, _ = listener.communicate(timeout=PATIENCE_S)
    first, second = (json.loads(text) for text in out.splitlines())
    assert (first["topic"], first["attrs"], first["validity_s"]) == ("weather.roof", {"temperature": 31.5}, None)
    assert (second["id"], second["attrs"], second["validity_s"]) == (id, {"temperature": 40, "room": "lab"}, 60.0)
    assert line(first) == f'weather.roof temperature=31.5 "hi" from {id >> 32}'

    status, out, _ = roamcast("status", "--state", "b", "--json")
    told = json.loads(out)
    assert [peer["node"] for peer in told["neighbours"]] == [id >> 32]
    status, out, _ = roamcast("status", "--state", "b")
    assert (status, str(id >> 32) in out, "rates since the start" in out) == (0, True, True)
    assert stat.S_IMODE((tmp_path / "b" / "control").stat().st_mode) == 0o600

    status, out, err = roamcast("node", "--state", "a", "--key", "group.key", "--interface", "lo")
    assert (status, err) == (2, "roamcast: a: another node is running on this state\n")
    assert stopped(one) == ""
    assert stopped(other) == ""
    assert list((tmp_path / "log").glob("*.parquet"))
    assert not (tmp_path / "b" / "control").exists()


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
    assert other.left() == 2
    assert other.seen.endswith("roamcast: the node has gone\r\n")


def test_a_name_outlives_the_command(start: Started, tmp_path: Path, roamcast: Typed, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    node = start("a")
    assert roamcast("subscribe", "n > 0", "--name", "x", "--patience", "0.1", "--state", "a") == (0, "", "")
    with Connection("a") as connection:
        assert connection.ask("status")["named"] == [{"name": "x", "filter": "n > 0", "behind": 0}]
    assert roamcast("subscribe", "", "--name", "x", "--forget", "--state", "a")[0] == 0
    status, _, err = roamcast("subscribe", "", "--name", "x", "--forget", "--state", "a")
    assert (status, err) == (2, "roamcast: there is no subscription 'x'\n")
    status, _, err = roamcast("subscribe", "n >", "--state", "a")
    assert status == 2
    assert err.count("\n") == 1
    # the control socket answers nonsense with one line, and goes on
    with Connection("a") as connection:
        for wrong in ("fly", "publish"):
            with pytest.raises(Exception, match=r"cannot do|wrong type"):
                connection.ask(wrong, topic=7)
        connection._socket.sendall(b"nonsense\n")
        with pytest.raises(Exception, match="a request is a JSON object"):
            connection._heard()
        assert connection.ask("status")["node"] >= 0
    # keys are read again
    old = KeyRing.load("group.key").sending.id
    for step in ("next", "promote"):
        roamcast("key", step, "group.key")
    node.send_signal(signal.SIGHUP)
    new, deadline = KeyRing.load("group.key").sending.id, time.monotonic() + PATIENCE_S
    while f"key {new:04x} (also accepted: {old:04x})" not in roamcast("status", "--state", "a")[1]:
        assert time.monotonic() < deadline
    assert stopped(node) == ""


def test_insecure_shouts(start: Started, tmp_path: Path, roamcast: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    node = start("a", "--insecure", key=False)
    _, out, _ = roamcast("status", "--state", "a")
    assert "INSECURE" in out
    assert "INSECURE" in stopped(node)


def test_verbose_says_more(start: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    node = start("a", "-v")
    assert node.stderr is not None
    assert select.select([node.stderr], [], [], PATIENCE_S)[0]
    assert "runs gossip; state in a" in stopped(node)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["node"], "a node needs the group's key: --key FILE"),
        (["node", "--key", "none"], "there is no group key none"),
        (["node", "--key", "none", "--insecure"], "insecure and key exclude each other"),
        (["node", "--insecure", "--port", "0"], "network.port: expected"),
        (["node", "--insecure", "--protocol", "gosip"], "unknown protocol 'gosip'; did you mean 'gossip'?"),
        (["node", "--insecure", "--set", "q=1"], "unknown frugal parameter 'q'"),
        (["node", "--insecure", "--option", "limits.que=1"], "unknown setting 'limits.que'"),
        (["node", "--insecure", "--group", "10.0.0"], "group '10.0.0': must be a multicast or broadcast address"),
        (["node", "--insecure", "--group", "ff02::7"], "group 'ff02::7': is one of every link; say which: --interface"),
        (["node", "--key", "."], "cannot read the group key .: is a directory"),
        (["node", "--config", "none.toml"], "cannot read the configuration none.toml"),
        (["publish", "news"], "no node runs on the state state"),
        (["publish", "news", "x"], "attribute 'x': must be KEY=VALUE"),
        (["subscribe", "n > 0", "--count", "-1"], "--count -1: must be at least 0"),
        (["subscribe", "n > 0", "--patience", "-1"], "--patience -1: must be above 0"),
        (["status"], "no node runs on the state state"),
        (["status", "--every", "0"], "--every 0: must be above 0"),
        (["key", "new", "there"], "there exists; a group key is not overwritten"),
        (["key", "promote", "none"], "there is no group key none"),
    ],
)
def test_wrong_input_is_one_line(
    roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROAMCAST_STATE", "state")
    (tmp_path / "there").write_text("")
    status, out, err = roamcast(*words)
    assert (status, out) == (2, "")
    assert err.startswith(f"roamcast: {said}")
    assert err.count("\n") == 1


def test_a_rotation_has_three_steps(roamcast: Typed, tmp_path: Path) -> None:
    file = str(tmp_path / "group.key")
    roamcast("key", "new", file)
    first = KeyRing.load(file)
    assert roamcast("key", "next", file)[0] == 0
    assert (len(KeyRing.load(file).keys), KeyRing.load(file).sending) == (2, first.sending)
    assert roamcast("key", "promote", file)[0] == 0
    assert KeyRing.load(file).sending == KeyRing.load(file).keys[1] != first.sending
    assert roamcast("key", "retire", file)[0] == 0
    assert len(KeyRing.load(file).keys) == 1
    assert KeyRing.load(file).group == first.group


@pytest.mark.parametrize(
    ("text", "meant"),
    [("1", 1), ("-2.5", -2.5), ("true", True), ("false", False), ("lab", "lab"), ('"1"', "1"), ('"', '"')],
)
def test_values_are_what_they_read_like(text: str, meant: object) -> None:
    assert value(text) == meant
    assert type(value(text)) is type(meant)


def test_what_comes_from_the_air_does_not_command_the_terminal() -> None:
    event = {"topic": "a\x1b[2J", "attrs": {"x": "b\nc"}, "payload": "G1s=", "publisher": 7}
    shown = line(event)
    assert shown.isprintable()
    assert shown == 'a�[2J x=b�c "�[" from 7'


def test_rates_are_of_the_time_between_two_looks() -> None:
    from rich.console import Console

    told: dict[str, Any] = dict.fromkeys(
        ["datagrams_in", "datagrams_out", "bytes_in", "bytes_out", "frames_in", "frames_out", "published"], 0
    )
    told |= {"delivered": 30, "up_s": 12.0, "airtime_s": 0.5, "dropped": {"forged": 3}, "decisions": {}}
    told |= {
        "node": 7,
        "protocol": "gossip",
        "secure": True,
        "keys": [],
        "sending_key": "",
        "network": True,
        "neighbours": [],
        "named": [],
    }
    told |= {"keys": ["00aa"], "sending_key": "00aa"}
    told |= {"routing_entries": 0, "routing_bytes": 0, "queue": 0, "subscriptions": {1: 'name = "[/x]"'}}
    told["named"] = [{"name": "[/y]", "filter": 'name = "[/z]"', "behind": 0}]
    told["stored"] = {"publications": 0, "held": 0, "received": 0, "received_bytes": 0, "lost": 0}
    console = Console(width=100, record=True, quiet=False, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(page(told, {**told, "delivered": 10, "up_s": 10.0, "airtime_s": 0.4}))
    text = console.export_text()
    (delivered,) = (row for row in text.splitlines() if "delivered" in row)
    assert "10.0" in delivered
    assert "5.00 %" in text
    assert "forged" in text
    assert all(mark in text for mark in ("[/x]", "[/y]", "[/z]"))


def test_a_node_that_does_not_answer_is_one_line_and_a_publication_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(control, "ANSWER_S", 0.05)
    with socket.socket(socket.AF_UNIX) as node:
        node.bind("control")
        node.listen()

        def slow() -> None:
            asked, _ = node.accept()
            with asked:
                asked.recv(1000)
                time.sleep(0.3)
                asked.sendall(b'{"id": 7}\n')

        with Connection(".") as silent, pytest.raises(InputError, match="the node does not answer"):
            silent.ask("status")
        node.accept()[0].close()
        answering = threading.Thread(target=slow)
        answering.start()
        with Connection(".") as patient:
            assert patient.ask("publish") == {"id": 7}
        answering.join()
