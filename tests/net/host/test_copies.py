"""The same frame over two media reaches the protocol once."""

from __future__ import annotations

from roamcast.net.host.copies import WHILE_US, Copies


def test_a_copy_over_another_medium_is_recognised_and_a_repetition_passes() -> None:
    copies = Copies()
    assert copies.first(1, b"beacon", 0, 0)
    assert not copies.first(1, b"beacon", 1, 10)
    assert copies.first(1, b"beacon", 0, 20), "sent again"
    assert copies.first(2, b"beacon", 1, 20), "another sender"
    assert copies.first(1, b"event", 1, 20), "another frame"


def test_when_the_medium_goes_away_the_frame_passes_on_the_other_one() -> None:
    copies = Copies()
    assert copies.first(1, b"beacon", 0, 0)
    assert not copies.first(1, b"beacon", 1, WHILE_US - 1)
    assert copies.first(1, b"beacon", 1, WHILE_US)
    assert not copies.first(1, b"beacon", 0, WHILE_US + 1)


def test_the_table_is_bounded() -> None:
    copies = Copies(most=10)
    for n in range(100):
        assert copies.first(1, bytes([n]), 0, 0)
    assert len(copies._passed) == 10
