"""Two modems and the air between them, without either: what one device is written, the other one reads.

Each device is a pseudoterminal behind a link whose name stays when a modem is unplugged and plugged in again, as udev
does it under /dev/serial/by-id.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import threading
import tty
from pathlib import Path


class Modems:
    """`with Modems(folder) as modems:`; the devices are `modems.devices`."""

    def __init__(self, folder: Path) -> None:
        self.devices = [str(folder / "modem-a"), str(folder / "modem-b")]
        self._ends = [-1, -1]
        self._devices = [-1, -1]  # kept open: a terminal that nobody has open forgets how it was set
        self._selector = selectors.DefaultSelector()
        self._stop, self._stopped = os.pipe()
        self._selector.register(self._stop, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._carry)
        self.plug_in(0)
        self.plug_in(1)
        self._thread.start()

    def plug_in(self, i: int) -> None:
        end, device = os.openpty()
        tty.setraw(device)
        os.set_blocking(end, False)
        self._ends[i], self._devices[i] = end, device
        self._selector.register(end, selectors.EVENT_READ, i)
        Path(self.devices[i]).symlink_to(os.ttyname(device))

    def unplug(self, i: int) -> None:
        Path(self.devices[i]).unlink()
        self._selector.unregister(self._ends[i])
        os.close(self._ends[i])
        os.close(self._devices[i])
        self._ends[i] = self._devices[i] = -1

    def __enter__(self) -> Modems:
        return self

    def __exit__(self, *_: object) -> None:
        os.write(self._stopped, b"x")
        self._thread.join()
        for end in (*self._ends, *self._devices, self._stop, self._stopped):
            if end >= 0:
                os.close(end)
        self._selector.close()

    def _carry(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fd == self._stop:
                    return
                with contextlib.suppress(OSError):  # nobody has the device open, or it was unplugged
                    os.write(self._ends[1 - key.data], os.read(key.fd, 4096))
