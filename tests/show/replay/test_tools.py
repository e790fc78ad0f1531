"""What is drawn can be chosen, and the field looked at closely, by keys, by buttons, by wheel and by fingers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.show.browser import Browser
from tests.show.replay.hands import click, drawn, press, show, wait_until

CORNER = "const box = document.querySelector('.stage canvas').getBoundingClientRect(); return [box.x, box.y]"
ZOOM = "return replay.player.stages[0].zoom"


@pytest.mark.parametrize(("name", "key"), [("ranges", "r"), ("labels", "l"), ("frames", "f")])
def test_a_button_and_a_key_choose_what_is_drawn(opened: Browser, name: str, key: str) -> None:
    shown = f"return [replay.player.shows.{name}, document.querySelector('[data-shows={name}]').ariaPressed]"
    before, pressed = opened.run(shown)
    assert pressed == str(before).lower()
    click(opened, f"[data-shows={name}]")
    assert opened.run(shown) == [not before, str(not before).lower()]
    press(opened, key)
    assert opened.run(shown) == [before, pressed]


def test_buttons_and_keys_go_closer_and_back(opened: Browser) -> None:
    click(opened, "[data-key=z]")
    near = opened.run(ZOOM)
    assert near > 1
    press(opened, "z")
    assert opened.run(ZOOM) > near
    press(opened, "Z")
    assert opened.run(ZOOM) == pytest.approx(near)
    click(opened, "[data-key=Z]")
    assert opened.run(ZOOM) == pytest.approx(1)
    press(opened, "zz0")
    assert opened.run(ZOOM) == 1


def touch(browser: Browser, kind: str, *points: tuple[float, float]) -> None:
    """What fingers may do (`touch-action`) is what the last picture said, and the page hears of moves with the next:
    a finger that comes before it would scroll where it should drag."""
    drawn(browser)
    touches = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(points)]
    browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})


@pytest.fixture
def phone(browser: Browser, path: Path) -> Iterator[Browser]:
    browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    yield show(browser, path, 390, 844)
    browser.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_two_fingers_go_closer_and_what_is_between_them_stays(phone: Browser) -> None:
    left, top = phone.run(
        "const b = document.querySelector('.stage canvas').getBoundingClientRect(); return [b.x, b.y]"
    )
    middle = 150.0, 160.0
    below = """
      const { left, bottom, scale } = replay.player.stages[0];
      return [(arguments[0] - left) / scale, (bottom - arguments[1]) / scale];"""
    place = phone.run(below, *middle)
    x, y = left + middle[0], top + middle[1]
    touch(phone, "touchStart", (x - 20, y), (x + 20, y))
    for apart in (30, 40, 60):
        touch(phone, "touchMove", (x - apart, y), (x + apart, y))
    touch(phone, "touchEnd")
    drawn(phone)
    assert phone.run(ZOOM) == pytest.approx(3, rel=0.1)
    assert phone.run(below, *middle) == pytest.approx(place, abs=25)
    assert phone.run("return replay.state().node") is None  # no click
    before = phone.run("return replay.player.stages[0].offset")
    touch(phone, "touchStart", (x, y))
    for moved in (10, 20, 30):
        touch(phone, "touchMove", (x + moved, y + moved))
    touch(phone, "touchEnd")
    drawn(phone)
    after = phone.run("return replay.player.stages[0].offset")
    assert [after[0] - before[0], after[1] - before[1]] == pytest.approx([30, 30], abs=12)


def test_a_finger_selects_a_node(phone: Browser) -> None:
    left, top = phone.run(
        "const b = document.querySelector('.stage canvas').getBoundingClientRect(); return [b.x, b.y]"
    )
    x, y = phone.run("return replay.spot(7)")
    touch(phone, "touchStart", (left + x, top + y))
    touch(phone, "touchEnd")
    wait_until(phone, "replay.state().node === 7")  # a browser makes a click of a touch some time after it has ended


def test_the_help_has_all_keys_and_all_marks(opened: Browser) -> None:
    press(opened, "?")
    assert opened.run("return document.getElementById('help-title').textContent") == "Keys and marks"
    keys = opened.run("return [...document.querySelectorAll('#help kbd')].map(key => key.textContent)")
    assert {"space", ",", ".", "z", "Z", "0", "r", "l", "f", "w", "?"} <= set(keys)
    marks = opened.run("return [...document.querySelectorAll('#help .legend li')].map(mark => mark.textContent)")
    assert {"node", "down", "lost by collision", "lost otherwise", "wants and has it, not yet delivered"} <= set(marks)
    assert "asleep" not in marks  # this run has no sleeping nodes
    assert "frame: event" in marks
    heights = opened.run("return [...document.querySelectorAll('#help kbd')].map(key => key.clientHeight)")
    assert max(heights) < 30  # none is stretched
