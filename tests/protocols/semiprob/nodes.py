"""What tests of semi-probabilistic routing along links share: frames, and nodes in given states."""

from __future__ import annotations

from hypothesis import strategies as st

from roamcast.protocols.semiprob.link_tables import ANY_LINK, PAGES_MAX, BeaconFrame, TableFrame
from roamcast.protocols.semiprob.links import SemiProbLinks
from roamcast.pubsub.event import FOREVER, Event, event_id
from roamcast.pubsub.filters import Filter, Range, topic

HOT = topic("hot")
FILTERS = st.sampled_from([HOT, topic("a.b.c"), Range("v", 1, 2.5)])
NUMBERS = st.integers(1, (1 << 32) - 1)
NODES = st.integers(0, (1 << 31) - 1)
PAGES = st.integers(0, PAGES_MAX - 1)


tables = st.builds(
    TableFrame,
    NUMBERS,
    PAGES,
    NUMBERS,
    st.lists(st.tuples(st.integers(1, 255), st.just(ANY_LINK) | NODES, FILTERS), max_size=20),
)


def event(n: int = 1, validity_us: int = FOREVER) -> Event:
    return Event(event_id(9, n), "hot", validity_us=validity_us)


def tables_of(node: SemiProbLinks) -> list[dict[int, set[Filter]]]:
    """For each distance: link -> filters."""
    tables: list[dict[int, set[Filter]]] = [{} for _ in range(node.params.phi)]
    for filter, interest in node.filters.items():
        for table, rows in zip(tables, interest.tables, strict=True):
            for link in rows:
                table.setdefault(link, set()).add(filter)
    assert node.rows == sum(len(filters) for table in tables for filters in table.values())
    return tables


def heard(node: SemiProbLinks, *, boot: int = 7, versions: list[int] | None = None, lacks: list[int] | None = None):
    """The beacon of a neighbour that hears node 0."""
    return BeaconFrame(boot, versions or [], [0], {0: lacks} if lacks else {})


def page(rows: list[tuple[int, Filter]], *, boot: int = 7, at: int = 0, version: int = 1) -> TableFrame:
    return TableFrame(boot, at, version, [(distance, ANY_LINK, filter) for distance, filter in rows])
