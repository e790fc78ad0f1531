"""`roamcast reproduce`: the papers' experiments on Spark, and the scorecard of their claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from roamcast.cli.options import Conf, Master, start_spark
from roamcast.errors import InputError
from roamcast.extras import need

if TYPE_CHECKING:
    from roamcast.judging.kept import Kept
    from roamcast.judging.verdicts import Verdict
    from roamcast.lab.reproduce import Reproduction

STYLES = {"reproduced": "green", "not reproduced": "red", "not decidable": "yellow"}
"""By the verdicts of judging/verdicts.py, which a quick `--help` need not import."""


def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(metavar="PAPER…", help="baldoni, baehni, costa, rezende, li, or league.", show_default="all"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds and points: minutes. The default.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="The papers' numbers of repetitions, and their other readings: hours.")
    ] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Say what it would take, and run nothing.")] = False,
    kept: Annotated[
        bool, typer.Option("--kept", help="Show the verdicts of the last full campaign, and run nothing.")
    ] = False,
    keep: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --full: write the verdicts to keep to this file.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where results go.")] = Path("out/reproduce"),
    master: Master = "local[*]",
    conf: Conf = None,
    report: Annotated[Path, typer.Option(metavar="FILE", help="Where the page about it goes.")] = Path(
        "out/report.html"
    ),
    json: Annotated[bool, typer.Option("--json", help="Print the scorecard as one JSON object.")] = False,
) -> None:
    """Run the papers' experiments, judge, claim by claim, whether they reproduce, and write a page to look at.

    Finished runs are kept and never repeated; tables, scorecard and page are of the papers asked for. The exit status
    says whether all ran, not whether all agree.
    """
    from roamcast.papers import experiments

    _check(papers, quick, full, kept, keep)
    experiments.names(papers)  # an unknown paper is an error before Spark starts
    scale = "full" if full else "quick"
    if kept:
        _show_kept(papers, json)
    elif plan:
        _show_plan(papers, scale, json)
    else:
        _run(papers, scale, out / scale, master, conf, report, keep, json)


def _check(papers: list[str] | None, quick: bool, full: bool, kept: bool, keep: Path | None) -> None:
    if quick and full:
        raise InputError("--quick and --full: must not be given together")
    if kept and (quick or full):
        raise InputError("--kept shows what a full campaign found: it must not be given with --quick or --full")
    if keep is not None and (not full or papers):
        raise InputError("--keep: must come with --full and without papers, because only a full campaign is kept")


def _run(
    papers: list[str] | None,
    scale: str,
    folder: Path,
    master: str,
    conf: list[str] | None,
    report: Path,
    keep: Path | None,
    json: bool,
) -> None:
    need("reproduce", "pyspark", "pyarrow", "matplotlib")  # figures come last, after minutes
    import msgspec

    from roamcast.cli.build import warn_if_stale
    from roamcast.cli.screen import Screen
    from roamcast.judging.kept import agreement
    from roamcast.lab import reproduce as lab
    from roamcast.show import report as page

    warn_if_stale()
    with Screen(f"reproduce {' '.join(papers or ['all'])}, {scale}") as screen:
        if scale == "full":
            screen.stage(_at_most(papers))
        screen.stage("starting Spark")
        result = lab.reproduce(papers, scale, folder, start_spark(folder, master, conf), screen)
        screen.stage("drawing figures")
        page.write(folder, report, replays=True)
    if keep is not None and not result.failed:
        _keep(result, keep)
    stored = _kept_beside(scale, result.verdicts)
    if json:
        before = _by_id(stored)
        says = {v.id: agreement(before[v.id], v) for v in result.verdicts if v.id in before}
        whole = {"out": str(folder), "report": str(report), "scale": scale, "claims": result.verdicts, "kept": says}
        whole["recounted"] = result.recounted.runs
        print(msgspec.json.encode(whole).decode())
    else:
        show(result.verdicts, stored, str(report))
        console = Console(highlight=False)
        console.print(result.recounted.text, soft_wrap=True)
        console.print(f"scorecard.json and scorecard.parquet are in {folder}", soft_wrap=True)
        console.print(f"report: {report}", markup=False, soft_wrap=True)
    raise typer.Exit(1 if result.failed else 0)


def _keep(result: Reproduction, target: Path) -> None:
    from datetime import UTC, datetime

    from roamcast import __version__, files
    from roamcast.judging import kept
    from roamcast.lab import code

    runs = result.laboratory.runs.where("status = 'finished'").dropDuplicates(["run"])
    (row,) = runs.selectExpr("count(*) as runs", "sum(cpu_s) as processor_s").collect()
    today = datetime.now(UTC).date().isoformat()
    made = kept.Made(__version__, code.version(), today, row.runs, round(row.processor_s, 1))
    target.parent.mkdir(parents=True, exist_ok=True)
    files.write(target, kept.keep(result.verdicts, made))


# ---- for people


def _kept_beside(scale: str, verdicts: Sequence[Verdict]) -> Kept | None:
    """The kept verdicts that a quick run is shown beside: of the same claims. A full campaign stands for itself."""
    from roamcast.judging import kept

    stored = kept.load() if scale == "quick" else None
    return stored and kept.only(stored, {v.paper for v in verdicts})


def _by_id(stored: Kept | None) -> dict[str, Verdict]:
    return {claim.id: claim for claim in stored.claims} if stored else {}


def show(verdicts: Sequence[Verdict], stored: Kept | None, page: str) -> None:
    """A line for each claim; `page` says where the rest is. What counts is the kept verdict, where there is one; the
    run itself has a column beside it."""
    from roamcast.judging.kept import agreement
    from roamcast.judging.verdicts import in_words

    kept = _by_id(stored)
    console = Console(highlight=False)
    console.print(_scorecard(verdicts, kept, console.width))
    console.print("* the joint reading of its paper was chosen on it", soft_wrap=True)
    shown = [kept.get(now.id, now) for now in verdicts]
    console.print(f"{len(shown)} claims: {in_words(shown)}{' (full campaign)' if kept else ''}", soft_wrap=True)
    if stored and kept:
        _show_made(stored)
        _show_agreement({now.id: agreement(kept[now.id], now) for now in verdicts if now.id in kept}, console)
    console.print(f"published values, intervals, causes: {page}", markup=False, soft_wrap=True)


def _scorecard(verdicts: Sequence[Verdict], kept: Mapping[str, Verdict], width: int) -> Table:
    """What claims say is cut where the terminal is narrow, and nothing else is."""
    from roamcast.papers.experiments import cited

    heads = ["claim", "measured", "verdict", *(["quick run"] if kept else [])]
    lines = [_line(now, kept) for now in verdicts]
    room = width - sum(max(map(len, column)) + 2 for column in zip(heads, *lines, strict=True)) - 2
    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in (heads[0], "says", *heads[1:]):
        table.add_column(head, no_wrap=True, justify="right" if head == "measured" else "left")
    paper = ""
    for now, (name, value, verdict, *beside) in zip(verdicts, lines, strict=True):
        if now.paper != paper:
            paper = now.paper
            table.add_row("", f"[bold]{cited(paper)}[/]")
        says = now.says if len(now.says) <= max(room, 8) else f"{now.says[: max(room, 8) - 1].rstrip()}…"
        table.add_row(name, escape(says), value, f"[{STYLES[verdict]}]{verdict}[/]", *beside)
    return table


def _line(now: Verdict, kept: Mapping[str, Verdict]) -> list[str]:
    from roamcast.judging.kept import agreement
    from roamcast.show.numbers import number

    verdict = kept.get(now.id, now)
    name = f"{verdict.id} *" if verdict.calibration else verdict.id
    beside = [agreement(verdict, now) if now.id in kept else now.verdict] if kept else []
    return [name, number(verdict.measured), verdict.verdict, *beside]


def _show_agreement(says: Mapping[str, str], console: Console) -> None:
    from roamcast.judging.kept import CONTRADICTS, NEW, SAME, TOO_FEW

    each = [*says.values()]
    counts = ", ".join(f"{each.count(name)} {name}" for name in (SAME, TOO_FEW, NEW, CONTRADICTS))
    console.print(f"this quick run beside it: {counts}", soft_wrap=True)
    against = [id for id, word in says.items() if word == CONTRADICTS]
    if against:
        console.print(f"[red]this quick run contradicts the full campaign: {', '.join(against)}[/]", soft_wrap=True)


def _show_kept(papers: list[str] | None, json: bool) -> None:
    import msgspec

    from roamcast.judging import kept

    stored = kept.load()
    if stored is None:
        raise InputError("no full campaign has been kept in this version; run `roamcast reproduce --full`")
    if papers:
        stored = kept.only(stored, set(papers))
    if json:
        print(msgspec.json.encode(stored).decode())
        return
    show(stored.claims, None, "--json, or the page of a run")
    _show_made(stored)


def _show_made(stored: Kept) -> None:
    made = stored.made
    console = Console(highlight=False)
    inside, outside = (sum(part.values()) for part in (stored.counts.in_sample, stored.counts.out_of_sample))
    held = [part["reproduced"] for part in (stored.counts.in_sample, stored.counts.out_of_sample)]
    first = stored.counts.original
    console.print(
        f"as first written down (split ones together, added ones left out): {first['reproduced']} of "
        f"{sum(first.values())} hold",
        soft_wrap=True,
    )
    console.print(
        f"{held[0]} of the {inside} claims that joint readings were chosen on hold, {held[1]} of the other {outside}",
        soft_wrap=True,
    )
    console.print(
        f"full campaign of {made.date}: {made.runs:,} runs, {made.processor_s / 60:.0f} processor minutes, version "
        f"{made.version}",
        soft_wrap=True,
    )


def _show_plan(papers: list[str] | None, scale: str, json: bool) -> None:
    import msgspec

    from roamcast.lab import reproduce as lab
    from roamcast.papers.experiments import cited

    outlooks = lab.outlook(papers, scale)
    if json:
        print(msgspec.json.encode({"scale": scale, "papers": outlooks}).decode())
        return
    table = Table("paper", "experiments", "other readings", "deciding, at most", title=f"What {scale} scale takes")
    for each in outlooks:
        table.add_row(
            cited(each.paper),
            _cost(each.runs, each.cost_s),
            _cost(each.other_runs, each.other_cost_s),
            _cost(each.deciding_runs, each.deciding_cost_s),
        )
    console = Console(highlight=False)
    console.print(table)
    console.print("runs and estimated processor time; finished runs are not done again", soft_wrap=True)


def _cost(runs: int, seconds: float) -> str:
    return f"{runs:,} runs, {seconds / 60:,.0f} min" if runs else "–"


def _at_most(papers: list[str] | None) -> str:
    from roamcast.lab import reproduce as lab

    outlooks = lab.outlook(papers, "full")
    sure = sum(each.runs + each.other_runs for each in outlooks)
    sure_s = sum(each.cost_s + each.other_cost_s for each in outlooks)
    further = sum(each.deciding_runs for each in outlooks)
    further_s = sum(each.deciding_cost_s for each in outlooks)
    return (
        f"{_cost(sure, sure_s)} of processor time by estimate; claims that stay undecided may take up to "
        f"{_cost(further, further_s)} more"
    )
