"""What a node keeps: before anything is acted upon, within bounds, and through whatever end."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.errors import InputError, StoreError
from roamcast.net.keep.clock import machine_start
from roamcast.net.keep.database import FILE, Bounds
from roamcast.net.keep.received import Received
from roamcast.net.keep.store import Store
from roamcast.net.trust.identity import Identity
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership, Sequence
from roamcast.pubsub.event import FOREVER, Event
from tests.net.members import publication

HERE = "a group's id"


YEAR_S = 365.25 * 86_400


class Clock:
    """Of a machine: `s` goes on while it does, and `set` by how much people have set it."""

    def __init__(self) -> None:
        self.s = 1000.0
        self.set = 1_800_000_000.0
        self.machine = b"switched on once"

    def store(self, folder: Path | None) -> Store:
        return Store(folder, unix_s=lambda: self.s + self.set, steady_s=lambda: self.s, machine=self.machine)

    def switch_off_and_on(self, away_s: float) -> None:
        self.machine += b" more"
        self.set += self.s + away_s - 200
        self.s = 200.0


def event(n: int, validity_us: int = FOREVER, payload: bytes = b"x") -> Event:
    return Event(7 << 32 | n, "news", {"n": n}, payload, validity_us)


def ids(found: list[tuple[int, Event]]) -> list[int]:
    return [e.id & 0xFFFF for _, e in found]


# ---- vault


def test_a_vault_in_a_store_keeps_identity_and_numbers(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        public = Identity.of(store.values).public
        numbers = [Sequence(store.values).next()]
    with Store(tmp_path) as store:
        assert Identity.of(store.values).public == public
        numbers.append(Sequence(store.values).next())
        assert Membership.secure(store.values, KeyRing.new()).identity is not None
        assert store.values.load("nothing") is None
    assert len(set(numbers)) == 2


def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    with Store(tmp_path / "state") as store:
        store.values.store("identity", bytes(32))
        for path in (tmp_path / "state").iterdir():
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
        assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_settings_are_those_that_survive_a_loss_of_power(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        assert store.db.run("pragma journal_mode").fetchone() == ("wal",)
        assert store.db.run("pragma synchronous").fetchone() == (2,)  # full


def test_a_second_node_on_the_same_state_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(InputError, match="another node is running"):
        Store(tmp_path)
    Store(tmp_path).close()


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be one" * 50, b"\0" * 4096])
def test_a_file_that_is_no_store_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(InputError, match=r"no store of a node|cannot keep state"):
        Store(tmp_path)


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.db.run("pragma user_version = 99")
    with pytest.raises(InputError, match="newer roamcast"):
        Store(tmp_path)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot keep state in"):
        Store(tmp_path / "file" / "below")


# ---- publications


def test_publications_come_back_with_what_is_left_of_their_validity(tmp_path: Path) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.own.add([event(2, 10_000_000), event(1), event(3, 5_000_000)])
    clock.s += 6
    with clock.store(tmp_path) as store:
        assert [(e.id & 15, left) for e, _, left in store.own.valid()] == [(1, FOREVER), (2, 4_000_000)]
    clock.s += 4
    with clock.store(tmp_path) as store:
        assert [e.id & 15 for e, _, _ in store.own.valid()] == [1]


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


def kept(store: Store) -> list[int]:
    """How many seconds the publications have left."""
    return [left // 1_000_000 for _, _, left in store.own.valid()]


@pytest.mark.parametrize(
    ("set_s", "left_s", "said"),
    [
        (0.0, 900, ""),
        (400.0, 500, ""),
        (-40.0, 940, ""),
        (-101.0, 1000, ""),  # how long it was away nobody knows, but the clock hardly moved
        (-2 * 86_400.0, 1000, "back by 2.0 days"),
        (10 * YEAR_S, 1000, "forward by 3652.5 days"),
    ],
)
def test_a_clock_that_was_set_while_a_node_was_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, set_s: float, left_s: int, said: str
) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.own.add([event(1, 1000_000_000)])
        store.received.add([event(2, 1000_000_000)])
        store.values.store("alive", b"")
    clock.switch_off_and_on(100)
    clock.set += set_s
    with clock.store(tmp_path) as store:
        assert kept(store) == [left_s]
        assert ids(store.received.after(0, 9)) == [2]
        assert store.received.add([event(2)]) == []
        clock.s += 50
        assert kept(store) == [left_s - 50]
        store.values.store("alive", b"")
    assert [said in record.message for record in caplog.records] == ([True] if said else [])
    caplog.clear()
    clock.s += 30
    with clock.store(tmp_path) as store:
        assert kept(store) == [left_s - 80], "set or not, it goes on from there"
    assert not caplog.records


def test_a_node_whose_clock_is_set_right_after_it_began_in_the_past_loses_nothing(tmp_path: Path) -> None:
    clock = Clock()
    right = clock.set
    clock.set = 0
    with clock.store(tmp_path) as store:
        store.values.store("boot", b"")
        store.own.add([event(1, 1000_000_000)])
        clock.set = right
        clock.s += 10
    clock.switch_off_and_on(0)
    with clock.store(tmp_path) as store:  # it was killed before it wrote that down
        assert kept(store) == [1000]
        clock.s += 10
        store.values.store("boot", b"")
    with clock.store(tmp_path) as store:
        assert kept(store) == [990]


@pytest.mark.parametrize("set_s", [-10 * YEAR_S, -1000.0, 1000.0, 300 * 86_400.0, 10 * YEAR_S])
def test_while_the_machine_goes_on_nobody_asks_its_clock(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, set_s: float
) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.own.add([event(1, 1000_000_000)])
        store.values.store("alive", b"")
    clock.set += set_s  # of which nothing was written down: it was killed
    clock.s += 100
    with clock.store(tmp_path) as store:
        assert kept(store) == [900]
    assert not caplog.records


@pytest.mark.parametrize(("machine", "went_s"), [(b"", 300.0), (b"in another container", -100.0)])
def test_a_machine_that_does_not_know_how_long_it_was_on_is_asked_for_the_time(
    tmp_path: Path, machine: bytes, went_s: float
) -> None:
    clock = Clock()
    clock.machine = machine
    with clock.store(tmp_path) as store:
        store.own.add([event(1, 1000_000_000)])
    clock.s, clock.set = clock.s + went_s, clock.set + 400 - went_s
    with clock.store(tmp_path) as store:
        assert kept(store) == [600]


@pytest.mark.parametrize("deed", ["publish", "receive", "hold"])
def test_that_the_clock_was_set_is_written_down_with_whatever_comes_next(tmp_path: Path, deed: str) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.own.add([event(1, 1000_000_000)])
        before = store.values.load("clock")
        clock.s, clock.set = 1010.0, clock.set + 4
        store.own.add([event(2, 1_000_000)])
        assert store.values.load("clock") == before, "a few seconds are no matter"
        clock.set += 500
        if deed == "publish":
            store.own.add([event(3, 1_000_000)])
        elif deed == "receive":
            store.received.add([event(3, 1_000_000)])
        else:
            store.carried.add("Gossip", HERE, 7, b"x", 1_000_000)
    clock.switch_off_and_on(100)
    with clock.store(tmp_path) as store:
        assert kept(store) == [890]


def test_what_an_earlier_version_wrote_down_of_its_clock_holds(tmp_path: Path) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.own.add([event(1, 1000_000_000)])
        store.db.run("update vault set value = substr(value, 1, 16) where name = 'clock'")
    clock.s, clock.set = 1100.0, clock.set + 50
    with clock.store(tmp_path) as store:
        assert kept(store) == [850]


def test_this_machine_says_when_it_was_switched_on() -> None:
    if not Path("/proc/sys/kernel/random/boot_id").exists():
        pytest.skip("no Linux")
    assert len(machine_start()) == 36 and machine_start() == machine_start()


def test_a_store_that_never_wrote_down_its_clock_goes_by_the_system_s(tmp_path: Path) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.own.add([event(1, 1000_000_000)])
        store.db.run("delete from vault where name = 'clock'")
    clock.s += 300
    with clock.store(tmp_path) as store:
        assert kept(store) == [700]


def test_the_oldest_publications_give_way() -> None:
    store = Store(None, Bounds(publications=3))
    for n in range(1, 6):
        store.own.add([event(n)])
    assert [e.id & 15 for e, _, _ in store.own.valid()] == [3, 4, 5]


# ---- received


def test_nothing_is_received_twice(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        assert ids(store.received.add([event(1), event(2), event(1)])) == [1, 2]
        assert store.received.add([event(2)]) == []
    with Store(tmp_path) as store:
        assert ids(store.received.add([event(1), event(3)])) == [3]
        assert [(r.position, r.event) for r in store.received.after(0, 10)] == [(n, event(n)) for n in (1, 2, 3)]
        assert ids(store.received.after(1, 1)) == [2]


def test_positions_are_never_given_twice(tmp_path: Path) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.received.add([event(1, 1_000_000)])
        clock.s += 2
        store.received.add([event(2, 1_000_000)])
        clock.s += 2
        assert store.received.after(0, 10) == []
    with clock.store(tmp_path) as store:
        assert store.received.end() == 2
        assert [r.position for r in store.received.add([event(3)])] == [3]


def test_what_gives_way_is_known_all_the_same_and_counted_if_nobody_had_it() -> None:
    store = Store(None, Bounds(received=3, known=100))
    store.subscriptions.set("slow", "topic news")
    store.received.add([event(1)])
    store.subscriptions.move("slow", 1)
    store.received.add([event(n) for n in range(2, 8)])
    assert ids(store.received.after(0, 10)) == [5, 6, 7]
    assert store.received.lost == 3  # 2, 3 and 4: the first had been handed over
    assert store.received.add([event(2)]) == []


def test_bytes_are_bounded_too() -> None:
    store = Store(None, Bounds(received_bytes=5000))
    for n in range(1, 30):
        store.received.add([event(n, payload=bytes(500))])
        assert store.counts().received_bytes <= 5000
    assert ids(store.received.after(0, 100))[-1] == 29
    kept = sum(len(r.event.payload) for r in store.received.after(0, 100))
    assert 3000 < kept <= store.counts().received_bytes


def test_ids_are_remembered_up_to_their_bound() -> None:
    store = Store(None, Bounds(known=10))
    for n in range(1, 31):
        store.received.add([event(n)])
    assert store.counts().known == 10
    assert store.received.add([event(21)]) == []
    assert ids(store.received.add([event(20)])) == [20]


def test_what_was_received_unchecked_is_gone_when_others_word_is_checked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Store(tmp_path) as store:
        store.received.begin(authenticated=True)
        store.subscriptions.set("x", "n > 0")
        store.received.add([event(1), event(2)])
    for n in (3, 4):
        with Store(tmp_path) as store:
            store.received.begin(authenticated=False)
            store.received.add([event(n)])
            assert ids(store.received.after(0, 9)) == list(range(1, n + 1))
            held = store.counts().received_bytes
    assert not caplog.records
    for n in (3, 5):
        with Store(tmp_path) as store:
            store.received.begin(authenticated=True)
            assert store.counts().received_bytes == held // 2
            assert store.received.add([event(1)]) == [], "what was checked is still known"
            assert ids(store.received.add([event(n)])) == [n], "an unchecked event does not keep a genuine one out"
            held += held // 2
    assert [r.position for r in store_of(tmp_path)] == [1, 2, 5, 6]
    assert [record.message for record in caplog.records] == [
        "what was received while this node was insecure (2 events kept) is forgotten"
    ]


@pytest.mark.parametrize("bounds", [Bounds(received=3, known=3), Bounds(received_bytes=90, known=3)])
def test_nothing_that_was_checked_gives_way_to_what_was_not(bounds: Bounds) -> None:
    store = Store(None, bounds)
    store.subscriptions.set("x", "n > 0")
    store.received.begin(authenticated=True)
    store.received.add([event(n) for n in (1, 2, 3)])
    before = store.counts()
    assert ids(store.received.after(0, 99)) == [1, 2, 3]
    store.received.begin(authenticated=False)
    for n in range(4, 20):
        assert ids(store.received.add([event(n)])) == [n]
        assert store.received.add([event(n), event(1)]) == []
    assert (ids(store.received.after(0, 99)), store.counts().lost) == ([1, 2, 3, 17, 18, 19], 13)
    assert (store.counts().known, store.counts().received_bytes) == (6, 2 * before.received_bytes)
    store.received.begin(authenticated=True)
    assert msgspec.structs.replace(store.counts(), lost=0) == before
    assert store.received.add([event(n) for n in (1, 2, 3)]) == []


def store_of(folder: Path) -> list[Received]:
    with Store(folder) as store:
        return store.received.after(0, 99)


# ---- subscriptions


def test_a_named_subscription_begins_now_and_goes_on_where_it_was(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.received.add([event(1)])
        assert store.subscriptions.set("alarm", "n > 0").cursor == 1
        store.received.add([event(2), event(3)])
        store.subscriptions.move("alarm", 2)
        store.subscriptions.move("alarm", 1)  # never back
    with Store(tmp_path) as store:
        assert store.subscriptions.set("alarm", "n > 0").cursor == 2
        assert store.subscriptions.set("alarm", "n > 1") == ("alarm", "n > 1", 2)
        assert store.subscriptions.all() == [("alarm", "n > 1", 2)]
        store.subscriptions.remove("alarm")
        assert store.subscriptions.all() == []


def test_named_subscriptions_are_bounded() -> None:
    store = Store(None, Bounds(subscriptions=1))
    store.subscriptions.set("one", "n > 0")
    with pytest.raises(InputError, match="forget one"):
        store.subscriptions.set("two", "n > 0")
    store.subscriptions.set("one", "n > 1")


# ---- all or nothing


def test_a_failing_write_leaves_nothing_behind() -> None:
    store = Store(None)
    store.received.add([event(1)])
    held = store.counts()
    third = f"when new.event = {event(3).id}"
    fail = "begin select raise(abort, 'disk full'); end"
    store.db.run(f"create trigger full before insert on received {third} {fail}")
    with pytest.raises(StoreError, match="disk full"):
        store.received.add([event(2), event(3)])
    store.db.run("drop trigger full")
    assert store.counts() == held
    assert ids(store.received.add([event(2), event(1)])) == [2]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(1, 20), max_size=5), max_size=12))
def test_the_received_are_the_first_of_each_in_order(batches: list[list[int]]) -> None:
    store = Store(None)
    for batch in batches:
        store.received.add([event(n) for n in batch])
    assert ids(store.received.after(0, 1000)) == list(dict.fromkeys(n for batch in batches for n in batch))


WRITER = """
import sys
from roamcast.net.keep.store import Store
from roamcast.pubsub.event import Event
store = Store(sys.argv[1])
for n in range(int(sys.argv[2]), 1 << 30):
    store.own.add([Event(7 << 32 | n)])
    print(n, flush=True)
"""


def test_what_was_said_to_be_written_is_there_after_kill_9(tmp_path: Path) -> None:
    acknowledged = 0
    for turn in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(acknowledged + 1)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        for _ in range(20 + turn):
            acknowledged = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged = max([acknowledged, *(int(line) for line in writer.stdout if line.endswith("\n"))])
        writer.wait()
        writer.stdout.close()
        with Store(tmp_path) as store:
            kept = [e.id & 0xFFFFFF for e, _, _ in store.own.valid()]
            assert kept[:acknowledged] == list(range(1, acknowledged + 1))
            assert len(kept) <= acknowledged + 1  # the one that it was at


# ---- what others said


def test_frames_are_held_as_long_as_they_may_be_valid(tmp_path: Path) -> None:
    clock = Clock()
    with clock.store(tmp_path) as store:
        store.carried.add("Gossip", HERE, 7, b"short", 10_000_000)
        store.carried.add("Gossip", HERE, 8, b"long", FOREVER)
        store.carried.add("Gossip", "elsewhere", 8, b"another group's", FOREVER)
        store.carried.add("Frugal", HERE, 9, b"another's", FOREVER)
    clock.s += 4
    with clock.store(tmp_path) as store:
        assert store.carried.valid("Gossip", HERE) == [(4_000_000, 7, b"short"), (4_000_000, 8, b"long")]
        clock.s += 6
        assert store.carried.valid("Gossip", HERE) == [(10_000_000, 8, b"long")]
        store.carried.add("Gossip", HERE, 7, b"new", FOREVER)
        assert store.counts().held == 4


def test_of_what_is_held_the_oldest_gives_way() -> None:
    store = Store(None, Bounds(held=3, held_bytes=10))
    for n in range(5):
        store.carried.add("Gossip", HERE, n, bytes(2), FOREVER)
    assert [held.sender for held in store.carried.valid("Gossip", HERE)] == [2, 3, 4]
    store.carried.add("Gossip", HERE, 5, bytes(7), FOREVER)
    assert [held.sender for held in store.carried.valid("Gossip", HERE)] == [4, 5]
    store.carried.add("Gossip", HERE, 6, bytes(11), FOREVER)  # nothing that does not fit is kept
    assert store.carried.valid("Gossip", HERE) == []


@pytest.mark.parametrize("version", [1, 2])
def test_a_store_of_a_version_before_goes_on(tmp_path: Path, version: int) -> None:
    with Store(tmp_path) as store:
        own = Membership.secure(store.values, KeyRing.new())
        store.own.add([publication(own, 1, payload=b"sealed"), event(2)])
        store.carried.add("Gossip", HERE, 7, b"nobody knows whose", FOREVER)
        store.db.run("drop table held" if version == 1 else "alter table held drop column circle")
        store.db.run(f"pragma user_version = {version}")
    for _ in range(2):
        with Store(tmp_path) as store:
            assert sorted(e.payload for e, _, _ in store.own.valid()) == sorted([b"sealed", event(2).payload])
            assert store.carried.valid("Gossip", HERE) == []
    with Store(tmp_path) as store:
        store.carried.add("Gossip", HERE, 7, b"x", FOREVER)
        assert len(store.carried.valid("Gossip", HERE)) == 1
