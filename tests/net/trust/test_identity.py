"""A node's own key and number, and the roster."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.net.durable import MemoryValues
from roamcast.net.trust.identity import Identity, Roster, node_number
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership
from roamcast.net.wire.packet import NODE_MAX

RING = KeyRing.new()


def test_a_node_keeps_its_identity_after_a_restart_and_has_a_new_one_without_its_durable_values() -> None:
    durable = MemoryValues()
    first, again = Membership.secure(durable, RING), Membership.secure(durable, RING)
    assert first.number == again.number
    assert first.identity is not None
    assert first.number == node_number(first.identity.public)
    assert 0 <= first.number <= NODE_MAX
    assert Membership.secure(MemoryValues(), RING).number != first.number


def test_numbers_are_spread_over_the_whole_range() -> None:
    numbers = [node_number(bytes([i]) * 32) for i in range(200)]
    assert len(set(numbers)) == 200
    assert all(0 <= n <= NODE_MAX for n in numbers)
    assert sum(n > NODE_MAX // 2 for n in numbers) > 50


def test_a_roster_gives_small_numbers_and_refuses_other_nodes(tmp_path: Path) -> None:
    durable = MemoryValues()
    public = Identity.of(durable).public
    path = tmp_path / "roster.toml"
    path.write_text(Roster({7: public, 8: bytes(32)}).text())
    assert Membership.secure(durable, RING, Roster.load(path)).number == 7
    with pytest.raises(InputError, match="not on the roster; its public key is"):
        Membership.secure(MemoryValues(), RING, Roster.load(path))


@pytest.mark.parametrize(
    "text",
    ["", "[members]\nx = 'ab'", "[members]\n1 = 'ab'", "[members]\n1 = 5", "members = 3", "[", "[members]\n-1 = '00'"],
)
def test_a_wrong_roster_gives_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "roster.toml"
    path.write_text(text)
    with pytest.raises(InputError, match="roster"):
        Roster.load(path)


def test_a_roster_has_a_number_for_a_key() -> None:
    with pytest.raises(InputError, match="same key"):
        Roster({1: bytes(32), 2: bytes(32)})
    with pytest.raises(InputError, match="not a node number"):
        Roster({NODE_MAX + 1: bytes(32)})


def test_a_damaged_identity_is_not_overwritten() -> None:
    durable = MemoryValues()
    durable.store("identity", b"short")
    with pytest.raises(InputError, match="32"):
        Identity.of(durable)
    assert durable.load("identity") == b"short"
