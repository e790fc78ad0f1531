"""What pages that play a run cost: `python bench/replay.py [NODES ...]` (50, 200 and 1,000).

For each number of nodes, 60 s of a world with about ten neighbours to a node, where two nodes publish an event a
second: the rows of the log, the seconds to make the page, and its size. Then the run plays at 1× in a browser without a
window and without a graphics card (Chromium, 1,440 by 900 points), and the table has
    draw       the time in which the page's program draws a picture, the least of five times, so that other programs
               do not count: half of 300 pictures, and 95 of 100
    processor  the processor time of all the browser's processes for a picture, which other programs do not change
    apart      the time from one picture to the next; a browser draws at most every 16.7 ms
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from math import sqrt
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from roamcast.log.opened import Log
from roamcast.show.replay import page
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import simulate

NODES = (50, 200, 1000)
NEIGHBOURS = 10
RANGE_M = 150.0
PLAYED_S = 15.0
DRAWN_AGAIN = """
  const { player } = replay;
  player.pause();
  return Array.from({ length: 300 }, (_, picture) => {
    player.t = 5e6 + picture * 5e4;
    return Math.min(...Array.from({ length: 5 }, () => {
      const began = performance.now();
      player.paint();
      return performance.now() - began;
    }));
  });"""
DEEP = 8  # processes that start processes
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1440,900")
HEADINGS = ("nodes", "rows", "in the page", "made s", "MB", "draw ms", "p95", "processor ms", "apart ms", "p95")


def main() -> None:
    table = Table(*HEADINGS)
    with tempfile.TemporaryDirectory() as folder:
        for nodes in map(int, sys.argv[1:] or NODES):
            table.add_row(*measured(nodes, Path(folder)))
    Console(width=120).print(table)


def measured(nodes: int, folder: Path) -> list[str]:
    log = logged(nodes, folder / f"{nodes}.parquet")
    began = time.perf_counter()
    made = page.write([log], folder / f"{nodes}.html")
    took_s = time.perf_counter() - began
    rows, size = log.table().num_rows, made.stat().st_size
    times = drawn(made)
    drawing = [f"{times[name]:.1f}" for name in ("draw_p50", "draw_p95", "processor", "wait_p50", "wait_p95")]
    return [f"{nodes:,}", f"{rows:,}", f"{times['rows']:,}", f"{took_s:.1f}", f"{size / 1e6:.2f}", *drawing]


def logged(nodes: int, path: Path) -> Log:
    side_m = sqrt(nodes / NEIGHBOURS * 3.14159) * RANGE_M
    scenario = Scenario(
        nodes=nodes,
        width_m=side_m,
        height_m=side_m,
        range_m=RANGE_M,
        duration_s=60.0,
        publishers=2,
        subscribers=nodes // 5,
        speed_max_mps=10.0,
    )
    simulate(scenario, "gossip", {"p": 0.6}, 1, level="full", log=path, possible=False)
    return Log(path)


def drawn(made: Path) -> dict[str, Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in FLAGS:
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
    try:
        driver.set_script_timeout(120)
        driver.get(made.as_uri())
        ready = "const done = arguments[0]; const look = () => window.replay ? done() : setTimeout(look, 50); look()"
        driver.execute_async_script(ready)
        driver.execute_script("replay.player.setSpeed(1); replay.seek(5); replay.player.play()")
        time.sleep(2.0)
        driver.execute_script("replay.forgetTimes()")
        before_s = processor_s(int(driver.service.process.pid))
        time.sleep(PLAYED_S)
        times: dict[str, Any] = driver.execute_script("return replay.times()")
        times["processor"] = 1000 * (processor_s(int(driver.service.process.pid)) - before_s) / times["frames"]
        least: list[float] = sorted(driver.execute_script(DRAWN_AGAIN))
        times["draw_p50"], times["draw_p95"] = least[len(least) // 2], least[len(least) * 95 // 100]
        times["rows"] = driver.execute_script("return replay.runs[0].row_count")
        return times
    finally:
        driver.quit()


def processor_s(root: int) -> float:
    """Of a process and all that it has started."""
    parents, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(") ")[2].split()
        except OSError:  # it has ended
            continue
        pid = int(path.parent.name)
        parents[pid], used[pid] = int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    family = {root}
    for _ in range(DEEP):
        family |= {pid for pid, parent in parents.items() if parent in family}
    return sum(used.get(pid, 0.0) for pid in family)


if __name__ == "__main__":
    main()
