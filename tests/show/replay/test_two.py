"""Two runs beside each other: one look for each kind of frames, and one table of what differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.log.opened import Log
from roamcast.show.replay import page
from tests.show.browser import Browser
from tests.show.replay.hands import seek, show
from tests.show.replay.runs import run

FRAMES = "return replay.runs.map(run => run.frames.map(({ kind, hue, dash }) => [kind, `${hue} ${dash}`]))"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Log]:
    folder = tmp_path_factory.mktemp("two")
    return [Log(run(folder / f"{name}.parquet", name)) for name in ("proximity", "frugal")]


@pytest.fixture
def two(browser: Browser, logs: list[Log], folder: Path) -> Browser:
    return show(browser, page.write(logs, folder / "different.html"))


def test_a_kind_of_frames_looks_alike_in_both(two: Browser) -> None:
    first, second = map(dict, two.run(FRAMES))
    shared = first.keys() & second.keys()
    assert shared and first.keys() != second.keys()
    assert all(first[kind] == second[kind] for kind in shared)
    union = {**first, **second}
    assert len(set(union.values())) == len(union)
    legend = two.run("return [...document.querySelectorAll('#help .legend li')].map(mark => mark.textContent)")
    assert {f"frame: {kind}" for kind in union} <= set(legend)


def test_runs_are_compared_in_a_table(two: Browser, logs: list[Log]) -> None:
    seek(two, 20_000_000)
    lines = two.run(
        "return [...document.querySelectorAll('.compared tr')].map(r => [...r.children].map(c => c.textContent))"
    )
    assert lines[0] == ["", "proximity", "frugal"]
    cells = {name: values for name, *values in lines}
    assert cells["delivery"] == [f"{100 * log.summary['delivery']:.1f} %" for log in logs]
    assert cells["frames sent"] == [f"{log.summary['frames_sent']:,}" for log in logs]
    assert cells["deliveries, now"] == [f"{log.summary['deliveries']:,}" for log in logs]
    captions = two.run(
        "return [...document.querySelectorAll('#caption span')].map(line => line.textContent.slice(0, 4))"
    )
    assert captions == ["1 · ", "2 · "]  # a line for each


def test_fingers_find_what_they_point_at(browser: Browser, path: Path) -> None:
    """At least 24 points in both directions, as WCAG 2.2 asks."""
    show(browser, path, 390, 844, place="node=7&t=12")
    small = """
      return [...document.querySelectorAll('button, select, input:not([type=checkbox]), label.small')]
        .filter((each) => each.checkVisibility())
        .map((each) => [each.textContent, each.getBoundingClientRect()])
        .filter(([, box]) => box.width < 24 || box.height < 24).map(([text]) => text);"""
    for deed in ("", "replay.player.selectEvent(replay.runs[0].events[0].name)", "replay.player.panel.show('run')"):
        browser.run(deed)
        assert browser.run(small) == []
    assert browser.run("return document.documentElement.scrollWidth") == 390
