"""How events become frames (Fig. 9, SEND): as few as hold them, each with the names of the interested neighbours (R19).

The readings (R1 …) are those of `protocol.py`.
"""

from __future__ import annotations

from typing import final

from roamcast.protocols.frugal.event_table import StoredEvent
from roamcast.protocols.frugal.frames import (
    PAPER_EVENT_BYTES,
    Events,
    Id,
    event_bytes,
    events_frame_bytes,
    ints_size,
)
from roamcast.protocols.frugal.neighbors import NeighborhoodTable
from roamcast.protocols.frugal.params import FrugalParams
from roamcast.protocols.kit.interface import Host


@final
class EventSender:
    """Broadcasts rows of the event table, and records in the neighbourhood table which neighbours have them now."""

    def __init__(self, host: Host, params: FrugalParams, neighborhood_table: NeighborhoodTable) -> None:
        self.host = host
        self.params = params
        self.paper_sizes = params.sizes == "paper"
        self.neighborhood_table = neighborhood_table

    def send(self, rows: list[StoredEvent]) -> None:
        """Send the rows in as few frames as hold them."""
        batch: list[StoredEvent] = []
        batch_bytes = 0
        wanting = 0
        names_bytes = 0
        for row in rows:
            row_bytes = self._row_bytes(row)
            if row.wanting & ~wanting:
                wanting |= row.wanting
                names_bytes = self._names_bytes(wanting)
            size = events_frame_bytes(len(batch) + 1, batch_bytes + row_bytes) + names_bytes
            if self.paper_sizes:
                size = batch_bytes + row_bytes
            if batch and size > self.params.frame_limit:
                self.send_batch(batch)
                batch = []
                batch_bytes = 0
                wanting = row.wanting
                names_bytes = self._names_bytes(wanting)
            batch.append(row)
            batch_bytes += row_bytes
        self.send_batch(batch)

    def send_batch(self, batch: list[StoredEvent]) -> None:
        """Send the rows in one frame."""
        now_us = self.host.now()
        if self.params.repair:
            for row in batch:
                row.presumed_us = now_us
        events = [row.event for row in batch]
        ids: list[Id] = [row.id for row in batch]
        neighbors_ids = self.neighborhood_table.presume_sent(batch)
        size = PAPER_EVENT_BYTES * len(batch) if self.paper_sizes else 0
        if not self.paper_sizes and len(batch) == 1:
            neighbors_ids = self._with_room(neighbors_ids, self._row_bytes(batch[0]))
        self.host.broadcast(Events(events, [row.age_us(now_us) for row in batch], neighbors_ids, size, ids))

    def _row_bytes(self, row: StoredEvent) -> int:
        return PAPER_EVENT_BYTES if self.paper_sizes else event_bytes(row.event, row.age_us(self.host.now()))

    def _names_bytes(self, wanting: int) -> int:
        return ints_size(self.neighborhood_table.named(wanting))

    def _with_room(self, neighbors_ids: list[Id], row_bytes: int) -> list[Id]:
        """As many of the neighbours as can be named beside one event."""
        room = self.params.frame_limit - events_frame_bytes(1, row_bytes)
        named = len(neighbors_ids)
        while named and ints_size(neighbors_ids[:named]) > room:
            named -= 1
        return neighbors_ids[:named]
