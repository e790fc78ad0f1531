"""`roamcast watch`: the page of a running node, for browsers on its machine and for nobody else."""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roamcast.net.trust.keys import KeyRing
from tests.cli.conftest import PATIENCE_S, OneLine, Started, Typed, command, stopped
from tests.show.browser import Browser, started


@pytest.fixture
def served(start: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the page of a node `a` that hears a node `b`: host, port and a random word."""
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    start("a")
    start("b")
    server = subprocess.Popen(command("watch", "--state", "a", "--every", "0.2"), stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    line = server.stdout.readline()
    assert line.startswith("http://127.0.0.1:") and line.endswith("/ (Ctrl-C ends it)\n")
    yield place_in(line)
    server.terminate()
    server.wait()
    server.stdout.close()


def place_in(line: str) -> str:
    return line.split()[0].removeprefix("http://").rstrip("/")


def port_of(place: str) -> str:
    return place.partition("/")[0].partition(":")[2]


def request(place: str, path: str = "/", method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    host, _, word = place.partition("/")
    connection = http.client.HTTPConnection(host, timeout=PATIENCE_S)
    connection.request(method, f"/{word}{path}", headers=headers)
    return connection.getresponse()


def messages(place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    stream = request(place, "/events")
    assert stream.headers["Content-Type"] == "text/event-stream"
    while True:
        event = stream.readline().decode().removeprefix("event: ").strip()
        yield event, json.loads(stream.readline().decode().removeprefix("data: "))
        assert stream.readline() == b"\n"


def test_the_page_is_for_this_machine_and_only_looks(served: str) -> None:
    page = request(served)
    assert page.status == 200 and b'<div id="live">' in page.read()
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "connect-src 'self'" in policy
    assert page.headers["X-Content-Type-Options"] == "nosniff" and page.headers["Cache-Control"] == "no-store"
    port = port_of(served)
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{int(port) + 1}", ""):
        for path in ("/", "/events"):
            assert request(served, path, Host=host).status == 421
    assert request(served, Host=f"localhost:{port}").status == 200
    assert request(served, "/status").status == 404
    assert request(served, "/../group.key").status == 404
    host, _, word = served.partition("/")
    assert len(word) >= 16
    for wrong in ("", word[:-1], word[::-1], "%C3%A4"):
        assert request(f"{host}/{wrong}").status == request(f"{host}/{wrong}", "/events").status == 404
    for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
        assert request(served, method=method).status == 501


def test_rows_come_as_they_happen_with_the_sentences_of_decisions(served: str, roamcast: Typed) -> None:
    stream = messages(served)
    kind, status = next(stream)
    assert kind == "status" and status["protocol"] == "gossip"
    assert roamcast("publish", "news", "n=1", "--state", "b")[0] == 0
    seen: dict[str, list[list[Any]]] = {}
    deadline = time.monotonic() + PATIENCE_S
    while not {"receive", "forward", "send"} <= set(seen) and time.monotonic() < deadline:
        kind, content = next(stream)
        for row in content.get("rows", []):
            seen.setdefault(row[2], []).append(row)
    _, node, _, event, frame, peer, size, _, _ = seen["receive"][0]
    assert node == status["node"] and event == f"{peer}:1" and size > 0 and int(frame) > 0
    assert any(row[3] == event and row[8] == f"forward: {event} was heard only 1 times" for row in seen["forward"])


def test_a_node_that_stops_is_gone_and_one_that_comes_back_is_watched_again(
    start: Started, served: str, roamcast: Typed, tmp_path: Path
) -> None:
    stream = messages(served)
    assert next(stream)[0] == "status"
    pid = json.loads(roamcast("status", "--json", "--state", "a")[1])["pid"]
    subprocess.run(["kill", str(pid)], check=True)
    while (message := next(stream))[0] != "gone":
        pass
    assert message[1]["error"] == "the node has stopped"
    start("a", key=True)
    while (message := next(stream))[0] == "gone":
        assert message[1]["error"].startswith(("no node runs", "the node has stopped"))
    assert message[0] == "status" and message[1]["pid"] != pid


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started(tmp_path_factory.mktemp("profile")) as running:
        yield running


def until(browser: Browser, condition: str) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (value := browser.run(f"return {condition}")):
        assert time.monotonic() < deadline, (condition, browser.complaints())
        time.sleep(0.05)
    return value


def test_a_browser_shows_neighbours_rates_and_decisions(served: str, roamcast: Typed, browser: Browser) -> None:
    browser.driver.get_log("browser")
    browser.driver.get(f"http://{served}/")
    until(browser, "document.documentElement.dataset.ready")
    assert roamcast("publish", "news", "n=1", "--state", "b")[0] == 0
    status = json.loads(roamcast("status", "--json", "--state", "a")[1])
    other = json.loads(roamcast("status", "--json", "--state", "b")[1])["node"]
    assert browser.run("return document.querySelector('h1').textContent") == f"node {status['node']}, gossip"
    until(browser, f"document.querySelector('[data-now=heard]').textContent.includes('n{other}')")
    until(browser, "document.querySelector('[data-now=decided]').textContent.includes('forward: few copies')")
    until(browser, "replay.runs[0].events.length && replay.state().counts[0].sent")
    browser.run("replay.player.selectNode(arguments[0])", status["node"])
    until(browser, f"document.querySelector('.story').textContent.includes('{other}:1 was heard only 1 times')")
    assert browser.complaints() == []


def test_mistakes_are_one_line(one_line: OneLine) -> None:
    one_line(["watch"], "no node runs on the state state")
    one_line(["status", "--web"], "no node runs on the state state")
    one_line(["watch", "--every", "0"], "--every 0: must be above 0")


def test_a_port_that_is_taken_is_one_line(served: str, roamcast: Typed) -> None:
    port = port_of(served)
    assert roamcast("status", "--web", "--state", "a", "--port", port) == (
        2,
        "",
        f"roamcast: --port {port}: address already in use\n",
    )
    assert roamcast("watch", "--state", "a", "--port", "70000")[2].startswith("roamcast: --port 70000: must be")


def test_the_node_goes_on_after_its_page_is_closed(start: Started, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    node = start("a")
    server = subprocess.Popen(command("watch", "--state", "a"), stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    stream = messages(place_in(server.stdout.readline()))
    assert next(stream)[0] == "status"
    server.terminate()
    server.wait()
    server.stdout.close()
    stopped(node)
