"""Many runs on this machine, without Spark: protocols compared seed by seed, settings swept.

A study is a campaign without a file. Its cells, its seeds, its checks and the rows of its runs are those of campaigns
(roamcast.lab), so that what began in a notebook can go on as a campaign file, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from roamcast.api.campaigns import Share
from roamcast.api.simulation import AnyProtocol, Start, chosen_fields
from roamcast.api.study import Study
from roamcast.errors import InputError, JobFailed, RoamcastError, unknown
from roamcast.extras import need
from roamcast.lab import campaign
from roamcast.lab.campaign import Campaign
from roamcast.lab.local.jobs import Job, run_all
from roamcast.lab.plan import Run
from roamcast.lab.tables import rows
from roamcast.lab.tables.columns import Chosen
from roamcast.protocols import registry
from roamcast.protocols.kit import parameters
from roamcast.protocols.kit.interface import Protocol
from roamcast.world.scenario import Scenario

if TYPE_CHECKING:
    from roamcast.lab.tables.folder import Folder

Entrant = AnyProtocol | tuple[AnyProtocol, Mapping[str, Any]]
"""A protocol, or one with some of its parameters."""
Progress = Callable[[float], None]
"""Gets the share of the runs that have ended."""
Row = dict[str, Any]


class _Entered(NamedTuple):
    label: str
    name: str
    protocol: type[Protocol]
    params: dict[str, Any]


def compare(
    start: Start,
    protocols: Sequence[Entrant] | Mapping[str, Entrant],
    *,
    seeds: int | Sequence[int] = 10,
    world: Mapping[str, Any] | None = None,
    reading: str = "",
    processes: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Study:
    """Run several protocols in the same worlds: under one seed all of them face the same movement and the same events.

    start      a preset's name, a scenario file, or a `Scenario`
    protocols  names, classes, or (name or class, parameters); a dictionary gives them labels of your own
    seeds      how many, or which
    world      fields of the scenario that are to be different; a list of values makes a grid
    reading    another reading of the preset's paper
    processes  how many runs at a time; by default one for each core
    out        a folder in which runs and tables stay, as those of a campaign; `rc.open` reads them
    """
    content = _content("comparison", start, reading, seeds, world or {})
    return _study(content, _entered(protocols), processes, out, progress)


def sweep(
    start: Start,
    protocol: Entrant | list[Entrant] | Mapping[str, Entrant],
    settings: Mapping[str, Any],
    *,
    seeds: int | Sequence[int] = 10,
    world: Mapping[str, Any] | None = None,
    reading: str = "",
    processes: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Study:
    """Run a protocol under every combination of settings: `{"p": [0.1, 0.5, 1.0], "nodes": [50, 100]}`.

    A name is a parameter of the protocol, or else a field of the scenario; `world.NAME` is the field in any case. For
    the rest see `compare`.
    """
    if not isinstance(settings, Mapping):
        raise InputError("settings: must be a dictionary from names to lists of values")
    entered = _entered(protocol if isinstance(protocol, list | Mapping) else [protocol])
    changes = dict(world or {})
    for name, values in settings.items():
        having = [entrant for entrant in entered if name in _parameters_of(entrant)]
        for entrant in having:
            entrant.params[name] = values
        if not having:
            changes[_field(name, entered)] = values
    return _study(_content("sweep", start, reading, seeds, changes), entered, processes, out, progress)


# ---- from what was asked for to runs


def _entered(protocols: Sequence[Entrant] | Mapping[str, Entrant]) -> list[_Entered]:
    if isinstance(protocols, str | type):
        raise InputError("protocols: must be a list of them, or a dictionary from labels to them")
    if not protocols:
        raise InputError("protocols: at least one is needed")
    labelled = protocols.items() if isinstance(protocols, Mapping) else ((None, each) for each in protocols)
    entered: list[_Entered] = []
    for label, each in labelled:
        protocol, params = each if isinstance(each, tuple) and len(each) == 2 else (each, {})
        if not isinstance(params, Mapping) or not isinstance(protocol, str | type):
            raise InputError(f"protocols: {each!r} must be a name, a class, or a pair of that and its parameters")
        name = protocol if isinstance(protocol, str) else registry.name_of(protocol)
        kind = registry.get(protocol) if isinstance(protocol, str) else protocol
        entered.append(_Entered(label or _label(name, params), name, kind, dict(params)))
    return entered


def _label(name: str, params: Mapping[str, Any]) -> str:
    """`gossip, p=0.5`; of `module:Class` the class."""
    return ", ".join([name.rpartition(":")[2], *(f"{key}={value}" for key, value in params.items())])


def _field(name: str, entered: list[_Entered]) -> str:
    """The scenario field that a setting names; `mobility.KEY` is a parameter of that part."""
    field = name.removeprefix("world.")
    if "." not in field and field not in Scenario.__struct_fields__:
        theirs = sorted({parameter for entrant in entered for parameter in _parameters_of(entrant)})
        lists = f"parameters: {', '.join(theirs) or 'none'}; `roamcast fields` lists the fields"
        raise unknown("parameter or scenario field", name, {*Scenario.__struct_fields__, *theirs}, lists)
    return field


def _parameters_of(entrant: _Entered) -> list[str]:
    return [parameter.name for parameter in parameters.describe(entrant.protocol)]


def _content(
    name: str, start: Start, reading: str, seeds: int | Sequence[int], world: Mapping[str, Any]
) -> dict[str, Any]:
    """As a campaign file would say it."""
    return {
        "name": name,
        "preset": "" if isinstance(start, Scenario) else str(start),
        "reading": reading,
        "seeds": seeds if isinstance(seeds, int) else list(seeds),
        "world": {field: _values(value) for field, value in {**chosen_fields(start), **world}.items()},
    }


def _study(
    content: dict[str, Any],
    entered: list[_Entered],
    processes: int | None,
    out: str | Path | None,
    progress: Progress | None,
) -> Study:
    content["protocol"] = [
        {"name": e.name, "label": e.label, "set": {key: _values(value) for key, value in e.params.items()}}
        for e in entered
    ]
    if not isinstance(processes, int | None) or (processes is not None and processes < 1):
        raise InputError(f"processes={processes}: must be a whole number of at least 1")
    classes = {entrant.name: entrant.protocol for entrant in entered}
    planned = campaign.understood(content, classes=classes)
    if out is None:
        return Study(planned, _done(planned, classes, processes or 0, progress))
    return Study(planned, _kept(planned, Path(out), processes or 0, progress))


def _values(value: Any) -> Any:
    """A range, a tuple or an array of values is a list; everything else is one value."""
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        return value
    return value.tolist() if hasattr(value, "tolist") else list(value)


def _done(
    planned: Campaign, classes: Mapping[str, type[Protocol]], processes: int, progress: Progress | None
) -> list[Row]:
    runs = [Run("", planned, k, seed, 0.0) for k in range(len(planned.cells)) for seed in planned.seeds]
    jobs = [Job(run.cell.scenario, classes[run.cell.protocol], run.cell.params, run.seed) for run in runs]
    try:
        tallies = run_all(jobs, processes, progress)
    except JobFailed as error:
        failed = runs[error.index]
        failure = RoamcastError(f"{failed.cell.label}, seed {failed.seed}: {error}")
        failure.add_note(error.details)  # where in the protocol it was
        raise failure from None
    chosen = Chosen(planned.cells)
    return [rows.of_metrics(run, tally, chosen) for run, tally in zip(runs, tallies, strict=True)]


def _kept(planned: Campaign, out: Path, processes: int, progress: Progress | None) -> list[Row]:
    """As a campaign in this folder: what it has of these runs is not done again."""
    need("keeping runs (out=…)", "pyarrow")
    from roamcast.lab import conduct
    from roamcast.lab.local.engine import PoolEngine
    from roamcast.lab.tables.folder import Folder
    from roamcast.lab.tables.laboratory import Laboratory

    folder = Folder(out)
    _check_same(folder, planned)
    conduct.conduct([planned], folder, PoolEngine(processes), Share(progress), extend=True)
    laboratory = Laboratory(out)
    for row in laboratory.rows("runs"):
        if row["status"] == "failed":
            raise RoamcastError(f"{row['label']}, seed {row['seed']}: {row['error']}")
    return laboratory.rows("metrics")


def _check_same(folder: Folder, planned: Campaign) -> None:
    """More seeds or values go on in a folder; another campaign's tables must not be lost."""
    held = folder.campaigns() if folder.identity() is not None else []
    for other in held:
        if (other.name, other.preset) != (planned.name, planned.preset):
            start = f" from {other.preset}" if other.preset else ""
            raise InputError(f"{folder}: holds the campaign {other.name!r}{start}; choose another folder")
