"""Real nodes on the command line: processes that talk to each other, and one line for what is wrong."""

from __future__ import annotations

import json
import logging
import select
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from roamcast.cli.log_lines import JsonLines
from roamcast.cli.subscribe import line
from roamcast.net.control.client import Connection
from roamcast.net.control.messages import ReceivedEvent, Status, StatusReply
from roamcast.net.trust.keys import KeyRing
from tests.cli.conftest import PATIENCE_S, OneLine, Started, Typed, command, stopped


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
        while not node.request(Status(), StatusReply).subscriptions:
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
    assert line(msgspec.convert(first, ReceivedEvent)) == f'weather.roof temperature=31.5 "hi" from {id >> 32}'

    status, out, _ = roamcast("status", "--state", "b", "--json")
    output = json.loads(out)
    assert [peer["node"] for peer in output["neighbours"]] == [id >> 32]
    status, out, _ = roamcast("status", "--state", "b")
    assert (status, str(id >> 32) in out, "rates since the start" in out) == (0, True, True)
    assert stat.S_IMODE((tmp_path / "b" / "control").stat().st_mode) == 0o600

    status, out, err = roamcast("node", "--state", "a", "--key", "group.key", "--interface", "lo")
    assert (status, err) == (2, "roamcast: a: another node is running on this state\n")
    assert stopped(one) == ""
    assert stopped(other) == ""
    assert list((tmp_path / "log").glob("*.parquet"))
    assert not (tmp_path / "b" / "control").exists()


def test_keys_are_read_again(start: Started, tmp_path: Path, roamcast: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    node = start("a")
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


def test_the_default_of_the_airtime_governor_and_a_speed_are_shown(
    start: Started, tmp_path: Path, roamcast: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    node = start("a", "--option", "limits.rate_bps=1e6")
    assert roamcast("motion", "2.5", "--state", "a") == (0, "", "")
    assert ", 2.5 m/s" in roamcast("status", "--state", "a", "--once")[1]
    assert roamcast("motion", "unknown", "--state", "a")[0] == 0
    assert " m/s" not in roamcast("status", "--state", "a", "--once")[1]
    assert stopped(node) == (
        "roamcast: by default this node sends at most 25 % of the time at 1 Mbit/s, 31 kB a second "
        "(limits.airtime_share, limits.rate_bps)\n"
    )


def test_verbose_says_more(start: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    node = start("a", "-v")
    assert node.stderr is not None
    assert select.select([node.stderr], [], [], PATIENCE_S)[0]
    assert "runs gossip; state in a" in stopped(node)


def test_lines_for_programs_and_metrics(start: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    node = start("a", "--insecure", "-v", "--log-format", "json", "--metrics", str(port), key=False)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as answer:
        assert b"\nroamcast_up_seconds " in answer.read()
    lines = [json.loads(line) for line in stopped(node).splitlines()]
    assert [line["level"] for line in lines] == ["warning", "info"]
    assert lines[0]["message"].startswith("INSECURE: ")
    assert lines[1]["logger"] == "roamcast"
    assert all(datetime.fromisoformat(line["time"]).utcoffset() == timedelta(0) for line in lines)


def test_a_json_line_has_the_traceback_of_an_error() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "failed: %s", ("why",), sys.exc_info())
    line = JsonLines().format(record)
    assert "\n" not in line
    fields = json.loads(line)
    assert (fields["level"], fields["message"], "ValueError" in fields["traceback"]) == ("error", "failed: why", True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["node", "--insecure", "--log-format", "xml"], "--log-format xml: must be text or json"),
        (["node", "--insecure", "--metrics", "70000"], "metrics: must be a whole number of at most 65535"),
        (["node"], "a node needs the group's key: --key FILE"),
        (["node", "--key", "none"], "there is no group key none"),
        (["node", "--key", "none", "--insecure"], "insecure and key exclude each other"),
        (["node", "--insecure", "--port", "0"], "network.port: must be a whole number"),
        (["node", "--insecure", "--protocol", "gosip"], "unknown protocol 'gosip'; did you mean 'gossip'?"),
        (["node", "--insecure", "--set", "q=1"], "unknown roam parameter 'q'"),
        (["node", "--insecure", "--option", "limits.que=1"], "unknown setting 'limits.que'"),
        (["node", "--insecure", "--group", "10.0.0"], "group '10.0.0': must be a multicast or broadcast address"),
        (
            ["node", "--insecure", "--group", "ff02::7"],
            "group 'ff02::7': exists on every link; choose one with --interface",
        ),
        (["node", "--key", "."], "cannot read the group key .: is a directory"),
        (["node", "--insecure", "--gps", "/dev/ttyUSB0"], "gps '/dev/ttyUSB0': must be gpsd://HOST:PORT"),
        (["motion", "fast"], "speed 'fast': must be a number of m/s, or unknown"),
        (["motion", "1"], "no node runs on the state state"),
        (["node", "--config", "none.toml"], "cannot read the configuration none.toml"),
    ],
)
def test_wrong_input_is_one_line(one_line: OneLine, words: list[str], message: str) -> None:
    one_line(words, message)
