"""Contacts from a list."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.world.contacts.scheduled import ScheduledContacts
from tests.world.contacts.changes import Recorder, rows


def test_scheduled_contacts_follow_their_list() -> None:
    k = ScheduledContacts(3, [(0.0, 0, 1, True), (5.0, 1, 2, True), (5.0, 0, 1, False), (9.0, 1, 2, False)])
    k.observer = seen = Recorder()
    assert rows(k) == [[1], [0], []] and k.next == 5.0
    k.advance(5.0)
    assert rows(k) == [[], [2], [1]] and k.next == 9.0
    k.advance(1e9)
    assert rows(k) == [[], [], []] and k.next == inf
    assert [c for c in seen.changes if c[0] == 5.0] == [
        (5.0, 1, 2, True),
        (5.0, 2, 1, True),
        (5.0, 0, 1, False),
        (5.0, 1, 0, False),
    ]
    assert k.position(0, 3.0) == (0.0, 0.0) and k.speed(0) == 0.0 and k.leg_end(0) == inf


def test_scheduled_contacts_that_are_known_are_not_reported_again() -> None:
    k = ScheduledContacts(2, [(1.0, 0, 1, True), (2.0, 1, 0, True), (3.0, 0, 1, False), (4.0, 0, 1, False)])
    k.observer = seen = Recorder()
    k.advance(10.0)
    assert [c[0] for c in seen.changes] == [1.0, 1.0, 3.0, 3.0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([(2.0, 0, 1, True), (1.0, 0, 1, False)], "sort them"),
        ([(1.0, 0, 2, True)], "nodes from 0 to 1"),
        ([(1.0, 0, 0, True)], "two different"),
        ([(float("nan"), 0, 1, True)], "sort them"),
    ],
)
def test_a_wrong_list_is_refused(changes: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        ScheduledContacts(2, changes)
