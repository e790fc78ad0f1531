from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.cli.subscribe import line
from roamcast.net.control.client import Connection
from roamcast.net.control.messages import ReceivedEvent, Status, StatusReply
from roamcast.net.node.status import NamedStatus
from roamcast.net.trust.keys import KeyRing
from tests.cli.conftest import OneLine, Started, Typed, stopped


def test_a_name_outlives_the_command(
    start: Started, tmp_path: Path, roamcast: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    node = start("a")
    assert roamcast("subscribe", "n > 0", "--name", "x", "--patience", "0.1", "--state", "a") == (0, "", "")
    with Connection("a") as connection:
        assert connection.request(Status(), StatusReply).named == [NamedStatus("x", "n > 0", 0)]
    assert roamcast("subscribe", "--name", "x", "--forget", "--state", "a")[0] == 0
    status, _, err = roamcast("subscribe", "--name", "x", "--forget", "--state", "a")
    assert (status, err) == (2, "roamcast: there is no subscription 'x'\n")
    status, _, err = roamcast("subscribe", "n >", "--state", "a")
    assert status == 2
    assert err.count("\n") == 1
    assert stopped(node) == ""


def test_what_comes_from_the_air_does_not_command_the_terminal() -> None:
    event = ReceivedEvent(7 << 32 | 1, 7, "a\x1b[2J", {"x": "b\nc"}, b"\x1b[", None, 1)
    shown = line(event)
    assert shown.isprintable()
    assert shown == 'a�[2J x=b�c "�[" from 7'


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["subscribe", "n > 0", "--count", "-1"], "--count -1: must be at least 0"),
        (["subscribe", "n > 0", "--patience", "-1"], "--patience -1: must be above 0"),
        (["subscribe"], "what to listen for? FILTER"),
        (["subscribe", "--forget"], "--forget needs --name NAME"),
        (["subscribe", "--forget", "--name", "x"], "no node runs on the state state"),
    ],
)
def test_wrong_input_is_one_line(one_line: OneLine, words: list[str], message: str) -> None:
    one_line(words, message)
