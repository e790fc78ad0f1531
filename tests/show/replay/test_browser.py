"""A replay in a real browser: what people click and read, against the log's own rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from roamcast.log.explanation import words
from roamcast.log.explanation.pair import Explanation
from roamcast.log.explanation.places import Places
from roamcast.log.explanation.select import DECISION_KINDS
from roamcast.log.opened import Log
from roamcast.log.reader import LogRow
from roamcast.log.schema import MOVE, SLEEP
from roamcast.log.writer import ParquetSink
from roamcast.show.replay import page
from roamcast.show.replay.cut import Wanted
from tests.show.browser import Browser
from tests.show.replay.hands import (
    choose,
    click,
    click_at,
    drawn,
    press,
    seek,
    select_node,
    show,
    state,
    text,
    wait_until,
)
from tests.show.replay.runs import of_kind, run

CONTRAST = Path(__file__).parent.with_name("contrast.js").read_text()


# ---- the page


def test_nothing_is_complained_about_and_nothing_is_fetched(opened: Browser, path: Path) -> None:
    assert opened.complaints() == []
    assert [url for url in opened.requests() if url != "about:blank"] == [path.absolute().as_uri()]


def test_the_run_is_named_with_its_metrics(opened: Browser, log: Log) -> None:
    assert text(opened, "h1") == "gossip on small, seed 1"
    assert f"delivery {100 * log.summary['delivery']:.1f} %" in text(opened, "#chips")


@pytest.mark.parametrize("t_us", [0, 3_333_333, 10_000_000, 20_000_000])
def test_counts_are_those_of_the_rows_so_far(opened: Browser, rows: list[LogRow], t_us: int) -> None:
    seek(opened, t_us)
    before = [row for row in rows if row.t <= t_us]
    collisions = len([row for row in of_kind(before, "lose") if row.reason == "collision"])
    wanted = {
        "published": len(of_kind(before, "publish")),
        "delivered": len(of_kind(before, "deliver")),
        "sent": len(of_kind(before, "send")),
        "lost": len(of_kind(before, "lose")),
        "collisions": collisions,
    }
    for name, number in wanted.items():
        assert text(opened, f"[data-count={name}]") == f"{number:,}"
        assert state(opened)["counts"][0][name] == number
    assert text(opened, ".stage .counts").endswith(
        f"{len(of_kind(before, 'lose')):,} lost, {collisions:,} by collision"
    )


def test_there_are_collisions_and_other_losses_to_count(rows: list[LogRow]) -> None:
    reasons = Counter(row.reason for row in of_kind(rows, "lose"))
    assert reasons["collision"] > 20 and reasons["loss"] > 20


def test_nodes_are_where_the_log_says(opened: Browser, rows: list[LogRow]) -> None:
    places = Places(of_kind(rows, "move"))
    for t_us in (0, 1_234_567, 7_000_001, 19_999_999, 4_000_000):
        seek(opened, t_us)
        for node in range(30):
            assert opened.run("return replay.position(arguments[0])", node) == pytest.approx(
                places.position(node, t_us), abs=1e-6
            )


def test_a_node_stays_where_its_last_leg_ended(browser: Browser, folder: Path) -> None:
    """It walks, rests, walks, and its log goes on after its last leg."""
    sink = ParquetSink(folder / "legs.parquet", "legs")
    for t_us, end_us, leg in ((0, 1_000_000, "5 5 10 0"), (2_000_000, 4_000_000, "15 5 0 -2.5")):
        sink.row(t_us, 1, MOVE, 0, 0, -1, 0, end_us, leg)
    sink.row(9_000_000, 1, SLEEP, 0, 0, -1, 0, 0, "")
    sink.close()
    show(browser, page.write([Log(folder / "legs.parquet")], folder / "legs.html"))
    wanted = {0: [5, 5], 0.5: [10, 5], 1.5: [15, 5], 3: [15, 2.5], 4: [15, 0], 8: [15, 0]}
    for s, place in wanted.items():
        seek(browser, round(s * 1e6))
        assert browser.run("return replay.position(1)") == pytest.approx(place, abs=1e-9)


def test_a_delivery_is_seen_at_its_time_and_place(opened: Browser, rows: list[LogRow]) -> None:
    """Stepping from delivery to delivery: the clock, the sentence, and a green ring around the node."""
    deliveries = of_kind(rows, "deliver")
    choose(opened, "step", "delivery")
    opened.run("replay.player.setSpeed(0.001); document.getElementById('forward').focus()")
    times = [row.t for row in deliveries[:6]]
    assert len(set(times)) < len(times)  # some steps stay at the same time
    for row in deliveries[:6]:
        click(opened, "#forward")
        assert state(opened)["t"] == row.t
        name = words.event_name(row.event)
        assert text(opened, "#caption") == f"{row.t / 1e6:.4f} s n{row.node} delivered {name} to the application"
        assert text(opened, "#clock") == f"{row.t / 1e6:.3f} s"
    place = Places(of_kind(rows, "move")).position(row.node, row.t)
    x, y = opened.run("return replay.spot(arguments[0])", row.node)
    stage = opened.run("const s = replay.player.stages[0]; return [s.left, s.bottom, s.scale]")
    assert place is not None
    assert (x, y) == pytest.approx((stage[0] + place[0] * stage[2], stage[1] - place[1] * stage[2]), abs=0.01)
    assert greenest(opened, x, y) > 60


def greenest(browser: Browser, x: float, y: float) -> float:
    """How much greener than red the greenest pixel near a point of the field is."""
    script = """
      const canvas = document.querySelector('.stage canvas'), ratio = canvas.width / canvas.clientWidth;
      const [x, y, r] = [arguments[0] * ratio, arguments[1] * ratio, 16 * ratio];
      const { data } = canvas.getContext('2d').getImageData(x - r, y - r, 2 * r, 2 * r);
      let most = 0;
      for (let k = 0; k < data.length; k += 4) if (data[k + 3] > 120) most = Math.max(most, data[k + 1] - data[k]);
      return most;"""
    return browser.run(script, x, y)  # type: ignore[no-any-return]


def test_the_timeline_is_for_scrubbing(opened: Browser) -> None:
    width = opened.run("return document.getElementById('timeline').clientWidth")
    for share in (0.25, 0.75):
        names, end = 74, 6  # room for the names of the lanes, and at the end
        click_at(opened, "#timeline", names + share * (width - names - end), 40)
        assert state(opened)["t"] == pytest.approx(share * 20e6, rel=0.01)
    drawn(opened)
    announced = opened.run("return document.getElementById('timeline').getAttribute('aria-valuenow')")
    assert float(announced) == pytest.approx(15, rel=0.01)


# ---- a node


def test_a_click_on_a_node_shows_its_decisions_with_their_sentences(opened: Browser, rows: list[LogRow]) -> None:
    decision = [row for row in rows if row.kind in DECISION_KINDS and row.t > 5_000_000][10]
    seek(opened, decision.t)
    select_node(opened, decision.node)
    assert state(opened)["node"] == decision.node
    click(opened, "#content input[type=checkbox]")
    shown = opened.run("return [...document.querySelectorAll('.story .decision')].map(line => line.textContent)")
    own = [row for row in rows if row.kind in DECISION_KINDS and row.node == decision.node and row.t <= decision.t]
    assert len(shown) == len(own)
    for line, row in zip(shown, reversed(own), strict=True):
        assert line.startswith(f"{row.t / 1e6:.4f} s {words.decision(row)}")


def test_a_node_has_its_tables_subscriptions_and_neighbours(opened: Browser, rows: list[LogRow]) -> None:
    subscriber = of_kind(rows, "subscribe")[0]
    t_us = 12_000_000
    seek(opened, t_us)
    opened.run("replay.player.selectNode(arguments[0])", subscriber.node)
    assert text(opened, "[data-fact=subscriptions]") == subscriber.reason
    sample = [row for row in of_kind(rows, "state") if row.node == subscriber.node and row.t <= t_us][-1]
    entries = "1 entry" if sample.value == 1 else f"{sample.value} entries"
    assert text(opened, "[data-fact=tables]") == f"{entries}, {sample.size} bytes"
    heard = {
        row.peer
        for row in of_kind(rows, "receive", "overhear")
        if row.node == subscriber.node and t_us - 5_000_000 < row.t <= t_us
    }
    chips = opened.run("return [...document.querySelectorAll('[data-now=neighbours] button')].map(c => c.textContent)")
    assert set(chips) == {f"n{node}" for node in heard} and heard


def test_a_node_that_is_down_says_so(opened: Browser, rows: list[LogRow]) -> None:
    crash = of_kind(rows, "crash")[0]
    back = next((row for row in of_kind(rows, "recover") if row.node == crash.node and row.t > crash.t), None)
    assert back is not None
    opened.run("replay.player.selectNode(arguments[0])", crash.node)
    for t_us, word in ((crash.t - 1, "up"), (crash.t, "down"), (back.t - 1, "down"), (back.t, "up")):
        seek(opened, t_us)
        assert text(opened, "[data-fact=state]") == word


def test_sleeping_nodes_say_so(browser: Browser, folder: Path) -> None:
    log = Log(run(folder / "asleep.parquet", awake_s=2.0, asleep_s=2.0))
    show(browser, page.write([log], folder / "asleep.html"))
    sleep = of_kind(list(log.rows()), "sleep")[3]
    browser.run("replay.player.selectNode(arguments[0])", sleep.node)
    seek(browser, sleep.t + 1)
    assert text(browser, "[data-fact=state]") == "asleep"


# ---- an event


def missed_event(log: Log) -> str:
    """The one that the most nodes missed after some got it."""
    answer = log.why()
    return next(line.name for line in answer.events if 0 < line.got < (line.interested or 0))  # type: ignore[union-attr]


def test_a_click_on_an_event_shows_which_nodes_never_got_it_and_why(opened: Browser, log: Log) -> None:
    name = missed_event(log)
    opened.run(
        "[...document.querySelectorAll('.event')].find(e => e.textContent.startsWith(arguments[0])).click()", name
    )
    answer = log.why(event=name)
    missed = [outcome.node for outcome in answer.nodes if outcome.status == "missed"]  # type: ignore[union-attr]
    got = [outcome.node for outcome in answer.nodes if outcome.status == "got"]  # type: ignore[union-attr]
    lines = opened.run(
        "return [...document.querySelectorAll('.missed li')].map(l => [Number(l.dataset.node), l.textContent])"
    )
    assert [node for node, _ in lines] == missed and missed
    for node, line in lines:
        explanation = log.why(node, name)
        assert isinstance(explanation, Explanation)
        assert line == f"n{node} {explanation.cause} {explanation.summary}"
    chips = opened.run("return [...document.querySelectorAll('#content .got .chip')].map(c => c.textContent)")
    assert chips == [f"n{node}" for node in sorted(got)]
    assert answer.network.rstrip(".") in text(opened, "#content")  # type: ignore[union-attr]


def test_the_tree_of_an_event_is_that_of_its_first_copies(opened: Browser, log: Log, rows: list[LogRow]) -> None:
    name = missed_event(log)
    event = words.event_of(name)
    opened.run("replay.player.selectEvent(arguments[0])", name)
    had = {row.node for row in of_kind(rows, "publish", "receive", "deliver") if row.event == event}
    assert opened.run("return document.querySelectorAll('.tree circle').length") == len(had)
    first: dict[int, int] = {}
    for row in of_kind(rows, "receive"):
        if row.event == event and row.node != event >> 32:
            first.setdefault(row.node, row.peer)
    seek(opened, 20_000_000)
    tree = opened.run(
        "const r = replay.runs[0]; return r.standing(replay.player.eventIn(r), replay.player.t).tree"
        ".map(([from, to]) => [r.nodes[to], r.nodes[from]])"
    )
    assert dict(tree) == first


def test_how_many_nodes_have_an_event_grows_with_time(opened: Browser, log: Log, rows: list[LogRow]) -> None:
    name = missed_event(log)
    event = words.event_of(name)
    opened.run("replay.player.selectEvent(arguments[0])", name)
    first: dict[int, int] = {}
    for row in of_kind(rows, "publish", "receive", "deliver"):
        if row.event == event:
            first.setdefault(row.node, row.t)
    for t_us in (sorted(first.values())[0], sorted(first.values())[len(first) // 2], 20_000_000):
        seek(opened, t_us)
        has = len([t for t in first.values() if t <= t_us])
        assert f" {has} node{'s have' if has > 1 else ' has'} it, " in text(opened, ".standing")


# ---- by keyboard


def test_everything_can_be_done_by_keyboard(opened: Browser, rows: list[LogRow]) -> None:
    from selenium.webdriver.common.keys import Keys

    published = [row.t for row in of_kind(rows, "publish")]
    press(opened, "]")
    assert state(opened)["t"] == published[0]
    press(opened, "]]")
    assert state(opened)["t"] == published[2]
    press(opened, "[")
    assert state(opened)["t"] == published[1]
    press(opened, ".")
    assert state(opened)["t"] == next(row.t for row in rows if row.t > published[1] and row.kind != "move")
    press(opened, ",")
    assert state(opened)["t"] == published[1]
    speed = state(opened)["speed"]
    press(opened, "-")
    assert state(opened)["speed"] < speed
    press(opened, Keys.END)
    assert state(opened)["t"] == 20_000_000
    press(opened, Keys.HOME)
    assert state(opened)["t"] == 0
    press(opened, "rl")
    assert opened.run("return [replay.player.shows.ranges, replay.player.shows.labels]") == [True, True]
    press(opened, "?")
    assert opened.run("return document.getElementById('help').open")
    press(opened, Keys.ESCAPE)
    assert not opened.run("return document.getElementById('help').open")


def test_playing_moves_the_clock_until_it_is_paused(opened: Browser) -> None:
    press(opened, " ")
    assert state(opened)["playing"]
    wait_until(opened, "replay.state().t > 2e5")
    press(opened, " ")
    t = state(opened)["t"]
    assert not state(opened)["playing"] and t > 2e5
    assert text(opened, "#clock") == f"{t / 1e6:.3f} s"
    assert state(opened)["t"] == t


def test_focus_goes_through_all_controls_and_is_seen(opened: Browser) -> None:
    from selenium.webdriver.common.keys import Keys

    reached = []
    for _ in range(20):
        opened.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(opened.run("const e = document.activeElement; return e.id || e.className || e.tagName"))
    assert {"skip", "help-button", "play", "speed", "step", "timeline", "tab-node"} <= set(reached)
    unnamed = (
        "return [...document.querySelectorAll('input, select, button')]"
        ".filter(e => !e.textContent.trim() && !e.ariaLabel && !e.labels?.length).length"
    )
    assert opened.run(unnamed) == 0


def test_the_address_keeps_what_is_shown(browser: Browser, path: Path, log: Log) -> None:
    name = missed_event(log)
    show(browser, path)
    browser.run("replay.player.selectEvent(arguments[0]); replay.player.selectNode(7)", name)
    seek(browser, 12_345_678)
    address = browser.run("return location.hash")
    browser.driver.get("about:blank")
    browser.driver.get(path.absolute().as_uri() + address)
    wait_until(browser, "window.replay")
    assert (state(browser)["t"], state(browser)["event"], state(browser)["node"]) == (12_345_678, name, 7)


def test_the_link_to_the_panel_leaves_the_time_as_it_is(opened: Browser) -> None:
    seek(opened, 12_345_678)
    opened.run("document.querySelector('.skip').click()")
    wait_until(opened, "location.hash === '#panel'")
    text(opened, "#clock")
    assert state(opened)["t"] == 12_345_678


def test_an_address_with_an_event_alone_shows_it_as_it_ended(browser: Browser, path: Path, log: Log) -> None:
    name = missed_event(log)
    browser.open(path, place=f"event={name}")
    wait_until(browser, "document.documentElement.dataset.ready")
    ended = browser.run("return replay.player.spreadOf(replay.runs[0])[1]")
    assert (state(browser)["event"], state(browser)["t"]) == (name, ended) and ended > 0


# ---- some nodes


def test_a_page_of_some_nodes_counts_all_that_got_an_event(browser: Browser, folder: Path, log: Log) -> None:
    name = missed_event(log)
    (line,) = [each for each in log.why().events if each.name == name]  # type: ignore[union-attr]
    concerned = {outcome.node for outcome in log.why(event=name).nodes}  # type: ignore[union-attr]
    some = frozenset({words.event_of(name) >> 32, min(concerned)})
    show(browser, page.write([log], folder / "some.html", Wanted(None, None, some)))
    listed = "return [...document.querySelectorAll('.event')].map(e => [...e.children].map(c => c.textContent))"
    (share,) = [shown[2] for shown in browser.run(listed) if shown[0] == name]
    assert share == f"{line.got} of {line.interested}"
    assert browser.run("return replay.runs[0].events.every(e => e.interested < 0 || e.got <= e.interested)")
    browser.run("replay.player.selectEvent(arguments[0])", name)
    assert browser.run("return replay.runs[0].pairsOf.of(replay.player.eventIn(replay.runs[0])).length") < len(
        concerned
    )
    heads = browser.run("return [...document.querySelectorAll('#content h2')].map(h => h.textContent)")
    assert [head.partition(" (")[0] for head in heads[2:]] == [
        "Wanted it and never got it, of the nodes on this page",
        "Wanted it and got it, of the nodes on this page",
    ]
    assert ". On this page, " in text(browser, ".standing")


# ---- two runs


@pytest.fixture(scope="module")
def two(folder: Path, log: Log) -> Path:
    other = Log(run(folder / "counter.parquet", "counter", crash_mean_s=25.0, repair_mean_s=4.0))
    return page.write([log, other], folder / "two.html")


def test_two_runs_share_one_clock(browser: Browser, two: Path, folder: Path) -> None:
    show(browser, two)
    seek(browser, 9_000_000)
    counts = state(browser)["counts"]
    for number, name in enumerate(("run", "counter")):
        rows = [row for row in Log(folder / f"{name}.parquet").rows() if row.t <= 9_000_000]
        assert counts[number]["delivered"] == len(of_kind(rows, "deliver"))
    assert browser.run("return [replay.position(5, 0), replay.position(5, 1)]")[0] == pytest.approx(
        browser.run("return replay.position(5, 1)")
    )
    assert browser.run("return document.querySelectorAll('.stage').length") == 2
    browser.run("replay.player.selectNode(5)")
    assert browser.run("return document.querySelectorAll('#content [data-fact=state]').length") == 2


def test_two_logs_have_together_no_more_rows_than_one(browser: Browser, folder: Path, log: Log) -> None:
    other = Log(run(folder / "long.parquet", "counter"))
    show(browser, page.write([log, other], folder / "cut.html", Wanted(most_rows=4000)))
    counts = browser.run("return replay.runs.map(run => run.row_count)")
    assert all(1500 < count <= 2000 for count in counts)
    remarks = text(browser, "#remarks")
    for number, (count, each) in enumerate(zip(counts, (log, other), strict=True)):
        assert f"{number + 1} · This page has {count:,} of the log's {each.table().num_rows:,} rows" in remarks


def test_an_event_is_compared_between_two_runs(browser: Browser, two: Path, log: Log, folder: Path) -> None:
    name = missed_event(log)
    show(browser, two, place=f"event={name}&t=20")
    cells = browser.run(
        "return [...document.querySelectorAll('.compared tr')].map(r => [...r.children].map(c => c.textContent))"
    )
    both = [log, Log(folder / "counter.parquet")]
    shares = [next(line for line in each.why().events if line.name == name) for each in both]  # type: ignore[union-attr]
    assert cells[0] == ["", "gossip", "counter"]
    assert cells[-1] == ["got it in the end", *(f"{line.got} of {line.interested}" for line in shares)]
    assert cells[2] == ["delivered it", *(str(line.got) for line in shares)]


# ---- how it looks


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_text_stands_out_and_no_width_needs_scrolling_sideways(
    browser: Browser, path: Path, two: Path, log: Log, scheme: str, width: int
) -> None:
    """WCAG AA: 4.5 to 1, or 3 to 1 for large text."""
    for each in (path, two):
        show(browser, each, width, 844, scheme)
        for choice in ("", f"replay.player.selectEvent('{missed_event(log)}')", "replay.player.selectNode(3)"):
            browser.run(choice)
            checked, faint = browser.run(CONTRAST)
            assert checked > 20
            assert faint == []
            assert browser.run("return document.documentElement.scrollWidth") <= width
        boxes = browser.run("return [...document.querySelectorAll('canvas')].map(c => [c.clientWidth, c.clientHeight])")
        least = width / 3 if each is two else width / 2  # two fields stand side by side, also on a phone
        assert all(wide > least and high > 60 for wide, high in boxes)


def test_a_canvas_is_never_shown_empty_after_its_size_changed(opened: Browser) -> None:
    """An observer that is younger than the page's own looks after it, and before the browser shows anything."""
    script = """
      const done = arguments[0], canvas = document.querySelector('.stage canvas');
      const drawn = () => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean);
      const before = canvas.clientWidth;
      const look = () => canvas.clientWidth !== before && done([canvas.width !== before, drawn()]);
      new ResizeObserver(look).observe(canvas);
      requestAnimationFrame(() => { document.querySelector('main').style.width = '900px'; });"""
    assert opened.driver.execute_async_script(script) == [True, True]
    assert opened.complaints() == []


def test_what_is_missing_is_said(browser: Browser, folder: Path) -> None:
    frames = Log(run(folder / "frames.parquet", level="frames"))
    show(browser, page.write([frames], folder / "frames.html"))
    assert text(browser, "#remarks").startswith("The log has no movements, so nodes stand in a graph")
    assert browser.run("return document.getElementById('remarks').checkVisibility()")
    browser.run("replay.player.selectNode(3)")
    assert text(browser, "[data-fact=place]") == "not in the log"
    assert browser.complaints() == []


def test_a_log_without_frames_plays_as_well(browser: Browser, folder: Path) -> None:
    bare = Log(run(folder / "deliveries.parquet", level="deliveries"))
    show(browser, page.write([bare], folder / "deliveries.html"))
    press(browser, "]")
    assert state(browser)["t"] == of_kind(list(bare.rows()), "publish")[0].t
    assert browser.complaints() == []
