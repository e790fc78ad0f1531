"""The frames of roam: summaries, lists of ids, what a node wants, and events that were missing.

A list of ids is sent as runs: how many publishers are skipped, how many ids of the next one are, and how many ids
follow one another. The ids of a publisher's events are consecutive, so a thousand of them take about ten bytes.
Whoever gets such a list compares runs, and never writes out their ids: the work depends on what the receiver knows and
on the bytes of the frame, and not on the numbers that somebody wrote into it.
"""

from __future__ import annotations

from typing import Any, Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

from roamcast.errors import Malformed
from roamcast.protocols.kit.frames import EventFrame
from roamcast.protocols.kit.interface import Frame
from roamcast.protocols.kit.wire import as_int, as_list, counted, measure, uint_size
from roamcast.pubsub.event import FOREVER, Event, event_from_fields, event_id
from roamcast.pubsub.filters import Expression, Filter, filter_from_fields

MOST: Final = 65_536
"""The most ids of a list, and the most events of a frame."""
RUNS_MAX: Final = 8192
ID_MAX: Final = (1 << 63) - 1
CONDITIONS: Final = 32
"""The most that what a node wants may have: neighbours match each event with all of them."""


@final
class Summary(Frame):
    """How many ids the sender knows in a window (held.py), and their digest. The window has the events that are at
    least `age_ms` old and valid for at least `left_ms`."""

    __slots__ = ("age_ms", "count", "digest", "left_ms")

    def __init__(self, count: i64, digest: i64, age_ms: i64, left_ms: i64) -> None:
        super().__init__(
            "summary", 0, 2 + uint_size(count) + uint_size(digest) + uint_size(age_ms) + uint_size(left_ms)
        )
        self.count = count
        self.digest = digest
        self.age_ms = age_ms
        self.left_ms = left_ms

    def fields(self) -> list[Any]:
        return [self.count, self.digest, self.age_ms, self.left_ms]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Summary:
        count, digest, age_ms, left_ms = counted(fields, 4)
        return Summary(as_int(count), as_int(digest), as_int(age_ms), as_int(left_ms))


@final
class IdList(Frame):
    """The sender's summary, and the ids of its window from `low` to `high`, as runs."""

    __slots__ = ("_ranges", "high", "low", "runs", "summary")

    def __init__(self, summary: Summary, low: int, high: int, runs: list[int]) -> None:
        super().__init__("ids", 0, 0)
        self.summary = summary
        self.low = low
        self.high = high
        self.runs = runs  # publishers skipped, ids skipped, ids that follow; again and again, from `low` on
        self._ranges = vec[i64]()  # made by the first receiver that asks, for all
        self.size = measure(self.fields())

    def ranges(self) -> vec[i64]:
        """The first and the last id of each run, one after the other, in their order."""
        ranges = self._ranges
        if len(ranges) == 0:
            runs = self.runs
            id: i64 = self.low
            for k in range(0, len(runs), 3):
                publishers: i64 = runs[k]
                if publishers:
                    id = (id >> 32) + publishers << 32
                id += runs[k + 1]
                following: i64 = runs[k + 2]
                if following:
                    ranges = append(append(ranges, id), id + following - 1)
                    id += following
            self._ranges = ranges
        return ranges

    def spans(self) -> list[tuple[int, int]]:
        """The first id of each run, and the one behind its last, in their order."""
        ranges = self.ranges()
        return [(int(ranges[k]), int(ranges[k + 1]) + 1) for k in range(0, len(ranges), 2)]

    def later(self, ms: int) -> IdList:
        """The same list, sent so much later: its window moves with time."""
        if ms == 0:
            return self
        of = self.summary
        summary = Summary(of.count, of.digest, of.age_ms + ms, max(0, of.left_ms - ms))
        return IdList(summary, self.low, self.high, self.runs)

    def fields(self) -> list[Any]:
        return [*self.summary.fields(), self.low, self.high, self.runs]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> IdList:
        count, digest, age_ms, left_ms, low, high, runs = counted(fields, 7)
        summary = Summary(as_int(count), as_int(digest), as_int(age_ms), as_int(left_ms))
        return IdList(summary, as_int(low), as_int(high), checked_runs(runs, low, high))


def checked_runs(runs: object, low: int, high: int) -> list[int]:
    """Runs that came from the air, if they are such, and their ids not above `high`."""
    checked = [as_int(n) for n in as_list(runs, 3 * RUNS_MAX)]
    if len(checked) % 3 or sum(checked[2::3]) > MOST:
        raise Malformed("no list of ids")
    end = low
    for k in range(0, len(checked), 3):
        end = after(end, checked[k], checked[k + 1]) + checked[k + 2]
    if end > high + 1:
        raise Malformed("ids beyond the end of the list")
    return checked


def after(id: int, publishers: int, ids: int) -> int:
    """The id behind so many skipped publishers, if any, and so many skipped ids."""
    return (event_id((id >> 32) + publishers, 0) if publishers else id) + ids


def id_lists(ids: vec[i64], summary: Summary, limit: int) -> list[IdList]:
    """Ids in ascending order as lists of at most about `limit` bytes, which together cover all ids."""
    most: i64 = limit - 12  # a list that is longer gets no other run, which takes up to 12 bytes
    lists: list[IdList] = []
    runs: list[int] = []
    low: i64 = 0
    position: i64 = 0  # behind the last id
    size: i64 = 0
    listed: i64 = 0
    at: i64 = 0
    while at < len(ids):
        id = ids[at]
        if size > most or len(runs) >= 3 * RUNS_MAX or listed >= MOST:
            lists.append(IdList(summary, low, id - 1, runs))
            runs, low, position, size, listed = [], id, id, 0, 0
        first = at
        while at + 1 < len(ids) and ids[at + 1] == ids[at] + 1 and listed + at + 1 - first < MOST:
            at += 1
        at += 1
        publishers = (id >> 32) - (position >> 32)
        skipped = id - (id >> 32 << 32 if publishers else position)
        runs.append(publishers)
        runs.append(skipped)
        runs.append(int(at - first))
        size += uint_size(publishers) + uint_size(skipped) + 2
        listed += at - first
        position = id + at - first
    lists.append(IdList(summary, low, ID_MAX, runs))
    return lists


@final
class Wanted(Frame):
    """What a node wants, and the ids of such events that it knows: neighbours that hold others send them (M15). The
    list's summary says which window it is about; how many ids there are, and their digest, are not sent."""

    __slots__ = ("list", "predicate")

    def __init__(self, predicate: Filter, list: IdList) -> None:
        super().__init__("wanted", 0, 0)
        self.predicate = predicate
        self.list = list
        self.size = measure(self.fields())

    def fields(self) -> list[Any]:
        _, _, *rest = self.list.fields()
        return [self.predicate.fields(), *rest]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Wanted:
        predicate, age_ms, left_ms, low, high, runs = counted(fields, 6)
        wanted = filter_from_fields(predicate)
        if conditions(wanted) > CONDITIONS:
            raise Malformed("a predicate of too many conditions")
        window = Summary(0, 0, as_int(age_ms), as_int(left_ms))
        return Wanted(wanted, IdList(window, as_int(low), as_int(high), checked_runs(runs, low, high)))


def conditions(filter: Filter) -> int:
    """How many conditions a match may look at."""
    return filter.leaves if isinstance(filter, Expression) else 1


@final
class Missing(Frame):
    """Events that a neighbour lacked, and the age of each when it was handed to the MAC."""

    __slots__ = ("carried",)

    def __init__(self, carried: list[EventFrame]) -> None:
        size = 1 + (1 if 2 * len(carried) < 16 else 3)
        for each in carried:
            size += missing_bytes(each)
        super().__init__("event", 0, size + 1)
        self.carried = carried

    def events(self) -> list[Event]:
        return [each.event for each in self.carried]

    def fields(self) -> list[Any]:
        flat: list[Any] = []
        for each in self.carried:
            flat.append(each.age_us)
            flat.append(each.event.fields())
        return [flat]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> Missing:
        (flat,) = counted(fields, 1)
        pairs = as_list(flat, 2 * MOST)
        if not pairs or len(pairs) % 2:
            raise Malformed("no events, or one without its age")
        ages = [as_int(age_us, 0, FOREVER) for age_us in pairs[0::2]]
        events = [event_from_fields(event) for event in pairs[1::2]]
        return Missing([EventFrame(event, 0, ages[k]) for k, event in enumerate(events)])


def missing_bytes(frame: EventFrame) -> int:
    """The bytes that an event takes in a frame of several."""
    return uint_size(frame.age_us) + frame.event.size
