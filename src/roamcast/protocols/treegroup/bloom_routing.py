"""How filters and events become keys of a bitmap, which decides where an event goes (Li et al. §3.2, §3.5).

A subscription is split into conjunctions; each adds one key to the bitmap. The key of a conjunction is the ordered
concatenation of its conditions (§3.5): first the topic, then the attributes by name. A disjunction adds a key for each
side, and `in` one for each value. An event is checked with every key of a subscription that it could match. With n
attributes these are the 2^n − 1 combinations of §3.5, each with its topic, with each ancestor of its topic, and without
a topic.

A bitmap can only express equality. Every other condition (ranges, prefixes, !=, exists) is left out of its conjunction,
which then matches more events than it should, but never fewer. Where no condition is left, the key is a wildcard: that
of one attribute, which fits every event with this attribute, or that of all, which fits every event (`Everything`,
filters of other packages). So a bitmap may send an event where no node is interested (§3.6), and never keeps one from a
subscriber.

There are two limits. Where they apply, an event goes to more nodes, never to fewer. Disjunctions inside a conjunction
multiply: a condition that would give the conjunction more than `MAX_TERMS` keys is left out. (A disjunction by itself
has one key for each side, as in §3.5.) And an event with more than `MAX_KEYS` combinations is sent along every branch
that has a subscription.

A bitmap is an int whose bit i is position i, and bitmaps are merged by |. A mask is the list of positions of a single
key, so that most keys are refused after a look at one or two bits.
"""

from __future__ import annotations

from typing import Final, final

from roamcast.pubsub.bloom import positions
from roamcast.pubsub.event import Event, Value
from roamcast.pubsub.filters import And, Compare, Filter, Leaf, Nothing, OneOf, Or, Topic
from roamcast.pubsub.values import ABSENT, BOOL, TEXT, kind_of

MAX_TERMS: Final = 64
"""Ours: keys of one conjunction of disjunctions. This many fill about one fifth of a bitmap of 1024 bits."""

MAX_KEYS: Final = 1024
"""Ours: the combinations of eight attributes under a topic three levels deep. The paper's events have up to four."""

ANY: Final = "*"
"""The key with which every event is checked. All other keys begin with a letter and a digit."""


# ------------------------------------------------------------------------------------------------------------- keys


def topic_part(name: str) -> str:
    return f"t{len(name)}:{name}"


def value_part(name: str, value: Value) -> str:
    """`name = value`; equal numbers have equal parts. Lengths make 'ab' + 'c' and 'a' + 'bc' different."""
    kind = kind_of(value)
    if kind == TEXT:
        text = f"s{value}"
    elif kind == BOOL:
        text = "b1" if value else "b0"
    elif isinstance(value, float) and value.is_integer():
        text = f"n{int(value)}"
    else:
        text = f"n{value!r}"
    return f"a{len(name)}:{name}{len(text)}:{text}"


def attribute_part(name: str) -> str:
    """The wildcard of one attribute: it stands for any value."""
    return f"w{len(name)}:{name}"


def filter_keys(filter: Filter) -> list[str]:
    """The keys that a subscription adds to the bitmap, each once."""
    return list(dict.fromkeys([term.key() for term in _terms(filter)]))


def event_keys(event: Event) -> list[str] | None:
    """The keys with which an event is checked; None where there are too many combinations."""
    if event.topic.count(".") >= MAX_KEYS:  # checked first, because writing out the ancestors is quadratic
        return None
    names = sorted([name for name, value in event.attrs.items() if kind_of(value) != ABSENT])
    topics = [topic_part(name) for name in topics_above(event.topic)]
    if len(names) >= 16 or (len(topics) + 1) << len(names) > MAX_KEYS:
        return None
    keys = combinations([value_part(name, event.attrs[name]) for name in names], ["", *topics])
    keys.extend([attribute_part(name) for name in names])
    keys.append(ANY)
    return keys


def combinations(parts: list[str], starts: list[str]) -> list[str]:
    """Every start followed by every ordered selection of the parts, except the empty key: 2^n − 1 for n parts alone."""
    keys = list(starts)
    for part in parts:
        keys.extend([key + part for key in keys])
    return [key for key in keys if key]


def topics_above(topic: str) -> list[str]:
    """A topic and its ancestors, except the root of all topics, which has no name."""
    ancestors = [topic[:end] for end, character in enumerate(topic) if character == "."]
    return [name for name in dict.fromkeys([topic, *ancestors]) if name]


# ---------------------------------------------------------------------------------------------------------- bitmaps


def filter_bitmap(filter: Filter, bits: int, hashes: int) -> int:
    bitmap = 0
    for key in filter_keys(filter):
        for position in positions(key, bits, hashes):
            bitmap |= 1 << position
    return bitmap


def event_masks(event: Event, bits: int, hashes: int) -> list[list[int]]:
    """One mask for each key; an event with too many keys has the empty mask, which every bitmap in use passes."""
    keys = event_keys(event)
    if keys is None:
        return [[]]
    return [positions(key, bits, hashes) for key in keys]


@final
class Masks:
    """The masks of one event, computed at the first use and kept for the last number of bits and hashes.

    In the simulator all receivers of a frame share this object. The masks follow from the event alone, so each receiver
    gets what it would have computed itself.
    """

    __slots__ = ("bits", "event", "hashes", "masks")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.bits = 0
        self.hashes = 0
        self.masks: list[list[int]] = []

    def of(self, bits: int, hashes: int) -> list[list[int]]:
        if bits != self.bits or hashes != self.hashes:
            self.masks = event_masks(self.event, bits, hashes)
            self.bits = bits
            self.hashes = hashes
        return self.masks


def passes(bitmap: int, masks: list[list[int]]) -> bool:
    """Whether a subscription in this bitmap may match the event."""
    if not bitmap:
        return False
    held = bitmap.to_bytes((bitmap.bit_length() + 7) >> 3, "little")
    for mask in masks:  # noqa: SIM110 (a generator costs more than the loop)
        if holds(held, mask):
            return True
    return False


def holds(bitmap: bytes, mask: list[int]) -> bool:
    for position in mask:
        byte = position >> 3
        if byte >= len(bitmap) or not bitmap[byte] >> (position & 7) & 1:
            return False
    return True


# ----------------------------------------------------------------------------------------------------- conjunctions


@final
class Term:
    """One conjunction: its topic, its equalities by attribute, and an attribute that has another condition."""

    __slots__ = ("loose", "topic", "values")

    def __init__(self, topic: str = "", values: dict[str, str] | None = None, loose: str = "") -> None:
        self.topic = topic
        self.values: dict[str, str] = {} if values is None else values
        self.loose = loose

    def key(self) -> str:
        if self.topic or self.values:
            start = topic_part(self.topic) if self.topic else ""
            return start + "".join([self.values[name] for name in sorted(self.values)])
        return attribute_part(self.loose) if self.loose else ANY


def _terms(filter: Filter) -> list[Term]:
    """The filter as a disjunction of conjunctions, which together match at least the events that it matches."""
    if isinstance(filter, Topic):
        return [Term(topic=filter.name)]
    if isinstance(filter, Compare) and filter.op == "=":
        return [Term(values={filter.name: value_part(filter.name, filter.value)})]
    if isinstance(filter, OneOf):
        return [Term(values={filter.name: value_part(filter.name, value)}) for value in filter.values]
    if isinstance(filter, Leaf):
        return [Term(loose=filter.name)]
    if isinstance(filter, And):
        return _conjunction(filter)
    if isinstance(filter, Or):
        return [term for part in filter.filters for term in _terms(part)]
    return [] if isinstance(filter, Nothing) else [Term()]


def _conjunction(filter: And) -> list[Term]:
    result = [Term()]
    for part in filter.filters:
        terms = _terms(part)
        if len(result) * len(terms) > MAX_TERMS:
            continue  # without this condition the conjunction matches more
        both = [_both(a, b) for a in result for b in terms]
        result = [term for term in both if term is not None]
    return result


def _both(a: Term, b: Term) -> Term | None:
    """The conjunction of both; None if no event can match it."""
    for name, part in b.values.items():
        if a.values.get(name, part) != part:
            return None
    topic, above = (a.topic, b.topic) if len(a.topic) >= len(b.topic) else (b.topic, a.topic)
    if above and topic != above and not topic.startswith(above + "."):
        return None
    return Term(topic, {**a.values, **b.values}, a.loose or b.loose)
