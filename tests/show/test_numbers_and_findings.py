"""Numbers and findings for people, and markup that holds."""

from __future__ import annotations

import pytest

from roamcast.papers.experiments import PAPERS
from roamcast.show import findings, numbers
from roamcast.show.markup import joined, tag, trusted


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.7, "0.700"),
        (0.0123456, "0.0123"),
        (2.5, "2.50"),
        (25.04, "25.0"),
        (1234.5, "1,234"),
        (-0.5, "\u22120.500"),
        (0.0, "0"),
        (None, "–"),
        (float("inf"), "–"),
    ],
)
def test_numbers_have_the_digits_it_takes_to_compare_them(value: float | None, shown: str) -> None:
    assert numbers.number(value) == shown


@pytest.mark.parametrize(
    ("mean", "half", "shown"),
    [
        (0.69012, 0.0341, "0.690 ± 0.034"),
        (1413.2094, 297.18, "1,413 ± 297"),
        (5.0, 0.0, "5.00 ± 0.00"),
        (5.0, None, "5.00"),
        (10672.2, 101.0, "10,672 ± 101"),
        (None, None, "–"),
    ],
)
def test_an_interval_decides_the_decimals(mean: float | None, half: float | None, shown: str) -> None:
    assert numbers.spread(mean, half) == shown


def test_units_are_changed_before_decimals_are_chosen() -> None:
    assert numbers.spread(0.0213, 0.0012, 1000.0) == "21.3 ± 1.2"


@pytest.mark.parametrize(
    ("intervals", "least", "shown"),
    [
        ([(0.9123, 0.0134), (0.5, 0.1)], 3, ["0.912 ± 0.013", "0.500 ± 0.100"]),
        ([(56.78, 16.9), (108.0, 128.5)], 0, ["56.8 ±  16.9", "108.0 ± 128.5"]),
        ([(5000.0, 0.31), (5010.0, 0.29)], 0, ["5,000.0 ± 0.3", "5,010.0 ± 0.3"]),
        ([(3.0, None), None, (4.0, 0.5)], 0, ["3.00", "–", "4.00 ± 0.50"]),
        ([None], 3, ["–"]),
        ([(0.0, 0.0)], 3, ["0.000 ± 0.000"]),
        ([], 0, []),
    ],
)
def test_numbers_below_each_other_have_the_same_decimals(
    intervals: list[tuple[float, float | None] | None], least: int, shown: list[str]
) -> None:
    assert numbers.column(intervals, least=least) == shown


def test_a_verdicts_interval_is_shown_once() -> None:
    assert numbers.interval(0.7, 0.68, 0.72) == "0.700 (0.680 … 0.720)"
    assert numbers.interval(0.7, 0.7, 0.7) == "0.700"
    assert numbers.interval(None, None, None) == "–"


def test_durations() -> None:
    assert [numbers.duration(s) for s in (3.2, 119, 150, 8000)] == ["3 s", "119 s", "2 min", "2.2 h"]


def test_a_page_of_findings_is_shown_without_its_title_and_its_scorecard() -> None:
    page = "# T\n\nOne.\n\n<!-- scorecard -->\n| a |\n|---|\n| b |\n<!-- /scorecard -->\n\n## More\n\nTwo.\n"
    html = findings.body(page)
    assert "One." in html and "<h3>More</h3>" in html and "Two." in html
    assert "T<" not in html and "<table" not in html and "scorecard" not in html


def test_the_package_carries_its_findings() -> None:
    pages = findings.findings()
    assert set(pages) == set(PAPERS)
    assert '<th scope="col">' in pages["baldoni"]


def test_markdown_brings_no_markup_pictures_or_local_links() -> None:
    text = "<script>alert(1)</script> ![x](http://a/b.png) [page](../x.md) [web](https://a.b/c) [js](javascript:f())"
    html = findings.markdown(text)
    assert "<script" not in html and "<img" not in html and "../x.md" not in html and 'href="javascript' not in html
    assert "page" in html and '<a href="https://a.b/c">web</a>' in html


def test_text_is_escaped_and_markup_is_not() -> None:
    assert tag("p", "<b>&", tag("i", "x")) == "<p>&lt;b&gt;&amp;<i>x</i></p>"
    assert tag("a", "x", href='" onclick="y', class_="k", hidden=True, id=None) == (
        '<a href="&quot; onclick=&quot;y" class="k" hidden>x</a>'
    )
    assert joined(None, ["a<", [trusted("<br>")]]) == "a&lt;<br>"
    assert tag("input", name="n", aria_label="l") == '<input name="n" aria-label="l">'
