"""The frames of roam: sizes, runs of ids, and what is not such a frame."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from roamcast.errors import Malformed
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.wire import decode
from roamcast.protocols.roam.frames import ID_MAX, MOST, IdList, Missing, Summary, id_lists
from roamcast.protocols.roam.protocol import Roam
from roamcast.pubsub.event import FOREVER, Event, event_id
from tests.support.storm import check_encoding

SUMMARY = Summary(9, 7, 500, 600)
ids = st.lists(st.integers(1, 60) | st.integers(1, ID_MAX), unique=True, max_size=80).map(sorted)


def listed(frame: IdList) -> list[int]:
    return [id for first, end in frame.spans() for id in range(first, end)]


@settings(deadline=None)
@given(st.lists(st.integers(0, ID_MAX), min_size=4, max_size=4))
def test_a_summary_crosses_the_wire_and_has_the_size_of_its_bytes(fields: list[int]) -> None:
    check_encoding(Roam, Summary.from_fields(fields))
    assert Summary.from_fields(fields).fields() == fields


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, FOREVER), st.text(max_size=9)), min_size=1, max_size=20))
def test_missing_events_cross_the_wire_and_have_the_size_of_their_bytes(content: list[tuple[int, str]]) -> None:
    carried = [EventFrame(Event(k + 1, topic), 0, age_us) for k, (age_us, topic) in enumerate(content)]
    check_encoding(Roam, Missing(carried))


@settings(deadline=None)
@given(ids, st.sampled_from([30, 64, 200, 1200]))
def test_lists_have_every_id_once_and_cover_all_others(known: list[int], limit: int) -> None:
    lists = id_lists(vec[i64](known), SUMMARY, limit)
    assert [id for each in lists for id in listed(each)] == known
    assert [each.summary for each in lists] == [SUMMARY] * len(lists)
    assert (lists[0].low, lists[-1].high) == (0, ID_MAX)
    assert [each.low for each in lists[1:]] == [each.high + 1 for each in lists[:-1]], "no id is left out"
    for each in lists:
        assert all(each.low <= id <= each.high for id in listed(each))
        assert each.size <= limit + 45
        check_encoding(Roam, each)


def test_a_thousand_events_of_one_publisher_take_few_bytes() -> None:
    (only,) = id_lists(vec[i64]([event_id(1 << 30, n) for n in range(1, 1001)]), SUMMARY, 1200)
    assert only.size < 50


def test_a_list_of_many_publishers_takes_three_bytes_for_each() -> None:
    (only,) = id_lists(vec[i64]([event_id(2 * publisher, 3) for publisher in range(1, 101)]), SUMMARY, 1200)
    assert 300 <= only.size - id_lists(vec[i64](), SUMMARY, 1200)[0].size < 310


def test_more_ids_than_a_list_may_have_are_several_lists() -> None:
    known = list(range(1, MOST + 11))
    assert [len(listed(each)) for each in id_lists(vec[i64](known), SUMMARY, 1200)] == [MOST, 10]


EVENT = Event(5, "news").fields()
NONE = Summary(0, 0, 0, 0).fields()


@pytest.mark.parametrize(
    "fields",
    [
        [1],
        [1, 0],
        [1, -1, 0, 0, 0],
        [1, 0, 1 << 63, 0, 0],
        [1, 0, 0, 0, -1],
        [2, *NONE, 0, 10],
        [2, *NONE[:3], 0, 10, []],
        [2, *NONE, 0, 10, [1]],
        [2, *NONE, 0, 10, [0, 1]],
        [2, *NONE, 0, 10, [0, 1, 11]],
        [2, *NONE, 5, 4, [0, 0, 1]],
        [2, *NONE, 0, ID_MAX, [1 << 31, 0, 1]],
        [2, *NONE, 0, ID_MAX, [0, 1, MOST + 1]],
        [2, *NONE, 0, ID_MAX, [0, 1, 1 << 62]],
        [2, *NONE, 0, ID_MAX, [0, -1, 1]],
        [3, []],
        [3, [0]],
        [3, [-1, EVENT]],
        [3, [0, EVENT[:-1]]],
        [3, [0, EVENT], 0],
        [4, 0],
    ],
)
def test_invalid_fields_are_malformed(fields: list[Any]) -> None:
    with pytest.raises(Malformed):
        decode(Roam, msgspec.msgpack.encode(fields))


def test_a_list_may_end_at_its_bound() -> None:
    assert listed(IdList.from_fields([*NONE, 0, 10, [0, 1, 10]])) == list(range(1, 11))


@given(st.integers(0, 9), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=9))
def test_a_list_has_the_ids_of_its_runs_and_no_others(low: int, runs: list[tuple[int, int]]) -> None:
    ids, id = set[int](), low
    for skipped, following in runs:
        ids.update(range(id + skipped, id + skipped + following))
        id += skipped + following
    frame = IdList(SUMMARY, low, 100, [n for run in runs for n in (0, *run)])
    assert listed(frame) == sorted(ids)


def test_a_run_is_not_written_out() -> None:
    assert IdList.from_fields([*NONE, 0, ID_MAX, [0, 5, MOST, 0, 0, 0]]).spans() == [(5, 5 + MOST)]
