"""What a run gave: for people as tables, for programs as one JSON object."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from roamcast import __version__
from roamcast.log import catalogue
from roamcast.log.metric import BY_NAME, SHARE
from roamcast.papers.presets import command

if TYPE_CHECKING:
    from roamcast.log.metric import Line, Metric
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
        for metric in catalogue.BY_SECTION:
            if metric.kind == BY_NAME and metric.line is not None and m.get(metric.name):
                counts = ", ".join(f"{name} {n:,}" for name, n in m[metric.name].items())
                console.print(f"{metric.line.title}: {counts}", markup=False)
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
    texts = {name: _number(value) for name, value in m.items() if not isinstance(value, dict)}
    for metric in catalogue.BY_SECTION:
        line = metric.line
        if line is None or not metric.averaged or (line.needs and not _there(m.get(line.needs))):
            continue
        table.add_row(line.title, _shown(metric, line, m[metric.name]), line.note.format_map(texts))
    return table


def _shown(metric: Metric, line: Line, value: Any) -> str:
    if metric.unit == SHARE:
        return _percent(value)
    return _number(value if line.factor == 1 or not _known(value) else line.factor * value, line.digits)


def _there(value: Any) -> bool:
    """Whether it is known, and no count of zero."""
    return _known(value) and (isinstance(value, float) or value > 0)


def _known(value: Any) -> bool:
    return value is not None and isfinite(value)


def _percent(value: Any) -> str:
    return f"{100 * value:.1f} %" if _known(value) else "–"


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
