"""Runs of LoRa meshes: frames last a second, shadowing bends ranges, some nodes are routers, and all publish."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.log.opened import Log
from roamcast.log.schema import KINDS
from roamcast.log.writer import ParquetSink
from roamcast.papers import presets
from roamcast.show.replay import page
from roamcast.show.replay.scene import scene
from roamcast.world.assembly import radio_of, spec_of
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate
from tests.show.browser import Browser
from tests.show.replay.hands import press, seek, show, text

STRONGEST = """
  const canvas = document.querySelector('.stage canvas'), ratio = canvas.width / canvas.clientWidth;
  const { data } = canvas.getContext('2d').getImageData(arguments[0] * ratio - 3, arguments[1] * ratio - 3, 6, 6);
  return Math.max(...data.filter((_, k) => k % 4 === 3));"""
MARKS = "return [...document.querySelectorAll('#help .legend li')].map(mark => mark.textContent)"


@pytest.fixture(scope="module")
def hills() -> Scenario:
    return presets.load("mesh-hills").scenario({"duration_s": 2000.0, "publish_until_s": 1900.0})


@pytest.fixture(scope="module")
def mesh(hills: Scenario, tmp_path_factory: pytest.TempPathFactory) -> Log:
    path = tmp_path_factory.mktemp("mesh") / "hills.parquet"
    simulate(hills, "managed", {}, 1, level="full", log=path, possible=False, preset="mesh-hills")
    return Log(path)


def test_ranges_are_those_without_shadowing(mesh: Log, hills: Scenario) -> None:
    """A circle as far as the luckiest of all links would say nothing."""
    radio = radio_of(hills, 1)
    texts = scene(mesh).texts
    assert texts["ranges"] == [round(radio.longest(node), 2) for node in range(40)]
    assert all(radio.farthest(range_m) > 2 * range_m for range_m in texts["ranges"])
    assert texts["range_note"].startswith("Ranges are those without shadowing")


def test_roles_are_those_of_the_scenario(mesh: Log, hills: Scenario, tmp_path: Path) -> None:
    assert scene(mesh).texts["roles"] == list(spec_of(hills, 1).radio.lora.roles)
    assert scene(mesh).texts["roles"].count("router") == 6
    alike = tmp_path / "alike.parquet"
    simulate(hills, "managed", {"role": "client"}, 1, level="full", log=alike, possible=False)
    assert scene(Log(alike)).texts["roles"] == []  # all are clients, whatever the scenario says


def test_long_times_are_in_seconds(tmp_path: Path) -> None:
    campus = presets.load("baehni-city")
    simulate(campus.scenario({}), "frugal", {}, 1, level="full", log=tmp_path / "campus.parquet", possible=False)
    log = Log(tmp_path / "campus.parquet")
    median_s = log.summary["latency_p50_s"]
    assert median_s > 10
    assert f"latency {median_s:.1f} s, median" in scene(log).texts["chips"]


def test_marks_that_most_nodes_would_have_are_words(browser: Browser, mesh: Log, folder: Path) -> None:
    show(browser, page.write([mesh], folder / "hills.html"))
    marks = browser.run(MARKS)
    assert {"node", "router, repeater"} <= set(marks) and not {"subscribes", "publishes"} & set(marks)
    sentence = browser.run("return document.querySelector('#help .marks p').textContent")
    assert sentence.startswith("Of the nodes, all subscribe, and ") and sentence.endswith(
        " publish: they have no marks."
    )
    router = scene(mesh).texts["roles"].index("router")
    browser.run("replay.player.selectNode(arguments[0])", router)
    assert text(browser, "[data-fact=role]") == "router"


def strongest(browser: Browser, x: float, y: float) -> int:
    """How opaque the field is near a point, from 0 to 255."""
    return browser.run(STRONGEST, x, y)  # type: ignore[no-any-return]


def test_a_frame_is_on_the_air_as_long_as_it_lasts_and_received_when_it_ends(browser: Browser, folder: Path) -> None:
    sink = ParquetSink(folder / "long.parquet", "long")
    for node, x in ((1, 0), (2, 100), (3, -200)):
        sink.row(0, node, KINDS.index("move"), 0, 0, -1, 0, 9_000_000, f"{x} 0 0 0")
    sink.row(1_000_000, 1, KINDS.index("send"), 0, 5, -1, 40, 2_000_000, "event")
    sink.row(3_000_000, 2, KINDS.index("receive"), 0, 5, 1, 40, 2_000_000, "event")
    sink.row(9_000_000, 2, KINDS.index("sleep"), 0, 0, -1, 0, 0, "")
    sink.close()
    show(browser, page.write([Log(folder / "long.parquet")], folder / "long.html"))
    browser.run("replay.player.setSpeed(1)")

    def seen(t_s: float) -> tuple[bool, bool]:
        """Whether the line to the receiver is drawn, and the wave at its range."""
        seek(browser, round(t_s * 1e6))
        (x, y), (other, _) = (browser.run("return replay.spot(arguments[0])", node) for node in (1, 2))
        return strongest(browser, (x + other) / 2, y) > 100, strongest(browser, x + (x - other), y) > 100

    assert seen(0.9) == (False, False)
    assert not seen(1.05)[1]  # the wave grows
    assert seen(2.5) == (False, True)  # on the air, received by no node yet
    assert seen(3.001) == (True, True)
    assert seen(3.6) == (False, False)


def test_names_do_not_lie_over_each_other(opened: Browser) -> None:
    record = """
      const { pen } = replay.player.stages[0], drawn = [], plain = pen.fillText;
      pen.fillText = (name, x, y) => name.startsWith("n") && drawn.push([name, x, y, pen.measureText(name).width]);
      replay.player.frameNow();
      pen.fillText = plain;
      return drawn;"""
    press(opened, "l")
    drawn = opened.run(record)
    for k, (_, x, y, wide) in enumerate(drawn):
        for _, left, low, width in drawn[:k]:
            assert x >= left + width or left >= x + wide or abs(y - low) >= 8
    assert len(drawn) > 10
    opened.run("replay.player.selectNode(29)")
    assert opened.run(record)[0][0] == "n29"  # what is selected comes first
