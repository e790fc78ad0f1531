"""A MAC from outside: a class that extends `Mac` has its timing and decides how long a node backs off.

Carrier sense, the freezing of back-offs, acknowledgements and repetitions are those of every MAC (base.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from librt.random import Random
from mypy_extensions import i64, mypyc_attr

from roamcast.errors import InputError
from roamcast.protocols.kit.interface import Params
from roamcast.world.mac import base
from roamcast.world.specs import MacSpec, Timing

if TYPE_CHECKING:
    from roamcast.world.scenario import Scenario
    from roamcast.world.station import Station


@mypyc_attr(allow_interpreted_subclasses=True)
class Mac:
    """A MAC of your own: when a node may send, counted in slots of silence.

    `random` is the node's own stream for medium access. Draw from nothing else.
    """

    params_class: ClassVar[type[Params]] = Params
    contends: ClassVar[bool] = True
    """Whether stations share one medium, with collisions and acknowledgements."""
    counts_from_now: ClassVar[bool] = False
    """Whether silence counts only after a frame came into the queue, and not before."""

    def __init__(self, scenario: Scenario, params: Params, seed: int) -> None:
        """A class of your own may ignore all three."""

    def timing(self) -> Timing:
        """How long everything lasts, and how long headers are."""
        raise NotImplementedError

    def eifs_us(self) -> int:
        """The silence before a back-off is counted after a frame that could not be understood."""
        ifs_us: int = self.timing().ifs_us
        return ifs_us

    def begin(self, node: int, left: int, busy: bool, window: int, random: Random) -> int:
        """A node has a frame to send: how many slots to back off. `left` are those that were drawn after its last
        frame and have not passed yet; `busy` is whether it senses something; `window` grows with every repetition."""
        raise NotImplementedError

    def after(self, node: int, window: int, random: Random) -> int:
        """A frame has ended: how many slots the node must wait before its next one, whenever that comes."""
        return 0


@final
class FromOutside(base.Mac):
    """The world's MAC, with the timing and the back-offs of such a class."""

    def __init__(self, spec: MacSpec, outside: Mac, contends: bool, counts_from_now: bool) -> None:
        super().__init__(spec, outside.timing())
        self.name: str = spec.name
        self.outside = outside
        self.contends = contends
        self.counts_from_now = counts_from_now
        if self.slot == 0:
            raise InputError(f"mac={self.name}: slot_us=0; a slot must last")
        self.eifs = outside.eifs_us()
        if self.eifs < 0:
            raise InputError(f"mac={self.name}: eifs_us is {self.eifs}; it must be at least 0")

    def begin_backoff(self, station: Station, now: i64) -> None:
        if station.slots > 0:
            self.count_down(station, now)
        busy = station.busy_until > now or station.idle_since > now
        slots = self.outside.begin(station.id, station.slots, busy, station.window, station.mac_rng)
        station.slots = self.checked(slots)
        if self.counts_from_now:
            self.count_from(station, now)

    def draw_backoff(self, station: Station) -> None:
        station.ifs = self.ifs
        station.slots = self.checked(self.outside.after(station.id, station.window, station.mac_rng))

    def checked(self, slots: int) -> i64:
        if not 0 <= slots <= 1_000_000:
            raise InputError(f"mac={self.name}: a back-off of {slots} slots; it must be a number from 0 to 1,000,000")
        return slots
