"""The settings of a node: from a TOML file, from the environment, from flags. Later ones in this list win.

Every field has the same name everywhere: `port` of `[network]` in the file is ROAMCAST_NETWORK_PORT in the environment
and `network.port` among the flags. Variables that begin with ROAMCAST_ and name no field are ignored. A node with
several media has a table for each (air/networks.py): `device` of `[network.modem]` is ROAMCAST_NETWORK_MODEM_DEVICE.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from roamcast import toml
from roamcast.errors import InputError, Misplaced, unknown
from roamcast.log.schema import kinds_at
from roamcast.net.air import networks
from roamcast.net.air.medium import Network
from roamcast.net.air.networks import NamedMedium
from roamcast.net.keep import durability
from roamcast.net.keep.database import Bounds
from roamcast.net.limits import Limits
from roamcast.net.live import DEFAULT_PROTOCOL

PREFIX: Final = "ROAMCAST_"


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    state: str = ""  # folder of the node's store; empty: nothing is kept, and each start makes a new node
    key: str = ""  # file of the group's keys (`roamcast key new`)
    insecure: bool = False  # neither encrypt nor authenticate nor sign anything
    number: Annotated[int, msgspec.Meta(ge=-1, lt=1 << 31)] = -1  # of an insecure node; -1: drawn at random
    roster: str = ""  # file that lists the nodes that may publish
    clocks_within_s: Annotated[float, msgspec.Meta(ge=0)] = (
        0.0  # above 0: the operator guarantees that all clocks are right within this time
    )
    protocol: str = DEFAULT_PROTOCOL
    params: dict[str, Any] = {}  # of the protocol; those that are not given are as in LIVE, or else the protocol's own
    durability: str = "each"  # each, group or none: when a node waits for its disk (keep/durability.py)
    gps: str = ""  # gpsd://HOST:PORT, for protocols that use movement or speed; empty: none
    run: str = "field"  # the name of the run in the log
    log: str = ""  # folder for the event log; empty: none
    level: str = "frames"
    log_rotate_s: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    log_files: Annotated[int, msgspec.Meta(ge=1)] = 1000  # the oldest are removed
    metrics: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0  # port on this machine for Prometheus; 0: none
    sample_s: Annotated[float, msgspec.Meta(ge=0)] = 10.0  # how often routing state is logged
    network: Network = Network()  # if UDP is the only medium
    media: tuple[NamedMedium, ...] = ()  # otherwise: all of them
    limits: Limits = Limits()
    bounds: Bounds = Bounds()

    def __post_init__(self) -> None:
        if self.insecure and self.key:
            raise InputError("insecure and key exclude each other: without --insecure the key is used")
        if not self.insecure and not self.key:
            raise InputError("a node needs the group's key: --key FILE (`roamcast key new FILE` makes one)")
        if self.number >= 0 and not self.insecure:
            raise InputError("number: a node with a key gets its number from its identity or from the roster")
        kinds_at(self.level)
        durability.check(self.durability)

    def all_media(self) -> tuple[NamedMedium, ...]:
        """The media of the node, in the order in which they are preferred."""
        return self.media or (NamedMedium(networks.UDP, networks.UDP, self.network),)


GROUPS: Final[dict[str, type[msgspec.Struct]]] = {"network": Network, "limits": Limits, "bounds": Bounds}


def names() -> list[str]:
    """The names of all fields, as flags have them."""
    own = [field.name for field in msgspec.structs.fields(Config) if field.name not in (*GROUPS, "params", "media")]
    others = ((group, kind) for group, kind in GROUPS.items() if group != networks.GROUP)
    return (
        own
        + networks.names()
        + [f"{group}.{field.name}" for group, kind in others for field in msgspec.structs.fields(kind)]
    )


def gather(file: str | Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]) -> dict[str, Any]:
    """The settings by name; flags that are None are not set."""
    settings = {} if file is None else _from_file(Path(file))
    settings |= _from_environment(environment)
    return settings | {name: value for name, value in flags.items() if value is not None}


def configured(settings: Mapping[str, Any]) -> Config:
    nested: dict[str, Any] = {}
    known = names()
    network = {name: value for name, value in settings.items() if name.startswith(f"{networks.GROUP}.")}
    for name, value in settings.items():
        group, dot, field = name.partition(".")
        if name in network:
            continue
        if name not in known and group != "params":
            raise unknown("setting", name, known, _groups())
        if dot:
            nested.setdefault(group, {})[field] = value
        else:
            nested[name] = value
    media = networks.media(network)
    try:
        return _with_media(msgspec.convert(nested, Config, strict=False), media)
    except msgspec.ValidationError as error:
        problem, _, field = str(error).partition(" - at `$.")
        if isinstance(error.__cause__, InputError):
            raise error.__cause__ from None
        raise InputError(f"{field.rstrip('`') or 'configuration'}: {toml.must_be(problem)}") from None


def _groups() -> str:
    """All settings do not fit into a line."""
    own = ", ".join(name for name in names() if "." not in name)
    return f"known: {own}, and the settings of {', '.join(GROUPS)}, such as limits.queue"


def _with_media(config: Config, media: list[NamedMedium]) -> Config:
    if [(one.name, one.kind) for one in media] == [(networks.UDP, networks.UDP)]:
        return msgspec.structs.replace(config, network=media[0].settings)
    return msgspec.structs.replace(config, media=tuple(media))


def _from_file(path: Path) -> dict[str, Any]:
    return toml.load(path, "configuration", _settings)


def _settings(content: dict[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name, value in content.items():
        if name == networks.GROUP and isinstance(value, dict):
            settings |= _of_networks(value)
        elif isinstance(value, dict):
            settings |= {_known(f"{name}.{inner}", name, inner): entry for inner, entry in value.items()}
        else:
            settings[_known(name, name)] = value
    return settings


def _of_networks(table: dict[str, Any]) -> dict[str, Any]:
    """The settings of one medium or several. Several, and one from outside, check their settings themselves."""
    settings = networks.flat(table)
    outside = ":" in str(table.get(networks.KIND))
    for name in settings:
        if name.count(".") == 1 and not outside:
            _known(name, *name.split("."))
    return settings


def _known(name: str, *place: str) -> str:
    if name not in names() and not name.startswith("params."):
        raise Misplaced(str(unknown("setting", name, names(), _groups())), *place)
    return name


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    variables = {PREFIX + name.upper().replace(".", "_"): name for name in names()}
    settings = {variables[name]: value for name, value in environment.items() if name in variables}
    params = f"{PREFIX}PARAMS_"
    settings |= {
        f"params.{name.removeprefix(params).lower()}": value
        for name, value in environment.items()
        if name.startswith(params)
    }
    return settings | _named_networks(environment, variables)


def _named_networks(environment: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """Settings of several media: ROAMCAST_NETWORK_MODEM_DEVICE is `network.modem.device`."""
    prefix, settings = f"{PREFIX}NETWORK_", {}
    fields = sorted((name.partition(".")[2] for name in networks.names()), key=len, reverse=True)
    for variable, value in environment.items():
        rest = variable.removeprefix(prefix).lower()
        field = next((field for field in fields if rest.endswith(f"_{field}")), "")
        if variable.startswith(prefix) and variable not in others and field:
            settings[f"{networks.GROUP}.{rest.removesuffix(f'_{field}')}.{field}"] = value
    return settings
