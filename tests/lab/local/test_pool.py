"""Items reach workers however they are started, results come back, and nothing outlives an error or its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import WorkerDied
from roamcast.lab.local import pool

PATIENCE_S = 60.0


def double(item: int) -> int:
    return 2 * item


def die(item: int) -> int:
    if item == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def note_and_sleep(place: tuple[Path, int]) -> None:
    folder, item = place
    (folder / f"{os.getpid()}").write_text(str(item))
    time.sleep(PATIENCE_S)


def gone(process: int) -> bool:
    """Whether a process has ended, also if nobody has asked after it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def eventually(condition: Callable[[], Any]) -> bool:
    until = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return bool(condition())


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_every_item_has_its_result(start: str) -> None:
    results = dict(pool.spread(double, [5, 6, 7], 2, start))
    assert results == {0: 10, 1: 12, 2: 14}
    assert dict(pool.spread(double, [], 2, start)) == {}


def test_forked_workers_inherit_what_cannot_be_pickled() -> None:
    class Local:
        value = 7

    assert dict(pool.spread(lambda item: item.value, [Local, Local()], 2, "fork")) == {0: 7, 1: 7}


def test_a_worker_knows_that_it_is_one() -> None:
    assert not pool.in_worker()
    assert dict(pool.spread(lambda _: pool.in_worker(), [0], 1)) == {0: True}


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_worker_that_dies_is_noticed(start: str) -> None:
    with pytest.raises(WorkerDied, match=r"^a worker process died$"):
        list(pool.spread(die, [1, 2, 3], 2, start))
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_worker_that_dies_takes_only_its_item_with_it(start: str) -> None:
    results = dict(pool.outcomes(die, [1, 2, 3, 2, 4, 5, 2], 2, start))
    assert sorted(results) == list(range(7))
    died = {place for place, outcome in results.items() if isinstance(outcome, WorkerDied)}
    assert died == {1, 3, 6}
    assert [results[place] for place in range(7) if place not in died] == [1, 3, 4, 5]
    assert multiprocessing.active_children() == []


def test_a_worker_that_is_killed_from_outside_is_replaced(tmp_path: Path) -> None:
    def note_and_wait(item: int) -> int:
        if item == 0:
            (tmp_path / "worker").write_text(str(os.getpid()))
            time.sleep(PATIENCE_S)
        return item

    def kill() -> None:
        assert eventually(lambda: (tmp_path / "worker").exists() and (tmp_path / "worker").read_text())
        os.kill(int((tmp_path / "worker").read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    results = dict(pool.outcomes(note_and_wait, [0, 1, 2], 1))
    killer.join()
    assert isinstance(results.pop(0), WorkerDied)
    assert results == {1: 1, 2: 2}


def test_a_worker_that_dies_with_children_of_its_own_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold its pipes."""
    monkeypatch.setattr(pool, "LOOK_S", 0.05)

    def leave_a_child(_: int) -> None:
        if os.fork():
            os._exit(1)
        time.sleep(5.0)
        os._exit(0)

    ((place, outcome),) = pool.outcomes(leave_a_child, [0], 1)
    assert place == 0 and isinstance(outcome, WorkerDied)


class Odd(Exception):
    """Cannot be pickled: it does not remember what it was made of."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} {two}")


def raise_odd(_: int) -> None:
    raise Odd("this", "that")


def give_function(_: int) -> Any:
    return lambda: 1


def test_what_cannot_be_sent_is_named() -> None:
    with pytest.raises(RuntimeError, match=r"^Odd: this that$"):
        list(pool.spread(raise_odd, [0], 1))
    with pytest.raises(RuntimeError, match=r"^function: Can't pickle"):
        list(pool.spread(give_function, [0], 1))


def test_an_error_says_where_in_the_worker_it_was_raised() -> None:
    with pytest.raises(ValueError, match="item 0") as raised:
        list(pool.spread(raise_value, [0], 1))
    assert "in raise_value" in raised.value.__notes__[0]


def raise_value(item: int) -> None:
    raise ValueError(f"item {item}")


def test_what_the_function_raises_is_raised_and_the_others_are_stopped(tmp_path: Path) -> None:
    def wait_or_raise(item: int) -> None:
        if item == 0:
            assert eventually(lambda: any(tmp_path.iterdir()))
            raise ValueError("item 0")
        note_and_sleep((tmp_path, item))

    began = time.monotonic()
    with pytest.raises(ValueError, match="item 0"):
        list(pool.spread(wait_or_raise, [0, 1], 2))
    assert time.monotonic() - began < PATIENCE_S
    assert multiprocessing.active_children() == []


def test_a_caller_that_stops_asking_stops_the_workers(tmp_path: Path) -> None:
    def sleep_unless_first(item: int) -> int:
        return item if item == 0 else note_and_sleep((tmp_path, item))  # type: ignore[func-returns-value]

    results = pool.spread(sleep_unless_first, [0, 1], 2)
    assert next(results) == (0, 0)
    results.close()
    assert multiprocessing.active_children() == []


PROGRAM = """
import sys
from pathlib import Path
from roamcast.lab.local import pool
from tests.lab.local.test_pool import note_and_sleep

print("ready", flush=True)
try:
    list(pool.spread(note_and_sleep, [(Path(sys.argv[1]), k) for k in range(4)], 2, sys.argv[2]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(start: str, number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C reaches the whole group; a kill only the parent."""
    root = Path(__file__).parents[3]
    driver = tmp_path / "driver.py"
    driver.write_text(
        f"import sys; sys.path.insert(0, {str(root)!r})\nif __name__ == '__main__':\n" + indented(PROGRAM)
    )
    noted = tmp_path / "noted"
    noted.mkdir()
    command = [sys.executable, str(driver), str(noted), start]
    parent = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert eventually(lambda: len(list(noted.iterdir())) == 2)
    workers = [int(path.name) for path in noted.iterdir()]
    if number == signal.SIGINT:
        os.killpg(parent.pid, number)
    else:
        parent.send_signal(number)
    assert eventually(lambda: all(gone(worker) for worker in workers))
    out, err = parent.communicate(timeout=PATIENCE_S)
    assert len(list(noted.iterdir())) == 2
    if number == signal.SIGINT:
        assert (out, err) == ("ready\ninterrupted\n", "")


def indented(program: str) -> str:
    return "".join(f"    {line}\n" for line in program.splitlines())
