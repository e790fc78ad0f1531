"""A little package as other people would publish it: a mobility, a radio, a MAC and a protocol of its own.

`install` puts it into a folder as an installer would: modules, and a dist-info with entry points. It uses public names
alone.
"""

from __future__ import annotations

from pathlib import Path

MODULE = '''\
"""A harbour: ferries, quay walls, and CSMA that is a little too polite."""

from __future__ import annotations

from dataclasses import dataclass

from roamcast import Event, EventFrame, Filter, Frame, Host, Params, Protocol, Scenario, param
from roamcast.parts import DSSS, Leg, Mac, Mobility, Radio, Random, Stream, Timing, end_x, end_y, rest, walk


@dataclass(frozen=True)
class FerryParams(Params):
    speed_mps: float = param(8.0, "speed under way", "ours", unit="m/s", low=0.1, high=50)
    wait_s: float = param(2.0, "how long a ferry waits at the shore", "ours", unit="s", low=0)


class Ferry(Mobility):
    """Ferries cross the area from shore to shore and wait there."""

    params_class = FerryParams

    def __init__(self, scenario: Scenario, params: FerryParams, seed: int) -> None:
        self.width_m, self.height_m, self.params = scenario.width_m, scenario.height_m, params

    def first(self, node: int, stream: Stream) -> Leg:
        x, y = stream.random() * self.width_m, stream.random() * self.height_m
        return walk(0.0, x, y, self.width_m, y, self.params.speed_mps)

    def next(self, node: int, leg: Leg, stream: Stream) -> Leg:
        x, y = end_x(leg), end_y(leg)
        if leg.vx and self.params.wait_s:
            return rest(leg.end_s, x, y, leg.end_s + self.params.wait_s)
        return walk(leg.end_s, x, y, self.width_m if x < self.width_m / 2 else 0.0, y, self.params.speed_mps)


@dataclass(frozen=True)
class WallParams(Params):
    share: float = param(0.3, "share of the pairs of nodes that have a wall between them", "ours", low=0, high=1)


class Walls(Radio):
    """Free space, except that walls halve a signal three times."""

    params_class = WallParams

    def __init__(self, scenario: Scenario, params: WallParams, seed: int) -> None:
        self.share, self.seed = params.share, seed

    def strength(self, sender: int, receiver: int, distance_m: float, range_m: float) -> float:
        pair = min(sender, receiver) << 20 | max(sender, receiver)
        wall = Stream(self.seed, pair, "wall").random() < self.share
        return (range_m / distance_m) ** 2 * (0.125 if wall else 1.0)

    def sensed_from(self, range_m: float, sensed_m: float) -> float:
        return (range_m / sensed_m) ** 2


@dataclass(frozen=True)
class PoliteParams(Params):
    p: float = param(0.2, "probability of sending in a slot", "ours", low=0.01, high=1)


class Polite(Mac):
    """p-persistent CSMA."""

    params_class = PoliteParams

    def __init__(self, scenario: Scenario, params: PoliteParams, seed: int) -> None:
        self.p = params.p

    def timing(self) -> Timing:
        return DSSS

    def begin(self, node: int, left: int, busy: bool, window: int, random: Random) -> int:
        slots = 0
        while random.random() >= self.p:
            slots += 1
        return slots


class Shout(Protocol):
    """Every node says everything once."""

    frames = (EventFrame,)

    def __init__(self, host: Host, params: Params) -> None:
        super().__init__(host, params)
        self.filters: dict[int, Filter] = {}

    def on_subscribe(self, subscription: int, filter: Filter) -> None:
        self.filters[subscription] = filter

    def on_unsubscribe(self, subscription: int) -> None:
        self.filters.pop(subscription, None)

    def on_publish(self, event: Event) -> None:
        self.host.mute(event.id)
        self.host.broadcast(EventFrame(event, 1, 0))

    def on_frame(self, frame: Frame, sender: int) -> None:
        self.host.mute(frame.id)
        for event in frame.events():
            if any(filter.matches(event) for filter in self.filters.values()):
                self.host.deliver(event)
        self.host.broadcast(frame)
'''
ENTRY_POINTS = """\
[roamcast.mobility]
ferry = harbour_parts:Ferry

[roamcast.radios]
walls = harbour_parts:Walls

[roamcast.macs]
polite = harbour_parts:Polite

[roamcast.protocols]
shout = harbour_parts:Shout
"""
WORLD = {
    **{"nodes": 40, "width_m": 400.0, "height_m": 400.0, "duration_s": 8.0, "subscribers": 20, "publishers": 5},
    **{"rate_hz": 4.0, "mobility": "ferry", "radio": "walls", "mac": "polite", "mobility.wait_s": 1.0},
}
"""A small scenario with all of its parts, as it is typed."""


def install(folder: Path, name: str = "harbour-parts", entry_points: str = ENTRY_POINTS, module: str = MODULE) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "harbour_parts.py").write_text(module)
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
