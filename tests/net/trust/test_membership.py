"""Numbers that are never used twice."""

from __future__ import annotations

import itertools

import pytest

from roamcast.errors import InputError
from roamcast.net.durable import MemoryValues
from roamcast.net.trust.membership import Membership, Sequence, take_boot
from roamcast.net.wire.packet import NODE_MAX


class CountingValues(MemoryValues):
    def __init__(self) -> None:
        super().__init__()
        self.stores = 0

    def store(self, name: str, value: bytes) -> None:
        super().store(name, value)
        self.stores += 1


def test_insecure_members_have_a_number_and_nothing_else() -> None:
    member = Membership.insecure(5)
    assert (member.number, member.identity, member.ring) == (5, None, None)
    assert 0 <= Membership.insecure().number <= NODE_MAX
    with pytest.raises(InputError, match="node number"):
        Membership.insecure(-1)


@pytest.mark.parametrize("clock_us", [0, -5, 1_000_000_000_000, 1_800_000_000_000_000])
def test_boots_rise_whatever_the_clock_shows(clock_us: int) -> None:
    durable = MemoryValues()
    boots = [take_boot(durable, clock_us) for _ in range(50)]
    assert all(a >> 16 < b >> 16 for a, b in itertools.pairwise(boots))
    back = take_boot(durable, clock_us // 2)
    assert back > boots[-1]


def test_a_boot_is_durable_before_it_is_used() -> None:
    durable = MemoryValues()
    boot = take_boot(durable)
    assert int.from_bytes(durable.values["boot"], "big") == boot


def test_a_node_that_lost_its_durable_values_gets_a_higher_boot() -> None:
    """If it has a clock."""
    before = take_boot(MemoryValues(), 1_800_000_000_000_000)
    assert take_boot(MemoryValues(), 1_800_000_001_000_000) > before


def test_copies_of_durable_values_hardly_ever_take_the_same_boot() -> None:
    assert len({take_boot(MemoryValues(), 0) for _ in range(20)}) > 15


def test_used_up_boot_numbers_are_an_error() -> None:
    durable = MemoryValues()
    durable.store("boot", b"\xff" * 8)
    with pytest.raises(InputError, match="used up"):
        take_boot(durable)


def test_no_sequence_number_comes_twice_through_crashes_and_few_are_written() -> None:
    durable = CountingValues()
    seen: list[int] = []
    for boot in range(5):
        sequence = Sequence(durable, block=8)
        seen += [sequence.next() for _ in range(1 + 5 * boot)]
    assert len(set(seen)) == len(seen)
    assert seen == sorted(seen)
    assert min(seen) == 1
    assert durable.stores <= len(seen) / 8 + 5


def test_used_up_sequence_numbers_are_an_error() -> None:
    durable = MemoryValues()
    durable.store("sequence", ((1 << 32) - 3).to_bytes(8, "big"))
    sequence = Sequence(durable)
    assert [sequence.next(), sequence.next()] == [(1 << 32) - 2, (1 << 32) - 1]
    with pytest.raises(InputError, match="published all"):
        sequence.next()
