"""A real browser without a window: Debian's Chromium, driven by selenium. Tests that want it skip where it is not."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


class Browser:
    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, width: int = 1280, height: int = 900, place: str = "") -> None:
        self._command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        self.driver.get("about:blank")  # the same page with another address would only be scrolled
        self.driver.get_log("browser"), self.driver.get_log("performance")  # forget what was before
        self.driver.get(page.absolute().as_uri() + (f"#{place}" if place else ""))
        self.run("return document.readyState")

    def emulate(self, scheme: str = "light", media: str = "") -> None:
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self._command("Emulation.setEmulatedMedia", media=media, features=features)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """What the console has."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Every address that the page asked for, itself included."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]

    def picture(self, place: Path, whole: bool = False) -> None:
        shot = self._command("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        place.write_bytes(base64.b64decode(shot["data"]))

    def printed(self, place: Path) -> None:
        place.write_bytes(base64.b64decode(self._command("Page.printToPDF", printBackground=False)["data"]))

    def _command(self, name: str, **arguments: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, arguments)


@contextmanager
def started(profile: Path) -> Iterator[Browser]:
    selenium = pytest.importorskip("selenium", reason="selenium is not installed")
    assert selenium
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not chromedriver:
        pytest.skip("no chromium and chromedriver here (Debian: apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
