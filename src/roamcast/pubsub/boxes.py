"""The normal form of filters: a filter is a union of boxes.

A box is a conjunction with one set of values (see values.py) for each attribute that it names, and for the topic; other
attributes may have any value or be absent. The topics of a box are always one topic and all below it. Filters become
boxes by distributing `and` over `or`. That can make very many boxes, so their number has a limit.
"""

from __future__ import annotations

from typing import Final

from roamcast.pubsub import values as sets
from roamcast.pubsub.event import Value
from roamcast.pubsub.filters import (
    EVERYTHING,
    MAX_LEAVES,
    And,
    Compare,
    Everything,
    Exists,
    Filter,
    Leaf,
    Nothing,
    OneOf,
    Or,
    Prefix,
    Range,
    Topic,
)
from roamcast.pubsub.necessary import TOPIC
from roamcast.pubsub.values import NUMBER, TEXT, Cut

Box = dict[str, list[Cut]]

MAX_BOXES: Final = MAX_LEAVES
"""Ours: enough to split every filter that has no `or` inside an `and`."""


def boxes_of(filter: Filter, limit: int = MAX_BOXES) -> list[Box] | None:
    """The boxes; an empty list for a filter that cannot match; None if there are more than `limit`."""
    if isinstance(filter, Leaf):
        accepted = filter.accepted()
        return [{filter.name: accepted}] if accepted else []
    if isinstance(filter, Topic):
        return [{TOPIC: sets.below_topic(filter.name)}] if filter.name else [{}]
    if isinstance(filter, And):
        return _product(filter, limit)
    if isinstance(filter, Or):
        return _sum(filter, limit)
    if isinstance(filter, Everything):
        return [{}]
    return [] if isinstance(filter, Nothing) else None


def _sum(filter: Or, limit: int) -> list[Box] | None:
    result: list[Box] = []
    for part in filter.filters:
        more = boxes_of(part, limit)
        if more is None or len(result) + len(more) > limit:
            return None
        result.extend(more)
    return result


def _product(filter: And, limit: int) -> list[Box] | None:
    result: list[Box] = [{}]
    for part in filter.filters:
        factors = boxes_of(part, limit)
        if factors is None or len(result) * len(factors) > 8 * limit:
            return None
        product: list[Box] = []
        for box in result:
            for factor in factors:
                both = box_intersection(box, factor)
                if both is not None:
                    product.append(both)
        if len(product) > limit:
            return None
        result = product
    return result


def box_intersection(a: Box, b: Box) -> Box | None:
    result = dict(a)
    for name, accepted in b.items():
        both = sets.intersection(result[name], accepted) if name in result else accepted
        if not both:
            return None
        result[name] = both
    return result


def box_includes(general: Box, special: Box) -> bool:
    for name, accepted in general.items():
        if name not in special or not sets.includes(accepted, special[name]):
            return False
    return True


def box_difference(box: Box, other: Box) -> list[Box]:
    """The part of a box outside another one, as boxes that do not overlap."""
    pieces: list[Box] = []
    rest = dict(box)
    for name, accepted in other.items():
        whole = rest[name] if name in rest else sets.with_prefix("") if name == TOPIC else sets.anything()
        inside = sets.intersection(whole, accepted)
        if not inside:
            return [box]
        outside = sets.intersection(whole, sets.complement(accepted))
        if outside:
            piece = dict(rest)
            piece[name] = outside
            pieces.append(piece)
        rest[name] = inside
    return pieces


# --------------------------------------------------------------------------------------------------- back to filters


def box_leaves(box: Box) -> list[Filter]:
    """The conditions of a box with expressible sets, in the order of their names, the topic first."""
    result: list[Filter] = []
    for name in sorted(box):
        result.extend([Topic(topic_name(box))] if name == TOPIC else conjunction(name, box[name]))
    return result


def box_filter(box: Box) -> Filter:
    leaves = box_leaves(box)
    if not leaves:
        return EVERYTHING
    return leaves[0] if len(leaves) == 1 else And(leaves)


def topic_name(box: Box) -> str:
    """The topic of a box: it covers this topic and all below it."""
    return str(box[TOPIC][0][1]) if TOPIC in box else ""


def expressible(accepted: list[Cut]) -> bool:
    """Whether conditions without `or` can accept exactly this set: some values, or an interval with holes."""
    if accepted == sets.present() or point_values(accepted) is not None:
        return True
    if accepted[-1] > sets.start(accepted[0][0] + 1):
        return False
    for i in range(1, len(accepted) - 1, 2):
        hole = accepted[i][1]
        if [accepted[i], accepted[i + 1]] != sets.closed(hole, hole):
            return False
    return True


def conjunction(name: str, accepted: list[Cut]) -> list[Filter]:
    """The conditions that together accept exactly this set, which must be expressible."""
    if accepted == sets.present():
        return [Exists(name)]
    values = point_values(accepted)
    if values is not None:
        return [Compare(name, "=", values[0]) if len(values) == 1 else OneOf(name, values)]
    kind = accepted[0][0]
    holes: list[Filter] = [Compare(name, "!=", accepted[i][1]) for i in range(1, len(accepted) - 1, 2)]
    whole = accepted[0] == sets.start(kind) and accepted[-1] == sets.start(kind + 1)
    return holes if whole and holes else _interval(name, accepted[0], accepted[-1]) + holes


def leaf_count(accepted: list[Cut]) -> int:
    """How many conditions `conjunction` needs."""
    values = point_values(accepted)
    if accepted == sets.present() or values is not None:
        return 1 if values is None else len(values)
    low, high = accepted[0], accepted[-1]
    holes = len(accepted) // 2 - 1
    from_start, to_end = low == sets.start(low[0]), high == sets.start(low[0] + 1)
    if from_start and to_end and holes:
        return holes
    one = from_start or to_end or _is_prefix(low, high) or (low[2] == 0 and high[2] == 1)
    return holes + (1 if one else 2)


def point_values(accepted: list[Cut]) -> list[Value] | None:
    """The values of a finite set. Adjacent values of two kinds, such as true and minus infinity, share an interval."""
    result: list[Value] = []
    for i in range(0, len(accepted), 2):
        low, high = accepted[i], accepted[i + 1]
        while low < high:
            value = low[1]
            if low != sets.before(value):
                return None
            result.append(value)
            low = sets.after(value)
    return result


def _interval(name: str, low: Cut, high: Cut) -> list[Filter]:
    """Conditions for an interval of values of one kind."""
    kind = low[0]
    if _is_prefix(low, high):
        return [Prefix(name, str(low[1]))]
    from_start, to_end = low == sets.start(kind), high == sets.start(kind + 1)
    if from_start and to_end:
        return [Range(name, -sets.INFINITY, sets.INFINITY)]
    if low[2] == 0 and high[2] == 1 and not from_start:
        return [Range(name, low[1], high[1])]
    result: list[Filter] = []
    if not from_start:
        result.append(Compare(name, ">" if low[2] else ">=", low[1]))
    if not to_end:
        result.append(Compare(name, "<=" if high[2] else "<", high[1]))
    return result


def _is_prefix(low: Cut, high: Cut) -> bool:
    return low[0] == TEXT and low[2] == 0 and high == sets.after_prefix(str(low[1]))


def hull(accepted: list[Cut]) -> list[Cut]:
    """The smallest interval of one kind around a set, or all values if it has several kinds."""
    kind = accepted[0][0]
    return [accepted[0], accepted[-1]] if accepted[-1] <= sets.start(kind + 1) else sets.present()


def span(accepted: list[Cut]) -> tuple[float, float] | None:
    """The numbers a set of numbers lies between."""
    low, high = accepted[0], accepted[-1]
    if low[0] != NUMBER or high > sets.start(TEXT):
        return None
    return float(low[1]), float(high[1]) if high[0] == NUMBER else sets.INFINITY
