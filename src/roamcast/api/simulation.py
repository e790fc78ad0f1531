"""One run: `rc.simulate`, and what it gives."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from roamcast.errors import InputError
from roamcast.papers import presets
from roamcast.papers.presets import Preset
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.interface import Protocol
from roamcast.show import run as shown
from roamcast.world import simulate as runs
from roamcast.world.parts import given_in
from roamcast.world.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from roamcast.api.logs import Log, Replay

Start = str | Path | Scenario
"""What a run starts from: a preset's name, a scenario file, or a scenario."""
AnyProtocol = str | type[Protocol]
"""A protocol's name, `module:Class`, or the class itself."""


def simulate(
    start: Start,
    protocol: AnyProtocol | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    seed: int | None = None,
    world: Mapping[str, Any] | None = None,
    reading: str = "",
    log: str | Path | None = None,
    level: str = "frames",
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """Run a protocol in a world, once.

    start     a preset's name ("baldoni"), a scenario file ("my.toml"), or a `Scenario`
    protocol  a name, "module:Class", or a class; by default the preset's own
    params    the protocol's parameters; those you leave out have the values of the preset's paper, or their defaults
    seed      the same seed gives the same run, byte for byte; by default 1, or what the file says
    world     fields of the scenario that are to be different: {"nodes": 200}
    reading   another reading of the preset's paper
    log       write the event log to this file
    level     its detail: "summary", "deliveries", "frames" or "full"
    progress  a function that gets the share of the run that is over
    """
    base = preset(start, reading)
    seed = _seed(base, seed)
    chosen, name, kind = _protocol(base, protocol)
    given, changes = _dictionary("params", params), _dictionary("world", world)
    scenario = base.scenario(changes)
    settings = asdict(parameters.build(kind, base.parameters(name, given), name))
    place = None if log is None else Path(log)
    level = level if log is not None else "summary"
    result = runs.simulate(
        scenario, chosen, settings, seed, level=level, log=place, progress=progress, preset=base.name
    )
    return Simulation(
        preset=base.name,
        reading=base.reading,
        protocol=name,
        params=settings,
        given=given,
        world=chosen_fields(start) | {field: given_in(scenario, field) for field in changes},
        scenario=scenario,
        seed=seed,
        result=result,
        _protocol=chosen,
        _log=place,
    )


def _dictionary(name: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    if not isinstance(given, Mapping | None):
        raise InputError(f"{name}: must be a dictionary from names to values")
    for key in given or {}:
        if not isinstance(key, str):
            raise InputError(f"{name}: {key!r} must be a name")
    return dict(given or {})


def _seed(base: Preset, seed: int | None) -> int:
    seed = base.seed if seed is None else seed
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed={seed}: must be a whole number of at least 0")
    return seed


def _protocol(base: Preset, protocol: AnyProtocol | None) -> tuple[AnyProtocol, str, type[Protocol]]:
    """What was chosen, its name, and its class."""
    chosen = protocol or base.protocol
    if not chosen:
        raise InputError(f"which protocol? {base.name or 'the scenario'} names none")
    if isinstance(chosen, str):
        return chosen, chosen, registry.get(chosen)
    if not isinstance(chosen, type):
        raise InputError(f"protocol: {chosen!r} must be a name, or a class")
    return chosen, registry.name_of(chosen), chosen


def preset(start: Start, reading: str = "") -> Preset:
    """What a run starts from, with every value and where it comes from."""
    if isinstance(start, Scenario):
        if reading:
            raise InputError(f"reading={reading}: a scenario has no paper that could be read in another way")
        return msgspec.structs.replace(presets.DEFAULTS, values=msgspec.to_builtins(start))
    if not isinstance(start, str | Path):
        raise InputError(f"start: {start!r} must be a preset's name, a scenario file, or a Scenario")
    return presets.load(str(start), reading)


def chosen_fields(start: Start) -> dict[str, Any]:
    """The fields of a scenario that are not as by default: what to write into a file to get it again."""
    if not isinstance(start, Scenario):
        return {}
    default, derived = Scenario(), ("width_m", "height_m") if start.neighbours else ()
    names = [name for name in start.__struct_fields__ if getattr(start, name) != getattr(default, name)]
    chosen: dict[str, Any] = {}
    for name in (name for name in names if name not in derived):
        part, is_set, _ = name.partition("_set")
        value = getattr(start, name)
        chosen |= {f"{part}.{key}": entry for key, entry in value.items()} if is_set else {name: value}
    return chosen


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Simulation:
    """One run and its results. Every metric is an attribute too: `r.delivery`, `r.overhead`, `r.latency_p50_s`.

    `params` are all parameters in effect and `given` those of them that you gave; `world` are the scenario fields that
    you chose. `result` has the metrics, the fingerprint, the ids of all events and the latencies.
    """

    preset: str
    reading: str
    protocol: str
    params: dict[str, Any]
    given: dict[str, Any]
    world: dict[str, Any]
    scenario: Scenario
    seed: int
    result: runs.Result
    _protocol: AnyProtocol
    _log: Path | None

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name != "result" and name in self.result.metrics:
            return self.result.metrics[name]
        raise AttributeError(f"a simulation has no attribute {name!r}; its metrics: {', '.join(self._names)}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._names})

    @property
    def _names(self) -> list[str]:
        return [] if "result" not in self.__dict__ else list(self.result.metrics)

    @property
    def metrics(self) -> dict[str, Any]:
        """Every metric by name: docs/reference/metrics.md says what each means."""
        return self.result.metrics

    @property
    def events(self) -> list[int]:
        """The ids of the events that were published, in order of time."""
        return self.result.events

    @property
    def fingerprint(self) -> str:
        """Of everything that happened: runs that did the same have the same one."""
        return self.result.fingerprint

    @property
    def command(self) -> str:
        """What to type to see this run again; empty if the protocol was written in a notebook or inside a function."""
        if self.protocol.startswith("__main__:") or "<locals>" in self.protocol:
            return ""
        return presets.command(self.preset, self.protocol, self.given, self.world, self.seed, self.reading)

    # ---- its log

    def log(self) -> Log:
        """The event log: what happened on every node, and why. `r.log().why(node=7, event=r.events[0])`.

        A run that was made without a log is done again for it: with the same seed it is the same run.
        """
        from roamcast.api.logs import Log

        return Log(self._log) if self._log else Log(self._logged, self._folder)

    def replay(self, out: str | Path | None = None, *, other: Simulation | None = None, **choices: Any) -> Replay:
        """A page that plays the run: a notebook shows it, and `out` is a file for it. `other` is a second run, side by
        side on the same clock; `from_s`, `to_s` and `nodes` choose a part (see `Log.replay`)."""
        from roamcast.api.logs import Log

        second = None if other is None else Log(other._moving)
        return Log(self._moving).replay(out, other=second, **choices)

    @cached_property
    def _logged(self) -> Path:
        return self._again("frames")

    @cached_property
    def _moving(self) -> Path:
        """A log with movements: its own, or that of the same run again."""
        from roamcast.log import reader
        from roamcast.log.explanation.select import Columns

        if self._log is not None and Columns(reader.read(self._log)).are(("move",)).any():
            return self._log
        return self._again("full")

    def _again(self, level: str) -> Path:
        path = Path(self._folder.name) / f"{level}.parquet"
        again = runs.simulate(
            self.scenario, self._protocol, self.params, self.seed, level=level, log=path, preset=self.preset
        )
        if again.fingerprint != self.fingerprint:
            raise InputError(f"{self.protocol}: a second run with the same seed was another one; is its state global?")
        return path

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="roamcast-")

    # ---- for people

    @property
    def title(self) -> str:
        """`gossip on baldoni, seed 1`; of `module:Class` the class."""
        return f"{self.protocol.rpartition(':')[2]} on {self.preset or 'a scenario'}, seed {self.seed}"

    def plot(self) -> Axes:
        """The share of all (event, interested node) pairs that was served, by the time since publication."""
        from roamcast.api import drawing

        return drawing.plot(drawing.latencies(self))

    def __repr__(self) -> str:
        what = "; ".join(f"{title} {value}" for title, value, _ in shown.lines(self.metrics)[:3] if title)
        return f"<{'; '.join(filter(None, [f'{self.title}: {what}', shown.sparse(self.metrics)]))}>"

    def _repr_html_(self) -> str:
        from roamcast.api.drawing import simulation_html

        return simulation_html(self)
