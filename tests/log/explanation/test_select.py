"""Rows of a log, filtered before they become Python objects."""

from __future__ import annotations

import pytest

from roamcast.log.explanation.select import Columns
from roamcast.log.reader import LogRow
from roamcast.pubsub.event import event_id
from tests.log.explanation.logs import EVENT, WORLDS, Hand, all_events, answers, simulated, simulated_rows

OTHER = event_id(1, 2)


def kinds(rows: list[LogRow]) -> list[tuple[str, int]]:
    return [(row.kind, row.node) for row in rows]


def test_masks_by_kind_and_by_reason() -> None:
    columns = Hand().publish(0).send(1, 1, 1).lose(2, 2, 1, 1).lose(3, 3, 1, 1, "loss").columns()
    assert len(columns) == 4
    assert columns.are(("lose", "publish")).tolist() == [True, False, True, True]
    assert columns.have_reason(("loss", "queue")).tolist() == [False, False, False, True]
    assert kinds(columns.rows_of_kinds(("send",))) == [("send", 1)]


def test_an_empty_log_has_empty_masks() -> None:
    columns = Hand().columns()
    assert len(columns) == 0
    assert columns.are(("send",)).tolist() == columns.have_reason(("loss",)).tolist() == []


def test_a_subscription_whose_number_is_that_of_an_event_is_not_about_it() -> None:
    id = event_id(0, 1)
    columns = Hand().subscribe(0, 5).publish(1, 0, id).columns()
    assert int(columns["event"][0]) == int(columns["event"][1]) == id
    assert kinds(columns.rows_about(id)) == [("publish", 0)]


def test_a_frame_with_several_events_is_known_by_those_that_received_it() -> None:
    log = Hand().publish(0).publish(0, event=OTHER).send(1, 1, 7)  # the row names the first event only
    log.receive(2, 2, 7, 1).receive(2, 2, 7, 1, OTHER).lose(2, 3, 7, 1).send(3, 1, 8)
    about = log.columns().rows_about(OTHER)
    assert [(row.kind, row.node, row.frame) for row in about if row.frame] == [
        ("send", 1, 7),
        ("receive", 2, 7),
        ("receive", 2, 7),
        ("lose", 3, 7),
    ]


def test_frames_without_a_serial_are_not_one_frame() -> None:
    log = Hand().publish(0).lose(1, 1, 0, 2, "queue").lose(1, 1, 0, 2, "queue", OTHER)
    assert [row.event for row in log.columns().rows_about(EVENT)] == [EVENT, EVENT]


@pytest.mark.parametrize("world", sorted(WORLDS))
def test_many_events_at_once_give_the_rows_of_each(world: str) -> None:
    columns = Columns(simulated(world))
    events = {line.event for line in all_events(answers(world)).events[::3]}
    by_event = columns.rows_by_event(4, events)
    for event in events:
        assert by_event[event] == columns.rows_about(event)
    others = {row.event for row in simulated_rows(world) if row.node == 4 and row.kind == "receive"} - events - {0}
    for event in others:
        own = [row for row in simulated_rows(world) if row.node == 4 and row.event == event and row.kind == "deliver"]
        assert [row for row in by_event[event] if row.kind == "deliver" and row.node == 4] == own


def test_frames_on_the_air_together_are_those_whose_times_overlap() -> None:
    log = Hand()
    for frame, (begin, end) in enumerate([(10, 20), (19, 25), (20, 30), (5, 10), (12, 14), (5, 40)], 1):
        log.row(begin, 10 + frame, "send", EVENT, frame, -1, (end - begin) * 1000)
        log.lose(end, 5, frame, 10 + frame) if frame != 5 else None
    columns = log.columns()
    assert columns.senders_during(1, 5) == [12, 16]  # not 15, of which node 5 noticed nothing
    assert columns.senders_during(4, 5) == [16]
    assert columns.senders_during(99, 5) == []
