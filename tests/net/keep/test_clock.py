"""The store counts the time that passed, whatever the clocks show."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.net.keep.clock import machine_start
from tests.net.keep.stores import HERE, YEAR_S, Clock, event, ids, seconds_left


@pytest.mark.parametrize("set_s", [-10 * YEAR_S, -1000.0, 1000.0, 10 * YEAR_S])
def test_a_clock_that_is_set_while_a_node_runs_changes_nothing(set_s: float) -> None:
    clock = Clock()
    store = clock.store(None)
    store.own.add([event(1, 10_000_000)])
    store.received.add([event(2, 10_000_000)])
    store.carried.add("Gossip", HERE, 7, b"x", 10_000_000)
    for moved in (set_s, -set_s):
        clock.set += moved
        clock.s += 4
        store.received.add([event(int(clock.s))])
        left = int((1010 - clock.s) * 1e6)
        assert [left for _, _, left in store.own.valid()] == [left]
        assert store.carried.valid("Gossip", HERE) == [(10_000_000 - left, 7, b"x")]
        assert ids(store.received.after(0, 1)) == [2]
    clock.s += 2
    assert store.own.valid() == store.carried.valid("Gossip", HERE) == []
    assert 2 not in ids(store.received.after(0, 9))


@pytest.mark.parametrize(
    ("set_s", "left_s", "message"),
    [
        (0.0, 900, ""),
        (400.0, 500, ""),
        (-40.0, 940, ""),
        (-101.0, 1000, ""),  # the time away is unknown, but the clock hardly moved
        (-2 * 86_400.0, 1000, "back by 2.0 days"),
        (10 * YEAR_S, 1000, "forward by 3652.5 days"),
    ],
)
def test_a_clock_set_while_a_node_was_away_is_used_only_if_it_is_plausible(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, set_s: float, left_s: int, message: str
) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.own.add([event(1, 1000_000_000)])
        store.received.add([event(2, 1000_000_000)])
        store.values.store("alive", b"")
    clock.switch_off_and_on(100)
    clock.set += set_s
    with clock.store(tmp_path) as store:
        assert seconds_left(store) == [left_s]
        assert ids(store.received.after(0, 9)) == [2]
        assert store.received.add([event(2)]) == []
        clock.s += 50
        assert seconds_left(store) == [left_s - 50]
        store.values.store("alive", b"")
    assert [message in record.message for record in caplog.records] == ([True] if message else [])
    caplog.clear()
    clock.s += 30
    with clock.store(tmp_path) as store:
        assert seconds_left(store) == [left_s - 80], "the store's clock goes on from there"
    assert not caplog.records


def test_a_node_whose_wrong_clock_is_corrected_after_the_start_loses_nothing(tmp_path: Path) -> None:
    clock = Clock()
    right = clock.set
    clock.set = 0
    with clock.store(tmp_path) as store:
        store.values.store("boot", b"")
        store.own.add([event(1, 1000_000_000)])
        clock.set = right
        clock.s += 10
    clock.switch_off_and_on(0)
    with clock.store(tmp_path) as store:  # it was killed before it stored the new clock
        assert seconds_left(store) == [1000]
        clock.s += 10
        store.values.store("boot", b"")
    with clock.store(tmp_path) as store:
        assert seconds_left(store) == [990]


@pytest.mark.parametrize("set_s", [-10 * YEAR_S, -1000.0, 1000.0, 300 * 86_400.0, 10 * YEAR_S])
def test_while_the_machine_stays_on_the_system_s_clock_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, set_s: float
) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.own.add([event(1, 1000_000_000)])
        store.values.store("alive", b"")
    clock.set += set_s  # this was not stored: the node was killed
    clock.s += 100
    with clock.store(tmp_path) as store:
        assert seconds_left(store) == [900]
    assert not caplog.records


@pytest.mark.parametrize(("machine", "went_s"), [(b"", 300.0), (b"in another container", -100.0)])
def test_without_the_time_since_the_start_the_system_s_clock_is_used(
    tmp_path: Path, machine: bytes, went_s: float
) -> None:
    clock = Clock()
    clock.machine = machine
    with clock.store(tmp_path) as store:
        store.own.add([event(1, 1000_000_000)])
    clock.s, clock.set = clock.s + went_s, clock.set + 400 - went_s
    with clock.store(tmp_path) as store:
        assert seconds_left(store) == [600]


@pytest.mark.parametrize("deed", ["publish", "receive", "hold"])
def test_a_change_of_the_clock_is_stored_with_the_next_change_of_any_kind(tmp_path: Path, deed: str) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.own.add([event(1, 1000_000_000)])
        before = store.values.load("clock")
        clock.s, clock.set = 1010.0, clock.set + 4
        store.own.add([event(2, 1_000_000)])
        assert store.values.load("clock") == before, "a few seconds do not matter"
        clock.set += 500
        if deed == "publish":
            store.own.add([event(3, 1_000_000)])
        elif deed == "receive":
            store.received.add([event(3, 1_000_000)])
        else:
            store.carried.add("Gossip", HERE, 7, b"x", 1_000_000)
    clock.switch_off_and_on(100)
    with clock.store(tmp_path) as store:
        assert seconds_left(store) == [890]


def test_a_clock_stored_by_an_earlier_version_is_used(tmp_path: Path) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.own.add([event(1, 1000_000_000)])
        store.db.run("update vault set value = substr(value, 1, 16) where name = 'clock'")
    clock.s, clock.set = 1100.0, clock.set + 50
    with clock.store(tmp_path) as store:
        assert seconds_left(store) == [850]


def test_this_machine_has_an_id_of_its_start() -> None:
    if not Path("/proc/sys/kernel/random/boot_id").exists():
        pytest.skip("no Linux")
    assert len(machine_start()) == 36 and machine_start() == machine_start()


def test_a_store_without_a_stored_clock_uses_the_system_s(tmp_path: Path) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.own.add([event(1, 1000_000_000)])
        store.db.run("delete from vault where name = 'clock'")
    clock.s += 300
    with clock.store(tmp_path) as store:
        assert seconds_left(store) == [700]
