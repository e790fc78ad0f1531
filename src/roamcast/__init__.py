"""roamcast: publish/subscribe for networks that have no network.

    import roamcast as rc

    rc.simulate("baldoni", "gossip", {"p": 0.5})        one run, and what it came to
    rc.compare("baldoni", ["proximity", "gossip"])      protocols in the same worlds, seed by seed
    rc.sweep("baldoni", "gossip", {"p": [0.1, 0.5]})    one protocol under several settings
    rc.campaign("credits.toml")                         a campaign file, run to its end; goes on if it was stopped
    rc.open("out/credits")                              the tables of a campaign
    rc.open("run.parquet").why(7, "3:12")               a log: what happened to an event at a node
    rc.open("run.parquet").replay("run.html")           a page that plays the run
    rc.Node(key="group.key"), rc.connect("~/node")      real nodes

These names are what the documentation uses and what stays stable. A name is loaded when it is used for the first time,
so that importing roamcast costs next to nothing. Type checkers read `__init__.pyi`.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Event": "roamcast.pubsub.event",
    "EventFrame": "roamcast.protocols.kit.frames",
    "Filter": "roamcast.pubsub.filters",
    "Frame": "roamcast.protocols.kit.interface",
    "Host": "roamcast.protocols.kit.interface",
    "InputError": "roamcast.errors",
    "Node": "roamcast.api.nodes",
    "Params": "roamcast.protocols.kit.interface",
    "Protocol": "roamcast.protocols.kit.interface",
    "RoamcastError": "roamcast.errors",
    "Scenario": "roamcast.world.scenario",
    "Simulation": "roamcast.api.simulation",
    "Study": "roamcast.api.study",
    "campaign": "roamcast.api.campaigns",
    "compare": "roamcast.api.studies",
    "connect": "roamcast.api.nodes",
    "event_id": "roamcast.pubsub.event",
    "open": "roamcast.api.logs",
    "param": "roamcast.protocols.kit.interface",
    "parse_subscription": "roamcast.pubsub.text",
    "preset": "roamcast.api.simulation",
    "reason": "roamcast.protocols.kit.interface",
    "simulate": "roamcast.api.simulation",
    "sweep": "roamcast.api.studies",
}
"""Where each public name is defined."""

__all__ = [
    "Event",
    "EventFrame",
    "Filter",
    "Frame",
    "Host",
    "InputError",
    "Node",
    "Params",
    "Protocol",
    "RoamcastError",
    "Scenario",
    "Simulation",
    "Study",
    "__version__",
    "campaign",
    "compare",
    "connect",
    "event_id",
    "open",
    "param",
    "parse_subscription",
    "preset",
    "reason",
    "simulate",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        # with both, Python says which name was meant
        raise AttributeError(f"module 'roamcast' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    try:
        module = import_module(_HOMES[name])
    except ModuleNotFoundError as error:
        from roamcast.extras import missing

        raise missing(f"roamcast.{name}", error) or error from None
    value = getattr(module, name)
    if isinstance(value, type) and not value.__doc__:
        value.__doc__ = _docstring(module, name)
    globals()[name] = value
    return value


def _docstring(module: ModuleType, name: str) -> str:
    """From the source, for `help()` and notebooks: compiled classes have lost theirs."""
    import ast
    from pathlib import Path

    try:
        source = Path(str(module.__file__)).with_name(module.__name__.rpartition(".")[2] + ".py").read_text("utf-8")
    except OSError:
        return ""
    (definition,) = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name]
    return ast.get_docstring(definition) or ""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
