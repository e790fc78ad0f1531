"""All of it in one file: a page that needs no network, and the figures beside the tables as SVG and PNG."""

from __future__ import annotations

import hashlib
import json
import sys
from base64 import b64encode
from importlib import resources
from pathlib import Path

import roamcast
from roamcast import files
from roamcast.errors import InputError, NoData, error_text
from roamcast.judging import kept, made, settings
from roamcast.judging.verdicts import Scorecard
from roamcast.papers import experiments
from roamcast.papers.experiments import PAPERS, UNDER, Experiment, cited
from roamcast.show import campaign, claims, distance, findings, numbers, page, samples, scorecard, standings
from roamcast.show.album import Album, version
from roamcast.show.claims import Entry
from roamcast.show.league import entrants, fronts, is_league
from roamcast.show.markup import Html, tag, trusted
from roamcast.show.page import Shown
from roamcast.show.panels import Panel, panel, together
from roamcast.show.parts import Place, contents
from roamcast.show.samples import Replay
from roamcast.show.standings import Contest
from roamcast.show.tables import Results, Row, read

DISTANCE_PAPER = "baldoni"
VERSIONS = ("numpy", "pyarrow", "pyspark", "matplotlib")


def write(folder: Path, target: Path | None = None, replays: bool = False) -> Path:
    """Draw the figures of a folder of results and write its report; returns where it is. With `replays`, a run of each
    paper's system is simulated for people to look at."""
    target = target or folder / "report.html"
    results = read(folder)
    album = Album(folder / "figures")
    text = report(results, album, folder / "replays" if replays else None)
    album.close()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        files.write(target, text.encode())
    except OSError as error:
        raise InputError(f"cannot write {target}: {error_text(error)}") from None
    return target


# ---- the page


def report(results: Results, album: Album, replays: Path | None = None) -> str:
    """`replays` is the folder for runs to look at."""
    shown = {name: rows for name, rows in results.metrics.items() if not _under_another_reading(name)}
    known = {name: _experiment(name) for name in shown}
    papers = _papers(results, {name: e for name, e in known.items() if e is not None and not is_league(name)}, album)
    params = {row["run"]: row["all_params"] for row in results.runs}
    league = [_contest(name, known[name], rows, params, album) for name, rows in shown.items() if is_league(name)]
    others = [name for name, e in known.items() if e is None and not is_league(name)]
    played = {number: samples.sample(number, replays) for number in papers} if replays else {}
    alone = len(papers) + bool(league) + len(others) == 1
    made = [
        *_judged(results, papers),
        *(
            _paper(number, drawn, _entries(results.scorecard), played.get(number), alone)
            for number, drawn in papers.items()
        ),
        *([_league(league, alone)] if league else []),
        *(campaign.section(name, shown[name], params, album, alone) for name in others),
        _provenance(results),
    ]
    programs = {digest for replay in played.values() if replay for digest in replay.programs}
    return _document(_top(results, bool(papers)), made, sorted(programs))


Made = tuple[Place, Html]
"""A part of the page, and its entry in the contents."""


def _judged(results: Results, papers: dict[str, list[Shown]]) -> list[Made]:
    entries = _entries(results.scorecard)
    if not entries:
        return []
    drawn = [each for number, figures in papers.items() for each in page.drawn(number, figures)]
    return [
        (Place("short", "In short"), scorecard.headline(entries, kept.load())),
        (Place("scorecard", "Scorecard"), scorecard.scorecard(entries, drawn)),
    ]


def _paper(number: str, figures: list[Shown], entries: list[Entry], replay: Replay | None, alone: bool) -> Made:
    mine = [entry for entry in entries if entry.verdict.paper == number]
    place = Place(f"paper-{number}", cited(number), [Place(f.id, f"{f.number} {f.title}") for f in figures])
    finding = findings.findings().get(number)
    return place, page.paper(number, mine, figures, finding, replay.frame if replay else None, alone)


def _league(contests: list[Contest], alone: bool) -> Made:
    return Place("league", "The league", [Place(c.id, c.name) for c in contests]), standings.league(contests, alone)


def _provenance(results: Results) -> Made:
    facts = _facts(results)
    body = page.provenance(facts, _campaigns(results), _failed(results), f"{facts[0][1]}.")
    return Place("provenance", "Provenance"), body


def _under_another_reading(name: str) -> bool:
    """Whether a campaign is one of the papers' experiments again, under another reading: it has no figure."""
    experiment, under, _ = name.partition(UNDER)
    return bool(under) and experiment in experiments.names()


def _entries(judged: Scorecard | None) -> list[Entry]:
    return claims.entries(judged.claims, kept.load(), judged.scale == "full") if judged else []


def _document(top: Html, made: list[Made], programs: list[str]) -> str:
    """`programs` are the digests of those that play runs."""
    style, script = _asset("report.css"), _asset("report.js")
    own = f"sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
    # anything smuggled in would neither run nor send data out
    scripts = " ".join(f"'{digest}'" for digest in (own, *programs))
    allowed = f"style-src 'unsafe-inline'; script-src {scripts}"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", "roamcast: report"),
        tag("style", trusted(style)),
    )
    footer = tag("footer", "Made by roamcast from the tables beside this page; it needs no network.")
    frame = tag(
        "div",
        contents([place for place, _ in made]),
        tag("div", top, tag("main", [body for _, body in made], id="main"), footer),
        class_="frame",
    )
    skip = tag("a", "to the results", href="#main", class_="skip")
    content = tag("body", skip, frame, tag("script", trusted(script)))
    return f"<!DOCTYPE html>\n{tag('html', head, content, lang='en')}\n"


def _asset(name: str) -> str:
    return resources.files("roamcast.show").joinpath("assets", name).read_text(encoding="utf-8")


def _top(results: Results, papers: bool) -> Html:
    runs = len({row["run"] for rows in results.metrics.values() for row in rows})  # figures share many
    if papers:
        title = "Publish/subscribe without infrastructure: the papers, run again"
        lead = (
            "Systems from the literature, implemented as published, run in their own experiments and held against "
            f"their own claims: {numbers.several(runs, 'simulation')}, means with 95\N{NO-BREAK SPACE}% intervals."
        )
    else:
        own = [name for name in results.metrics if not is_league(name)]
        title = ", ".join(own) or (
            "Publish/subscribe without infrastructure: the league" if results.metrics else "No runs"
        )
        lead = f"{numbers.several(runs, 'simulation')}, means with 95\N{NO-BREAK SPACE}% intervals."
    return tag(
        "header",
        tag("p", "roamcast report", class_="kicker"),
        tag("h1", title),
        tag("p", lead, class_="lead"),
        class_="top",
    )


# ---- figures


def _experiment(name: str) -> Experiment | None:
    """None for a campaign that belongs to no paper."""
    return experiments.load(name) if name in experiments.names() else None


def _papers(results: Results, known: dict[str, Experiment], album: Album) -> dict[str, list[Shown]]:
    """The figures of each paper that was run, in the papers' order."""
    judged = {v.paper for v in results.scorecard.claims} if results.scorecard else set()
    figures_of: dict[str, list[Shown]] = {}
    for paper in PAPERS:
        mine = {name: e for name, e in known.items() if e.paper == paper}
        if not mine and paper not in judged:
            continue
        ordered = [name for name in experiments.names([paper]) if name in mine]
        figures_of[paper] = [_figure(mine[name], results.metrics[name], album) for name in ordered if mine[name].plot]
        if paper == DISTANCE_PAPER:
            figures_of[paper].insert(0, _distance(album))
    return figures_of


def _figure(experiment: Experiment, rows: list[Row], album: Album) -> Shown:
    panels: list[Panel] = []
    missing: list[str] = []
    for plot in experiment.plot:
        try:
            panels.append(panel(plot, rows))
        except NoData as error:
            missing.append(f"{plot.title or plot.y_label}: {error}.")
    panels = together(panels)
    counts = [p.runs for each in panels for series in each.series for p in series.points]
    merged = max((each.merged for each in panels), default=1)
    return Shown(
        name=experiment.name,
        number=experiment.figure,
        title=experiment.title,
        about=page.about(experiment, merged, (min(counts, default=0), max(counts, default=0))),
        drawings=album.panels(experiment.name, panels),
        data=panels,
        missing=missing,
    )


def _distance(album: Album) -> Shown:
    panels = together(distance.panels())
    return Shown(
        name="baldoni/fig9",
        number="Fig. 9",
        title="Distance of a node against the time since it was last heard",
        about=f"Left: the paper's Markov model, solved exactly (§V; A = {distance.A}, L = {distance.L}). "
        f"Right: the same quantity in simulated movement ({distance.movement_of_preset()}).",
        drawings=album.panels("baldoni/fig9", panels),
        data=panels,
    )


# ---- the league


def _contest(
    name: str, experiment: Experiment | None, rows: list[Row], params: dict[str, str], album: Album
) -> Contest:
    listed = entrants(rows, params)
    edges = fronts(listed) if len(listed) > 1 else []
    short = name.removeprefix("league/")
    return Contest(
        id=page.section_id(name),
        name=short,
        title=f"{experiment.title} ({short})" if experiment else name,
        about=f"World: {experiment.source}." if experiment else f"Preset {rows[0]['preset']}.",
        entrants=listed,
        fronts=edges,
        drawings=[album.front(f"{name}-{front.short}", front) for front in edges],
        cut=_cut(experiment, rows) if experiment else "",
    )


def _cut(experiment: Experiment, rows: list[Row]) -> str:
    """What the experiment leaves out, and what these runs leave out beyond that: fields that are not as at full scale,
    and protocols that did not take part."""
    lines = [experiment.cut] if experiment.cut else []
    full = experiment.content("full").get("world", {})
    less = [
        f"{field} = {settings.text(value)}"
        for field, value in settings.world(rows[0]).items()
        if full.get(field) != value
    ]
    if less:
        lines.append(f"In this quick look: {', '.join(less)}.")
    present = {row["protocol"] for row in rows}
    absent = [entrant.name for entrant in experiments.entrants() if entrant.name not in present]
    if absent:
        lines.append(f"Not in these runs: {', '.join(absent)}.")
    return " ".join(lines)


# ---- provenance


def _facts(results: Results) -> list[tuple[str, str]]:
    runs = results.runs
    finished = [row for row in runs if row["status"] == "finished"]
    distinct = {row["run"]: row for row in finished}.values()  # experiments share runs
    code = sorted({row["code"] for row in runs})
    packages = ", ".join(f"{name} {version(name)}" for name in VERSIONS)
    return [
        ("runs", f"{numbers.several(len(distinct), 'distinct run')} finished, {len(runs) - len(finished)} not"),
        ("simulated time", numbers.duration(sum(row["sim_s"] for row in distinct))),
        ("processor time", numbers.duration(sum(row["cpu_s"] or 0.0 for row in distinct))),
        ("code of the runs", ", ".join(code) or numbers.NOTHING),
        *_made(results),
        ("page made by", f"roamcast {roamcast.__version__}, Python {sys.version.split()[0]}, {packages}"),
        ("fingerprint of results", fingerprint(results)),
        *([("checked against logs", results.recounted.text)] if results.recounted else []),
    ]


def _made(results: Results) -> list[tuple[str, str]]:
    """Where and by what the runs were done, with the time from the first to the last."""
    kinds: dict[str, list[Row]] = {}
    for record in results.provenance:
        kinds.setdefault(made.by(record), []).append(record)
    spans = {kind: f"{records[0]['began']} to {records[-1]['ended'] or '?'}" for kind, records in kinds.items()}
    return [("runs made by", f"{kind}; {span}") for kind, span in spans.items()]


def fingerprint(results: Results) -> str:
    """Of all runs' event logs: two machines that did the same have the same."""
    logs = sorted({(row["run"], row["fingerprint"] or "") for rows in results.metrics.values() for row in rows})
    return hashlib.blake2b(json.dumps(logs).encode(), digest_size=16).hexdigest()


def _campaigns(results: Results) -> list[list[str]]:
    by_name: dict[str, list[Row]] = {}
    for row in results.runs:
        by_name.setdefault(row["campaign"], []).append(row)
    return [_campaign_row(name, rows) for name, rows in by_name.items()]


def _campaign_row(name: str, rows: list[Row]) -> list[str]:
    seeds = sorted({row["seed"] for row in rows})
    return [
        name,
        rows[0]["preset"],
        f"{len({row['cell'] for row in rows}):,}",
        f"{len(rows):,}",
        _seeds(seeds),
        numbers.duration(sum(row["sim_s"] for row in rows)),
        numbers.duration(sum(row["cpu_s"] or 0.0 for row in rows)),
    ]


def _seeds(seeds: list[int]) -> str:
    if len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} … {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _failed(results: Results) -> list[list[str]]:
    failed = {row["run"]: row for row in results.runs if row["status"] == "failed"}
    return [[row["error"] or "no reason known", row["command"]] for row in failed.values()]
