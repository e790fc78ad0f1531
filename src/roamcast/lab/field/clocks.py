"""One clock for all nodes of a field test.

Rows have their node's time, and no two clocks agree; nor do the clocks of two boots of one node, so each of
its boots (the file's name has the number) has a clock of its own here. A frame's serial is the same at its sender and
at all hearers, so every reception says: hearer's clock − sender's clock = delay + difference of their clocks. Of
many frames the fastest has the least delay; where frames went both ways, half the difference of the two minima is what
the clocks differ by, up to half the sum of the least delays. These differences are made one offset for each clock by
least squares, the surer ones weighing more. That is done twice: once over all time, which brings the clocks
together roughly, and then for each minute, between whose middles offsets are interpolated: crystals drift. Offsets have
mean zero among clocks that are connected; others cannot be compared, nor need they be.

What differs from the median by more than any delay is left out: a frame that was recorded, and sent again later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from roamcast.lab.spark.worker import stage
from roamcast.lab.tables import schemas

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW_US = 60_000_000
"""Clocks that drift apart by 40 millionths do so by 2.4 ms in a minute: the result is no surer than that."""
PLAUSIBLE_US = 5_000_000
"""No delay is longer, nor do clocks wander so far."""
LEAST_DELAY_US = 50.0
ONE_WAY = 1e-3
"""Weight of a difference that comes from frames in one direction only."""
LIFE = r"^\d+-(\d+)-\d+\.parquet$"
"""The boot of its node in a file's name; files with other names are all of one boot."""

Clock = tuple[int, str]
"""Of a node, in one of its lives."""
Knots = dict[str, tuple[list[float], list[float]]]
"""For "run node life": times by that clock, and its offset at each."""


def clocks(rows: DataFrame) -> Knots:
    """By how much each node's clock was ahead, at the times that it showed."""
    rough = _solved(_differences(rows, {}, None), {})
    return _solved(_differences(rows, rough, WINDOW_US), rough)


def _differences(rows: DataFrame, rough: Knots, window_us: int | None) -> list[Any]:
    """run, window, sender, sender_life, hearer, hearer_life, least (us), sent, heard (means, by their own clocks)."""
    from pyspark.sql import functions as F

    right = _set_right(rows.where("kind = 'send' or (kind = 'receive' and bytes > 0)"), rough)
    sends = right.where("kind = 'send'").selectExpr(
        "run", "frame", "node sender", "life sender_life", "t sent", "own sent_own"
    )
    heard = right.where("kind = 'receive'").selectExpr(
        "run", "frame", "peer sender", "node hearer", "life hearer_life", "t heard", "own heard_own"
    )
    clocks = ["run", "sender", "sender_life", "hearer", "hearer_life"]
    both = heard.join(sends, ["run", "frame", "sender"]).withColumn("took", F.col("heard") - F.col("sent"))
    usual = both.groupBy(clocks).agg(F.percentile_approx("took", 0.5).alias("usual"))
    both = both.join(usual, clocks).where(F.abs(F.col("took") - F.col("usual")) <= PLAUSIBLE_US)
    window = F.lit(0) if window_us is None else F.floor(F.col("sent") / window_us)
    return (
        both.groupBy(*clocks, window.alias("window"))
        .agg(F.min("took").alias("least"), F.avg("sent_own").alias("sent"), F.avg("heard_own").alias("heard"))
        .collect()
    )


def _solved(differences: list[Any], rough: Knots) -> Knots:
    groups: dict[tuple[str, int], list[Any]] = defaultdict(list)
    for row in differences:
        groups[row.run, row.window].append(row)
    pairs_of: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for (run, _), rows in sorted(groups.items()):
        least: dict[tuple[Clock, Clock], float] = {}
        times: dict[Clock, list[float]] = defaultdict(list)
        for row in rows:
            sender, hearer = (row.sender, row.sender_life), (row.hearer, row.hearer_life)
            least[sender, hearer] = float(row.least)
            times[sender].append(row.sent)
            times[hearer].append(row.heard)
        for clock, offset in least_squares(least).items():
            key = f"{run} {clock[0]} {clock[1]}"
            at = sum(times[clock]) / len(times[clock])
            known = rough.get(key)
            before = 0.0 if known is None else float(offset_at(np.array([at]), *known)[0])
            pairs_of[key].append((at, before + offset))
    knots = {key: sorted(pairs) for key, pairs in pairs_of.items()}
    return {key: ([t for t, _ in pairs], [offset for _, offset in pairs]) for key, pairs in knots.items()}


def least_squares(least: dict[tuple[Clock, Clock], float]) -> dict[Clock, float]:
    """Offsets of clocks from the least of (hearer's clock − sender's clock) by (sender, hearer); mean zero where
    they are connected: that is the shortest of all solutions, and the one that least squares gives."""
    clocks = sorted({clock for pair in least for clock in pair})
    place = {clock: k for k, clock in enumerate(clocks)}
    both = {(i, j): (d, least[j, i]) for (i, j), d in least.items() if i < j and (j, i) in least}
    delays = sorted((there + back) / 2 for there, back in both.values())
    usual = delays[len(delays) // 2] if delays else 0.0
    equations = [
        (i, j, (there - back) / 2, 1 / (abs(there + back) / 2 + LEAST_DELAY_US))
        for (i, j), (there, back) in both.items()
    ]
    equations += [
        (i, j, d - usual, ONE_WAY / (abs(usual) + LEAST_DELAY_US)) for (i, j), d in least.items() if (j, i) not in least
    ]
    rows = np.zeros((len(equations), len(clocks)))
    values = np.zeros(len(equations))
    for k, (i, j, difference, weight) in enumerate(equations):
        rows[k, place[j]], rows[k, place[i]] = weight, -weight
        values[k] = weight * difference
    solution = np.linalg.lstsq(rows, values, rcond=1e-12)[0]
    return {clock: float(solution[k]) for clock, k in place.items()}


def offset_at(t: Any, times: list[float], offsets: list[float]) -> Any:
    """Interpolated; before the first and after the last, the clock goes on as it went, for a window at most."""
    offset = np.interp(t, times, offsets)
    if len(times) > 1:
        first = (offsets[1] - offsets[0]) / (times[1] - times[0])
        last = (offsets[-1] - offsets[-2]) / (times[-1] - times[-2])
        offset = offset + first * np.clip(t - times[0], -WINDOW_US, 0) + last * np.clip(t - times[-1], 0, WINDOW_US)
    return offset


def _set_right(rows: DataFrame, knots: Knots) -> DataFrame:
    """The rows with their `life`, `t` by the common clock, and `own`, what their node's clock showed."""
    from pyspark.sql import functions as F

    rows = rows.withColumn("life", F.regexp_extract("file", LIFE, 1))
    if not knots:
        return rows.selectExpr("*", "t as own")
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema.fields)
    return rows.mapInArrow(stage(f"{__name__}:set_right", knots=knots), f"{columns}, own bigint")


def set_right(batches: Iterator[pa.RecordBatch], knots: Knots) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        own = batch["t"].to_numpy(zero_copy_only=False)
        clocks_of = zip(*(batch[name].to_pylist() for name in ("run", "node", "life")), strict=True)
        keys = np.array([f"{run} {node} {life}" for run, node, life in clocks_of], dtype=object)
        t = own.astype(np.float64)
        offsets = np.zeros(len(t))
        for key in dict.fromkeys(keys.tolist()):
            if key in knots:
                where = keys == key
                offsets[where] = offset_at(t[where], *knots[key])
        right = own - np.rint(offsets).astype(np.int64)
        at = batch.schema.get_field_index("t")
        moved = batch.set_column(at, "t", pa.array(right, pa.int64()))
        yield moved.append_column("own", pa.array(own, pa.int64()))


def merged(rows: DataFrame, knots: Knots) -> DataFrame:
    """All nodes' rows as one log: by one clock, in order, of each event the first publication."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    right = _set_right(rows, knots)
    order = ["t", "node", "file", "place"]
    of_event = Window.partitionBy("run", "event").orderBy(*order)
    published = right.where("kind = 'publish'").withColumn("nth", F.row_number().over(of_event))
    remaining = right.where("kind != 'publish'").unionByName(published.where("nth = 1").drop("nth"))
    of_run = Window.partitionBy("run").orderBy(*order)
    placed = remaining.withColumn("seq", F.row_number().over(of_run).cast("bigint") - 1)
    return placed.select([*schemas.LOG.names, "seq"])
