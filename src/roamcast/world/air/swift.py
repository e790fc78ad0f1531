"""Plain air where no rows are written and no frame is lost by chance: broadcasts end in one short loop."""

from __future__ import annotations

from mypy_extensions import i64

from roamcast.log.schema import COLLISION, HALF_DUPLEX
from roamcast.protocols.kit.interface import Frame
from roamcast.world.air.plain import PlainAir
from roamcast.world.air.transmission import Transmission
from roamcast.world.published import COPY, HAS, MUTED, ONLY_COUNTED, WANTED, PublishedEvent
from roamcast.world.station import NOTHING, Station


class SwiftAir(PlainAir):
    def end_broadcast(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> None:
        if tx.events:
            self.end_one_by_one(station, tx, frame, s, t)
        else:
            self.add_listening(tx, s, t)
            self.end_at_once(station, tx, frame, s, t)

    def add_listening(self, tx: Transmission, s: i64, t: i64) -> None:
        """A station that slept during a part of a frame may have begun to receive another one meanwhile: each station
        counts its own time, and overlapping frames count once."""
        for other in tx.hearers:
            if other.receiving == s or (other.up and other.deafened != s):
                other.listened(tx.start, t)

    def end_at_once(self, station: Station, tx: Transmission, frame: Frame, s: i64, t: i64) -> i64:
        """End a broadcast of at most one event. Returns how many stations listened to it up to its end."""
        event = tx.event
        if event is None:
            got = self.hand_out(station, tx, frame, s)
        else:
            got = self.hand_out_event(station, tx, frame, event, s)
        self.tally.receptions += got
        if self.collided + self.deaf > 0:
            self.tally.losses[COLLISION] += self.collided
            self.tally.losses[HALF_DUPLEX] += self.deaf
        self.fingerprint.stamp(t, station.index, tx.serial, got)
        return got + self.collided

    def hand_out(self, station: Station, tx: Transmission, frame: Frame, s: i64) -> i64:
        """Hand a frame without an event to all stations that received it. Returns their number."""
        ifs = self.mac.ifs
        missed: i64 = 0
        collided: i64 = 0
        deaf: i64 = 0
        for other in tx.hearers:
            if other.receiving != s:
                missed += 1
                if other.deafened == s:
                    other.deafened = NOTHING
                    deaf += 1
                elif other.up:
                    collided += 1
                continue
            other.receiving = NOTHING
            if other.ifs != ifs:
                self.understood(other)
            other.heard_from = station.index
            other.protocol.on_frame(frame, station.id)
        self.collided = collided
        self.deaf = deaf
        return len(tx.hearers) - missed

    def hand_out_event(self, station: Station, tx: Transmission, frame: Frame, event: PublishedEvent, s: i64) -> i64:
        """The same for a frame with an event that many stations have already, or have muted."""
        self.published.current = event
        flags = event.flags
        ifs = self.mac.ifs
        sender = station.id
        index = station.index
        missed: i64 = 0
        collided: i64 = 0
        deaf: i64 = 0
        unwanted: i64 = 0
        fresh: i64 = 0  # receivers that did not have the event, …
        fresh_unwanted: i64 = 0  # … and those of them that do not want it
        for other in tx.hearers:
            if other.receiving != s:
                missed += 1
                if other.deafened == s:
                    other.deafened = NOTHING
                    deaf += 1
                elif other.up:
                    collided += 1
                continue
            other.receiving = NOTHING
            if other.ifs != ifs:
                self.understood(other)
            i = other.index
            flag = flags[i]
            if flag & WANTED == 0:
                unwanted += 1
            if flag >= ONLY_COUNTED:
                flags[i] = flag + COPY
                continue
            if flag & HAS == 0:
                fresh += 1
                if flag & WANTED == 0:
                    fresh_unwanted += 1
                flag |= HAS
                flags[i] = flag
            if flag & MUTED:  # muted before the first copy came
                flags[i] = flag + COPY
                continue
            other.heard_from = index
            other.protocol.on_frame(frame, sender)
        self.collided = collided
        self.deaf = deaf
        got = len(tx.hearers) - missed
        self.tally.copies_arrived(got, fresh, unwanted, fresh_unwanted)
        return got
