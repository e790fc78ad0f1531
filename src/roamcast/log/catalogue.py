"""The catalogue of metrics: what each one is called, what it means, and how it follows from a log.

Everything that lists metrics is made from this file: the columns of the laboratory's tables, the reference page
(docs/reference/metrics.md), the table that `roamcast run` prints, the columns of the report, and the metrics that
campaigns may average. To add a metric:

1. add an entry here, in the place of its column in the tables (a new column needs a new `TABLES_VERSION`);
2. a quotient of others needs nothing else: the tally and Spark compute it from the entry;
3. anything else is counted twice, in two ways that tests compare: by the tally while a run goes on, and by Spark from
   the log (lab/measure/metrics.py).

Formulas are over the rows of one run's log (schema.py), at level `frames` or `full`:

    send, receive, …   all rows of that kind; with a condition in brackets: those that meet it
    |A|, Σ A.x         how many there are; the sum of their x
    W                  the pairs (event, node) whose node has a matching subscription when the event is published
    I                  those pairs of W whose node did not publish the event, is up at that time, and is in range of
                       the publisher if the event is local
    D                  the pairs of I that have a deliver row; its latency is the time from publish to that row

Rows count in their order in the table, also those with the same time. A quotient whose divisor is zero, and a mean or a
percentile of nothing, has no value (None, null). An event without a publish row (a field test's log may begin late)
counts for neither W nor I.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

Row = Mapping[str, Any]

GROUPS = {
    "deliveries": "Deliveries",
    "latency": "Latency",
    "losses": "Losses",
    "traffic": "Frames and receptions",
    "unneeded": "Receptions that were not needed",
    "state": "Routing state",
    "energy": "Energy",
    "decisions": "Decisions",
}
"""The sections of tables that people read, in their order."""

COUNT = "count"
SUM = "sum"
BY_NAME = "counts by name"
QUOTIENT = "quotient"
MEAN = "mean"
RANK = "nearest rank"
OVER_TIME = "sum over time"
WHOLE = (COUNT, SUM)
"""The kinds whose values are whole numbers, 0 for an empty log."""

SHARE = "share"
"""The unit of a number from 0 to 1."""
FOR_PEOPLE = {"s": ("ms", 1000.0), "bytes": ("kB", 0.001)}
"""Units that the report shows as others, and what to multiply by."""


class Term(msgspec.Struct, frozen=True):
    """A column of a run's row, or one entry of a column that counts by name; `sign` is 1 or -1."""

    column: str
    entry: str = ""
    sign: int = 1

    def value(self, row: Row) -> int | None:
        value: int | None = row[self.column].get(self.entry, 0) if self.entry else row[self.column]
        return None if value is None else self.sign * value

    @property
    def text(self) -> str:
        return f"{self.column}[{self.entry}]" if self.entry else self.column


class Quotient(msgspec.Struct, frozen=True):
    """A sum of terms over another one, or a sum alone if there is no divisor."""

    part: tuple[Term, ...]
    whole: tuple[Term, ...] = ()

    def value(self, row: Row) -> float | None:
        """None if a term is not known, or the divisor is zero."""
        part, whole = _added(self.part, row), _added(self.whole, row)
        if not self.whole or part is None:
            return None if part is None else float(part)
        return part / whole if whole else None

    @property
    def text(self) -> str:
        part = _sum_text(self.part)
        if not self.whole:
            return part
        return " / ".join(
            f"({text})" if len(terms) > 1 else text
            for terms, text in ((self.part, part), (self.whole, _sum_text(self.whole)))
        )


def _added(terms: tuple[Term, ...], row: Row) -> int | None:
    values = [term.value(row) for term in terms]
    return None if None in values else sum(value for value in values if value is not None)


def _sum_text(terms: tuple[Term, ...]) -> str:
    signed = "".join(f" {'−' if term.sign < 0 else '+'} {term.text}" for term in terms)
    return signed.removeprefix(" + ")


def over(part: str | list[str | Term], whole: str | list[str | Term] | None = None) -> Quotient:
    """`over("a", ["b", "-c"])` is a / (b − c)."""
    return Quotient(_terms(part), _terms(whole or []))


def _terms(written: str | list[str | Term]) -> tuple[Term, ...]:
    listed = [written] if isinstance(written, str) else written
    return tuple(
        term if isinstance(term, Term) else Term(term.removeprefix("-"), sign=-1 if term.startswith("-") else 1)
        for term in listed
    )


class Line(msgspec.Struct, frozen=True):
    """How `roamcast run` shows a metric: `note` may contain {names} of others, `digits` are decimals, `factor` makes
    the unit that the note names.

    If the metric `needs` is not known, or a count of zero, the line is left out.
    """

    title: str
    note: str = ""
    digits: int = 0
    factor: float = 1.0
    needs: str = ""


class Cost(msgspec.Struct, frozen=True):
    """How the report weighs delivery against a metric: its short name, and the title and scale of its axis."""

    short: str
    axis: str
    log: bool = False


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One number of one run (of kind BY_NAME: one number for each name).

    `per_node` is the name under which figures and claims find it divided by the number of nodes. `simulated` metrics
    are unknown for real nodes. `line`, `column` (a heading) and `cost` say where people see it.
    """

    name: str
    group: str
    unit: str
    kind: str
    means: str
    formula: str
    quotient: Quotient | None = None
    per_node: str = ""
    simulated: bool = False
    line: Line | None = None
    column: str = ""
    cost: Cost | None = None

    @property
    def averaged(self) -> bool:
        """Whether it is one number a run, so that means and intervals over seeds make sense."""
        return self.kind != BY_NAME

    @property
    def shown_unit(self) -> tuple[str, float]:
        """The unit in which the report shows it, and what to multiply by."""
        return FOR_PEOPLE.get(self.unit, (self.unit, 1.0))


def _quotient(name: str, group: str, unit: str, means: str, quotient: Quotient, **shown: Any) -> Metric:
    return Metric(
        name=name,
        group=group,
        unit=unit,
        kind=QUOTIENT,
        means=means,
        formula=quotient.text,
        quotient=quotient,
        **shown,
    )


METRICS = (
    _quotient(
        "delivery",
        "deliveries",
        SHARE,
        "the share of interested pairs that were served",
        over("deliveries", "interested"),
        line=Line("delivery", "{deliveries} of {interested} (event, interested) pairs"),
        column="delivery",
    ),
    _quotient(
        "reception",
        "deliveries",
        SHARE,
        "delivery, if a publisher that subscribes to its own event counts as served",
        over(["own", "deliveries"], ["own", "interested"]),
        line=Line("reception", "the same, with publishers that subscribe counted as served", needs="own"),
    ),
    _quotient(
        "of_possible",
        "deliveries",
        SHARE,
        "the share of what an ideal flood could have served that was served",
        over("deliveries", "possible"),
        line=Line("of possible", "of the pairs that an ideal flood could reach"),
        column="of possible",
    ),
    _quotient(
        "overhead",
        "deliveries",
        "frames per delivery",
        "frames of every kind that were sent for each delivery",
        over("frames_sent", "deliveries"),
        line=Line("overhead", "frames sent per delivery", digits=2),
        column="frames per delivery",
        cost=Cost("overhead", "overhead", log=True),
    ),
    Metric(
        name="deliveries",
        group="deliveries",
        unit="pairs",
        kind=COUNT,
        means="interested pairs that were served, each counted once",
        formula="|D|",
    ),
    Metric(
        name="interested",
        group="deliveries",
        unit="pairs",
        kind=COUNT,
        means="pairs (event, subscriber) whose subscriber wanted the event and was up; never the publisher itself",
        formula="|I|",
    ),
    Metric(
        name="own",
        group="deliveries",
        unit="events",
        kind=COUNT,
        means="events whose publisher had a matching subscription itself and was up",
        formula="|publish[(event, node) ∈ W, node is up]|",
    ),
    Metric(
        name="possible",
        group="deliveries",
        unit="pairs",
        kind=COUNT,
        means="interested pairs that an ideal, instantaneous flood over the same contacts could have served in time",
        formula="pairs of I that a path over the run's contacts joins while the event is valid, at nodes that are up",
        simulated=True,
    ),
    Metric(
        name="frames_sent",
        group="traffic",
        unit="frames",
        kind=COUNT,
        means="transmissions of every kind, repeats included",
        formula="|send|",
        line=Line("frames sent", "{bytes_sent} bytes on the air"),
    ),
    Metric(
        name="frames_by_kind",
        group="traffic",
        unit="frames",
        kind=BY_NAME,
        means="the same for each kind of frame",
        formula="|send[reason = kind]| for each kind",
        line=Line("frames"),
    ),
    Metric(
        name="bytes_sent",
        group="traffic",
        unit="bytes",
        kind=SUM,
        means="bytes on the air, with the MAC header",
        formula="Σ send.bytes",
        per_node="bytes_per_node",
        column="kB sent",
    ),
    Metric(
        name="warmup_frames",
        group="traffic",
        unit="frames",
        kind=COUNT,
        means="frames sent before the first event was published; all of them, if none was",
        formula="|send[before the first publish]|",
    ),
    Metric(
        name="warmup_bytes",
        group="traffic",
        unit="bytes",
        kind=SUM,
        means="bytes sent before the first event was published; all of them, if none was",
        formula="Σ send[before the first publish].bytes",
    ),
    Metric(
        name="repeats",
        group="traffic",
        unit="frames",
        kind=COUNT,
        means="frames sent again because the addressee did not acknowledge them; they are frames sent, too",
        formula="|repeat|",
    ),
    Metric(
        name="receptions",
        group="traffic",
        unit="frames",
        kind=COUNT,
        means="frames that arrived intact: a broadcast at each hearer, any other frame at its addressee",
        formula="|{(frame, node)} of receive|",
        line=Line("receptions", "{losses} lost, {collisions} by collision"),
    ),
    Metric(
        name="overheard",
        group="traffic",
        unit="frames",
        kind=COUNT,
        means="frames for another node that arrived intact at a radio; the protocol there never sees them",
        formula="|overhear[reason = for another]|",
        line=Line("overheard", "frames for others that a radio took in", needs="overheard"),
    ),
    Metric(
        name="losses",
        group="losses",
        unit="frames",
        kind=COUNT,
        means="frames that did not arrive at a radio in range, or that were given up by their sender",
        formula="|lose|",
    ),
    Metric(
        name="losses_by_reason",
        group="losses",
        unit="frames",
        kind=BY_NAME,
        means="the same for each reason: `collision`, `half-duplex`, `loss`, `queue`, `no-ack`",
        formula="|lose[reason = name]| for each name",
        line=Line("losses"),
    ),
    Metric(
        name="collisions",
        group="losses",
        unit="frames",
        kind=COUNT,
        means="losses because another frame arrived at the same time",
        formula="|lose[reason = collision]|",
    ),
    Metric(
        name="duplicates",
        group="unneeded",
        unit="receptions",
        kind=COUNT,
        means="receptions of an event that the node already had, published or received",
        formula="|receive[the node published the event, or has an earlier receive of it]|",
        per_node="duplicates_per_node",
        line=Line("duplicates", "receptions of an event the node already had"),
    ),
    Metric(
        name="duplicates_wanted",
        group="unneeded",
        unit="receptions",
        kind=COUNT,
        means="duplicates at nodes that had a matching subscription",
        formula="duplicates with (event, node) ∈ W",
        per_node="duplicates_wanted_per_node",
    ),
    Metric(
        name="parasites",
        group="unneeded",
        unit="receptions",
        kind=COUNT,
        means="receptions of an event for which the node had no matching subscription",
        formula="|receive[event was published, (event, node) ∉ W]|",
        per_node="parasites_per_node",
        line=Line("parasites", "receptions of an event the node did not want"),
    ),
    Metric(
        name="latency_mean_s",
        group="latency",
        unit="s",
        kind=MEAN,
        means="time from publication to delivery, mean over deliveries",
        formula="Σ latency of D / |D|",
    ),
    Metric(
        name="latency_p50_s",
        group="latency",
        unit="s",
        kind=RANK,
        means="the median: half of the deliveries took no longer",
        formula="latency of D at rank ⌈0.50 |D|⌉",
        line=Line("latency", "median, ms", digits=1, factor=1000.0),
        column="latency [ms]",
        cost=Cost("latency", "median latency", log=True),
    ),
    Metric(
        name="latency_p95_s",
        group="latency",
        unit="s",
        kind=RANK,
        means="the 95th percentile: 95 of 100 deliveries took no longer",
        formula="latency of D at rank ⌈0.95 |D|⌉",
        line=Line("", "95th percentile, ms", digits=1, factor=1000.0),
    ),
    Metric(
        name="reasons",
        group="decisions",
        unit="decisions",
        kind=BY_NAME,
        means="how often protocols gave each reason for a decision, as `kind: label`",
        formula="|rows of forward, suppress, drop, delay, note[reason = label]| for each kind and label",
        line=Line("decisions"),
    ),
    _quotient(
        "deterministic_hops",
        "decisions",
        SHARE,
        "the share of hops that followed a subscription rather than a random draw, where a protocol says so",
        over(
            [Term("reasons", "forward: deterministic")],
            [Term("reasons", "forward: deterministic"), Term("reasons", "forward: probabilistic")],
        ),
        line=Line("deterministic", "of hops followed a subscription", needs="deterministic_hops"),
    ),
    Metric(
        name="memory_entries",
        group="state",
        unit="entries",
        kind=MEAN,
        means="table entries that a protocol holds, besides its own application's subscriptions; mean over samples",
        formula="Σ state.value / |state|",
        line=Line("routing state", "entries, {memory_bytes} bytes"),
    ),
    Metric(
        name="memory_bytes",
        group="state",
        unit="bytes",
        kind=MEAN,
        means="the size of these entries; mean over samples",
        formula="Σ state.bytes / |state|",
        column="state [kB]",
    ),
    Metric(
        name="energy_j",
        group="energy",
        unit="J",
        kind=OVER_TIME,
        means="energy of all nodes: the radio's power in each state (sending, receiving, idle, asleep; none while "
        "crashed) times the time in it",
        formula="Σ over nodes of tx_w · T + rx_w · R + sleep_w · S + idle_w · (time up − T − R − S): T is the airtime "
        "(value) of its send and acknowledge rows as far as the run lasted; R that of its receive, overhear and lose "
        "rows, each instant once; S the time from sleep to wake; from crash to recover nothing counts",
        simulated=True,
        line=Line("energy", "J, all nodes", digits=1),
        column="energy [J]",
        cost=Cost("energy", "energy of all nodes"),
    ),
)
"""In the order of the tables' columns."""

BY_SECTION = tuple(metric for group in GROUPS for metric in METRICS if metric.group == group)
"""The same in the order in which people read them."""
AVERAGED = tuple(metric.name for metric in METRICS if metric.averaged)
"""The metrics of which means and intervals over seeds make sense."""


def metric(name: str) -> Metric:
    return next(each for each in METRICS if each.name == name)


def complete(counted: Row) -> dict[str, Any]:
    """All metrics of a run in the catalogue's order: those that were counted, and the quotients of them."""
    return {m.name: counted[m.name] if m.quotient is None else m.quotient.value(counted) for m in METRICS}
