"""Speed from gpsd, the daemon that reads receivers of satellite navigation (its JSON protocol, version 3).

The node asks for reports (`?WATCH`). Each `TPV` report with a fix (mode 2 or 3) has the speed in m/s. Without a fix, or
without gpsd, the speed is not known. The node connects again: after one second at first, later after up to thirty.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from math import nan
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from roamcast.errors import InputError, error_text

log: Final = logging.getLogger("roamcast.net")

PORT: Final = 2947
WATCH: Final = b'?WATCH={"enable":true,"json":true};\n'
AGAIN_S: Final = 1.0
AGAIN_MAX_S: Final = 30.0
LINE_MAX: Final = 1 << 16
SILENT_S: Final = 30.0
"""A daemon that says nothing for this long is asked again."""
FIX: Final = 2


class Place(NamedTuple):
    """Where gpsd listens."""

    host: str
    port: int


class _Report(msgspec.Struct, frozen=True):
    """Other fields are ignored."""

    kind: str = msgspec.field(name="class", default="")
    mode: int = 0
    speed: float | None = None


_reports: Final = msgspec.json.Decoder(_Report)


def place(url: str) -> Place:
    """The place in `gpsd://host:port`; both may be left out."""
    try:
        parts = urlsplit(url)
        if parts.scheme == "gpsd" and parts.path in ("", "/") and not parts.query:
            return Place(parts.hostname or "localhost", PORT if parts.port is None else parts.port)
    except ValueError:  # a port that is no number
        pass
    raise InputError(f"gps {url!r}: must be gpsd://HOST:PORT (without them: localhost and {PORT})")


def speed_in(line: bytes) -> float | None:
    """The speed that a line reports in m/s; NaN if there is no fix, None if the line is about something else."""
    try:
        report = _reports.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if report.kind != "TPV":
        return None
    return nan if report.mode < FIX or report.speed is None or not 0 <= report.speed < 1e6 else report.speed


class Gpsd:
    """Calls `on_speed` with each speed, in m/s; NaN if it is not known any more."""

    def __init__(self, place: Place, on_speed: Callable[[float], None]) -> None:
        self._place = place
        self._on_speed = on_speed
        self._pause_s = AGAIN_S
        self._warned = False

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                await self._read()
                why = "it closed the connection"
            except (OSError, TimeoutError, ValueError) as error:
                why = error_text(error) if isinstance(error, OSError) else "it does not answer"
            self._on_speed(nan)
            self._complain(why)
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(2 * self._pause_s, AGAIN_MAX_S)

    async def _read(self) -> None:
        reader, writer = await asyncio.open_connection(self._place.host, self._place.port, limit=LINE_MAX)
        try:
            writer.write(WATCH)
            while line := await asyncio.wait_for(reader.readline(), SILENT_S):
                self._pause_s, self._warned = AGAIN_S, False
                speed_mps = speed_in(line)
                if speed_mps is not None:
                    self._on_speed(speed_mps)
        finally:
            writer.close()

    def _complain(self, why: str) -> None:
        level = logging.DEBUG if self._warned else logging.WARNING
        log.log(level, "no speed from gpsd://%s:%d: %s; trying again", *self._place, why)
        self._warned = True
