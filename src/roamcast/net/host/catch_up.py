"""Catch-up: what a new protocol object receives after a restart, before it takes part.

The memory of a protocol ends with its process. So that events of other nodes survive, a node stores the frames that
brought them (*carried frames*). A new protocol object receives these frames first, each at the time when it came: the
clock jumps from one frame to the next and then to the present. Meanwhile nothing that the protocol sends leaves the
node, and no neighbour acknowledges anything. So the protocol gets the state that it would have if it had been out of
range of all other nodes since then, with correct ages and validities. The only effect of the jumps that it can notice
is that timers are late.

If it is known until when the last boot ran, timers that were due after that time fire in the present, and the frames
that they send leave the node. They may have been sent before: twice is better than never.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from roamcast.errors import Malformed
from roamcast.net.air.timers import Timers
from roamcast.net.host.boot_record import BootRecord
from roamcast.net.host.inbox import Inbox
from roamcast.net.host.journal import Journal
from roamcast.net.wire.codec import FrameCodec
from roamcast.protocols.kit.interface import Frame

ALONE_US: Final = 500_000
"""How long it takes during a catch-up until a neighbour counts as unreachable."""

CarriedFrames = Sequence[tuple[int, int, bytes]]
"""Frames of earlier boots in the order in which they came: how many microseconds ago, the sender, and the bytes."""


def span_us(frames: CarriedFrames) -> int:
    """How far back the frames go."""
    return max((ago_us for ago_us, _, _ in frames), default=0)


class CatchUp:
    """Call `begin`, start the protocol, then call `run` and `end`."""

    def __init__(
        self,
        frames: CarriedFrames,
        codec: FrameCodec,
        inbox: Inbox,
        timers: Timers,
        journal: Journal,
        record: BootRecord,
        undelivered: Callable[[Frame, int], None],
    ) -> None:
        self.frames = frames
        self._codec = codec
        self._inbox = inbox
        self._timers = timers
        self._journal = journal
        self._record = record
        self._undelivered = undelivered

    def begin(self) -> None:
        """Set the clock back to the first frame."""
        self._journal.present_us = self._timers.now_us()
        self._timers.jump(self._journal.present_us - self.frames[0][0])

    def transmit(self, frame: Frame, to: int) -> None:
        """No other node is in range: a broadcast is lost, and a frame for one neighbour is not acknowledged."""
        if to >= 0:
            self._timers.after(ALONE_US, partial(self._undelivered, frame, to))

    def run(self) -> None:
        """Give the protocol all frames, and set the clock to the time until which the last boot ran."""
        for ago_us, sender, body in self.frames:
            frame = self._read(body, ago_us)
            if frame is not None:
                self._timers.jump(max(self._journal.present_us - ago_us, self._timers.now_us()))
                self._inbox.carried.add(frame)
                self._inbox.hand_up(frame, sender)
        alive_us = self._record.last_alive_us()
        if alive_us is not None:
            ended_us = min(alive_us - self._journal.epoch_us, self._journal.present_us)
            self._timers.jump(max(self._timers.now_us(), ended_us))

    def end(self) -> None:
        """The clock runs again, in the present."""
        self.frames = ()
        self._journal.present_us = -1
        self._timers.jump(None)

    def _read(self, body: bytes, ago_us: int) -> Frame | None:
        try:
            frame = self._codec.decode(body)
        except Malformed:  # stored by another version of this protocol
            return None
        genuine = self._codec.genuine(frame, ago_us / 1e6)  # false under another roster, or if the file was changed
        return frame if genuine else None
