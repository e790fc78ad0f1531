"""A medium whose sockets are in a network namespace, on a loop whose clock does not wait."""

from __future__ import annotations

from roamcast.net.air.medium import Network, Sent
from roamcast.net.air.udp import UdpMedium
from roamcast.net.wire.addresses import Address
from tests.support.namespaces import Namespaces
from tests.support.warp import WarpLoop


class Placed(UdpMedium):
    def __init__(self, network: Network, loop: WarpLoop, places: Namespaces, i: int) -> None:
        super().__init__(network)
        self.loop, self.places, self.i = loop, places, i

    def send(self, datagram: bytes, to: Address | None = None) -> Sent:
        self.loop.stirred = True
        return super().send(datagram, to)

    def _watch(self) -> None:
        with self.places.inside(self.i):
            super()._watch()

    def _open_sockets(self) -> None:
        with self.places.inside(self.i):
            super()._open_sockets()

    def _joined_again(self) -> bool:
        with self.places.inside(self.i):
            return super()._joined_again()
