"""What security adds to frames and events, in bytes; docs/reference/wire.md has the same numbers."""

from __future__ import annotations

from typing import Final

from roamcast.net.trust.seals import SEAL_BYTES
from roamcast.net.wire import packet
from roamcast.net.wire.envelope import TAG_BYTES

OVERHEAD_BYTES: Final = packet.HEADER_BYTES + packet.FRAME_BYTES + TAG_BYTES
"""What a datagram adds to the frame in it; `ADDRESS_BYTES` more if the frame is addressed to one neighbour."""
ADDRESS_BYTES: Final = packet.ADDRESS_BYTES
ACK_BYTES: Final = packet.HEADER_BYTES + packet.ADDRESS_BYTES + TAG_BYTES
"""A whole acknowledgement."""
POSITION_BYTES: Final = packet.POSITION_BYTES
"""A whole datagram with a signed position."""

__all__ = ["ACK_BYTES", "ADDRESS_BYTES", "OVERHEAD_BYTES", "POSITION_BYTES", "SEAL_BYTES"]
