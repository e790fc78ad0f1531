"""Covering and summaries: whether one filter matches every event that another one matches.

`covers` splits both filters into boxes (see boxes.py) and subtracts the boxes of the general filter from each box of
the special one. If nothing remains, the general filter covers the special one. That is exact on the dense line of
values. If there are more boxes or pieces than the limits below, it gives up and answers no. Filters with too many boxes
are compared by the conditions that all their matches meet (`necessary`), or operand by operand. The same filters are
compared again and again, so the boxes of the latest ones are cached.

`summarise` puts boxes in a fixed order and merges neighbours: first those whose union is a box, which loses nothing.
While there are still too many, it merges the pair that loses least: the fewest conditions dropped, then the smallest
gap filled (for numbers, as a share of the span of that attribute over all filters; for texts and topics, the gap is
larger if the common beginning is shorter), then the fewest attributes widened.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, final

from roamcast.pubsub import values as sets
from roamcast.pubsub.boxes import (
    MAX_BOXES,
    Box,
    box_difference,
    box_filter,
    box_includes,
    boxes_of,
    expressible,
    hull,
    leaf_count,
    span,
    topic_name,
)
from roamcast.pubsub.filters import MAX_LEAVES, NOTHING, And, Expression, Filter, Or
from roamcast.pubsub.necessary import TOPIC, necessary
from roamcast.pubsub.values import Cut

MAX_PIECES: Final = 256
"""Ours: how many pieces of one box `covers` handles before it gives up."""

MAX_STEPS: Final = 20_000
"""Ours: how many subtractions `covers` makes in total; filters from the air may be difficult on purpose."""

MAX_POINTS: Final = 32
"""Ours: sets of values larger than this are merged into an interval."""

MAX_SUMMARISED: Final = 512
"""Ours: beyond this number of boxes, `summarise` uses one box for each further filter."""

MAX_CACHED: Final = 1024
"""Ours: the number of cached filters. Only filters of at most one box are cached, because others can be large."""

MAX_COMPARED: Final = 32
"""Ours: up to this number, filters that have too many boxes are compared with each other directly."""

Cost = tuple[int, float, int]


def covers(general: Filter, special: Filter) -> bool:
    """True only if every event that matches `special` matches `general`."""
    return _Comparison().covers(general, special)


@final
class _Comparison:
    """One comparison, and how much work it may still do."""

    def __init__(self) -> None:
        self.steps_left = MAX_STEPS

    def covers(self, general: Filter, special: Filter) -> bool:
        if general is special or general == special:
            return True
        self.steps_left -= MAX_PIECES  # splitting into boxes is work too
        if self.steps_left < 0:
            return False
        wide = _cached_boxes(general)
        if wide is None:
            return self.covers_by_operand(general, special)
        narrow = _cached_boxes(special)
        if narrow is None:
            return self.covered_by_operand(general, wide, special)
        return self.all_covered(narrow, wide)

    def covers_by_operand(self, general: Filter, special: Filter) -> bool:
        if isinstance(general, And):
            return all(self.covers(part, special) for part in general.filters)
        if isinstance(general, Or):
            return any(self.covers(part, special) for part in general.filters)
        return False

    def covered_by_operand(self, general: Filter, wide: list[Box], special: Filter) -> bool:
        around = necessary(special)
        if around is None or self.all_covered([around], wide):
            return True
        if isinstance(special, And):
            return any(self.covers(general, part) for part in special.filters)
        if isinstance(special, Or):
            return all(self.covers(general, part) for part in special.filters)
        return False

    def all_covered(self, narrow: list[Box], wide: list[Box]) -> bool:
        for box in narrow:  # noqa: SIM110 (a generator costs more than most comparisons)
            if not self.is_covered(box, wide):
                return False
        return True

    def is_covered(self, box: Box, wide: list[Box]) -> bool:
        for other in wide:
            if box_includes(other, box):
                return True
        if len(wide) == 1:
            return False  # a single box covers another one only if it includes it
        pieces = [box]
        for other in wide:
            self.steps_left -= len(pieces)
            if self.steps_left < 0 or len(pieces) > MAX_PIECES:
                return False
            left: list[Box] = []
            for piece in pieces:
                left.extend(box_difference(piece, other))
            pieces = left
        return not pieces


_cache: dict[str, list[Box]] = {}


def _cached_boxes(filter: Filter) -> list[Box] | None:
    """The result of `boxes_of`, cached. Callers share it and must not change it."""
    if not isinstance(filter, Expression):
        return boxes_of(filter)
    cached = _cache.get(filter.text)
    if cached is not None:
        return cached
    boxes = boxes_of(filter)
    if boxes is not None and len(boxes) <= 1:
        if len(_cache) >= MAX_CACHED:
            _cache.clear()
        _cache[filter.text] = boxes
    return boxes


# --------------------------------------------------------------------------------------------------------- summaries


def summarise(filters: list[Filter], limit: int = 8) -> Filter:
    """One filter with at most `limit` alternatives that matches at least what these match, and no more if possible."""
    limit = max(1, limit)
    boxes, exact = _all_boxes(filters)
    boxes = _joined(_uncovered(_joined(boxes)))
    if not exact or len(boxes) > limit or _leaves(boxes) > MAX_LEAVES:
        needed = _needed(filters) if len(filters) <= MAX_COMPARED else []
        if needed and sum([_count(part) for part in needed]) <= limit:
            return _alternatives(needed)
        boxes = _narrowed_down(boxes, limit)
    return _alternatives([box_filter(box) for box in boxes])


def _alternatives(filters: list[Filter]) -> Filter:
    if not filters:
        return NOTHING
    return filters[0] if len(filters) == 1 else Or(filters)


def _count(filter: Filter) -> int:
    return len(filter.filters) if isinstance(filter, Or) else 1


def _all_boxes(filters: list[Filter]) -> tuple[list[Box], bool]:
    """Boxes that cover all these filters, in order, and whether they match exactly the same events."""
    boxes: list[Box] = []
    exact = True
    for filter in filters:
        parts = boxes_of(filter, max(1, min(MAX_BOXES, MAX_SUMMARISED - len(boxes))))
        if parts is not None:
            boxes.extend(parts)
            continue
        exact = False
        around = necessary(filter)
        if around is not None:
            boxes.append(_expressible(around))
    boxes.sort(key=_order)
    return boxes, exact


def _order(box: Box) -> tuple[list[str], list[list[Cut]]]:
    names = sorted(box)
    return names, [box[name] for name in names]


def _expressible(box: Box) -> Box:
    """The box with every set widened to one that a conjunction can express."""
    result: Box = {}
    for name, accepted in box.items():
        if name == TOPIC:
            _set_topic(result, _common_topic_of(accepted))
        else:
            result[name] = accepted if expressible(accepted) else hull(accepted)
    return result


def _uncovered(boxes: list[Box]) -> list[Box]:
    """The boxes without those that another one includes; of equal ones the first remains."""
    result: list[Box] = []
    for i, box in enumerate(boxes):
        covered = False
        for j, other in enumerate(boxes):
            if i != j and box_includes(other, box) and (j < i or not box_includes(box, other)):
                covered = True
                break
        if not covered:
            result.append(box)
    return result


def _needed(filters: list[Filter]) -> list[Filter]:
    """The filters that no other one covers, in the order of their texts; an empty list if they are too long to send."""
    ordered = sorted(filters, key=str)
    result: list[Filter] = []
    leaves = 0
    for i, filter in enumerate(ordered):
        if not isinstance(filter, Expression):
            return []
        if not any(covers(other, filter) for other in [*result, *ordered[i + 1 :]]):
            result.append(filter)
            leaves += filter.leaves
    return result if leaves <= MAX_LEAVES else []


# ------------------------------------------------------------------------------------------------------------ merging


def _joined(boxes: list[Box]) -> list[Box]:
    """Neighbours whose union is a box become that box: nothing is lost."""
    result: list[Box] = []
    for box in boxes:
        joined: Box | None = box
        while result and joined is not None:
            box = joined
            joined = _exact_union(result[-1], box)
            if joined is not None:
                result.pop()
        result.append(box if joined is None else joined)
    return result


def _exact_union(a: Box, b: Box) -> Box | None:
    if box_includes(a, b):
        return a
    if box_includes(b, a):
        return b
    if len(a) != len(b):
        return None
    different = [name for name in a if name not in b or a[name] != b[name]]
    if len(different) != 1 or different[0] == TOPIC or different[0] not in b:
        return None
    name = different[0]
    both = sets.union(a[name], b[name])
    if not _affordable(both):
        return None
    result = dict(a)
    result[name] = both
    return result


def _affordable(accepted: list[Cut]) -> bool:
    return len(accepted) <= 2 * MAX_POINTS and expressible(accepted)


def _narrowed_down(boxes: list[Box], limit: int) -> list[Box]:
    """The boxes, merged until there are at most `limit`, with few enough conditions to send."""
    merging = _Merging(boxes)
    while len(merging.boxes) > limit:
        merging.merge_cheapest()
    if _leaves(merging.boxes) > MAX_LEAVES:
        merging = _Merging(_uncovered([_hulls(box) for box in merging.boxes]))
    while _leaves(merging.boxes) > MAX_LEAVES:
        if len(merging.boxes) > 1:
            merging.merge_cheapest()
        else:
            merging.boxes[0].pop(max(merging.boxes[0]))
    return merging.boxes


def _leaves(boxes: list[Box]) -> int:
    return sum([leaf_count(accepted) if name != TOPIC else 1 for box in boxes for name, accepted in box.items()])


def _hulls(box: Box) -> Box:
    return {name: accepted if name == TOPIC else hull(accepted) for name, accepted in box.items()}


@final
class _Merging:
    """Boxes in order, and for each except the last the cost of merging it with the next."""

    def __init__(self, boxes: list[Box]) -> None:
        self.boxes = boxes
        self.spans = _spans(boxes)
        self.costs = [self.cost(i, i + 1) for i in range(len(boxes) - 1)]

    def cost(self, i: int, j: int) -> Cost:
        return _cost(self.boxes[i], self.boxes[j], self.spans)

    def merge_cheapest(self) -> None:
        best = self.costs.index(min(self.costs))
        merged = _box_union(self.boxes[best], self.boxes[best + 1])
        del self.boxes[best + 1], self.costs[best]
        self.boxes[best] = merged
        remaining = [i for i, box in enumerate(self.boxes) if i == best or not box_includes(merged, box)]
        costs: list[Cost] = []
        for i, j in pairwise(remaining):
            same = j == i + 1 and best not in (i, j)
            costs.append(self.costs[i] if same else self.cost(i, j))
        self.boxes = [self.boxes[i] for i in remaining]
        self.costs = costs


def _box_union(a: Box, b: Box) -> Box:
    """A box around two boxes: a condition remains only if both have one on that attribute."""
    result: Box = {}
    for name, accepted in a.items():
        if name not in b:
            continue
        if name == TOPIC:
            _set_topic(result, common_topic(topic_name(a), topic_name(b)))
            continue
        both = sets.union(accepted, b[name])
        known = both == accepted or both == b[name]
        result[name] = both if known or _affordable(both) else hull(both)
    return result


def _cost(a: Box, b: Box, spans: dict[str, float]) -> Cost:
    lost = 0
    widened = 0
    loss = 0.0
    for name in a:
        if name not in b:
            lost += 1
        elif a[name] != b[name]:
            widened += 1
            gap = _gap(name, a, b, spans)
            loss += gap
            lost += 1 if gap > 1.0 else 0
    lost += len([name for name in b if name not in a])
    return lost, loss, widened


def _gap(name: str, a: Box, b: Box, spans: dict[str, float]) -> float:
    """How much merging adds between two sets, from 0 (nothing) to 1; 2 if no condition remains."""
    if name == TOPIC:
        common = common_topic(topic_name(a), topic_name(b))
        return 1.0 / (1.0 + len(common)) if common else 2.0
    both = sets.union(a[name], b[name])
    if _affordable(both):
        return 0.0
    if hull(both) == sets.present():
        return 2.0
    low, high = span(a[name]), span(b[name])
    if low is None or high is None:
        return 1.0 / (1.0 + len(_common_start(str(both[0][1]), str(both[-1][1]))))
    between = max(low[0], high[0]) - min(low[1], high[1])
    return min(1.0, max(0.0, between) / spans[name]) if spans[name] > 0 else 1.0


def _spans(boxes: list[Box]) -> dict[str, float]:
    """For each attribute, the distance from its lowest to its highest finite number."""
    ends: dict[str, list[float]] = {}
    for box in boxes:
        for name, accepted in box.items():
            around = span(accepted)
            finite = [] if around is None else [end for end in around if abs(end) < sets.INFINITY]
            ends[name] = ends.get(name, []) + finite
    return {name: max(values) - min(values) if values else 0.0 for name, values in ends.items()}


# ------------------------------------------------------------------------------------------------------------- topics


def common_topic(a: str, b: str) -> str:
    """The deepest topic that includes both; the root is the empty name."""
    if not a or not b:
        return ""
    common: list[str] = []
    for x, y in zip(a.split("."), b.split("."), strict=False):
        if x != y:
            break
        common.append(x)
    return ".".join(common)


def _common_topic_of(accepted: list[Cut]) -> str:
    """The deepest topic that includes a set of topics (a union of topics with all below them)."""
    common = str(accepted[0][1])
    for cut in accepted[::2]:
        common = common_topic(common, str(cut[1]).rstrip("."))
    return common


def _set_topic(box: Box, name: str) -> None:
    if name:
        box[TOPIC] = sets.below_topic(name)


def _common_start(a: str, b: str) -> str:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]
