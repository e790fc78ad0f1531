"""Tables of links against a simple model."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from roamcast.protocols.semiprob.link_tables import (
    ANY_LINK,
    PAGE_BYTES,
    PAGES_MAX,
    TABLE_BYTES,
    AdvertisedTable,
    Row,
    TableFrame,
)
from roamcast.protocols.semiprob.links import SYNC_US, SemiProbLinks
from roamcast.pubsub.filters import topic
from roamcast.testing import make


def advertised_rows(table: AdvertisedTable) -> dict[Row, int]:
    return {row: link for page in table.pages for row, link in page.rows.items()}


MOVES = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 60), st.sampled_from([ANY_LINK, 4, 5, None])), min_size=1, max_size=60
)


@settings(max_examples=60)
@given(MOVES, st.integers(1, 60))
def test_pages_hold_the_advertised_rows_and_changed_pages_are_enough_to_know_them(moves: list, every: int) -> None:
    """Compared with a dict of all rows, and with a receiver that keeps the last copy of each page."""
    table, wanted = AdvertisedTable(), {}
    heard: dict[int, dict[Row, int]] = {}
    versions: list[int] = []
    for k, (distance, n, link) in enumerate(moves):
        row = (distance, topic("t" * (n + 1)))
        if link is None:
            wanted.pop(row, None)
            table.remove(row)
        else:
            wanted[row] = link
            table.put(row, link)
        if k % every and k < len(moves) - 1:
            continue
        changed = table.update_pages()
        for at in changed:
            heard[at] = dict(table.pages[at].rows)
        assert [v for at, v in enumerate(versions) if at not in changed] == [
            v for at, v in enumerate(table.versions()[: len(versions)]) if at not in changed
        ]
        assert all(table.pages[at].version == (versions[at] if at < len(versions) else 0) + 1 for at in changed)
        versions = table.versions()
        assert advertised_rows(table) == wanted and table.unplaced == {}
        assert {row: link for rows in heard.values() for row, link in rows.items()} == wanted
        assert all(page.size <= PAGE_BYTES or len(page.rows) == 1 for page in table.pages)


def test_a_change_costs_one_page() -> None:
    table = AdvertisedTable()
    for n in range(100):
        table.put((1, topic(f"t{n}")), ANY_LINK)
    assert len(table.update_pages()) == len(table.pages) > 3
    table.put((1, topic("t50")), ANY_LINK)
    assert table.update_pages() == []
    table.put((1, topic("t50")), 7)
    assert table.update_pages() == [table.page_of[(1, topic("t50"))]]
    table.remove((1, topic("t0")))
    table.put((2, topic("new")), 3)
    assert table.update_pages() == [0]  # the new row fills the gap


def test_the_frame_of_a_page_is_not_longer_than_the_page_states() -> None:
    table = AdvertisedTable()
    for n in range(300):
        table.put((1 + n % 255, topic("x" * (1 + n % 40))), (1 << 31) - 1)
    table.update_pages()
    for at, page in enumerate(table.pages):
        assert TableFrame((1 << 32) - 1, at, (1 << 32) - 1, page.listed()).size <= page.size + 20


def test_rows_without_room_are_left_out_farthest_first_until_there_is_room() -> None:
    table = AdvertisedTable()
    far, near = [(3, topic(f"far{n:03d}" + "x" * 50)) for n in range(200)], [(1, topic(f"n{n}")) for n in range(10)]
    for row in far:
        table.put(row, ANY_LINK)
    table.update_pages()
    fits = len(table.page_of)
    assert 100 < fits < 200 and table.size <= TABLE_BYTES and len(table.unplaced) == 200 - fits
    for row in near:
        table.put(row, ANY_LINK)
    table.update_pages()
    assert all(row in table.page_of for row in near) and table.size <= TABLE_BYTES
    assert len(table.page_of) + len(table.unplaced) == 210
    table.put((3, topic("farther" + "x" * 50)), ANY_LINK)
    assert table.update_pages() == []  # as far away as the rows in the table: it has to wait
    for row in near + far[:100]:
        table.remove(row)
    table.update_pages()
    assert table.unplaced == {} and len(table.page_of) == 101


def test_a_filter_too_long_for_a_page_has_one_of_its_own() -> None:
    table = AdvertisedTable()
    table.put((1, topic("a")), ANY_LINK)
    table.put((1, topic("b" * 2 * PAGE_BYTES)), ANY_LINK)
    table.put((1, topic("c")), ANY_LINK)
    assert table.update_pages() == [0, 1]
    assert [len(page.rows) for page in table.pages] == [2, 1]


def test_an_empty_page_is_used_again_also_for_a_long_filter() -> None:
    table = AdvertisedTable()
    for n in range(3):
        table.put((1, topic(f"b{n}" * PAGE_BYTES)), ANY_LINK)
        assert table.update_pages() == [0]
        table.remove((1, topic(f"b{n}" * PAGE_BYTES)))
    assert table.update_pages() == [0] and len(table.pages) == 1


def test_the_number_of_pages_is_limited() -> None:
    table = AdvertisedTable()
    for n in range(400):
        table.put((2, topic(f"t{n:03d}" + "x" * 100)), ANY_LINK)
    table.update_pages()
    for row in list(table.page_of)[::2]:
        table.remove(row)
    for n in range(100):
        table.put((1, topic("y" * (200 + n))), ANY_LINK)
        table.update_pages()
    assert len(table.pages) <= PAGES_MAX and table.size <= TABLE_BYTES


def test_rows_left_out_are_noted() -> None:
    protocol, host = make(SemiProbLinks)
    protocol.on_start()
    for n in range(200):
        protocol.on_subscribe(n, topic(f"t{n:03d}" + "x" * 50))
    host.advance(protocol, SYNC_US)
    left = 200 - sum(len(frame.rows) for frame in host.frames("subscription"))
    assert left > 0 and ("note", "rows left out", 0, -1, left) in host.notes
    protocol.on_unsubscribe(0)
    host.advance(protocol, 2 * SYNC_US)
    assert host.labels("note") == ["rows left out"]
