"""Decisions are counted by kind and label, and logged."""

from __future__ import annotations

from roamcast.log import schema
from roamcast.net.host.decisions import Decisions
from roamcast.net.host.journal import Journal
from roamcast.net.refusal import PROTOCOL_FULL, Tally
from roamcast.protocols.kit.interface import no_room
from tests.conformance.driver import WHY, WHY_NOT
from tests.support.sinks import MemorySink


def test_decisions_of_a_catch_up_are_not_counted() -> None:
    sink = MemorySink()
    journal = Journal(sink, "full", 3, 1000, lambda: 5)
    decisions = Decisions(journal, Tally())
    decisions.note(WHY, 7, 1, 2)
    journal.present_us = 5
    decisions.note(WHY, 8, 1, 2)
    journal.present_us = -1
    decisions.note(WHY, 9, 1, 2)
    decisions.note(WHY_NOT, 9, -1, 0)
    assert decisions.counts() == {"forward: probe": 2, "suppress: probe": 1}
    assert [(row[3], row[5], row[7], row[8]) for row in sink.rows if schema.KINDS[row[2]] == "forward"] == [
        (7, 1, 2, "probe"),
        (9, 1, 2, "probe"),
    ]


def test_an_event_that_the_protocol_has_no_room_for_is_counted_among_the_drops_and_reported() -> None:
    full = no_room("test table full", "{event} made room")
    journal, tally, reported = Journal(MemorySink(), "full", 3, 1000, lambda: 5), Tally(), list[int]()
    decisions = Decisions(journal, tally)
    decisions.on_no_room = reported.append
    decisions.note(WHY_NOT, 6, -1, 0)
    decisions.note(full, 7, -1, 0)
    journal.present_us = 5  # during a catch-up: the earlier boot counted it
    decisions.note(full, 8, -1, 0)
    assert (tally.drops(), reported) == ({PROTOCOL_FULL: 1}, [7])
