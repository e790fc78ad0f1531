"""A serial line with a modem at its end: LoRa, packet radio, or anything else that understands KISS (kiss.py).

All nodes whose modems hear each other are in range; there are no addresses, so a frame for one neighbour reaches all of
them, and all except that one drop it. A datagram is one frame of the modem, so `mtu` is what the modem takes. Set
`bps` to the rate on the air and `share` to the share of time that the law allows: the node then keeps to both
(outbox.py), because the modem takes frames much faster than it can send them.

A modem that is unplugged comes back: the device is opened again after one second at first, later after up to ten.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import logging
import os
import termios
import tty
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final

import msgspec

from roamcast.errors import InputError, error_text
from roamcast.net.air import kiss
from roamcast.net.air.medium import Medium, MediumSettings, Sent
from roamcast.net.wire.addresses import Address

log: Final = logging.getLogger("roamcast.net")

REOPEN_S: Final = 1.0
REOPEN_MAX_S: Final = 10.0
AT_ONCE: Final = 4096
"""How many bytes are read before timers get their turn."""
TURN_S: Final = 0.2
"""How long a modem may need to change from receiving to sending, and the other one from sending to receiving."""
SPEEDS: Final[dict[int, int]] = {
    int(name[1:]): getattr(termios, name) for name in dir(termios) if name[0] == "B" and name[1:].isdigit()
}


class Line(MediumSettings, frozen=True):
    """A serial line, and the modem at its end."""

    device: str = ""  # /dev/ttyUSB0, or better a name that stays: /dev/serial/by-id/…
    baud: int = 115200  # between this machine and the modem
    mtu: Annotated[int, msgspec.Meta(ge=64, le=4096)] = 255  # bytes that the modem sends as one frame
    bps: Annotated[float, msgspec.Meta(gt=0)] = 1200.0  # the rate on the air
    callsign: str = ""  # with one, frames have the header of AX.25, as modems for packet radio need it
    port: Annotated[int, msgspec.Meta(ge=0, le=15)] = 0  # of a modem with several
    tx_delay_ms: Annotated[int, msgspec.Meta(ge=-1, le=2550)] = -1  # before it sends; -1: as the modem is set


class SerialMedium(Medium):
    settings_class: ClassVar[type[MediumSettings]] = Line

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        if not line.device:
            raise InputError("a serial medium needs a device, such as /dev/ttyUSB0")
        if line.baud not in SPEEDS:
            usual = ", ".join(str(baud) for baud in sorted(SPEEDS) if baud >= 1200)
            raise InputError(f"baud {line.baud}: must be one of {usual}")
        self.line = line
        self._header = kiss.ax25_header(line.callsign) if line.callsign else b""
        self.header_bytes = 3 + len(self._header)
        self.datagram_max = line.mtu - len(self._header)
        self._address: Address = (line.device,)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._receive: Callable[[bytes, Address], None] | None = None
        self._fd = -1
        self._unwritten = b""
        self._deframer = kiss.Deframer(line.mtu)
        self._again: asyncio.TimerHandle | None = None
        self._pause_s = REOPEN_S
        self._warned = False  # whether it was logged that there is no device

    def open(self, receive: Callable[[bytes, Address], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._receive = receive
        self._try_open()

    def close(self) -> None:
        self._close_device()
        if self._again is not None:
            self._again.cancel()
            self._again = None
        self._loop = None

    def up(self) -> bool:
        return self._fd >= 0

    def place(self) -> str:
        return self.line.device

    def delay_s(self, size: int) -> float:
        return TURN_S + size * 8 / self.line.bps

    # ---- sending

    def send(self, datagram: bytes, to: Address | None = None) -> Sent:
        if self._fd < 0:
            return Sent.DOWN
        if len(datagram) > self.datagram_max:
            return Sent.TOO_LARGE
        if self._unwritten:
            return Sent.FULL
        return self._write(kiss.framed(self._header + datagram, port=self.line.port))

    def _write(self, data: bytes) -> Sent:
        assert self._loop is not None
        self._unwritten = data
        try:
            self._unwritten = data[os.write(self._fd, data) :]
        except BlockingIOError:
            pass
        except OSError as error:
            self._lost(error_text(error))
            return Sent.DOWN
        if self._unwritten:
            self._loop.add_writer(self._fd, self._write_rest)
        else:
            self._loop.remove_writer(self._fd)
        return Sent.SENT

    def _write_rest(self) -> None:
        self._write(self._unwritten)

    # ---- receiving

    def _read(self) -> None:
        assert self._receive is not None
        try:
            data = os.read(self._fd, AT_ONCE)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(error_text(error))
            return
        if not data:
            self._lost("it was unplugged")
            return
        for frame in self._deframer.feed(data):
            content = kiss.without_ax25(frame) if self._header else frame
            if content is not None:
                self._receive(content, self._address)
            if self._fd < 0:  # the receiver closed the medium
                return

    # ---- the device comes and goes

    def _try_open(self) -> None:
        self._again = None
        try:
            self._open_device()
        except (OSError, termios.error) as error:
            self._close_device()
            log.log(logging.DEBUG if self._warned else logging.WARNING, "%s; waiting", self._missing(error))
            self._warned = True
            self._open_later()
            return
        self._pause_s = REOPEN_S
        if self._warned:
            self._warned = False
            log.warning("the device %s is available now", self.line.device)

    def _missing(self, error: Exception) -> str:
        if isinstance(error, OSError) and error.errno == errno.EWOULDBLOCK:
            return f"the device {self.line.device} is used by another program"
        why = error_text(error) if isinstance(error, OSError) else "not a serial line"
        return f"no device {self.line.device}: {why}"

    def _open_device(self) -> None:
        assert self._loop is not None
        self._fd = os.open(self.line.device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        tty.setraw(self._fd, termios.TCSANOW)
        attributes: list[Any] = termios.tcgetattr(self._fd)
        attributes[2] |= termios.CLOCAL | termios.CREAD
        attributes[4] = attributes[5] = SPEEDS[self.line.baud]
        termios.tcsetattr(self._fd, termios.TCSANOW, attributes)
        self._deframer = kiss.Deframer(self.line.mtu)
        self._loop.add_reader(self._fd, self._read)
        if self.line.tx_delay_ms >= 0:
            self._write(kiss.framed(bytes([self.line.tx_delay_ms // 10]), kiss.TX_DELAY, self.line.port))

    def _lost(self, why: str) -> None:
        self._close_device()
        self._warned = True
        log.warning("no device %s: %s; waiting", self.line.device, why)
        self._open_later()

    def _open_later(self) -> None:
        if self._loop is not None:
            self._again = self._loop.call_later(self._pause_s, self._try_open)
            self._pause_s = min(2 * self._pause_s, REOPEN_MAX_S)

    def _close_device(self) -> None:
        if self._fd < 0:
            return
        if self._loop is not None:
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
        os.close(self._fd)
        self._fd, self._unwritten = -1, b""
