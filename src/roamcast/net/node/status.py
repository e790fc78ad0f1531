"""The status of a node: its runner, its store, and its named subscriptions."""

from __future__ import annotations

import msgspec

from roamcast.net.host.status import RunnerStatus
from roamcast.net.keep.store import StoreCounts


class NamedStatus(msgspec.Struct, frozen=True):
    name: str
    filter: str
    behind: int  # how many positions of received events it has not reached


class NodeStatus(RunnerStatus, frozen=True, kw_only=True):
    pid: int
    speed_mps: float | None  # null: not known
    moving: bool
    public: str  # the node's public key in hexadecimal; empty if it has none
    stored: StoreCounts
    delivered_before: int  # deliveries of events that the application has had already
    named: list[NamedStatus]
    rotation: str  # of the group's key over the air, which this node conducts: how far it is; empty if there is none
