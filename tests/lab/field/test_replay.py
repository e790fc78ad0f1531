"""What real nodes did, seen: their logs become one with `lab field`, and that one a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roamcast.lab.field.intake import Field
from roamcast.log.explanation import words
from roamcast.log.opened import Log
from roamcast.net.trust.keys import KeyRing
from tests.cli.conftest import PATIENCE_S, Started, Typed, roamcast, start, stopped
from tests.show.browser import Browser, started
from tests.show.replay.hands import seek, show, text
from tests.show.replay.runs import of_kind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["roamcast", "start"]
NAMES = ("a", "b", "c")
EVENTS = 3


@pytest.fixture
def logs(start: Started, roamcast: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of three nodes on one link: `a` publishes, and an application on `c` subscribes."""
    monkeypatch.chdir(tmp_path)
    KeyRing.new().save("group.key")
    nodes = [start(name, "--log", f"logs/{name}") for name in NAMES]
    assert roamcast("subscribe", "topic news", "--name", "reader", "--patience", "0.1", "--state", "c")[0] == 0
    for number in range(EVENTS):
        assert roamcast("publish", "news", f"n={number}", "--state", "a")[0] == 0
        read = (
            "subscribe",
            "topic news",
            "--name",
            "reader",
            "--count",
            "1",
            "--patience",
            str(PATIENCE_S),
            "--state",
            "c",
        )
        status, out, err = roamcast(*read)
        assert f"n={number}" in out, (status, err)
    for node in nodes:
        stopped(node)
    return tmp_path / "logs"


@pytest.fixture
def field(logs: Path, spark: SparkSession, tmp_path: Path) -> Path:
    Field(logs, tmp_path / "out", spark).ingest(lambda _: None)
    return tmp_path / "out"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started(tmp_path_factory.mktemp("profile")) as running:
        yield running


def test_real_nodes_replay_in_a_graph_or_where_they_were_measured(
    field: Path, roamcast: Typed, browser: Browser, tmp_path: Path
) -> None:
    assert roamcast("replay", str(field)) == (0, f"replay: {field / 'replay.html'}\n", "")
    rows = list(Log(field).rows())
    begin = rows[0].t
    show(browser, field / "replay.html")
    assert text(browser, "#remarks").startswith("The log has no movements, so nodes stand in a graph")
    nodes = sorted({row.node for row in rows})
    assert browser.run("return replay.runs[0].nodes") == nodes and len(nodes) == len(NAMES)
    heard = {(row.node, row.peer) for row in of_kind(rows, "receive", "overhear", "lose") if row.peer >= 0}
    links = browser.run(
        "const r = replay.runs[0]; return [...r.links.a].map((a, k) => [r.nodes[a], r.nodes[r.links.b[k]]])"
    )
    assert {frozenset(link) for link in links} == {frozenset(pair) for pair in heard}
    deliveries = of_kind(rows, "deliver")
    assert len(deliveries) == EVENTS
    for count, row in enumerate(deliveries, 1):
        seek(browser, row.t - begin)
        assert browser.run("return replay.state().counts[0].delivered") == count
    browser.run("replay.player.selectEvent(arguments[0])", words.event_name(deliveries[0].event))
    got = browser.run("return [...document.querySelectorAll('#content .got .chip')].map(c => c.textContent)")
    assert got == [f"n{deliveries[0].node}"]
    assert browser.complaints() == []

    track = tmp_path / "track.csv"
    track.write_text("t,node,x,y\n" + "".join(f"0,{node},{100 * k},{50 * k}\n" for k, node in enumerate(nodes)))
    out = tmp_path / "measured.html"
    assert roamcast("replay", str(field), "--positions", str(track), "--out", str(out))[0] == 0
    show(browser, out)
    places = [browser.run("return replay.position(arguments[0])", node) for node in nodes]
    assert places == [[0, 0], [100, 50], [200, 100]]
    assert browser.complaints() == []
