"""Parts of a world as other people would write them: most behave like one of roamcast's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from roamcast import Params, Scenario, param
from roamcast.parts import DSSS, Leg, Mac, Mobility, Radio, Random, Stream, Timing, end_x, end_y, rest, walk


class Scattered(Mobility):
    """static"""

    def __init__(self, scenario: Scenario, params: Params, seed: int) -> None:
        self.width_m, self.height_m = scenario.width_m, scenario.height_m

    def first(self, node: int, stream: Stream) -> Leg:
        return Leg(0.0, stream.random() * self.width_m, stream.random() * self.height_m, 0.0, 0.0, inf)


@dataclass(frozen=True)
class ShuttleParams(Params):
    speed_mps: float = param(5.0, "speed of all nodes", "ours", unit="m/s", low=0.1, high=100)
    lanes: int = param(4, "how many lanes there are", "ours", low=1)


class Shuttle(Mobility):
    """Back and forth from the left to the right, on parallel lanes."""

    params_class = ShuttleParams

    def __init__(self, scenario: Scenario, params: ShuttleParams, seed: int) -> None:
        self.params, self.width_m, self.height_m = params, scenario.width_m, scenario.height_m

    def first(self, node: int, stream: Stream) -> Leg:
        y = (node % self.params.lanes + 0.5) * self.height_m / self.params.lanes
        return walk(0.0, stream.random() * self.width_m, y, self.width_m, y, self.params.speed_mps)

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        x, y = end_x(leg), end_y(leg)
        return walk(leg.end_s, x, y, 0.0 if x > self.width_m / 2 else self.width_m, y, self.params.speed_mps)


class InverseSquare(Radio):
    """free-space"""

    def strength(self, sender: int, receiver: int, distance_m: float, range_m: float) -> float:
        return range_m * range_m / (distance_m * distance_m)


class Sick(Radio):
    def strength(self, sender: int, receiver: int, distance_m: float, range_m: float) -> float:
        return -1.0


class Endless(InverseSquare):
    def farthest(self, range_m: float) -> float:
        return inf


class Dsss(Mac):
    """dcf"""

    def timing(self) -> Timing:
        return DSSS

    def eifs_us(self) -> int:
        return DSSS.sifs_us + DSSS.preamble_us + DSSS.ack_bytes * DSSS.ack_us_per_byte + DSSS.ifs_us

    def begin(self, node: int, left: int, busy: bool, window: int, random: Random) -> int:
        return left if left > 0 or not busy else random.randrange(window)

    def after(self, node: int, window: int, random: Random) -> int:
        return random.randrange(window)


class Mote(Mac):
    """tinyos"""

    counts_from_now = True

    def __init__(self, scenario: Scenario, params: Params, seed: int) -> None:
        self.rate_bps = scenario.rate_bps

    def timing(self) -> Timing:
        from roamcast.world.mac.tinyos import timing

        return timing(self.rate_bps)

    def begin(self, node: int, left: int, busy: bool, window: int, random: Random) -> int:
        return 1 + random.randrange(32)


class Alone(Dsss):
    """Like `ideal`, except for its timing."""

    contends = False


class Impatient(Dsss):
    def begin(self, node: int, left: int, busy: bool, window: int, random: Random) -> int:
        return -1


class Hasty(Dsss):
    def timing(self) -> Timing:
        return replace(DSSS, slot_us=0)


class Backwards(Dsss):
    def eifs_us(self) -> int:
        return -1


class Unsure(Dsss):
    def timing(self) -> Timing:
        return replace(DSSS, slot_us=9.5)  # type: ignore[arg-type]


class Jumping(Mobility):
    def first(self, node: int, stream: Stream) -> Leg:
        return rest(0.0, 0.0, 0.0, 1.0)

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        return rest(leg.end_s, 5.0, 0.0, inf)


class Stuck(Jumping):
    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        return rest(leg.end_s, 0.0, 0.0, leg.end_s)


class NoPart:
    pass
