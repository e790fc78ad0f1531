"""Tables of a campaign's cells: at 80 columns, whole numbers, nothing shown twice."""

from __future__ import annotations

import io
import re
from itertools import product
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from roamcast.cli import cells
from roamcast.cli.tables import Column, print_fitting
from tests.show.made_up import row

Row = dict[str, Any]


def printed(width: int = 80) -> tuple[Console, io.StringIO]:
    file = io.StringIO()
    return Console(file=file, width=width, highlight=False), file


def summary(
    label: str, cell: int, params: dict[str, str], world: dict[str, str], n: int = 5, half: float | None = 0.0134
) -> list[Row]:
    about = row(label, cell, 1, "sweep", params=params, world=world)
    means = {"delivery": 0.9123, "overhead": 12.345, "latency_p50_s": 0.1523}
    spread = {name: None if half is None else half * mean for name, mean in means.items()}
    return [{**about, "metric": m, "n": n, "mean": means[m], "half_width": spread[m]} for m in means]


def campaign(speeds: int = 3) -> list[Row]:
    worlds = [{"duration_s": "30.0", "speed_max_mps": str(5 * k)} for k in range(1, speeds + 1)]
    chosen = [("gossip", {"p": p}) for p in ("0.3", "1.0")]
    chosen += [("proximity", {"credits": c, "beacon_interval_s": b}) for c in "01" for b in ("2.0", "4.0")]
    rows: list[Row] = []
    for k, ((label, params), world) in enumerate(product(chosen, worlds)):
        rows += summary(label, k, params, world)
    return rows


def shown(rows: list[Row], width: int = 80) -> list[str]:
    console, file = printed(width)
    cells.show_summary(console, rows, "out/sweep")
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_what_all_cells_share_is_one_line_and_a_cell_is_named_by_what_varies() -> None:
    lines = shown(campaign())
    assert lines[0] == "all cells: baldoni, duration_s=30, 5 runs each"
    assert lines[2].split() == ["speed_max", "frames", "per", "latency"]
    assert lines[3].split() == ["protocol", "[m/s]", "delivery", "delivery", "[ms]"]
    assert re.fullmatch(r"gossip p=0.3 +5  0.912 ± 0.012  12.3 ± 0.2  152 ± 2", lines[4])
    assert not any("duration" in line or "runs" in line for line in lines[1:])


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_no_line_is_too_long_and_no_number_is_cut(width: int) -> None:
    lines = shown(campaign(), width)
    table = [line for line in lines if "±" in line]
    assert all(cell_len(line) <= width for line in lines if not line.startswith("no room"))
    assert not any("…" in line for line in lines)
    assert len(table) == 18 and all("0.912 ± 0.012" in line for line in table)


def test_names_and_settings_are_stacked_before_a_metric_is_left_out() -> None:
    narrow = shown(campaign(), 60)
    assert narrow[3].split()[0] == "cell"
    assert any("speed_max_mps=5" in line for line in narrow)
    assert "latency" in " ".join(narrow[2:4]) and "no room" not in " ".join(narrow)
    assert "no room for latency [ms]; use a wider terminal, or --json" in shown(campaign(), 50)


def test_numbers_are_right_aligned() -> None:
    lines = [line for line in shown(campaign()) if "±" in line]
    assert len({line.rindex("±") for line in lines}) == 1 and len({len(line) for line in lines}) == 1


def test_with_one_protocol_settings_are_columns() -> None:
    rows = [each for k, p in enumerate(("0.3", "0.6")) for each in summary("gossip", k, {"p": p}, {})]
    lines = shown(rows)
    assert lines[0] == "all cells: baldoni, gossip, 5 runs each"
    assert lines[3].split()[0] == "p" and lines[4].split()[0] == "0.3"


def test_what_one_protocol_has_in_all_its_cells_is_shown_once() -> None:
    rows = summary("gossip", 0, {"p": "0.5"}, {}) + summary("counter", 1, {"limit": "3"}, {})
    lines = shown(rows)
    assert lines[1:3] == ["gossip: p=0.5", "counter: limit=3"]
    assert lines[6].startswith("gossip ") and "p=" not in lines[6]


def test_different_numbers_of_runs_have_a_column_and_one_run_has_no_interval() -> None:
    rows = summary("gossip", 0, {}, {}) + summary("counter", 1, {}, {}, n=1, half=None)
    lines = shown(rows)
    assert "runs" in " ".join(lines[1:4])
    assert lines[-1].split()[:3] == ["counter", "1", "0.912"] and "±" not in lines[-1]


def test_a_metric_that_a_cell_does_not_have_is_a_dash() -> None:
    rows = summary("gossip", 0, {}, {}) + summary("silent", 1, {}, {})[:1]
    assert shown(rows)[-1].split()[-2:] == ["–", "–"]


def test_many_cells_are_a_page_and_how_to_see_all() -> None:
    lines = shown(campaign(speeds=100), 120)
    assert len([line for line in lines if "±" in line]) == cells.MOST_CELLS
    assert len(lines) < cells.MOST_CELLS + 10
    assert lines[-2] == "the first 40 of 600 cells; all of them: roamcast report out/sweep, or"
    assert lines[-1].startswith('  roamcast query out/sweep "select * from summary') and lines[-1].endswith(
        "--limit 600"
    )


def test_no_results_are_one_line() -> None:
    assert shown([]) == ["no run has finished, so there is nothing to show"]


def test_markup_in_names_is_text() -> None:
    rows = summary("[b]x[/b]", 0, {"p": "[red]"}, {}) + summary("[b]x[/b]", 1, {"p": "2"}, {}) + summary("y", 2, {}, {})
    assert any(line.startswith("[b]x[/b] p=[red] ") for line in shown(rows))


# ---- plans


def planned(rows: list[Row], times: list[str]) -> list[str]:
    console, file = printed()
    cells.show_planned(console, rows, times, 3, "file.toml")
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_a_plan_has_times_only_if_they_differ() -> None:
    rows = campaign(1)[::3]
    lines = planned(rows, ["under a second"] * 6)
    assert lines[0] == "all cells: baldoni, duration_s=30, speed_max_mps=5, 3 runs each"
    assert lines[2:4] == ["protocol", "gossip p=0.3"]
    assert "processor" in planned(rows, [f"{k} s" for k in range(6)])[2]


def test_a_long_plan_is_a_page() -> None:
    lines = planned(campaign(100)[::3], ["1 s"] * 600)
    assert len(lines) < cells.MOST_CELLS + 10
    assert lines[-1] == "the first 40 of 600 cells; all of them: roamcast campaign plan file.toml --json"


# ---- any table


def test_columns_that_do_not_fit_are_stacked_row_by_row() -> None:
    columns = [Column(f"column{k}", [f"{k}.125", "–"]) for k in range(12)]
    console, file = printed()
    print_fitting(console, columns[:3])
    assert file.getvalue().splitlines()[0].split() == ["column0", "column1", "column2"]
    console, file = printed()
    print_fitting(console, columns)
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert lines[0] == "column0   0.125" and lines[12] == "" and lines[13] == "column0   –"


def test_long_texts_are_wrapped_not_cut() -> None:
    console, file = printed(30)
    print_fitting(console, [Column("a", ["word " * 12], text=True), Column("n", ["1.5"])])
    assert file.getvalue().count("word") == 12 and "…" not in file.getvalue()
