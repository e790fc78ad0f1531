"""Matching an event against many filters at once.

Each filter is split into boxes (see boxes.py), and each box is filed under only one of its conditions: the one that is
probably met least often, judging by the conditions seen so far. That is a value in a hash table, a topic (an event
looks up its topic and all ancestors), or an interval (ranges, comparisons and prefixes alike: all values lie on one
line, see values.py). An event finds the boxes whose filed condition it meets; then `Filter.matches` decides, unless the
filed condition was the only one.
The usual method counts the conditions that are met and reads a filter once for each; this one reads it once.

Intervals are in a centred interval tree, which answers in O(log n + matches). It is rebuilt at the next query after
more than `MAX_PENDING` changes; until then new intervals are searched one by one, and removed ones are skipped.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, final

from roamcast.pubsub import values as sets
from roamcast.pubsub.boxes import Box, boxes_of, point_values, span, topic_name
from roamcast.pubsub.event import Event, Value
from roamcast.pubsub.filters import Filter
from roamcast.pubsub.necessary import TOPIC
from roamcast.pubsub.values import Cut, kind_of

MAX_PENDING: Final = 32
"""Ours: searching fewer one by one is faster than building a tree."""

BOUNDED_SHARE: Final = 0.1
HALF_BOUNDED_SHARE: Final = 0.5
"""Ours: the assumed share of values in an interval with two ends or with one, if it cannot be computed."""

MAX_KNOWN: Final = 1024
"""Ours: how many different names, topics and values of one attribute are counted to estimate how common each is."""

Candidates = dict[int, bool]
"""Keys of filters that may match; True if they certainly match."""


@final
class MatchingIndex:
    """Filters by key. `match` returns the keys of the filters that match an event, in order."""

    def __init__(self) -> None:
        self._filters: dict[int, Filter] = {}
        self._boxes: dict[int, list[tuple[str, list[Cut]]]] = {}  # the condition that each box is filed under
        self._unfiled: dict[int, bool] = {}  # no condition to file them under; True: they match everything
        self._topics: dict[str, Candidates] = {}
        self._attributes: dict[str, _Attribute] = {}
        self._seen: dict[str, _Seen] = {}

    def __len__(self) -> int:
        return len(self._filters)

    def add(self, key: int, filter: Filter) -> None:
        """Add a filter; it replaces one that has the same key."""
        if key in self._filters:
            self.remove(key)
        self._filters[key] = filter
        self._boxes[key] = []
        boxes = boxes_of(filter)
        if boxes is None:
            self._unfiled[key] = False
        elif {} in boxes:
            self._unfiled[key] = True
        else:
            for box in boxes:
                self._file(key, box)

    def remove(self, key: int) -> None:
        """Remove a filter. An unknown key does nothing."""
        self._filters.pop(key, None)
        self._unfiled.pop(key, None)
        for name, accepted in self._boxes.pop(key, []):
            if name == TOPIC:
                self._discard_topic(key, topic_name({TOPIC: accepted}))
            elif name in self._attributes:
                self._attributes[name].discard(key, accepted)
                if self._attributes[name].is_empty():
                    del self._attributes[name]

    def match(self, event: Event) -> list[int]:
        candidates = dict(self._unfiled)
        self._find_topic(event.topic, candidates)
        for name, value in event.attrs.items():
            attribute = self._attributes.get(name)
            if attribute is not None:
                attribute.find(value, candidates)
        result = [key for key, sure in candidates.items() if sure or self._filters[key].matches(event)]
        result.sort()
        return result

    def _file(self, key: int, box: Box) -> None:
        best = ""
        lowest = 2.0
        for name in sorted(box):
            share = self._share(name, box)
            if share < lowest:
                best, lowest = name, share
        accepted = box[best]
        self._boxes[key].append((best, accepted))
        if best == TOPIC:
            _file_under(self._topics.setdefault(topic_name(box), {}), key, len(box) == 1)
            return
        if best not in self._attributes:
            self._attributes[best] = _Attribute()
        self._attributes[best].file(key, accepted, len(box) == 1)

    def _discard_topic(self, key: int, topic: str) -> None:
        entries = self._topics.get(topic, {})
        entries.pop(key, None)
        if not entries:
            self._topics.pop(topic, None)

    def _share(self, name: str, box: Box) -> float:
        """The estimated share of events that meet a condition."""
        if name not in self._seen:
            if len(self._seen) >= MAX_KNOWN:
                self._seen.clear()
            self._seen[name] = _Seen()
        if name == TOPIC:
            return self._seen[name].share_of_values([topic_name(box)])
        values = point_values(box[name])
        return self._seen[name].share(box[name]) if values is None else self._seen[name].share_of_values(values)

    def _find_topic(self, topic: str, candidates: Candidates) -> None:
        end = len(topic)
        while end >= 0:
            entries = self._topics.get(topic[:end])
            if entries is not None:
                _merge(candidates, entries)
            end = topic.rfind(".", 0, end)


@final
class _Seen:
    """The values that conditions on one attribute have named so far, and the range of their numbers."""

    def __init__(self) -> None:
        self.values: dict[Value, None] = {}
        self.low = sets.INFINITY
        self.high = -sets.INFINITY

    def share_of_values(self, values: list[Value]) -> float:
        for value in values:
            if len(self.values) < MAX_KNOWN:
                self.values[value] = None
        return min(1.0, len(values) / max(1, len(self.values)))

    def share(self, accepted: list[Cut]) -> float:
        """The estimated share of an interval."""
        low, high = accepted[0], accepted[-1]
        if accepted == sets.present():
            return 1.0
        around = span(accepted)
        if around is None:
            return HALF_BOUNDED_SHARE if low == sets.start(low[0]) or high == sets.start(high[0]) else BOUNDED_SHARE
        ends = [end for end in around if abs(end) < sets.INFINITY]
        self.low = min([self.low, *ends])
        self.high = max([self.high, *ends])
        width = min(around[1], self.high) - max(around[0], self.low)
        return width / (self.high - self.low) if self.high > self.low else 1.0


Point = tuple[int, Value]


@final
class _Attribute:
    """Conditions on one attribute: single values in a hash table, everything else as intervals."""

    def __init__(self) -> None:
        self.points: dict[Point, Candidates] = {}
        self.sure = _Intervals(True)
        self.doubtful = _Intervals(False)

    def is_empty(self) -> bool:
        return not self.points and not self.sure.live and not self.doubtful.live

    def file(self, key: int, accepted: list[Cut], sure: bool) -> None:
        values = point_values(accepted)
        if values is None:
            # a set with holes is filed as the interval around it, and the filter itself decides
            intervals = self.sure if sure and len(accepted) == 2 else self.doubtful
            intervals.file(key, accepted[0], accepted[-1])
            return
        for value in values:
            _file_under(self.points.setdefault((kind_of(value), value), {}), key, sure)

    def discard(self, key: int, accepted: list[Cut]) -> None:
        values = point_values(accepted)
        if values is None:
            self.sure.discard(key)
            self.doubtful.discard(key)
            return
        for value in values:
            point = (kind_of(value), value)
            entries = self.points.get(point, {})
            entries.pop(key, None)
            if not entries:
                self.points.pop(point, None)

    def find(self, value: Value, candidates: Candidates) -> None:
        kind = kind_of(value)
        entries = self.points.get((kind, value))
        if entries is not None:
            _merge(candidates, entries)
        self.sure.find((kind, value, 0), candidates)
        self.doubtful.find((kind, value, 0), candidates)


@final
class _Intervals:
    """Finds the intervals that contain a place. Every interval has a slot number, which is never used again."""

    def __init__(self, sure: bool) -> None:
        self.sure = sure
        self.live: dict[int, _Interval] = {}
        self.slots: dict[int, list[int]] = {}  # by key
        self.pending: list[_Interval] = []
        self.removed = 0
        self.next_slot = 0
        self.root: _Node | None = None

    def file(self, key: int, low: Cut, high: Cut) -> None:
        interval = _Interval(self.next_slot, key, low, high)
        self.next_slot += 1
        self.live[interval.slot] = interval
        self.slots.setdefault(key, []).append(interval.slot)
        self.pending.append(interval)

    def discard(self, key: int) -> None:
        """Remove all intervals of a key: a filter is removed as a whole."""
        for slot in self.slots.pop(key, []):
            del self.live[slot]
            self.removed += 1

    def find(self, place: Cut, candidates: Candidates) -> None:
        if len(self.pending) > MAX_PENDING or self.removed > MAX_PENDING + len(self.live):
            self.root = _tree(list(self.live.values()))
            self.pending = []
            self.removed = 0
        self.add_keys([interval for interval in self.pending if interval.low <= place < interval.high], candidates)
        node = self.root
        while node is not None:
            if place < node.centre:
                self.add_keys(node.by_low[: bisect_right(node.lows, place)], candidates)
                node = node.left
            else:
                self.add_keys(node.by_high[bisect_right(node.highs, place) :], candidates)
                node = node.right

    def add_keys(self, intervals: list[_Interval], candidates: Candidates) -> None:
        if self.removed:
            intervals = [interval for interval in intervals if interval.slot in self.live]
        if self.sure:
            for interval in intervals:
                candidates[interval.key] = True
        else:
            for interval in intervals:
                candidates.setdefault(interval.key, False)


@final
class _Interval:
    def __init__(self, slot: int, key: int, low: Cut, high: Cut) -> None:
        self.slot = slot
        self.key = key
        self.low = low
        self.high = high


@final
class _Node:
    """The intervals that contain `centre`, sorted by either end, and the trees of those before and after it."""

    def __init__(self, centre: Cut, here: list[_Interval]) -> None:
        self.centre = centre
        self.by_low = sorted(here, key=_low)
        self.by_high = sorted(here, key=_high)
        self.lows = [interval.low for interval in self.by_low]
        self.highs = [interval.high for interval in self.by_high]
        self.left: _Node | None = None
        self.right: _Node | None = None


def _low(interval: _Interval) -> Cut:
    return interval.low


def _high(interval: _Interval) -> Cut:
    return interval.high


def _tree(intervals: list[_Interval]) -> _Node | None:
    if not intervals:
        return None
    ends = sorted([interval.low for interval in intervals] + [interval.high for interval in intervals])
    centre = ends[len(intervals) - 1]  # the lower median: with the upper one a single interval would never be placed
    before: list[_Interval] = []
    here: list[_Interval] = []
    after: list[_Interval] = []
    for interval in intervals:
        if interval.high <= centre:
            before.append(interval)
        elif interval.low > centre:
            after.append(interval)
        else:
            here.append(interval)
    node = _Node(centre, here)
    node.left = _tree(before)
    node.right = _tree(after)
    return node


def _file_under(entries: Candidates, key: int, sure: bool) -> None:
    entries[key] = sure or entries.get(key, False)


def _merge(candidates: Candidates, entries: Candidates) -> None:
    for key, sure in entries.items():
        if sure or key not in candidates:
            candidates[key] = sure
