"""`roamcast trace`: mobility and contact traces, converted and summarised."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from roamcast.cli.help import Verbs
from roamcast.cli.options import check_picture
from roamcast.errors import InputError, Outgrown
from roamcast.extras import need

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from roamcast.lab.traces.convert import Converted
    from roamcast.lab.traces.trace import Place, Trace
    from roamcast.show.times import Times
    from roamcast.world.traces.plan import Options

app = typer.Typer(
    cls=Verbs, no_args_is_help=True, add_completion=False, help="Mobility and contact traces, in and out."
)

Input = Annotated[str, typer.Argument(metavar="IN", help="A file, or a folder of files.")]
From = Annotated[str, typer.Option("--from", metavar="FORMAT", help="If it is not recognised.")]
Range = Annotated[
    float, typer.Option("--range", metavar="M", help="Positions: the distance up to which nodes are in contact.")
]
Units = Annotated[str, typer.Option(metavar="UNITS", help="Of coordinates: metres or degrees.")]
Origin = Annotated[
    str, typer.Option(metavar="LAT,LON", help="Degrees: where (0, 0) is.", show_default="first position")
]
Resolution = Annotated[float, typer.Option("--resolution", metavar="S", help="Of contact lists.")]
Gap = Annotated[float, typer.Option("--gap", metavar="S", help="A node without lines for longer was absent.")]
Columns = Annotated[
    str, typer.Option(metavar="NAMES", help="What the cells of a line are, such as i,j,start,end or node,t,lat,lon.")
]
TimeUnit = Annotated[str, typer.Option("--time-unit", metavar="UNIT", help="Of numbers of time: us, ms, s, min, h.")]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first malformed line.")]
Local = Annotated[
    bool | None,
    typer.Option(
        "--local/--spark",
        help="Without Spark, in the memory of this machine; or with it.",
        show_default="without, unless 40 times the size of the file is over half of the free memory",
    ),
]
Master = Annotated[str, typer.Option(metavar="URL", help="The Spark to use.", show_default="embedded")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]

Result = TypeVar("Result")
EMBEDDED = "local[*,1]"
WITHIN_S = "3600,21600,86400"


@app.callback()
def trace() -> None:
    """Mobility and contact traces, in and out."""


@app.command()
def convert(
    source: Input,
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; .gz compresses it.")],
    to: Annotated[str, typer.Option(metavar="FORMAT", help="See the reference on traces.")],
    range_m: Range = 0.0,
    from_: From = "",
    units: Units = "",
    origin: Origin = "",
    resolution_s: Resolution = 0.0,
    gap_s: Gap = 0.0,
    columns: Columns = "",
    time_unit: TimeUnit = "s",
    strict: Strict = False,
    local: Local = None,
    master: Master = EMBEDDED,
    as_json: Json = False,
) -> None:
    """Write a trace in another format, or its contacts."""
    from roamcast.cli.progress import Progress

    kind = _check_conversion(source, target, to, range_m)

    def converted(read: Trace) -> Converted:
        from roamcast.lab.traces.convert import convert as write_converted

        with Progress(f"writing {target.name}") as progress:
            return write_converted(read, target, to, range_m, resolution_s, progress.update)

    options = _options(from_, units, origin, resolution_s, gap_s, columns, time_unit)
    about, result = _of_trace(converted, source, options, strict, local, master)
    for warning in result.warnings:
        _say(warning)
    if as_json:
        names = str(result.names) if result.names else None
        print(json.dumps({**about, "to": to, "out": str(target), "rows": result.rows, "names": names}))
    else:
        lines = "rows" if kind == "positions" else "lines"
        beside = f"; names in {result.names}" if result.names else ""
        print(f"{target}: {result.rows:,} {lines} of {about['nodes']} nodes{beside}")


def _check_conversion(source: str, target: Path, to: str, range_m: float) -> str:
    """The kind of the target's format; refuses what cannot be written, before anything is read."""
    from roamcast.world.traces import write

    kind = write.get(to).kind
    if range_m < 0.0 or not range_m < 1e9:
        raise InputError(f"--range {range_m:g}: must be above 0 m")
    if range_m and kind == "positions":
        raise InputError(f"--range {range_m:g}: {to} has positions; leave the range out")
    if target.resolve() == Path(source).resolve():
        raise InputError(f"{target}: must not be the file that is read")
    if not target.parent.is_dir():
        raise InputError(f"{target}: there is no folder {target.parent}")
    return kind


@app.command()
def stats(
    source: Input,
    range_m: Range = 0.0,
    from_: From = "",
    units: Units = "",
    origin: Origin = "",
    resolution_s: Resolution = 0.0,
    gap_s: Gap = 0.0,
    columns: Columns = "",
    time_unit: TimeUnit = "s",
    within_s: Annotated[
        str, typer.Option("--within", metavar="S,S,…", help="Reachability: times after a tenth of the trace.")
    ] = WITHIN_S,
    strict: Strict = False,
    local: Local = None,
    master: Master = EMBEDDED,
    as_json: Json = False,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw durations and times between contacts, with the laws that fit (.png, .svg, .pdf)."
        ),
    ] = None,
) -> None:
    """Contacts of a trace: how many, how long, how often, and which nodes an ideal flood reaches."""
    within = _numbers("--within", within_s)
    check_picture("--figure", figure)
    if figure is not None:
        need("--figure", "matplotlib")

    def summarised(read: Trace) -> dict[str, Any]:
        from roamcast.lab.traces import contacts, summary

        with _busy("looking for contacts"), contacts.of(read, range_m).kept() as met:
            longest_s = (read.end_us - read.begin_us) / 1e6
            times = _times(summary.times(met), longest_s)
            if figure is not None:
                _draw(times, figure, _title(source, read, range_m))
            return summary.of(read, met, within) | {"fits": _fits(times)}

    options = _options(from_, units, origin, resolution_s, gap_s, columns, time_unit)
    about, statistics = _of_trace(summarised, source, options, strict, local, master)
    facts = about | {"range_m": range_m or None} | statistics
    if as_json:
        print(json.dumps(facts, allow_nan=False))
    else:
        _show(facts)


# ---- reading


def _options(
    format_: str, units: str, origin: str, resolution_s: float, gap_s: float, columns: str, time_unit: str
) -> Options:
    from roamcast.world.traces.plan import Options

    return Options(
        format=format_,
        units=units,  # type: ignore[arg-type]
        origin=origin,
        resolution_s=resolution_s,
        gap_s=gap_s,
        columns=columns,
        time_unit=time_unit,
    )


def _of_trace(
    work: Callable[[Trace], Result], source: str, options: Options, strict: bool, local: bool | None, master: str
) -> tuple[dict[str, Any], Result]:
    """What a trace is, and what the work on it gives: here, or on Spark if it outgrows this machine."""
    from importlib.util import find_spec

    need("a trace", "numpy", "pyarrow")
    from roamcast.lab.traces.here import Here, fits
    from roamcast.world.traces.plan import plan

    if local and master != EMBEDDED:
        raise InputError(f"--master {master} is about Spark: it must not be given with --local")
    parts = plan([source], options, split_bytes=1 << 62)  # errors in the file are reported before Spark starts
    if local or (local is None and master == EMBEDDED and fits(parts)):
        try:
            return _at(Here(), work, source, options, strict)
        except Outgrown as error:
            if local:
                raise InputError(f"{source}: {error}, too large for --local; leave it out to use Spark") from None
            _say(f"{error}: going on with Spark")
    elif local is None and find_spec("pyspark") is None:
        raise InputError(f"{source}: is large for this machine; pip install 'roamcast[lab]' for Spark, or try --local")
    return _at(_spark(master), work, source, options, strict)


def _spark(master: str) -> Place:
    with _busy("starting Spark"):
        from roamcast.lab.spark.session import session

        spark = session(master, "roamcast trace")
        from roamcast.lab.traces.in_spark import InSpark

        return InSpark(spark)


def _at(
    place: Place, work: Callable[[Trace], Result], source: str, options: Options, strict: bool
) -> tuple[dict[str, Any], Result]:
    from roamcast.lab.traces import trace as traces

    with _busy(f"reading {source}"):
        read = traces.read(place, [source], options, strict=strict)
    try:
        result = work(read)
    finally:
        read.close()
    for line in read.malformed.first:
        _say(line)
    if read.malformed.count:
        more = read.malformed.count - len(read.malformed.first)
        _say(f"{read.malformed.count} malformed lines left out" + (f", {more} of them not shown" if more else ""))
    return _about(source, read), result


def _busy(what: str) -> AbstractContextManager[Any]:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)


def _say(text: str) -> None:
    print(f"roamcast: {text}", file=sys.stderr)


def _numbers(option: str, text: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(0 < value < 1e9 for value in numbers):
        raise InputError(f"{option} {text}: must be numbers of seconds with commas between them")
    return sorted(numbers)


# ---- output


def _about(source: str, read: Trace) -> dict[str, Any]:
    return {
        "trace": source,
        "format": read.format,
        "kind": read.kind,
        "nodes": len(read.names),
        "begin_s": read.begin_us / 1e6,
        "end_s": read.end_us / 1e6,
        "malformed": read.malformed.count,
        "malformed_first": read.malformed.first,
    }


def _show(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    lasts = facts["end_s"] - facts["begin_s"]
    at = f", range {facts['range_m']:g} m" if facts["range_m"] else ""
    console.print(f"{facts['trace']}: {facts['format']}, {facts['nodes']} nodes, {lasts:,.6g} s{at}", markup=False)
    heads = {
        "count": "",
        "mean_s": "mean",
        "p5_s": "5 %",
        "p50_s": "median",
        "p95_s": "95 %",
        "p99_s": "99 %",
        "max_s": "longest",
    }
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("seconds", style="bold")
    for head in heads.values():
        table.add_column(head, justify="right")
    for title, key in (("contacts", "contacts"), ("apart", "apart")):
        cells = [facts[key][name] for name in heads]
        table.add_row(title, f"{cells[0]:,}", *("–" if cell is None else f"{cell:,.1f}" for cell in cells[1:]))
    console.print(table)
    for title, key in (("contacts", "contacts"), ("apart", "apart")):
        console.print(f"{title}: {facts['fits'][key]['words']}", markup=False, soft_wrap=True)
    console.print(f"a node meets {facts['peers_mean']:.1f} others, {facts['degree_mean']:.3g} at a time", markup=False)
    reach = facts["reachability"]
    flood = Table(box=None, padding=(0, 2, 0, 0))
    for head in (f"an ideal flood from {reach['from_s']:,.6g} s on, within", "reaches", "of the pairs"):
        flood.add_column(head, justify="right")
    for row in reach["within"]:
        flood.add_row(
            f"{row['within_s']:,.6g} s", f"{100 * row['share']:.2f} %", f"{row['reached']:,} of {reach['pairs']:,}"
        )
    console.print(flood)


# ---- laws and figures

TITLES = {
    "contacts": ("contacts", "a contact lasts", "No two nodes were ever in contact."),
    "apart": ("times apart", "a pair is apart", "No pair met twice: there is no time between contacts."),
}


def _times(tallies: dict[str, list[tuple[float, int]]], longest_s: float) -> dict[str, Times]:
    """With the laws that fit them."""
    from roamcast.show.fits import fitted
    from roamcast.show.times import Times

    return {name: Times(*TITLES[name], times, fitted(times, longest_s)) for name, times in tallies.items()}


def _fits(times: dict[str, Times]) -> dict[str, Any]:
    """For JSON: the laws, best first, or why there are none."""
    fits = {}
    for name, each in times.items():
        laws = [
            {"law": fit.law, **fit.parameters, "aic": fit.aic, "distance": fit.distance} for fit in each.fitted.fits
        ]
        fits[name] = {"n": each.fitted.n, "words": each.fitted.words, "laws": laws}
    return fits


def _title(source: str, read: Trace, range_m: float) -> str:
    at = f", range {range_m:g} m" if range_m else ""
    return f"{Path(source).name}: {len(read.names):,} nodes, {(read.end_us - read.begin_us) / 1e6:,.6g} s{at}"


def _draw(times: dict[str, Times], path: Path, title: str) -> None:
    from roamcast.show import times as drawing

    drawing.write(path, title, list(times.values()))
