"""Which protocol real nodes run, and with which parameters, unless their operators choose others."""

from __future__ import annotations

from typing import Any, Final

DEFAULT_PROTOCOL: Final = "roam"
"""Chosen by measurement (docs/how-to/choose-a-protocol.md)."""
LIVE: Final[dict[str, dict[str, Any]]] = {
    "gossip": {"repair": True},
    "subtree": {"doubt": True},
    "treegroup": {"doubt": True},
    "frugal": {"repair": True, "ids_on": "new", "hb_initial_s": 1.0, "events_table_size": 1000},
}
"""Parameters of protocols on real nodes that differ from the protocols' own defaults, which are the papers': frames are
lost, people wait, and what was acknowledged must not be dropped."""


def live_params(protocol: str) -> dict[str, Any]:
    """The parameters that a real node uses unless others are given, where they are not the protocol's own."""
    return dict(LIVE.get(protocol, {}))
