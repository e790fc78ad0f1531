"""What a run gave: for people as tables, for programs as one JSON object."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from roamcast import __version__
from roamcast.show import run as shown

if TYPE_CHECKING:
    from roamcast.api.simulation import Simulation


def as_json(simulation: Simulation) -> str:
    facts: dict[str, Any] = {
        "preset": simulation.preset,
        "reading": simulation.reading,
        "protocol": simulation.protocol,
        "params": simulation.params,
        "world": simulation.world,
        "seed": simulation.seed,
        "nodes": simulation.scenario.nodes,
        "sim_s": simulation.result.sim_s,
        "wall_s": simulation.result.wall_s,
        "version": __version__,
        "fingerprint": simulation.fingerprint,
    }
    return json.dumps(_numbers_only(facts | simulation.metrics), allow_nan=False)


def show(simulation: Simulation, console: Console | None = None) -> None:
    console = console or Console(highlight=False)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    for line in shown.lines(simulation.metrics):
        table.add_row(*line)
    console.print(table)
    for text in shown.counts(simulation.metrics):
        console.print(text, markup=False)
    if sparse := shown.sparse(simulation.metrics):
        console.print(sparse, markup=False)
    result = simulation.result
    took = f"{result.sim_s:g} s simulated in {result.wall_s:.2f} s"
    nodes = simulation.scenario.nodes
    console.print(f"{nodes} nodes, {took}; fingerprint {result.fingerprint}", markup=False, soft_wrap=True)
    console.print(simulation.command, markup=False, soft_wrap=True)


def _numbers_only(value: Any) -> Any:
    """JSON has no NaN: what is not known is null."""
    if isinstance(value, dict):
        return {key: _numbers_only(entry) for key, entry in value.items()}
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
