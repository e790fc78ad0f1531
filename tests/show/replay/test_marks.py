"""What the field draws, pixel by pixel, against the log's own rows: losses, absent nodes, walls, streets, frames."""

from __future__ import annotations

from collections import Counter
from math import hypot
from pathlib import Path

from roamcast.log.explanation.places import Places
from roamcast.log.opened import Log
from roamcast.log.reader import LogRow
from roamcast.show.replay import page
from tests.show.browser import Browser
from tests.show.replay.hands import seek, show
from tests.show.replay.runs import of_kind, run

PIXEL = """
  const canvas = document.querySelector('.stage canvas'), ratio = canvas.width / canvas.clientWidth;
  const [x, y] = [arguments[0], arguments[1]].map((at) => Math.round(at * ratio));
  return [...canvas.getContext('2d').getImageData(x, y, 1, 1).data];"""
COLOUR = """
  const pen = document.createElement('canvas').getContext('2d');
  pen.fillStyle = colours[arguments[0]]; pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data];"""
APART_PX = 45.0


def pixel(browser: Browser, x: float, y: float) -> list[int]:
    return browser.run(PIXEL, x, y)  # type: ignore[no-any-return]


def looks(browser: Browser, x: float, y: float, colour: str) -> bool:
    """Whether a pixel has about this colour of the page."""
    wanted = browser.run(COLOUR, colour)
    return all(abs(a - b) <= 40 for a, b in zip(pixel(browser, x, y), wanted, strict=True))


def spots(browser: Browser) -> list[list[float]]:
    return browser.run("return replay.runs[0].nodes.map(node => replay.spot(node))")  # type: ignore[no-any-return]


def alone(browser: Browser, node: int) -> tuple[float, float] | None:
    """Where a node is drawn, unless another one is near."""
    x, y = spots(browser)[node]
    others = [hypot(x - a, y - b) for k, (a, b) in enumerate(spots(browser)) if k != node]
    return (x, y) if min(others) > APART_PX else None


def shown_alone(browser: Browser, rows: list[LogRow]) -> tuple[LogRow, float, float]:
    """The first of these rows whose node has room around it just after the row, and where it is."""
    for row in rows:
        seek(browser, row.t + 1)
        place = alone(browser, row.node)
        if place is not None:
            return row, *place
    raise AssertionError("no node has room around it")


def test_a_collision_is_a_star_and_another_loss_a_cross(opened: Browser, rows: list[LogRow]) -> None:
    opened.run("replay.player.setSpeed(0.001)")
    for reason, is_star in (("collision", True), ("loss", False)):
        lost = [row for row in of_kind(rows, "lose") if row.reason == reason and row.t > 2_000_000]
        _, x, y = shown_alone(opened, lost)
        size = opened.run("return replay.player.stages[0].dot") + 4  # more than a node with its ring
        assert looks(opened, x + 0.8 * size, y + 0.8 * size, "red")  # a leg of the cross
        assert looks(opened, x, y - 1.2 * size, "red") == is_star


def absent(browser: Browser, folder: Path, name: str, **fields: float) -> list[LogRow]:
    """The rows of a run of few nodes that are absent at times, after its page was opened."""
    log = Log(run(folder / f"{name}.parquet", nodes=12, subscribers=3, **fields))
    show(browser, page.write([log], folder / f"{name}.html"))
    browser.run("replay.player.shows.frames = false")
    return list(log.rows())


def state_of(browser: Browser, node: int) -> str:
    return browser.run("return replay.runs[0].state(arguments[0], replay.player.t)", node)  # type: ignore[no-any-return]


def test_sleeping_nodes_are_hollow(browser: Browser, folder: Path) -> None:
    rows = absent(browser, folder, "sleepers", awake_s=2.0, asleep_s=2.0)
    row, x, y = shown_alone(browser, of_kind(rows, "sleep"))
    assert state_of(browser, row.node) == "asleep" and looks(browser, x, y, "paper")
    row, x, y = shown_alone(browser, of_kind(rows, "wake"))
    assert state_of(browser, row.node) == "up" and looks(browser, x, y, "node")


def test_dead_nodes_are_crosses(browser: Browser, folder: Path) -> None:
    rows = absent(browser, folder, "mortals", crash_mean_s=10.0, repair_mean_s=4.0)
    row, x, y = shown_alone(browser, of_kind(rows, "crash"))
    dot = browser.run("return replay.player.stages[0].dot")
    assert state_of(browser, row.node) == "down"
    assert looks(browser, x, y, "soft") and looks(browser, x + 0.7 * dot, y + 0.7 * dot, "soft")
    assert not looks(browser, x + 0.8 * dot, y, "soft") and not looks(browser, x + 0.8 * dot, y, "node")
    row, x, y = shown_alone(browser, of_kind(rows, "recover"))
    assert state_of(browser, row.node) == "up" and looks(browser, x + 0.6 * dot, y, "node")


def test_a_wall_is_seen_while_it_stands(browser: Browser, folder: Path) -> None:
    log = Log(run(folder / "wall.parquet", partition_from_s=5.0, partition_until_s=12.0))
    show(browser, page.write([log], folder / "wall.html"))
    browser.run("replay.player.shows.frames = false")
    for s, stands in ((4.9, False), (5.1, True), (11.9, True), (12.1, False)):
        seek(browser, round(s * 1e6))
        left, bottom, scale = browser.run("const s = replay.player.stages[0]; return [s.left, s.bottom, s.scale]")
        column = [looks(browser, left + 350 * scale, bottom - y * scale, "red") for y in range(2, 698, 2)]
        assert any(column) == stands
    assert "wall: no frame passes" in browser.run("return document.getElementById('help').textContent")


def test_streets_lie_below_nodes(browser: Browser, folder: Path) -> None:
    log = Log(run(folder / "streets.parquet", mobility="manhattan", block_m=100.0, nodes=6, subscribers=2))
    show(browser, page.write([log], folder / "streets.html"))
    browser.run("replay.player.shows.frames = false")
    places = Places(of_kind(list(log.rows()), "move"))
    seek(browser, 10_000_000)
    left, bottom, scale = browser.run("const s = replay.player.stages[0]; return [s.left, s.bottom, s.scale]")
    for node in range(6):
        x, y = places.position(node, 10_000_000) or (0, 0)
        assert min(abs(x - 100 * round(x / 100)), abs(y - 100 * round(y / 100))) < 0.01  # the model keeps to them
    streets = [looks(browser, left + 200 * scale, bottom - y * scale, "street") for y in range(20, 680, 20)]
    blocks = [looks(browser, left + 250 * scale, bottom - (100 * k + 50) * scale, "ground") for k in range(7)]
    assert streets.count(True) > 0.8 * len(streets) and blocks.count(True) >= 5


def test_frames_have_the_colour_that_the_legend_says(browser: Browser, folder: Path) -> None:
    """Kinds that carry events first, then by number, as the rows have them."""
    log = Log(run(folder / "kinds.parquet", "proximity"))
    show(browser, page.write([log], folder / "kinds.html"))
    sent = of_kind(list(log.rows()), "send")
    counts = Counter(row.reason for row in sent)
    with_events = {row.reason for row in sent if row.event}
    order = sorted(counts, key=lambda kind: (kind not in with_events, -counts[kind], kind))
    legend = (
        "return [...document.querySelectorAll('#content .legend li')].filter(l => l.textContent.startsWith('frame: '))"
    )
    shown = browser.run(
        f"{legend}.map(l => [l.textContent.slice(7), getComputedStyle(l.querySelector('path')).stroke])"
    )
    assert [kind for kind, _ in shown] == order and len(order) > 1
    drawn = browser.run(
        "const r = replay.runs[0]; return r.frames_.map(f => [r.texts[f.text], f.look.hue, r.nodes[f.node], f.t])"
    )
    assert [(kind, node, t) for kind, _, node, t in drawn] == [(row.reason, row.node, row.t) for row in sent]
    hues = {kind: hue for kind, hue, _, _ in drawn}
    for kind, stroke in shown:
        red, green, blue, _ = browser.run(COLOUR, hues[kind])
        assert stroke == f"rgb({red}, {green}, {blue})"
    assert len({stroke for _, stroke in shown}) == len(order)
