"""A scenario: everything about a run except the protocol and the seed. Flat, frozen, validated at construction."""

from __future__ import annotations

from functools import cache
from math import isfinite
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from roamcast.errors import InputError, unknown
from roamcast.world import mesh
from roamcast.world.density import side_for
from roamcast.world.parts import PARAMETERS, PARTS, changed, folded, named
from roamcast.world.queue import LONGEST_S

MOST_EVENTS: Final = 10_000_000
MOST_SEED: Final = 2**31 - 1
SHORTEST_S: Final = 0.001
"""The shortest period of faults, unless it is 0."""
FILES: Final = ("street_map", "trace", "positions", "links")
"""Fields that name a file."""
LATER: Final = (
    "modem",
    "bandwidth_khz",
    "spreading_factor",
    "coding_rate",
    "preamble_symbols",
    "explicit_header",
    "coding",
    "noise_figure_db",
    "rejection_db",
    "detection_db",
    "path_loss",
    "tx_dbm",
    "frequency_mhz",
    "antenna_m",
    "gain_dbi",
    "routers",
    "router_antenna_m",
    "duty_cycle",
    "polite",
    "positions",
)
"""Fields of LoRa radios and of lists of nodes."""


def means(text: str, *, unit: str = "", section: str = "") -> Meta:
    """What a field means, for people (world/fields.py). The unit is needed where the name does not end with it, and
    the section where one begins."""
    return Meta(description=text, extra={"unit": unit, "section": section})


Metres = Annotated[float, Meta(ge=0.01, le=1e7)]  # from a finger's breadth to a quarter of the way round the earth
Speed = Annotated[float, Meta(ge=0, le=1e5)]
Watts = Annotated[float, Meta(ge=0, le=1e6)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]


class _Checked(msgspec.StructMeta):
    """A misspelt field is an error like any other one in a scenario, and says which name was meant."""

    def __call__(cls, *args: Any, **fields: Any) -> Any:
        if args:
            raise InputError(f"{args[0]!r}: a scenario's fields must be named: Scenario(nodes=40)")
        for name in fields:
            if name not in cls.__struct_fields__:
                raise unknown("scenario field", name, cls.__struct_fields__, "`roamcast fields` lists them")
        return super().__call__(**fields)


class Scenario(msgspec.Struct, metaclass=_Checked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Units are in the names. Presets (roamcast.papers) fill these in, each value with its source."""

    nodes: Annotated[int, Meta(ge=1, le=1_000_000), means("how many nodes there are", section="area and nodes")] = 100
    width_m: Annotated[Metres, means("width of the area")] = 1000.0
    height_m: Annotated[Metres, means("height of the area")] = 1000.0
    neighbours: Annotated[
        float,
        Meta(ge=0, le=1e6),
        means("above 0: the mean number of neighbours; it decides the size of the area, a square", unit="nodes"),
    ] = 0.0
    duration_s: Annotated[float, Meta(gt=0, le=LONGEST_S), means("how long the run lasts")] = 100.0
    traffic_seed: Annotated[
        int, Meta(ge=0, le=MOST_SEED), means("seed of movement, ranges and faults; 0 means the seed of the run")
    ] = 0

    mobility: Annotated[str, means("how nodes move", section="mobility")] = "waypoint"
    mobility_set: Annotated[dict[str, Any], means("parameters of a mobility that is not roamcast's own")] = {}
    placement: Annotated[
        Literal["uniform", "grid", "triangle"], means("static: anywhere, or each node in a cell of a lattice")
    ] = "uniform"
    placement_jitter: Annotated[
        Share, means("grid, triangle: the share of its cell's width and height in which a node may stand")
    ] = 1.0
    speed_min_mps: Annotated[Speed, means("lowest speed of a moving node")] = 1.0
    speed_max_mps: Annotated[Speed, means("highest speed of a moving node; 0 means that nodes stand")] = 2.0
    speed_law: Annotated[
        Literal["uniform", "normal"], means("distribution of speeds between the lowest and the highest one")
    ] = "uniform"
    speed_per: Annotated[
        Literal["leg", "node"], means("waypoint, direction, manhattan: a speed is drawn for each leg, or once and kept")
    ] = "leg"
    pause_min_s: Annotated[Seconds, means("waypoint, direction, manhattan: shortest pause after a leg")] = 0.0
    pause_max_s: Annotated[Seconds, means("waypoint, direction, manhattan: longest pause after a leg")] = 0.0
    start: Annotated[
        Literal["stationary", "moving"], means("waypoint: nodes have moved for long, or all start to move at 0 s")
    ] = "stationary"
    memory: Annotated[Share, means("gauss-markov: how much of the last velocity stays")] = 0.75
    step_s: Annotated[float, Meta(ge=0.001, le=1e6), means("gauss-markov: length of a step")] = 1.0
    block_m: Annotated[Metres, means("manhattan: distance between streets")] = 100.0
    turn: Annotated[Share, means("manhattan: probability of turning at a crossing")] = 0.5
    street_map: Annotated[str, means("city: a WKT, CSV or SUMO file; empty means the campus generator")] = ""
    roads: Annotated[
        Literal["all", "main"], means("city: roads to drive on; main ones weigh half of the heaviest or more")
    ] = "all"
    stop_share: Annotated[Share, means("city: share of intersections that stop a car")] = 0.3
    stop_max_s: Annotated[Seconds, means("city: longest stop")] = 20.0
    parking_max_s: Annotated[Seconds, means("city: longest parking pause at a destination")] = 60.0
    trace: Annotated[str, means("trace, contacts: the file of positions or contacts")] = ""
    positions: Annotated[
        str, means("a list of nodes (CSV or GeoJSON) with their places; nodes that the list does not let move stand")
    ] = ""

    radio: Annotated[str, means("how far frames reach, and how strong they arrive", section="radio")] = "disc"
    radio_set: Annotated[dict[str, Any], means("parameters of a radio that is not roamcast's own")] = {}
    range_m: Annotated[Metres, means("distance up to which a frame can be received")] = 150.0
    range_max_m: Annotated[
        float, Meta(ge=0, le=1e7), means("above range_m: ranges are uniform between range_m and this")
    ] = 0.0
    range_per: Annotated[
        Literal["node", "frame"], means("with range_max_m: a range is drawn for each node, or for each frame")
    ] = "node"
    carrier_sense_ratio: Annotated[
        float, Meta(ge=1, le=100), means("distance up to which a frame is sensed, divided by the range")
    ] = 1.0
    capture_db: Annotated[
        float, Meta(ge=0, le=100), means("how much stronger than all others a frame must be to survive them; not disc")
    ] = 10.0
    crossover_m: Annotated[
        Metres, means("two-ray: 4 pi h h / wavelength: antennas 1.5 m high, 914 MHz (2.4 GHz: 226.2)")
    ] = 86.1
    path_loss_exponent: Annotated[
        float, Meta(ge=1, le=10), means("log-distance, lora: with which power of the distance strength falls")
    ] = 3.0
    shadowing_db: Annotated[
        float, Meta(ge=0, le=30), means("log-distance, lora: standard deviation of the strength between pairs of nodes")
    ] = 0.0
    links: Annotated[
        str, means("table, lora: a file of measured links; with lora they override what the law says about them")
    ] = ""
    loss: Annotated[Share, means("probability that a reception fails by chance")] = 0.0
    modem: Annotated[
        Literal[
            "short-turbo",
            "short-fast",
            "short-slow",
            "medium-fast",
            "medium-slow",
            "long-turbo",
            "long-fast",
            "long-moderate",
            "long-slow",
        ],
        means("lora: bandwidth, spreading factor and coding rate, by the names of Meshtastic's presets"),
    ] = "long-fast"
    bandwidth_khz: Annotated[
        float, Meta(ge=0, le=2000), means("lora: bandwidth; 0 means that of the modem", unit="kHz")
    ] = 0.0
    spreading_factor: Annotated[int, Meta(ge=0, le=12), means("lora: 7 to 12; 0 means that of the modem")] = 0
    coding_rate: Annotated[int, Meta(ge=0, le=8), means("lora: 5 to 8, for 4/5 to 4/8; 0 means that of the modem")] = 0
    preamble_symbols: Annotated[
        int, Meta(ge=6, le=65535), means("lora: length of a frame's preamble", unit="symbols")
    ] = 16
    explicit_header: Annotated[bool, means("lora: whether frames have the modem's own header")] = True
    coding: Annotated[
        Literal["standard", "plus-four"],
        means("lora: symbols of a block: as many as the coding rate says, or four more, as one simulator counts"),
    ] = "standard"
    noise_figure_db: Annotated[float, Meta(ge=0, le=30), means("lora: noise that a receiver adds")] = 6.0
    rejection_db: Annotated[
        float, Meta(ge=0, le=100), means("lora: how much stronger than each other frame one must be to survive it")
    ] = 6.0
    detection_db: Annotated[
        float, Meta(ge=0, le=30), means("lora: how far below what can be decoded activity is still noticed")
    ] = 3.0
    path_loss: Annotated[
        Literal[
            "3gpp-suburban",
            "3gpp-urban",
            "hata-urban",
            "hata-suburban",
            "hata-open",
            "log-distance",
            "free-space",
        ],
        means("lora: the law by which signals get weaker with the distance"),
    ] = "3gpp-suburban"
    tx_dbm: Annotated[float, Meta(ge=-30, le=60), means("lora: transmit power", unit="dBm")] = 30.0
    frequency_mhz: Annotated[float, Meta(ge=10, le=100_000), means("lora: frequency", unit="MHz")] = 908.75
    antenna_m: Annotated[float, Meta(ge=0.1, le=10_000), means("lora: height of antennas above the ground")] = 1.0
    gain_dbi: Annotated[float, Meta(ge=-50, le=50), means("lora: gain of antennas", unit="dBi")] = 0.0
    routers: Annotated[Count, means("lora: how many nodes are routers, unless positions says so", unit="nodes")] = 0
    router_antenna_m: Annotated[
        float, Meta(ge=0.1, le=10_000), means("lora: height of the antennas of these routers")
    ] = 10.0

    mac: Annotated[str, means("when a node may send", section="medium access")] = "dcf"
    mac_set: Annotated[dict[str, Any], means("parameters of a MAC that is not roamcast's own")] = {}
    rate_bps: Annotated[float, Meta(ge=1, le=1e12), means("rate at which frames are sent")] = 1_000_000.0
    queue: Annotated[
        int, Meta(ge=1, le=1_000_000), means("length of a node's queue of frames; ideal has no limit", unit="frames")
    ] = 50
    retries: Annotated[
        int, Meta(ge=0, le=255), means("how often a frame for one neighbour is repeated if no acknowledgement comes")
    ] = 7
    overhead_bytes: Annotated[
        int, Meta(ge=0, le=10_000), means("bytes that a link layer or security adds to every frame")
    ] = 0

    duty_cycle: Annotated[
        float, Meta(gt=0, le=1), means("lora: the share of every hour in which a node may send; 1 means no limit")
    ] = 1.0
    polite: Annotated[
        bool,
        means("lora: a mesh's positions wait while the channel is busy above 25 % of a minute, telemetry above 40 %"),
    ] = False

    tx_w: Annotated[
        Watts,
        means("power of a radio that sends; with radio=lora, these four have defaults of their own", section="power"),
    ] = 1.4
    rx_w: Annotated[Watts, means("power of a radio that receives")] = 1.0
    idle_w: Annotated[Watts, means("power of a radio that is on and neither sends nor receives")] = 0.83
    sleep_w: Annotated[Watts, means("power of a radio that sleeps")] = 0.13
    battery_j: Annotated[float, Meta(gt=0), means("energy in a full battery")] = 10_000.0

    awake_s: Annotated[Seconds, means("duty cycle: how long a node is awake", section="faults")] = 0.0
    asleep_s: Annotated[Seconds, means("duty cycle: how long a node then sleeps; 0 means that it never does")] = 0.0
    crash_mean_s: Annotated[Seconds, means("mean time until a node crashes; 0 means never")] = 0.0
    repair_mean_s: Annotated[float, Meta(gt=0, le=1e9), means("mean time until a crashed node is back")] = 10.0
    keep_tables: Annotated[bool, means("whether a node that comes back still has its tables")] = False
    partition_from_s: Annotated[Seconds, means("from this time on no frame crosses the middle of the area")] = 0.0
    partition_until_s: Annotated[Seconds, means("until this time no frame crosses it; 0 means no partition")] = 0.0

    workload: Annotated[
        Literal["single", "topics", "ranges", "interests", "mesh"],
        means(
            "one topic; topics: publishers subscribe to it, too; ranges of numbers; interests: sets of attributes; "
            "mesh: what LoRa meshes send, and ranges",
            section="publishers, subscribers and events",
        ),
    ] = "single"
    publishers: Annotated[Count, means("how many nodes publish", unit="nodes")] = 1
    subscribers: Annotated[Count, means("single, topics: how many nodes subscribe", unit="nodes")] = 10
    rate_hz: Annotated[float, Meta(ge=0, le=1e6), means("how often each publisher publishes")] = 1.0
    arrivals: Annotated[
        Literal["poisson", "periodic"], means("publications at random instants, or at regular ones")
    ] = "poisson"
    events: Annotated[
        int, Meta(ge=0, le=MOST_EVENTS), means("above 0: the exact number of publications in all, instead of a rate")
    ] = 0
    publish_from_s: Annotated[Seconds, means("when publishing begins")] = 0.0
    publish_until_s: Annotated[Seconds, means("when publishing ends; 0 means at the end of the run")] = 0.0
    validity_s: Annotated[Seconds, means("how long an event is valid; 0 means for ever")] = 0.0
    payload_bytes: Annotated[int, Meta(ge=0, le=60_000), means("content of an event")] = 100
    bystanders: Annotated[
        Literal["silent", "subscribed"], means("topics: other nodes subscribe to nothing, or to another topic")
    ] = "silent"
    subscriptions_per_node: Annotated[
        int, Meta(ge=1, le=1000), means("ranges, mesh, interests: how many subscriptions a node has")
    ] = 1
    interested: Annotated[Share, means("ranges, mesh: share of the nodes that an event interests")] = 0.2
    ranges_within: Annotated[bool, means("ranges, mesh: they begin in (0, R] as Rezende et al. draw them")] = False
    interests: Annotated[int, Meta(ge=1, le=100_000), means("interests: how many distinct ones there are")] = 50
    attributes_max: Annotated[int, Meta(ge=1, le=8), means("interests: most attributes of an event")] = 1
    local_share: Annotated[Share, means("share of events that only nearby nodes are interested in")] = 0.0
    local_of: Annotated[
        Literal["publications", "notifications"], means("local_share is a share of events, or of (event, node) pairs")
    ] = "publications"
    local_range_m: Annotated[
        Metres, means("only nodes within this distance can be interested in a local event when it is published")
    ] = 450.0

    def __post_init__(self) -> None:
        for name, kind in _kinds().items():
            msgspec.structs.force_setattr(self, name, _checked(name, kind, getattr(self, name), strict=True))
        for part, registry in PARTS.items():
            given = getattr(self, f"{part}_set")
            msgspec.structs.force_setattr(self, f"{part}_set", registry.checked(getattr(self, part), given))
        for name, value in {**mesh.of_list(self), **mesh.of_radio(self)}.items():
            msgspec.structs.force_setattr(self, name, value)
        check(self)
        if self.neighbours:
            side_m = side_for(self.nodes, self.neighbours, self.range_m, self.placement, self.placement_jitter)
            msgspec.structs.force_setattr(self, "width_m", side_m)
            msgspec.structs.force_setattr(self, "height_m", side_m)

    def facts(self) -> dict[str, Any]:
        """All fields, for digests. Empty tables of parameters are left out, and so is what only concerns LoRa radios
        and lists of nodes where there are none: runs of older worlds keep their names."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        unused = LATER if "lora" not in (self.radio, self.mac) and not self.positions else ()
        return {
            name: value for name, value in facts.items() if name not in unused and (name not in PARAMETERS or value)
        }


def check(s: Scenario) -> None:
    """Check what concerns more than one field."""
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
    mesh.check(s)


def _check_places(s: Scenario) -> None:
    if s.placement != "uniform" and s.mobility != "static":
        raise InputError(f"placement={s.placement} needs mobility=static: {s.mobility} decides where nodes start")
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
    if s.workload in ("ranges", "mesh") and s.ranges_within and s.interested > most:
        raise InputError(
            f"interested={s.interested:g}: must be at most {most:.4g} with ranges_within=true and "
            f"subscriptions_per_node={s.subscriptions_per_node}"
        )
    everywhere = s.mobility in PARTS["mobility"].built_in and s.mobility not in ("city", "trace")
    if s.local_of == "notifications" and not everywhere:
        raise InputError(f"local_of must be publications with mobility={s.mobility}: nodes do not fill the area")


def _check_faults(s: Scenario) -> None:
    for name in ("awake_s", "asleep_s", "crash_mean_s", "repair_mean_s"):
        if 0 < getattr(s, name) < SHORTEST_S:
            raise InputError(f"{name}={getattr(s, name):g}: must be 0 or at least {SHORTEST_S:g}")
    if s.asleep_s and s.crash_mean_s:
        both = f"asleep_s ({s.asleep_s:g}) and crash_mean_s ({s.crash_mean_s:g})"
        raise InputError(f"{both}: one of them must be 0; in a scenario nodes either sleep or crash")
    if s.asleep_s and not s.awake_s:
        raise InputError(f"asleep_s ({s.asleep_s:g}) needs awake_s above 0: no node would ever be awake")


def _check_files(s: Scenario) -> None:
    """Files of links or contacts have no positions."""
    if s.mobility in ("trace", "contacts") and not s.trace:
        raise InputError(f"mobility={s.mobility} needs trace=FILE")
    if s.radio == "table" and not s.links:
        raise InputError("radio=table needs links=FILE")
    if s.mobility == "contacts" and s.radio != "disc":
        raise InputError(f"mobility=contacts has links of its own, and so has radio={s.radio}; the radio must be disc")
    if s.mobility == "contacts" or s.radio == "table":
        where = "mobility=contacts" if s.mobility == "contacts" else "radio=table"
        if s.partition_until_s:
            raise InputError(f"partition_until_s must be 0 with {where}: nodes have no positions")
        if s.local_share:
            raise InputError(f"local_share must be 0 with {where}: nodes have no positions")


def with_values(base: dict[str, Any], changes: dict[str, str]) -> Scenario:
    """A scenario from a preset's values and the values that a person typed (`--world KEY=VALUE`).

    `mobility.KEY`, `radio.KEY` and `mac.KEY` are parameters of these parts.
    """
    kinds = _kinds()
    for name in (*base, *changes):
        if name not in kinds and name.partition(".")[0] not in PARTS:
            raise unknown("scenario field", name, kinds, "`roamcast fields` lists them")
    typed = {name: _checked(name, kinds.get(name, Any), text, strict=False) for name, text in changes.items()}
    _check_shortened(base, typed)
    scenario = Scenario(**folded(changed(base, typed)))
    for name in ("width_m", "height_m"):
        if name in typed and scenario.neighbours:
            raise InputError(f"{name}={changes[name]}: neighbours={scenario.neighbours:g} decides it; make that 0")
    return scenario


def _check_shortened(base: dict[str, Any], typed: dict[str, Any]) -> None:
    """A person who shortens a run reads which other fields of the preset depend on its length."""
    if "duration_s" not in typed:
        return
    duration_s = typed["duration_s"]
    from_s = base.get("publish_from_s", 0.0)
    until_s = base.get("publish_until_s", 0.0)
    if from_s >= duration_s and "publish_from_s" not in typed:
        raise InputError(
            f"publish_from_s ({from_s:g}) must be below duration_s ({duration_s:g}): set publish_from_s=0, too"
        )
    if until_s > duration_s and "publish_until_s" not in typed:
        must = f"publish_until_s ({until_s:g}) must not be above duration_s ({duration_s:g})"
        raise InputError(f"{must}: set publish_until_s={duration_s:g}, too")


# ---- one field


@cache
def _kinds() -> dict[str, Any]:
    return {f.name: f.type for f in msgspec.structs.fields(Scenario)}


def _checked(name: str, kind: Any, value: Any, *, strict: bool) -> Any:
    """The value, converted to the type of its field. Texts are converted, too, unless `strict`."""
    if name in PARTS and isinstance(value, dict):
        raise InputError(f"{name}: must be a name; its parameters are in the table {name}_set")
    try:
        right = msgspec.convert(named(name, value), kind, strict=strict)
    except msgspec.ValidationError:
        raise InputError(f"{name}={value}: must be {_wanted(bare(kind))}") from None
    if isinstance(right, float) and not isfinite(right):
        raise InputError(f"{name}={value}: must be finite")
    return right


def bare(kind: Any) -> Any:
    """A field's type for msgspec, without our metadata."""
    info = msgspec.inspect.type_info(kind)
    return info.type if isinstance(info, msgspec.inspect.Metadata) else info


def _wanted(kind: Any) -> str:
    if isinstance(kind, msgspec.inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in kind.values)
    if isinstance(kind, msgspec.inspect.BoolType):
        return "true or false"
    if isinstance(kind, msgspec.inspect.StrType):
        return "a text"
    if isinstance(kind, msgspec.inspect.DictType):
        return "a table of parameters"
    what = "a whole number" if isinstance(kind, msgspec.inspect.IntType) else "a number"
    bounds = [
        f"{word} {bound:.10g}" for word, bound in (("above", kind.gt), ("at least", kind.ge)) if bound is not None
    ]
    bounds += [f"at most {kind.le:.10g}"] if kind.le is not None else []
    return f"{what}, {' and '.join(bounds)}" if bounds else what
