"""A rotation of the group's key over the air, with nodes that are processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from roamcast.net.control.client import Connection
from roamcast.net.control.messages import Publish, Published, Status, StatusReply, Subscribe, Subscribed
from roamcast.net.keep.store import Store
from roamcast.net.trust.identity import Identity, Roster
from roamcast.net.trust.keys import KeyRing
from tests.cli.conftest import PATIENCE_S, OneLine, Started, Typed, stopped

MEMBERS = {1: "a", 2: "b", 3: "c"}


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[int, bytes]:
    """A key, a roster with three nodes, and their public keys."""
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    publics = {}
    for number, state in MEMBERS.items():
        with Store(state) as store:
            publics[number] = Identity.of(store.values).public
    Path("roster.toml").write_text(Roster(publics).text())
    return publics


def status(state: str) -> StatusReply:
    with Connection(state) as node:
        return node.request(Status(), StatusReply)


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def publish(state: str, n: int) -> None:
    with Connection(state) as node:
        node.request(Publish("news", {"n": n}), Published)


def got(state: str) -> list[object]:
    """The numbers of the events of other nodes that this one has."""
    with Connection(state) as node:
        own = node.request(Status(), StatusReply).node
        node.request(Subscribe("topic news", "", 0), Subscribed)
        return [event.attrs["n"] for event in node.events(0.3) if event.publisher != own]


def start_all(start: Started) -> dict[str, object]:
    return {state: start(state, "--option", "roster=roster.toml", "-v") for state in MEMBERS.values()}


def test_a_node_that_is_left_out_of_the_roster_can_no_longer_read(
    start: Started, group: dict[int, bytes], roamcast: Typed
) -> None:
    nodes = start_all(start)
    old = status("a").sending_key
    for state in MEMBERS.values():
        with Connection(state) as node:
            node.request(Subscribe("topic news", "all"), Subscribed)
    publish("a", 0)
    until(lambda: [got(state) for state in "bc"] == [[0], [0]])
    Path("roster.toml").write_text(Roster({n: group[n] for n in (1, 2)}).text())  # without c

    assert roamcast("key", "rotate", "--state", "a")[0] == 0
    until(lambda: status("a").rotation == "")
    new = status("a").sending_key
    assert [status(state).keys for state in "abc"] == [[new], [new], [old]]
    assert new != old

    heard = status("c").dropped.get("unknown key", 0)
    publish("a", 1)
    until(lambda: got("b") == [0, 1])
    until(lambda: status("c").dropped["unknown key"] > heard)
    publish("c", 2)
    until(lambda: status("a").dropped.get("unknown key"))
    assert [got(state) for state in "abc"] == [[], [0, 1], [0]]
    assert "this node is left out" in stopped(nodes["c"])  # type: ignore[arg-type]

    stopped(nodes["b"])  # type: ignore[arg-type]
    start("b", "--option", "roster=roster.toml")
    assert status("b").keys == [new], "also after a restart, with the old key file"
    publish("a", 3)
    until(lambda: got("b") == [0, 1, 3])


def test_a_rotation_waits_for_everybody_unless_it_need_not(
    start: Started, group: dict[int, bytes], roamcast: Typed
) -> None:
    nodes = start_all(start)
    stopped(nodes["c"])  # type: ignore[arg-type]
    old = status("a").sending_key
    _, out, _ = roamcast("key", "rotate", "--state", "a")
    assert "to accept the new key (" in out
    until(lambda: status("a").rotation.endswith("waiting for 1 to accept the new key (3)"))
    assert [status(state).sending_key for state in "ab"] == [old] * 2, "nobody is cut off"
    assert "waiting for 1" in roamcast("status", "--state", "a")[1]
    nodes["a"].kill()  # type: ignore[attr-defined]
    nodes["a"].wait()  # type: ignore[attr-defined]
    start("a", "--option", "roster=roster.toml")
    assert status("a").rotation.endswith("(3)"), "it goes on after a restart"
    code, _, err = roamcast("key", "rotate", "--state", "a")
    assert (code, "a rotation is under way" in err) == (2, True)
    assert roamcast("key", "rotate", "--state", "a", "--go-on")[0] == 0
    until(lambda: [len(status(state).keys) for state in "ab"] == [1, 1])
    assert status("a").sending_key == status("b").sending_key != old


def test_applications_do_not_see_the_steps(start: Started, group: dict[int, bytes], roamcast: Typed) -> None:
    start_all(start)
    with Connection("b") as node:
        node.request(Subscribe("true", "everything"), Subscribed)
    roamcast("key", "rotate", "--state", "a")
    until(lambda: status("a").rotation == "")
    assert status("b").stored.received == 0


def test_without_a_roster_there_is_one_line(
    start: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, roamcast: Typed
) -> None:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    start("a")
    line = "roamcast: only a node with a key and a roster can rotate the group's key\n"
    assert roamcast("key", "rotate", "--state", "a") == (2, "", line)


def test_without_a_node_there_is_one_line(one_line: OneLine) -> None:
    one_line(["key", "rotate"], "no node runs on the state state")
