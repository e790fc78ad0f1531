"""What the shell offers after a tab: names of presets, protocols, scenario fields and metrics."""

from __future__ import annotations

from pathlib import Path


def starts(incomplete: str) -> list[str]:
    """Presets, and scenario files of this folder."""
    from roamcast.papers import presets

    return _beginning([*presets.names(), *sorted(path.name for path in Path().glob("*.toml"))], incomplete)


def protocols(incomplete: str) -> list[str]:
    from roamcast.protocols import registry

    return _beginning(registry.names(), incomplete)


def fields(incomplete: str) -> list[str]:
    """Ready for a value."""
    from roamcast.world.scenario import Scenario

    return _beginning([f"{name}=" for name in Scenario.__struct_fields__], incomplete)


def metrics(incomplete: str) -> list[str]:
    from roamcast.log.catalogue import AVERAGED

    return _beginning(AVERAGED, incomplete)


def _beginning(names: list[str] | tuple[str, ...], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
