"""One browser, and one run that its tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roamcast.log.opened import Log
from roamcast.log.reader import LogRow
from roamcast.show.replay import page
from tests.show.browser import Browser, started
from tests.show.replay.hands import show
from tests.show.replay.runs import run


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with started(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replay")


@pytest.fixture(scope="package")
def log(folder: Path) -> Log:
    return Log(run(folder / "run.parquet", crash_mean_s=25.0, repair_mean_s=4.0, loss=0.05))


@pytest.fixture(scope="package")
def rows(log: Log) -> list[LogRow]:
    return list(log.rows())


@pytest.fixture(scope="package")
def path(folder: Path, log: Log) -> Path:
    return page.write([log], folder / "run.html")


@pytest.fixture
def opened(browser: Browser, path: Path) -> Browser:
    return show(browser, path)
