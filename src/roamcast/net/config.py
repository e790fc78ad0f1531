"""What a node is to be: from a TOML file, from the environment, from flags; what comes later in this list wins.

Every field has the same name everywhere: `port` of `[network]` in the file is ROAMCAST_NETWORK_PORT in the environment
and `network.port` among the flags. Variables that begin with ROAMCAST_ and name no field are somebody else's.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from roamcast.errors import InputError, error_text, unknown
from roamcast.log.schema import kinds_at
from roamcast.net.limits import Limits
from roamcast.net.medium import Network
from roamcast.net.store import Bounds

PREFIX: Final = "ROAMCAST_"


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    state: str = ""  # folder of the node's memory; empty: it forgets everything, and is somebody new each time
    key: str = ""  # file of the group's keys (`roamcast key new`)
    insecure: bool = False  # neither encrypt nor authenticate nor sign anything
    number: Annotated[int, msgspec.Meta(ge=-1, lt=1 << 31)] = -1  # of an insecure node; -1: drawn
    roster: str = ""  # file of those who may publish
    clocks_within_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0  # above 0: all clocks are right within so much
    protocol: str = "frugal"
    params: dict[str, Any] = {}  # of the protocol
    run: str = "field"  # what the log calls all that these nodes do
    log: str = ""  # folder for the event log; empty: none
    level: str = "frames"
    log_rotate_s: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    log_files: Annotated[int, msgspec.Meta(ge=1)] = 1000  # the oldest are removed
    sample_s: Annotated[float, msgspec.Meta(ge=0)] = 10.0  # how often routing state is logged
    network: Network = Network()
    limits: Limits = Limits()
    bounds: Bounds = Bounds()

    def __post_init__(self) -> None:
        if self.insecure and self.key:
            raise InputError("insecure and key exclude each other: without --insecure the key is used")
        if not self.insecure and not self.key:
            raise InputError("a node needs the group's key: --key FILE (`roamcast key new FILE` makes one)")
        if self.number >= 0 and not self.insecure:
            raise InputError("number: a node with a key has the number that its identity or the roster gives")
        kinds_at(self.level)


GROUPS: Final[dict[str, type[msgspec.Struct]]] = {"network": Network, "limits": Limits, "bounds": Bounds}


def names() -> list[str]:
    """Every field as flags call it."""
    own = [field.name for field in msgspec.structs.fields(Config) if field.name not in (*GROUPS, "params")]
    return own + [f"{group}.{field.name}" for group, kind in GROUPS.items() for field in msgspec.structs.fields(kind)]


def gather(file: str | Path | None, environment: Mapping[str, str], flags: Mapping[str, Any]) -> dict[str, Any]:
    """What is said where, by the names above; flags that are None say nothing."""
    found = {} if file is None else _from_file(Path(file))
    found |= _from_environment(environment)
    return found | {name: value for name, value in flags.items() if value is not None}


def configured(said: Mapping[str, Any]) -> Config:
    nested: dict[str, Any] = {}
    known = names()
    for name, value in said.items():
        group, dot, field = name.partition(".")
        if name not in known and group != "params":
            raise unknown("setting", name, known)
        if dot:
            nested.setdefault(group, {})[field] = value
        else:
            nested[name] = value
    try:
        return msgspec.convert(nested, Config, strict=False)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        if isinstance(error.__cause__, InputError):
            raise error.__cause__ from None
        raise InputError(f"{where.rstrip('`') or 'configuration'}: {what[:1].lower()}{what[1:]}") from None


def _from_file(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the configuration {path}: {error_text(error)}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None
    found: dict[str, Any] = {}
    for name, value in content.items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": entry for inner, entry in value.items()}
        else:
            found[name] = value
    try:
        for name in found:
            if name not in names() and not name.startswith("params."):
                raise unknown("setting", name, names())
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return found


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    variables = {PREFIX + name.upper().replace(".", "_"): name for name in names()}
    found = {variables[name]: value for name, value in environment.items() if name in variables}
    params = f"{PREFIX}PARAMS_"
    found |= {
        f"params.{name.removeprefix(params).lower()}": value
        for name, value in environment.items()
        if name.startswith(params)
    }
    return found
