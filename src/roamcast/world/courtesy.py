"""Applications that spare a busy channel (`polite`), as those of LoRa meshes do (Meshtastic's firmware, AirTime).

A position waits while the channel was busy for more than 25 % of the last minute at its node, and telemetry while it
was for more than 40 %; texts and node infos do not wait. The application looks again every five seconds. Positions and
telemetry get old: when a newer message of the kind is due, one that still waits is never sent.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from roamcast.protocols.kit.interface import reason
from roamcast.world.mac.lora import Lora
from roamcast.world.station import Station

HELD_BACK: Final = reason("delay", "channel busy", "the channel was busy for {value} % of a minute; a message waits")
OUTDATED: Final = reason("suppress", "newer one", "a message waited until there was a newer one of its kind")

LIMITS: Final[dict[str, float]] = {"position": 0.25, "telemetry": 0.4}
AGAIN_US: Final = 5_000_000
NOW: Final = 0
NEVER: Final = -1


@final
class Courtesy:
    def __init__(self, mac: Lora) -> None:
        self.mac = mac
        self.newest: dict[tuple[int, str], int] = {}  # the number of each node's latest publication of a kind

    def wait_us(self, station: Station, topic: str, number: i64, now: i64) -> i64:
        """How long a node waits with the publication of this number. NEVER: it is outdated."""
        limit = LIMITS.get(topic)
        if limit is None:
            return NOW
        kind = (int(station.index), topic)
        newest = self.newest.get(kind, -1)
        if number < newest:
            station.note(OUTDATED)
            return NEVER
        self.newest[kind] = int(number)
        share = self.mac.utilisation(station.index, now)
        if share <= limit:
            return NOW
        if number != newest:  # it waits from now on
            station.note(HELD_BACK, value=int(100.0 * share))
        return AGAIN_US
