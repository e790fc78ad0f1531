"""What a running node shows of itself, as plain data."""

from __future__ import annotations

import msgspec


class Neighbour(msgspec.Struct, frozen=True):
    node: int
    address: str
    silent_s: float
    frames: int
    bytes: int


class RunnerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a runner now, and the counts since it was made."""

    node: int
    protocol: str
    secure: bool
    keys: list[str]  # ids, oldest first
    sending_key: str
    network: bool  # whether there is one
    up_s: float
    neighbours: list[Neighbour]  # the one heard last comes first
    subscriptions: dict[int, str]
    queue: int
    timers: int
    airtime_s: float
    routing_entries: int
    routing_bytes: int
    decisions: dict[str, int]  # by kind and reason
    datagrams_in: int
    datagrams_out: int
    bytes_in: int
    bytes_out: int
    frames_in: int
    frames_out: int
    echoes: int
    acks_in: int
    acks_out: int
    retries: int
    muted: int
    delivered: int
    published: int
    dropped: dict[str, int]  # by reason (net/refusal.py)
