"""The ratios of `make bench`, and its page."""

from __future__ import annotations

from typing import Any

import page
import ratios

from tests.bench.compared import compared


def figures(**per_s: float) -> dict[str, dict[str, Any]]:
    return {
        name.replace("_", "-"): {
            "receptions": 1000,
            "overheard": 0,
            "losses": 10,
            "run_s": 1000 / rate,
            "whole_s": 2000 / rate,
            "per_s": rate,
            "memory_mib": 100.0,
            "memory_of_run_mib": 50.0,
        }
        for name, rate in per_s.items()
    }


MEASURED = figures(
    field_100=1.0,
    field_500=2.0,
    field_1000=4.0,
    field_100000=1.0,
    field_500_two_ray=1.0,
    small_runs=1.0,
    protocol_mpl=0.5,
    li_gossip=3.0,
    li_subtree=1.0,
)


def ratio(rows: list[dict[str, Any]], what: str) -> tuple[float, bool]:
    (row,) = [row for row in rows if row["what"] == what]
    return row["ratio"], row["lower_is_better"]


def test_costs_are_compared_within_one_run() -> None:
    rows = ratios.compare(MEASURED)
    assert ratio(rows, "cost per reception, 100,000 nodes / 1,000") == (4.0, True)
    assert ratio(rows, "cost per reception, two-ray with capture / disc") == (2.0, True)
    assert ratio(rows, "cost per reception, mpl / gossip") == (4.0, True)
    assert ratio(rows, "the same on li, subtree / gossip") == (3.0, True)
    assert ratio(rows, "runs of 20 ms: share of the time inside events") == (0.5, False)
    assert ratio(rows, "memory of each of 100,000 nodes, KiB") == (round(50 * 1024 / 100_000, 2), True)
    assert not any("yardstick" in row["what"] for row in rows)  # it was not measured


def test_what_was_not_measured_is_left_out() -> None:
    assert ratios.compare({}) == []
    assert ratios.against_ns3([]) == []


def test_ratios_to_ns3_are_rows_of_the_same_table() -> None:
    what = "ns-3 / roamcast, cost per reception, li (500 nodes)"
    assert ratios.against_ns3(compared()) == [
        {"what": what, "ratio": 300.0, "asked": "at least 400", "lower_is_better": False},
        {"what": f"{what}, UDP", "ratio": 360.0, "asked": "", "lower_is_better": False},
    ]


def results(**more: Any) -> dict[str, Any]:
    measured = {"figures": MEASURED, "comparisons": ratios.compare(MEASURED), "ns3": compared()}
    return {**measured, "since": "", "changes": [], **more}


def test_the_page_has_pictures_and_tables_and_loads_nothing() -> None:
    text = page.html(results())
    assert text.count("<svg") == 4
    assert "cost per reception, mpl / gossip" in text
    assert "<td>ns-3</td>" in text and "<td>ns-3, UDP</td>" in text
    assert "http" not in text.replace("http://www.w3.org/", "")


def test_the_page_says_what_moved() -> None:
    assert "No ratio moved by more than a tenth since 1.0 abc" in page.html(results(since="1.0 abc"))
    assert "<li>a: 1 -&gt; 2</li>" in page.html(results(since="1.0 abc", changes=["a: 1 -> 2"]))


def test_a_page_of_a_few_cases_has_fewer_pictures() -> None:
    few = {name: MEASURED[name] for name in ("field-500", "field-1000")}
    assert page.html(results(figures=few, ns3=[])).count("<svg") == 2
