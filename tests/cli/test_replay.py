"""`roamcast replay`: a page beside its log, and mistakes in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from roamcast.cli.replay import numbers
from tests.cli.conftest import OneLine, Typed
from tests.show.replay.runs import run


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("replay") / "run.parquet", duration_s=5.0)


def test_the_page_is_written_beside_the_log(roamcast: Typed, log: Path) -> None:
    place = log.with_suffix(".html")
    assert roamcast("replay", str(log)) == (0, f"replay: {place}\n", "")
    text = place.read_text()
    assert text.startswith("<!doctype html>") and "<title>gossip on small, seed 1</title>" in text
    assert (
        "{{" not in text
        and 'src="' not in text
        and "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        and "url(" not in text
    )


def test_two_logs_are_on_one_page(roamcast: Typed, log: Path, tmp_path: Path) -> None:
    other = run(tmp_path / "other.parquet", "counter", duration_s=5.0)
    out = tmp_path / "both.html"
    assert roamcast("replay", str(log), str(other), "--out", str(out))[0] == 0
    assert out.read_text().count('<script type="text/plain" class="run">') == 2
    assert "<title>gossip and counter on small, seed 1</title>" in out.read_text()


def test_the_folder_of_real_nodes_gets_its_page_inside(roamcast: Typed, log: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "1.parquet").write_bytes(log.read_bytes())
    assert roamcast("replay", str(tmp_path / "logs")) == (0, f"replay: {tmp_path / 'logs' / 'replay.html'}\n", "")


def test_a_page_of_a_hundred_thousand_rows_stays_under_5_mb(roamcast: Typed, tmp_path: Path) -> None:
    """Of a protocol that notes much, so that most rows are decisions with sentences of their own."""
    from roamcast.log.opened import Log

    side = {"width_m": 1000.0, "height_m": 1000.0, "range_m": 250.0}
    path = run(tmp_path / "big.parquet", "proximity", nodes=100, subscribers=20, duration_s=20.0, publishers=8, **side)
    rows = Log(path).table().num_rows
    assert rows > 100_000
    assert roamcast("replay", str(path))[0] == 0
    assert path.with_suffix(".html").stat().st_size < 5_000_000


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["nowhere.parquet"], "there is no log nowhere.parquet"),
        (["there"], "there is not a log: it is not a Parquet file"),
        (["LOG", "--nodes", "x"], "--nodes 'x': must be numbers and ranges, such as 3,7,10-19"),
        (["LOG", "--nodes", "77"], "--nodes: LOG has no node 77; it has 0 to 29"),
        (["LOG", "--nodes", "3,9-5"], "--nodes '3,9-5': the range 9-5 ends before it begins"),
        (["LOG", "--nodes", "0-1000000"], "--nodes '0-1000000': the range 0-1000000 has more than 1,000,000 nodes"),
        (["LOG", "--from", "nan"], "--from nan: must be a number of seconds"),
        (["LOG", "--from", "-inf"], "--from -inf: must be a number of seconds"),
        (["LOG", "--to", "inf"], "--to inf: must be a number of seconds"),
        (["LOG", "--to", "nan"], "--to nan: must be a number of seconds"),
        (["LOG", "--from", "9"], "--from 9: LOG lasts from 0 to 5 s"),
        (["LOG", "--out", "no/such/page.html"], "cannot write the page no/such/page.html: "),
        (["LOG", "--positions", "nowhere.csv"], "nowhere.csv: "),
    ],
)
def test_mistakes_are_one_line(one_line: OneLine, log: Path, words: list[str], line: str) -> None:
    one_line(["replay", *(str(log) if word == "LOG" else word for word in words)], line.replace("LOG", str(log)))


def test_nodes_are_listed_by_number_and_range() -> None:
    assert numbers("3, n7,10-12") == {3, 7, 10, 11, 12}
