"""The parameters of frugal dissemination. The readings (R1 …) are those of `protocol.py`."""

from __future__ import annotations

from dataclasses import dataclass

from roamcast.protocols.frugal.frames import MOST
from roamcast.protocols.kit.interface import Params, param


@dataclass(frozen=True)
class FrugalParams(Params):
    x: float = param(40.0, "heartbeat delay times average speed", "§5.1", unit="m", low=0.001)
    hb2bo: float = param(2.0, "HB2BO, heartbeat delay over back-off for one event", "§5.1", low=0.001)
    hb2ngc: float = param(2.5, "HB2NGC, neighbourhood collection delay over heartbeat delay", "§5.1", low=1.0)
    hb_initial_s: float = param(15.0, "HBDelay before any heartbeat was heard", "Fig. 4", unit="s", low=0.001)
    hb_upper_s: float = param(1.0, "heartbeat upper bound", "§5.1; 1 to 5 s in Fig. 13", unit="s", low=0.001)
    hb_lower_s: float = param(0.1, "heartbeat lower bound", "ours; in Fig. 8, without a value", unit="s", low=0.001)
    ids_on: str = param(
        "heartbeat", "what makes a node send its ids", "Fig. 6; §4.2 (R3)", choices=("new", "heartbeat")
    )
    need: str = param(
        "presumed",
        "which neighbours lack events: all not known to have them, or only those that have sent a list of ids",
        "Fig. 7; §3 (R20)",
        choices=("presumed", "listed"),
    )
    repair: bool = param(
        False, "lists of ids follow heartbeats, and correct what neighbours were presumed to have", "ours (R21)"
    )
    jitter_ms: float = param(
        10.0, "longest random delay on top of answers and back-offs", "ours (R17)", unit="ms", low=0.0
    )
    events_table_size: int = param(100, "events held", "ours; bounded in §4.1", low=1, high=MOST)
    neighbors_limit: int = param(256, "neighbours held", "ours; bounded in §3", low=1, high=1024)
    ids_limit: int = param(512, "most ids of events known only from neighbours", "ours", low=1)
    seen_limit: int = param(4096, "ids of events that are not delivered again", "ours (R12)", low=1)
    frame_limit: int = param(2304, "events in one frame", "ours; IEEE 802.11", unit="B", low=1, high=32_000)
    sizes: str = param("wire", "frame sizes: as encoded, or as in §5.2", "ours; §5.2 (R19)", choices=("wire", "paper"))

    def __post_init__(self) -> None:
        if self.hb_lower_s > self.hb_upper_s:
            raise ValueError(f"hb_lower_s ({self.hb_lower_s:g}) must not be above hb_upper_s ({self.hb_upper_s:g})")
