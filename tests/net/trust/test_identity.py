from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.net.durable import MemoryValues
from roamcast.net.trust.identity import Identity, Roster, node_number
from roamcast.net.trust.keys import KeyRing
from roamcast.net.trust.membership import Membership, Sequence, take_boot
from roamcast.net.wire.packet import NODE_MAX

RING = KeyRing.new()


class CountingVault(MemoryValues):
    def __init__(self) -> None:
        super().__init__()
        self.stores = 0

    def store(self, name: str, value: bytes) -> None:
        super().store(name, value)
        self.stores += 1


# ------------------------------------------------------------------------------------------------------------ numbers


def test_a_node_is_the_same_after_a_restart_and_another_without_its_vault() -> None:
    vault = MemoryValues()
    first, again = Membership.secure(vault, RING), Membership.secure(vault, RING)
    assert first.number == again.number
    assert first.identity is not None
    assert first.number == node_number(first.identity.public)
    assert 0 <= first.number <= NODE_MAX
    assert Membership.secure(MemoryValues(), RING).number != first.number


def test_numbers_are_spread_over_all_that_there_are() -> None:
    numbers = [node_number(bytes([i]) * 32) for i in range(200)]
    assert len(set(numbers)) == 200
    assert all(0 <= n <= NODE_MAX for n in numbers)
    assert sum(n > NODE_MAX // 2 for n in numbers) > 50


def test_a_roster_gives_small_numbers_and_takes_nobody_else(tmp_path: Path) -> None:
    vault = MemoryValues()
    public = Identity.of(vault).public
    path = tmp_path / "roster.toml"
    path.write_text(Roster({7: public, 8: bytes(32)}).text())
    assert Membership.secure(vault, RING, Roster.load(path)).number == 7
    with pytest.raises(InputError, match="not on the roster; its public key is"):
        Membership.secure(MemoryValues(), RING, Roster.load(path))


@pytest.mark.parametrize(
    "text",
    ["", "[members]\nx = 'ab'", "[members]\n1 = 'ab'", "[members]\n1 = 5", "members = 3", "[", "[members]\n-1 = '00'"],
)
def test_what_is_no_roster_is_said_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "roster.toml"
    path.write_text(text)
    with pytest.raises(InputError, match="roster"):
        Roster.load(path)


def test_a_roster_has_a_number_for_a_key() -> None:
    with pytest.raises(InputError, match="same key"):
        Roster({1: bytes(32), 2: bytes(32)})
    with pytest.raises(InputError, match="no node number"):
        Roster({NODE_MAX + 1: bytes(32)})


def test_a_vault_with_a_broken_identity_is_not_overwritten() -> None:
    vault = MemoryValues()
    vault.store("identity", b"short")
    with pytest.raises(InputError, match="32"):
        Identity.of(vault)
    assert vault.load("identity") == b"short"


def test_insecure_members_have_a_number_and_nothing_else() -> None:
    member = Membership.insecure(5)
    assert (member.number, member.identity, member.ring) == (5, None, None)
    assert 0 <= Membership.insecure().number <= NODE_MAX
    with pytest.raises(InputError, match="node number"):
        Membership.insecure(-1)


# -------------------------------------------------------------------------------------------------------------- boots


@pytest.mark.parametrize("clock_us", [0, -5, 1_000_000_000_000, 1_800_000_000_000_000])
def test_boots_rise_whatever_the_clock_says(clock_us: int) -> None:
    vault = MemoryValues()
    boots = [take_boot(vault, clock_us) for _ in range(50)]
    assert all(a >> 16 < b >> 16 for a, b in itertools.pairwise(boots))
    back = take_boot(vault, clock_us // 2)
    assert back > boots[-1]


def test_a_boot_is_durable_before_it_is_used() -> None:
    vault = MemoryValues()
    boot = take_boot(vault)
    assert int.from_bytes(vault.values["boot"], "big") == boot


def test_a_node_that_lost_its_vault_is_not_in_its_own_past() -> None:
    """Where there is a clock."""
    before = take_boot(MemoryValues(), 1_800_000_000_000_000)
    assert take_boot(MemoryValues(), 1_800_000_001_000_000) > before


def test_copies_of_a_vault_hardly_begin_the_same_life() -> None:
    assert len({take_boot(MemoryValues(), 0) for _ in range(20)}) > 15


def test_a_vault_at_its_end_says_so() -> None:
    vault = MemoryValues()
    vault.store("boot", b"\xff" * 8)
    with pytest.raises(InputError, match="used up"):
        take_boot(vault)


# ---------------------------------------------------------------------------------------------------------- sequences


def test_no_sequence_number_comes_twice_through_crashes_and_few_are_written() -> None:
    vault = CountingVault()
    seen: list[int] = []
    for life in range(5):
        sequence = Sequence(vault, block=8)
        seen += [sequence.next() for _ in range(1 + 5 * life)]
    assert len(set(seen)) == len(seen)
    assert seen == sorted(seen)
    assert min(seen) == 1
    assert vault.stores <= len(seen) / 8 + 5


def test_the_last_number_is_the_last() -> None:
    vault = MemoryValues()
    vault.store("sequence", ((1 << 32) - 3).to_bytes(8, "big"))
    sequence = Sequence(vault)
    assert [sequence.next(), sequence.next()] == [(1 << 32) - 2, (1 << 32) - 1]
    with pytest.raises(InputError, match="published all"):
        sequence.next()
