"""The laboratory's tables: explicit schemas, versioned together (`folder.TABLES_VERSION`): no change without a new one.

runs      one row a run of the campaign: what it is and how it ended
log       one row a thing that happened (log/schema.py), with `seq`, the row's place in its run
metrics   one row a finished run: its coordinates and every metric (log/catalogue.py says what each means)
summary   one row a cell and metric: mean and confidence interval over the seeds
provenance   one row a start of the campaign: by which program, where, when

They are Arrow's, because the tables are written without Spark (write.py); spark/frames.py has them as Spark's.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from roamcast.judging.settings import FIELD, PARAMETER
from roamcast.lab.summarise import OTHER
from roamcast.lab.tables import columns
from roamcast.log import catalogue
from roamcast.log.metric import BY_NAME, WHOLE, Metric

TEXT, INT, LONG, DOUBLE, BOOL = pa.string(), pa.int32(), pa.int64(), pa.float64(), pa.bool_()
COUNTS = pa.map_(TEXT, pa.field("value", LONG, nullable=False))


def _table(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(list(columns.items()))


def _kind(metric: Metric) -> pa.DataType:
    if metric.kind == BY_NAME:
        return COUNTS
    return LONG if metric.kind in WHOLE else DOUBLE


_TYPES = {columns.TEXT: TEXT, columns.INT: INT, columns.LONG: LONG, columns.DOUBLE: DOUBLE, columns.BOOL: BOOL}
Kinds = Mapping[str, str]
"""The settings of a campaign, by column: columns.Chosen decides about them."""


def coordinates(settings: Kinds) -> pa.Schema:
    return _table(**{name: _TYPES[kind] for name, kind in columns.with_settings(settings).items()})


_ABOUT_RUN = _table(
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
)


def runs(settings: Kinds) -> pa.Schema:
    return pa.schema([*coordinates(settings), *_ABOUT_RUN])


PLAN = _table(  # what a worker gets of a run
    partition=INT,
    run=TEXT,
    protocol=TEXT,
    params=TEXT,
    scenario=TEXT,
    seed=LONG,
    world=TEXT,
    level=TEXT,
    command=TEXT,
    limit_s=DOUBLE,
)

PARTS = _table(log=TEXT, runs=TEXT)  # what a worker gets of logs (logs.py)

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


def metrics(settings: Kinds) -> pa.Schema:
    return pa.schema([*coordinates(settings), *list(TALLY)[1:], pa.field("fingerprint", TEXT)])


_ESTIMATE = _table(
    metric=TEXT,
    n=INT,  # runs that have the metric
    mean=DOUBLE,
    sd=DOUBLE,
    half_width=DOUBLE,  # of the 95 % interval, Student's t
    low=DOUBLE,
    high=DOUBLE,
)


def summary(settings: Kinds) -> pa.Schema:
    of_cell = [field for field in coordinates(settings) if field.name not in ("run", "seed")]
    return pa.schema([*of_cell, *_ESTIMATE])


PROVENANCE = _table(  # of each start of a campaign that had runs to do (provenance.py)
    began=TEXT,  # UTC
    ended=TEXT,  # null if it was stopped, or is still running
    runs=LONG,  # that were to be done
    engine=TEXT,  # pool or spark
    master=TEXT,  # of Spark
    roamcast=TEXT,
    code=TEXT,  # digest of all sources
    commit=TEXT,  # of the checkout, if the program ran from one
    changed=BOOL,  # whether its sources were not those of the commit
    python=TEXT,
    numpy=TEXT,
    pyarrow=TEXT,
    pyspark=TEXT,
    host=TEXT,
    system=TEXT,
    cores=INT,
)

CLOCKS = _table(run=TEXT, node=INT, life=TEXT, t=LONG, offset_us=DOUBLE)  # of real nodes (field/intake.py)

_COMPARED = _table(
    metric=TEXT,
    n=INT,  # seeds that both have
    difference=DOUBLE,  # mean of (the one - the other), pairwise by seed
    half_width=DOUBLE,  # of its 95 % interval, Student's t
    low=DOUBLE,
    high=DOUBLE,
    effect=DOUBLE,  # Cohen's d_z: the mean over the standard deviation
    effect_low=DOUBLE,
    effect_high=DOUBLE,
    pvalue=DOUBLE,  # two-sided, paired t-test
    pvalue_rank=DOUBLE,  # Wilcoxon's signed-rank test, exact
    pvalue_holm=DOUBLE,  # the first one, corrected for all comparisons of this table
)


def differences(settings: pa.Schema) -> pa.Schema:
    """Of pairs of cells in a table whose rows have these settings."""
    own = [field for field in settings if field.name.startswith(PARAMETER)]
    return pa.schema(
        [
            *_table(campaign=TEXT, cell=INT, label=TEXT),
            *own,
            *_table(other_cell=INT, other_label=TEXT),
            *(pa.field(f"{OTHER}{field.name}", field.type) for field in own),
            *(field for field in settings if field.name.startswith(FIELD)),
            *_COMPARED,
        ]
    )
