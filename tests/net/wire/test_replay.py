from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from roamcast.net.wire.replay import AHEAD, NEVER, WINDOW, History, Positions


class Twin:
    """Remembers every datagram of a sender whose position nobody has signed."""

    def __init__(self) -> None:
        self.boot = -1
        self.heard: dict[int, bytes] = {}

    def check(self, boot: int, counter: int, datagram: bytes) -> str:
        if boot != self.boot:
            return "stale" if boot < self.boot else ""
        if counter <= max(self.heard) - WINDOW:
            return "stale"
        return "replayed" if self.heard.get(counter) == datagram else ""

    def accept(self, boot: int, counter: int, datagram: bytes) -> None:
        if boot != self.boot:
            self.boot, self.heard = boot, {}
        self.heard[counter] = datagram


close = st.integers(0, 40)
far = st.integers(0, 3 * WINDOW)
edges = st.sampled_from([0, 1, WINDOW - 1, WINDOW, WINDOW + 1, 2 * WINDOW, (1 << 32) - 1])
counters = st.one_of(close, far, edges)
heard = st.lists(st.tuples(st.integers(5, 7), counters, st.sampled_from([b"one", b"other"])), max_size=60)


@given(heard)
def test_unsigned_datagrams_agree_with_a_model_that_remembers_every_datagram(
    datagrams: list[tuple[int, int, bytes]],
) -> None:
    twin, history = Twin(), History()
    for datagram in datagrams:
        assert history.check(*datagram) == twin.check(*datagram)
        if not history.check(*datagram):
            history.accept(*datagram)
            twin.accept(*datagram)


@given(st.one_of(close, far), heard, st.lists(st.integers(1, 300), min_size=1, max_size=20))
def test_no_frame_of_others_makes_a_datagram_of_the_sender_old(
    first: int, forged: list[tuple[int, int, bytes]], steps: list[int]
) -> None:
    """The sender is in boot 6. It signs its position, then sends; forged frames in its name come at any time."""
    history, counter = History(), first
    history.move(6, counter)
    for step in steps:
        for datagram in forged:
            if not history.check(*datagram):
                history.accept(*datagram)
        counter += step
        if counter - first > AHEAD:
            assert history.check_position(6, counter) == ""
            history.move(6, counter)
            first = counter
        assert history.check(6, counter, b"genuine") == ""
        history.accept(6, counter, b"genuine")
        assert history.check(6, counter, b"genuine") == "replayed"


def test_the_window_of_a_signed_position_reaches_as_far_back_as_ahead() -> None:
    history = History()
    history.move(5, 10_000)
    history.accept(6, 7, b"x")
    accepted = (10_000 - AHEAD, 10_001 - AHEAD, 10_000 + AHEAD)
    assert [history.check(5, n, b"x") for n in accepted] == ["stale", "", ""]
    assert history.check(5, 10_001 + AHEAD, b"x") == "stale", "the second window is in a later boot already"
    assert history.check(4, 10_000, b"x") == "stale"


def test_what_is_ahead_of_the_signed_window_passes_through_the_second_one() -> None:
    history = History()
    history.move(5, 0)
    history.accept(5, 50_000, b"forged")
    assert history.check(5, 40_000, b"genuine") == "stale"
    assert history.check(5, 50_000 - WINDOW, b"genuine") == "stale"
    assert history.check(5, 50_001 - WINDOW, b"genuine") == ""
    history.move(5, 40_001)
    assert history.check(5, 40_000, b"genuine") == "", "the position made the second window void"


def test_datagrams_of_the_second_window_are_remembered_when_their_sender_signs() -> None:
    history = History()
    history.accept(5, 10, b"x")
    history.move(5, 12)
    history.accept(5, 11, b"y")
    assert [history.check(5, 10, b"x"), history.check(5, 11, b"y")] == ["replayed"] * 2
    assert history.check(5, 10, b"z") == ""
    history.accept(5, 12 + AHEAD + 1, b"far")
    history.move(5, 14)
    assert [history.check(5, 10, b"x"), history.check(5, 11, b"y")] == ["replayed"] * 2
    assert history.unsigned is None


def test_an_unsigned_later_boot_does_not_end_the_signed_one() -> None:
    history = History()
    history.move(5, 0)
    history.accept(1 << 62, 0, b"forged")
    assert history.check(5, 1, b"x") == ""
    assert history.check(6, 0, b"new boot") == "stale", "until it is signed"
    history.move(6, 1)
    assert history.check(6, 0, b"new boot") == ""
    assert history.check(5, 2, b"x") == "stale"


def test_a_position_that_is_not_ahead_is_not_verified_again() -> None:
    history = History()
    history.move(5, 7)
    assert [history.check_position(*at) for at in ((5, 7), (5, 6), (4, 9), (5, 8), (6, 0))] == ["stale"] * 3 + [""] * 2


def test_what_came_before_a_restart_counts_as_received() -> None:
    before = History()
    before.move(5, 100)
    before.accept(5, 103, b"x")
    after = History(before.positions())
    assert [after.check(5, n, b"x") for n in (100, 103, 104)] == ["stale", "stale", ""]
    unsigned = History(Positions(NEVER, NEVER, NEVER, 5, 100))
    assert [unsigned.check(5, n, b"x") for n in (99, 100, 101)] == ["stale", "stale", ""]
    unsigned.move(5, 101)
    assert [unsigned.check(5, n, b"x") for n in (100, 101)] == ["stale", ""]


def test_a_forged_counter_before_a_restart_does_not_outlast_the_next_position() -> None:
    before = History()
    before.move(5, 100)
    before.accept(5, 100 + AHEAD, b"forged")
    after = History(before.positions())
    assert after.check(5, 101, b"x") == "stale"
    after.move(5, 102)
    assert [after.check(5, n, b"x") for n in (101, 102, 103)] == ["stale", "stale", ""]


def test_memory_does_not_grow_with_the_counters() -> None:
    history = History()
    for counter in range(0, 20 * WINDOW, 7):
        history.accept(1, counter, b"x")
    assert history.unsigned is not None
    assert history.unsigned.slots is not None
    assert len(history.unsigned.slots) == WINDOW
