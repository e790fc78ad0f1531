"""The parameters of roam, and the times that follow from them and from the airtimes of a node's medium."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from roamcast.protocols.kit.echo import RETRIES
from roamcast.protocols.kit.interface import Host, Params, param
from roamcast.pubsub.event import LOCAL, Event

SUMMARY_BYTES: Final = 20
LIST_BYTES: Final = 200
"""A usual summary and a usual list, for their airtimes."""
FRESH: Final = 4
"""For this many of the longest intervals an event is as good as new."""
LAST: Final = 8
"""An event that expires within this many of the longest intervals (of those with effort 1) does not get far by
summaries (M18)."""
CHANCES: Final = 16
"""While an event is valid, so many intervals begin at least, or as few as `effort` and the shortest interval leave."""
LITTLE: Final = 0.2
"""Below this effort the flood gets thinner, and who wants more events than it brings asks for them (M15)."""
GONE: Final = 8
"""After a silence of so many of the longest intervals, a neighbour is gone: in a crowd, one that agrees speaks in every
fourth of them, and one such frame may be lost."""
WANTS_GONE: Final = 7
"""The same with little effort, in intervals of wants: they double twice, and are up to half as long again."""
BURST_SHARE: Final = 4
"""A pause lasts this many times longer than the burst before it, so that others get the medium."""


@dataclass(frozen=True)
class RoamParams(Params):
    effort: float = param(1.0, "air that is spent for speed and certainty", "ours (M9)", low=0.01, high=10.0)
    copies: int = param(2, "copies received that make another one useless", "Ni et al. 1999", low=1, high=100)
    delay: float = param(28.0, "longest delay before an event is forwarded, in airtimes", "ours (M1)", low=0.0)
    delay_ms: float = param(40.0, "the same, at least", "ours (M1)", unit="ms", low=0.0)
    interval: float = param(250.0, "shortest interval of summaries, in airtimes", "ours (M1)", low=1.0)
    interval_s: float = param(0.5, "the same, at least", "ours (M1)", unit="s", low=0.01)
    doublings: int = param(2, "how often an interval doubles", "RFC 6206, Imax", low=0, high=20)
    enough: int = param(2, "equal summaries heard that make another one useless", "RFC 6206, k", low=1, high=100)
    fresh_s: float = param(10.0, "age up to which late events are flooded; 0: never", "ours (M4)", unit="s", low=0.0)
    answer: float = param(6.0, "longest delay before lists and missing events, in airtimes", "ours (M1)", low=0.0)
    answer_ms: float = param(50.0, "the same, at least", "ours (M1)", unit="ms", low=0.0)
    burst: int = param(4, "frames of missing events at a time", "ours", low=1, high=100)
    local_hops: int = param(7, "hops that local events go", "ours (M7)", low=1, high=255)
    local_copies: int = param(4, "copies received that make another one of a local event useless", "ours (M7)", low=1)
    frame_limit: int = param(1200, "events or ids in a frame", "ours: a datagram", unit="B", low=64, high=32_000)
    store: int = param(10_000, "most events that a node holds", "ours", low=1, high=1_000_000)
    store_kib: int = param(16_384, "most content that a node holds", "ours", unit="KiB", low=1)
    seen_limit: int = param(65_536, "ids of events that are not delivered again", "ours", low=1)
    crowd: int = param(12, "neighbours beyond which delays grow; 0: they do not count", "ours (M13)", low=0)
    signal: float = param(
        0.5, "share of that delay that the signal decides, if it is measured", "ours (M14)", low=0.0, high=1.0
    )
    retries: int = param(
        RETRIES,
        "how often a publisher that hears no relay sends again, where the medium orders relays",
        "Meshtastic (M16)",
        low=0,
        high=255,
    )
    p: float = param(1.0, "probability of forwarding a new event at all", "ours: gossip has others", low=0.0, high=1.0)
    busy: float = param(
        0.25, "share of busy time above which nothing is compared", "Meshtastic holds positions back (M12)", low=0.0
    )
    pauses: bool = param(True, "pauses between sendings of the same event double", "ours (M5)")
    singles: bool = param(True, "a difference of one event is mended without a list", "ours (M11)")
    interest: bool = param(True, "with little effort, who wants events asks for them", "ours (M15)")
    turns: bool = param(True, "one list at a time, and none while missing events are being sent", "ours (M17)")
    urgent: bool = param(True, "events that expire soon are flooded, and compared in time", "ours (M18)")
    compared: int = param(1_000_000, "ids compared with lists in a second", "ours (M10)", unit="1/s", low=1)


@final
class Pace:
    """All times of a node, from its parameters and the airtimes of its medium (M1, M9)."""

    def __init__(self, host: Host, params: RoamParams) -> None:
        self.host = host
        self.params = params
        usual_us = max(1e6 * params.interval_s, params.interval * host.airtime(SUMMARY_BYTES))
        self.choosy = params.interest and params.effort < LITTLE  # M15
        little = max(LITTLE, min(1.0, params.effort))
        self.little = little
        self.want_us = round(usual_us / params.effort)
        self.shortest_us = self.want_us // 2 if self.choosy else round(usual_us / (params.effort * little))
        self.longest_us = self.shortest_us << params.doublings
        self.young_us = round(usual_us / little if self.choosy else usual_us / (little * little))
        self.fresh_us = max(round(1e6 * params.fresh_s), FRESH * self.longest_us)
        if self.choosy or params.fresh_s == 0.0:
            self.fresh_us = 0
        self.usual_us = int(usual_us) << params.doublings
        self.last_us = LAST * self.usual_us if params.urgent and self.fresh_us else 0
        self.answer_us = max(1000.0 * params.answer_ms, params.answer * host.airtime(LIST_BYTES))
        self.pause_us = BURST_SHARE * max(round(self.answer_us), params.burst * host.airtime(params.frame_limit))
        self.left_us = 4 * round(self.answer_us)  # a list, and what it asks for, take about half of it
        self.gone_us = WANTS_GONE * self.want_us if self.choosy else GONE * self.longest_us
        self.likely = min(1.0, params.effort / LITTLE)  # that a node forwards at all
        self.sized = -1  # the size of the last frame that had a delay …
        self.sized_us = 0.0  # … and its longest delay among few neighbours

    def delay_us(self, size: int, neighbours: int) -> float:
        """The longest delay before a frame of this size is forwarded. It is longer among many neighbours: the first of
        them is as soon, and fewer others have begun to send before they hear it (M13)."""
        if size != self.sized:  # mostly, events are as long as the one before
            self.sized = size
            airtime_us = self.host.airtime(size)
            self.sized_us = max(1000.0 * self.params.delay_ms, self.params.delay * airtime_us) / self.little
        longest_us = self.sized_us
        if neighbours <= self.params.crowd or self.params.crowd == 0:
            return longest_us
        return max(longest_us, min(longest_us * neighbours / self.params.crowd, self.young_us / 2))

    def floods(self, age_us: int, validity_us: int) -> bool:
        """Whether an event that came late is flooded on (M4, M18)."""
        return age_us < self.fresh_us or validity_us - age_us < self.last_us

    def limit_us(self, validity_us: int) -> float:
        """The longest interval of summaries while an event of this validity is known (M18)."""
        return self.longest_us / self.usual_us * validity_us / CHANCES

    def answer_delay(self, neighbours: int) -> int:
        """Before lists and missing events; longer where many may answer, so that few do."""
        return int(self.host.random() * self.answer_us * (1.0 + neighbours / 4))

    def copies(self, event: Event) -> float:
        """How many copies make another one useless."""
        copies = self.params.local_copies if event.scope == LOCAL else self.params.copies
        return copies * max(1.0, self.params.effort)
