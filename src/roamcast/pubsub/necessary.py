"""Conditions that every match of a filter meets, and filters that no event can match."""

from __future__ import annotations

from typing import Final

from roamcast.pubsub import values as sets
from roamcast.pubsub.filters import And, Filter, Leaf, Nothing, Or, Topic
from roamcast.pubsub.values import Cut

TOPIC: Final = ""
"""The key of the topic among attributes; no attribute has an empty name."""


def unsatisfiable(filter: Filter) -> bool:
    """True only if no event can match. It sees contradictions about one attribute or about topics, and no others."""
    return necessary(filter) is None


def necessary(filter: Filter) -> dict[str, list[Cut]] | None:
    """For each attribute, the set of values that a matching event can have there. None if no event can match."""
    if isinstance(filter, Leaf):
        accepted = filter.accepted()
        return {filter.name: accepted} if accepted else None
    if isinstance(filter, Topic):
        return {TOPIC: sets.below_topic(filter.name)}
    if isinstance(filter, And):
        return _all_necessary(filter.filters)
    if isinstance(filter, Or):
        return _any_necessary(filter.filters)
    return None if isinstance(filter, Nothing) else {}


def _all_necessary(filters: tuple[Filter, ...]) -> dict[str, list[Cut]] | None:
    result: dict[str, list[Cut]] = {}
    for part in filters:
        conditions = necessary(part)
        if conditions is None:
            return None
        for name, accepted in conditions.items():
            both = sets.intersection(result[name], accepted) if name in result else accepted
            if not both:
                return None
            result[name] = both
    return result


def _any_necessary(filters: tuple[Filter, ...]) -> dict[str, list[Cut]] | None:
    result: dict[str, list[Cut]] | None = None
    for part in filters:
        conditions = necessary(part)
        if conditions is None:
            continue
        if result is None:
            result = conditions
        else:
            result = {name: sets.union(a, conditions[name]) for name, a in result.items() if name in conditions}
    return result
