"""The metrics of a run, from its log, in Spark: functions from DataFrames to a DataFrame with one row a run.

Most are counts and sums of rows by kind and reason, which take one pass over the log together (`counted`); the
functions that it calls say which columns each of them adds.

The catalogue (log/catalogue.py) says what each metric means, and adds the quotients; tests hold all of them equal to
what runs count as they go. A run without rows of a kind has no row in that metric's result; `measured` joins the
results to the runs and fills in the values for an empty log: a count of 0, no mean.

Sums are sums of whole numbers, divided once: the order in which Spark adds does not show in the last digits.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from roamcast.lab.measure import interest
from roamcast.lab.spark.frames import struct
from roamcast.lab.spark.modules import only_from
from roamcast.lab.spark.worker import stage
from roamcast.lab.tables import schemas
from roamcast.log import catalogue
from roamcast.log.metric import BY_NAME, WHOLE, Quotient, Term
from roamcast.log.schema import DECISIONS, KINDS, LOSSES, OVERHEARD
from roamcast.world.scenario import Scenario
from roamcast.world.simulate import what_was_possible

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

POWERS = ("tx_w", "rx_w", "idle_w", "sleep_w")


@contextmanager
def measured(log: DataFrame, runs: DataFrame, *, simulated: bool = True) -> Iterator[DataFrame]:
    """All of them, one row for each row of `runs` (run, nodes, sim_s, scenario, seed), in the columns of a tally.

    For real nodes (not `simulated`) what was possible and the energy are not known: null. Spark keeps what several
    metrics need as long as the context is open.
    """
    published = interest.publications(log).cache()
    absent = interest.absences(log).cache()
    wanted = interest.wanting(published, interest.subscriptions(log)).cache()
    pairs = interest.interested(wanted, published, absent).cache()
    try:
        yield _joined(_parts(log, runs, published, absent, wanted, pairs, simulated), runs, simulated)
    finally:
        for kept in (pairs, wanted, absent, published):
            kept.unpersist()


def _parts(
    log: DataFrame,
    runs: DataFrame,
    published: DataFrame,
    absent: DataFrame,
    wanted: DataFrame,
    pairs: DataFrame,
    simulated: bool,
) -> list[DataFrame]:
    about = _about(runs)
    parts = [
        delivery(log, pairs, published),
        own(wanted, published, absent),
        counted(log, about, published),
        unneeded(log, wanted, published),
        published_events(published, runs),
    ]
    if simulated:
        parts += [elapsed(log, absent, about), possible(published, pairs, absent, runs)]
        parts += [utilisation(log, about), hops(log, published, about)]
    return parts


def _about(runs: DataFrame) -> DataFrame:
    """run, nodes, end, w, lora: what a run's energy and channel depend on beside its log."""
    from pyspark.sql import functions as F

    facts = F.from_json("scenario", ", ".join(f"{name} double" for name in POWERS) + ", mac string")
    end = F.round(F.col("sim_s") * 1e6).cast("bigint")
    lora = F.coalesce(facts["mac"] == "lora", F.lit(False))
    return runs.select("run", "nodes", end.alias("end"), facts.alias("w"), lora.alias("lora"))


def _joined(parts: list[DataFrame], runs: DataFrame, simulated: bool) -> DataFrame:
    """In the columns of a tally; where a run has no row, the values for an empty log."""
    from pyspark.sql import functions as F

    joined = runs.select("run")
    for part in parts:
        joined = joined.join(part, "run", "left")
    if simulated:
        joined = joined.withColumns({"energy_j": energy(), "airtime_s_per_hour": airtime()})
    unknown = [m.name for m in catalogue.METRICS if m.simulated and not simulated]
    tally = struct(schemas.TALLY)
    joined = joined.withColumns({name: F.lit(None).cast(tally[name].dataType) for name in unknown})
    counts = [m.name for m in catalogue.METRICS if m.kind in WHOLE and m.name not in unknown]
    joined = joined.fillna(0, counts)
    by_name = [m.name for m in catalogue.METRICS if m.kind == BY_NAME]
    joined = joined.withColumns({name: F.coalesce(name, F.create_map().cast(tally[name].dataType)) for name in by_name})
    joined = joined.withColumns({m.name: _quotient(m.quotient) for m in catalogue.METRICS if m.quotient})
    return joined.select([F.col(f.name).cast(f.dataType) for f in tally.fields])


# ---- deliveries


def delivery(log: DataFrame, pairs: DataFrame, published: DataFrame) -> DataFrame:
    """run, interested, deliveries, latency_mean_s, latency_p50_s, latency_p95_s."""
    from pyspark.sql import functions as F

    first = log.where("kind = 'deliver'").groupBy("run", "event", "node").agg(F.min("t").alias("at"))
    served = first.join(pairs, ["run", "event", "node"]).join(published.select("run", "event", "t"), ["run", "event"])
    latencies = served.select("run", (F.col("at") - F.col("t")).alias("latency"))
    asked = pairs.groupBy("run").agg(F.count("*").alias("interested"))
    return asked.join(latency(latencies), "run", "left")


def own(wanted: DataFrame, published: DataFrame, absent: DataFrame) -> DataFrame:
    """run, own."""
    from pyspark.sql import functions as F

    return interest.own(wanted, published, absent).groupBy("run").agg(F.count("*").alias("own"))


def latency(latencies: DataFrame) -> DataFrame:
    """run, deliveries, latency_mean_s, latency_p50_s, latency_p95_s: percentiles by nearest rank."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    of_run = Window.partitionBy("run")
    ranked = latencies.withColumn("rank", F.row_number().over(of_run.orderBy("latency")))
    ranked = ranked.withColumn("n", F.count("*").over(of_run))

    def nearest(percent: int) -> Column:
        at = F.col("rank") == F.floor((F.col("n") * percent + 99) / 100)
        return F.max(F.when(at, F.col("latency"))) / F.lit(1e6)

    return ranked.groupBy("run").agg(
        F.count("*").alias("deliveries"),
        (F.sum("latency") / F.count("*") / F.lit(1e6)).alias("latency_mean_s"),
        nearest(50).alias("latency_p50_s"),
        nearest(95).alias("latency_p95_s"),
    )


# ---- frames


def counted(log: DataFrame, about: DataFrame, published: DataFrame) -> DataFrame:
    """run, and all that is counts and sums of rows by kind and reason: the log is read once for it."""
    from pyspark.sql import functions as F

    kinds = ["send", "repeat", "acknowledge", "receive", "overhear", "lose", "state"]
    kinds += [KINDS[code] for code in DECISIONS]
    first = published.groupBy("run").agg(F.min("seq").alias("first"))
    a_row_a_run = F.broadcast(about.select("run", "end").join(first, "run", "left"))  # or Spark sorts the log by run
    rows = log.where(F.col("kind").isin(*kinds)).join(a_row_a_run, "run")
    early = "kind = 'send' and (first is null or seq < first)"
    by_reason = rows.groupBy("run", "kind", "reason").agg(
        F.expr("count(*) as n"),
        F.expr("count_if(bytes > 0) as with_bytes"),
        F.expr("sum(bytes) as bytes"),
        F.expr(f"count_if({early}) as early"),
        F.expr(f"sum(bytes) filter (where {early}) as early_bytes"),
        F.expr("sum(value) filter (where kind = 'state') as value"),  # of a note it may be anything, and too much
        F.expr("sum(greatest(0, least(value, end - t))) filter (where kind in ('send', 'acknowledge')) as within_us"),
    )
    return by_reason.groupBy("run").agg(*traffic(), *losses(), reasons(), *memory(), sending())


def traffic() -> list[Column]:
    """frames_sent, bytes_sent, warmup_frames, warmup_bytes, repeats, receptions, overheard, frames_by_kind.

    Of a frame's rows at a hearer one has bytes.
    """
    return [
        _total("n", "kind = 'send'").alias("frames_sent"),
        _total("bytes", "kind = 'send'").alias("bytes_sent"),
        _total("early", "kind = 'send'").alias("warmup_frames"),
        _total("early_bytes", "kind = 'send'").alias("warmup_bytes"),
        _total("n", "kind = 'repeat'").alias("repeats"),
        _total("with_bytes", "kind = 'receive'").alias("receptions"),
        _total("n", f"kind = 'overhear' and reason = '{OVERHEARD[0]}'").alias("overheard"),
        _counts("reason", "kind = 'send'", "frames_by_kind"),
    ]


def losses() -> list[Column]:
    """losses, losses_by_reason, collisions."""
    return [
        _total("n", "kind = 'lose'").alias("losses"),
        _counts("reason", "kind = 'lose'", "losses_by_reason"),
        _total("n", f"kind = 'lose' and reason = '{LOSSES[0]}'").alias("collisions"),
    ]


def reasons() -> Column:
    """How often each was given."""
    decisions = ", ".join(f"'{KINDS[code]}'" for code in DECISIONS)
    return _counts("concat_ws(': ', kind, reason)", f"kind in ({decisions})", "reasons")


def memory() -> list[Column]:
    """memory_entries, memory_bytes: means over samples."""
    samples = _total("n", "kind = 'state'")
    return [
        (_total("value", "kind = 'state'") / samples).alias("memory_entries"),
        (_total("bytes", "kind = 'state'") / samples).alias("memory_bytes"),
    ]


def sending() -> Column:
    """tx_us: airtime of what was sent, acknowledgements too, as far as the run lasted."""
    return _total("within_us", "kind in ('send', 'acknowledge')").alias("tx_us")


def unneeded(log: DataFrame, wanted: DataFrame, published: DataFrame) -> DataFrame:
    """run, news, duplicates, duplicates_wanted, parasites."""
    from pyspark.sql import functions as F

    heard = log.where("kind = 'receive' and event != 0").groupBy("run", "event", "node").agg(F.count("*").alias("n"))
    about = published.select("run", "event", "publisher")
    heard = heard.join(about, ["run", "event"], "left")
    heard = heard.join(wanted.withColumn("wants", F.lit(True)), ["run", "event", "node"], "left")
    published_here = F.col("publisher").isNotNull() & (F.col("publisher") == F.col("node"))
    unwanted = F.col("publisher").isNotNull() & F.col("wants").isNull()
    again = F.col("n") - F.when(published_here, 0).otherwise(1)
    return heard.groupBy("run").agg(
        F.sum(F.when(published_here, 0).otherwise(1)).alias("news"),
        F.sum(again).alias("duplicates"),
        F.sum(F.when(F.col("wants"), again).otherwise(0)).alias("duplicates_wanted"),
        F.sum(F.when(unwanted, F.col("n")).otherwise(0)).alias("parasites"),
    )


# ---- reach and the channel


def published_events(published: DataFrame, runs: DataFrame) -> DataFrame:
    """run, events_published, reachable."""
    from pyspark.sql import functions as F

    counted = published.groupBy("run").agg(F.count("*").alias("events_published"))
    return counted.join(runs.select("run", "nodes"), "run").selectExpr(
        "run", "events_published", "events_published * (nodes - 1) as reachable"
    )


def airtime() -> Column:
    """Seconds of an hour that a node sends."""
    from pyspark.sql import functions as F

    return F.expr("3600D * cast(coalesce(tx_us, 0) as double) / cast(nodes * end as double)")


def utilisation(log: DataFrame, about: DataFrame) -> DataFrame:
    """run, utilisation_mean, utilisation_max: of LoRa radios. Sending counts as far as the run lasted."""
    from pyspark.sql import functions as F

    of_lora = about.where("lora").select("run", "nodes", "end")
    sent = log.where("kind in ('send', 'acknowledge')").join(of_lora.select("run", "end"), "run")
    sent = sent.selectExpr("run", "node", "greatest(0, least(value, end - t)) as us")
    received = receiving_each(log.join(of_lora.select("run"), "run", "leftsemi"))
    busy = sent.unionByName(received).groupBy("run", "node").agg(F.sum("us").alias("us"))
    busy = busy.groupBy("run").agg(F.sum("us").alias("all_us"), F.max("us").alias("most_us"))
    shares = of_lora.join(busy, "run", "left").fillna(0, ["all_us", "most_us"])
    return shares.selectExpr(
        "run",
        "cast(all_us as double) / cast(nodes * end as double) as utilisation_mean",
        "cast(most_us as double) / cast(end as double) as utilisation_max",
    )


def hops(log: DataFrame, published: DataFrame, about: DataFrame) -> DataFrame:
    """run, hops: of LoRa radios. A run is a group, because an event's way goes through its rows in their order."""
    from pyspark.sql import functions as F

    heard = log.where("kind = 'receive' and event != 0").join(about.where("lora").select("run"), "run", "leftsemi")
    first = heard.groupBy("run", "event", "node").agg(F.min(F.struct("seq", "peer")).alias("first"))
    new = first.join(published.select("run", "event", "publisher"), ["run", "event"], "left")
    new = new.where("publisher is null or publisher != node")
    rows = F.sort_array(F.collect_list(F.struct("first.seq", "event", "node", "first.peer")))
    listed = new.groupBy("run").agg(rows.alias("news"))
    return listed.mapInArrow(stage(f"{__name__}:count_hops", cwd=str(Path.cwd())), "run string, hops double")


def count_hops(batches: Iterator[pa.RecordBatch], cwd: str) -> Iterator[pa.RecordBatch]:
    only_from(cwd)
    for batch in batches:
        rows = batch.to_pylist()
        means = pa.array([_mean_hops(row["news"]) for row in rows], pa.float64())
        yield pa.RecordBatch.from_pydict({"run": [row["run"] for row in rows], "hops": means})


def _mean_hops(news: list[dict[str, int]]) -> float:
    came: dict[tuple[int, int], int] = {}
    for new in news:
        came[new["event"], new["node"]] = came.get((new["event"], new["peer"]), 0) + 1
    return sum(came.values()) / len(came)


# ---- energy


def elapsed(log: DataFrame, absent: DataFrame, about: DataFrame) -> DataFrame:
    """run, nodes, end, w, rx_us, asleep_us, off_us: what energy is worked out from, beside tx_us."""
    spent = about.join(receiving(log), "run", "left").join(away(absent, about), "run", "left")
    return spent.fillna(0, ["rx_us", "asleep_us", "off_us"])


def energy() -> Column:
    """Of all nodes together."""
    from pyspark.sql import functions as F

    sent = "coalesce(tx_us, 0)"
    idle = f"(nodes * end - {sent} - rx_us - asleep_us - off_us)"
    terms = zip(POWERS, (sent, "rx_us", idle, "asleep_us"), strict=True)
    return F.expr(f"({' + '.join(f'w.{name} * {us}' for name, us in terms)}) * 1e-6D")


def receiving(log: DataFrame) -> DataFrame:
    """run, rx_us."""
    from pyspark.sql import functions as F

    return receiving_each(log).groupBy("run").agg(F.sum("us").alias("rx_us"))


def receiving_each(log: DataFrame) -> DataFrame:
    """run, node, us, for each frame that a radio listened to.

    A row is written when a frame ends; time that two frames share counts once."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    heard = log.where("value > 0 and (kind in ('lose', 'overhear') or (kind = 'receive' and bytes > 0))")
    at_node = Window.partitionBy("run", "node").orderBy("t", "seq")
    before = F.coalesce(F.lag("t").over(at_node), F.lit(0))
    new = F.col("t") - F.greatest(F.col("t") - F.col("value"), before)
    return heard.select("run", "node", new.alias("us"))


def away(absent: DataFrame, about: DataFrame) -> DataFrame:
    """run, asleep_us, off_us: a node that is down does not sleep, and uses nothing."""
    from pyspark.sql import functions as F

    spans = absent.join(about.select("run", "end"), "run")
    spans = spans.withColumn("until_t", F.least(F.coalesce("until_t", "end"), "end"))
    sleep, down = spans.where("kind = 'sleep'").alias("s"), spans.where("kind = 'crash'").alias("d")
    both = sleep.join(down, (F.col("s.run") == F.col("d.run")) & (F.col("s.node") == F.col("d.node")))
    overlap = F.least("s.until_t", "d.until_t") - F.greatest("s.from_t", "d.from_t")
    overlaps = both.select(F.col("s.run").alias("run"), F.greatest(overlap, F.lit(0)).alias("us"))
    length = F.col("until_t") - F.col("from_t")
    total = spans.groupBy("run").agg(
        F.sum(F.when(F.col("kind") == "sleep", length).otherwise(0)).alias("slept_us"),
        F.sum(F.when(F.col("kind") == "crash", length).otherwise(0)).alias("off_us"),
    )
    total = total.join(overlaps.groupBy("run").agg(F.sum("us").alias("both_us")), "run", "left")
    return total.select("run", F.expr("slept_us - coalesce(both_us, 0)").alias("asleep_us"), "off_us")


# ---- what was possible


def possible(published: DataFrame, pairs: DataFrame, absent: DataFrame, runs: DataFrame) -> DataFrame:
    """run, possible: pairs that an ideal flood over the run's contacts reaches while the event is valid.

    The log says which nodes wanted what and when they were up; the contacts are the world's, made again from scenario
    and seed. A run is a group, because the flood goes through time.
    """
    from pyspark.sql import functions as F

    nodes = pairs.groupBy("run", "event").agg(F.sort_array(F.collect_list("node")).alias("interested"))
    listed = F.sort_array(F.collect_list(F.struct("seq", "t", "publisher", "validity", "interested")))
    events = published.join(nodes, ["run", "event"], "left").groupBy("run").agg(listed.alias("published"))
    switches = absent.groupBy("run").agg(F.collect_list(F.struct("node", "kind", "from_t", "until_t")).alias("absent"))
    rows = runs.select("run", "scenario", "seed").join(events, "run").join(switches, "run", "left")
    spread = rows.repartition(2 * rows.sparkSession.sparkContext.defaultParallelism)  # or a small table is one task
    return spread.mapInArrow(stage(f"{__name__}:flood", cwd=str(Path.cwd())), "run string, possible bigint")


def flood(batches: Iterator[pa.RecordBatch], cwd: str) -> Iterator[pa.RecordBatch]:
    only_from(cwd)
    for batch in batches:
        rows = batch.to_pylist()
        pairs = pa.array([_possible(row) for row in rows], pa.int64())
        yield pa.RecordBatch.from_pydict({"run": [row["run"] for row in rows], "possible": pairs})


def _possible(row: dict[str, Any]) -> int:
    scenario = msgspec.convert(json.loads(row["scenario"]), Scenario)
    published = [
        (event["t"], event["publisher"], event["t"] + event["validity"], event["interested"] or [])
        for event in row["published"]
    ]
    return what_was_possible(scenario, row["seed"], published, _switched(row["absent"] or []))


def _switched(absent: list[dict[str, Any]]) -> list[tuple[int, int, bool]]:
    """(t, node, up) whenever a node goes down or comes up, in order: it is up when it neither sleeps nor is down."""
    changes = [(a["from_t"], a["node"], 1) for a in absent]
    changes += [(a["until_t"], a["node"], -1) for a in absent if a["until_t"] is not None]
    away: dict[int, int] = {}
    switched: list[tuple[int, int, bool]] = []
    for t, node, change in sorted(changes):
        before, after = away.get(node, 0), away.get(node, 0) + change
        away[node] = after
        if (before > 0) != (after > 0):
            switched.append((t, node, after == 0))
    return switched


# ---- arithmetic


def _quotient(quotient: Quotient) -> Column:
    """Null if the divisor is zero."""
    from pyspark.sql import functions as F

    part, whole = _sum(quotient.part), _sum(quotient.whole)
    return F.when(whole > 0, part / whole)


def _sum(terms: tuple[Term, ...]) -> Column:
    from pyspark.sql import functions as F

    def column(term: Term) -> Column:
        return F.coalesce(F.col(term.column)[term.entry], F.lit(0)) if term.entry else F.col(term.column)

    return reduce(operator.add, (column(term) if term.sign > 0 else -column(term) for term in terms))


def _total(column: str, where: str) -> Column:
    from pyspark.sql import functions as F

    return F.expr(f"sum({column}) filter (where {where})")


def _counts(key: str, where: str, name: str) -> Column:
    """How many of each, as a map, by key."""
    from pyspark.sql import functions as F

    entries = f"collect_list(struct({key} as reason, n)) filter (where {where})"
    return F.expr(f"map_from_entries(sort_array({entries})) as {name}")
