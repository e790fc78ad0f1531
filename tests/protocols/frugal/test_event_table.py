"""The event table against a simple one that computes Equation 1 in fractions and goes through all rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.frugal.event_table import COLLECTED, COUNTERS_BYTES, EventTable, StoredEvent
from roamcast.protocols.frugal.frames import table_id
from roamcast.pubsub.event import FOREVER, Event, event_id

validities = st.sampled_from([1, 2, 3, 7, 20, FOREVER - 1, FOREVER])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), validities, st.booleans()),
        st.tuples(st.just("forward"), st.integers(0, 9), st.integers(1, 6)),
        st.tuples(st.just("wait"), st.integers(0, 4)),
        st.tuples(st.just("collect")),
    ),
    max_size=60,
)


class SimpleTable:
    """Rows as (gc of Equation 1, expiry, own): the first expired one goes, else the first with the smallest gc."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[Fraction, int, bool]] = {}

    def first_to_go(self, now_us: int) -> int:
        for id, (_, expiry_us, _) in self.rows.items():
            if expiry_us <= now_us:
                return id
        return min(self.rows, key=lambda id: self.rows[id][0])


@settings(max_examples=200, deadline=None)
@given(steps)
def test_the_collected_row_is_the_one_that_a_search_through_all_rows_finds(steps: list[Any]) -> None:
    table, simple = EventTable(4, 100), SimpleTable()
    now_us = 0
    for k, (what, *more) in enumerate(steps):
        if what == "add" and not table.is_full():
            event = Event(event_id(9, k + 1), validity_us=more[0])
            row = StoredEvent(event, now_us + event.validity_us, own=more[1])
            table.add(row)
            simple.rows[event.id] = (Fraction(1), row.expiry_us, row.own)
        elif what == "forward" and simple.rows:
            id = list(simple.rows)[more[0] % len(simple.rows)]
            row = table.known[table_id(id)]
            for _ in range(more[1]):
                table.count_forward(row)
            validity_us = row.event.validity_us
            simple.rows[id] = (Fraction(validity_us, row.fwd + validity_us), row.expiry_us, row.own)
        elif what == "wait":
            valid = [id for id, (_, expiry_us, _) in simple.rows.items() if expiry_us > now_us]
            now_us += more[0]
            over = [id for id in valid if simple.rows[id][1] <= now_us]
            assert [row.event.id for row in table.expire(now_us)] == over
        elif what == "collect" and simple.rows:
            expected = simple.first_to_go(now_us)
            gone = table.garbage_collect()
            assert gone is not None and gone.event.id == expected
            assert gone.expired == (simple.rows.pop(expected)[1] <= now_us)
        assert [row.event.id for row in table.rows] == list(simple.rows)
        assert [row.event.id for row in table.own.values()] == [id for id, (_, _, own) in simple.rows.items() if own]
        assert [row for row in table.rows if row.expired] == table.expired
        forwarded = [id for id in simple.rows if table.known[table_id(id)].fwd]
        assert [row.event.id for row in reversed(table.forwarded)] == sorted(
            forwarded, key=lambda id: simple.rows[id][0]
        )


def test_rows_expire_one_after_the_other() -> None:
    table = EventTable(3, 100)
    rows = [StoredEvent(Event(event_id(9, k), validity_us=k), k) for k in (3, 1, 2)]
    for row in rows:
        table.add(row)
    assert [table.expire(now_us) for now_us in range(5)] == [[], [rows[1]], [rows[2]], [rows[0]], []]
    assert [table.garbage_collect() for _ in rows] == rows


def test_an_event_that_comes_back_starts_from_scratch() -> None:
    """Event 1 was forwarded twice and collected. It comes back after event 2. Both are forwarded once, so 2 goes
    first."""
    table = EventTable(2, 100)
    events = [Event(event_id(9, k)) for k in (1, 2)]
    rows = [StoredEvent(event, FOREVER) for event in (*events, events[0])]
    table.add(rows[0])
    table.count_forward(rows[0])
    table.count_forward(rows[0])
    assert table.garbage_collect() is rows[0]
    for row in rows[1:]:
        table.add(row)
        table.count_forward(row)
    assert table.garbage_collect() is rows[1]


def test_an_empty_table_has_nothing_to_collect() -> None:
    assert EventTable(3, 100).garbage_collect() is None


def test_fractions_that_hardly_differ_are_distinguished() -> None:
    """1 / FOREVER and 1 / (FOREVER - 1): of two events forwarded once, the one with the shorter validity goes first."""
    table = EventTable(2, 100)
    for k, validity_us in enumerate((FOREVER, FOREVER - 1)):
        row = StoredEvent(Event(event_id(9, k + 1), validity_us=validity_us), FOREVER)
        table.add(row)
        table.count_forward(row)
    gone = table.garbage_collect()
    assert gone is not None and gone.event.validity_us == FOREVER - 1


def test_a_collected_event_is_known_for_a_while() -> None:
    """Three ids are remembered; the first event is stored all the time, so its id is always one of them."""
    table = EventTable(2, 3)
    rows = [StoredEvent(Event(event_id(9, k)), FOREVER) for k in range(1, 30)]
    table.add(rows[0])
    for k in range(1, 29):
        table.add(rows[k])
        assert table.known[rows[k].id] is rows[k]
        table.count_forward(rows[k])
        assert table.garbage_collect() is rows[k]
        gone = [rows[m].id for m in (k - 1, k) if m > 0]
        assert sorted(table.known) == sorted([rows[0].id, *gone])
        assert table.known[rows[0].id] is rows[0]
        assert all(table.known[id] is COLLECTED for id in gone)


def test_stored_events_are_known_whatever_the_limit() -> None:
    table = EventTable(3, 1)
    rows = [StoredEvent(Event(event_id(9, k)), FOREVER) for k in range(1, 6)]
    for row in rows:
        if table.is_full():
            table.garbage_collect()
        table.add(row)
        assert table.known == {row.id: row for row in table.rows}


def test_the_table_knows_its_size() -> None:
    table = EventTable(2, 2)
    rows = [StoredEvent(Event(event_id(9, k), payload=bytes(k)), FOREVER) for k in (1, 2)]
    for row in rows:
        table.add(row)
    assert table.bytes == sum(COUNTERS_BYTES + row.event.size for row in rows)
    table.garbage_collect()
    assert table.bytes == COUNTERS_BYTES + rows[1].event.size
