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
    I                  the pairs of W whose node did not publish the event, is up at that time, and is in range of
                       the publisher if the event is local
    D                  the pairs of I that have a deliver row; its latency is the time from publish to that row

Rows count in their order in the table, also those with the same time. A quotient whose divisor is zero has no value
(None, null), and neither has a mean or percentile of no values. An event without a publish row (a field test's log may
begin late) counts for neither W nor I.
"""

from __future__ import annotations

from typing import Any

from roamcast.errors import unknown
from roamcast.log.metric import (
    BY_NAME,
    COUNT,
    MEAN,
    OVER_TIME,
    QUOTIENT,
    RANK,
    SHARE,
    SUM,
    Cost,
    Line,
    Metric,
    Quotient,
    Row,
    Term,
    over,
)

GROUPS = {
    "deliveries": "Deliveries",
    "latency": "Latency",
    "losses": "Losses",
    "traffic": "Frames and receptions",
    "unneeded": "Receptions that were not needed",
    "state": "Routing state",
    "energy": "Energy",
    "channel": "Reach and the channel",
    "decisions": "Decisions",
}
"""The sections of tables that people read, in their order."""


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
        "the share of the possible pairs (those that an ideal flood could have served) that were served",
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
        means="frames sent, for each kind of frame",
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
        means="frames sent before the first event was published; all frames, if none was published",
        formula="|send[before the first publish]|",
    ),
    Metric(
        name="warmup_bytes",
        group="traffic",
        unit="bytes",
        kind=SUM,
        means="bytes sent before the first event was published; all bytes, if none was published",
        formula="Σ send[before the first publish].bytes",
    ),
    Metric(
        name="repeats",
        group="traffic",
        unit="frames",
        kind=COUNT,
        means="frames sent again because the addressee did not acknowledge them; they also count as frames sent",
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
        line=Line("overheard", "frames for other nodes that a radio received", needs="overheard"),
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
        means="losses, for each reason: `collision`, `half-duplex`, `loss`, `queue`, `no-ack`",
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
    Metric(
        name="events_published",
        group="channel",
        unit="events",
        kind=COUNT,
        means="events that were published",
        formula="|publish|",
    ),
    Metric(
        name="news",
        group="channel",
        unit="receptions",
        kind=COUNT,
        means="receptions of an event that the node did not have",
        formula="|{(event, node)} of receive, without publishers|",
    ),
    Metric(
        name="reachable",
        group="channel",
        unit="pairs",
        kind=COUNT,
        means="pairs (event, node other than its publisher)",
        formula="|publish| · (nodes − 1)",
    ),
    _quotient(
        "reach",
        "channel",
        SHARE,
        "the share of all other nodes that an event reaches, interested or not",
        over("news", "reachable"),
        line=Line("reach", "of all other nodes, for {events_published} messages", needs="utilisation_mean"),
        column="reach",
        beside="utilisation_mean",
    ),
    _quotient(
        "usefulness",
        "channel",
        SHARE,
        "the share of receptions of events that bring something new",
        over("news", ["news", "duplicates"]),
        line=Line("usefulness", "of receptions of events brought something new", needs="utilisation_mean"),
        column="usefulness",
        beside="utilisation_mean",
    ),
    _quotient(
        "frames_per_event",
        "channel",
        "frames per event",
        "frames of every kind that were sent for each event",
        over("frames_sent", "events_published"),
        line=Line("per message", "frames sent", digits=2, needs="utilisation_mean"),
    ),
    _quotient(
        "retransmissions",
        "channel",
        "frames per event",
        "frames sent again for each event: no relay was heard, or no acknowledgement came",
        over([Term("reasons", "forward: not relayed"), "repeats"], "events_published"),
        line=Line("sent again", "frames per message", digits=2, needs="utilisation_mean"),
        column="sent again",
        beside="utilisation_mean",
    ),
    Metric(
        name="airtime_s_per_hour",
        group="channel",
        unit="s per hour",
        kind=OVER_TIME,
        means="how many seconds of an hour a node sends, mean over nodes",
        formula="3600 · Σ airtime (value) of send and acknowledge rows as far as the run lasted / (nodes · duration)",
        simulated=True,
        line=Line("airtime", "s per node and hour", digits=1, needs="utilisation_mean"),
        column="airtime [s/h]",
        beside="utilisation_mean",
    ),
    Metric(
        name="utilisation_mean",
        group="channel",
        unit=SHARE,
        kind=OVER_TIME,
        means="on LoRa radios: the share of time in which a node sends or receives, mean over nodes",
        formula="Σ over nodes of T + R (see energy) / (nodes · duration)",
        simulated=True,
        line=Line("channel busy", "mean over nodes", needs="utilisation_mean"),
        column="channel busy",
        beside="utilisation_mean",
    ),
    Metric(
        name="utilisation_max",
        group="channel",
        unit=SHARE,
        kind=OVER_TIME,
        means="on LoRa radios: the same of the busiest node",
        formula="max over nodes of T + R (see energy) / duration",
        simulated=True,
        line=Line("", "at the busiest node", needs="utilisation_max"),
        column="busiest node",
        beside="utilisation_mean",
    ),
    Metric(
        name="hops",
        group="channel",
        unit="hops",
        kind=MEAN,
        means="on LoRa radios: how many hops an event had gone when a node first received it, mean over news",
        formula="mean over news of 1 + hops of the sender of its first receive, 0 at the publisher",
        simulated=True,
        line=Line("hops", "until a node has a message, mean", digits=2, needs="hops"),
        column="hops",
        beside="utilisation_mean",
    ),
)
"""All metrics, in the order of the tables' columns."""

BY_SECTION = tuple(metric for group in GROUPS for metric in METRICS if metric.group == group)
"""The same in the order in which people read them."""
AVERAGED = tuple(metric.name for metric in METRICS if metric.averaged)
"""The metrics that have means and intervals over seeds."""


def averaged(name: str) -> Metric:
    """The metric of this name, if it has a mean."""
    if name not in AVERAGED:
        raise unknown("metric", name, AVERAGED)
    return metric(name)


def metric(name: str) -> Metric:
    return next(each for each in METRICS if each.name == name)


def complete(counted: Row) -> dict[str, Any]:
    """All metrics of a run in the catalogue's order: those that were counted, and the quotients of them."""
    return {m.name: counted[m.name] if m.quotient is None else m.quotient.value(counted) for m in METRICS}
