"""The part of the report about a campaign of one's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from roamcast.show import report
from roamcast.show.campaign import MOST_OPEN, MOST_WORLDS
from tests.show.made_up import folder, row

Row = dict[str, Any]


def sweep(speeds: list[str], ps: list[str], labels: tuple[str, ...] = ("gossip", "counter")) -> list[Row]:
    """In the world of each speed, more of p delivers more for more frames."""
    rows: list[Row] = []
    cell = 0
    for label in labels:
        for speed in speeds:
            for k, p in enumerate(ps if label == "gossip" else [""]):
                for seed in (1, 2, 3):
                    known = {"delivery": 0.2 + 0.1 * k + 0.01 * seed, "overhead": 2.0 + k, "energy_j": 10.0}
                    about = {"params": {"p": p} if p else {}, "world": {"speed_max_mps": speed, "duration_s": "30.0"}}
                    rows.append(row(label, cell, seed, "sweep", **known, **about))
                cell += 1
    return rows


def written(place: Path, rows: list[Row]) -> str:
    return report.write(folder(place, rows)).read_text()


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_settings_that_all_cells_share_are_listed_once(tmp_path: Path) -> None:
    text = text_of(written(tmp_path, sweep(["5", "20"], ["0.3", "1.0"])))
    assert "Preset baldoni; 6 cells, 3 runs each. All cells: duration_s=30." in text
    assert text.count("duration_s") == 1


def test_every_setting_that_varies_has_a_figure_and_its_files(tmp_path: Path) -> None:
    page = written(tmp_path, sweep(["5", "20"], ["0.3", "1.0"]))
    assert re.findall(r'<figure id="fig-([^"]+)"', page)[:2] == ["sweep-speed-max-mps", "sweep-p"]
    names = {path.name for path in (tmp_path / "figures").glob("*.svg")}
    assert {"sweep-speed-max-mps-delivery-1.svg", "sweep-speed-max-mps-delivery-2.svg", "sweep-p-overhead.svg"} <= names
    assert "A line is a combination of the other settings." in page


def test_cells_are_named_by_what_varies(tmp_path: Path) -> None:
    page = written(tmp_path, sweep(["5", "20"], ["0.3", "1.0"]))
    table = page[page.index("All cells</h3>") :]
    names = re.findall(r'<th scope="row"[^>]*>([^<]+)</th><td class="num"[^>]*>([^<]+)', table)[:6]
    assert names[:2] == [("gossip p=0.3", "5"), ("gossip p=1", "5")] and names[-1] == ("counter", "20")
    assert ">speed max [m/s]</th>" in table and ">runs</th>" not in table[: table.index("</table>")]


def test_only_cells_of_one_world_compete(tmp_path: Path) -> None:
    """The cell with the most frames in the poor world would be beaten by all cells of the rich one."""
    rows = sweep(["5", "20"], ["0.3", "1.0"], ("gossip",))
    for each in rows:
        if each["w_speed_max_mps"] == 20:
            each["delivery"] += 0.5
            each["overhead"] -= 1.5
    page = written(tmp_path, rows)
    table = page[page.index("All cells</h3>") :]
    lines = re.findall(r"<tr[^>]*>(.*?)</tr>", table[: table.index("</table>")])[1:]
    best = [re.findall(r'class="num best" data-of="frames per delivery"[^>]*>([\d.]+)', line) for line in lines]
    assert best == [["2.00"], ["3.00"], ["0.500"], ["1.50"]]
    assert page.count("Delivery against cost, speed_max_mps=") == 2


def test_of_many_worlds_one_is_drawn_and_the_page_says_so(tmp_path: Path) -> None:
    speeds = [str(k) for k in range(MOST_WORLDS + 2)]
    page = written(tmp_path, sweep(speeds, ["0.3", "1.0"], ("gossip",)))
    assert page.count("Delivery against cost") == 1
    assert "Delivery against cost, speed_max_mps=2" in page and f"One of {len(speeds)} worlds" in page


def test_a_long_table_is_folded(tmp_path: Path) -> None:
    ps = [str(k) for k in range(MOST_OPEN + 1)]
    page = written(tmp_path, [each for each in sweep(["5"], ps, ("gossip",)) if each["seed"] == 1])
    assert f"<summary>all {MOST_OPEN + 1} cells</summary>" in page


def test_a_figure_says_what_it_holds(tmp_path: Path) -> None:
    rows: list[Row] = []
    for k in range(27):
        params = {"p": str(k % 3), "q": str(k // 3 % 3), "r": str(k // 9)}
        rows.append(row("a", k, 1, "held", delivery=0.5, params=params))
    text = text_of(written(tmp_path, rows))
    assert "a: only r = 1; the other cells are in the table." in text


def test_parameters_in_effect_are_those_of_all_cells_of_a_protocol(tmp_path: Path) -> None:
    text = text_of(written(tmp_path, sweep(["5"], ["0.3", "1.0"])))
    assert "the other parameters gossip jitter_ms = 10, own = false counter jitter_ms = 10, own = false" in text


def test_protocols_alone_have_a_table_and_costs_and_no_sweep(tmp_path: Path) -> None:
    page = written(tmp_path, sweep(["5"], ["0.3"]))
    assert "What each setting does" not in page and "What delivery costs" in page
    assert "the parameters</summary>" in page


def test_of_many_figures_the_page_names_all_that_it_draws(tmp_path: Path) -> None:
    """Also those that only some worlds have."""
    rows = sweep(["5", "20"], ["0.3", "1.0"], tuple("abcdefghijklmn"))
    text = text_of(written(tmp_path / "plain", rows))
    assert "Of many figures, only those of delivery, frames per delivery" in text and "airtime" not in text
    busy = [{**each, "utilisation_mean": 0.5, "airtime_s_per_hour": 20.0} for each in rows]
    named = re.search(r"Of many figures, only those of ([^;]*);", text_of(written(tmp_path / "busy", busy)))
    assert named is not None and "airtime [s/h], channel busy" in named[1]
