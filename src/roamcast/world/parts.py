"""The parts of a world that can come from outside: how nodes move, how strong frames arrive, when a node may send.

`Scenario.mobility`, `radio` and `mac` name one of roamcast's own, one of an installed package (entry points, see the
groups below), or a class as `module:Class`. A class from outside extends the base that is named here (people import it
from `roamcast.parts`), and is made as

    Class(scenario, params, seed)

with its own parameters: `Scenario.mobility_set`, `radio_set` and `mac_set` are checked against its `params_class`, as
a protocol's are. `mobility.KEY=VALUE` is another way to write one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, Final

from roamcast.errors import InputError, meant
from roamcast.plugins import Registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.interface import Params
from roamcast.protocols.kit.parameters import Parameter

if TYPE_CHECKING:
    from roamcast.world.scenario import Scenario


class Part(Registry):
    """One kind of part; `what` is its field in a scenario. `own` has roamcast's own parts with a description each;
    their packages make them."""

    def __init__(self, what: str, group: str, base: str, own: Mapping[str, str]) -> None:
        super().__init__(what, group, base, dict.fromkeys(own, ""), f"roamcast.parts.{base.rpartition(':')[2]}")
        self.own = own

    def outside(self, name: str) -> bool:
        """Whether this part is not one of roamcast's own."""
        return name not in self.built_in

    def checked(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """The parameters as its class takes them."""
        if self.outside(name):
            made = asdict(self._params(name, given))
            return {key: made[key] for key in given}
        self.check(name)
        for key, value in given.items():
            raise InputError(f"{self.what}.{key}={value}: {self.what}={name} has no parameters of its own")
        return {}

    def make(self, scenario: Scenario, seed: int) -> Any:
        """The part of a scenario, if it comes from outside."""
        name = getattr(scenario, self.what)
        params = self._params(name, getattr(scenario, f"{self.what}_set"))
        try:
            return self.get(name)(scenario, params, seed)
        except TypeError as error:
            raise InputError(f"{self.what} {name!r} cannot be made: {error}") from error

    def parameters(self, name: str) -> list[Parameter]:
        """The parameters of its class; roamcast's own parts have fields of the scenario instead."""
        return parameters.describe_class(self.get(name).params_class) if self.outside(name) else []

    def _params(self, name: str, given: dict[str, Any]) -> Params:
        params_class = self.get(name).params_class
        known = [field.name for field in fields(params_class)]
        for key, value in given.items():
            if key not in known:
                hint = meant(key, known) if known else "it has none"
                raise InputError(f"{self.what}.{key}={value}: {self.what}={name} has no such parameter; {hint}")
        try:
            return parameters.of_class(params_class, given, f"{self.what}={name}")
        except InputError as error:
            of_one = str(error).partition("=")[0] in given
            raise InputError(f"{self.what}.{error}" if of_one else str(error)) from None


MOBILITY: Final = Part(
    "mobility",
    "roamcast.mobility",
    "roamcast.world.mobility.base:Mobility",
    {
        "static": "nodes stand still",
        "waypoint": "straight to a random point of the area, a pause, and on to the next one",
        "direction": "straight to the border, a pause, and on in a random direction (Royer et al. 2001)",
        "gauss-markov": "velocities that depend on the ones before (Liang and Haas 1999)",
        "manhattan": "along streets that cross at equal distances",
        "city": "cars on the streets of a map",
        "trace": "positions from a file",
        "contacts": "contacts from a file; nodes have no positions",
    },
)
RADIO: Final = Part(
    "radio",
    "roamcast.radios",
    "roamcast.world.radio.outside:Radio",
    {
        "disc": "every node in range receives a frame, and frames that overlap are lost",
        "free-space": "strength falls with the square of the distance",
        "two-ray": "the ground reflects: beyond crossover_m strength falls with the fourth power of the distance",
        "log-distance": "strength falls with some power of the distance, and differs between pairs of nodes",
        "lora": "LoRa: transmit power, antennas and a law of path loss; the modem decides what can be decoded",
        "table": "measured links from a file",
    },
)
MAC: Final = Part(
    "mac",
    "roamcast.macs",
    "roamcast.world.mac.outside:Mac",
    {
        "ideal": "no contention, no collisions, no limit to the queue",
        "dcf": "IEEE 802.11: carrier sense, and a back-off that is counted in slots of silence",
        "lora": "LoRa meshes: listen before talk, and windows by signal or by use of the channel",
        "tinyos": "the radio stack of TinyOS 1.x for MICA2 motes",
    },
)
PARTS: Final = {part.what: part for part in (MOBILITY, RADIO, MAC)}
PARAMETERS: Final = tuple(f"{part}_set" for part in PARTS)
"""The fields of a scenario that hold parameters of its parts."""


def named(field: str, value: Any) -> Any:
    """The value of a field in a scenario: if a program gives a class, its name."""
    return PARTS[field].name_of(value) if field in PARTS and isinstance(value, type) else value


def changed(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a scenario with changes over them. The parameters of a part are removed when another part replaces
    it."""
    kept = dict(values)
    for part in PARTS:
        if changes.get(part, values.get(part)) != values.get(part):
            kept = {name: value for name, value in kept.items() if not _is_parameter(name, part)}
    return kept | dict(changes)


def _is_parameter(name: str, part: str) -> bool:
    return name == f"{part}_set" or name.startswith(f"{part}.")


def folded(values: dict[str, Any]) -> dict[str, Any]:
    """Fields of a scenario; `mobility.KEY` and the like become entries of `mobility_set`."""
    complete = {name: value for name, value in values.items() if "." not in name}
    for name, value in values.items():
        part, dot, key = name.partition(".")
        if dot:
            field = f"{part}_set"
            complete[field] = {**complete.get(field, {}), key: value}
    return complete


def flat(values: dict[str, Any]) -> dict[str, Any]:
    """The inverse: fields of a scenario as people type them, with `mobility.KEY` for each parameter."""
    typed: dict[str, Any] = {}
    for name, value in values.items():
        if name in PARAMETERS and isinstance(value, dict):
            typed |= {f"{name.removesuffix('_set')}.{key}": entry for key, entry in value.items()}
        else:
            typed[name] = value
    return typed


def given_in(scenario: Scenario, field: str) -> Any:
    """The value of a field, or of the parameter `mobility.KEY`."""
    part, dot, key = field.partition(".")
    return getattr(scenario, f"{part}_set")[key] if dot else getattr(scenario, field)
