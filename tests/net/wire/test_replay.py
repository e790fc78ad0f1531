from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roamcast.net.wire.replay import LEAP_MAX, WINDOW, ReplayWindow


class Twin:
    """Remembers every datagram."""

    def __init__(self) -> None:
        self.boot = -1
        self.heard: set[int] = set()

    def check(self, boot: int, counter: int) -> str:
        if boot != self.boot:
            return "stale" if boot < self.boot else ""
        if counter <= max(self.heard) - WINDOW:
            return "stale"
        return "replayed" if counter in self.heard else ""

    def accept(self, boot: int, counter: int) -> None:
        if boot != self.boot:
            self.boot, self.heard = boot, set()
        self.heard.add(counter)


close = st.integers(0, 40)
far = st.integers(0, 3 * WINDOW)
edges = st.sampled_from([0, 1, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW, (1 << 32) - 1])
heard = st.lists(st.tuples(st.integers(5, 7), st.one_of(close, far, edges)), max_size=60)


@given(st.tuples(st.integers(5, 7), st.one_of(close, far, edges)), heard)
def test_the_window_agrees_with_a_model_that_remembers_every_datagram(
    first: tuple[int, int], more: list[tuple[int, int]]
) -> None:
    twin, window = Twin(), ReplayWindow(first[0])
    for boot, counter in [first, *more]:
        assert window.check(boot, counter) == twin.check(boot, counter)
        if not window.check(boot, counter):
            window.accept(boot, counter)
            twin.accept(boot, counter)


def test_the_window_has_its_length() -> None:
    window = ReplayWindow(1)
    window.accept(1, WINDOW)
    assert [window.check(1, n) for n in (0, 1)] == ["stale", ""]
    window.accept(1, 1)
    window.accept(1, WINDOW + 1)
    assert [window.check(1, n) for n in (1, 2)] == ["stale", ""]
    window.accept(1, 2 * WINDOW)
    assert [window.check(1, n) for n in (WINDOW, WINDOW + 1, WINDOW + 2)] == ["stale", "replayed", ""]


def test_a_boot_may_be_ahead_of_the_one_before_up_to_a_limit() -> None:
    window = ReplayWindow(5)
    assert [window.check(5 + LEAP_MAX, 0), window.check(6 + LEAP_MAX, 0)] == ["", "leap"]
    window.accept(5 + LEAP_MAX, 0)
    assert window.check(6 + LEAP_MAX, 0) == ""
    year_us = 365.25 * 86400 * 1e6
    assert 100 * year_us < LEAP_MAX, "from a clock that was never set to any that is right"


def test_datagrams_received_before_a_restart_count_as_received() -> None:
    window = ReplayWindow(5, 100)
    assert [window.check(5, n) for n in (0, 99, 100, 101)] == ["replayed", "replayed", "replayed", ""]
    window.accept(5, 103)
    assert [window.check(5, n) for n in (100, 101, 102, 103)] == ["replayed", "", "", "replayed"]


def test_memory_does_not_grow_with_the_counters() -> None:
    window = ReplayWindow(1)
    for counter in range(0, 20 * WINDOW, 7):
        window.accept(1, counter)
    assert window.seen.bit_length() <= WINDOW
