"""Programs in other languages that the documentation shows, with real nodes."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from roamcast.net.control import messages
from roamcast.net.control.client import Connection
from roamcast.net.control.messages import Status, StatusReply, Subscribe, Subscribed
from roamcast.net.trust.keys import KeyRing
from tests.cli.conftest import PATIENCE_S, Started, start
from tests.docs.control_page import EXAMPLE
from tests.docs.pages import ROOT

__all__ = ["start"]
PAGE = ROOT / "docs" / "how-to" / "use-another-language.md"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    programs = re.findall(
        r"^```(?:js|sh)\n(?://|#) file: (\S+)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE
    )
    assert len(programs) == 2
    for name, text in programs:
        (tmp_path / name).write_text(text)
    return tmp_path


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def test_a_program_in_javascript_publishes_and_subscribes(programs: Path, start: Started) -> None:
    need("node")
    start("a")
    start("b")
    words = ["node", "station.mjs", "b", "subscribe", "temperature > 30"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as listener, Connection("b") as node:
        deadline = time.monotonic() + PATIENCE_S
        while not node.request(Status(), StatusReply).named:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for temperature in (12, 31.5):
            publish = ["node", "station.mjs", "a", "publish", "weather.roof", f'{{"temperature": {temperature}}}']
            subprocess.run(publish, check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL)
        assert listener.stdout is not None
        assert re.fullmatch(r"roamcast [\d.]+, node \d+\n", listener.stdout.readline())
        assert listener.stdout.readline() == 'weather.roof {"temperature":31.5}\n'
        while node.request(Status(), StatusReply).named[0].behind:
            assert time.monotonic() < deadline, "it acknowledges"
            time.sleep(0.05)
        listener.kill()


def test_a_shell_publishes(programs: Path, start: Started) -> None:
    need("socat")
    start("a")
    start("b")
    with Connection("b") as node:
        node.request(Subscribe("temperature > 30"), Subscribed)
        done = subprocess.run(["sh", "publish.sh", "a"], capture_output=True, text=True, timeout=PATIENCE_S)
        assert re.fullmatch(r'\{"reply":"published","id":\d+\}\n', done.stdout), done.stderr
        assert next(node.events(PATIENCE_S)).attrs == {"temperature": 31.5}


def test_the_conversation_in_the_reference_is_one() -> None:
    for asked, message in EXAMPLE:
        line = msgspec.json.encode(message)
        known = msgspec.to_builtins(messages.read_request(line) if asked else messages.read_reply(line))
        assert message.items() <= known.items()
