"""Events and filters: covering and summaries, the matching index, positions in Bloom filters."""

from __future__ import annotations

from roamcast.pubsub.bloom import positions
from roamcast.pubsub.covering import common_topic, covers, summarise
from roamcast.pubsub.event import FOREVER, GLOBAL, LOCAL, Event, Value, event_from_fields, event_id
from roamcast.pubsub.filters import (
    EVERYTHING,
    NOTHING,
    And,
    Compare,
    Everything,
    Exists,
    Filter,
    Nothing,
    OneOf,
    Or,
    Prefix,
    Range,
    Topic,
    attr,
    filter_from_fields,
    topic,
)
from roamcast.pubsub.index import MatchingIndex
from roamcast.pubsub.necessary import unsatisfiable
from roamcast.pubsub.text import parse, parse_subscription

__all__ = [
    "EVERYTHING",
    "FOREVER",
    "GLOBAL",
    "LOCAL",
    "NOTHING",
    "And",
    "Compare",
    "Event",
    "Everything",
    "Exists",
    "Filter",
    "MatchingIndex",
    "Nothing",
    "OneOf",
    "Or",
    "Prefix",
    "Range",
    "Topic",
    "Value",
    "attr",
    "common_topic",
    "covers",
    "event_from_fields",
    "event_id",
    "filter_from_fields",
    "parse",
    "parse_subscription",
    "positions",
    "summarise",
    "topic",
    "unsatisfiable",
]
