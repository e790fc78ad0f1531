"""The report as a file: whole, the same every time, and closed to whatever stands in the results."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from roamcast.errors import InputError
from roamcast.judging.verdicts import NOT, OPEN, REPRODUCED, Other
from roamcast.lab import campaign as campaigns
from roamcast.lab.tables.columns import Chosen
from roamcast.log.catalogue import AVERAGED
from roamcast.papers import experiments
from roamcast.papers.experiments import PAPERS, Entrant, Experiment, Plot
from roamcast.show import figures, report, samples, tables
from roamcast.show.panels import panel
from tests.show import made_up
from tests.show.made_up import campaign, changed, folder, row, verdict

EVIL = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
FIGURE = Experiment(
    title="Gossip against its probability",
    paper="baldoni",
    figure="Fig. 11",
    source="§VI-B",
    campaign={},
    plot=[
        Plot(x="p", y="delivery", x_label="p", y_label="delivery"),
        Plot(x="p", y="overhead", x_label="p", y_label="overhead", where={"label": "nobody"}),
    ],
    note="A note.",
    name="baldoni/made-up",
)
VERDICTS = [
    verdict("B1", "baldoni", REPRODUCED),
    verdict("B2", "baldoni", NOT),
    verdict("F1", "baehni", NOT),
    verdict("F2", "baehni", OPEN, measured=None, low=None, high=None),
]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reproduction with one figure, one world of the league, and a campaign that nobody knows."""
    monkeypatch.setattr(report.experiments, "names", lambda *_: [FIGURE.name])
    monkeypatch.setattr(report.experiments, "load", lambda _: FIGURE)
    rows = campaign(FIGURE.name, ["gossip", "proximity"], [0.1, 0.5, 1.0])
    rows += campaign("league/common", ["gossip", "counter", "frugal"])
    rows += campaign(f"{FIGURE.name}@another-reading", ["gossip"], [0.1])
    rows += campaign("my own", ["a", "b"], [1.0, 2.0])
    return folder(tmp_path / "results", rows, VERDICTS, failed=1)


class Outline(HTMLParser):
    """Ids, links and headings of a page; complains about what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.levels: list[int] = []
        self.addresses: list[str] = []
        self.scripts = 0
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if known.get("id"):
            self.ids.append(known["id"] or "")
        for name in ("href", "src", "xlink:href"):
            address = known.get(name) or ""
            (self.links if address.startswith("#") else self.addresses).append(address)
        assert not [name for name in known if name.startswith("on")]
        if re.fullmatch(r"h[1-6]", tag):
            self.levels.append(int(tag[1]))
        self.scripts += tag == "script"
        if tag not in ("meta", "br", "input", "path", "use", "rect"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("path", "use", "rect"):
            assert self._open.pop() == tag


def test_the_page_is_whole(results: Path) -> None:
    page = report.write(results)
    assert page == results / "report.html"
    outline = Outline(page.read_text())
    assert len(outline.ids) == len(set(outline.ids))
    assert {link.removeprefix("#") for link in outline.links} <= set(outline.ids)
    assert [address for address in outline.addresses if address] == []
    assert outline.levels[0] == 1 and outline.levels.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(outline.levels, outline.levels[1:], strict=False))


def test_it_tells_what_came_of_it(results: Path) -> None:
    text = report.write(results).read_text()
    assert re.search(r"1 of 4<small> claims reproduce", text)
    for wanted in ("Fig. 11", "Gossip against its probability", "A note.", "The league", "my own", "0.1.0+abcdef"):
        assert wanted in text
    assert "at-baldoni-made-up-another-reading" not in text  # what is run under another reading has no figure
    assert "overhead: no runs with nobody." in text  # the page names a panel without runs
    assert "1 run failed" in text and "roamcast run baldoni" in text
    assert "Fig. 9" in text and "R1</dt>" in text  # the model's figure, and readings


def test_the_same_results_give_the_same_page(results: Path, tmp_path: Path) -> None:
    first = report.write(results).read_bytes()
    again = report.write(results, tmp_path / "elsewhere" / "page.html")
    assert again.read_bytes() == first
    assert str(tmp_path).encode() not in first


def test_figures_lie_beside_the_tables_and_are_drawn_once(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report.write(results)
    place = results / "figures"
    for name in ("baldoni-made-up", "baldoni-fig9-1", "baldoni-fig9-2", "league-common-overhead", "my-own-energy"):
        assert (place / f"{name}.svg").read_bytes().startswith(b"<?xml")
        assert (place / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    drawings: list[object] = []
    monkeypatch.setattr(figures, "draw", drawings.append)
    monkeypatch.setattr(figures, "draw_front", drawings.append)
    report.write(results)
    assert drawings == []


def test_what_has_changed_is_drawn_again_and_what_is_gone_is_removed(results: Path) -> None:
    report.write(results)
    place = results / "figures"
    before = (place / "baldoni-made-up.svg").read_bytes()
    kept = (place / "baldoni-fig9-1.svg").stat().st_mtime_ns
    rows = campaign(FIGURE.name, ["gossip", "proximity"], [0.2, 0.4])
    folder(results, rows, VERDICTS)
    report.write(results)
    assert (place / "baldoni-made-up.svg").read_bytes() != before
    assert (place / "baldoni-fig9-1.svg").stat().st_mtime_ns == kept
    assert not (place / "league-common-overhead.svg").exists()


def test_a_spoilt_index_only_costs_time(results: Path) -> None:
    first = report.write(results).read_bytes()
    (results / "figures" / "drawn.json").write_text("[1, 2")
    assert report.write(results).read_bytes() == first


def test_nothing_in_the_results_becomes_markup(tmp_path: Path) -> None:
    texts = dict.fromkeys(("where", "says", "published", "unit", "reading", "why", "caveat", "cause"), EVIL)
    others = [Other(EVIL, EVIL, EVIL, EVIL)]
    judged = [changed(verdict(EVIL, "baldoni", NOT), **texts, others=others, evidence=[EVIL])]
    rows = campaign(EVIL, [EVIL, "b"])
    rows += [row("c", 9, 1, EVIL, delivery=0.5, params={EVIL: EVIL}, preset=EVIL)]
    rows += [row("c", 10, 1, EVIL, delivery=0.6, params={EVIL: "2"}, preset=EVIL)]
    text = report.write(folder(tmp_path / "r", rows, judged, failed=1)).read_text()
    outline = Outline(text)
    assert outline.scripts == 1
    assert "<img" not in text and "<b>no</b>" not in text


def test_the_policy_lets_only_the_pages_own_script_run(results: Path) -> None:
    text = report.write(results).read_text()
    assert re.search(r"default-src &#x27;none&#x27;", text)
    assert "unsafe-eval" not in text and "script-src &#x27;unsafe-inline" not in text


def test_a_run_of_each_papers_system_can_be_looked_at(results: Path) -> None:
    text = report.write(results, replays=True).read_text()
    frames = re.findall(r'<iframe srcdoc="([^"]*)" title="([^"]*)" loading="lazy">', text)
    titles = [title for _, title in frames]
    judged = {each.paper for each in VERDICTS} | {"baldoni"}
    assert titles == [f"A run: {samples.title(samples.SAMPLES[number])}" for number in PAPERS if number in judged]
    assert (results / "replays" / "baldoni.html").exists() and (results / "replays" / "baldoni.parquet").exists()
    (digest,) = set(samples.programs(unescape(frames[0][0])))
    assert f"&#x27;{digest}&#x27;" in text  # the policy lets the player run, and no other program
    assert report.write(results, replays=True).read_text() == text


def test_a_campaign_without_claims_has_a_page_too(tmp_path: Path) -> None:
    text = report.write(folder(tmp_path / "r", campaign("speed", ["a", "b"]))).read_text()
    assert "Scorecard" not in text and 'id="at-speed"' in text
    assert "<h1>speed</h1>" in text and "6 simulations" in text


def test_a_run_that_two_experiments_share_counts_once(tmp_path: Path) -> None:
    once = campaign("speed", ["a", "b"])
    again = [{**row, "campaign": "range"} for row in once]
    assert "6 simulations" in report.write(folder(tmp_path / "r", once + again)).read_text()


@pytest.mark.parametrize(
    ("duration_s", "labels", "cut"),
    [
        ("60.0", "ab", "Half of it."),
        ("20.0", "ab", "Half of it. In this quick look: duration_s = 20."),
        ("60.0", "a", "Half of it. Not in these runs: b."),
    ],
)
def test_the_league_shows_true_parameters_and_what_was_cut(
    duration_s: str, labels: str, cut: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = {"title": "t", "paper": "league", "figure": "League", "source": "ours", "name": "league/li"}
    known = Experiment(**world, campaign={"world": {"nodes": 50, "duration_s": 60.0}}, cut="Half of it.")
    monkeypatch.setattr(report.experiments, "names", lambda *_: ["league/li"])
    monkeypatch.setattr(report.experiments, "load", lambda _: known)
    monkeypatch.setattr(report.experiments, "entrants", lambda: [Entrant("a", "ours"), Entrant("b", "ours")])
    about = {"world": {"nodes": "50", "duration_s": duration_s}, "params": {"p": "1"}}
    rows = [row(label, k, 1, "league/li", delivery=0.5, **about) for k, label in enumerate(labels)]
    text = report.write(folder(tmp_path / "results", rows)).read_text()
    assert f"<strong>Cut: </strong>{cut}</p>" in text
    assert text.count("p = 1, jitter_ms = 10, own = false") == len(labels)


def test_the_league_alone_is_called_the_league(tmp_path: Path) -> None:
    rows = campaign("league/li", ["a", "b"]) + campaign("league/common", ["a", "b"])
    text = report.write(folder(tmp_path / "r", rows)).read_text()
    assert "the league</h1>" in text and 'id="at-league-li"' in text


def test_a_lonely_cell_has_a_table_and_no_front(tmp_path: Path) -> None:
    text = report.write(folder(tmp_path / "r", campaign("one", ["a"]))).read_text()
    assert "<svg" not in text and 'id="at-one"' in text


def test_a_folder_without_results_gives_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no table 'runs'"):
        report.write(tmp_path)
    made = folder(tmp_path / "r", campaign("x", ["a"]))
    (made / "metrics" / "part-0.parquet").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="cannot read"):
        report.write(made)
    made = folder(tmp_path / "r", campaign("x", ["a"]))
    (made / "scorecard.json").write_text("{}")
    with pytest.raises(InputError, match="scorecard"):
        report.write(made)


def test_the_fingerprint_is_that_of_the_runs_and_of_nothing_else(tmp_path: Path) -> None:
    rows = campaign("x", ["a", "b"])
    first = report.fingerprint(tables.read(folder(tmp_path / "1", rows)))
    assert report.fingerprint(tables.read(folder(tmp_path / "2", rows[::-1]))) == first
    rows[0]["fingerprint"] = "other"
    assert report.fingerprint(tables.read(folder(tmp_path / "3", rows))) != first


def test_tables_are_read_as_the_laboratory_wrote_them(tmp_path: Path) -> None:
    rows = campaign("x", ["a"], [0.5])
    read = tables.read(folder(tmp_path, rows, [made_up.verdict("B1", "baldoni", REPRODUCED)]))
    assert read.metrics["x"][0]["p_p"] == 0.5
    assert read.metrics["x"][0]["frames_by_kind"] == {"event": 300, "beacon": 100}
    assert read.scorecard is not None and read.scorecard.claims[0].id == "B1"
    assert json.loads((tmp_path / "scorecard.json").read_text())["claims"][0]["verdict"] == REPRODUCED


@pytest.mark.parametrize("name", [name for name in experiments.names() if not name.startswith("league/")])
def test_the_papers_figures_can_be_drawn(name: str) -> None:
    """From made-up numbers in the cells of the real files: axes exist, series are distinguished, stars have places."""
    experiment = experiments.load(name)
    quick = campaigns.understood(experiment.content("quick"))
    chosen = Chosen(quick.cells)

    def about(cell: campaigns.Cell) -> dict[str, Any]:
        return {"protocol": cell.protocol, **chosen.of(cell)}

    known = dict.fromkeys(AVERAGED, 5.0)
    rows = [
        row(cell.label, k, seed, name, **known, **about(cell))
        for k, cell in enumerate(quick.cells)
        for seed in quick.seeds[:2]
    ]
    for plot in experiment.plot:
        shown = panel(plot, rows)
        assert len({series.name for series in shown.series}) == len(shown.series)
        assert len(shown.marks) == len(plot.published)
