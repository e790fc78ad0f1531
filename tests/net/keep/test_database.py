"""The file: private, for one process, of a known version."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from roamcast.errors import InputError, StoreError
from roamcast.net.keep.database import FILE, VERSION
from roamcast.net.keep.store import Store
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.pubsub.event import FOREVER
from tests.net.keep.stores import HERE, event
from tests.net.members import publication


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    with Store(tmp_path / "state") as store:
        store.values.store("identity", bytes(32))
        for path in (tmp_path / "state").iterdir():
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
        assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_settings_survive_a_loss_of_power(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        assert store.db.run("pragma journal_mode").fetchone() == ("wal",)
        assert store.db.run("pragma synchronous").fetchone() == (2,)  # full


def test_a_second_node_on_the_same_state_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(InputError, match="another node is running"):
        Store(tmp_path)
    Store(tmp_path).close()


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be one" * 50, b"\0" * 4096])
def test_a_file_that_is_not_a_store_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(InputError, match=r"not the store of a node|cannot keep state"):
        Store(tmp_path)


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.db.run("pragma user_version = 99")
    with pytest.raises(InputError, match="newer roamcast"):
        Store(tmp_path)


def test_a_folder_that_cannot_be_made_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot keep state in"):
        Store(tmp_path / "file" / "below")


@pytest.mark.parametrize("version", [1, 2])
def test_a_store_of_an_earlier_version_can_be_used(tmp_path: Path, version: int) -> None:
    with Store(tmp_path) as store:
        own = Membership.secure(store.values, KeyRing.new())
        store.own.add([publication(own, 1, payload=b"sealed"), event(2)])
        store.carried.add("Gossip", HERE, 7, b"of an unknown group", FOREVER)
        store.db.run("drop table held" if version == 1 else "alter table held drop column circle")
        store.db.run(f"pragma user_version = {version}")
    for _ in range(2):
        with Store(tmp_path) as store:
            assert sorted(e.payload for e, _, _ in store.own.valid()) == sorted([b"sealed", event(2).payload])
            assert store.carried.valid("Gossip", HERE) == []
    with Store(tmp_path) as store:
        store.carried.add("Gossip", HERE, 7, b"x", FOREVER)
        assert len(store.carried.valid("Gossip", HERE)) == 1


def test_a_store_of_version_3_is_used_unchanged(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.own.add([event(2)])
        store.carried.add("Gossip", HERE, 7, b"x", FOREVER)
        store.db.run("pragma user_version = 3")
    with Store(tmp_path) as store:
        assert [(own.event, own.group) for own in store.own.valid()] == [(event(2), b"")]
        assert len(store.carried.valid("Gossip", HERE)) == 1
        assert store.db.row("pragma user_version") == (VERSION,)


def test_a_prepared_change_is_committed_by_a_step_of_its_own(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        with store.together():
            store.received.add([event(1)])
        assert store.db._connection.in_transaction
        store.commit()
        assert not store.db._connection.in_transaction
        store.commit()
    with Store(tmp_path) as store:
        assert store.received.end() == 1


def test_another_change_does_not_become_a_part_of_a_prepared_one(tmp_path: Path) -> None:
    """Its caller relies on it as soon as it returns, whether the prepared one is ever committed or not."""
    store = Store(tmp_path)
    with store.together():
        store.received.add([event(1)])
    store.values.store("boot", b"7")
    statements: list[str] = []
    store.db._connection.set_trace_callback(statements.append)
    store.commit()
    assert statements == [], "the other change has committed both"
    store.close()


def test_a_failed_commit_is_reported_to_the_caller_that_prepared_it() -> None:
    store = Store(None)
    with store.together():
        store.received.add([event(1)])
    store.db._connection.rollback()  # the commit has nothing to commit any more, and fails
    store.values.store("boot", b"7")
    with pytest.raises(StoreError, match="no transaction"):
        store.commit()
    assert (store.received.count, store.received.bytes) == (0, 0), "counted again"
    store.commit()


def test_without_waiting_only_durable_values_are_forced_to_the_disk(tmp_path: Path) -> None:
    with Store(tmp_path, wait=False) as store:
        statements: list[str] = []
        store.db._connection.set_trace_callback(statements.append)
        store.own.add([event(1)])
        assert not any("synchronous" in statement for statement in statements)
        store.values.store("boot", b"7")
        forced = [statement for statement in statements if "synchronous" in statement or statement.upper() == "COMMIT"]
        assert forced[1:] == ["pragma synchronous = full", "commit", "pragma synchronous = normal"]
        assert store.db.number("pragma synchronous") == 1
