"""What a person does with a replay in a browser: open it, press, click, read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.show.browser import Browser

READY = "return document.documentElement.dataset.ready"


def show(
    browser: Browser, path: Path, width: int = 1440, height: int = 900, scheme: str = "light", place: str = "t=0"
) -> Browser:
    """At its begin; with `place` "", where the page itself begins."""
    browser.emulate(scheme)
    browser.driver.get("about:blank")
    browser.open(path, width, height, place)
    wait_until(browser, "document.documentElement.dataset.ready")
    assert browser.run(READY) == "yes"
    return browser


def wait_until(browser: Browser, condition: str) -> None:
    look = f"const look = () => {condition} ? done() : setTimeout(look, 20); look()"
    browser.driver.execute_async_script(f"const done = arguments[0]; {look}")


def state(browser: Browser) -> dict[str, Any]:
    return browser.run("return replay.state()")  # type: ignore[no-any-return]


def seek(browser: Browser, t_us: int) -> None:
    """As the address does: `#t=…`; exact."""
    browser.run("replay.seek(arguments[0] / 1e6)", t_us)


def click(browser: Browser, selector: str) -> None:
    from selenium.webdriver.common.by import By

    browser.driver.find_element(By.CSS_SELECTOR, selector).click()


def click_at(browser: Browser, selector: str, x: float, y: float) -> None:
    """At a point of an element, counted from its left upper corner."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    element = browser.driver.find_element(By.CSS_SELECTOR, selector)
    box = browser.run("const b = arguments[0].getBoundingClientRect(); return [b.width, b.height]", element)
    ActionChains(browser.driver).move_to_element_with_offset(
        element, round(x - box[0] / 2), round(y - box[1] / 2)
    ).click().perform()


def press(browser: Browser, keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(browser.driver).send_keys(keys).perform()


def choose(browser: Browser, id: str, value: str) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select

    Select(browser.driver.find_element(By.ID, id)).select_by_value(value)


def drawn(browser: Browser) -> None:
    """What was done is seen with the next picture, which a busy machine draws late."""
    done = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
    browser.driver.execute_async_script(done)


def text(browser: Browser, selector: str) -> str:
    drawn(browser)
    return browser.run("return document.querySelector(arguments[0]).textContent", selector)  # type: ignore[no-any-return]


def select_node(browser: Browser, node: int) -> None:
    """By clicking it in the field."""
    x, y = browser.run("return replay.spot(arguments[0])", node)
    click_at(browser, ".stage canvas", x, y)
