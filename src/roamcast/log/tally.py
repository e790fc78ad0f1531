"""The counts of a run while it goes on, and the metrics that follow from them.

Tests compare them with the metrics computed from the rows alone.
"""

from __future__ import annotations

from typing import final

from librt.vecs import append, vec
from mypy_extensions import i64

from roamcast.log import schema
from roamcast.protocols.kit.interface import reason_count, reason_kind, reason_label


@final
class Tally:
    __slots__ = (
        "began",
        "by_reason",
        "bytes_sent",
        "duplicates",
        "duplicates_wanted",
        "frames_sent",
        "interested",
        "kind",
        "kind_at",
        "kind_counts",
        "kinds",
        "latencies",
        "losses",
        "messages",
        "news",
        "overheard",
        "own",
        "parasites",
        "receptions",
        "repeats",
        "samples",
        "state_bytes",
        "state_entries",
        "warmup_bytes",
        "warmup_frames",
    )

    def __init__(self) -> None:
        self.began = False  # whether an event was published
        self.interested: i64 = 0
        self.own: i64 = 0
        self.frames_sent: i64 = 0
        self.bytes_sent: i64 = 0
        self.repeats: i64 = 0
        self.warmup_frames: i64 = 0
        self.warmup_bytes: i64 = 0
        self.receptions: i64 = 0
        self.overheard: i64 = 0
        self.messages: i64 = 0
        self.news: i64 = 0  # receptions of an event that the node did not have
        self.duplicates: i64 = 0
        self.duplicates_wanted: i64 = 0
        self.parasites: i64 = 0
        self.losses = vec[i64]([0] * len(schema.LOSSES))
        self.kind = ""  # of the last frame, …
        self.kind_at: i64 = 0  # … and its place among
        self.kinds: list[str] = []  # all of them …
        self.kind_counts = vec[i64]()  # … and how many were sent
        self.by_reason = vec[i64]([0] * reason_count())
        self.latencies = vec[i64]()  # of each delivery
        self.samples: i64 = 0
        self.state_entries: i64 = 0
        self.state_bytes: i64 = 0

    def published(self, pairs: i64, own: i64) -> None:
        """An event that interests `pairs` live nodes except its publisher, and its publisher if `own` is 1."""
        if not self.began:
            self.began = True
            self.warmup_frames = self.frames_sent
            self.warmup_bytes = self.bytes_sent
        self.messages += 1
        self.interested += pairs
        self.own += own

    def sent(self, kind: str, size: i64) -> None:
        """There are few kinds, all constants, and a frame is often of the same kind as the one before."""
        self.frames_sent += 1
        self.bytes_sent += size
        if kind is not self.kind:
            self.kind = kind
            self.kind_at = self.place_of(kind)
        self.kind_counts[self.kind_at] += 1

    def place_of(self, kind: str) -> i64:
        for k, known in enumerate(self.kinds):
            if known is kind:
                return k
        if kind not in self.kinds:
            self.kinds.append(kind)
            self.kind_counts = append(self.kind_counts, 0)
        return self.kinds.index(kind)

    def copies_arrived(self, got: i64, fresh: i64, unwanted: i64, fresh_unwanted: i64) -> None:
        """An event arrived at `got` nodes: new at some, not wanted by some, and both at some."""
        self.news += fresh
        self.duplicates += got - fresh
        self.duplicates_wanted += got - fresh - (unwanted - fresh_unwanted)
        self.parasites += unwanted

    def sampled(self, entries: i64, size: i64) -> None:
        """The routing state of a node."""
        self.samples += 1
        self.state_entries += entries
        self.state_bytes += size

    def expect_reasons(self) -> None:
        """Make room to count every declared reason; called after the run's protocol is loaded."""
        self.by_reason = vec[i64]([0] * reason_count())

    def metrics(self) -> dict[str, object]:
        """The counts of the run under the names of the catalogue, which adds the quotients (catalogue.py)."""
        latencies = sorted(self.latencies)
        why = {schema.LOSSES[k]: int(n) for k, n in enumerate(self.losses) if n}
        return {
            "deliveries": len(latencies),
            "interested": int(self.interested),
            "own": int(self.own),
            "frames_sent": int(self.frames_sent),
            "frames_by_kind": {kind: int(n) for kind, n in sorted(zip(self.kinds, self.kind_counts, strict=True))},
            "bytes_sent": int(self.bytes_sent),
            "warmup_frames": int(self.warmup_frames if self.began else self.frames_sent),
            "warmup_bytes": int(self.warmup_bytes if self.began else self.bytes_sent),
            "repeats": int(self.repeats),
            "receptions": int(self.receptions),
            "overheard": int(self.overheard),
            "losses": sum(why.values()),
            "losses_by_reason": why,
            "collisions": why.get("collision", 0),
            "events_published": int(self.messages),
            "news": int(self.news),
            "duplicates": int(self.duplicates),
            "duplicates_wanted": int(self.duplicates_wanted),
            "parasites": int(self.parasites),
            "latency_mean_s": mean(latencies),
            "latency_p50_s": percentile(latencies, 50),
            "latency_p95_s": percentile(latencies, 95),
            "reasons": self.reasons(),
            "memory_entries": ratio(self.state_entries, self.samples),
            "memory_bytes": ratio(self.state_bytes, self.samples),
        }

    def reasons(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for code, n in enumerate(self.by_reason):
            if n:
                name = f"{reason_kind(code)}: {reason_label(code)}"
                counts[name] = counts.get(name, 0) + int(n)
        return dict(sorted(counts.items()))


def ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def mean(microseconds: list[i64]) -> float | None:
    """The mean in seconds. The sum is exact, so that every way of counting gives the same bits."""
    return sum(int(us) for us in microseconds) / len(microseconds) / 1e6 if microseconds else None


def percentile(ordered: list[i64], percent: int) -> float | None:
    """By nearest rank, in seconds, from microseconds in order."""
    if not ordered:
        return None
    return int(ordered[-(-len(ordered) * percent // 100) - 1]) / 1e6
