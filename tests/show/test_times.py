"""The figure of contacts: curves where there are times, words where there are none, and never empty axes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from roamcast.errors import InputError
from roamcast.show import times
from roamcast.show.fits import fitted
from roamcast.show.times import Times

SVG = "{http://www.w3.org/2000/svg}"
NOTHING = "No pair met twice."
MANY = [(20.0 * k, 2000 // k**2) for k in range(1, 30)]


def shown(listed: list[tuple[float, int]]) -> Times:
    return Times("times apart", "a pair is apart", NOTHING, listed, fitted(listed, 10_000.0))


def texts(path: Path) -> str:
    return " ".join(" ".join("".join(e.itertext()).split()) for e in ET.parse(path).getroot().iter(f"{SVG}text"))


def ticks(path: Path) -> int:
    return sum(g.get("id", "").startswith("xtick") for g in ET.parse(path).getroot().iter(f"{SVG}g"))


def test_many_times_are_a_curve_with_its_law(tmp_path: Path) -> None:
    panel = shown(MANY)
    times.write(tmp_path / "a.svg", "a trace", [panel])
    words = texts(tmp_path / "a.svg")
    best = panel.fitted.fits[0]
    assert f"{best.law}: best" in words and "measured" in words and ticks(tmp_path / "a.svg") > 0
    assert "at least that long [share]" in words and "a pair is apart [s]" in words
    assert f"n = {sum(count for _, count in MANY):,}" in words and "largest difference" in words


def test_the_curve_of_a_law_lies_where_its_times_are() -> None:
    """Counts of a geometric law on all 500 multiples of 20 s: the curve goes through the measured shares."""
    listed = [(20.0 * k, round(1e6 * 0.98**k)) for k in range(1, 501)]
    xs, ys = times._longer(listed)
    measured = dict(zip(xs, ys, strict=True))
    curve = list(zip(*times._curve(shown(listed).fitted.fits[0], min(ys)), strict=True))
    compared = [(share, measured[x]) for x, share in curve if x in measured]
    assert len(compared) > 50
    for share, of_times in compared:
        assert share == pytest.approx(of_times, rel=0.005)


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ([], NOTHING),
        ([(13.8, 1)], "Too few for a distribution: 13.8 s"),
        ([(2.0, 3), (5.5, 1)], "Too few for a distribution: 3 × 2.00 s, 5.50 s"),
        ([(20.0, 500)], "Too few for a distribution: 500 × 20.0 s"),
    ],
)
def test_few_times_are_said_and_have_no_axes(listed: list[tuple[float, int]], words: str, tmp_path: Path) -> None:
    times.write(tmp_path / "a.svg", "a trace", [shown(listed)])
    assert words in texts(tmp_path / "a.svg")
    assert ticks(tmp_path / "a.svg") == 0


def test_some_times_are_drawn_without_a_law(tmp_path: Path) -> None:
    times.write(tmp_path / "a.svg", "a trace", [shown([(float(k), 1) for k in range(1, 20)])])
    words = texts(tmp_path / "a.svg")
    assert "19 times: too few to fit a law" in words and "best" not in words and ticks(tmp_path / "a.svg") > 0


def test_the_same_times_give_the_same_file(tmp_path: Path) -> None:
    for kind in ("svg", "png", "pdf"):
        for name in "ab":
            times.write(tmp_path / f"{name}.{kind}", "a trace", [shown(MANY), shown([])])
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_a_file_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        times.write(tmp_path / "nowhere" / "a.svg", "a trace", [shown(MANY)])
