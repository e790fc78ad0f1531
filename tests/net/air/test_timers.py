from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from roamcast.net.air.timers import Timer, Timers
from tests.support.warp import WarpLoop

S = 1_000_000

deeds = st.lists(
    st.tuples(st.sampled_from(["set", "cancel", "wait"]), st.integers(0, 5), st.integers(0, 50)), max_size=40
)


@given(deeds)
def test_timers_behave_like_a_sorted_list(script: list[tuple[str, int, int]]) -> None:
    loop = WarpLoop()
    timers = Timers(loop)
    fired: list[tuple[int, int]] = []
    live: dict[int, Timer] = {}
    twin: list[tuple[int, int, int]] = []  # (due, serial, name)
    expected: list[tuple[int, int]] = []
    now = 0

    def go_off(name: int) -> None:
        fired.append((name, timers.now_us()))

    for serial, (what, name, number) in enumerate(script):
        if what == "set":
            if name in live:
                timers.cancel(live[name])
            twin = [entry for entry in twin if entry[2] != name]
            live[name] = timers.after(number, lambda name=name: go_off(name))  # type: ignore[misc]
            twin.append((now + number, serial, name))
        elif what == "cancel":
            if name in live:
                timers.cancel(live.pop(name))
            twin = [entry for entry in twin if entry[2] != name]
        else:
            loop.run_until_complete(asyncio.sleep((now + number - loop.time() * S + 0.7) / S))
            now += number
            due = sorted(entry for entry in twin if entry[0] <= now)
            twin = [entry for entry in twin if entry[0] > now]
            expected += [(entry[2], entry[0]) for entry in due]
            assert fired == expected
    loop.close()


def test_cancelled_timers_do_not_accumulate() -> None:
    loop = WarpLoop()
    timers = Timers(loop)
    timer = timers.after(10 * S, lambda: None)
    for _ in range(10_000):
        timers.cancel(timers.after(S, lambda: None))
    assert len(timers) < 200
    timers.cancel(timer)
    timers.cancel(timer)
    loop.close()


def test_a_timer_that_sets_itself_again_at_once_does_not_block_others() -> None:
    loop = WarpLoop()
    timers = Timers(loop)
    turns: list[str] = []

    def again() -> None:
        turns.append("timer")
        if len(turns) < 20:
            timers.after(0, again)
            loop.call_soon(turns.append, "other")

    timers.after(0, again)
    loop.run_until_complete(asyncio.sleep(0.1))
    assert "timertimer" not in "".join(turns[:10])
    loop.close()


def test_a_timer_that_fails_does_not_stop_others() -> None:
    loop = WarpLoop()
    timers = Timers(loop)
    fired: list[int] = []
    failed: list[object] = []
    loop.set_exception_handler(lambda _, context: failed.append(context["exception"]))
    timers.after(100, lambda: fired.append(1 // 0))
    timers.after(100, lambda: fired.append(2))
    timers.after(500, lambda: fired.append(3))
    loop.run_until_complete(asyncio.sleep(1))
    assert (fired, [type(error) for error in failed]) == ([2, 3], [ZeroDivisionError])
    loop.close()


def test_after_clear_nothing_goes_off_and_new_timers_do() -> None:
    loop = WarpLoop()
    timers = Timers(loop)
    fired: list[int] = []
    timers.after(100, lambda: fired.append(1))
    timers.clear()
    timers.after(500, lambda: fired.append(2))
    loop.run_until_complete(asyncio.sleep(1))
    assert fired == [2]
    assert len(timers) == 0
    loop.close()


def test_a_clear_from_within_a_timer_stops_those_due_with_it() -> None:
    loop = WarpLoop()
    timers = Timers(loop)
    fired: list[int] = []

    def last() -> None:
        fired.append(1)
        timers.clear()

    timers.after(100, last)
    timers.after(100, lambda: fired.append(2))
    loop.run_until_complete(asyncio.sleep(1))
    assert fired == [1]
    loop.close()


def test_after_a_jump_of_the_clock_due_timers_fire_once_and_late() -> None:
    loop = WarpLoop()
    timers = Timers(loop, 100 * S)
    fired: list[tuple[str, int]] = []

    def again() -> None:
        fired.append(("again", timers.now_us()))
        timers.after(S, again)

    timers.jump(10 * S)
    assert timers.now_us() == 10 * S
    timers.after(S, again)
    timers.after(200 * S, lambda: fired.append(("later", timers.now_us())))
    timers.jump(11 * S - 1)
    assert fired == []
    for to_us in (50 * S, 70 * S, None):
        timers.jump(to_us)
    assert fired == [("again", 50 * S), ("again", 70 * S), ("again", 100 * S)]
    assert len([handle for handle in loop._scheduled if not handle.cancelled()]) == 1  # type: ignore[attr-defined]
    loop.run_until_complete(asyncio.sleep(2.5))
    assert [round(at_us / S) for _, at_us in fired[3:]] == [101, 102]
    loop.run_until_complete(asyncio.sleep(110.0))
    assert ("later", 210) in [(what, at_us // S) for what, at_us in fired]
    loop.close()
