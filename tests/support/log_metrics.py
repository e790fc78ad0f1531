"""The metrics of a run, from its log alone: the reference that every other way of counting is compared with.

`metrics` gives exactly these, for a log of one run at level `frames` or `full`. A quotient whose divisor is zero is
None, and so is a percentile or mean of no values.

    interested         pairs (event, subscriber): the node has a matching subscription when the event is published, did
                       not publish it, is up at that moment, and is near if the event is local
    deliveries         such pairs with a deliver row
    delivery           deliveries / interested
    own                events whose publisher has a matching subscription and is up when it publishes
    reception          (own + deliveries) / (own + interested): the publisher counts as one that has its event
    frames_sent, frames_by_kind, bytes_sent      of send rows
    warmup_frames, warmup_bytes                  the same, before the first publish row (without one: all)
    repeats            repeat rows
    overhead           frames_sent / deliveries
    receptions         distinct (frame, node) of receive rows
    overheard          overhear rows of frames for another
    losses, losses_by_reason, collisions         of lose rows
    duplicates         receive rows of an event that the node published or received in an earlier row
    duplicates_wanted  those at a node that had a matching subscription when the event was published
    parasites          receive rows of an event for which the node had no matching subscription when it was published
    latency_mean_s     publication to first delivery, over counted deliveries
    latency_p50_s, latency_p95_s                 the same, by nearest rank
    reasons            {"kind: label": rows} of forward, suppress, drop, delay and note
    deterministic_hops forward rows labelled "deterministic" / those labelled "deterministic" or "probabilistic"
    memory_entries, memory_bytes                 means over state rows
    events_published   publish rows
    news               receive rows of an event that the node has neither published nor received in an earlier row
    usefulness         news / (news + duplicates)
    frames_per_event   frames_sent / events_published
    retransmissions    (forward rows labelled "not relayed" + repeats) / events_published

Rows count in their order in the table, also those of one instant. An event without a publish row (a field log may begin
late) has no interested nodes and is no parasite.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from roamcast.errors import InputError
from roamcast.log.interest import FAULTS, Audience, PublishedEvent, published_events
from roamcast.log.interest import KINDS as KINDS_OF_INTEREST
from roamcast.log.reader import LogRow
from roamcast.log.schema import DECISIONS, KINDS, OVERHEARD


def metrics(table: pa.Table) -> dict[str, object]:
    if len(pc.unique(table["run"])) > 1:
        raise InputError("metrics are those of one run; the log has several")
    publications = _publications(table)
    sends, losses = _rows(table, "send"), _rows(table, "lose")
    latencies_us = sorted(_first_deliveries(table, publications).values())
    interested = sum(len(publication.interested) for publication in publications.values())
    own = sum(publication.own for publication in publications.values())
    warmup = _rows(_before_the_first(table, "publish"), "send")
    duplicates, duplicates_wanted, parasites = _unneeded(table, publications)
    losses_by_reason = _counts(losses["reason"])
    overheard = _counts(_rows(table, "overhear")["reason"])
    reasons = _reasons(table)
    deterministic, probabilistic = (reasons.get(f"forward: {how}", 0) for how in ("deterministic", "probabilistic"))
    states = _rows(table, "state")
    messages, news = _rows(table, "publish").num_rows, len(_hops(table))
    return {
        "interested": interested,
        "deliveries": len(latencies_us),
        "delivery": _ratio(len(latencies_us), interested),
        "own": own,
        "reception": _ratio(own + len(latencies_us), own + interested),
        "frames_sent": sends.num_rows,
        "frames_by_kind": _counts(sends["reason"]),
        "bytes_sent": _sum(sends["bytes"]),
        "warmup_frames": warmup.num_rows,
        "warmup_bytes": _sum(warmup["bytes"]),
        "repeats": _rows(table, "repeat").num_rows,
        "overhead": _ratio(sends.num_rows, len(latencies_us)),
        "receptions": _rows(table, "receive").group_by(["frame", "node"]).aggregate([]).num_rows,
        "overheard": overheard.get(OVERHEARD[0], 0),
        "losses": losses.num_rows,
        "losses_by_reason": losses_by_reason,
        "collisions": losses_by_reason.get("collision", 0),
        "duplicates": duplicates,
        "duplicates_wanted": duplicates_wanted,
        "parasites": parasites,
        "latency_mean_s": _mean_s(latencies_us),
        "latency_p50_s": _percentile_s(latencies_us, 50),
        "latency_p95_s": _percentile_s(latencies_us, 95),
        "reasons": reasons,
        "deterministic_hops": _ratio(deterministic, deterministic + probabilistic),
        "memory_entries": _ratio(_sum(states["value"]), states.num_rows),
        "memory_bytes": _ratio(_sum(states["bytes"]), states.num_rows),
        "events_published": messages,
        "news": news,
        "usefulness": _ratio(news, news + duplicates),
        "frames_per_event": _ratio(sends.num_rows, messages),
        "retransmissions": _ratio(reasons.get("forward: not relayed", 0) + _rows(table, "repeat").num_rows, messages),
    }


def channel(table: pa.Table, nodes: int, duration_s: float, lora: bool) -> dict[str, float | None]:
    """reach, reachable, airtime_s_per_hour and, of LoRa radios, utilisation_mean, utilisation_max and hops."""
    messages = _rows(table, "publish").num_rows
    tx_s = _sending_s(_rows(table, "send", "acknowledge"), nodes, duration_s)
    busy = tx_s + _receiving_s(table, nodes)
    ways = _hops(table)
    return {
        "reachable": messages * (nodes - 1),
        "reach": _ratio(len(ways), messages * (nodes - 1)),
        "airtime_s_per_hour": 3600.0 * float(tx_s.mean()) / duration_s,
        "utilisation_mean": float(busy.mean()) / duration_s if lora else None,
        "utilisation_max": float(busy.max()) / duration_s if lora else None,
        "hops": _ratio(sum(ways), len(ways)) if lora else None,
    }


def _hops(table: pa.Table) -> list[int]:
    """Of each reception that brought something new."""
    came: dict[tuple[int, int], int] = {}
    new: list[int] = []
    for row in _rows(table, "publish", "receive").to_pylist():
        pair = row["event"], row["node"]
        if row["kind"] == "publish":
            came[pair] = 0
        elif row["event"] and pair not in came:
            came[pair] = came.get((row["event"], row["peer"]), 0) + 1
            new.append(came[pair])
    return new


def energy(
    table: pa.Table, nodes: int, duration_s: float, tx_w: float, rx_w: float, idle_w: float, sleep_w: float
) -> list[float]:
    """Joules that each node used.

    A radio sends for the airtime of its send and acknowledge rows, as far as the run lasted, and receives for the
    airtime of its receptions, of overheard frames, and of the losses in lose rows. Of a frame that began before the
    last one ended, only the part after that counts. It sleeps from sleep to wake, uses nothing from crash to recover
    (asleep or not), and idles for the rest of the run.
    """
    tx_s = _sending_s(_rows(table, "send", "acknowledge"), nodes, duration_s)
    rx_s = _receiving_s(table, nodes)
    asleep_s, off_s = _absences_s(table, nodes, duration_s)
    idle_s = duration_s - tx_s - rx_s - asleep_s - off_s
    joules: list[float] = (tx_w * tx_s + rx_w * rx_s + idle_w * idle_s + sleep_w * asleep_s).tolist()
    return joules


# ----------------------------------------------------------------------------------------------------- interested nodes


def _publications(table: pa.Table) -> dict[int, PublishedEvent]:
    return published_events(LogRow(*row.values()) for row in _rows(table, *KINDS_OF_INTEREST).to_pylist())


# ------------------------------------------------------------------------------------------- deliveries, copies,
# reasons


def _first_deliveries(table: pa.Table, publications: dict[int, PublishedEvent]) -> dict[tuple[int, int], int]:
    """Latency in microseconds of each counted pair (event, node)."""
    latencies_us: dict[tuple[int, int], int] = {}
    for row in _rows(table, "deliver").to_pylist():
        publication = publications.get(row["event"])
        if publication is not None and row["node"] in publication.interested:
            latencies_us.setdefault((row["event"], row["node"]), row["t"] - publication.t_us)
    return latencies_us


def _unneeded(table: pa.Table, publications: dict[int, PublishedEvent]) -> tuple[int, int, int]:
    """(duplicates, those at nodes with a matching subscription, parasites)."""
    heard = _rows(table, "receive").filter(pc.field("event") != 0)
    by_pair = heard.group_by(["event", "node"]).aggregate([([], "count_all")])
    duplicates = duplicates_wanted = parasites = 0
    for pair in by_pair.to_pylist():
        publication = publications.get(pair["event"])
        own = publication is not None and publication.publisher == pair["node"]
        again = pair["count_all"] - (0 if own else 1)
        duplicates += again
        if publication is not None and pair["node"] in publication.subscribers:
            duplicates_wanted += again
        elif publication is not None:
            parasites += pair["count_all"]
    return duplicates, duplicates_wanted, parasites


def _reasons(table: pa.Table) -> dict[str, int]:
    decisions = _rows(table, *(KINDS[code] for code in DECISIONS))
    counted = decisions.group_by(["kind", "reason"]).aggregate([([], "count_all")]).to_pylist()
    return dict(sorted((f"{row['kind']}: {row['reason']}", row["count_all"]) for row in counted))


# ------------------------------------------------------------------------------------------------------------ energy


def _sending_s(sends: pa.Table, nodes: int, duration_s: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    left_us = round(duration_s * 1e6) - sends["t"].to_numpy()
    total_us = np.zeros(nodes, np.int64)
    np.add.at(total_us, sends["node"].to_numpy(), np.minimum(sends["value"].to_numpy(), left_us))
    return total_us / 1e6


def _receiving_s(table: pa.Table, nodes: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Rows come when a frame ends. Of a frame that began before the last one ended, only the part after that counts."""
    heard = _rows(table, "receive", "lose", "overhear").filter((pc.field("value") > 0) & (pc.field("bytes") > 0))
    node, value, end = (heard[name].to_numpy() for name in ("node", "value", "t"))
    order = np.argsort(node, kind="stable")  # and by time, as the rows are
    node, value, end = node[order], value[order], end[order]
    follows = np.zeros(len(node), bool)
    follows[1:] = node[1:] == node[:-1]
    before = np.where(follows, np.concatenate([[0], end[:-1]]) if len(end) else end, 0)
    total_us = np.zeros(nodes, np.int64)
    np.add.at(total_us, node, end - np.maximum(end - value, before))
    return total_us / 1e6


def _absences_s(table: pa.Table, nodes: int, duration_s: float) -> tuple[Any, Any]:
    """Seconds that each node slept, and that it was down; a node that is down does not sleep."""
    asleep_s, off_s = np.zeros(nodes), np.zeros(nodes)
    audience = Audience()
    since_s = np.zeros(nodes)

    def add_time(node: int, t_s: float) -> None:
        if node in audience.crashed:
            off_s[node] += t_s - since_s[node]
        elif node in audience.asleep:
            asleep_s[node] += t_s - since_s[node]
        since_s[node] = t_s

    for row in _rows(table, *FAULTS).to_pylist():
        add_time(row["node"], row["t"] / 1e6)
        audience.fault(row["node"], row["kind"])
    for node in range(nodes):
        add_time(node, duration_s)
    return asleep_s, off_s


# -------------------------------------------------------------------------------------------------------- arithmetic


def _rows(table: pa.Table, *kinds: str) -> pa.Table:
    return table.filter(pc.is_in(table["kind"].cast(pa.string()), pa.array(kinds, pa.string())))


def _before_the_first(table: pa.Table, kind: str) -> pa.Table:
    """All rows, if there is none of that kind."""
    first = pc.index(table["kind"].cast(pa.string()), kind).as_py()
    return table if first < 0 else table.slice(0, first)


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    return dict(sorted(Counter(column.to_pylist()).items()))


def _sum(column: pa.ChunkedArray) -> int:
    total: int = pc.sum(column.cast(pa.int64()), min_count=0).as_py()
    return total


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean_s(values_us: list[int]) -> float | None:
    return sum(values_us) / len(values_us) / 1e6 if values_us else None


def _percentile_s(ordered_us: list[int], percent: int) -> float | None:
    """By nearest rank: the smallest that at least `percent` % do not exceed."""
    if not ordered_us:
        return None
    return ordered_us[-(-len(ordered_us) * percent // 100) - 1] / 1e6
