"""The parts of a world that can come from outside: how nodes move, how strong frames arrive, when a node may send.

`Scenario.mobility`, `radio` and `mac` name one of roamcast's own, one of an installed package (entry points, see the
groups below), or a class as `module:Class`. A class from outside extends the base that is named here, and is made as

    Class(scenario, params, seed)

with its own parameters: `Scenario.mobility_set`, `radio_set` and `mac_set` are checked against its `params_class`, as
a protocol's are. `mobility.KEY=VALUE` is another way to write one of them.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from roamcast.errors import InputError
from roamcast.plugins import Registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.interface import Params

if TYPE_CHECKING:
    from roamcast.world.scenario import Scenario


class Part(Registry):
    """One of the parts, `what` is its field in a scenario; those of `own` are made by their packages."""

    def __init__(self, what: str, group: str, base: str, own: tuple[str, ...]) -> None:
        super().__init__(what, group, base, dict.fromkeys(own, ""))

    def outside(self, name: str) -> bool:
        """Whether this is none of roamcast's own."""
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

    def _params(self, name: str, given: dict[str, Any]) -> Params:
        try:
            return parameters.of_class(self.get(name).params_class, given, f"{self.what}={name}")
        except InputError as error:
            of_one = str(error).partition("=")[0] in given
            raise InputError(f"{self.what}.{error}" if of_one else str(error)) from None


MOBILITY: Final = Part(
    "mobility",
    "roamcast.mobility",
    "roamcast.world.mobility.base:Mobility",
    ("static", "waypoint", "direction", "gauss-markov", "manhattan", "city", "trace", "contacts"),
)
RADIO: Final = Part(
    "radio",
    "roamcast.radios",
    "roamcast.world.radio.law:Law",
    ("disc", "free-space", "two-ray", "log-distance", "table"),
)
MAC: Final = Part("mac", "roamcast.macs", "roamcast.world.mac.rules:Rules", ("ideal", "dcf", "tinyos"))
PARTS: Final = {part.what: part for part in (MOBILITY, RADIO, MAC)}
PARAMETERS: Final = tuple(f"{part}_set" for part in PARTS)
"""The fields of a scenario that have their parameters."""


def folded(values: dict[str, Any]) -> dict[str, Any]:
    """Fields of a scenario, with `mobility.KEY` and so on where parameters belong."""
    fields = {name: value for name, value in values.items() if "." not in name}
    for name, value in values.items():
        part, dot, key = name.partition(".")
        if dot:
            field = f"{part}_set"
            fields[field] = {**fields.get(field, {}), key: value}
    return fields


def given_in(scenario: Scenario, field: str) -> Any:
    """The value of a field, or of the parameter `mobility.KEY`."""
    part, dot, key = field.partition(".")
    return getattr(scenario, f"{part}_set")[key] if dot else getattr(scenario, field)
