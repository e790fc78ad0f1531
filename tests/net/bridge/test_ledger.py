"""A subscription moves on to the position below which the broker has everything."""

from __future__ import annotations

from roamcast.net.bridge.ledger import REMEMBERED, Ledger


def test_the_position_is_below_the_first_that_is_not_done() -> None:
    ledger = Ledger()
    assert [ledger.add(position, 100 + position) for position in (3, 5, 9)] == [True] * 3
    assert (ledger.position(), ledger.undone(), len(ledger)) == (2, [103, 105, 109], 3)
    ledger.done(105)
    assert ledger.position() == 2
    ledger.done(103)
    assert (ledger.position(), ledger.undone()) == (8, [109])
    ledger.skip(20)
    assert ledger.position() == 8
    ledger.done(109)
    assert ledger.position() == 20


def test_what_another_bridge_has_done_before_it_came_need_not_be_sent() -> None:
    ledger = Ledger()
    ledger.done(7)
    assert not ledger.add(1, 7)
    assert ledger.position() == 1


def test_after_a_new_beginning_what_was_done_is_known() -> None:
    ledger = Ledger()
    ledger.add(1, 101)
    ledger.add(2, 102)
    ledger.done(102)
    ledger.begin()
    assert (len(ledger), ledger.position()) == (0, 0)
    assert ledger.add(1, 101)
    assert not ledger.add(2, 102)
    assert ledger.position() == 0


def test_the_memory_is_bounded() -> None:
    ledger = Ledger()
    for id in range(REMEMBERED + 10):
        ledger.done(id)
    assert ledger.add(1, 5)
    assert not ledger.add(2, 15)
