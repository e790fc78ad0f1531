"""The laboratory's tables: explicit schemas, versioned together (`folder.TABLES_VERSION`): no change without a new one.

runs      one row a run of the campaign: what it is and how it ended
log       one row a thing that happened (log/schema.py), with `seq`, the row's place in its run
metrics   one row a finished run: its coordinates and every metric (log/catalogue.py says what each means)
summary   one row a cell and metric: mean and confidence interval over the seeds

They are Arrow's, because the tables are written without Spark (write.py); spark/frames.py has them as Spark's.
"""

from __future__ import annotations

import pyarrow as pa

from roamcast.lab.tables import columns
from roamcast.log import catalogue
from roamcast.log.metric import BY_NAME, WHOLE, Metric

TEXT, INT, LONG, DOUBLE = pa.string(), pa.int32(), pa.int64(), pa.float64()
COUNTS = pa.map_(TEXT, pa.field("value", LONG, nullable=False))
TEXTS = pa.map_(TEXT, pa.field("value", TEXT, nullable=False))


def _table(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(list(columns.items()))


def _kind(metric: Metric) -> pa.DataType:
    if metric.kind == BY_NAME:
        return COUNTS
    return LONG if metric.kind in WHOLE else DOUBLE


_TYPES = {columns.TEXT: TEXT, columns.INT: INT, columns.LONG: LONG, columns.TEXTS: TEXTS}
COORDINATES = _table(**{name: _TYPES[kind] for name, kind in columns.COORDINATES.items()})

RUNS = pa.schema(
    [
        *COORDINATES,
        *_table(
            sim_s=DOUBLE,
            level=TEXT,
            scenario=TEXT,  # every field of it, as JSON
            all_params=TEXT,  # every parameter in effect, as JSON
            code=TEXT,  # version of the program
            status=TEXT,  # finished, failed, or planned
            error=TEXT,  # of a failed run, in one line
            command=TEXT,  # what to type to see it again
            wall_s=DOUBLE,
            cpu_s=DOUBLE,
        ),
    ]
)

PLAN = _table(  # what a worker gets of a run
    partition=INT,
    run=TEXT,
    protocol=TEXT,
    params=TEXT,
    scenario=TEXT,
    seed=LONG,
    level=TEXT,
    command=TEXT,
)

FILES = _table(run=TEXT, path=TEXT)

LOG = _table(
    run=TEXT,
    t=LONG,
    node=INT,
    kind=TEXT,
    event=LONG,
    frame=LONG,
    peer=INT,
    bytes=INT,
    value=LONG,
    reason=TEXT,
)

TALLY = pa.schema(
    [
        pa.field("run", TEXT),
        *(pa.field(metric.name, _kind(metric)) for metric in catalogue.METRICS),
    ]
)

METRICS = pa.schema([*COORDINATES, *list(TALLY)[1:], pa.field("fingerprint", TEXT)])

SUMMARY = pa.schema(
    [
        *(field for field in COORDINATES if field.name not in ("run", "seed")),
        *_table(
            metric=TEXT,
            n=INT,  # runs that have the metric
            mean=DOUBLE,
            sd=DOUBLE,
            half_width=DOUBLE,  # of the 95 % interval, Student's t
            low=DOUBLE,
            high=DOUBLE,
        ),
    ]
)

CLOCKS = _table(run=TEXT, node=INT, life=TEXT, t=LONG, offset_us=DOUBLE)  # of real nodes (field/intake.py)

DIFFERENCES = _table(
    cell=INT,
    label=TEXT,
    other_cell=INT,
    other_label=TEXT,
    metric=TEXT,
    n=INT,  # seeds that both have
    difference=DOUBLE,  # mean of (the one - the other), pairwise by seed
    half_width=DOUBLE,
    low=DOUBLE,
    high=DOUBLE,
    p_value=DOUBLE,  # two-sided, paired t-test
)
