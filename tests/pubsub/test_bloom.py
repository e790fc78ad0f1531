from __future__ import annotations

import math
from hashlib import blake2b
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamcast.errors import InputError, Malformed
from roamcast.pubsub.bloom import MAX_BITS, BloomFilter, bloom_from_fields, false_positive_rate, positions
from tests.pubsub.strategies import msgpack_values

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


def test_union_is_or_and_changes_neither_operand() -> None:
    a, b = BloomFilter(64, 2), BloomFilter(64, 2)
    a.add("x")
    b.add("y")
    both = a | b
    assert "x" in both and "y" in both and "y" not in a and "x" not in b
    assert a | a == a and both | a == both
    assert both == a.union(b) and both.bitmap == a.bitmap | b.bitmap
    for other in (BloomFilter(64, 3), BloomFilter(65, 2)):
        with pytest.raises(InputError):
            a.union(other)


def test_a_copy_changes_independently() -> None:
    a = BloomFilter(64, 2)
    b = a.copy()
    assert a == b
    b.add("x")
    assert a != b and a.bitmap == 0 and "x" in b
    with pytest.raises(TypeError):
        hash(a)


@pytest.mark.parametrize("shape", [(0, 1), (MAX_BITS + 1, 1), (8, 0), (8, 33), (8, 1, 256), (8, 1, -1)])
def test_wrong_shapes_are_refused(shape: Any) -> None:
    with pytest.raises(InputError):
        BloomFilter(*shape)


@given(st.lists(items, max_size=10), shapes)
def test_it_is_decoded_unchanged(added: list[str | bytes], shape: tuple[int, int]) -> None:
    bloom = BloomFilter(*shape)
    for item in added:
        bloom.add(item)
    fields = msgspec.msgpack.decode(msgspec.msgpack.encode(bloom.fields()))
    assert bloom_from_fields(fields) == bloom


def test_fields_are_as_specified() -> None:
    assert BloomFilter(12, 2, 0x801).fields() == [12, 2, b"\x01\x08"]


hostile = st.tuples(
    st.one_of(st.integers(-1, 20), msgpack_values),
    st.integers(-1, 40),
    st.one_of(st.binary(max_size=3), msgpack_values),
).map(list)


@given(st.one_of(msgpack_values, hostile))
def test_hostile_fields_are_malformed_or_a_bloom_filter(fields: Any) -> None:
    try:
        bloom = bloom_from_fields(fields)
    except Malformed:
        return
    assert bloom.fields() == fields


@pytest.mark.parametrize("fields", [[8, 1, b"\0\0"], [9, 1, b"\0\x02"], [8, True, b"\0"], [8, 33, b"\0"], [8, 1]])
def test_malformed_fields(fields: Any) -> None:
    with pytest.raises(Malformed):
        bloom_from_fields(fields)


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
