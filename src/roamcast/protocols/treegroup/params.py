"""The parameters of tree groups. The readings (R1 …) are those of `protocol.py`."""

from __future__ import annotations

from dataclasses import dataclass

from roamcast.protocols.kit.interface import Params, param
from roamcast.protocols.treegroup.frames import REACH_MAX
from roamcast.pubsub.bloom import MAX_BITS, MAX_HASHES


@dataclass(frozen=True)
class TreeGroupParams(Params):
    heartbeat_s: float = param(1.0, "time between two heartbeats", "ours (R2)", unit="s", low=0.05, high=3600)
    missed: int = param(3, "heartbeats missed before a neighbour is gone", "ours (R2)", low=1, high=100)
    bits: int = param(1024, "bits of a Bloom bitmap", "ours (R1)", low=1, high=MAX_BITS)
    hashes: int = param(4, "hash functions of a Bloom bitmap", "ours (R1)", low=1, high=MAX_HASHES)
    max_level: int = param(9, "deepest level of a group tree", "Table 1", low=1, high=30)
    preferred_levels: int = param(4, "levels at which a group stops growing", "Table 1", low=1, high=30)
    max_members: int = param(128, "members at which a group stops merging", "ours (R10)", low=2)
    wf1: float = param(0.25, "weighing factor of the power", "ours (R3)", low=0, high=1)
    wf2: float = param(0.25, "weighing factor of the signal strength", "ours (R3)", low=0, high=1)
    wf3: float = param(0.25, "weighing factor of the clustering coefficient", "ours (R3)", low=0, high=1)
    wf4: float = param(0.25, "weighing factor of the dissemination degree", "ours (R3)", low=0, high=1)
    election_s: float = param(4.0, "how long a node with weight 0 waits before it leads", "ours (R7)", unit="s", low=0)
    merge_s: float = param(5.0, "time between two attempts to merge", "ours", unit="s", low=0.1)
    climb: str = param("always", "which events go to the parent", "ours (R4)", choices=("always", "unmatched"))
    local_groups: int = param(1, "how many groups away a local event goes", "ours (R12)", low=0, high=REACH_MAX - 1)
    strangers: str = param(
        "refused",
        "whether nodes other than parent and child may name groups",
        "ours (R20)",
        choices=("refused", "believed"),
    )
    hold_s: float = param(5.0, "how long an event waits for a parent", "ours (R14)", unit="s", low=0)
    held: int = param(16, "events that wait for a parent", "ours", low=0)
    seen: int = param(1024, "events a node remembers", "ours", low=1)
    doubt: bool = param(False, "whether a count that the parent does not reach is given up", "ours (R21)")
