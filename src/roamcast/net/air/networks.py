"""The media of a node in its settings: one table `[network]`, or a table `[network.NAME]` for each.

    [network]                     one medium, UDP unless `medium` says otherwise
    interface = "wlan0"

    [network]                     several: what stands here counts for all of them that have such a setting
    port = 7667
    [network.mesh]
    interface = "wlan0"
    [network.modem]
    medium = "serial"
    device = "/dev/ttyUSB0"

Their order matters: of the media that reach a neighbour, the first is used for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from roamcast import toml
from roamcast.errors import InputError, unknown
from roamcast.net.air.medium import BUILT_IN, Medium, MediumSettings, medium_class

GROUP: Final = "network"
KIND: Final = "medium"
UDP: Final = "udp"


def fields(kind: str) -> list[str]:
    """The settings of a medium."""
    return [field.name for field in msgspec.structs.fields(medium_class(kind).settings_class)]


def names() -> list[str]:
    """The names of all settings of one table: those of every built-in medium."""
    every = dict.fromkeys(field for kind in BUILT_IN for field in fields(kind))
    return [f"{GROUP}.{name}" for name in (KIND, *every)]


def flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of `[network]` and its tables, by full names."""
    settings: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            settings |= {f"{GROUP}.{name}.{field}": entry for field, entry in value.items()}
        else:
            settings[f"{GROUP}.{name}"] = value
    return settings


class NamedMedium(msgspec.Struct, frozen=True):
    """A medium by its name in the settings."""

    name: str
    kind: str
    settings: MediumSettings

    def build(self) -> Medium:
        try:
            return medium_class(self.kind)(self.settings)
        except InputError as error:
            raise InputError(f"{GROUP}.{self.name}: {error}" if self.name != self.kind else str(error)) from None


def media(settings: Mapping[str, Any]) -> list[NamedMedium]:
    """The media that settings by full names describe; without any, UDP with its defaults."""
    common: dict[str, Any] = {}
    tables: dict[str, dict[str, Any]] = {}
    for full, value in settings.items():
        _, name, *rest = full.split(".", 2)
        if rest:
            tables.setdefault(name, {})[rest[0]] = value
        else:
            common[name] = value
    if not tables:
        kind = str(common.get(KIND, UDP))
        return [_medium(GROUP, kind, kind, common)]
    _check_common(common, tables)
    made = []
    for name, own in tables.items():
        kind = str(own.get(KIND, common.get(KIND, UDP)))
        known = fields(kind)
        shared = {field: value for field, value in common.items() if field in known}
        made.append(_medium(f"{GROUP}.{name}", name, kind, {**shared, **own}))
    return made


def _check_common(common: dict[str, Any], tables: dict[str, dict[str, Any]]) -> None:
    """Refuse what stands in `[network]` and is a setting of no medium in the tables below it."""
    kinds = {str(own.get(KIND, common.get(KIND, UDP))) for own in tables.values()}
    known = [KIND, *(field for kind in sorted(kinds) for field in fields(kind))]
    for field in common:
        if field not in known:
            raise unknown("setting", f"{GROUP}.{field}", [f"{GROUP}.{name}" for name in known])


def _medium(where: str, name: str, kind: str, table: dict[str, Any]) -> NamedMedium:
    chosen = medium_class(kind).settings_class
    own = {field: value for field, value in table.items() if field != KIND}
    known = [field.name for field in msgspec.structs.fields(chosen)]
    for field in own:
        if field not in known:
            raise unknown("setting", f"{where}.{field}", [f"{where}.{name}" for name in (KIND, *known)])
    if isinstance(own.get("peers"), str):  # from the environment, or a flag
        own["peers"] = [peer.strip() for peer in own["peers"].split(",") if peer.strip()]
    try:
        return NamedMedium(name, kind, msgspec.convert(own, chosen, strict=False))
    except msgspec.ValidationError as error:
        problem, _, field = str(error).partition(" - at `$.")
        raise InputError(f"{where}.{field.rstrip('`')}: {toml.must_be(problem)}") from None
