"""The run's scribe: everything that happens is told to it once, and it does three things with it.

It counts (the tally: the metrics of the run, see `Tally.metrics`), it writes rows to the log if the level asks for
them, and it keeps the run's fingerprint. The same calls feed all three, and tests hold the tally equal to what
is computed from the rows alone.

The fingerprint is a BLAKE2b digest over every publication, every transmission with its number of receivers, and every
delivery, in order. It does not depend on the level.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any, Final, final

from librt.strings import BytesWriter, write_i64_le
from librt.vecs import append, vec
from mypy_extensions import i32, i64

from roamcast.log import schema
from roamcast.log.writer import LogSink
from roamcast.protocols.kit.interface import Frame, reason_count, reason_kind, reason_label
from roamcast.pubsub.event import SCOPES, Event
from roamcast.pubsub.filters import Filter

# What is known of an event at a node, in one number, ordered so that one comparison finds the common case.
WANTED: Final = 1  # has a matching subscription
PAIRED: Final = 2  # counts as an interested live subscriber
DELIVERED: Final = 4
MUTED: Final = 8
HAS: Final = 16  # published or received it
SETTLED: Final = HAS | MUTED  # and above: another copy need only be counted
HEARD: Final = 32  # one frame heard since it was muted; the count is in the bits from here on

COLLISION: Final = 0
HALF_DUPLEX: Final = 1
LOSS: Final = 2
QUEUE: Final = 3
NO_ACK: Final = 4

FOR_ANOTHER: Final = 0
REPETITION: Final = 1
ACKNOWLEDGEMENT: Final = 2

BLOCK: Final = 1 << 12
NODE_BITS: Final = 20
MIX: Final = (1 << 40) - 1


@final
class Published:
    """An event in the network, and what each node has to do with it."""

    __slots__ = ("at", "id", "marks")

    def __init__(self, id: int, at: i64, marks: vec[i32]) -> None:
        self.id = id
        self.at = at
        self.marks = marks

    def unmute(self, node: i64) -> None:
        self.marks[node] &= HAS | WANTED | PAIRED | DELIVERED


@final
class Power:
    """Watts in each state of the radio, and joules in a full battery."""

    def __init__(self, tx_w: float, rx_w: float, idle_w: float, sleep_w: float, battery_j: float) -> None:
        self.tx_w = tx_w
        self.rx_w = rx_w
        self.idle_w = idle_w
        self.sleep_w = sleep_w
        self.battery_j = battery_j

    def joules(self, total_us: i64, tx_us: i64, rx_us: i64, asleep_us: i64, off_us: i64) -> float:
        idle_us = total_us - tx_us - rx_us - asleep_us - off_us
        return 1e-6 * (
            self.tx_w * float(tx_us)
            + self.rx_w * float(rx_us)
            + self.idle_w * float(idle_us)
            + self.sleep_w * float(asleep_us)
        )


@final
class Recorder:
    __slots__ = (
        "block",
        "by_reason",
        "bytes_sent",
        "current",
        "deliveries",
        "duplicates",
        "duplicates_wanted",
        "frames_sent",
        "hash",
        "interested",
        "kind",
        "kind_at",
        "kind_counts",
        "kinds",
        "latencies",
        "log_deliveries",
        "log_frames",
        "log_moves",
        "losses",
        "mix",
        "nodes",
        "overheard",
        "own",
        "parasites",
        "power",
        "published",
        "receptions",
        "records",
        "repeats",
        "rx_us",
        "samples",
        "sink",
        "state_bytes",
        "state_entries",
        "template",
        "template_for",
        "warmup_bytes",
        "warmup_frames",
    )

    def __init__(self, nodes: int, level: str, sink: LogSink, power: Power) -> None:
        held = schema.kinds_at(level)
        self.nodes = nodes
        self.sink = sink
        self.power = power
        self.log_deliveries = schema.DELIVER in held
        self.log_frames = schema.SEND in held
        self.log_moves = schema.MOVE in held
        self.published: dict[int, Published] = {}
        self.records: list[Published] = []  # the same, by the events' handles (a copy that a codec made has none)
        self.current: Published | None = None  # the one a frame was handed up with last
        self.template = vec[i32]([0] * nodes)
        self.template_for: list[int] = []
        # the tally
        self.interested: i64 = 0
        self.own: i64 = 0
        self.deliveries: i64 = 0
        self.frames_sent: i64 = 0
        self.bytes_sent: i64 = 0
        self.repeats: i64 = 0
        self.warmup_frames: i64 = 0
        self.warmup_bytes: i64 = 0
        self.receptions: i64 = 0
        self.overheard: i64 = 0
        self.rx_us: i64 = 0  # receivers' time that is on no station's account
        self.duplicates: i64 = 0
        self.duplicates_wanted: i64 = 0
        self.parasites: i64 = 0
        self.losses = vec[i64]([0] * len(schema.LOSSES))
        self.kind = ""  # of the last frame, …
        self.kind_at: i64 = 0  # … and its place among
        self.kinds: list[str] = []  # all of them …
        self.kind_counts = vec[i64]()  # … and how many were sent
        self.by_reason = vec[i64]([0] * reason_count())
        self.latencies = vec[i64]()
        self.samples: i64 = 0
        self.state_entries: i64 = 0
        self.state_bytes: i64 = 0
        # the fingerprint
        self.hash: Any = blake2b(digest_size=16)
        self.mix: i64 = 0
        self.block = BytesWriter()

    # ---- the fingerprint

    def stamp(self, t: i64, node: i64, what: i64) -> None:
        """One more thing that happened; deliveries since the one before are folded into `mix`."""
        block = self.block
        write_i64_le(block, t << NODE_BITS | node)
        write_i64_le(block, what)
        write_i64_le(block, self.mix)
        if len(block) >= BLOCK:
            self.hash.update(block.getvalue())
            self.block = BytesWriter()

    def fingerprint(self) -> str:
        last = BytesWriter()
        write_i64_le(last, self.mix)
        whole = self.hash.copy()
        whole.update(self.block.getvalue() + last.getvalue())
        digest: str = whole.hexdigest()
        return digest

    # ---- publications and deliveries

    def publish(self, t: i64, node: i64, event: Event, wanting: list[int], paired: list[int], near: list[int]) -> None:
        """`wanting` have a matching subscription. `paired` of them count as interested live subscribers, except the
        publisher: if it is one of these, the event is its own."""
        if not self.records:
            self.warmup_frames = self.frames_sent
            self.warmup_bytes = self.bytes_sent
        marks = self.fresh_marks(wanting)
        if paired is not wanting:  # some are down, or too far away for a local event
            for i in wanting:
                marks[i] = WANTED
            for i in paired:
                marks[i] = WANTED | PAIRED
        own = 1 if marks[node] & PAIRED else 0
        pairs = len(paired) - own
        marks[node] = (marks[node] & WANTED) | HAS
        self.interested += pairs
        self.own += own
        event.handle = len(self.records)
        record = Published(event.id, t, marks)
        self.records.append(record)
        self.published[event.id] = record
        self.stamp(t, node, event.id)
        self.stamp(t, node, pairs)
        if self.log_deliveries:
            content: dict[str, object] = {"topic": event.topic, "scope": SCOPES[event.scope], "attrs": event.attrs}
            if event.scope:
                content["near"] = near
            text = json.dumps(content, separators=(",", ":"))
            self.sink.row(t, node, schema.PUBLISH, event.id, 0, -1, event.size, event.validity_us, text)

    def fresh_marks(self, wanting: list[int]) -> vec[i32]:
        """Of an event that everybody in `wanting` is to get. One event's are often the same as the last one's."""
        if wanting is not self.template_for:
            template: vec[i32] = vec[i32]([0] * self.nodes)
            for i in wanting:
                template[i] = WANTED | PAIRED
            self.template = template
            self.template_for = wanting
        return self.template[:]

    def find(self, id: int) -> Published | None:
        current = self.current
        if current is not None and current.id == id:
            return current
        return self.published.get(id)

    def record(self, event: Event) -> Published | None:
        return self.records[event.handle] if event.handle >= 0 else self.published.get(event.id)

    def deliver(self, t: i64, node: i64, event: Event) -> None:
        self.mix = (self.mix * 1_000_003 + (node << 20) + event.id) & MIX
        published = self.record(event)
        if published is not None:
            mark = published.marks[node]
            if mark & (PAIRED | DELIVERED) == PAIRED:
                self.deliveries += 1
                self.latencies = append(self.latencies, t - published.at)
            published.marks[node] = mark | DELIVERED
        if self.log_deliveries:
            self.sink.row(t, node, schema.DELIVER, event.id, 0, -1, 0, 0, "")

    def subscribe(self, t: i64, node: i64, subscription: int, filter: Filter) -> None:
        if self.log_deliveries:
            self.sink.row(t, node, schema.SUBSCRIBE, subscription, 0, -1, 0, 0, str(filter))

    # ---- frames

    def count_kind(self, kind: str) -> None:
        """Kinds are few and constants, and one is often that of the frame before."""
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

    def write_sent(self, t: i64, node: i64, frame: Frame, serial: i64, to: i64, size: i64, airtime: i64) -> None:
        self.sink.row(t, node, schema.SEND, first_event(frame), serial, to, size, airtime, frame.kind)

    def repeated(self, t: i64, node: i64, frame: Frame, serial: i64, to: i64) -> None:
        """What was just sent had been on the air before."""
        self.repeats += 1
        if self.log_frames:
            self.sink.row(t, node, schema.REPEAT, first_event(frame), serial, to, 0, 0, "")

    def received(self, t: i64, node: i64, frame: Frame, serial: i64, sender: i64, size: i64, airtime: i64) -> None:
        """The row, or rows, of a reception; `heard_event` counts it."""
        event = first_event(frame)
        self.sink.row(t, node, schema.RECEIVE, event, serial, sender, size, airtime, frame.kind)
        if frame.id == 0:
            for other in frame.events()[1:]:
                self.sink.row(t, node, schema.RECEIVE, other.id, serial, sender, 0, airtime, frame.kind)

    def heard_event(self, published: Published, node: i64) -> None:
        """An event arrived at a node, in whatever frame: is it one it had, or one it does not want?"""
        mark = published.marks[node]
        if mark & HAS:
            self.duplicates += 1
        else:
            published.marks[node] = mark | HAS
        if mark & WANTED == 0:
            self.parasites += 1
        elif mark & HAS:
            self.duplicates_wanted += 1

    def lost(
        self, t: i64, node: i64, frame: Frame, serial: i64, sender: i64, size: i64, why: i64, airtime: i64
    ) -> None:
        self.losses[why] += 1
        if self.log_frames:
            self.write_loss(t, node, frame, serial, sender, size, why, airtime)

    def write_loss(
        self, t: i64, node: i64, frame: Frame, serial: i64, sender: i64, size: i64, why: i64, airtime: i64
    ) -> None:
        """`airtime` is what the receiver's radio spent on it: nothing, if it never locked on to the frame."""
        event = first_event(frame)
        self.sink.row(t, node, schema.LOSE, event, serial, sender, size, airtime, schema.LOSSES[why])

    def overhear(
        self, t: i64, node: i64, frame: Frame | None, serial: i64, sender: i64, size: i64, why: i64, airtime: i64
    ) -> None:
        """A radio took in what the protocol will not see. An acknowledgement has no frame."""
        if why == FOR_ANOTHER:
            self.overheard += 1
        if self.log_frames:
            event = 0 if frame is None else first_event(frame)
            self.sink.row(t, node, schema.OVERHEAR, event, serial, sender, size, airtime, schema.OVERHEARD[why])

    def acknowledge(self, t: i64, node: i64, to: i64, size: i64, airtime: i64) -> None:
        if self.log_frames:
            self.sink.row(t, node, schema.ACKNOWLEDGE, 0, 0, to, size, airtime, "")

    # ---- decisions and states

    def expect_reasons(self) -> None:
        """Room to count every reason that is declared by now: the run's protocol is loaded."""
        self.by_reason = vec[i64]([0] * reason_count())

    def write_note(self, t: i64, node: i64, reason: int, event: int, peer: int, value: int) -> None:
        kind = schema.kind_code(reason_kind(reason))
        self.sink.row(t, node, kind, event, 0, peer, 0, value, reason_label(reason))

    def state(self, t: i64, node: i64, entries: int, size: int) -> None:
        """A sample of a node's routing state."""
        self.samples += 1
        self.state_entries += entries
        self.state_bytes += size
        if self.log_deliveries:
            self.sink.row(t, node, schema.STATE, 0, 0, -1, size, entries, "")

    def fault(self, t: i64, node: i64, kind: int) -> None:
        if self.log_deliveries:
            self.sink.row(t, node, kind, 0, 0, -1, 0, 0, "")

    def moved(self, t: i64, node: i64, end: i64, text: str) -> None:
        if self.log_moves:
            self.sink.row(t, node, schema.MOVE, 0, 0, -1, 0, end, text)

    def battery(self, now: i64, tx_us: i64, rx_us: i64, asleep_us: i64, off_us: i64) -> float:
        left = 1.0 - self.power.joules(now, tx_us, rx_us, asleep_us, off_us) / self.power.battery_j
        return left if left > 0.0 else 0.0

    # ---- what it comes to

    def metrics(self) -> dict[str, object]:
        """What the run counted, under the names of the catalogue, which adds the quotients (catalogue.py)."""
        latencies = sorted(self.latencies)
        why = {schema.LOSSES[k]: int(n) for k, n in enumerate(self.losses) if n}
        began = len(self.records) > 0
        return {
            "deliveries": int(self.deliveries),
            "interested": int(self.interested),
            "own": int(self.own),
            "frames_sent": int(self.frames_sent),
            "frames_by_kind": {kind: int(n) for kind, n in sorted(zip(self.kinds, self.kind_counts, strict=True))},
            "bytes_sent": int(self.bytes_sent),
            "warmup_frames": int(self.warmup_frames if began else self.frames_sent),
            "warmup_bytes": int(self.warmup_bytes if began else self.bytes_sent),
            "repeats": int(self.repeats),
            "receptions": int(self.receptions),
            "overheard": int(self.overheard),
            "losses": sum(why.values()),
            "losses_by_reason": why,
            "collisions": why.get("collision", 0),
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


def first_event(frame: Frame) -> int:
    if frame.id != 0:
        return frame.id
    events = frame.events()
    return events[0].id if events else 0


def ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def mean(microseconds: list[i64]) -> float | None:
    """In seconds. The sum is exact, so that every way of counting comes to the same bits."""
    return sum(int(us) for us in microseconds) / len(microseconds) / 1e6 if microseconds else None


def percentile(ordered: list[i64], percent: int) -> float | None:
    """By nearest rank, in seconds, from microseconds in order."""
    if not ordered:
        return None
    return int(ordered[-(-len(ordered) * percent // 100) - 1]) / 1e6
