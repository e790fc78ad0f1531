"""`roamcast reproduce`: the papers' experiments on Spark, and the scorecard of their claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from roamcast.errors import InputError

if TYPE_CHECKING:
    from roamcast.lab.judge import Verdict

STYLES = {
    "reproduced": "green",
    "reproduced under another reading": "cyan",
    "not reproduced": "red",
    "not decidable": "yellow",
}


def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PAPER…", help="000 … 004, or baldoni, baehni, costa, rezende, li, league.", show_default="all"
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds and points: minutes. The default.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The papers' numbers of repetitions: hours.")] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where results go.")] = Path("out/reproduce"),
    master: Annotated[str, typer.Option(metavar="URL", help="Spark's master.")] = "local[*]",
    conf: Annotated[
        list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's. Repeatable.")
    ] = None,
    report: Annotated[Path, typer.Option(metavar="FILE", help="Where the page about it goes.")] = Path(
        "out/report.html"
    ),
    json: Annotated[bool, typer.Option("--json", help="Print the scorecard as one JSON object.")] = False,
) -> None:
    """Run the papers' experiments, judge, claim by claim, whether they reproduce, and write a page to look at.

    Finished runs are kept and never repeated; tables, scorecard and page are of the papers asked for. The exit status
    says whether all ran, not whether all agree.
    """
    import msgspec

    from roamcast.cli.build import warn_if_stale
    from roamcast.cli.campaign import Screen, started
    from roamcast.lab import reproduce as lab
    from roamcast.papers import experiments
    from roamcast.show import report as page

    if quick and full:
        raise InputError("--quick and --full: must not be given together")
    warn_if_stale()
    scale = "full" if full else "quick"
    experiments.names(papers)  # an unknown paper is said before Spark starts
    folder = out / scale
    with Screen(f"reproduce {' '.join(papers or ['all'])}, {scale}") as screen:
        screen.stage("starting Spark")
        found = lab.reproduce(papers, scale, folder, started(folder, master, conf), screen)
        screen.stage("drawing figures")
        page.write(folder, report)
    if json:
        told = {"out": str(folder), "report": str(report), "scale": scale, "claims": found.verdicts}
        print(msgspec.json.encode(told).decode())
    else:
        show(found.verdicts, folder)
        Console(highlight=False).print(f"report: {report}", markup=False, soft_wrap=True)
    raise typer.Exit(1 if found.failed else 0)


def show(verdicts: list[Verdict], folder: Path) -> None:
    console = Console(highlight=False)
    table = Table(
        "claim", "says", "published", "measured", "verdict", title="What the papers claim, and what we measured"
    )
    for verdict in verdicts:
        style = STYLES[verdict.verdict]
        table.add_row(verdict.id, verdict.says, verdict.published, measured(verdict), f"[{style}]{verdict.verdict}[/]")
    console.print(table)
    counts = ", ".join(f"{sum(v.verdict == name for v in verdicts)} {name}" for name in STYLES)
    console.print(f"{len(verdicts)} claims: {counts}", soft_wrap=True)
    console.print(f"scorecard.json and scorecard.parquet are in {folder}", soft_wrap=True)


def measured(verdict: Verdict) -> str:
    if verdict.measured is None:
        return "–"
    if verdict.low is None or verdict.high is None or verdict.low == verdict.high:
        return f"{verdict.measured:,.4g}"
    return f"{verdict.measured:,.4g} ({verdict.low:,.4g} … {verdict.high:,.4g})"
