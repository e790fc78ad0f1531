"""Typing commands in tests, and nodes that run meanwhile."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roamcast.cli.main import main
from tests.conformance.real import PORT

PATIENCE_S = 60.0
Typed = Callable[..., tuple[int, str, str]]
OneLine = Callable[[list[str], str], None]
Started = Callable[..., Any]


@pytest.fixture
def roamcast(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """Type a command: (exit status, standard output, standard error)."""

    def type_(*words: str, columns: int = 100) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["roamcast", *words])
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return type_


@pytest.fixture
def one_line(roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OneLine:
    """Type something wrong, where there is a file `there` and a state `state` on which no node runs."""

    def type_(words: list[str], message: str) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("ROAMCAST_STATE", "state")
        (tmp_path / "there").write_text("")
        status, out, err = roamcast(*words)
        assert (status, out) == (2, "")
        assert err.startswith(f"roamcast: {message}")
        assert err.count("\n") == 1

    return type_


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
        environment["ROAMCAST_LIMITS_RATE_BPS"] = "1e9"  # a node prints a line about the default
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
    """What it printed, after a signal to stop."""
    node.send_signal(signal.SIGTERM)
    _, errors = node.communicate(timeout=PATIENCE_S)
    assert node.returncode == 0, errors
    return errors
