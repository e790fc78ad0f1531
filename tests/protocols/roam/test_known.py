"""The tables of known events and of those near an edge, beside dicts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from roamcast.protocols.roam.edge import Edge
from roamcast.protocols.roam.known import DELIVERED, LATE, NONE, OWN, WANTED, KnownEvents, Window, mixed
from roamcast.pubsub.event import Event

IDS = st.integers(1, 40) | st.integers(1, (1 << 62) - 1)
STEPS = st.tuples(IDS, st.integers(0, 9), st.sampled_from([0, OWN, WANTED, OWN | WANTED]))
WINDOWS = st.builds(Window, st.integers(0, 9), st.integers(0, 15))


@given(st.lists(STEPS, max_size=4 * LATE), WINDOWS, st.data())
def test_it_knows_what_a_dict_knows(steps: list[tuple[int, int, int]], window: Window, data: st.DataObject) -> None:
    """A step adds an event, or removes it if it is known; the twin has time of publication and marks. Looking at them
    in order merges the late ones."""
    known, twin = KnownEvents(), dict[int, tuple[int, int]]()
    looks = set(data.draw(st.lists(st.integers(0, 4 * LATE), max_size=6)))
    for step, (id, born_us, marks) in enumerate(steps):
        assert (id in known) == (id in twin)
        if id in twin:
            known.remove(id)
            del twin[id]
        else:
            assert known.add(Event(id, "news", validity_us=5), born_us, marks) == len(twin)
            twin[id] = (born_us, marks)
        if step in looks:
            assert known.all() == sorted(twin)
        assert known.place(id) == NONE or id in twin
    for id, (born_us, marks) in twin.items():
        place = known.place(id)
        event = known.events[place]
        assert event is not None and event.id == id and known.is_held(id)
        assert (known.id(place), known.born_us(place), known.expiry_us(place)) == (id, born_us, born_us + 5)
        assert (known.has(place, OWN), known.has(place, WANTED)) == (marks & OWN > 0, marks & WANTED > 0)
        known.mark(place, DELIVERED, marks & OWN > 0)
        known.mark(place, WANTED, False)
        assert known.has(place, DELIVERED) == (marks & OWN > 0) and not known.has(place, WANTED)
    within = [
        id for id, (born_us, _) in sorted(twin.items()) if born_us <= window.born_us and born_us + 5 >= window.expiry_us
    ]
    assert [int(id) for id in known.within(window)] == within
    assert [int(id) for id in known.within(window, OWN)] == [id for id in within if twin[id][1] & OWN]
    assert known.summary(window)[0] == len(within)
    assert [event and event.id for event in known.as_they_came()] == list(twin)
    assert [int(known.id(place)) for place in known.oldest_first()] == sorted(twin, key=lambda id: (twin[id][0], id))
    low, high = sorted(data.draw(st.tuples(IDS, IDS)))
    assert known.lacking(vec[i64](), low, high, window) == ([id for id in within if low <= id <= high], True)


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9), st.integers(0, 9)), max_size=60), WINDOWS)
def test_events_at_an_edge_are_in_the_order_of_their_publication(
    steps: list[tuple[int, int, int]], window: Window
) -> None:
    edge, twin = Edge(), dict[int, tuple[int, int]]()
    for id, born_us, validity_us in steps:
        assert edge.remove(id) == (id in twin)
        if id in twin:
            del twin[id]
        else:
            edge.add(id, born_us, born_us + validity_us)
            twin[id] = (born_us, born_us + validity_us)
    digest = 0
    within = [id for id, (born, expiry) in twin.items() if born <= window.born_us and expiry >= window.expiry_us]
    for id in within:
        digest ^= mixed(id)
    assert edge.summary(window) == (len(within), digest)
    assert len(edge) == len(twin) and sorted(edge.ids()) == sorted(twin)
    for id in range(1, 31):
        assert edge.holds(id) == (id in twin)
    for _, (born_us, _) in sorted(twin.items(), key=lambda each: each[1][0]):
        assert edge.is_due(born_us) and not edge.is_due(born_us - 1)
        id, *times_us = edge.take()
        assert times_us == [born_us, twin.pop(id)[1]]
    assert len(edge) == 0 and not edge.is_due(1 << 60)


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=60))
def test_events_come_to_an_edge_while_others_are_taken(steps: list[tuple[int, bool]]) -> None:
    """One that was published before those that were taken is first; and what was taken leaves no room behind."""
    edge, twin = Edge(), list[tuple[int, int]]()
    for id, (born_us, takes) in enumerate(steps, 1):
        edge.add(id, born_us, born_us + 5)
        twin = sorted([*twin, (born_us, id)])
        if takes:
            taken, born_us, expiry_us = edge.take()
            assert (born_us, taken) == twin.pop(0) and expiry_us == born_us + 5
        assert edge.ids() == [each for _, each in twin]
        assert len(edge.cells) <= 2 * 3 * max(1, len(twin))
