"""Which nodes are interested in which events: publications joined with subscriptions, in Spark.

Comparing every publication with every filter would be a cross join. Instead each filter names conditions that a
matching event must meet (its boxes, pubsub/boxes.py), and the most telling one becomes a *key*; an event has one key
of each *shape* that the filters of its run have; events and filters meet by equality of keys, and only those that
meet are asked the real question, `Filter.matches`, which stays the one rule of matching:

    shape           filter                       key of the filter             key of the event
    value NAME      room = "lab"                 the value                     the value
    range NAME K    v between 10 and 14          the buckets it touches        its bucket: floor(v / 2^K)
    prefix NAME N   name prefix "ab"             the prefix, N long            the first N characters
    topic "" N      topic a.b (and below)        the topic, N parts            the first N parts
    has NAME 0      v > 10, exists v             nothing                       nothing
    all "" 0        everything else              nothing                       nothing

A range of width w has buckets of the smallest power of two that is not below w, so it touches two of them at most.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from math import ceil, floor, isfinite, ldexp, log2
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from roamcast.lab.spark.worker import stage
from roamcast.log.schema import ANEW
from roamcast.pubsub import boxes as normal
from roamcast.pubsub.event import SCOPES, Event, Value
from roamcast.pubsub.filters import Filter, Prefix
from roamcast.pubsub.necessary import TOPIC
from roamcast.pubsub.text import parse
from roamcast.pubsub.values import Cut

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Key = tuple[str, str, int, str]
"""Shape (what, name, number), and the key itself."""

FAULTS = {"sleep": "wake", "crash": "recover"}


# ---------------------------------------------------------------------------------------------------------- DataFrames


def publications(log: DataFrame) -> DataFrame:
    """run, event, publisher, t, seq, expires, content, near: one row a publication."""
    from pyspark.sql import functions as F

    near = F.from_json("reason", "near array<int>")["near"]
    return log.where("kind = 'publish'").select(
        "run",
        "event",
        F.col("node").alias("publisher"),
        "t",
        "seq",
        F.col("value").alias("validity"),
        F.col("reason").alias("content"),
        near.alias("near"),
    )


def subscriptions(log: DataFrame) -> DataFrame:
    """run, node, filter, from_seq, until_seq: each subscription, from its row to the one that ends or replaces it, or
    where its node starts again."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    changes = log.where(f"kind in ('subscribe', 'unsubscribe') or (kind = 'recover' and reason = '{ANEW}')")
    same = Window.partitionBy("run", "node", "event").orderBy("seq")
    later = Window.partitionBy("run", "node").orderBy("seq").rowsBetween(1, Window.unboundedFollowing)
    anew = F.min(F.when(F.col("kind") == "recover", F.col("seq"))).over(later)
    ends = changes.withColumn("until_seq", F.least(F.lead("seq").over(same), anew))
    return ends.where("kind = 'subscribe'").select(
        "run", "node", F.col("reason").alias("filter"), F.col("seq").alias("from_seq"), "until_seq"
    )


def absences(log: DataFrame) -> DataFrame:
    """run, node, from_seq, until_seq, from_t, until_t, kind: each time a node slept or was down."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    rows = log.where("kind in ('sleep', 'wake', 'crash', 'recover')")
    rows = rows.withColumn("sort", F.when(F.col("kind").isin("sleep", "wake"), "sleep").otherwise("crash"))
    same = Window.partitionBy("run", "node", "sort").orderBy("seq")
    begins = F.col("kind").isin(*FAULTS) & (F.lag("kind", 1, "").over(same) != F.col("kind"))
    # rows that say again what holds already end nothing: only the next row of the other kind does
    rows = rows.withColumn("begins", begins)
    rows = rows.where(F.col("begins") | ~F.col("kind").isin(*FAULTS))
    ends = rows.withColumn("until_seq", F.lead("seq").over(same)).withColumn("until_t", F.lead("t").over(same))
    return ends.where("begins").select(
        "run", "node", F.col("seq").alias("from_seq"), "until_seq", F.col("t").alias("from_t"), "until_t", "kind"
    )


def matches(published: DataFrame, filters: DataFrame) -> DataFrame:
    """run, event, filter: which of a run's distinct filters match which of its publications."""
    from pyspark.sql import functions as F

    distinct = filters.select("run", "filter").distinct()
    keyed = distinct.mapInArrow(stage(f"{__name__}:add_filter_keys"), f"run string, filter string, {_KEY}")
    shapes = keyed.groupBy("run").agg(F.collect_set(F.struct("what", "name", "number")).alias("shapes"))
    about = ["run", "event", "validity", "content"]
    events = published.select(about).join(F.broadcast(shapes), "run")
    columns = f"run string, event bigint, validity bigint, content string, {_KEY}"
    events_by_key = events.mapInArrow(stage(f"{__name__}:add_event_keys"), columns)
    met = events_by_key.join(keyed, ["run", "what", "name", "number", "key"]).select(*about, "filter").distinct()
    return met.mapInArrow(stage(f"{__name__}:really_match"), "run string, event bigint, filter string").distinct()


_KEY = "what string, name string, number int, key string"


def wanting(published: DataFrame, subscribed: DataFrame) -> DataFrame:
    """run, event, node: the nodes with a matching subscription when an event is published, perhaps its publisher."""
    from pyspark.sql import functions as F

    when = published.select("run", "event", "seq")
    live = (F.col("from_seq") < F.col("seq")) & (F.col("until_seq").isNull() | (F.col("seq") < F.col("until_seq")))
    pairs = matches(published, subscribed).join(when, ["run", "event"]).join(subscribed, ["run", "filter"]).where(live)
    return pairs.select("run", "event", "node").distinct()


def interested(wanted: DataFrame, published: DataFrame, absent: DataFrame) -> DataFrame:
    """run, event, node: those that count: not the publisher, up at that time, and in range if the event is local."""
    about = published.select("run", "event", "publisher", "seq", "near")
    pairs = wanted.join(about, ["run", "event"])
    pairs = pairs.where("node != publisher and (near is null or array_contains(near, node))")
    return _live(pairs, absent).select("run", "event", "node")


def own(wanted: DataFrame, published: DataFrame, absent: DataFrame) -> DataFrame:
    """run, event: those whose publisher wants it itself and is up."""
    pairs = wanted.join(published.select("run", "event", "publisher", "seq"), ["run", "event"])
    return _live(pairs.where("node = publisher"), absent).select("run", "event")


def _live(pairs: DataFrame, absent: DataFrame) -> DataFrame:
    """Those of `pairs` (with run, node and the publication's seq) whose node is up at that moment."""
    from pyspark.sql import functions as F

    away = absent.select("run", "node", "from_seq", "until_seq")
    during = (F.col("from_seq") < F.col("seq")) & (F.col("until_seq").isNull() | (F.col("seq") < F.col("until_seq")))
    a, b = pairs.alias("a"), away.alias("b")
    same = (F.col("a.run") == F.col("b.run")) & (F.col("a.node") == F.col("b.node")) & during
    return a.join(b, same, "left_anti")


# ------------------------------------------------------------------------------------------------------ keys of filters


def add_filter_keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield _batch(
            (("run", pa.string()), ("filter", pa.string()), *_KEY_COLUMNS),
            [(row["run"], row["filter"], *key) for row in batch.to_pylist() for key in filter_keys(row["filter"])],
        )


@lru_cache(maxsize=100_000)
def _parsed(text: str) -> Filter:
    return parse(text)


def filter_keys(text: str) -> list[Key]:
    """Keys of which every matching event has at least one."""
    boxes = normal.boxes_of(_parsed(text))
    if boxes is None:
        return [("all", "", 0, "")]
    keys = [key for box in boxes for key in _box_keys(box)]
    return list(dict.fromkeys(keys))


def _box_keys(box: normal.Box) -> list[Key]:
    """Those of the most telling condition of a box."""
    candidates = [_condition_keys(name, accepted) for name, accepted in sorted(box.items()) if name != TOPIC]
    if TOPIC in box:
        topic = normal.topic_name(box)
        candidates.append([("topic", "", len(topic.split(".")), topic)])
    return min(candidates, key=lambda keys: (_TELLING.index(keys[0][0]), len(keys)), default=[("all", "", 0, "")])


_TELLING = ("value", "range", "prefix", "topic", "has", "all")


def _condition_keys(name: str, accepted: list[Cut]) -> list[Key]:
    points = normal.point_values(accepted)
    if points is not None:
        return [("value", name, 0, value_key(value)) for value in points]
    span = normal.span(accepted)
    if span is not None and all(map(isfinite, span)):
        return _range_keys(name, *span)
    if normal.expressible(accepted):
        conditions = normal.conjunction(name, accepted)
        if len(conditions) == 1 and isinstance(conditions[0], Prefix) and conditions[0].prefix:
            return [("prefix", name, len(conditions[0].prefix), conditions[0].prefix)]
    return [("has", name, 0, "")]


def _range_keys(name: str, low: float, high: float) -> list[Key]:
    if not isfinite(high - low):
        return [("has", name, 0, "")]
    level = ceil(log2(high - low)) if high > low else 0
    first, last = bucket(low, level), bucket(high, level)
    if first is None or last is None:
        return [("has", name, 0, "")]
    return [("range", name, level, str(k)) for k in range(first, last + 1)]


def bucket(value: float, level: int) -> int | None:
    """None for a value that is out of reach of ranges so narrow."""
    try:
        return floor(ldexp(value, -level))  # moving the exponent keeps the order, whatever it rounds
    except OverflowError:
        return None


def value_key(value: Value) -> str:
    """Equal for values that are equal as filters compare them: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, bool):
        return f"b{value}"
    if isinstance(value, str):
        return f"t{value}"
    whole = isinstance(value, int) or value.is_integer()
    return f"n{int(value)}" if whole else f"n{value!r}"


# ------------------------------------------------------------------------------------------------------- keys of events


def add_event_keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    columns = (
        ("run", pa.string()),
        ("event", pa.int64()),
        ("validity", pa.int64()),
        ("content", pa.string()),
        *_KEY_COLUMNS,
    )
    for batch in batches:
        rows = []
        for row in batch.to_pylist():
            content = json.loads(row["content"])
            shapes = [(shape["what"], shape["name"], shape["number"]) for shape in row["shapes"]]
            for key in event_keys(content["topic"], content["attrs"], shapes):
                rows.append((row["run"], row["event"], row["validity"], row["content"], *key))
        yield _batch(columns, rows)


def event_keys(topic: str, attrs: dict[str, Value], shapes: list[tuple[str, str, int]]) -> list[Key]:
    """At most one of each shape."""
    keys = ((what, name, number, _event_key(what, number, topic, attrs.get(name))) for what, name, number in shapes)
    return [(what, name, number, key) for what, name, number, key in keys if key is not None]


def _event_key(what: str, number: int, topic: str, value: Value | None) -> str | None:
    if what == "all":
        return ""
    if what == "topic":
        parts = topic.split(".")
        return ".".join(parts[:number]) if len(parts) >= number else None
    if value is None:
        return None
    if what == "value":
        return value_key(value)
    if what == "prefix":
        return value[:number] if isinstance(value, str) and len(value) >= number else None
    if what == "range":
        numeric = isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
        at = bucket(float(value), number) if numeric else None
        return None if at is None else str(at)
    return ""


# -------------------------------------------------------------------------------------------------- the real question


def really_match(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        kept = [(row["run"], row["event"], row["filter"]) for row in batch.to_pylist() if _matches(row)]
        yield _batch((("run", pa.string()), ("event", pa.int64()), ("filter", pa.string())), kept)


def _matches(row: dict[str, Any]) -> bool:
    return _parsed(row["filter"]).matches(_event(row["event"], row["validity"], row["content"]))


@lru_cache(maxsize=10_000)
def _event(id: int, validity: int, content: str) -> Event:
    fields = json.loads(content)
    return Event(id, fields["topic"], fields["attrs"], b"", validity, SCOPES.index(fields["scope"]))


_KEY_COLUMNS = (("what", pa.string()), ("name", pa.string()), ("number", pa.int32()), ("key", pa.string()))


def _batch(columns: Any, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    schema = pa.schema([pa.field(name, kind) for name, kind in columns])
    cells: list[Any] = list(zip(*rows, strict=True)) if rows else [[] for _ in columns]
    return pa.RecordBatch.from_arrays(
        [pa.array(cell, kind) for cell, (_, kind) in zip(cells, columns, strict=True)], schema=schema
    )
