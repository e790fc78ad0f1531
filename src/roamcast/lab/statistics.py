"""Means with confidence intervals, and differences paired by seed.

Two protocols under one seed face the same movement, the same publications and the same subscribers, so "is A better
than B" is asked of the differences seed by seed: what the worlds have in common cancels out.

Values are added in the order of their seeds, so that the same runs give the same digits however Spark shuffles them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamcast.lab import schemas
from roamcast.lab.campaign import SUMMABLE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CONFIDENCE = 0.95
CELL = [f.name for f in schemas.COORDINATES.fields if f.name not in ("run", "seed")]


def long(metrics: DataFrame, names: tuple[str, ...] = SUMMABLE) -> DataFrame:
    """The metrics that are one number, a row each: the coordinates, metric, value."""
    from pyspark.sql import functions as F

    columns = [f.name for f in schemas.COORDINATES.fields]
    values = (F.struct(F.lit(name).alias("metric"), F.col(name).cast("double").alias("value")) for name in names)
    return metrics.select(*columns, F.inline(F.array(*values))).where("value is not null")


def summary(metrics: DataFrame, confidence: float = CONFIDENCE) -> DataFrame:
    """One row a cell and metric: how many runs, mean, standard deviation, Student's interval."""
    from pyspark.sql import functions as F

    # maps cannot be grouped by: the cell's number stands for what it is
    what = [F.first(name).alias(name) for name in CELL if name not in ("campaign", "cell")]
    grouped = long(metrics).groupBy("campaign", "cell", "metric").agg(*what, _values("value").alias("values"))
    return _spread(grouped, confidence).select(schemas.SUMMARY.fieldNames())


def differences(metrics: DataFrame, cell: int, other: int, confidence: float = CONFIDENCE) -> DataFrame:
    """One row a metric: one cell of a campaign minus another one, over the seeds that both have."""
    from pyspark.sql import functions as F

    rows = long(metrics).select("cell", "label", "seed", "metric", "value")
    a, b = rows.where(F.col("cell") == cell).alias("a"), rows.where(F.col("cell") == other).alias("b")
    both = a.join(b, (F.col("a.seed") == F.col("b.seed")) & (F.col("a.metric") == F.col("b.metric")))
    paired = both.select(
        F.col("a.metric").alias("metric"),
        F.col("a.seed").alias("seed"),
        F.col("a.label").alias("label"),
        F.col("b.label").alias("other_label"),
        (F.col("a.value") - F.col("b.value")).alias("value"),
    )
    grouped = paired.groupBy("metric").agg(
        F.first("label").alias("label"), F.first("other_label").alias("other_label"), _values("value").alias("values")
    )
    spread = _spread(grouped, confidence).withColumn("cell", F.lit(cell)).withColumn("other_cell", F.lit(other))
    error = F.col("sd") / F.sqrt("n")
    t = F.when(error > 0, F.abs(F.col("mean")) / error)
    no_spread = F.when(F.col("mean") == 0, 1.0).otherwise(0.0)
    p = F.when(F.col("n") > 1, F.when(error > 0, _two_sided(t, F.col("n"))).otherwise(no_spread))
    renamed = spread.withColumn("p_value", p).withColumnRenamed("mean", "difference")
    return renamed.select(schemas.DIFFERENCES.fieldNames()).orderBy("metric")


# ---- arithmetic


def _values(column: str) -> Column:
    """The values of a group in the order of their seeds."""
    from pyspark.sql import functions as F

    ordered = F.sort_array(F.collect_list(F.struct("seed", column)))
    return F.transform(ordered, lambda pair: pair[column])


def _spread(grouped: DataFrame, confidence: float) -> DataFrame:
    """n, mean, sd, half_width, low, high of the array `values`."""
    from pyspark.sql import functions as F

    def total(values: Column) -> Column:
        return F.aggregate(values, F.lit(0.0), lambda sum, value: sum + value)

    rows = grouped.withColumn("n", F.size("values")).withColumn("mean", total(F.col("values")) / F.col("n"))
    squares = F.transform("values", lambda value: (value - F.col("mean")) * (value - F.col("mean")))
    rows = rows.withColumn("sd", F.when(F.col("n") > 1, F.sqrt(total(squares) / (F.col("n") - 1))))
    rows = rows.withColumn("half_width", _quantile(F.col("n"), confidence) * F.col("sd") / F.sqrt("n"))
    return rows.withColumn("low", F.expr("mean - half_width")).withColumn("high", F.expr("mean + half_width"))


def _quantile(n: Column, confidence: float) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql.types import DoubleType

    def student(n: int) -> float | None:  # nested, so that it travels to workers by value
        from scipy.special import stdtrit

        return float(stdtrit(n - 1, (1 + confidence) / 2)) if n > 1 else None

    return F.udf(student, DoubleType(), useArrow=False)(n)


def _two_sided(t: Column, n: Column) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql.types import DoubleType

    def tails(distance: float | None, n: int) -> float | None:
        from scipy.special import stdtr

        return float(2 * stdtr(n - 1, -distance)) if distance is not None else None

    return F.udf(tails, DoubleType(), useArrow=False)(t, n)
