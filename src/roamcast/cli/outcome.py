"""What a run gave: for people as tables, for programs as one JSON object."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from roamcast import __version__
from roamcast.papers.presets import command

if TYPE_CHECKING:
    from roamcast.world.simulate import Result


@dataclass(frozen=True)
class Outcome:
    """`params` are all parameters in effect, `given` those that were typed; `world` are the fields that were typed."""

    preset: str
    reading: str
    protocol: str
    params: dict[str, Any]
    given: dict[str, str]
    world: dict[str, Any]
    seed: int
    nodes: int
    result: Result

    def as_json(self) -> str:
        facts: dict[str, Any] = {
            "preset": self.preset,
            "reading": self.reading,
            "protocol": self.protocol,
            "params": self.params,
            "world": self.world,
            "seed": self.seed,
            "nodes": self.nodes,
            "sim_s": self.result.sim_s,
            "wall_s": self.result.wall_s,
            "version": __version__,
            "fingerprint": self.result.fingerprint,
        }
        return json.dumps(_numbers_only(facts | self.result.metrics), allow_nan=False)

    def command(self) -> str:
        """What to type to see this run again."""
        return command(self.preset, self.protocol, self.given, self.world, self.seed, self.reading)

    def show(self, console: Console | None = None) -> None:
        console = console or Console(highlight=False)
        m = self.result.metrics
        console.print(_metrics(m))
        for title, key in (("losses", "losses_by_reason"), ("frames", "frames_by_kind"), ("decisions", "reasons")):
            counts = m.get(key)
            if counts:
                console.print(f"{title}: " + ", ".join(f"{name} {n:,}" for name, n in counts.items()), markup=False)
        took = f"{self.result.sim_s:g} s simulated in {self.result.wall_s:.2f} s"
        console.print(
            f"{self.nodes} nodes, {took}; fingerprint {self.result.fingerprint}", markup=False, soft_wrap=True
        )
        console.print(self.command(), markup=False, soft_wrap=True)


def _metrics(m: dict[str, Any]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")

    def row(name: str, value: str, meaning: str) -> None:
        table.add_row(name, value, meaning)

    row("delivery", _percent(m["delivery"]), f"{m['deliveries']:,} of {m['interested']:,} (event, interested) pairs")
    if m.get("own"):
        row("reception", _percent(m["reception"]), "the same, with publishers that subscribe counted as served")
    row("of possible", _percent(m["of_possible"]), "of the pairs that an ideal flood could reach")
    row("overhead", _number(m["overhead"], 2), "frames sent per delivery")
    row("latency", _milliseconds(m["latency_p50_s"]), "median, ms")
    row("", _milliseconds(m["latency_p95_s"]), "95th percentile, ms")
    row("frames sent", _number(m["frames_sent"]), f"{_number(m['bytes_sent'])} bytes on the air")
    row("receptions", _number(m["receptions"]), f"{_number(m['losses'])} lost, {_number(m['collisions'])} by collision")
    if m.get("overheard"):
        row("overheard", _number(m["overheard"]), "frames for others that a radio took in")
    row("duplicates", _number(m["duplicates"]), "receptions of an event the node already had")
    row("parasites", _number(m["parasites"]), "receptions of an event the node did not want")
    row("routing state", _number(m["memory_entries"]), f"entries, {_number(m['memory_bytes'])} bytes")
    row("energy", _number(m["energy_j"], 1), "J, all nodes")
    if m.get("deterministic_hops") is not None:
        row("deterministic", _percent(m["deterministic_hops"]), "of hops followed a subscription")
    return table


def _known(value: Any) -> bool:
    return value is not None and isfinite(value)


def _percent(value: Any) -> str:
    return f"{100 * value:.1f} %" if _known(value) else "–"


def _milliseconds(value: Any) -> str:
    return f"{1000 * value:,.1f}" if _known(value) else "–"


def _number(value: Any, digits: int = 0) -> str:
    if not _known(value):
        return "–"
    return f"{value:,.{digits}f}" if isinstance(value, float) else f"{value:,}"


def _numbers_only(value: Any) -> Any:
    """JSON has no NaN: what is not known is null."""
    if isinstance(value, dict):
        return {key: _numbers_only(entry) for key, entry in value.items()}
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
