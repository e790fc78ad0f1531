"""A scenario: everything about a run except the protocol and the seed. Flat, frozen, validated at construction."""

from __future__ import annotations

from functools import cache
from math import isfinite
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from roamcast.errors import InputError, unknown
from roamcast.world.density import side_for
from roamcast.world.queue import LONGEST_S

MOST_EVENTS: Final = 10_000_000
MOST_SEED: Final = 2**31 - 1
SHORTEST_S: Final = 0.001
"""Of the periods of faults, where they are not 0."""

Positive = Annotated[float, Meta(gt=0)]
Metres = Annotated[float, Meta(ge=0.01, le=1e7)]  # from a finger's breadth to a quarter of the way round the earth
Speed = Annotated[float, Meta(ge=0, le=1e5)]
Watts = Annotated[float, Meta(ge=0, le=1e6)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Share = Annotated[float, Meta(ge=0, le=1)]


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Units are in the names. Presets (roamcast.papers) fill these in, each value with its source."""

    # the field and its people
    nodes: Annotated[int, Meta(ge=1, le=1_000_000)] = 100
    width_m: Metres = 1000.0
    height_m: Metres = 1000.0
    neighbours: Annotated[float, Meta(ge=0, le=1e6)] = 0.0  # above 0: the mean, and the field a square as large as that
    duration_s: Annotated[float, Meta(gt=0, le=LONGEST_S)] = 100.0
    traffic_seed: Annotated[int, Meta(ge=0, le=MOST_SEED)] = 0  # of movement, ranges and faults; 0 means the run's

    # mobility
    mobility: Literal["static", "waypoint", "direction", "gauss-markov", "manhattan", "city", "trace", "contacts"] = (
        "waypoint"
    )
    placement: Literal["uniform", "grid", "triangle"] = "uniform"  # static: anywhere, or each in a cell of a lattice
    placement_jitter: Share = 1.0  # grid, triangle: share of its cell's width and height in which a node may stand
    speed_min_mps: Speed = 1.0
    speed_max_mps: Speed = 2.0
    speed_law: Literal["uniform", "normal"] = "uniform"
    speed_per: Literal["leg", "node"] = "leg"  # waypoint, direction, manhattan: drawn for each leg, or once and kept
    pause_min_s: Seconds = 0.0
    pause_max_s: Seconds = 0.0
    start: Literal["stationary", "moving"] = "stationary"  # waypoint: as if long under way, or all set off at once
    memory: Share = 0.75  # gauss-markov: how much of the last velocity stays
    step_s: Annotated[float, Meta(ge=0.001, le=1e6)] = 1.0  # gauss-markov: length of a step
    block_m: Metres = 100.0  # manhattan: distance between streets
    turn: Share = 0.5  # manhattan: probability of turning at a crossing
    street_map: str = ""  # city: a WKT, CSV or SUMO file; empty means the campus generator
    roads: Literal["all", "main"] = "all"  # city: which are driven on; main ones weigh half of the heaviest or more
    stop_share: Share = 0.3  # city: share of intersections that stop a car
    stop_max_s: Seconds = 20.0  # city: longest stop
    parking_max_s: Seconds = 60.0  # city: longest parking pause at a destination
    trace: str = ""  # trace, contacts: the file

    # radio
    radio: Literal["disc", "free-space", "two-ray", "log-distance", "table"] = "disc"
    range_m: Metres = 150.0
    range_max_m: Annotated[float, Meta(ge=0, le=1e7)] = 0.0  # above range_m: ranges are uniform between the two
    range_per: Literal["node", "frame"] = "node"
    carrier_sense_ratio: Annotated[float, Meta(ge=1, le=100)] = 1.0  # carrier-sense range / range
    capture_db: Annotated[float, Meta(ge=0, le=100)] = 10.0
    crossover_m: Metres = 86.1  # two-ray: 4 pi h h / wavelength: antennas 1.5 m high, 914 MHz (2.4 GHz: 226.2)
    path_loss_exponent: Annotated[float, Meta(ge=1, le=10)] = 3.0  # log-distance
    shadowing_db: Annotated[float, Meta(ge=0, le=30)] = 0.0  # log-distance
    links: str = ""  # table: a file of measured links
    loss: Share = 0.0  # of every reception, independently

    # medium access
    mac: Literal["ideal", "dcf", "tinyos"] = "dcf"
    rate_bps: Annotated[float, Meta(ge=1, le=1e12)] = 1_000_000.0
    queue: Annotated[int, Meta(ge=1, le=1_000_000)] = 50
    retries: Annotated[int, Meta(ge=0, le=255)] = 7
    overhead_bytes: Annotated[int, Meta(ge=0, le=10_000)] = 0  # of every frame: what a link layer or security adds

    # power, in watts
    tx_w: Watts = 1.4
    rx_w: Watts = 1.0
    idle_w: Watts = 0.83
    sleep_w: Watts = 0.13
    battery_j: Positive = 10_000.0

    # faults
    awake_s: Seconds = 0.0  # duty cycle: awake for so long, …
    asleep_s: Seconds = 0.0  # … then asleep; 0 means always awake
    crash_mean_s: Seconds = 0.0  # mean time to a crash; 0 means never
    repair_mean_s: Annotated[float, Meta(gt=0, le=1e9)] = 10.0
    keep_tables: bool = False  # whether a node that comes back still has its tables
    partition_from_s: Seconds = 0.0
    partition_until_s: Seconds = 0.0  # nothing crosses the middle of the field between the two instants

    # publishers, subscribers and events
    workload: Literal["single", "topics", "ranges", "interests"] = "single"
    publishers: Annotated[int, Meta(ge=0)] = 1
    subscribers: Annotated[int, Meta(ge=0)] = 10
    rate_hz: Annotated[float, Meta(ge=0, le=1e6)] = 1.0  # of each publisher
    arrivals: Literal["poisson", "periodic"] = "poisson"
    events: Annotated[int, Meta(ge=0, le=MOST_EVENTS)] = 0  # above 0: exactly so many in all, instead of a rate
    publish_from_s: Seconds = 0.0
    publish_until_s: Seconds = 0.0  # 0 means to the end
    validity_s: Seconds = 0.0  # 0 means for ever
    payload_bytes: Annotated[int, Meta(ge=0, le=60_000)] = 100
    bystanders: Literal["silent", "subscribed"] = "silent"  # topics: others subscribe to nothing, or to another one
    subscriptions_per_node: Annotated[int, Meta(ge=1, le=1000)] = 1
    interested: Share = 0.2  # ranges: share of the nodes that an event interests
    ranges_within: bool = False  # ranges: they begin in (0, R] as Rezende et al. draw them, never below
    interests: Annotated[int, Meta(ge=1, le=100_000)] = 50  # interests: how many distinct ones
    attributes_max: Annotated[int, Meta(ge=1, le=8)] = 1  # interests: attributes of an event
    local_share: Share = 0.0  # share of events whose scope is local, counted in …
    local_of: Literal["publications", "notifications"] = "publications"  # … events, or in (event, node) pairs
    local_range_m: Metres = 450.0  # whom a local event can interest: nodes so near when it is published

    def __post_init__(self) -> None:
        for name, kind in _kinds().items():
            msgspec.structs.force_setattr(self, name, _checked(name, kind, getattr(self, name), strict=True))
        check(self)
        if self.neighbours:
            side_m = side_for(self.nodes, self.neighbours, self.range_m, self.placement, self.placement_jitter)
            msgspec.structs.force_setattr(self, "width_m", side_m)
            msgspec.structs.force_setattr(self, "height_m", side_m)


def check(s: Scenario) -> None:
    """What no single field can tell."""
    ordered = (
        ("speed_min_mps", "speed_max_mps"),
        ("pause_min_s", "pause_max_s"),
        ("partition_from_s", "partition_until_s"),
        ("publishers", "nodes"),
        ("subscribers", "nodes"),
        ("publish_until_s", "duration_s"),
    )
    for low, high in ordered:
        if getattr(s, low) > getattr(s, high):
            raise InputError(f"{low} ({getattr(s, low):g}) must not be above {high} ({getattr(s, high):g})")
    if s.range_max_m and s.range_max_m < s.range_m:
        raise InputError(f"range_max_m ({s.range_max_m:g}) must not be below range_m ({s.range_m:g})")
    if s.publish_from_s >= s.duration_s:
        raise InputError(f"publish_from_s ({s.publish_from_s:g}) must be below duration_s ({s.duration_s:g})")
    if s.publish_until_s and s.publish_from_s > s.publish_until_s:
        raise InputError(
            f"publish_from_s ({s.publish_from_s:g}) must not be above publish_until_s ({s.publish_until_s:g})"
        )
    if s.mobility in ("waypoint", "direction") and s.speed_max_mps > 0 and s.speed_min_mps <= 0:
        raise InputError("speed_min_mps must be above 0: a node that draws speed 0 never arrives; use mobility=static")
    expected = s.publishers * s.rate_hz * (s.publish_until_s or s.duration_s)
    if not s.events and expected > MOST_EVENTS:
        raise InputError(f"rate_hz={s.rate_hz:g}: {expected:.3g} events in all; there must not be over {MOST_EVENTS:,}")
    _check_places(s)
    _check_interests(s)
    _check_faults(s)
    _check_files(s)


def _check_places(s: Scenario) -> None:
    if s.placement != "uniform" and s.mobility != "static":
        raise InputError(f"placement={s.placement} needs mobility=static: with {s.mobility}, nodes start where it says")
    if not s.neighbours:
        return
    if s.mobility != "static" or s.radio != "disc" or s.range_max_m > s.range_m:
        raise InputError(f"neighbours={s.neighbours:g} needs mobility=static, radio=disc and one range for all")
    if s.neighbours >= s.nodes - 1:
        raise InputError(f"neighbours={s.neighbours:g}: must be below {s.nodes - 1} with nodes={s.nodes}")


def _check_interests(s: Scenario) -> None:
    if s.bystanders == "subscribed" and s.workload != "topics":
        raise InputError(f"bystanders=subscribed needs workload=topics; it is {s.workload}")
    most = s.subscriptions_per_node / (s.subscriptions_per_node + 1)  # see workload.py
    if s.workload == "ranges" and s.ranges_within and s.interested > most:
        raise InputError(
            f"interested={s.interested:g}: must be at most {most:.4g} with ranges_within=true and "
            f"subscriptions_per_node={s.subscriptions_per_node}"
        )
    if s.local_of == "notifications" and s.mobility in ("city", "trace"):
        raise InputError(f"local_of must be publications with mobility={s.mobility}: nodes are not all over the field")


def _check_faults(s: Scenario) -> None:
    for name in ("awake_s", "asleep_s", "crash_mean_s", "repair_mean_s"):
        if 0 < getattr(s, name) < SHORTEST_S:
            raise InputError(f"{name}={getattr(s, name):g}: must be 0 or at least {SHORTEST_S:g}")
    if s.asleep_s and s.crash_mean_s:
        both = f"asleep_s ({s.asleep_s:g}) and crash_mean_s ({s.crash_mean_s:g})"
        raise InputError(f"{both}: one of them must be 0; in a scenario nodes sleep or they crash")
    if s.asleep_s and not s.awake_s:
        raise InputError(f"asleep_s ({s.asleep_s:g}) needs awake_s above 0: nobody would ever be awake")


def _check_files(s: Scenario) -> None:
    """Files that say who hears whom know nothing of places."""
    if s.mobility in ("trace", "contacts") and not s.trace:
        raise InputError(f"mobility={s.mobility} needs trace=FILE")
    if s.radio == "table" and not s.links:
        raise InputError("radio=table needs links=FILE")
    if s.mobility == "contacts" and s.radio != "disc":
        raise InputError(f"mobility=contacts says who hears whom, and so does radio={s.radio}; it must be disc")
    if s.mobility == "contacts" or s.radio == "table":
        where = "mobility=contacts" if s.mobility == "contacts" else "radio=table"
        if s.partition_until_s:
            raise InputError(f"partition_until_s must be 0 with {where}: there are no places to part")
        if s.local_share:
            raise InputError(f"local_share must be 0 with {where}: there are no places to be near")


def with_values(base: dict[str, Any], changes: dict[str, str]) -> Scenario:
    """A scenario from a preset's values and what was typed (`--world KEY=VALUE`)."""
    kinds = _kinds()
    for name in (*base, *changes):
        if name not in kinds:
            raise unknown("scenario field", name, kinds)
    typed = {name: _checked(name, kinds[name], text, strict=False) for name, text in changes.items()}
    _check_shortened(base, typed)
    scenario = Scenario(**{**base, **typed})
    for name in ("width_m", "height_m"):
        if name in typed and scenario.neighbours:
            raise InputError(f"{name}={changes[name]}: neighbours={scenario.neighbours:g} decides it; make that 0")
    return scenario


def _check_shortened(base: dict[str, Any], typed: dict[str, Any]) -> None:
    """Who types a shorter run need not know what else the preset ties to its length."""
    if "duration_s" not in typed:
        return
    duration_s = typed["duration_s"]
    from_s = base.get("publish_from_s", 0.0)
    until_s = base.get("publish_until_s", 0.0)
    if from_s >= duration_s and "publish_from_s" not in typed:
        raise InputError(
            f"publish_from_s ({from_s:g}) must be below duration_s ({duration_s:g}): add --world publish_from_s=0"
        )
    if until_s > duration_s and "publish_until_s" not in typed:
        must = f"publish_until_s ({until_s:g}) must not be above duration_s ({duration_s:g})"
        raise InputError(f"{must}: add --world publish_until_s={duration_s:g}")


# ---- one field


@cache
def _kinds() -> dict[str, Any]:
    return {f.name: f.type for f in msgspec.structs.fields(Scenario)}


def _checked(name: str, kind: Any, value: Any, *, strict: bool) -> Any:
    """The value as its field wants it; a text will do unless `strict`."""
    try:
        right = msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError:
        raise InputError(f"{name}={value}: must be {_wanted(msgspec.inspect.type_info(kind))}") from None
    if isinstance(right, float) and not isfinite(right):
        raise InputError(f"{name}={value}: must be finite")
    return right


def _wanted(kind: Any) -> str:
    if isinstance(kind, msgspec.inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in kind.values)
    if isinstance(kind, msgspec.inspect.BoolType):
        return "true or false"
    if isinstance(kind, msgspec.inspect.StrType):
        return "a text"
    what = "a whole number" if isinstance(kind, msgspec.inspect.IntType) else "a number"
    bounds = [
        f"{word} {bound:.10g}" for word, bound in (("above", kind.gt), ("at least", kind.ge)) if bound is not None
    ]
    bounds += [f"at most {kind.le:.10g}"] if kind.le is not None else []
    return f"{what}, {' and '.join(bounds)}" if bounds else what
