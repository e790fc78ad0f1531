"""Statistics of contacts: how long they last, how long pairs are apart, how many a node has, how far a flood reaches.

All are functions of CONTACTS and return tables with the schemas below. Percentiles are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DoubleType, LongType
from pyspark.sql.window import Window

from roamcast.lab.spark.worker import stage
from roamcast.lab.traces.schemas import table
from roamcast.log.oracle import DOWN_LAST, UP_FIRST, Journeys

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

PERCENTILES: Final = (5, 25, 50, 75, 95, 99)
SPREAD: Final = table(
    ("count", LongType()),
    *((name, DoubleType()) for name in ("mean_s", "min_s", *(f"p{p}_s" for p in PERCENTILES), "max_s")),
    nullable=("mean_s", "min_s", *(f"p{p}_s" for p in PERCENTILES), "max_s"),
)
"""Of durations in seconds; null if there are none."""
NODES: Final = table(
    ("node", LongType()),
    ("peers", LongType()),
    ("contacts", LongType()),
    ("degree", DoubleType()),
)
"""How many other nodes a node ever met, how often, and with how many it is in contact on average over time."""
DEGREES: Final = table(("degree", LongType()), ("share", DoubleType()))
"""The share of all nodes' time with this number of contacts at once."""
OVER_TIME: Final = table(("from_us", LongType()), ("until_us", LongType()), ("degree", DoubleType()))
REACHED: Final = table(("source", LongType()), ("within_us", LongType()), ("reached", LongType()))
"""How many other nodes an ideal flood from the source reaches in time."""
SOURCES_AT_ONCE: Final = 64


def spread(times: DataFrame, column: str) -> DataFrame:
    """One row, SPREAD, about a column of microseconds."""
    t_s = F.col(column) / 1e6
    percentiles = (F.percentile(t_s, F.lit(p / 100)).alias(f"p{p}_s") for p in PERCENTILES)
    return times.agg(
        F.count(t_s).alias("count"),
        F.avg(t_s).alias("mean_s"),
        F.min(t_s).alias("min_s"),
        *percentiles,
        F.max(t_s).alias("max_s"),
    )


def durations(contacts: DataFrame) -> DataFrame:
    """CONTACTS with `lasts_us`."""
    return contacts.withColumn("lasts_us", F.col("until_us") - F.col("from_us"))


def apart(contacts: DataFrame) -> DataFrame:
    """(i, j, apart_us): how long a pair was apart between two contacts."""
    pair = Window.partitionBy("i", "j").orderBy("from_us")
    gap = F.lead("from_us").over(pair) - F.col("until_us")
    return contacts.select("i", "j", gap.alias("apart_us")).where(F.col("apart_us").isNotNull())


def survival(times: DataFrame, column: str) -> DataFrame:
    """(t_s, share): for each value that occurs, the share of values that are larger."""
    counts = times.groupBy(column).count()
    longer = F.sum("count").over(
        Window.partitionBy(F.lit(0)).orderBy(F.desc(column)).rowsBetween(Window.unboundedPreceding, -1)
    )
    total = F.sum("count").over(Window.partitionBy(F.lit(0)))
    share = F.coalesce(longer, F.lit(0)) / total
    return counts.select((F.col(column) / 1e6).alias("t_s"), share.alias("share")).orderBy("t_s")


def _ends(contacts: DataFrame) -> DataFrame:
    """Each contact twice, once for either node."""
    there = contacts.select(F.col("i").alias("node"), F.col("j").alias("peer"), "from_us", "until_us")
    return there.unionAll(contacts.select(F.col("j").alias("node"), F.col("i").alias("peer"), "from_us", "until_us"))


def by_node(contacts: DataFrame, begin_us: int, end_us: int) -> DataFrame:
    """NODES; a node without contacts is not in it."""
    lasted = F.sum(F.col("until_us") - F.col("from_us"))
    return (
        _ends(contacts)
        .groupBy("node")
        .agg(
            F.countDistinct("peer").alias("peers"),
            F.count("peer").alias("contacts"),
            (lasted / F.lit(max(1, end_us - begin_us))).alias("degree"),
        )
    )


def degrees(contacts: DataFrame, nodes: int, begin_us: int, end_us: int) -> DataFrame:
    """DEGREES."""
    ends = _ends(contacts)
    changes = ends.select("node", F.col("from_us").alias("t_us"), F.lit(1).alias("change")).unionAll(
        ends.select("node", F.col("until_us").alias("t_us"), F.lit(-1).alias("change"))
    )
    steps = changes.groupBy("node", "t_us").agg(F.sum("change").alias("change"))
    node = Window.partitionBy("node").orderBy("t_us")
    level = F.sum("change").over(node.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    lasts = F.lead("t_us").over(node) - F.col("t_us")
    levels = steps.select(level.alias("degree"), lasts.alias("lasts_us")).where(
        F.col("lasts_us").isNotNull() & (F.col("degree") > 0)
    )
    whole = float(max(1, nodes * (end_us - begin_us)))
    some = levels.groupBy("degree").agg((F.sum("lasts_us") / whole).alias("share"))
    none = some.agg((F.lit(1.0) - F.coalesce(F.sum("share"), F.lit(0.0))).alias("share"))
    return none.select(F.lit(0).cast("long").alias("degree"), "share").unionAll(some.select("degree", "share"))


def over_time(contacts: DataFrame, nodes: int, begin_us: int, end_us: int, bins: int) -> DataFrame:
    """OVER_TIME: the mean degree of all nodes in equal bins."""
    width = max(1, -(-(end_us - begin_us) // bins))
    spark = contacts.sparkSession
    slots = spark.range(bins).select(
        F.col("id").alias("bin"),
        (F.lit(begin_us) + F.col("id") * width).alias("from_us"),
        F.least(F.lit(begin_us) + (F.col("id") + 1) * width, F.lit(end_us)).alias("until_us"),
    )
    first = F.floor((F.col("from_us") - begin_us) / width)
    last = F.least(F.floor((F.col("until_us") - begin_us) / width), F.lit(bins - 1))
    cut = contacts.select("from_us", "until_us", F.explode(F.sequence(first, last)).alias("bin"))
    starts = F.lit(begin_us) + F.col("bin") * width
    inside = F.least(F.col("until_us"), starts + width) - F.greatest(F.col("from_us"), starts)
    sums = cut.groupBy("bin").agg(F.sum(inside).alias("together_us"))
    degree = 2 * F.coalesce("together_us", F.lit(0)) / (F.lit(nodes) * (F.col("until_us") - F.col("from_us")))
    return (
        slots.join(sums, "bin", "left")
        .where(F.col("from_us") < F.col("until_us"))
        .select("from_us", "until_us", degree.alias("degree"))
    )


def reached(contacts: DataFrame, nodes: list[int], t0_us: int, within_us: list[int]) -> DataFrame:
    """REACHED, from every node: contacts are usable on their closed intervals, and transfer takes no time.

    Each task of Spark has many sources and goes through all contacts from t0 on.
    """
    spark = contacts.sparkSession
    last_us = t0_us + max(within_us, default=0)
    live = contacts.where((F.col("until_us") >= t0_us) & (F.col("from_us") <= last_us)).toArrow()
    shared = spark.sparkContext.broadcast([live.column(name).to_numpy() for name in ("i", "j", "from_us", "until_us")])
    flood = stage(f"{__name__}:flood_batches", nodes=nodes, shared=shared, t0_us=t0_us, horizons=sorted(within_us))
    groups = max(1, min(spark.sparkContext.defaultParallelism, -(-len(nodes) // SOURCES_AT_ONCE)))
    sources = spark.createDataFrame([(node,) for node in nodes], "node long").repartition(groups)
    return sources.mapInArrow(flood, REACHED)


def flood_batches(
    batches: Iterator[pa.RecordBatch], nodes: list[int], shared: Broadcast[list[Any]], t0_us: int, horizons: list[int]
) -> Iterator[pa.RecordBatch]:
    schema = to_arrow_schema(REACHED)
    for batch in batches:
        sources = batch.column(0).to_pylist()
        if not sources:
            continue
        met = list(zip(*(column.tolist() for column in shared.value), strict=True))
        columns = list(zip(*flood_from(sources, nodes, met, t0_us, horizons), strict=True))
        yield pa.RecordBatch.from_arrays([pa.array(column, pa.int64()) for column in columns], schema=schema)


def flood_from(
    sources: list[int], nodes: list[int], contacts: list[tuple[int, int, int, int]], t0_us: int, horizons: list[int]
) -> Iterator[tuple[int, int, int]]:
    """Rows of REACHED for these sources; `horizons` in ascending order."""
    number = {node: k for k, node in enumerate(nodes)}
    changes: list[tuple[int, int, int, int]] = []
    for i, j, from_us, until_us in contacts:
        if until_us >= t0_us:
            changes.append((max(from_us, t0_us), UP_FIRST, number[i], number[j]))
            changes.append((until_us, DOWN_LAST, number[i], number[j]))
    changes.sort()
    journeys = Journeys(len(nodes))
    for event, source in enumerate(sources):
        journeys.publish(t0_us, number[source], event, 1 << 62)
    done = 0
    for t_us, change, i, j in changes:
        while done < len(horizons) and t_us > t0_us + horizons[done]:
            yield from _reached(journeys, sources, len(nodes), horizons[done])
            done += 1
        if done == len(horizons):
            return
        journeys.link(t_us / 1e6, i, j, change == UP_FIRST)
        journeys.link(t_us / 1e6, j, i, change == UP_FIRST)
    for within_us in horizons[done:]:
        yield from _reached(journeys, sources, len(nodes), within_us)


def _reached(journeys: Journeys, sources: list[int], nodes: int, within_us: int) -> Iterator[tuple[int, int, int]]:
    reached = [journeys.reached(node) for node in range(nodes)]
    for event, source in enumerate(sources):
        yield source, within_us, sum(events >> event & 1 for events in reached) - 1
