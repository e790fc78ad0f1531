"""Steps from row to row: each of the log's rows once, in its order, also where several have one time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from roamcast.log.explanation import words
from roamcast.log.opened import Log
from roamcast.log.reader import LogRow
from roamcast.show.replay import page
from tests.show.browser import Browser
from tests.show.replay.hands import choose, press, seek, show, state, text
from tests.show.replay.runs import of_kind, run


def stepped(browser: Browser, key: str, times: int) -> list[int]:
    """The places of the rows on which we stand after each step."""
    places = []
    for _ in range(times):
        press(browser, key)
        places.append(state(browser)["row"])
    return places


def test_every_row_is_a_step_forward_and_back(opened: Browser, rows: list[LogRow]) -> None:
    kept = [row for row in rows if row.kind != "move"]
    first = next(k for k, row in enumerate(kept) if row.t > 1_000_000)
    seek(opened, 1_000_000)
    assert stepped(opened, ".", 30) == list(range(first, first + 30))
    assert len({row.t for row in kept[first : first + 30]}) < 25  # several have one time
    assert state(opened)["t"] == kept[first + 29].t
    assert stepped(opened, ",", 29) == list(range(first + 28, first - 1, -1))
    assert state(opened)["t"] == kept[first].t


def test_a_step_back_from_between_two_rows_goes_to_the_one_before(opened: Browser, rows: list[LogRow]) -> None:
    kept = [row for row in rows if row.kind != "move"]
    place = next(k for k, row in enumerate(kept) if row.t > 1_000_000 and kept[k + 1].t - row.t > 10)
    seek(opened, kept[place].t + 5)
    assert stepped(opened, ",", 2) == [place, place - 1]


def test_steps_go_through_the_rows_of_the_selected_node_and_event(opened: Browser, rows: list[LogRow]) -> None:
    kept = [row for row in rows if row.kind != "move"]
    event = Counter(row.event for row in of_kind(rows, "deliver")).most_common(1)[0][0]
    opened.run("replay.player.selectEvent(arguments[0])", words.event_name(event))
    seek(opened, 0)
    own = [k for k, row in enumerate(kept) if row.event == event and row.kind not in ("subscribe", "unsubscribe")]
    assert stepped(opened, ".", 12) == own[:12] and len(own) > 12
    node = kept[own[5]].node
    opened.run("replay.player.selectNode(arguments[0])", node)
    seek(opened, 0)
    of_both = [k for k in own if kept[k].node == node]
    assert stepped(opened, ".", min(3, len(of_both))) == of_both[:3]


def test_the_caption_is_about_the_row_of_the_step(opened: Browser, rows: list[LogRow]) -> None:
    choose(opened, "step", "loss")
    opened.run("document.activeElement.blur()")
    for row in of_kind(rows, "lose")[:5]:
        press(opened, ".")
        assert text(opened, "#caption").startswith(f"{row.t / 1e6:.4f} s n{row.node} lost a frame")
        assert text(opened, "#caption").endswith(f" from n{row.peer}: {words.loss(row.reason)}")


@pytest.fixture(scope="module")
def twins(folder: Path) -> list[Log]:
    """Two runs of which many rows have one time, because publications do."""
    return [Log(run(folder / f"twin-{name}.parquet", name, duration_s=5.0)) for name in ("gossip", "counter")]


def test_steps_of_two_runs_follow_each_other_by_time_and_then_by_run(
    browser: Browser, folder: Path, twins: list[Log]
) -> None:
    show(browser, page.write(twins, folder / "twins.html"))
    published = [(row.t, number) for number, log in enumerate(twins) for row in of_kind(list(log.rows()), "publish")]
    choose(browser, "step", "publication")
    browser.run("document.activeElement.blur()")
    forward = []
    for _ in published:
        press(browser, ".")
        forward.append((state(browser)["t"], browser.run("return replay.player.cursor.run.number")))
    assert forward == sorted(published) and len(published) >= 4
    press(browser, ",")
    assert (state(browser)["t"], browser.run("return replay.player.cursor.run.number")) == sorted(published)[-2]
