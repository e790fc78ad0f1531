from __future__ import annotations

import math
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.pubsub.bloom import positions
from tests.support.bloom import BloomFilter, false_positive_rate

items = st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.binary(max_size=8))
shapes = st.tuples(st.integers(1, 2000), st.integers(1, 8))


@pytest.mark.parametrize(
    ("item", "bits", "hashes", "expected"),
    [
        ("", 1024, 4, [714, 25, 360, 695]),
        ("news.sport", 1024, 4, [190, 551, 912, 249]),
        (b"news.sport", 1024, 4, [190, 551, 912, 249]),
        ("news.sport", 12, 3, [2, 7, 0]),
    ],
)
def test_vectors(item: str | bytes, bits: int, hashes: int, expected: list[int]) -> None:
    assert positions(item, bits, hashes) == expected


@given(items, shapes)
def test_positions_are_double_hashing_with_blake2b(item: str | bytes, shape: tuple[int, int]) -> None:
    bits, hashes = shape
    digest = int(blake2b(item.encode() if isinstance(item, str) else item, digest_size=16).hexdigest(), 16)
    swapped = digest.to_bytes(16, "big")[::-1]  # so that the little-endian bytes of the words are in reading order
    h2, h1 = int.from_bytes(swapped[:8], "big"), int.from_bytes(swapped[8:], "big")
    h2 += 1 - h2 % 2
    assert positions(item, bits, hashes) == [(h1 + i * h2) % bits for i in range(hashes)]


def test_a_power_of_two_gives_distinct_positions() -> None:
    assert all(len({*positions(str(i), 64, 8)}) == 8 for i in range(200))


@given(st.lists(items, max_size=20), shapes)
def test_an_added_item_is_always_contained(added: list[str | bytes], shape: tuple[int, int]) -> None:
    bloom = BloomFilter(*shape)
    for item in added:
        bloom.add(item)
    assert all(item in bloom for item in added)
    assert bloom.bitmap < 1 << bloom.bits


def test_an_empty_one_contains_nothing_and_an_item_sets_its_positions() -> None:
    bloom = BloomFilter()
    assert "" not in bloom and bloom.bitmap == 0 and (bloom.bits, bloom.hashes) == (1024, 4)
    bloom.add("news.sport")
    assert bloom.bitmap == 1 << 190 | 1 << 551 | 1 << 912 | 1 << 249
    assert "news.sport" in bloom and "news" not in bloom
    bloom.bitmap &= ~(1 << 249)
    assert "news.sport" not in bloom


@pytest.mark.parametrize(("n", "m", "k"), [(50, 1024, 4), (150, 1024, 4), (300, 1024, 4), (100, 1000, 3), (40, 256, 2)])
def test_the_measured_rate_of_false_positives_agrees_with_the_formula(n: int, m: int, k: int) -> None:
    """Thirty filters; their rates vary around the formula because bitmaps and probes are random."""
    probes, filters = 1000, 30
    hits = 0
    for f in range(filters):
        bloom = BloomFilter(m, k)
        for i in range(n):
            bloom.add(f"in/{f}/{i}")
        hits += sum(f"out/{f}/{i}" in bloom for i in range(probes))
    rate = false_positive_rate(n, m, k)
    deviation = math.sqrt(rate * (1 - rate) / (probes * filters))
    assert abs(hits / (probes * filters) - rate) < 4 * deviation + 0.06 * rate


def test_the_formula() -> None:
    assert false_positive_rate(0, 1024, 4) == 0.0
    assert false_positive_rate(1024, 1024, 1) == pytest.approx(1 - 1 / math.e)
    assert false_positive_rate(100, 1024, 4) == pytest.approx(0.0109, abs=2e-4)
