"""Where a page begins: at an event on its way, with a line that says what one sees, or where its address says."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.log.explanation import words
from roamcast.log.opened import Log
from roamcast.log.reader import LogRow
from roamcast.show.replay import page
from tests.show.browser import Browser
from tests.show.replay.hands import show, state, wait_until
from tests.show.replay.runs import of_kind, run

BUTTON = "[...document.querySelectorAll('#opening button')].find(b => b.textContent === arguments[0])"


def copies_of(rows: list[LogRow], event: int) -> dict[int, int]:
    """When each node had it first, in order of time."""
    first: dict[int, int] = {}
    for row in of_kind(rows, "publish", "receive", "deliver"):
        if row.event == event:
            first.setdefault(row.node, row.t)
    return first


def score(log: Log, rows: list[LogRow], event: int) -> int:
    """How many nodes had it; twice, if some got it and some missed it."""
    statuses = {outcome.status for outcome in log.why(event=words.event_name(event)).nodes}  # type: ignore[union-attr]
    return len(copies_of(rows, event)) * (2 if {"got", "missed"} <= statuses else 1)


def test_a_page_begins_with_an_event_on_its_way(browser: Browser, path: Path, log: Log, rows: list[LogRow]) -> None:
    show(browser, path, place="")
    published = of_kind(rows, "publish")
    best = max(published, key=lambda row: score(log, rows, row.event))
    assert state(browser)["event"] == words.event_name(best.event)
    times = sorted(copies_of(rows, best.event).values())
    assert state(browser)["t"] == times[int(2 / 3 * (len(times) - 1))] and not state(browser)["playing"]
    has = len([t for t in times if t <= state(browser)["t"]])
    line = browser.run("return document.querySelector('#opening p').textContent")
    assert line.startswith(f"You see event {words.event_name(best.event)} ")
    assert line.endswith(f" after n{best.node} published it: {has} of 30 nodes have it.")
    assert browser.run("return location.hash") == "" and browser.complaints() == []


def test_its_event_can_be_watched_from_its_publication(browser: Browser, path: Path, rows: list[LogRow]) -> None:
    show(browser, path, place="")
    event = state(browser)["event"]
    (published,) = [row for row in of_kind(rows, "publish") if words.event_name(row.event) == event]
    browser.run(f"{BUTTON}.click()", "watch it spread")
    assert state(browser)["playing"] and state(browser)["event"] == event and state(browser)["speed"] < 1
    assert state(browser)["t"] <= published.t + 1e6 * state(browser)["speed"]
    assert browser.run("return document.getElementById('opening').hidden")


def test_or_the_whole_run_from_its_begin(browser: Browser, path: Path) -> None:
    show(browser, path, place="")
    slow = state(browser)["speed"]
    browser.run(f"{BUTTON}.click()", "play the whole run")
    assert state(browser)["playing"] and state(browser)["event"] is None and state(browser)["speed"] > slow
    assert state(browser)["t"] < 5_000_000
    wait_until(browser, "replay.state().t > 0")


def test_the_line_goes_when_it_is_no_longer_true(browser: Browser, path: Path) -> None:
    for deed in ("replay.player.seek(1e6)", "replay.player.selectNode(3)", "replay.player.play()"):
        show(browser, path, place="")
        assert browser.run("return document.getElementById('opening').checkVisibility()")
        browser.run(deed)
        assert not browser.run("return document.getElementById('opening').checkVisibility()")


@pytest.mark.parametrize("place", ["t=abc", "t=", "node=9999", "event=nothing", "node=&event=&t=Infinity"])
def test_an_address_that_means_nothing_shows_the_begin(browser: Browser, path: Path, place: str) -> None:
    show(browser, path, place=place)
    assert (state(browser)["t"], state(browser)["node"], state(browser)["event"]) == (0, None, None)
    assert browser.complaints() == []


def test_a_run_in_which_nothing_spreads_begins_at_its_begin(browser: Browser, folder: Path) -> None:
    alone = Log(run(folder / "alone.parquet", range_m=1.0, duration_s=3.0))
    show(browser, page.write([alone], folder / "alone.html"), place="")
    assert (state(browser)["t"], state(browser)["event"]) == (0, None)
    assert browser.run("return document.getElementById('opening').hidden") and browser.complaints() == []


@pytest.mark.parametrize(
    ("us", "words_"),
    [
        (12, "12 µs"),
        (999.6, "1.00 ms"),
        (55_200, "55.2 ms"),
        (99_960, "100 ms"),
        (999_400, "999 ms"),
        (999_600, "1.00 s"),
        (12_345_678, "12.3 s"),
        (1_234_567_890, "1,235 s"),
    ],
)
def test_durations_have_three_digits_and_no_powers_of_ten(opened: Browser, us: float, words_: str) -> None:
    assert opened.run("return durationOf(arguments[0])", us) == words_
