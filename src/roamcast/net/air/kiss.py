"""KISS: how frames travel over a serial line to a modem (Chepponis and Karn 1987), and the header of AX.25.

A frame is `FEND, command, content, FEND`. A FEND or FESC in the content is replaced by two bytes. The command's high
four bits are the port of the modem, the low four what the frame is: 0 for content. The line has no checksum, and a
modem may be switched on in the middle of a frame: whatever is not a frame is skipped up to the next FEND.

Modems for packet radio expect that the content is a frame of AX.25, whose header has the callsigns of the sender and
the addressee. Modems for LoRa take any content.
"""

from __future__ import annotations

import re
from typing import Final

from roamcast.errors import InputError

FEND: Final = 0xC0
FESC: Final = 0xDB
TFEND: Final = 0xDC
TFESC: Final = 0xDD
CONTENT: Final = 0
TX_DELAY: Final = 1
"""The command that sets how long the modem waits between switching the transmitter on and sending, in 10 ms."""
AX25_BYTES: Final = 16
_DESTINATION: Final = "ROAM"
_UNNUMBERED: Final = b"\x03\xf0"  # an information frame without a connection, of no protocol of layer 3


def framed(content: bytes, command: int = CONTENT, port: int = 0) -> bytes:
    """A frame as it is written to the line."""
    escaped = content.replace(bytes([FESC]), bytes([FESC, TFESC])).replace(bytes([FEND]), bytes([FESC, TFEND]))
    first = port << 4 | command
    head = bytes([FESC, TFEND]) if first == FEND else bytes([first])  # port 12
    return bytes([FEND]) + head + escaped + bytes([FEND])


class Deframer:
    """Finds the contents of frames in the bytes from a line. `longest` bounds what one frame may hold."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._frame = bytearray()
        self._escaped = False
        self._bad = True  # until the first FEND

    def feed(self, data: bytes) -> list[bytes]:
        """The contents that these bytes complete."""
        frames: list[bytes] = []
        for byte in data:
            if byte == FEND:
                self._end(frames)
            elif not self._bad:
                self._take(byte)
        return frames

    def _end(self, frames: list[bytes]) -> None:
        complete = not self._bad and not self._escaped and len(self._frame) > 1
        if complete and self._frame[0] & 15 == CONTENT:
            frames.append(bytes(self._frame[1:]))
        self._frame.clear()
        self._bad = self._escaped = False

    def _take(self, byte: int) -> None:
        if self._escaped:
            self._escaped = False
            if byte not in (TFEND, TFESC):
                self._bad = True
                return
            byte = FEND if byte == TFEND else FESC
        elif byte == FESC:
            self._escaped = True
            return
        if len(self._frame) > self._longest:
            self._bad = True
            return
        self._frame.append(byte)


# ---- AX.25


def ax25_header(callsign: str) -> bytes:
    """The header of frames that this station sends to everybody."""
    return _address(_DESTINATION, last=False) + _address(callsign, last=True) + _UNNUMBERED


def without_ax25(frame: bytes) -> bytes | None:
    """What is behind the header; None for a frame that is not of this kind, or came over a repeater."""
    if len(frame) <= AX25_BYTES or frame[:6] != _address(_DESTINATION, last=False)[:6]:
        return None
    return frame[AX25_BYTES:] if frame[14:AX25_BYTES] == _UNNUMBERED else None


def _address(callsign: str, *, last: bool) -> bytes:
    parts = re.fullmatch(r"([A-Z0-9]{1,6})(?:-(\d|1[0-5]))?", callsign.upper())
    if parts is None:
        raise InputError(f"callsign {callsign!r}: must be like OE3XYZ or OE3XYZ-7")
    name, station = parts[1], int(parts[2] or 0)
    return bytes(ord(letter) << 1 for letter in name.ljust(6)) + bytes([0x60 | station << 1 | last])
